"""Relations and sets as objects: what the prover's store and the certificate checker both hand out."""

from __future__ import annotations

import islpy as isl


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
