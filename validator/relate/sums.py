"""Sums over relations: reductions, contractions and the collectives that combine device values.

Lemma *composition of sums*: if out[p] = ⊕ over q ∈ ρ(p) of v[q] and v[q] = ⊕ over x ∈ R(q) of e[x], then
out[p] = ⊕ over x ∈ R(ρ(p)) of e[x], provided no x is reached from one p through two q (or ⊕ is idempotent). Where v
does not depend on a coordinate of q that ρ runs through completely, each element is counted that many times instead.
Lemma *contraction*: Σ over k of A[a(p,k)]·B[b(p,k)] is the sum of the products A[a]·B[b] over the pairs reached from p.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.values import as_sum, gathered, restricted
from ..read.ir import DType, TensorType
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .fold import name_value, resolve
from .lift import canonical_operand
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


def sum_over(walk: Walk, value: Val, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Val:
    """out[p] = ⊕ over q ∈ rel(p) of value[q], folded as far as it goes; `steps` is what it adds to the levels."""
    store = walk.store
    if value.monoid not in (None, monoid):
        value = walk.close(value, f"partial result of '{value.monoid}' is reduced with '{monoid.value}'")
    original, value = value, as_sum(walk, value, monoid)
    pieces: list[Piece] = []
    for piece in value.pieces:
        outer, factor = rel, 1
        if not monoid.idempotent:
            once = counted(walk, rel, piece.rel)
            if once is None:
                return _by_name(walk, original, rel, monoid, type_, steps)
            outer, factor = once
            if monoid is Monoid.XOR:
                factor %= 2
            elif monoid is Monoid.MUL and factor != 1:
                return _by_name(walk, original, rel, monoid, type_, steps)
        if factor:
            pieces.append(Piece(piece.atom, store.compose(outer, piece.rel), piece.coefficient * factor))
    domain = _complete(walk, value, rel, walk.points(type_))
    walk.context.used("composition of sums")
    merged = gathered(store, pieces, monoid.idempotent)
    result = Val(type_, merged, domain, monoid, value.levels + steps, value.theory)
    return walk.settle(restricted(walk, result, domain))


def _by_name(walk: Walk, value: Val, rel: Rel, monoid: Monoid, type_: TensorType, steps: int) -> Val:
    """The sum of a value whose elements cannot be told apart otherwise, by one name for the whole value."""
    if value.is_view:
        found = resolve(walk, value)
        if found.pieces != value.pieces:
            return sum_over(walk, found, rel, monoid, type_, steps=steps)
    return sum_over(walk, name_value(walk, value, canonical=False), rel, monoid, type_, steps=steps)


def _complete(walk: Walk, value: Val, rel: Rel, points: Dom) -> Dom:
    """The points all of whose elements are defined; one that has none, as a window in padding, is neutral."""
    store = walk.store
    undefined = store.set_minus(store.range(rel), value.domain)
    return points if store.set_empty(undefined) else store.set_minus(points, store.preimage(undefined, rel))


def counted(walk: Walk, rel: Rel, inner: Rel) -> tuple[Rel, int] | None:
    """(part of rel, factor): each element is reached once through it and counts `factor` times; None if unknown."""
    if walk.counts_once(rel, inner):
        return rel, 1
    factor = 1
    for position in range(rel.arity_out):
        reduced = _drop_coordinate(walk, rel, inner, position)
        if reduced is not None:
            rel, count = reduced
            factor *= count
            if walk.counts_once(rel, inner):
                return rel, factor
    return None


def _drop_coordinate(walk: Walk, rel: Rel, inner: Rel, position: int) -> tuple[Rel, int] | None:
    """rel with one coordinate of q fixed, if q runs through all of it and the value does not depend on it."""
    store = walk.store
    image = store.range(rel)
    bounds = store.bounds(image, position)
    if bounds is None or bounds[0] == bounds[1]:
        return None
    low, high = bounds
    names = [f"q{k}" for k in range(rel.arity_out)]
    moved = [f"{low}" if k == position else name for k, name in enumerate(names)]
    flatten = store.rel(f"{{[{','.join(names)}] -> [{','.join(moved)}] : {low} <= q{position} <= {high}}}")
    # at every q that is summed over, points at which the value holds nothing included
    if not store.equal(store.compose(store.restrict(flatten, image), inner), store.restrict(inner, image)):
        return None
    fixed = store.fix_range(rel, position, low)
    freed = store.compose(fixed, store.reverse(flatten))
    if not store.equal(freed, rel):
        return None
    return fixed, high - low + 1


def contract(
    walk: Walk,
    lhs: Val,
    rhs: Val,
    reads: Sequence[tuple[Rel | None, Rel]],
    type_: TensorType,
    flavour: Hashable = (),
) -> Val:
    """out[p] = Σ over k of lhs[l(p,k)] · rhs[r(p,k)] for each pair of relations (p,k) → l, (p,k) → r.

    The first `arity of p` coordinates of (p,k) are p. Where there is no left relation (padding of a convolution) the
    left factor is the constant zero, which is multiplied, never dropped. `flavour` is whatever else tells one way of
    multiplying from another, such as a precision.
    """
    store = walk.store
    lhs = _factor(walk, lhs)
    rhs = _factor(walk, rhs)
    arity = len(walk.builder.mesh.sizes) + type_.rank
    pieces: list[Piece] = []
    levels, theory = 1, Theory.EXACT
    domain = walk.points(type_)
    for left_read, right_read in reads:
        inside = store.domain(right_read)
        for value, read in ((lhs, left_read), (rhs, right_read)):
            if read is not None:
                undefined = store.set_minus(store.image(inside, read), value.domain)
                if not store.set_empty(undefined):
                    bad = store.set_meet(inside, store.preimage(undefined, read))
                    domain = store.set_minus(domain, walk.leading(bad, arity))
        if left_read is None:
            left_pieces = [(walk.zero_atom(lhs.type.dtype), walk.empty_tuple(inside))]
        else:
            left_pieces = _through(walk, lhs, left_read)
        for atom_a, rel_a in left_pieces:
            for atom_b, rel_b in _through(walk, rhs, right_read):
                made = _product(walk, (atom_a, rel_a), (atom_b, rel_b), type_.dtype, arity, flavour)
                if made is None:
                    if not (lhs.pieces[0].atom.kind is AtomKind.NAMED and rhs.pieces[0].atom.kind is AtomKind.NAMED):
                        lhs = name_value(walk, lhs, canonical=False)
                        rhs = name_value(walk, rhs, canonical=False)
                        return contract(walk, lhs, rhs, reads, type_, flavour)
                    return walk.unrelated(type_, "a contraction counts one product several times")
                if isinstance(made, _Nothing):
                    levels = 2
                elif _is_zero_product(walk, (atom_a, rel_a), (atom_b, rel_b)):
                    # lemma *zero product*: 0 · x = 0 for a real number x
                    levels, theory = 2, Theory.REAL
                    walk.context.used("zero product")
                else:
                    pieces.append(made)
        walk.limit_pieces(len(pieces))
    walk.context.used("contraction")
    theory = strongest([theory, lhs.theory, rhs.theory])
    result = Val(type_, gathered(store, pieces), domain, Monoid.ADD, levels, theory)
    return walk.settle(restricted(walk, result, domain))


def _is_zero_product(walk: Walk, *factors: tuple[Atom, Rel]) -> bool:
    """Whether one factor is the constant zero and the other one a real number."""
    reals = walk.context.reals
    if reals is None or not any(_is_zero(atom) for atom, _ in factors):
        return False
    return all(_is_zero(atom) or reals.is_real(walk, atom, rel) for atom, rel in factors)


def _factor(walk: Walk, value: Val) -> Val:
    """An operand of a product: a view, under one name where the original builds it of parts."""
    value = walk.close(value, f"operand of '{walk.op_name}'")
    if len(value.pieces) > 1:
        value = name_value(walk, value) if walk.is_original else resolve(walk, value)
    return value


def _through(walk: Walk, value: Val, read: Rel) -> list[tuple[Atom, Rel]]:
    found = []
    for piece in value.pieces:
        rel = walk.store.compose(read, piece.rel)
        if walk.store.empty(rel):
            continue
        atom, own = canonical_operand(walk, Piece(piece.atom, rel))
        found.append((atom, rel if own is not None else walk.forget(rel)))
    return found


class _Nothing:
    """Products that are zero times zero, or a choice of pieces that no point makes."""


_NOTHING = _Nothing()


def _product(
    walk: Walk, left: tuple[Atom, Rel], right: tuple[Atom, Rel], dtype: DType, arity: int, flavour: Hashable
) -> Piece | _Nothing | None:
    """The piece p → (a, b) of the products A[a]·B[b]; None where (p, a, b) does not tell the summed index."""
    store = walk.store
    (atom_a, rel_a), (atom_b, rel_b) = (left, right) if left[0].number <= right[0].number else (right, left)
    joint = store.pair(rel_a, rel_b)
    if store.empty(joint):
        return _NOTHING
    if _is_zero(atom_a) and _is_zero(atom_b):
        return _NOTHING
    point = walk.leading_projection(joint, arity)
    if not store.injective(store.pair(point, joint)):
        return None
    product = walk.context.atoms.make(
        AtomKind.PRODUCT,
        dtype,
        atom_a.arity + atom_b.arity,
        (atom_a.number, atom_b.number, flavour),
        (atom_a, atom_b),
        label=f"{atom_a}·{atom_b}",
    )
    return Piece(product, store.compose(store.reverse(point), joint))


def _is_zero(atom: Atom) -> bool:
    return atom.kind is AtomKind.CONSTANT and atom.data == ("int", 0)
