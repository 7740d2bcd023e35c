"""Operations whose places are data: dynamic slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.indices import clamp_start, dynamic_window, gather_indices, has_duplicates, scatter_targets
from ..evaluate.regions import combine, commutative_op
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_dynamic_slice(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    operand, *starts = operands
    sizes = [int(n) for n in op.attributes["slice_sizes"]]
    clamped = _clamped(machine, op, starts, sizes)
    return [operand[dynamic_window(clamped, sizes)]]


def _clamped(machine: Machine, op: Op, starts: list[np.ndarray], sizes: Sequence[int]) -> list[np.ndarray]:
    """Starts moved to where a window of the given sizes fits into the first operand."""
    clamped = []
    for start, extent, size in zip(starts, op.operands[0].tensor.shape, sizes, strict=True):
        clamped.append(clamp_start(start, extent - size))
        if not np.array_equal(clamped[-1], start):
            machine.takes_outside(op)
    return clamped


def evaluate_dynamic_update_slice(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    operand, update, *starts = operands
    sizes = op.operands[1].tensor.shape
    clamped = _clamped(machine, op, starts, sizes)
    result = np.array(operand)
    result[dynamic_window(clamped, sizes)] = update
    return [result]


def evaluate_gather(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    operand, indices = operands
    if op.attributes.get("indices_are_sorted"):
        machine.promise_sorted(op, indices)
    places, order, inside = gather_indices(op, indices)
    if not inside:
        machine.takes_outside(op)
    return [operand[places].transpose(order)]


def evaluate_scatter(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    count = len(operands) // 2
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    if op.attributes.get("indices_are_sorted"):
        machine.promise_sorted(op, indices)
    lanes, targets, order = scatter_targets(op, indices)
    region = op.regions[0]
    dtypes = [value.tensor.dtype for value in op.operands[:count]]
    shape = op.operands[0].tensor.shape
    results = [np.array(array).reshape(machine.lanes, -1) for array in inputs]
    # Window dimensions last, as in `targets`; then only the updates that land.
    flat = [array.transpose(order).reshape(-1) for array in updates]
    landing = targets >= 0
    if not landing.all():
        machine.takes_outside(op)
    lanes, targets, flat = lanes[landing], targets[landing], [array[landing] for array in flat]
    if has_duplicates(lanes, targets):
        if op.attributes.get("unique_indices"):
            machine.undefined.add(f"'{op.name}'")
        if commutative_op(region) is None:
            machine.unordered.add(f"'{op.name}'")
    if machine.backwards:
        lanes, targets, flat = lanes[::-1], targets[::-1], [array[::-1] for array in flat]
    # Updates of one element are combined in order, one round each; a round touches every element once at most.
    sequence = np.lexsort((targets, lanes))
    lanes, targets, flat = lanes[sequence], targets[sequence], [array[sequence] for array in flat]
    fresh = np.ones(len(targets), np.bool_)
    fresh[1:] = (targets[1:] != targets[:-1]) | (lanes[1:] != lanes[:-1])
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(targets)), 0))
    rounds = np.arange(len(targets)) - first
    for turn in range(int(rounds.max(initial=-1)) + 1):
        now = rounds == turn
        at = (lanes[now], targets[now])
        new = combine(machine, region, [array[at] for array in results], [array[now] for array in flat], dtypes, at[0])
        for array, values in zip(results, new, strict=True):
            array[at] = values
    return [array.reshape(machine.lanes, *shape) for array in results]


_record = partial(family_record, Family.INDEXING)

RECORDS: tuple[OpRecord, ...] = (
    _record(
        "stablehlo.dynamic_slice",
        "a window at a start that is data, clamped into the operand",
        evaluate_dynamic_slice,
        "slice_sizes",
    ),
    _record(
        "stablehlo.dynamic_update_slice",
        "the operand with a window replaced, its start clamped",
        evaluate_dynamic_update_slice,
    ),
    _record(
        "stablehlo.gather",
        "windows at starts that are data, each clamped into the operand",
        evaluate_gather,
        "dimension_numbers",
        "indices_are_sorted",
        "slice_sizes",
    ),
    _record(
        "stablehlo.scatter",
        "windows combined into the operand; one that does not fit is dropped whole",
        evaluate_scatter,
        "indices_are_sorted",
        "scatter_dimension_numbers",
        "unique_indices",
    ),
)
