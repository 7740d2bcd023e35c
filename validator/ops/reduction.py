"""Operations that combine many elements by a reducer region."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.regions import combine, fold
from ..evaluate.windows import Window, select_and_scatter, windows_of
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_reduce(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    count = len(operands) // 2
    inputs, initial = operands[:count], operands[count:]
    rank = op.operands[0].tensor.rank
    dtypes = [value.tensor.dtype for value in op.operands[:count]]
    reduced = sorted(int(d) for d in op.attributes["dimensions"])
    kept = [d for d in range(rank) if d not in reduced]
    shape = op.results[0].tensor.shape
    extent = int(np.prod([op.operands[0].tensor.shape[d] for d in reduced], dtype=np.int64))
    start = [np.broadcast_to(value.reshape(-1, *(1,) * len(kept)), (machine.lanes, *shape)) for value in initial]
    if extent == 0:
        return start
    order = (0, *(d + 1 for d in kept), *(d + 1 for d in reduced))
    rows = [array.transpose(order).reshape(machine.lanes, *shape, extent) for array in inputs]
    results = combine(machine, op.regions[0], start, fold(machine, op.regions[0], rows, dtypes), dtypes)
    if extent == 1 and _changed(results, [row[..., 0] for row in rows]):
        # XLA takes a reduction of single elements for a reshape, and drops the start.
        machine.undefined.add(f"'{op.name}' of single elements with a start that is not neutral")
    return results


def evaluate_reduce_window(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    count = len(operands) // 2
    inputs, initial = operands[:count], operands[count:]
    dtypes = [value.tensor.dtype for value in op.operands[:count]]
    window = Window.of(op)
    shape = op.results[0].tensor.shape
    start = [np.broadcast_to(value.reshape(-1, *(1,) * len(shape)), (machine.lanes, *shape)) for value in initial]
    rows = [windows_of(array, value, window) for array, value in zip(inputs, initial, strict=True)]
    if rows[0].shape[-1] == 0 or rows[0].size == 0:
        return start
    if window.reaches_out(op.operands[0].tensor.shape) and _changed(
        combine(machine, op.regions[0], start, start, dtypes), start
    ):
        # StableHLO has the start at every place of a window that holds no element; XLA has it once a window.
        machine.undefined.add(f"'{op.name}' with padding and a start that is not neutral")
    return combine(machine, op.regions[0], start, fold(machine, op.regions[0], rows, dtypes), dtypes)


def _changed(arrays: list[np.ndarray], others: list[np.ndarray]) -> bool:
    """Whether some elements differ; NaN is NaN."""
    differ = [(one != other) & ((one == one) | (other == other)) for one, other in zip(arrays, others, strict=True)]
    return any(each.any() for each in differ)


def evaluate_select_and_scatter(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [select_and_scatter(machine, op, *operands)]


_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding")


_record = partial(family_record, Family.REDUCTION)

RECORDS: tuple[OpRecord, ...] = (
    _record("stablehlo.reduce", "whole dimensions combined by a reducer", evaluate_reduce, "dimensions"),
    _record("stablehlo.reduce_window", "every window combined by a reducer", evaluate_reduce_window, *_WINDOW),
    _record(
        "stablehlo.select_and_scatter",
        "source elements added to the element each window selects",
        evaluate_select_and_scatter,
        "window_dimensions",
        "window_strides",
        "padding",
    ),
)
