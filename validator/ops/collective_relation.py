"""How collectives relate: each is a relation between points of different devices, composed or summed over.

The relations themselves stand in `collective_maps.py`. A device without a source holds zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..read.ir import Op
from ..relate.moves import gathered, read_through
from ..relate.sums import sum_over
from ..relate.value import AnyVal, Val
from .collective_maps import exchange_read, gather_read, reduced_read, source_read, sources
from .monoid import Monoid, monoid_of_region

if TYPE_CHECKING:
    from ..relate.walk import Walk


def _refuse(walk: Walk, op: Op) -> list[AnyVal]:
    return [walk.not_modelled(result.type, f"'{op.name}' with these device groups") for result in op.results]


def relate_moved_between(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """Every element is read from one device."""
    read = gather_read if op.name == "stablehlo.all_gather" else exchange_read
    results: list[AnyVal] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        rel = read(walk.builder, op, number)
        if rel is None:
            return _refuse(walk, op)
        results.append(read_through(walk, value, rel, result.tensor))
    return results


def relate_sent(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    vector = sources(op, walk.mesh.num_devices)
    if vector is None:
        return _refuse(walk, op)
    return [_from_sources(walk, op, number, value, vector) for number, value in enumerate(values)]


def _from_sources(walk: Walk, op: Op, number: int, value: Val, vector: np.ndarray) -> AnyVal:
    """What each device reads from its source; zeros (of either sign of nothing: +0) where there is none."""
    store, type_ = walk.store, value.type
    if not walk.mesh.sizes:
        return value if vector[0] == 0 else walk.not_modelled(type_, f"'{op.name}' on one device without a source")
    if (vector < 0).all():
        zero = walk.constant_piece(np.zeros((), np.int64), type_.dtype, walk.points(type_))
        return Val(type_, (zero,), walk.points(type_))
    rel = source_read(walk.builder, op, number, vector)
    if rel is None:
        return walk.not_modelled(type_, f"'{op.name}' with this list of pairs")
    moved = read_through(walk, value, rel, type_)
    missing = store.set_minus(walk.points(type_), store.domain(rel))
    if store.set_empty(missing):
        return moved
    domain = store.set_union(moved.domain, missing)
    if moved.monoid is Monoid.ADD:
        return Val(type_, moved.pieces, domain, moved.monoid, moved.levels, moved.theory)
    if moved.monoid is not None:
        moved = walk.close(moved, "partial result is sent to other devices")
    zero = walk.constant_piece(np.zeros((), np.int64), type_.dtype, missing)
    return Val(type_, gathered(store, (*moved.pieces, zero)), domain, theory=moved.theory)


def relate_reduced(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """Every element is a sum over the devices of a group."""
    monoid = monoid_of_region(op.regions[0])
    results: list[AnyVal] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        read = reduced_read(walk.builder, op, number)
        if read is None:
            return _refuse(walk, op)
        if monoid is None:
            return [walk.not_modelled(result.type, f"reducer of '{op.name}'") for result in op.results]
        rel, size = read
        results.append(sum_over(walk, value, rel, monoid, result.tensor, steps=2 if size > 1 else 0))
    return results


RELATIONS = {
    "stablehlo.all_gather": relate_moved_between,
    "stablehlo.all_to_all": relate_moved_between,
    "stablehlo.collective_permute": relate_sent,
    "stablehlo.collective_broadcast": relate_sent,
    "stablehlo.all_reduce": relate_reduced,
    "stablehlo.reduce_scatter": relate_reduced,
}
