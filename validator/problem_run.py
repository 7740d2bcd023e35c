"""Runs the problems of a file and compares what comes out with what the file expects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..dialect.diagnostics import Diagnostic, disagreements
from .options import Options
from .problems import Problem, ProblemError, diagnostic_of, parts_of, read_problems
from .read.errors import ReadError
from .read.mlir_text import text_of
from .report.report import Report
from .report.text import diagnose
from .report.verdict import ExitCode
from .run import Source


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one problem: its exit code, its report if there is one, and what is to be said beside it.

    The code is 0 where the verdict is as expected, and the verdict's own where the file expects none.
    """

    code: ExitCode
    report: Report | None
    diagnostics: tuple[Diagnostic, ...] = ()
    is_expected: bool = False


def run_problems(
    source: Source, options: Options, split: bool, validate: Callable[[Problem], Report | None]
) -> Iterator[Outcome]:
    """Runs all problems of a file in order; a fault in one does not keep the others from their verdicts.

    `validate` decides one problem; it gives None where the validator itself failed. Raises `ReadError` for a file that
    holds no problems.
    """
    for part in parts_of(source, split):
        try:
            problems = read_problems(part, source.name, options)
        except ProblemError as error:
            yield Outcome(ExitCode.UNREADABLE, None, tuple(error.diagnostics))
            continue
        for problem in problems:
            try:
                report = validate(problem)
            except ReadError as error:
                yield Outcome(ExitCode.UNREADABLE, None, (diagnostic_of(error, source.name),))
                continue
            yield _outcome(problem, report)


def _outcome(problem: Problem, report: Report | None) -> Outcome:
    if report is None:
        return Outcome(ExitCode.INTERNAL, None)
    if problem.expect is None:
        return Outcome(ExitCode.of(report.verdict), report)
    difference = problem.disagreement(report)
    if difference is None:
        return Outcome(ExitCode.PROVED, report, is_expected=True)
    return Outcome(ExitCode.UNMET, report, (Diagnostic(problem.line, problem.column, "error", difference),))


def unexpected(source: Source, outcomes: Iterable[Outcome]) -> list[Diagnostic]:
    """What does not agree with the comments that expect diagnostics; nothing where all is as the file says."""
    found: list[Diagnostic] = []
    for outcome in outcomes:
        found += outcome.diagnostics
        if outcome.report is not None:
            found += _of_report(outcome.report, source.name, outcome.is_expected)
    return disagreements(text_of(source.data, source.name), found)


def _of_report(report: Report, name: str, is_expected: bool) -> Iterator[Diagnostic]:
    """The diagnostics of a report; what is said of places in other files has no place in this one."""
    for each in diagnose(report):
        frame = each.frame if each.frame is not None and each.frame.file == name else None
        place = (frame.line, frame.column) if frame is not None else (0, 0)
        yield Diagnostic(*place, each.severity.value, each.message, is_expected)
