"""How reductions relate: sums over whole dimensions or windows; a reducer that is no monoid makes one term a row."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

from ..read.ir import Op, Region, TensorType
from ..relation.build import names
from .annotations import ANNOTATIONS
from .choosers import choices_of
from .engine import Engine, RowOperand
from .keys import region_key
from .monoid import Monoid, monoid_of_region
from .reduction_maps import reduce_read, reduced_lines, window, window_read
from .selecting_relation import selected_in_order
from .sequence_relation import reduced_in_order, windows_in_order


def relate_reduce(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    count = len(values) // 2
    operands, inits = values[:count], values[count:]
    monoid = monoid_of_region(op.regions[0])
    steps = start_steps(engine, inits[0], monoid) if count == 1 else None
    if monoid is not None and steps is not None:
        rel = reduce_read(engine.builder, op)
        total = engine.sum_over(operands[0], rel, monoid, op.results[0].tensor, steps=steps)
        return [total.needing(inits[0].theory)]
    return _reduce_rows(engine, op, operands, inits)


def _reduce_rows(engine: Engine, op: Op, operands: list[Any], inits: list[Any]) -> list[Any]:
    """Any reducer: equal rows in the same order, and equal starts, give equal results."""
    key = _function(op.regions[0])
    if key is None:
        return engine.refuse(op, f"reducer of '{op.name}' that reads outer values")
    batch, line, row_rank = reduced_lines(engine.builder, op)
    types = [result.tensor for result in op.results]
    ordered = reduced_in_order(engine, op.regions[0], (op.name, key), operands, inits, line, row_rank, types)
    if ordered is not None:
        return ordered
    rows = [RowOperand(value, line, row_rank) for value in operands]
    rows.extend(RowOperand(value, engine.builder.moved(batch, []), 0) for value in inits)
    reads = [engine.builder.moved(result.tensor.shape, names("i", len(batch))) for result in op.results]
    return engine.rows((op.name, key), rows, batch, types, reads)


def _function(region: Region) -> Hashable | None:
    """Which function a reducer is: by what it chooses in every case, or else by how it is written."""
    return choices_of(region) or region_key(region, ANNOTATIONS)


def start_steps(engine: Engine, init: Any, monoid: Monoid | None) -> int | None:
    """How many steps of summation a reduction from here takes; None where it does not start from the neutral element
    on every device, or is not known to.

    StableHLO leaves such a reduction open. A start of -0.0 is one step more: with it, a sum of nothing but -0.0 is
    another zero.
    """
    if monoid is None or not init.pieces or init.monoid is not None:
        return None
    neutral, steps = monoid.neutral(init.type.dtype), 1
    if neutral is None or not engine.store.set_equal(init.domain, engine.points(init.type)):
        return None
    for piece in init.pieces:
        if engine.is_integer(piece.atom):
            if engine.store.constant_range(piece.rel) != (neutral,):
                return None
        elif engine.number_of(piece.atom) != neutral:
            return None
        elif neutral == 0:
            steps = 2
    return steps


def relate_reduce_window(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    monoid = monoid_of_region(op.regions[0])
    types = [result.tensor for result in op.results]
    steps = start_steps(engine, values[1], monoid) if len(values) == 2 else None
    if monoid is not None and steps is not None:
        rel = window_read(engine.builder, op)
        total = engine.sum_over(values[0], rel, monoid, types[0], steps=steps)
        return [total.needing(values[1].theory)]
    return _windows_by_place(engine, op, values, types)


def _windows_by_place(engine: Engine, op: Op, values: list[Any], types: list[TensorType]) -> list[Any]:
    """Any reducer: windows with the same elements at the same places."""
    region, key = op.regions[0], _function(op.regions[0])
    rank, count = types[0].rank, len(values) // 2
    sizes = tuple(op.attributes["window_dimensions"])
    wide = [k for k in range(rank) if sizes[k] != 1]
    inner, where, hidden = window(op)
    # the place in the window becomes further coordinates of the point
    places = {name: f"i{rank + position}" for position, name in enumerate(hidden)}
    text = [re.sub(r"(?<![A-Za-z_])k\d+\b", lambda found: places[found.group()], condition) for condition in where]
    extents = [sizes[k] for k in wide]
    inside = engine.builder.linked([*types[0].shape, *extents], inner, text)
    if key is not None:
        full_key = (op.name, key, sizes)
        given = values[:count], values[count:]
        made = windows_in_order(engine, region, full_key, *given, inside, extents, types)
        if made is not None:
            return made
    return engine.refuse(op, f"'{op.name}' with this reducer or start value")


def relate_select_and_scatter(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    operand, source, init = values
    select, scatter = op.regions
    rank = operand.type.rank
    keys = region_key(select, ANNOTATIONS), region_key(scatter, ANNOTATIONS)
    sizes = tuple(op.attributes.get("window_dimensions") or (1,) * rank)
    strides = op.attributes.get("window_strides") or (1,) * rank
    padding = op.attributes.get("padding")
    low = [int(padding[k][0]) if padding is not None else 0 for k in range(rank)]
    monoid = monoid_of_region(scatter)
    if start_steps(engine, init, monoid) is None:
        monoid = None
    extents = list(zip(sizes, strides, low, strict=True))
    found = None
    if None not in keys:
        found = selected_in_order(engine, (op.name, keys, sizes), operand, source, init, extents, monoid)
    if found is None:
        return engine.refuse(op, f"'{op.name}' that reads outer values or starts from data")
    return [found]


RELATIONS = {
    "stablehlo.reduce": relate_reduce,
    "stablehlo.reduce_window": relate_reduce_window,
    "stablehlo.select_and_scatter": relate_select_and_scatter,
}
