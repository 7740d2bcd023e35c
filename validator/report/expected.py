"""Diagnostics that a file expects, in comments as MLIR's own tools have them, and the parts a file can be split into.

`// expected-error@+1 {{part of the message}}` expects a diagnostic of that severity at the line below; `@-1`, `@above`,
`@below` and no `@` at all name other lines, `@unknown` one without a place. `expected-error-re` takes `{{…}}` inside
as a regular expression. Errors, warnings and remarks all have to be expected; a note only may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..read.ir import Frame
from .diagnostic import Diagnostic, Severity

MARKER = "// -----"
"""Stands between the parts of a file, on a line of its own."""

_UNKNOWN = 0


@dataclass(frozen=True, slots=True)
class _Expectation:
    """A comment; `target` is the line it means."""

    line: int
    target: int
    severity: Severity
    pattern: re.Pattern[str]
    written: str

    def is_met_by(self, found: Diagnostic, file: str) -> bool:
        line = found.frame.line if found.frame is not None and found.frame.file == file else _UNKNOWN
        placed = (self.target, self.severity) == (line, found.severity)
        return placed and self.pattern.search(found.message) is not None


_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*"
    r"\{\{(?P<text>(?:[^{}]|\{(?!\{)|\}(?!\})|\{\{.*?\}\})*)\}\}"
)
_LOOKS_LIKE_ONE = re.compile(r"//\s*expected-(?:error|warning|note|remark)")


def disagreements(
    text: str, file: str, said: Sequence[Diagnostic], tolerated: Sequence[Diagnostic] = ()
) -> list[Diagnostic]:
    """Where diagnostics and the comments of a file do not agree, as errors; nothing if all is as the file says.

    `text` has the line numbers that the diagnostics have. Each diagnostic `said` needs a comment, one that is
    `tolerated` may have one, and each comment needs a diagnostic.
    """
    unmet: list[_Expectation] = []
    wrong: list[Diagnostic] = []
    for found in _expectations(text, file):
        if isinstance(found, Diagnostic):
            wrong.append(found)
        else:
            unmet.append(found)
    for each in (*said, *tolerated):
        met = next((one for one in unmet if one.is_met_by(each, file)), None)
        if met is not None:
            unmet.remove(met)
        elif each.severity is not Severity.NOTE and each not in tolerated:
            message = f"unexpected {each.severity.value}: {each.message}"
            wrong.append(Diagnostic(Severity.ERROR, message, each.file, each.frame))
    for one in unmet:
        message = f"expected {one.severity.value} '{one.written}' was not produced"
        wrong.append(Diagnostic(Severity.ERROR, message, file, Frame(file, one.line, 0)))
    return wrong


def _expectations(text: str, file: str) -> Iterator[_Expectation | Diagnostic]:
    """The expectations of a file, and an error for each comment that only looks like one."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        found = list(_COMMENT.finditer(line))
        for match in found:
            written = match["text"]
            pattern = re.compile(_pattern(written) if match["re"] else re.escape(written))
            target = _target(lines, number, match["place"])
            yield _Expectation(number, target, Severity(match["severity"]), pattern, written)
        if not found and _LOOKS_LIKE_ONE.search(line):
            yield Diagnostic(Severity.ERROR, "malformed expectation", file, Frame(file, number, 0))


def _target(lines: Sequence[str], number: int, place: str | None) -> int:
    match place:
        case None:
            return number
        case "unknown":
            return _UNKNOWN
        case "above" | "below":
            # Comments may be piled up; they all mean the line above or below the pile.
            step = 1 if place == "below" else -1
            number += step
            while 1 <= number <= len(lines) and _COMMENT.search(lines[number - 1]):
                number += step
            return number
        case _:
            return number + int(place)


def _pattern(message: str) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", message)
    return "".join(part if number % 2 else re.escape(part) for number, part in enumerate(parts))


def split_input(data: bytes) -> list[bytes]:
    """The parts between markers, each with empty lines in front so that its line numbers are the file's.

    Parts with nothing in them are left out.
    """
    parts: list[list[bytes]] = [[]]
    for number, line in enumerate(data.split(b"\n")):
        if line.strip() == MARKER.encode():
            parts.append([b""] * (number + 1))
        else:
            parts[-1].append(line)
    return [b"\n".join(part) for part in parts if b"".join(part).strip()]
