"""What the walk knows of one value: v[p] = ⊕ over pieces and x ∈ R(p) of coefficient · atom[x].

`domain` is the set of points at which the value is defined; what lies outside is padding and may hold anything.
A *view* (no monoid) has exactly one active element at every point of its domain. A *sum* holds its monoid's neutral
element at points of the domain that no piece reaches, and no element is counted twice unless its coefficient says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..ops.engine import TokenVal, TupleVal
from ..ops.monoid import Monoid
from ..ops.record import Theory, strongest
from ..read.ir import TensorType
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind

__all__ = ["AnyVal", "Piece", "TokenVal", "TupleVal", "Val", "strongest"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One atom, read through a relation from points to its indices, counted `coefficient` times (sums only).

    Values of programs count whole elements; only the forms of `polynomials.py` have fractions.
    """

    atom: Atom
    rel: Rel
    coefficient: int | Fraction = 1


@dataclass(frozen=True, slots=True, eq=False)
class Val:
    """A tensor value of either program."""

    type: TensorType
    pieces: tuple[Piece, ...]
    domain: Dom
    monoid: Monoid | None = None
    levels: int = 0
    """How many separate summations the value went through; 1 for a single reduce or dot."""
    theory: Theory = Theory.EXACT
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


AnyVal = Val | TupleVal | TokenVal
