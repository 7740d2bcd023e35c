"""The place where a proof stops, with its neighbourhood in both programs."""

from __future__ import annotations

from dataclasses import dataclass

from ..read.ir import UNKNOWN_LOCATION, Location


@dataclass(frozen=True, slots=True)
class OperandRelation:
    """An operand of the op where the proof stops, and how it relates to the before program."""

    name: str
    relation: str


@dataclass(frozen=True, slots=True)
class NearValue:
    """A value in the neighbourhood of the place: an operand of the op there, its result, or what uses that.

    `op` is the op that makes the value, "parameter" for one that is given. `layout` tells in words how it lies on the
    devices (empty on the side of the logical program), `relation` what is known of it exactly. `operands` and
    `counterpart` are names of values: those it is made of, and the value of the other program that it corresponds to.
    """

    name: str
    op: str
    type: str
    layout: str = ""
    relation: str = ""
    operands: tuple[str, ...] = ()
    counterpart: str = ""
    location: Location = UNKNOWN_LOCATION

    @property
    def signature(self) -> str:
        """Type and layout in a few words."""
        return f"{self.type} {self.layout}".rstrip()


@dataclass(frozen=True, slots=True)
class Frontier:
    """The op of the after program where what the devices hold departs from the before program.

    Its operands relate to the before program, and what it makes of them does not relate as it must. `before` and
    `after` are the values around it in program order, the place itself among those of `after`.
    """

    op: str
    value: str
    type: str
    location: Location
    reason: str
    operands: tuple[OperandRelation, ...] = ()
    before: tuple[NearValue, ...] = ()
    after: tuple[NearValue, ...] = ()
