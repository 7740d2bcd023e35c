"""Sums over relations where elements cannot be told apart: by a name for the whole value; and zero products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ops.contraction_maps import Flavour
from ..ops.monoid import Monoid
from ..ops.sums import contracted, summed
from ..read.ir import TensorType
from ..relation.store import Rel
from .fold import resolve
from .names import known_or_named, name_value
from .value import Piece, Val

if TYPE_CHECKING:
    from .walk import Walk


def sum_over(walk: Walk, value: Val, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Val:
    """out[p] = ⊕ over q ∈ rel(p) of value[q], folded as far as it goes; `steps` is what it adds to the levels."""
    if value.monoid not in (None, monoid):
        value = walk.close(value, f"partial result of '{value.monoid.value}' is reduced with '{monoid.value}'")
    found = summed(walk, value, rel, monoid, type_, steps)
    if found is not None:
        return walk.settle(found)
    if value.is_view:
        other = resolve(walk, value)
        if other.pieces != value.pieces:
            return sum_over(walk, other, rel, monoid, type_, steps=steps)
    return sum_over(walk, known_or_named(walk, value, canonical=False), rel, monoid, type_, steps=steps)


def contract(
    walk: Walk,
    lhs: Val,
    rhs: Val,
    reads: Sequence[tuple[Rel | None, Rel]],
    type_: TensorType,
    flavour: Flavour,
    *,
    told_apart: bool = False,
) -> Val:
    """out[p] = Σ over k of lhs[l(p,k)] · rhs[r(p,k)], see `contracted`."""
    if not told_apart:
        lhs, rhs = _factor(walk, lhs), _factor(walk, rhs)
    found = contracted(walk, lhs, rhs, reads, type_, flavour)
    if found is not None:
        whole = walk.settle(found)
        if walk.context.reals is not None:
            walk.context.reals.left_out.stands_for_dropped(whole)
        return whole
    if told_apart:
        return walk.unrelated(type_, "a contraction counts one product several times")
    lhs, rhs = (known_or_named(walk, value, canonical=False) for value in (lhs, rhs))
    return contract(walk, lhs, rhs, reads, type_, flavour, told_apart=True)


def is_zero_product(walk: Walk, *factors: Piece) -> bool:
    """Whether one factor is the constant zero and the other one a real number.

    Lemma *zero product*: 0 · x = 0 for a real number x.
    """
    reals = walk.context.reals
    zero = [piece.atom.data == ("int", 0) for piece in factors]
    if reals is None or not any(zero):
        return False
    found = all(nil or reals.is_real(walk, piece.atom, piece.rel) for nil, piece in zip(zero, factors, strict=True))
    if found:
        walk.context.used("zero product")
    if found and walk.is_original:
        reals.left_out.drops(piece.atom for piece in factors)
    return found


def _factor(walk: Walk, value: Val) -> Val:
    """An operand of a product: a view, under one name where the original builds it of parts."""
    value = walk.close(value, f"operand of '{walk.op_name}'")
    if len(value.pieces) > 1:
        value = name_value(walk, value) if walk.is_original else resolve(walk, value)
    return value
