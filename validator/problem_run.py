"""Runs the problems of a file and compares what comes out with what the file expects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .options import Options
from .problems import Problem, ProblemError, read_problems
from .read.errors import ReadError
from .read.mlir_text import text_of
from .report.diagnostic import Diagnostic, Severity, of_read_error
from .report.expected import disagreements, split_input
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
    for part in split_input(source.data) if split else [source.data]:
        try:
            problems = read_problems(part, source.name, options)
        except ProblemError as error:
            yield Outcome(ExitCode.UNREADABLE, None, tuple(error.diagnostics))
            continue
        for problem in problems:
            try:
                report = validate(problem)
            except ReadError as error:
                yield Outcome(ExitCode.UNREADABLE, None, (of_read_error(error, source.name),))
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
    error = Diagnostic(Severity.ERROR, difference, problem.spec.name, problem.frame)
    return Outcome(ExitCode.UNMET, report, (error,))


def unexpected(source: Source, outcomes: Iterable[Outcome]) -> list[Diagnostic]:
    """What does not agree with the comments that expect diagnostics; nothing where all is as the file says."""
    said: list[Diagnostic] = []
    tolerated: list[Diagnostic] = []
    for outcome in outcomes:
        said += outcome.diagnostics
        if outcome.report is not None:
            (tolerated if outcome.is_expected else said).extend(diagnose(outcome.report))
    return disagreements(text_of(source.data, source.name), source.name, said, tolerated)
