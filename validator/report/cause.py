"""What is wrong with a program, as a closed set of causes with stable rule ids.

A cause is told from relations alone. Its message is one sentence, to which the facts that are known of it are added;
its help text says what the error does and how it is usually repaired.
"""

from __future__ import annotations

import enum
import string
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rule:
    """What one kind of finding is called wherever reports name rules, such as in SARIF.

    `message` is the sentence without any facts; each of `clauses` is added to it where all its facts are known.
    """

    id: str
    message: str
    help: str
    clauses: tuple[str, ...] = ()

    def say(self, facts: Mapping[str, str]) -> str:
        """The sentence with the clauses whose facts are known."""
        known = [clause for clause in self.clauses if set(_fields(clause)) <= facts.keys()]
        return self.message + "".join(clause.format(**facts) for clause in known)

    @property
    def facts(self) -> frozenset[str]:
        """Names of the facts that some clause tells."""
        return frozenset(name for clause in self.clauses for name in _fields(clause))


def _fields(clause: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(clause) if name is not None]


class Cause(enum.Enum):
    """What is wrong; the value is the name that reports give it."""

    UNREDUCED = "unreduced-partial-sum"
    REDUCED_TWICE = "reduced-twice"
    WRONG_GROUPS = "wrong-groups"
    WRONG_DIMENSION = "wrong-dimension"
    WRONG_OFFSET = "wrong-offset"
    WRONG_PERMUTATION = "wrong-permutation"
    MISSING_MASK = "missing-mask"
    NONLINEAR_ON_PARTIAL = "nonlinear-on-partial"
    COUNTED_PER_DEVICE = "counted-per-device"
    REPLICAS_DISAGREE = "replicas-disagree"
    SWAPPED = "swapped"
    ROUNDING_MOVED = "rounding-moved"
    WRONG_REDUCER = "wrong-reducer"
    WRONG_FACTOR = "wrong-factor"
    WRONG_CONSTANT = "wrong-constant"
    UNSUPPORTED = "unsupported-construct"

    @property
    def rule(self) -> Rule:
        return RULES[self]


RULES: dict[Cause, Rule] = {
    Cause.UNREDUCED: Rule(
        "SP001",
        "a partial result is never combined",
        "Each device holds only its own part of a sum (or of a maximum or another reduction), and nothing adds the "
        "parts up before the value is used as if it were whole. An all-reduce or reduce-scatter over the mesh axis "
        "named in the message is missing, or one stands in another place than the partial result. In `shard_map` code"
        " this is a missing `lax.psum`.",
        (" across {axis}", ": each device holds {found} of {expected} terms"),
    ),
    Cause.REDUCED_TWICE: Rule(
        "SP002",
        "a value is summed across devices that already hold all of it",
        "An all-reduce runs over a value that is the same on all its devices, usually because it was reduced before. "
        "Every element comes out multiplied by the number of devices. Remove one of the two reductions, or divide by "
        "the factor named in the message.",
        (" ({axis})", ": it comes out {factor} times as large"),
    ),
    Cause.WRONG_GROUPS: Rule(
        "SP003",
        "a collective runs over the wrong groups of devices",
        "The collective is the right one, but its replica groups are not those that hold the parts: too many devices,"
        " too few, or those along another mesh axis. The message tells the groups that would complete the value and "
        "those in the program.",
        (": expected {expected}", ", found {found}"),
    ),
    Cause.WRONG_DIMENSION: Rule(
        "SP004",
        "data is laid out along the wrong dimension",
        "A collective, reshape or transpose puts the elements along another dimension (or in another order of "
        "dimensions) than the original does. Where both dimensions are equally long no shape tells the error.",
        (": expected dimension {expected}", ", found dimension {found}"),
    ),
    Cause.WRONG_OFFSET: Rule(
        "SP005",
        "elements are read or written at the wrong offset",
        "A slice, update, iota or index starts at another place than the device's shard does, or a start that is out "
        "of range is clamped against the shard instead of against the whole tensor. Check what is computed from the "
        "device number, and that starts are clamped before they are split among devices.",
        (": expected {expected}", ", found {found}"),
    ),
    Cause.WRONG_PERMUTATION: Rule(
        "SP006",
        "blocks are exchanged between the wrong devices",
        "The pairs of a collective-permute (or the order of devices in a gather or all-to-all) bring a device the "
        "block of another one: the direction is reversed, a pair is missing, or the order is rotated. A device that "
        "no pair names as a target gets zeros.",
        (": expected {expected}", ", found {found}"),
    ),
    Cause.MISSING_MASK: Rule(
        "SP007",
        "elements that should be masked reach the result",
        "Padding of an uneven shard, or elements outside the range that a device owns, take part in the result. Mask "
        "them with the neutral element of the reduction that follows, or with zero where shards are added.",
        (": {found}",),
    ),
    Cause.NONLINEAR_ON_PARTIAL: Rule(
        "SP008",
        "an op that is not linear runs on a partial result",
        "Each device holds only its part of a reduction, and an op that does not commute with it (such as a product "
        "of two such values, exp, max or a comparison) is applied before the parts are combined. Reduce first.",
        (": '{op}'", " before the reduction over {axis}"),
    ),
    Cause.COUNTED_PER_DEVICE: Rule(
        "SP009",
        "a term that belongs in the sum once is added on every device",
        "A bias, constant or residual that all devices hold is added to partial results before they are summed, so it "
        "counts once a device. Add it after the reduction, or on one device only.",
        (": it counts {factor} times", " over {axis}"),
    ),
    Cause.REPLICAS_DISAGREE: Rule(
        "SP010",
        "devices that must hold the same hold different values",
        "The value is taken for replicated, but devices of a group hold different parts of it. Gather it first, or "
        "use it as the sharded value that it is.",
        (" over {axis}",),
    ),
    Cause.SWAPPED: Rule(
        "SP011",
        "operands or results are swapped or mistaken for each other",
        "The op is the original's, but it is given another value in the place of one of its operands, or results are "
        "returned in another order.",
        (": expected {expected}", ", found {found}"),
    ),
    Cause.ROUNDING_MOVED: Rule(
        "SP012",
        "rounding to a narrower type happens in another place",
        "The programs agree over the real numbers, but one of them rounds to a narrower type where the other does not, "
        "such as before a reduction across devices instead of after it. That is an error of precision only; the "
        "theory `real` accepts it.",
        (": '{found}' before the reduction",),
    ),
    Cause.UNSUPPORTED: Rule(
        "SP013",
        "the program contains a construct that is not modelled",
        "Nothing is known of what depends on this construct, so there is neither a proof nor a refutation by "
        "relations. `validate-hlo --list-ops` tells what is modelled; custom calls can be given a contract.",
        (": {found}",),
    ),
    Cause.WRONG_REDUCER: Rule(
        "SP014",
        "values are combined by another operation than the original's",
        "A reduction, across devices or within one, uses another reducer, such as a sum where the original takes the "
        "maximum.",
        (": expected '{expected}'", ", found '{found}'"),
    ),
    Cause.WRONG_FACTOR: Rule(
        "SP015",
        "a constant factor is missing or applied once too often",
        "The value is the original's times a number, such as a mean where a sum belongs, or a loss that is divided by"
        " the number of devices on top of an average that the original takes itself.",
        (": '{op}'", " comes out {factor} times as large"),
    ),
    Cause.WRONG_CONSTANT: Rule(
        "SP016",
        "a constant is another one than the original's",
        "A constant of the after program stands where the before program has another value, on all devices or on some.",
        (": expected {expected}", ", found {found}"),
    ),
}


DIFFERS = Rule(
    "SP020",
    "the programs compute different results",
    "A counterexample shows the difference; none of the known causes fits it. The place named is the first value of "
    "the after program that has no relation to the before program although its operands have one.",
)
NO_RELATION = Rule(
    "SP021",
    "no proof that the programs compute the same",
    "Neither a proof nor a counterexample was found. The place named is where the proof stops; the page `not-proved` "
    "of the documentation goes through the usual reasons.",
)
WEAKER_THEORY = Rule(
    "SP022",
    "the proof needs a weaker arithmetic than was asked for",
    "The programs agree if one ignores what the weaker theory ignores, such as rounding. Ask for that theory with "
    "`--theory` where this is acceptable.",
)
LIMIT = Rule(
    "SP023",
    "a limit of the prover was reached",
    "A relation became too complex at the place named, so nothing is known of what depends on it.",
)
TIMEOUT = Rule(
    "SP024",
    "the time limit was reached",
    "The time given by `--timeout` was over before there was a proof or a counterexample.",
)

OTHER_RULES: tuple[Rule, ...] = (DIFFERS, NO_RELATION, WEAKER_THEORY, LIMIT, TIMEOUT)
"""What a report without a proof is filed under where no cause is known."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of a missing proof and what is known of it, by the names in the cause's clauses."""

    cause: Cause
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := self.facts.keys() - self.cause.rule.facts:
            raise ValueError(f"cause '{self.cause.value}' tells nothing of '{min(unknown)}'")

    @property
    def rule(self) -> Rule:
        return self.cause.rule

    @property
    def message(self) -> str:
        """One sentence, lower case, without the place."""
        return self.rule.say(self.facts)
