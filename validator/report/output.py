"""Where reports go, by format: `validate-hlo` hands each one on and need not know what becomes of it.

Text and JSON write a line for each pair as soon as it is decided. SARIF and JUnit are one document for the whole run.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from .report import Report


class Format(enum.Enum):
    """What a verdict can be written as."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair without a verdict: an input that cannot be read, or a fault of the validator."""

    where: str
    message: str
    internal: bool = False


class Writer(Protocol):
    """Takes what a run finds out, in order."""

    def report(self, report: Report) -> None: ...

    def failure(self, failure: Failure) -> None: ...

    def close(self) -> None: ...


class _Lines:
    """One line for each pair; failures have none, the exit code and stderr tell of them."""

    def __init__(self, out: TextIO, format_: Format) -> None:
        self._out = out
        self._format = format_

    def report(self, report: Report) -> None:
        from .json_format import json_line
        from .text import verdict_line

        line = json_line(report) if self._format is Format.JSON else verdict_line(report)
        print(line, file=self._out, flush=True)

    def failure(self, failure: Failure) -> None:
        pass

    def close(self) -> None:
        pass


class _Document:
    """Everything at the end."""

    def __init__(self, out: TextIO, format_: Format) -> None:
        self._out = out
        self._format = format_
        self._reports: list[Report] = []
        self._failures: list[Failure] = []

    def report(self, report: Report) -> None:
        self._reports.append(report)

    def failure(self, failure: Failure) -> None:
        self._failures.append(failure)

    def close(self) -> None:
        if self._format is Format.SARIF:
            from .sarif import sarif_log

            log: dict[str, Any] = sarif_log(self._reports, self._failures)
            text = json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False)
        else:
            from .junit import junit_xml

            text = junit_xml(self._reports, self._failures)
        print(text, file=self._out, flush=True)


def writer_for(format_: Format, out: TextIO) -> Writer:
    """The writer of a format."""
    return (_Lines if format_ in (Format.TEXT, Format.JSON) else _Document)(out, format_)
