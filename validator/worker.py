"""Validations in a process of their own, which is ended where they exceed their time or memory.

The report on a validation that was ended has what was proved by then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from . import run
from .child import Child
from .course import Course
from .options import Options
from .partial import Interrupted, Record, watched
from .read.ir import Program
from .report.report import Obstacle, Report
from .run import Source


class Worker:
    """One process at a time, started when it is first needed. Threads that ask take turns."""

    def __init__(self) -> None:
        self._child = Child("shardproof.validator.validate", "validating")

    def prove(self, before: Program, after: Program, options: Options, course: Course | None = None) -> Report:
        """`validate_programs` in the process. Its start is not counted against the time limit."""
        from .validate import validate_programs

        record = Record(before.source, after.source, options)
        return self._ask(validate_programs, (before, after), record, course, when_ready=True)

    def validate(self, before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
        """`validate_here` in the process, whose start counts if it has to be started; raises what that raises."""
        return self._ask(run.validate_here, (before, after), Record(before.name, after.name, options), course)

    def stop(self) -> None:
        """Ends what the process is at, from another thread; that validation raises `Interrupted`."""
        self._child.stop()

    def close(self) -> None:
        """Ends the process, if there is one."""
        self._child.close()

    def _ask(
        self,
        validate: Callable[..., Report],
        pair: tuple[Any, Any],
        record: Record,
        course: Course | None,
        *,
        when_ready: bool = False,
    ) -> Report:
        options = record.options
        try:
            answer = self._child.ask(
                validate,
                (*pair, options),
                watched(record, course or Course()).tell,
                timeout=options.timeout,
                memory_limit=options.memory_limit,
                when_ready=when_ready,
            )
        except KeyboardInterrupt:
            raise Interrupted(record.report(Obstacle.INTERRUPTED)) from None
        return record.report(answer) if isinstance(answer, Obstacle) else answer


def validate_limited(before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
    """One pair in a process of its own."""
    with closing(Worker()) as worker:
        return worker.validate(before, after, options, course)


def prove_limited(before: Program, after: Program, options: Options, course: Course | None = None) -> Report:
    """One pair of programs that have been read, in a process of its own."""
    with closing(Worker()) as worker:
        return worker.prove(before, after, options, course)
