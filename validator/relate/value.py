"""What the walk knows of one value: v[p] = ⊕ over pieces and x ∈ R(p) of coefficient · atom[x].

`domain` is the set of points at which the value is defined; what lies outside is padding and may hold anything.
A *view* (no monoid) has exactly one active element at every point of its domain. A *sum* holds its monoid's neutral
element at points of the domain that no piece reaches, and no element is counted twice unless its coefficient says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ops.record import strongest
from ..ops.values import Piece, TokenVal, Value
from .atoms import AtomKind

__all__ = ["AnyVal", "Piece", "TokenVal", "Val", "strongest"]


@dataclass(frozen=True, slots=True, eq=False)
class Val(Value):
    """A tensor value of either program, and what else the prover knows of it."""

    known: np.ndarray | None = None
    """The value itself [devices or 1, *shape] where it depends on no input and is small."""

    @property
    def is_view(self) -> bool:
        return self.monoid is None

    @property
    def is_plain(self) -> bool:
        """Whether it is a view of one term: nothing is left to recognise or to put together."""
        return self.monoid is None and len(self.pieces) == 1 and self.pieces[0].atom.kind is not AtomKind.GUARD

    @property
    def has_guards(self) -> bool:
        return any(piece.atom.kind is AtomKind.GUARD for piece in self.pieces)


AnyVal = Val | TokenVal
