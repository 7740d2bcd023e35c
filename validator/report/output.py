"""Where reports go, by format: `validate-hlo` hands each one on and need not know what becomes of it.

Text and JSON write a line for each pair as soon as it is decided. SARIF and JUnit are one document for the whole run.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from .bisection import Bisection
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


class _Collected:
    """What a run finds out, kept until its end."""

    def __init__(self) -> None:
        self._reports: list[Report] = []
        self._failures: list[Failure] = []

    def report(self, report: Report) -> None:
        self._reports.append(report)

    def failure(self, failure: Failure) -> None:
        self._failures.append(failure)


class _Document(_Collected):
    """Everything at the end."""

    def __init__(self, out: TextIO, format_: Format) -> None:
        super().__init__()
        self._out = out
        self._format = format_

    def close(self) -> None:
        if self._format is Format.SARIF:
            from .sarif import sarif_log

            log: dict[str, Any] = sarif_log(self._reports, self._failures)
            text = json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False)
        else:
            from .junit import junit_xml

            text = junit_xml(self._reports, self._failures)
        print(text, file=self._out, flush=True)


class _Html(_Collected):
    """One page for the whole run, beside what goes to the output."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def close(self) -> None:
        from .html import page

        with open(self._path, "w", encoding="utf-8") as file:
            file.write(page(self._reports, self._failures))


class _Both:
    """Hands everything on to several writers."""

    def __init__(self, *writers: Writer) -> None:
        self._writers = writers

    def report(self, report: Report) -> None:
        for writer in self._writers:
            writer.report(report)

    def failure(self, failure: Failure) -> None:
        for writer in self._writers:
            writer.failure(failure)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


def print_bisection(
    found: Bisection, format_: Format, out: TextIO, writer: Writer, messages: TextIO, quiet: bool, verbose: bool
) -> None:
    """A search for the first wrong pass: a line of text or JSON, and what explains it as messages.

    Formats of whole documents get a report for each pass.
    """
    from .diagnostic import lines_of
    from .terminal import print_lines
    from .text import diagnose

    if format_ in (Format.TEXT, Format.JSON):
        print(found.json_line() if format_ is Format.JSON else found.text(), file=out, flush=True)
    else:
        for step in found.steps:
            writer.report(step.report)
    if quiet:
        return
    if found.guilty is not None:
        report = found.guilty.report
        print_lines(lines_of(diagnose(report, verbose), report.after), messages)
    for line in found.notes(verbose):
        print(line, file=messages)


def writer_for(format_: Format, out: TextIO, html: str | None = None) -> Writer:
    """The writer of a format, which also writes the HTML file where one is asked for."""
    writer = (_Lines if format_ in (Format.TEXT, Format.JSON) else _Document)(out, format_)
    return writer if html is None else _Both(writer, _Html(html))
