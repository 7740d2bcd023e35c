"""Logical terms: what values of both programs are written in.

A term is a definition, so there is nothing to trust in it: it says what it is at each of its indices, in other terms.
Terms are kept once each; a term only ever refers to terms before it.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ops.integers import exact_integers
from ..ops.monoid import Monoid
from ..read.ir import DType
from ..relation.objects import Rel


class Kind(enum.Enum):
    """How a term is defined."""

    PARAMETER = "parameter"
    """A parameter of the before program, or between two device programs of both."""
    INTEGER = "integer"
    """INT[n] = n."""
    NUMBER = "number"
    """One integer."""
    SCALAR = "scalar"
    """One constant, by its bits."""
    ARRAY = "array"
    """A constant tensor, by the digest of its shape and bytes."""
    APPLY = "apply"
    """f(a1[r1(z)], …, ak[rk(z)]) at each z; a missing relation is the identity."""
    PRODUCT = "product"
    """A[x] · B[y] at each (x, y)."""
    SUM = "sum"
    """⊕ over the pieces and x ∈ R(z) of e[x]."""
    VIEW = "view"
    """e[R(z)] for the one piece whose relation holds z."""
    GUARD = "guard"
    """G(A; E1, …)[y, x1, t1, …] is A[y] where E1[x1] = t1 and …, and absent elsewhere."""
    ROWS = "rows"
    """An op that maps whole rows to rows: at (batch, index), one result of F(row of each operand)."""
    CARRIED = "carried"
    """What a loop of the before program carries, at the start of some iteration or at its end."""


@dataclass(frozen=True, slots=True)
class Part:
    """A term that another one is made of, how it is read, and how often it counts."""

    term: Term
    rel: Rel | None
    count: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One term; `key` is what tells it from others of its kind, `parts` included."""

    number: int
    kind: Kind
    dtype: DType
    arity: int
    key: Hashable
    parts: tuple[Part, ...] = ()
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
        key: Hashable = (),
        parts: Iterable[Part] = (),
        monoid: Monoid | None = None,
        levels: int = 0,
    ) -> Term:
        parts = tuple(parts)
        read = tuple((p.term.number, p.rel.number if p.rel is not None else 0, p.count) for p in parts)
        full = (kind, dtype, arity, key, read, monoid, levels)
        if full not in self._known:
            self._known[full] = Term(len(self._known), kind, dtype, arity, key, parts, monoid, levels)
        return self._known[full]

    def integer(self, dtype: DType) -> Term:
        return self.make(Kind.INTEGER, dtype, 1)

    def guard(self, value: Term, guards: tuple[Term, ...]) -> Term:
        """The value where the guards hold; the value itself without any."""
        if not guards:
            return value
        base, known = unguarded(value)
        every = (base, *known, *guards)
        arity = base.arity + sum(term.arity + 1 for term in every[1:])
        return self.make(Kind.GUARD, base.dtype, arity, (), [Part(term, None) for term in every])

    def constant(self, dtype: DType, value: Any) -> tuple[Term, int | None]:
        """The term of a scalar constant, and the integer where it is INT[n]; of floats, those that are whole."""
        if dtype.is_complex:
            return self.make(Kind.SCALAR, dtype, 0, value.tobytes().hex()), None
        number = float(value) if dtype.is_float else int(value)
        if dtype.is_float:
            whole = np.isfinite(number) and number == int(number) and not (number == 0 and np.signbit(number))
            if not whole or abs(number) > exact_integers(dtype):
                bits = value.tobytes() if np.isnan(number) else np.float64(number).tobytes()
                return self.make(Kind.SCALAR, dtype, 0, bits.hex()), None
        return self.integer(dtype), int(number)


def unguarded(term: Term) -> tuple[Term, tuple[Term, ...]]:
    """The term that a guarded one reads, and its guards."""
    if term.kind is not Kind.GUARD:
        return term, ()
    return term.parts[0].term, tuple(part.term for part in term.parts[1:])


def number_of(term: Term) -> int | float | complex | None:
    """The number that a constant of no indices is, None for any other term."""
    if term.kind is Kind.NUMBER:
        assert isinstance(term.key, int)
        return term.key
    if term.kind is not Kind.SCALAR:
        return None
    bits = bytes.fromhex(str(term.key))
    if term.dtype.is_complex:
        return complex(np.frombuffer(bits, np.complex64 if len(bits) == 8 else np.complex128)[0])
    return struct.unpack("<d", bits)[0] if len(bits) == 8 else float("nan")


def sum_of(term: Term) -> tuple[Monoid, tuple[tuple[Part, int], ...]] | None:
    """An elementwise term as a sum of elements, each with its sign: what `add`, `subtract` and the like come to."""
    if term.kind is not Kind.APPLY:
        return None
    name = str(term.key)
    first, rest = term.parts[0] if term.parts else None, term.parts[1:]
    if first is None:
        return None
    for monoid in Monoid:
        if name == monoid.value and len(rest) == 1 and not (term.dtype.is_bool and monoid is not Monoid.XOR):
            return _scaled(term) or (monoid, ((first, 1), (rest[0], 1)))
    if term.dtype.is_bool:
        logical = {"stablehlo.and": Monoid.AND, "stablehlo.or": Monoid.OR}.get(name)
        return (logical, ((first, 1), (rest[0], 1))) if logical is not None and len(rest) == 1 else None
    if name == "stablehlo.subtract" and len(rest) == 1:
        return Monoid.ADD, ((first, 1), (rest[0], -1))
    return (Monoid.ADD, ((first, -1),)) if name == "stablehlo.negate" else None


def _scaled(term: Term) -> tuple[Monoid, tuple[tuple[Part, int], ...]] | None:
    """n · e with a known integer n as n times the element e."""
    if str(term.key) != Monoid.MUL.value:
        return None
    for part, other in (term.parts, term.parts[::-1]):
        if part.term.kind is Kind.NUMBER:
            assert isinstance(part.term.key, int)
            return Monoid.ADD, ((other, part.term.key),)
    return None
