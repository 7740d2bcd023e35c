"""Manual regions of the original program: where it holds one value a device instead of one logical value.

Lemma *entering*: a manual region's operand is, on each device, the shard of the logical value that the boundary's
sharding names. Lemma *leaving*: a logical value made of device values is well defined only if all devices that hold
the same shard hold the same elements; then element x is what the first such device holds. That they agree is proved,
not taken from a declaration. Theory: exact.

A region inside another one goes from device values to device values. It enters with each device's shard of its own
copy, and leaves, along the inner region's manual axes, with the shards of the devices that differ in these axes only.
Outside of both, the axes that were not manual yet are copies, and leaving the outer region proves that they agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..read.ir import Op, TensorType
from ..read.shardings import REDUCERS, Sharding, ShardingKind
from ..relation.build import Builder
from ..relation.layout import layout
from ..relation.store import Rel
from .moves import read_through
from .value import AnyVal, Val

if TYPE_CHECKING:
    from .walk import Walk


def is_inside(value: AnyVal) -> bool:
    """Whether a value of the original has device coordinates."""
    return isinstance(value, Val) and value.domain.arity > value.type.rank


def is_nested(sharding: Sharding | None) -> bool:
    """Whether a sharding at a boundary has manual axes besides: what lies beyond the boundary is a region as well."""
    return sharding is not None and (sharding.kind is ShardingKind.MANUAL or "manual" in sharding.marked)


def lifted(walk: Walk, value: AnyVal, inner: Builder) -> AnyVal:
    """A logical value that every device of a manual region holds whole, such as a constant."""
    if not isinstance(value, Val) or is_inside(value):
        return value
    moved = read_through(walk, value, inner.local_identity(value.type.shape), value.type)
    return Val(moved.type, moved.pieces, moved.domain, moved.monoid, moved.levels, moved.theory, known=value.known)


def enter(walk: Walk, value: Val, sharding: Sharding | None, type_: TensorType) -> AnyVal:
    """The device values of a logical value, or of an outer region's device values, at the boundary into a region."""
    inner = walk.inner
    if inner is None:
        return walk.not_modelled(type_, "a manual region on one device")
    rel = _boundary(walk, inner, value.type, sharding, type_)
    if isinstance(rel, str):
        outer, walk.builder = walk.builder, inner
        unknown = walk.not_modelled(type_, rel)
        walk.builder = outer
        return unknown
    if is_inside(value):
        rel = walk.store.pair(walk.leading_map(rel.arity_in, len(inner.device)), rel)
    walk.context.used("entering")
    return read_through(walk, value, rel, type_)


def leave(walk: Walk, value: AnyVal, sharding: Sharding | None, type_: TensorType, *, nested: bool) -> AnyVal:
    """What device values are at the boundary out of a manual region: a logical value, or an outer region's values."""
    inner, store = walk.inner, walk.store
    if inner is None:
        return walk.not_modelled(type_, "a manual region on one device")
    value = lifted(walk, value, inner)
    if not isinstance(value, Val):
        return walk.not_modelled(type_, "a manual region of tokens or tuples")
    rel = _boundary(walk, inner, type_, sharding, value.type)
    if isinstance(rel, str):
        return walk.not_modelled(type_, rel)
    if nested:
        holder = _own_holder(walk, inner, type_, sharding, value.type, rel)
        if holder is None:
            return walk.not_modelled(type_, "a manual region's sharding with an irregular device order")
        walk.context.used("leaving")
        return read_through(walk, value, holder, type_)
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


def _own_holder(
    walk: Walk, inner: Builder, outer: TensorType, sharding: Sharding | None, local: TensorType, rel: Rel
) -> Rel | None:
    """{[d, x] -> [d', i]}: of the devices that hold x, the one that differs from d in nothing but its tile."""
    store = walk.store
    cut = _cut(outer.shape, sharding, local.shape)
    if cut is None or isinstance(cut, str) or cut.devices is None:
        return inner.identity(outer.shape)
    places = np.broadcast_to(np.arange(cut.devices.shape[-1]), cut.devices.shape)
    vector = np.empty(cut.devices.size, np.int64)
    vector[cut.devices.reshape(-1)] = places.reshape(-1)
    table = inner.table(vector, [])
    if table is None:
        return None
    digits = len(inner.device)

    def with_place(rel: Rel) -> Rel:
        """{[d, …] -> [place of d, y]} for {[d, …] -> [y]}."""
        return store.pair(store.compose(walk.leading_map(rel.arity_in, digits), table), rel)

    here = with_place(inner.local_identity(outer.shape))
    holder = store.compose(here, store.reverse(with_place(rel)))
    whole = store.set_equal(store.domain(holder), inner.points(outer.shape))
    return holder if whole and store.single_valued(holder) else None


def _cut(outer: tuple[int, ...], sharding: Sharding | None, local: tuple[int, ...]) -> Sharding | str | None:
    """By which sharding a boundary cuts whole tensors into those inside; None where it cuts nothing."""
    if sharding is None:
        return None if outer == local else "shapes that differ without a sharding"
    parts = tuple(whole // part if part else 1 for whole, part in zip(outer, local, strict=False))
    even = len(outer) == len(local) and all(
        n * part == whole for n, part, whole in zip(parts, local, outer, strict=True)
    )
    found = sharding.within(parts) if even else None
    if found is None and any(word in REDUCERS for word in sharding.marked):
        return f"sharding '{sharding.text}' where what becomes of the summands depends on more than their sum"
    return f"sharding '{sharding.text}' of {list(outer)} and {list(local)}" if found is None else found


def _boundary(
    walk: Walk, inner: Builder, logical: TensorType, sharding: Sharding | None, local: TensorType
) -> Rel | str:
    """{[d, i] -> [x]}: which element of the whole tensor each element inside is."""
    key = (_boundary, logical.shape, sharding, local.shape)
    known = inner.memo.get(key)
    if known is None:
        cut = _cut(logical.shape, sharding, local.shape)
        rel = cut if isinstance(cut, str) else layout(inner, logical.shape, cut, local.shape)
        if isinstance(rel, str):
            known = f"a manual region's {rel}"
        elif walk.store.single_valued(rel):
            known = rel
        else:
            known = "a manual region's sharding that is no function"
        inner.memo[key] = known
    return known


def relate_manual_computation(walk: Walk, op: Op, values: list[AnyVal]) -> list[AnyVal]:
    """`sdy.manual_computation`: enter through `in_shardings`, walk the body, leave through `out_shardings`."""
    region = op.regions[0]
    entering, leaving = op.attributes.get("in_shardings", ()), op.attributes.get("out_shardings", ())
    tensors = [value for value in values if isinstance(value, Val)]
    if len({len(values), len(tensors), len(entering)}) != 1 or len(leaving) != len(op.results):
        return [walk.not_modelled(result.type, f"'{op.name}' of tokens or tuples") for result in op.results]
    nested = walk.inside
    for argument, value, sharding in zip(region.arguments, tensors, entering, strict=True):
        walk.env[argument.number] = enter(walk, value, sharding, argument.tensor)
    walk.inside = True
    walk.region(region)
    walk.inside = nested
    return [
        leave(walk, walk.env[inner.number], sharding, result.tensor, nested=nested)
        for inner, sharding, result in zip(region.results, leaving, op.results, strict=True)
    ]
