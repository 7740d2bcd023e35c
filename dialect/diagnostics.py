"""Diagnostics of a file and the comments in it that expect them, as MLIR's own tools have them.

`// expected-error@+1 {{part of the message}}` expects a diagnostic of that severity at the line below; `@-1`, `@above`,
`@below` and no `@` at all name other lines, `@unknown` one without a place. `expected-error-re` takes `{{…}}` inside
as a regular expression. Errors, warnings and remarks all have to be expected; a note only may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message; `line` and `column` are 0 where it has no place in the file.

    `expected` are those that the file expects in another way than by a comment.
    """

    line: int
    column: int
    severity: str
    message: str
    expected: bool = False

    def where(self, file: str) -> str:
        """`file:line:col`, or the file where it has no place in it."""
        return f"{file}:{self.line}:{self.column}" if self.line else file

    def text(self, file: str) -> str:
        """`file:line:col: severity: message`."""
        return f"{self.where(file)}: {self.severity}: {self.message}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A comment that expects a diagnostic; `target` is its line, 0 for one without a place."""

    line: int
    target: int
    severity: str
    pattern: re.Pattern[str]
    written: str

    def is_met_by(self, found: Diagnostic) -> bool:
        """Whether the diagnostic is the one expected."""
        placed = (self.target, self.severity) == (found.line, found.severity)
        return placed and self.pattern.search(found.message) is not None


_COMMENT = re.compile(
    r"//\s*expected-(error|warning|note|remark)(-re)?(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*)\}\}\s*$"
)
_MALFORMED = re.compile(r"//\s*expected-(?:error|warning|note|remark)")


def _expectations(text: str) -> Iterator[Expectation | Diagnostic]:
    """The expectations of a file, and an error for each comment that only looks like one."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line)
        if match is not None:
            severity, as_pattern, place, message = match.groups()
            pattern = _pattern(message) if as_pattern else re.escape(message)
            yield Expectation(number, _target(lines, number, place), severity, re.compile(pattern), message)
        elif _MALFORMED.search(line):
            yield Diagnostic(number, 1, "error", "malformed expectation")


def _target(lines: list[str], number: int, place: str | None) -> int:
    match place:
        case None:
            return number
        case "unknown":
            return 0
        case "above":
            # Comments that expect something may be piled up; they all mean the line below or above the pile.
            while number > 1 and _COMMENT.search(lines[number - 1]):
                number -= 1
            return number
        case "below":
            while number <= len(lines) and _COMMENT.search(lines[number - 1]):
                number += 1
            return number
        case _:
            return number + int(place)


def _pattern(message: str) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", message)
    return "".join(part if number % 2 else re.escape(part) for number, part in enumerate(parts))


def disagreements(text: str, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Where diagnostics and the comments of a file do not agree, as errors; nothing if all is as the file says.

    Diagnostics that nothing expects come first, then expectations that nothing meets.
    """
    unmet: list[Expectation] = []
    wrong: list[Diagnostic] = []
    for found in _expectations(text):
        if isinstance(found, Expectation):
            unmet.append(found)
        else:
            wrong.append(found)
    for each in diagnostics:
        met = next((e for e in unmet if e.is_met_by(each)), None)
        if met is not None:
            unmet.remove(met)
        elif each.severity != "note" and not each.expected:
            wrong.append(Diagnostic(each.line, each.column, "error", f"unexpected {each.severity}: {each.message}"))
    for each in unmet:
        wrong.append(Diagnostic(each.line, 1, "error", f"expected {each.severity} '{each.written}' was not produced"))
    return wrong


_MARKER = re.compile(r"^[ \t]*// -----[ \t]*$", re.MULTILINE)


def split_input(text: str) -> list[str]:
    """The parts of a file between lines `// -----`, each with as many empty lines before it that places stay true."""
    parts = []
    start = 0
    for end in [*(match.start() for match in _MARKER.finditer(text)), len(text)]:
        parts.append("\n" * text.count("\n", 0, start) + text[start:end])
        start = text.find("\n", end) + 1 if end < len(text) and "\n" in text[end:] else len(text)
    return parts
