"""One diagnostic of a report, in the shape that MLIR tools print."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..read.errors import ReadError
from ..read.ir import Frame
from .excerpt import excerpt


class Severity(enum.Enum):
    """How much a diagnostic weighs."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A sentence about a place: a position in the user's source if `frame` is known, else the file `file`."""

    severity: Severity
    message: str
    file: str
    frame: Frame | None = None

    @property
    def where(self) -> str:
        return self.file if self.frame is None else str(self.frame)

    def __str__(self) -> str:
        return f"{self.where}: {self.severity.value}: {self.message}"


def of_read_error(error: ReadError, file: str) -> Diagnostic:
    """What the readers refuse."""
    position = re.fullmatch(r"(.+):(\d+):(\d+)", error.where)
    frame = Frame(position[1], int(position[2]), int(position[3])) if position else None
    return Diagnostic(Severity.ERROR, error.message, file if frame else error.where, frame)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of printed diagnostics: one that says something, or (without a diagnostic) one of the user's source."""

    text: str
    diagnostic: Diagnostic | None = None


def lines_of(diagnostics: Iterable[Diagnostic], beside: str) -> Iterator[Line]:
    """Each diagnostic with the source line it is about, where that can be read; a place is shown once.

    Relative source paths are also looked for in the folder of the file `beside`.
    """
    shown: set[Frame] = set()
    for diagnostic in diagnostics:
        yield Line(str(diagnostic), diagnostic)
        frame = diagnostic.frame
        if frame is None or frame in shown:
            continue
        shown.add(frame)
        found = excerpt(frame, beside)
        if found is not None:
            yield from (Line(text) for text in found.text_lines())
