"""What one validation says, as data."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ops.record import Theory
from ..options import Assumption
from ..read.ir import UNKNOWN_LOCATION, Location
from . import cause as causes
from .cause import Diagnosis, Rule
from .frontier import Frontier
from .note import Note
from .verdict import Verdict

if TYPE_CHECKING:
    from ..evaluate.compare import Counterexample

_THEORIES = tuple(Theory)


class Obstacle(enum.Enum):
    """Why there is no proof; each kind has its own advice in the report."""

    NO_RELATION = "no-relation"
    """A value of the after program has no relation to the before program."""
    THEORY = "theory"
    """There is a proof, in a weaker arithmetic than the user accepts."""
    UNSUPPORTED = "unsupported"
    """The programs contain something that is not modelled."""
    LIMIT = "limit"
    """A limit of the prover was reached."""
    TIMEOUT = "timeout"
    """The time the user gave ran out."""
    MEMORY = "memory"
    """The memory the user gave was used up."""
    INTERRUPTED = "interrupted"
    """The user pressed Ctrl-C."""


_RULES: dict[Obstacle | None, Rule] = {
    Obstacle.THEORY: causes.WEAKER_THEORY,
    Obstacle.LIMIT: causes.LIMIT,
    Obstacle.TIMEOUT: causes.TIMEOUT,
    Obstacle.MEMORY: causes.LIMIT,
}


class Evaluator(enum.Enum):
    """What runs a counterexample."""

    REFERENCE = "reference"
    """The reference evaluator of this package."""
    XLA = "xla"
    """XLA's CPU back end, each device as a replica."""
    STABLEHLO = "stablehlo"
    """StableHLO's interpreter, each device as a process of a grid."""

    @property
    def title(self) -> str:
        """What reports call it."""
        return _EVALUATORS[self][0]

    @property
    def manner(self) -> str:
        """What it is, and how it ran both programs."""
        return ", ".join(_EVALUATORS[self])


_EVALUATORS = {
    Evaluator.REFERENCE: ("the reference evaluator",),
    Evaluator.XLA: ("XLA", "which ran both programs on CPU devices"),
    Evaluator.STABLEHLO: ("StableHLO's interpreter", "which ran both programs op by op"),
}


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Which evaluators have seen what a counterexample shows; `reason` says why those asked before them have not."""

    evaluators: tuple[Evaluator, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OutputReport:
    """The verdict on one result. `theory` is the arithmetic its proof needs, None where there is no proof."""

    index: int
    label: str
    verdict: Verdict
    theory: Theory | None = None
    location: Location = UNKNOWN_LOCATION
    message: str = ""

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.PROVED) != (self.theory is not None):
            raise ValueError(f"output {self.index}: an output has a theory exactly when it is proved")

    @property
    def title(self) -> str:
        """What reports call it: `output 1 'grad'`."""
        return f"output {self.index} '{self.label}'" if self.label else f"output {self.index}"


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one run; they never bear on the verdict."""

    seconds: float = 0.0
    ops_before: int = 0
    ops_after: int = 0
    relations: int = 0
    memo_hits: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    """How often each lemma and each rewrite rule of the e-graph was used, by name."""
    lemmas: frozenset[str] = frozenset()
    """Which of these are lemmas."""
    egraph_stop: str | None = None
    """Why the e-graph's last run ended; None where it was not needed."""
    isl_seconds: float = 0.0
    egraph_seconds: float = 0.0
    memo: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By operation on relations: how often it was known already, and how often it was computed."""


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on one pair of programs and all that explains it. `before` and `after` name the inputs."""

    before: str
    after: str
    verdict: Verdict
    theory: Theory | None = None
    assumptions: tuple[Assumption, ...] = ()
    outputs: tuple[OutputReport, ...] = ()
    obstacle: Obstacle | None = None
    message: str = ""
    """What differs, in one sentence; empty when proved."""
    cause: Diagnosis | None = None
    """What is wrong, where that is known; None when proved."""
    frontier: Frontier | None = None
    counterexample: Counterexample | None = None
    confirmation: Confirmation | None = None
    """Which evaluators have seen the counterexample's difference; None where only the reference evaluator was asked."""
    notes: tuple[Note, ...] = ()
    stats: Stats = field(default_factory=Stats)
    certificate: str | None = None
    """Where one was asked for: the proof as text for `shardproof-check`; a note says why where there is none."""

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.PROVED) != (self.theory is not None):
            raise ValueError("a report has a theory exactly when it is proved")
        # A whole may be worse than its outputs (a mismatch of signatures has no output), but never better.
        if Verdict.of([self.verdict, *(output.verdict for output in self.outputs)]) is not self.verdict:
            raise ValueError(f"a report cannot be {self.verdict.name} when one of its outputs is worse")
        if self.theory is not None and _weakest(o.theory for o in self.outputs) not in (None, self.theory):
            raise ValueError("a report's theory is the weakest of its outputs' theories")
        if self.counterexample is not None and self.verdict is not Verdict.REFUTED:
            raise ValueError("a report with a counterexample is REFUTED")
        if self.confirmation is not None and self.counterexample is None:
            raise ValueError("a report without a counterexample has nothing to confirm")
        if self.cause is not None and self.verdict is Verdict.PROVED:
            raise ValueError("a report that is proved has no cause of failure")

    @staticmethod
    def over(before: str, after: str, outputs: Iterable[OutputReport], **rest: Any) -> Report:
        """The report whose verdict and theory follow from its outputs."""
        outputs = tuple(outputs)
        verdict = Verdict.of(output.verdict for output in outputs)
        theory = _weakest(output.theory for output in outputs) or Theory.EXACT if verdict is Verdict.PROVED else None
        return Report(before, after, verdict, theory, outputs=outputs, **rest)

    @property
    def rule(self) -> Rule | None:
        """The rule that the missing proof is filed under: that of its cause, or a general one; None when proved."""
        if self.verdict is Verdict.PROVED:
            return None
        if self.cause is not None:
            return self.cause.rule
        if self.verdict is Verdict.REFUTED:
            return causes.DIFFERS
        if self.verdict is Verdict.UNSUPPORTED:
            return causes.Cause.UNSUPPORTED.rule
        return _RULES.get(self.obstacle, causes.NO_RELATION)

    @property
    def failing(self) -> OutputReport | None:
        """The output that the cause and the place are about: the first one with the verdict of the whole."""
        if self.verdict is Verdict.PROVED:
            return None
        return next((output for output in self.outputs if output.verdict is self.verdict), None)

    @property
    def location(self) -> Location:
        """Where the report points: the frontier, else the first output that is not proved."""
        if self.frontier is not None and self.frontier.location != UNKNOWN_LOCATION:
            return self.frontier.location
        failing = [output.location for output in self.outputs if output.verdict is not Verdict.PROVED]
        return failing[0] if failing else UNKNOWN_LOCATION

    def to_json(self) -> dict[str, Any]:
        """The report as plain data of schema 1, ready for `json.dumps`."""
        from .json_format import report_to_json

        return report_to_json(self)

    def __str__(self) -> str:
        from .text import full_text

        return full_text(self)

    def _repr_html_(self) -> str:
        from .html import fragment

        return fragment(self)


def _weakest(theories: Iterable[Theory | None]) -> Theory | None:
    return max((theory for theory in theories if theory is not None), key=_THEORIES.index, default=None)
