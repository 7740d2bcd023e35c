"""What passes say: located sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..validator.compat import ir
from ..validator.read.ir import Frame
from ..validator.read.locations import LocationReader
from ..validator.report.diagnostic import Diagnostic, Severity


def error_at(location: ir.Location, source: str, message: str) -> Diagnostic:
    """An error at a place; `source` stands for the module that was read."""
    return Diagnostic(Severity.ERROR, message, source, _frame(location, source))


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
