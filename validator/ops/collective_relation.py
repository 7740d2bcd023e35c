"""How collectives relate: each is a relation between points of different devices, composed or summed over.

The relations themselves stand in `collective_maps.py`. A device without a source holds zeros.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..read.ir import Op
from .collective_maps import exchange_read, gather_read, reduced_read, source_read, sources
from .engine import Engine
from .monoid import Monoid, monoid_of_region


def _refuse(engine: Engine, op: Op) -> list[Any]:
    return engine.refuse(op, f"'{op.name}' with these device groups")


def relate_moved_between(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Every element is read from one device."""
    read = gather_read if op.name == "stablehlo.all_gather" else exchange_read
    results: list[Any] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        rel = read(engine.builder, op, number)
        if rel is None:
            return _refuse(engine, op)
        results.append(engine.read_through(value, rel, result.tensor))
    return results


def relate_sent(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    vector = sources(op, engine.builder.mesh.num_devices)
    if vector is None:
        return _refuse(engine, op)
    return [_from_sources(engine, op, number, value, vector) for number, value in enumerate(values)]


def _from_sources(engine: Engine, op: Op, number: int, value: Any, vector: np.ndarray) -> Any:
    """What each device reads from its source; zeros (of either sign of nothing: +0) where there is none."""
    store, type_ = engine.store, value.type
    points = engine.points(type_)
    if not engine.builder.mesh.sizes:
        return value if vector[0] == 0 else engine.not_modelled(type_, f"'{op.name}' on one device without a source")
    if (vector < 0).all():
        return engine.value(type_, (engine.constant_piece(np.int64(0), type_.dtype, points),), points)
    rel = source_read(engine.builder, op, number, vector)
    if rel is None:
        return engine.not_modelled(type_, f"'{op.name}' with this list of pairs")
    moved = engine.read_through(value, rel, type_)
    missing = store.set_minus(points, store.domain(rel))
    if store.set_empty(missing):
        return moved
    if moved.monoid is Monoid.ADD:
        return replace(moved, domain=store.set_union(moved.domain, missing))
    if moved.monoid is not None:
        moved = engine.close(moved, "partial result is sent to other devices")
    zero = engine.constant_piece(np.int64(0), type_.dtype, missing)
    return engine.beside(moved, engine.value(type_, (zero,), missing))


def relate_reduced(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Every element is a sum over the devices of a group."""
    monoid = monoid_of_region(op.regions[0])
    results: list[Any] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        read = reduced_read(engine.builder, op, number)
        if read is None:
            return _refuse(engine, op)
        if monoid is None:
            return engine.refuse(op, f"reducer of '{op.name}'")
        rel, size = read
        results.append(engine.sum_over(value, rel, monoid, result.tensor, steps=2 if size > 1 else 0))
    return results


RELATIONS = {
    "stablehlo.all_gather": relate_moved_between,
    "stablehlo.all_to_all": relate_moved_between,
    "stablehlo.collective_permute": relate_sent,
    "stablehlo.collective_broadcast": relate_sent,
    "stablehlo.all_reduce": relate_reduced,
    "stablehlo.reduce_scatter": relate_reduced,
}
