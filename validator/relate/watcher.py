"""Tells how far the walks are, and which results are proved before the walk is over."""

from __future__ import annotations

from collections.abc import Callable

from ..course import Advanced, Course, Phase, Proved
from ..read.ir import Program
from ..relation.layout import regions
from .outputs import Comparison
from .walk import Walk

MAX_FAILURES = 16
"""After this many results that are not proved as soon as they are there, the others wait for the end of the walk."""


class Watcher:
    """Watches the walks of one decision.

    `compare` compares a result by number, without an effect on the walk. A result that is not proved as soon as it is
    there may be so later, when another of its names is found.
    """

    def __init__(self, course: Course, after: Program, compare: Callable[[int], Comparison | None]) -> None:
        self._course, self._after, self._compare = course, after, compare
        self._open = {number: result.value.number for number, result in enumerate(after.results)}
        self._failures = 0

    def before(self, walk: Walk, program: Program) -> None:
        """Watches the walk over the original."""
        self._enter(Phase.WALKING_BEFORE, program)

        def advanced() -> None:
            if self._course.due():
                self._course.tell(Advanced(walk.ops_walked))

        walk.watch = advanced

    def after(self, walk: Walk) -> None:
        """Watches the walk over the partitioned program."""
        self._enter(Phase.WALKING_AFTER, self._after)

        def advanced() -> None:
            if self._course.due():
                self._course.tell(Advanced(walk.ops_walked))
                # inside a loop, what is made would be taken for the loop's
                if walk.op is None:
                    self._prove(walk)

        walk.watch = advanced

    def _enter(self, phase: Phase, program: Program) -> None:
        self._course.enter(phase, sum(len(region.ops) for region in regions(program.body)))

    def _prove(self, walk: Walk) -> None:
        if self._failures > MAX_FAILURES:
            return
        for number in [number for number, value in self._open.items() if value in walk.env]:
            del self._open[number]
            comparison = self._compare(number)
            if comparison is not None and comparison.proved:
                self._course.tell(Proved(number, comparison.theory))
            else:
                self._failures += 1
