"""Notes: what a reader of a report wants to know besides the verdict. They never change it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..read.ir import UNKNOWN_LOCATION, Location
from .cause import Rule


class NoteKind(enum.Enum):
    """What a note is about: a lint of a program that is proved, or plain information on the run."""

    INFORMATION = "information"
    REDUNDANT_COLLECTIVE = "redundant-collective"
    DEAD_COLLECTIVE = "dead-collective"
    GATHER_THEN_SLICE = "gather-then-slice"
    NARROW_PARTIAL_SUMS = "narrow-partial-sums"
    REPLICATED_FALLBACK = "replicated-fallback"

    @property
    def rule(self) -> Rule | None:
        """The lint's rule; None for plain information."""
        return LINTS.get(self)


LINTS: dict[NoteKind, Rule] = {
    NoteKind.REDUNDANT_COLLECTIVE: Rule(
        "SP030",
        "a collective changes nothing",
        "Every device holds the collective's result already in its operand. The program is right without it, and "
        "faster.",
    ),
    NoteKind.DEAD_COLLECTIVE: Rule(
        "SP031",
        "no result depends on a collective",
        "What the collective gives reaches no result of the program, so its traffic is for nothing.",
    ),
    NoteKind.GATHER_THEN_SLICE: Rule(
        "SP032",
        "a gathered value is used only through slices of it",
        "All parts are gathered on every device, and then each device uses only some of them. Sending those parts "
        "alone (an all-to-all or collective-permute), or none where they are the device's own, saves traffic and "
        "memory.",
    ),
    NoteKind.NARROW_PARTIAL_SUMS: Rule(
        "SP033",
        "partial sums are rounded to a narrow type before devices add them up",
        "Each device rounds its partial sum to a type of few digits, and the sum across devices rounds again in each "
        "step. The message bounds the relative error against the sum of magnitudes. Reduce in a wider type where it "
        "matters.",
    ),
    NoteKind.REPLICATED_FALLBACK: Rule(
        "SP034",
        "a value is replicated because its shape cannot be split evenly",
        "A sharding was asked for a dimension that the number of devices does not divide, and the partitioner keeps "
        "the whole value on every device instead.",
    ),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One note: its kind, a sentence, and the place in the after program it is about, where there is one."""

    kind: NoteKind
    text: str
    location: Location = UNKNOWN_LOCATION

    @staticmethod
    def information(text: str) -> Note:
        return Note(NoteKind.INFORMATION, text)

    @property
    def rule(self) -> Rule | None:
        return self.kind.rule

    def __str__(self) -> str:
        return self.text
