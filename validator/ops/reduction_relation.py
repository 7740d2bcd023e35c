"""How reductions relate: sums over whole dimensions or windows; a reducer that is no monoid makes one term a row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..read.ir import Op, TensorType
from ..relate.atoms import AtomKind
from ..relate.ordered import constant_start, relate_ordered, relate_windows
from ..relate.rows import RowOperand, relate_rows
from ..relate.selecting import relate_selected
from ..relate.sums import sum_over
from ..relate.value import AnyVal, Val
from ..relation.build import names
from .annotations import ANNOTATIONS
from .keys import region_key
from .monoid import Monoid, monoid_of_region
from .reduction_maps import reduce_read, reduced_lines, window, window_read

if TYPE_CHECKING:
    from ..relate.walk import Walk


def relate_reduce(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    count = len(values) // 2
    operands, inits = values[:count], values[count:]
    monoid = monoid_of_region(op.regions[0])
    if count == 1 and monoid is not None and starts_neutral(walk, inits[0], monoid):
        rel = reduce_read(walk.builder, op)
        return [sum_over(walk, operands[0], rel, monoid, op.results[0].tensor, steps=_steps(inits[0]))]
    return _reduce_rows(walk, op, operands, inits)


def _reduce_rows(walk: Walk, op: Op, operands: list[Val], inits: list[Val]) -> list[AnyVal]:
    """Any reducer: equal rows in the same order, and equal starts, give equal results."""
    key = region_key(op.regions[0], ANNOTATIONS)
    if key is None:
        return [walk.not_modelled(r.type, f"reducer of '{op.name}' that reads outer values") for r in op.results]
    batch, line, row_rank = reduced_lines(walk.builder, op)
    types = [result.tensor for result in op.results]
    ordered = relate_ordered(walk, op.regions[0], (op.name, key), operands, inits, line, row_rank, types)
    if ordered is not None:
        return ordered
    rows = [RowOperand(value, line, row_rank) for value in operands]
    rows.extend(RowOperand(value, walk.builder.moved(batch, []), 0) for value in inits)
    reads = [walk.builder.moved(result.tensor.shape, names("i", len(batch))) for result in op.results]
    return relate_rows(walk, (op.name, key), rows, batch, types, reads)


def starts_neutral(walk: Walk, init: Val, monoid: Monoid) -> bool:
    """Whether the start value is the reducer's neutral element everywhere; StableHLO leaves anything else open."""
    neutral = monoid.neutral(init.type.dtype)
    for piece in init.pieces:
        if piece.atom.kind is AtomKind.INTEGER:
            if walk.store.constant_range(piece.rel) != (neutral,):
                return False
        elif piece.atom.kind is not AtomKind.CONSTANT or piece.atom.arity or piece.atom.data != neutral:
            return False
    return bool(init.pieces) and init.is_view


def _steps(init: Val) -> int:
    """One step of summation; one more for a start of -0.0, with which a sum of nothing but -0.0 is another zero."""
    return 2 if any(piece.atom.kind is AtomKind.CONSTANT and piece.atom.data == 0 for piece in init.pieces) else 1


def relate_reduce_window(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    monoid = monoid_of_region(op.regions[0])
    types = [result.tensor for result in op.results]
    if len(values) == 2 and monoid is not None and starts_neutral(walk, values[1], monoid):
        rel = window_read(walk.builder, op)
        return [sum_over(walk, values[0], rel, monoid, types[0], steps=_steps(values[1]))]
    return _windows_by_place(walk, op, values, types)


def _windows_by_place(walk: Walk, op: Op, values: list[Val], types: list[TensorType]) -> list[AnyVal]:
    """Any reducer: windows with the same elements at the same places."""
    region, key = op.regions[0], region_key(op.regions[0], ANNOTATIONS)
    rank, count = types[0].rank, len(values) // 2
    sizes = tuple(op.attributes["window_dimensions"])
    wide = [k for k in range(rank) if sizes[k] != 1]
    inner, where, hidden = window(op)
    # the place in the window becomes further coordinates of the point
    places = {name: f"i{rank + position}" for position, name in enumerate(hidden)}
    text = [re.sub(r"(?<![A-Za-z_])k\d+\b", lambda found: places[found.group()], condition) for condition in where]
    extents = [sizes[k] for k in wide]
    inside = walk.builder.linked([*types[0].shape, *extents], inner, text)
    if key is not None:
        full_key = (op.name, key, sizes)
        made = relate_windows(walk, region, full_key, values[:count], values[count:], inside, extents, types)
        if made is not None:
            return made
    return [walk.not_modelled(type_, f"'{op.name}' with this reducer or start value") for type_ in types]


def relate_select_and_scatter(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    operand, source, init = values
    select, scatter = op.regions
    rank = operand.type.rank
    keys = region_key(select, ANNOTATIONS), region_key(scatter, ANNOTATIONS)
    start = constant_start(walk, [init])
    if None in keys or start is None:
        return [walk.not_modelled(op.results[0].type, f"'{op.name}' that reads outer values or starts from data")]
    sizes = tuple(op.attributes.get("window_dimensions") or (1,) * rank)
    strides = op.attributes.get("window_strides") or (1,) * rank
    padding = op.attributes.get("padding")
    low = [int(padding[k][0]) if padding is not None else 0 for k in range(rank)]
    monoid = monoid_of_region(scatter)
    if monoid is not None and not starts_neutral(walk, init, monoid):
        monoid = None
    extents = list(zip(sizes, strides, low, strict=True))
    return [relate_selected(walk, (op.name, keys, start.key, sizes), operand, source, init, extents, monoid)]


RELATIONS = {
    "stablehlo.reduce": relate_reduce,
    "stablehlo.reduce_window": relate_reduce_window,
    "stablehlo.select_and_scatter": relate_select_and_scatter,
}
