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

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..read.ir import Op, TensorType
from ..read.shardings import REDUCERS, Sharding, ShardingKind
from ..relation.build import Builder
from ..relation.layout import layout
from ..relation.objects import Rel
from .devices import DEVICE_NUMBERS
from .engine import Engine
from .values import is_tensor


def is_inside(value: Any) -> bool:
    """Whether a value of the original has device coordinates."""
    return is_tensor(value) and value.domain.arity > value.type.rank


def enters(op: Op, operands: Sequence[Any]) -> bool:
    """Whether an op of the original computes device values."""
    return op.name in DEVICE_NUMBERS or any(is_inside(operand) for operand in operands)


def is_nested(sharding: Sharding | None) -> bool:
    """Whether a sharding at a boundary has manual axes besides: what lies beyond the boundary is a region as well."""
    return sharding is not None and (sharding.kind is ShardingKind.MANUAL or "manual" in sharding.marked)


def lifted(engine: Engine, value: Any) -> Any:
    """A logical value that every device of a manual region holds whole, such as a constant."""
    if not is_tensor(value) or is_inside(value):
        return value
    assert engine.inner is not None
    moved = engine.read_through(value, engine.inner.local_identity(value.type.shape), value.type)
    return replace(value, pieces=moved.pieces, domain=moved.domain)


def enter(engine: Engine, value: Any, sharding: Sharding | None, type_: TensorType) -> Any:
    """The device values of a logical value, or of an outer region's device values, at the boundary into a region."""
    inner = engine.inner
    if inner is None:
        return engine.not_modelled(type_, "a manual region on one device")
    rel = _boundary(engine, inner, value.type, sharding, type_)
    if isinstance(rel, str):
        outer, engine.builder = engine.builder, inner
        try:
            return engine.not_modelled(type_, rel)
        finally:
            engine.builder = outer
    if is_inside(value):
        rel = engine.store.pair(engine.leading_map(rel.arity_in, len(inner.device)), rel)
    engine.used("entering")
    return engine.read_through(value, rel, type_)


def leave(engine: Engine, value: Any, sharding: Sharding | None, type_: TensorType, *, nested: bool) -> Any:
    """What device values are at the boundary out of a manual region: a logical value, or an outer region's values."""
    inner, store = engine.inner, engine.store
    if inner is None:
        return engine.not_modelled(type_, "a manual region on one device")
    value = lifted(engine, value)
    if not is_tensor(value):
        return engine.not_modelled(type_, "a manual region of tokens or tuples")
    rel = _boundary(engine, inner, type_, sharding, value.type)
    if isinstance(rel, str):
        return engine.not_modelled(type_, rel)
    if nested:
        holder = _own_holder(engine, inner, type_, sharding, value.type, rel)
        if holder is None:
            return engine.not_modelled(type_, "a manual region's sharding with an irregular device order")
        engine.used("leaving")
        return engine.read_through(value, holder, type_)
    if value.monoid is not None:
        value = engine.close(value, "result of a manual region")
    holder = store.lexmin(store.reverse(rel))
    # every device's own copy against the one that stands for all
    chosen = store.compose(rel, holder)
    for piece in value.pieces:
        own = store.restrict(piece.rel, store.domain(rel))
        if not store.equal(store.compose(chosen, piece.rel), own):
            return engine.not_modelled(type_, "a manual region whose copies of one shard may differ")
    engine.used("leaving")
    return engine.read_through(value, holder, type_)


def _own_holder(
    engine: Engine, inner: Builder, outer: TensorType, sharding: Sharding | None, local: TensorType, rel: Rel
) -> Rel | None:
    """{[d, x] -> [d', i]}: of the devices that hold x, the one that differs from d in nothing but its tile."""
    store = engine.store
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
        return store.pair(store.compose(engine.leading_map(rel.arity_in, digits), table), rel)

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
    engine: Engine, inner: Builder, logical: TensorType, sharding: Sharding | None, local: TensorType
) -> Rel | str:
    """{[d, i] -> [x]}: which element of the whole tensor each element inside is."""
    key = (_boundary, logical.shape, sharding, local.shape)
    known = inner.memo.get(key)
    if known is None:
        cut = _cut(logical.shape, sharding, local.shape)
        rel = cut if isinstance(cut, str) else layout(inner, logical.shape, cut, local.shape)
        if isinstance(rel, str):
            known = f"a manual region's {rel}"
        elif engine.store.single_valued(rel):
            known = rel
        else:
            known = "a manual region's sharding that is no function"
        inner.memo[key] = known
    return known


def relate_manual_computation(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """`sdy.manual_computation`: enter through `in_shardings`, follow the body, leave through `out_shardings`."""
    region = op.regions[0]
    entering, leaving = op.attributes.get("in_shardings", ()), op.attributes.get("out_shardings", ())
    if not all(map(is_tensor, values)) or len(values) != len(entering) or len(leaving) != len(op.results):
        return engine.refuse(op, f"'{op.name}' of tokens or tuples")
    nested = engine.inside
    for argument, value, sharding in zip(region.arguments, values, entering, strict=True):
        engine.env[argument.number] = enter(engine, value, sharding, argument.tensor)
    engine.inside = True
    try:
        returned = engine.body(region)
    finally:
        engine.inside = nested
    return [
        leave(engine, value, sharding, result.tensor, nested=nested)
        for value, sharding, result in zip(returned, leaving, op.results, strict=True)
    ]
