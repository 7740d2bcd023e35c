"""Relations and sets as objects: what the prover's store and the certificate checker both hand out."""

from __future__ import annotations

from typing import Any

import islpy as isl

MANY_QUANTIFIED = 8
"""Relations with a piece of more quantified variables than this are written anew."""


def joined(raw: isl.Map | isl.Set) -> Any:
    """The same map or set with its pieces joined as far as isl can.

    A variable for which no formula is known is another one in each operand, however often that is the same, so that
    compositions pile them up. Where they are many they are replaced by formulas, of which equal ones are one.
    """
    raw = raw.coalesce()
    pieces = raw.get_basic_maps() if isinstance(raw, isl.Map) else raw.get_basic_sets()
    if any(piece.dim(isl.dim_type.div) > MANY_QUANTIFIED for piece in pieces):
        raw = raw.compute_divs().coalesce()
    return raw


class Rel:
    """One relation between integer tuples. `number` is unique in the store that made it."""

    __slots__ = ("arity_in", "arity_out", "map", "number")

    def __init__(self, number: int, raw: isl.Map) -> None:
        self.number = number
        self.map = raw
        self.arity_in: int = raw.dim(isl.dim_type.in_)
        self.arity_out: int = raw.dim(isl.dim_type.out)

    def __repr__(self) -> str:
        return f"Rel#{self.number} {self.map}"


class Dom:
    """One set of integer tuples. `number` is unique in the store that made it."""

    __slots__ = ("arity", "number", "set")

    def __init__(self, number: int, raw: isl.Set) -> None:
        self.number = number
        self.set = raw
        self.arity: int = raw.dim(isl.dim_type.set)

    def __repr__(self) -> str:
        return f"Dom#{self.number} {self.set}"
