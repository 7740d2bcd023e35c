"""Sums over relations: reductions, contractions and the collectives that combine device values.

Lemma *composition of sums*: if out[p] = ⊕ over q ∈ ρ(p) of v[q] and v[q] = ⊕ over x ∈ R(q) of e[x], then
out[p] = ⊕ over x ∈ R(ρ(p)) of e[x], provided no x is reached from one p through two q (or ⊕ is idempotent). Where v
does not depend on a coordinate of q that ρ runs through completely, each element is counted that many times instead: at
the border of an array windows may hold fewer elements, so that this number goes by p.
Lemma *contraction*: Σ over k of A[a(p,k)]·B[b(p,k)] is the sum of the products A[a]·B[b] over the pairs reached from p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..read.ir import DType, TensorType
from ..relation.build import constant, leading, names
from ..relation.objects import Dom, Rel
from .contraction_maps import PLAIN, Flavour
from .engine import Engine
from .integers import index_function, whole_number
from .monoid import Monoid
from .record import Theory, strongest
from .values import Piece

MAX_LENGTHS = 32
"""Runs of equal elements of more lengths than this are not told apart."""


def summed(engine: Engine, value: Any, rel: Rel, monoid: Monoid, type_: TensorType, steps: int) -> Any:
    """out[p] = ⊕ over q ∈ rel(p) of value[q], None where how often elements count cannot be told, or they cancel.

    The value is a view or a sum of the monoid; `steps` is what this adds to the levels.
    """
    value = engine.as_sum(value, monoid)
    pieces: list[Any] = []
    theory = value.theory
    # other terms that are not all counted equally often are summed under one name for the whole value
    numbers = all(engine.is_integer(piece.atom) for piece in value.pieces)
    for piece in value.pieces:
        found = [(rel, 1)] if monoid.idempotent else _occurrences(engine.store, rel, piece.rel, apart=numbers)
        if found is None or (monoid is Monoid.MUL and any(factor != 1 for _, factor in found)):
            return None
        engine.limit_pieces(len(pieces) + len(found))
        for outer, times in found:
            factor = times % 2 if monoid is Monoid.XOR else times
            if not factor:
                continue
            made = Piece(piece.atom, engine.store.compose(outer, piece.rel), piece.coefficient * factor)
            number = _multiplied(engine, made) if monoid is Monoid.ADD and len(found) > 1 else None
            if number is not None and not monoid.reorders_exactly(type_.dtype):
                theory = strongest([theory, Theory.REASSOCIATED])
            pieces.append(number or made)
    domain = _complete(engine, value, rel, engine.points(type_))
    merged = engine.merged(pieces, monoid, type_.dtype)
    if merged is None:
        return None
    engine.used("composition of sums")
    result = engine.value(type_, merged, domain, monoid, value.levels + steps, theory)
    return engine.restricted(result, domain)


def _multiplied(engine: Engine, piece: Any) -> Any | None:
    """A known integer n that is counted k times as k · n, once; None where the type does not hold that exactly."""
    store, dtype, count = engine.store, piece.atom.dtype, piece.coefficient
    if not engine.is_integer(piece.atom) or count == 1 or whole_number(dtype, count) != count:
        return None
    if not store.single_valued(piece.rel):
        return None
    operands = store.pair(piece.rel, constant(store, store.domain(piece.rel), count))
    times = index_function(store, "stablehlo.multiply", {}, (dtype, dtype), dtype, operands)
    return None if times is None else Piece(piece.atom, store.compose(operands, times))


def _complete(engine: Engine, value: Any, rel: Rel, points: Dom) -> Dom:
    """The points all of whose elements are defined; one that has none, as a window in padding, is neutral."""
    store = engine.store
    undefined = store.set_minus(store.range(rel), value.domain)
    return points if store.set_empty(undefined) else store.set_minus(points, store.preimage(undefined, rel))


def counted(store: Any, rel: Rel, inner: Rel) -> tuple[Rel, int] | None:
    """(part of rel, factor): each element is reached once through it and counts `factor` times; None if unknown."""
    if store.counts_once(rel, inner):
        return rel, 1
    factor = 1
    for position in range(rel.arity_out):
        reduced = _drop_coordinate(store, rel, inner, position)
        if reduced is not None:
            rel, count = reduced
            factor *= count
            if store.counts_once(rel, inner):
                return rel, factor
    for position in range(rel.arity_out):
        # not all of q's coordinate, but the same number of q at every p
        runs = _by_length(store, rel, inner, position)
        if runs is not None and len(runs) == 1 and store.counts_once(runs[0][0], inner):
            return runs[0][0], factor * runs[0][1]
    return None


def _drop_coordinate(store: Any, rel: Rel, inner: Rel, position: int) -> tuple[Rel, int] | None:
    """rel with one coordinate of q fixed, if q runs through all of it and the value does not depend on it."""
    image = store.range(rel)
    bounds = store.bounds(image, position)
    if bounds is None or bounds[0] == bounds[1]:
        return None
    low, high = bounds
    source = names("q", rel.arity_out)
    moved = [f"{low}" if k == position else name for k, name in enumerate(source)]
    flatten = store.rel(f"{{[{','.join(source)}] -> [{','.join(moved)}] : {low} <= q{position} <= {high}}}")
    # at every q that is summed over, points at which the value holds nothing included
    if not store.equal(store.compose(store.restrict(flatten, image), inner), store.restrict(inner, image)):
        return None
    fixed = store.fix_range(rel, position, low)
    if not store.equal(store.compose(fixed, store.reverse(flatten)), rel):
        return None
    return fixed, high - low + 1


def _occurrences(store: Any, rel: Rel, inner: Rel, *, apart: bool) -> list[tuple[Rel, int]] | None:
    """As `counted`; `apart` allows parts of rel of which no two are of one p."""
    found = counted(store, rel, inner)
    if found is not None or not apart:
        return None if found is None else [found]
    rel = store.restrict_range(rel, store.domain(inner))
    for position in range(rel.arity_out):
        parts = _by_length(store, rel, inner, position)
        if parts is None:
            continue
        occurrences: list[tuple[Rel, int]] = []
        for base, times in parts:
            inside = _occurrences(store, base, inner, apart=True)
            if inside is None:
                return None
            occurrences += [(part, times * factor) for part, factor in inside]
        return occurrences
    return None


def _by_length(store: Any, rel: Rel, inner: Rel, position: int) -> list[tuple[Rel, int]] | None:
    """rel with one coordinate of q at its least, by how many q from there on hold the same; None if that is unknown."""
    source = names("q", rel.arity_out)
    mine = store.rel(f"{{[{','.join(source)}] -> [q{position}]}}")
    along, turned = store.compose(rel, mine), store.rel("{[q] -> [-q]}")
    least = store.lexmin(along)
    most = store.compose(store.lexmin(store.compose(along, turned)), turned)
    length = store.compose(store.pair(least, most), store.rel("{[a, b] -> [1 + b - a]}"))
    bounds = store.bounds(store.range(length), 0)
    if bounds is None or bounds[1] == 1 or bounds[1] - bounds[0] >= MAX_LENGTHS:
        return None
    parts: list[tuple[Rel, int]] = []
    for times in range(bounds[0], bounds[1] + 1):
        part = store.restrict(rel, store.domain(store.fix_range(length, 0, times)))
        if store.empty(part):
            continue
        base = store.meet(part, store.compose(least, store.reverse(mine)))
        moved = ["z" if name == f"q{position}" else name for name in source]
        run = store.rel(f"{{[{','.join(source)}] -> [{','.join(moved)}] : q{position} <= z < q{position} + {times}}}")
        run = store.restrict(run, store.range(base))
        first, every = store.restrict(inner, store.range(base)), store.restrict(inner, store.range(run))
        # every q of a run holds what its first one holds, and nothing else
        alike = store.equal(store.compose(run, inner), first) and store.equal(
            store.compose(store.reverse(run), first), every
        )
        if not alike or not store.equal(store.compose(base, run), part):
            return None
        parts.append((base, times))
    return parts


def contracted(
    engine: Engine, lhs: Any, rhs: Any, reads: Sequence[tuple[Rel | None, Rel]], type_: TensorType, flavour: Flavour
) -> Any:
    """out[p] = Σ over k of lhs[l(p,k)] · rhs[r(p,k)] for each pair of relations (p,k) → l, (p,k) → r; both are views.

    The first coordinates of (p,k) are p. Where there is no left relation (padding of a convolution) the left factor is
    the constant zero, which is multiplied, never dropped. `flavour` is whatever else tells one way of multiplying from
    another, such as a precision. None where a product is counted several times.
    """
    store, pieces = engine.store, []
    levels, theory, domain = 1, Theory.EXACT, engine.points(type_)
    arity = domain.arity
    for left_read, right_read in reads:
        inside = store.domain(right_read)
        for value, read in ((lhs, left_read), (rhs, right_read)):
            if read is not None:
                undefined = store.set_minus(store.image(inside, read), value.domain)
                if not store.set_empty(undefined):
                    bad = store.set_meet(inside, store.preimage(undefined, read))
                    domain = store.set_minus(domain, store.image(bad, leading(store, bad.arity, arity)))
        if left_read is None:
            left = [Piece(engine.number(lhs.type.dtype, 0), constant(store, inside))]
        else:
            left = _through(engine, lhs, left_read)
        for mine in left:
            for other in _through(engine, rhs, right_read):
                first, second, way = mine, other, flavour
                if mine.atom.number > other.atom.number:
                    first, second, way = other, mine, flavour.mirrored()
                joint = store.pair(first.rel, second.rel)
                if store.empty(joint) or (_is_zero(engine, first.atom) and _is_zero(engine, second.atom)):
                    levels = 2
                    continue
                point = store.restrict(leading(store, joint.arity_in, arity), store.domain(joint))
                if not store.injective(store.pair(point, joint)):
                    return None
                if engine.vanishes(first, second):
                    levels, theory = 2, Theory.REAL
                else:
                    product = engine.product(first.atom, second.atom, type_.dtype, way)
                    pieces.append(Piece(product, store.compose(store.reverse(point), joint)))
        engine.limit_pieces(len(pieces))
    engine.used("contraction")
    theory = strongest([theory, lhs.theory, rhs.theory])
    result = engine.value(type_, engine.gathered(pieces), domain, Monoid.ADD, levels, theory)
    return engine.restricted(result, domain)


def product_of_elements(
    engine: Engine, monoid: Monoid | None, name: str, dtype: DType, operands: Sequence[Any]
) -> tuple[Any] | None:
    """Two elements that an op multiplies, as the one product that a contraction, which sums it, has of them.

    The operands are as the op's indices read them. None for any other op, and in what is no addition.
    """
    if monoid is not Monoid.ADD or name != Monoid.MUL.value or not (dtype.is_integer or dtype.is_float):
        return None
    if dtype.is_positive or any(operand.atom.dtype is not dtype for operand in operands):
        return None
    first, second = sorted(operands, key=lambda piece: piece.atom.number)
    product = engine.product(first.atom, second.atom, dtype, PLAIN)
    return (Piece(product, engine.store.pair(first.rel, second.rel)),)


def _through(engine: Engine, value: Any, read: Rel) -> list[Any]:
    composed = [Piece(piece.atom, engine.store.compose(read, piece.rel)) for piece in value.pieces]
    return [engine.canonical(piece) for piece in composed if not engine.store.empty(piece.rel)]


def _is_zero(engine: Engine, atom: Any) -> bool:
    """Whether an atom is the constant zero, and not −0."""
    number = engine.number_of(atom)
    return isinstance(number, int) and number == 0
