"""What the evaluator says when it cannot evaluate; every case names the construct, none is skipped."""

from __future__ import annotations


class EvaluationError(Exception):
    """Evaluation stopped; the message tells the construct and the reason."""


class UnsupportedOp(EvaluationError):
    """An operation, or one of its attributes or types, has no evaluation."""

    def __init__(self, construct: str, reason: str = "") -> None:
        self.construct = construct
        super().__init__(f"'{construct}' {reason}" if reason else f"'{construct}' has no evaluation")


class UnsupportedInExact(EvaluationError):
    """The exact arithmetic has no meaning for this construct; the wide arithmetic may still evaluate it."""

    def __init__(self, construct: str) -> None:
        self.construct = construct
        super().__init__(f"'{construct}' has no meaning in exact arithmetic")


class DivergentCollective(EvaluationError):
    """A collective inside control flow that not all devices of the program take together."""

    def __init__(self, construct: str) -> None:
        self.construct = construct
        super().__init__(f"'{construct}' runs where the devices' control flow differs")


class NoLayout(EvaluationError, ValueError):
    """The programs' own shardings do not say how their values correspond."""


class TooLarge(EvaluationError):
    """A tensor has more elements on all devices together than the machine was given leave to hold."""


class OutOfTime(EvaluationError):
    """The time given to the machine is used up."""
