"""What is known of a validation that was cut short: by its limits, or by the user."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from .course import Advanced, Course, Entered, Event, Known, Phase, Proved, Settled
from .ops.record import Theory
from .options import Options
from .report.note import Note
from .report.report import Obstacle, OutputReport, Report, Stats
from .report.verdict import Verdict


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C; `report` says what was known by then."""

    def __init__(self, report: Report) -> None:
        super().__init__("interrupted")
        self.report = report


@dataclass(slots=True)
class Record:
    """Hears all that is told of one validation. `before` and `after` name the inputs."""

    before: str
    after: str
    options: Options
    start: float = field(default_factory=time.monotonic)
    phase: Phase = Phase.STARTING
    labels: tuple[str, ...] = ()
    proved: dict[int, Theory] = field(default_factory=dict)
    settled: Report | None = None
    _done: dict[Phase, int] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        match event:
            case Entered(phase):
                self.phase = phase
            case Advanced(done):
                self._done[self.phase] = done
            case Known(labels):
                self.labels = labels
            case Proved(result, theory):
                self.proved[result] = theory
            case Settled(report):
                self.settled = report

    def report(self, obstacle: Obstacle) -> Report:
        """The report on what was found until now: a proof of a result stands, everything else is NOT_PROVED."""
        seconds = time.monotonic() - self.start
        if self.settled is not None:
            # the proof had ended: its own obstacle is the reason, and only the search for a counterexample was cut
            note = Note.information(f"{_CUT[obstacle]} while {self.phase.value}")
            stats = replace(self.settled.stats, seconds=seconds)
            return replace(self.settled, notes=(*self.settled.notes, note), stats=stats)
        message = f"{self._limit(obstacle)}, stopped while {self.phase.value}"
        outputs = [
            OutputReport(k, label, Verdict.PROVED, self.proved[k])
            if k in self.proved
            else OutputReport(k, label, Verdict.NOT_PROVED, message="not decided")
            for k, label in enumerate(self.labels)
        ]
        return Report(
            self.before,
            self.after,
            Verdict.NOT_PROVED,
            assumptions=tuple(sorted(self.options.assumptions, key=lambda a: a.value)),
            outputs=tuple(outputs),
            obstacle=obstacle,
            message=message,
            stats=Stats(
                seconds=seconds,
                ops_before=self._done.get(Phase.WALKING_BEFORE, 0),
                ops_after=self._done.get(Phase.WALKING_AFTER, 0),
            ),
        )

    def _limit(self, obstacle: Obstacle) -> str:
        match obstacle:
            case Obstacle.TIMEOUT:
                return f"no verdict within {self.options.timeout:g} s"
            case Obstacle.MEMORY:
                return f"no verdict within {self.options.memory_limit} MB"
            case _:
                return "no verdict: interrupted"


_CUT = {
    Obstacle.TIMEOUT: "the time limit was reached",
    Obstacle.MEMORY: "the memory limit was reached",
    Obstacle.INTERRUPTED: "interrupted",
}


def watched(record: Record, course: Course) -> Course:
    """The same course, whose events the record hears first."""
    outer = course.tell

    def tell(event: Event) -> None:
        record.hear(event)
        outer(event)

    return Course(course.deadline, tell)
