"""What either engine does with values: reading them through index maps, cutting them, putting them together.

A value is v[p] = ⊕ over pieces and x ∈ R(p) of coefficient · atom[x] at the points p of its domain. A *view* (no
monoid) has one element at each of them; a *sum*, its monoid's neutral element where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ..read.ir import DType, TensorType
from ..relation.objects import Dom, Rel
from .monoid import Monoid
from .record import Theory, strongest

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True, slots=True)
class Piece:
    """One atom, read through a relation from points to its indices, counted `coefficient` times (sums only).

    Values of programs count whole elements; only the prover's forms over the reals have fractions.
    """

    atom: Any
    rel: Rel
    coefficient: Any = 1


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor value of either program."""

    type: TensorType
    pieces: tuple[Piece, ...]
    domain: Dom
    monoid: Monoid | None = None
    levels: int = 0
    """How many separate summations it went through; only those of one step can be equal bit for bit."""
    theory: Theory = Theory.EXACT

    def needing(self, *theories: Theory) -> Self:
        needed = strongest([self.theory, *theories])
        return self if needed is self.theory else replace(self, theory=needed)


@dataclass(frozen=True, slots=True, eq=False)
class TokenVal:
    """An ordering token; it has no content to relate."""


def is_tensor(value: object) -> bool:
    """Whether a value is no token."""
    return not isinstance(value, TokenVal)


def gathered(store: Any, pieces: Iterable[Any], idempotent: bool = False) -> tuple[Any, ...]:
    """The same pieces with one piece an atom and coefficient where that counts nothing twice.

    Overlapping pieces of one atom are cut apart and their coefficients added, unless counting twice changes nothing.
    """
    pieces = tuple(pieces)
    if len(pieces) == 1:
        return () if store.empty(pieces[0].rel) else pieces
    by_atom: dict[Any, list[Any]] = {}
    for piece in pieces:
        if store.empty(piece.rel):
            continue
        group = by_atom.setdefault(piece.atom, [])
        pending = [piece]
        while pending:
            new = pending.pop()
            for position, old in enumerate(group):
                if idempotent:
                    group[position] = Piece(old.atom, store.union(old.rel, new.rel), 1)
                    break
                common = store.meet(old.rel, new.rel)
                if store.empty(common):
                    if old.coefficient == new.coefficient:
                        group[position] = Piece(old.atom, store.union(old.rel, new.rel), old.coefficient)
                        break
                    continue
                group.pop(position)
                for part in (
                    Piece(old.atom, store.minus(old.rel, common), old.coefficient),
                    Piece(new.atom, store.minus(new.rel, common), new.coefficient),
                    Piece(new.atom, common, old.coefficient + new.coefficient),
                ):
                    if part.coefficient and not store.empty(part.rel):
                        pending.append(part)
                break
            else:
                group.append(new)
    return tuple(piece for group in by_atom.values() for piece in group)


def merged(engine: Engine, pieces: Sequence[Any], monoid: Monoid, dtype: DType) -> tuple[Any, ...] | None:
    """The pieces of a sum, put together; None where elements cancel that may be infinite."""
    if not monoid.reorders_exactly(dtype) and cancels(engine, pieces):
        return None
    return gathered(engine.store, pieces, monoid.idempotent)


def cancels(engine: Engine, pieces: Sequence[Any]) -> bool:
    """Whether an element is added and taken away: x − x is not 0, nor x + x − x = x, for what is infinite."""
    taken = _read(engine, pieces, -1)
    added = _read(engine, [piece for piece in pieces if piece.atom in taken], 1)
    store = engine.store
    return any(not store.empty(store.meet(rel, taken[atom])) for atom, rel in added.items())


def _read(engine: Engine, pieces: Sequence[Any], sign: int) -> dict[Any, Rel]:
    """By atom: all of its elements that are counted with this sign."""
    found: dict[Any, Rel] = {}
    for piece in pieces:
        if sign * piece.coefficient > 0:
            found[piece.atom] = engine.store.union(found[piece.atom], piece.rel) if piece.atom in found else piece.rel
    return found


def read_through(engine: Engine, value: Any, rel: Rel, type_: TensorType) -> Any:
    """out[p] = value[rel(p)] for a single-valued relation between points; valid for views and for sums."""
    store = engine.store
    pieces = tuple(
        engine.element(Piece(piece.atom, composed, piece.coefficient))
        for piece in value.pieces
        if not store.empty(composed := store.compose(rel, piece.rel))
    )
    domain = store.preimage(value.domain, rel)
    return engine.value(type_, pieces, domain, value.monoid, value.levels, value.theory)


def as_sum(engine: Engine, value: Any, monoid: Monoid) -> Any:
    """A view as a sum of one element a point, neutral elements left out; a sum of the monoid is returned as it is."""
    if value.monoid is monoid:
        return value
    assert value.monoid is None
    neutral = monoid.neutral(value.type.dtype)
    pieces = []
    levels = value.levels
    for piece in value.pieces:
        rest = without_constant(engine, piece, neutral)
        if rest is not None:
            pieces.append(rest)
        if rest is not piece and not monoid.reorders_exactly(value.type.dtype):
            # -0.0 + 0.0 is 0.0: a float sum over neutral elements is a sum all the same
            levels = max(levels, 1)
    return engine.value(value.type, tuple(pieces), value.domain, monoid, levels, value.theory)


def without_constant(engine: Engine, piece: Any, constant: int | float | None) -> Any:
    """The piece less the points at which it is this constant; None where nothing is left."""
    store, (base, _) = engine.store, engine.unguarded(piece.atom)
    if constant is None:
        return piece
    if same_number(engine.number_of(base), constant):
        return None
    if engine.is_integer(base) and constant == constant // 1 and abs(constant) != math.inf and not _is_minus(constant):
        hit = store.fix_range(piece.rel, 0, int(constant))
        if not store.empty(hit):
            rest = store.minus(piece.rel, hit)
            return None if store.empty(rest) else Piece(piece.atom, rest, piece.coefficient)
    return piece


def same_number(number: object, constant: int | float) -> bool:
    """Whether a number is this one, the sign of zero included."""
    return number == constant and _is_minus(number) is _is_minus(constant)


def _is_minus(number: object) -> bool:
    """Whether this is −0.0."""
    return isinstance(number, float) and number == 0 and math.copysign(1, number) < 0


def piecewise(engine: Engine, parts: Sequence[tuple[Rel, Any]], type_: TensorType) -> Any:
    """out[p] = part[rel(p)] for whichever part's relation holds p; the relations' domains must be disjoint."""
    store, points = engine.store, engine.points(type_)
    monoids = {value.monoid for _, value in parts if value.monoid is not None}
    if len(monoids) > 1:
        parts = [(rel, engine.close(value, "parts are partial results of different reducers")) for rel, value in parts]
        monoids = set()
    monoid = next(iter(monoids), None)
    pieces: list[Any] = []
    # without parts there is no element, or none that is defined
    domain = store.set_minus(points, points)
    for number, (rel, value) in enumerate(parts):
        moved = engine.read_through(value, rel, type_)
        if monoid is not None:
            moved = engine.as_sum(moved, monoid)
        pieces.extend(moved.pieces)
        domain = store.set_union(domain, moved.domain) if number else moved.domain
    merged = gathered(store, pieces, monoid is not None and monoid.idempotent)
    levels = max((value.levels for _, value in parts), default=0)
    return engine.value(type_, merged, domain, monoid, levels, strongest(value.theory for _, value in parts))


def restricted(engine: Engine, value: Any, domain: Dom) -> Any:
    """The value at those points only; elsewhere it becomes undefined."""
    store = engine.store
    pieces = tuple(
        Piece(piece.atom, rel, piece.coefficient)
        for piece in value.pieces
        if not store.empty(rel := store.restrict(piece.rel, domain))
    )
    return replace(value, pieces=pieces, domain=store.set_meet(value.domain, domain))
