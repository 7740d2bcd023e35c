"""What passes say: located sentences, and the check that they are the ones a test file expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..validator.compat import ir
from ..validator.read.errors import ReadError
from ..validator.read.ir import Frame
from ..validator.read.locations import LocationReader
from ..validator.report.diagnostic import Diagnostic, Severity


def error_at(location: ir.Location, source: str, message: str) -> Diagnostic:
    """An error at a place; `source` stands for the module that was read."""
    return Diagnostic(Severity.ERROR, message, source, _frame(location, source))


def of_read_error(error: ReadError, source: str) -> Diagnostic:
    """What the readers refuse."""
    position = re.fullmatch(r"(.+):(\d+):(\d+)", error.where)
    frame = Frame(position[1], int(position[2]), int(position[3])) if position else None
    return Diagnostic(Severity.ERROR, error.message, source if frame else error.where, frame)


def of_mlir(error: ir.MLIRError, source: str) -> list[Diagnostic]:
    """What MLIR said, notes behind what they belong to."""
    found = list(_flat(error.error_diagnostics, source))
    return found or [Diagnostic(Severity.ERROR, str(error).strip().partition("\n")[0], source)]


def _flat(infos: Iterable[Any], source: str) -> Iterator[Diagnostic]:
    for info in infos:
        severity = Severity(str(info.severity).rpartition(".")[2].lower())
        yield Diagnostic(severity, info.message.strip(), source, _frame(info.location, source))
        yield from _flat(info.notes, source)


def _frame(location: ir.Location, source: str) -> Frame | None:
    frames = LocationReader(source).read(location).frames
    return frames[0] if frames else None


_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)"
    r"(?:@(?P<line>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)
_UNKNOWN = 0


@dataclass(slots=True)
class _Expectation:
    severity: Severity
    line: int
    text: str
    written: int
    met: bool = False


def unexpected(text: str, source: str, said: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Where diagnostics and the `expected-…` comments of a file disagree, by mlir-opt's rules.

    `text` has the line numbers that the diagnostics have. A comment stands for its own line, `@+1`, `@-2`, `@above` and
    `@below` for others, `@unknown` for no line of the file; the text in braces has to be part of the message. Each
    diagnostic needs a comment and each comment a diagnostic, but a note that nobody expects is no fault.
    """
    expectations = list(_expectations(text))
    faults = []
    for diagnostic in said:
        frame = diagnostic.frame
        line = frame.line if frame is not None and frame.file == source else _UNKNOWN
        for one in expectations:
            if one.severity is diagnostic.severity and one.line == line and one.text in diagnostic.message:
                one.met = True
                break
        else:
            if diagnostic.severity is not Severity.NOTE:
                message = f"unexpected {diagnostic.severity.value}: {diagnostic.message}"
                faults.append(replace(diagnostic, severity=Severity.ERROR, message=message))
    for one in expectations:
        if not one.met:
            message = f"expected {one.severity.value} '{one.text}' was not produced"
            faults.append(Diagnostic(Severity.ERROR, message, source, Frame(source, one.written, 0)))
    return faults


def _expectations(text: str) -> Iterator[_Expectation]:
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _EXPECTED.finditer(line):
            told = match["line"] or "+0"
            offset = {"above": -1, "below": 1}.get(told)
            if told == "unknown":
                meant = _UNKNOWN
            else:
                meant = number + (int(told) if offset is None else offset)
            yield _Expectation(Severity(match["severity"]), meant, match["text"], number)
