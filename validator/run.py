"""From two inputs to a report: reading and proving, in this process or, under limits, in one that can be ended."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .course import Course
from .options import Options
from .read.errors import ReadError, ReadErrorKind
from .read.files import load

if TYPE_CHECKING:
    from .read.ir import Program
    from .report.report import Report


@dataclass(frozen=True, slots=True)
class Source:
    """One input: the name reports give it, whose suffix tells the format where the content does not, and its bytes."""

    name: str
    data: bytes

    @staticmethod
    def of_file(path: str) -> Source:
        """The content of a file, or of standard input for '-'; raises `ReadError` where there is none."""
        return Source("<stdin>" if path == "-" else path, load(path))


class InternalError(Exception):
    """A fault of the validator itself; `details` is the traceback or what the dying process said."""

    def __init__(self, summary: str, details: str) -> None:
        super().__init__(summary)
        self.details = details


def summary_of(error: BaseException) -> str:
    """One line for an unexpected exception."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def validate_sources(before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
    """Reads and validates one pair; with limits in a process of its own, since not everything below can be stopped.

    Raises `ReadError` for an input that cannot be read, and `Interrupted` on Ctrl-C. What is well formed but not
    modelled is a verdict, UNSUPPORTED. `course` hears how far the validation is.
    """
    if _limited(options):
        from .worker import validate_limited

        return validate_limited(before, after, options, course)
    with _interruptible(before.name, after.name, options, course) as inner:
        return validate_here(before, after, options, inner)


def validate_read(before: Program, after: Program, options: Options, course: Course | None = None) -> Report:
    """`validate_sources` for programs that have been read already."""
    if _limited(options):
        from .worker import prove_limited

        return prove_limited(before, after, options, course)
    from .validate import validate_programs

    with _interruptible(before.source, after.source, options, course) as inner:
        return validate_programs(before, after, options, inner)


def validate_here(before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
    """`validate_sources` in this process, without a hard limit."""
    from .read.program import read_pair
    from .report.report import Obstacle, Report
    from .report.verdict import Verdict

    course = course or Course()
    start = time.monotonic()
    try:
        spec, implementation = read_pair(before.data, after.data, names=(before.name, after.name), course=course)
    except ReadError as error:
        if error.kind is not ReadErrorKind.UNSUPPORTED:
            raise
        return Report(
            before.name,
            after.name,
            Verdict.UNSUPPORTED,
            assumptions=tuple(options.assumptions),
            obstacle=Obstacle.UNSUPPORTED,
            message=f"{error.where}: {error.message}",
        )
    from .validate import validate_programs

    report = validate_programs(spec, implementation, options, course)
    if options.confirm and report.counterexample is not None:
        from .confirm import confirmed

        report = confirmed(report, before, after, options, deadline=course.deadline)
    return replace(report, stats=replace(report.stats, seconds=time.monotonic() - start))


def reply_to(work: Callable[[], object]) -> tuple[object, ...]:
    """What another process tells of its work: the result, or what was raised in its place, as plain data."""
    try:
        return "result", work()
    except ReadError as error:
        return "unreadable", error.kind, error.where, error.message
    except InternalError as error:
        return "fault", str(error), error.details
    except Exception as error:
        return "fault", summary_of(error), traceback.format_exc()


def result_of(reply: object) -> Any:
    """The result in a reply; raises the error that is there in its place."""
    match reply:
        case ("result", result):
            return result
        case ("unreadable", ReadErrorKind() as kind, str() as where, str() as message):
            raise ReadError(kind, where, message)
        case ("fault", str() as summary, str() as details):
            raise InternalError(summary, details)
    raise InternalError(f"the other process answered {reply!r}", "")


def _limited(options: Options) -> bool:
    return options.timeout is not None or options.memory_limit is not None


@contextmanager
def _interruptible(before: str, after: str, options: Options, course: Course | None) -> Iterator[Course]:
    """A course that is recorded, so that Ctrl-C leaves a report on what was proved until then."""
    from .partial import Interrupted, Record, watched
    from .report.report import Obstacle

    record = Record(before, after, options)
    try:
        yield watched(record, course or Course())
    except KeyboardInterrupt:
        raise Interrupted(record.report(Obstacle.INTERRUPTED)) from None
