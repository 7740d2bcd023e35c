"""The course of a validation: when it must end, and what is told of it while it runs.

What is told serves progress bars and reports on validations that are cut short; no verdict depends on it.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ops.record import Theory, strongest

if TYPE_CHECKING:
    from .report.report import Report


class Phase(enum.Enum):
    """What a validation is at; the values complete the sentence "stopped while …"."""

    STARTING = "starting"
    READING_BEFORE = "reading the before program"
    READING_AFTER = "reading the after program"
    RELATING = "reading the relations"
    WALKING_BEFORE = "walking the before program"
    WALKING_AFTER = "walking the after program"
    COMPARING = "comparing results"
    WAITING = "validating pairs"
    """Others of them, at the same time."""
    SEARCHING = "looking for a counterexample"
    CHECKING = "checking the certificate"


@dataclass(frozen=True, slots=True)
class Entered:
    """A phase has begun; `total` is how many ops, results or pairs it goes through, 0 where that is not known."""

    phase: Phase
    total: int = 0


@dataclass(frozen=True, slots=True)
class Advanced:
    """How many ops, results or pairs of the phase are done."""

    done: int


@dataclass(frozen=True, slots=True)
class Known:
    """Both programs are read, and these are the labels of their results."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """A result is proved, whatever comes after."""

    result: int
    theory: Theory


@dataclass(frozen=True, slots=True)
class Settled:
    """The report that stands unless a counterexample is found."""

    report: Report


Event = Entered | Advanced | Known | Proved | Settled
Listener = Callable[[Event], None]

PAUSE = 0.2
"""Seconds between two events on how far a phase is."""


def _silent(event: Event) -> None:
    pass


@dataclass(slots=True)
class Course:
    """What goes along with one validation. `deadline` is a time of the monotonic clock, None for no limit."""

    deadline: float | None = None
    tell: Listener = _silent
    _next: float = 0.0

    def enter(self, phase: Phase, total: int = 0) -> None:
        self._next = 0.0
        self.tell(Entered(phase, total))

    def accepting(self, theory: Theory | None) -> Course:
        """The same course, told only of proofs in a theory, or of none: others do not count, or only once checked."""

        def tell(event: Event) -> None:
            if not isinstance(event, Proved) or (theory and strongest([event.theory, theory]) is theory):
                self.tell(event)

        return Course(self.deadline, tell)

    def due(self) -> bool:
        """Whether it is time again to say how far the phase is."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + PAUSE
        return True
