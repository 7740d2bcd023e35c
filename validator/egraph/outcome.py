"""What a run may spend, how it ended, and how equalities are accounted for."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ..ops.record import Theory


class UnsoundMerge(Exception):
    """Two different constants fell into one class: a rule, a relation or a told equality is wrong.

    Or a program adds the constants 0 and -0, which above theory exact is either of them, or divides by zero for all
    inputs over the reals. Nothing may be concluded from such a graph: 1/0 would be 1/-0.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one `saturate` call. A run that meets one is sound, only incomplete.

    Time is looked at between iterations, so one iteration may overrun it.
    """

    iterations: int = 300
    nodes: int = 300_000
    seconds: float = 10.0


class StopReason(enum.Enum):
    SATURATED = "saturated"
    ITERATION_LIMIT = "iteration limit"
    NODE_LIMIT = "node limit"
    TIME_LIMIT = "time limit"


@dataclass(frozen=True, slots=True)
class RunReport:
    """One saturation: why it stopped, how often each rule matched, and its cost."""

    stop: StopReason
    theory: Theory
    fired: Mapping[str, int]
    iterations: int
    nodes: int
    seconds: float

    def __str__(self) -> str:
        busiest = sorted(self.fired.items(), key=lambda item: (-item[1], item[0]))
        rules = ", ".join(f"{name} {count}" for name, count in busiest)
        cost = f"{self.iterations} iterations, {self.nodes} nodes, {self.seconds:.3f} s"
        return f"{self.stop.value} after {cost}: {rules}"


class Why(enum.Enum):
    """The kind of one explanation step."""

    CONGRUENCE = "congruence"
    """Same op, same attributes, equal operands."""
    RULE = "rule"
    """A rule of `RULES` had an instance in this class."""
    TOLD = "told"
    """The caller said so, with its reason."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an explanation, about the terms `left` and `right`, which are in one class."""

    why: Why
    name: str
    """The rule's name, the reason that was told, or the op that congruence passes through."""
    left: int
    right: int
    theory: Theory = Theory.EXACT
