"""Manual regions of the original program: where it holds one value a device instead of one logical value.

Lemma *entering*: a manual region's operand is, on each device, the shard of the logical value that the boundary's
sharding names. Lemma *leaving*: a logical value made of device values is well defined only if all devices that hold
the same shard hold the same elements; then element x is what the first such device holds. That they agree is proved,
not taken from a declaration. Theory: exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op, TensorType
from ..read.shardings import Sharding
from ..relation.build import Builder
from ..relation.store import Rel
from .layout import layout
from .moves import read_through
from .value import AnyVal, Val

if TYPE_CHECKING:
    from .walk import Walk


BOUNDARIES = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Custom calls that cross into and out of a manual region."""


def is_inside(value: AnyVal) -> bool:
    """Whether a value of the original has device coordinates."""
    return isinstance(value, Val) and value.domain.arity > value.type.rank


def lifted(walk: Walk, value: AnyVal, inner: Builder) -> AnyVal:
    """A logical value that every device of a manual region holds whole, such as a constant."""
    if not isinstance(value, Val) or is_inside(value):
        return value
    moved = read_through(walk, value, inner.local_identity(value.type.shape), value.type)
    return Val(moved.type, moved.pieces, moved.domain, moved.monoid, moved.levels, moved.theory, known=value.known)


def enter(walk: Walk, value: Val, sharding: Sharding | None, type_: TensorType) -> AnyVal:
    """The device values of a logical value at the boundary into a manual region."""
    inner = walk.inner
    rel = "a manual region on one device" if inner is None else _boundary(walk, inner, value.type, sharding, type_)
    if isinstance(rel, str):
        return walk.not_modelled(type_, rel)
    walk.context.used("entering")
    return read_through(walk, value, rel, type_)


def leave(walk: Walk, value: Val, sharding: Sharding | None, type_: TensorType) -> AnyVal:
    """The logical value of device values at the boundary out of a manual region."""
    inner, store = walk.inner, walk.store
    rel = "a manual region on one device" if inner is None else _boundary(walk, inner, type_, sharding, value.type)
    if isinstance(rel, str):
        return walk.not_modelled(type_, rel)
    if not value.is_view:
        value = walk.close(value, "result of a manual region")
    holder = store.lexmin(store.reverse(rel))
    # every device's own copy against the one that stands for all
    chosen = store.compose(rel, holder)
    for piece in value.pieces:
        own = store.restrict(piece.rel, store.domain(rel))
        if not store.equal(store.compose(chosen, piece.rel), own):
            return walk.not_modelled(type_, "a manual region whose copies of one shard may differ")
    walk.context.used("leaving")
    return read_through(walk, value, holder, type_)


def _boundary(
    walk: Walk, inner: Builder, logical: TensorType, sharding: Sharding | None, local: TensorType
) -> Rel | str:
    rel = layout(inner, logical.shape, sharding, local.shape)
    if isinstance(rel, str):
        return f"a manual region's {rel}"
    if not walk.store.single_valued(rel):
        return "a manual region's sharding that is no function"
    return rel


def relate_manual_computation(walk: Walk, op: Op, values: list[AnyVal]) -> list[AnyVal]:
    """`sdy.manual_computation`: enter through `in_shardings`, walk the body, leave through `out_shardings`."""
    region = op.regions[0]
    entering, leaving = op.attributes.get("in_shardings", ()), op.attributes.get("out_shardings", ())
    whole = all(isinstance(value, Val) and not is_inside(value) for value in values)
    if not whole or walk.inner is None or len(entering) != len(values) or len(leaving) != len(op.results):
        return [walk.not_modelled(result.type, f"nested '{op.name}'") for result in op.results]
    for argument, value, sharding in zip(region.arguments, values, entering, strict=True):
        assert isinstance(value, Val)
        walk.env[argument.number] = enter(walk, value, sharding, argument.tensor)
    walk.region(region)
    results: list[AnyVal] = []
    for inner, sharding, result in zip(region.results, leaving, op.results, strict=True):
        value = walk.env[inner.number]
        if isinstance(value, Val) and walk.inner is not None:
            value = lifted(walk, value, walk.inner)
        if not isinstance(value, Val):
            results.append(walk.not_modelled(result.type, f"'{op.name}' of tokens or tuples"))
        else:
            results.append(leave(walk, value, sharding, result.tensor))
    return results
