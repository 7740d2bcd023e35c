"""Logical terms: what values of both programs are written in.

A term is a definition, so there is nothing to trust in it: it says what it is at each of its indices, in earlier terms.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..ops.monoid import Monoid, combination
from ..ops.values import Piece
from ..read.ir import DType


class Kind(enum.Enum):
    """How a term is defined. Without a relation, a part is read at indices of its own."""

    PARAMETER = "parameter"  # of the before program, or between two device programs of both
    INTEGER = "integer"  # INT[n] = n
    NUMBER = "number"  # one integer
    SCALAR = "scalar"  # one constant, by its bits
    ARRAY = "array"  # a constant tensor, by the digest of its shape and bytes
    APPLY = "apply"  # f(a1[r1(z)], …, ak[rk(z)]) at each z
    PRODUCT = "product"  # A[x] · B[y] at each (x, y)
    SUM = "sum"  # ⊕ over the pieces and x ∈ R(z) of e[x]
    VIEW = "view"  # e[R(z)] for the one piece whose relation holds z
    GUARD = "guard"  # G(A; E1, …)[y, x1, t1, …] is A[y] where E1[x1] = t1 and …, and absent elsewhere
    ROWS = "rows"  # an op that maps whole rows to rows: at (batch, index), one result of F(row of each operand)
    ORDER = "order"  # what a function makes of the elements at (index, position), in the order of positions
    CARRIED = "carried"  # by a loop of the before program, at the start of some iteration or at its end


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One term; `key` is what tells it from others of its kind, `parts` included."""

    number: int
    kind: Kind
    dtype: DType
    arity: int
    key: Any
    parts: tuple[Piece, ...] = ()
    monoid: Monoid | None = None
    levels: int = 0

    def __str__(self) -> str:
        return f"term {self.number} ({self.kind.value})"


@dataclass(slots=True)
class Terms:
    """All terms of one check."""

    meanings: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The attributes behind the keys of ops met so far."""
    _known: dict[Hashable, Term] = field(default_factory=dict)

    def make(
        self,
        kind: Kind,
        dtype: DType,
        arity: int,
        key: Any = (),
        parts: Iterable[Piece] = (),
        monoid: Monoid | None = None,
        levels: int = 0,
    ) -> Term:
        parts = tuple(parts)
        full = (kind, dtype, arity, key, tuple((p.atom, p.rel, p.coefficient) for p in parts), monoid, levels)
        if full not in self._known:
            self._known[full] = Term(len(self._known), kind, dtype, arity, key, parts, monoid, levels)
        return self._known[full]


def unguarded(term: Term) -> tuple[Term, tuple[Term, ...]]:
    """The term that a guarded one reads, and its guards."""
    return (term.parts[0].atom, tuple(p.atom for p in term.parts[1:])) if term.kind is Kind.GUARD else (term, ())


def is_guarded(pieces: Iterable[Piece]) -> bool:
    return any(piece.atom.kind is Kind.GUARD for piece in pieces)


def sum_of(term: Term) -> tuple[Monoid, tuple[Piece, ...]] | None:
    """A term as a sum of elements, each with its count: what it is defined as, or what `add` and the like come to."""
    if term.kind is Kind.SUM and term.monoid is not None:
        return term.monoid, term.parts
    named = term.kind is Kind.APPLY and not term.dtype.is_positive
    monoid, signs = (combination(term.key, term.dtype) if named else None) or (None, ())
    if monoid is None or len(signs) != len(term.parts):
        return None
    for part, other in (term.parts, term.parts[::-1]) if monoid is Monoid.MUL else ():
        if part.atom.kind is Kind.NUMBER:
            # n · e with a known integer n is n times the element e
            return Monoid.ADD, (replace(other, coefficient=part.atom.key),)
    return monoid, tuple(replace(part, coefficient=sign) for part, sign in zip(term.parts, signs, strict=True))
