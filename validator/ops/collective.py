"""Operations that exchange data between devices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..evaluate.regions import commutative_op, fold
from ..read.attributes import DeviceGroups, DevicePairs
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def _groups(machine: Machine, op: Op) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The group table, and every device's row and place in it; all devices must take part together."""
    machine.require_together(op.name)
    groups = op.attributes["replica_groups"]
    assert isinstance(groups, DeviceGroups)
    table = groups.table
    if not np.array_equal(np.sort(table, axis=None), np.arange(machine.num_devices)):
        raise UnsupportedOp(op.name, "with groups that do not hold every device once")
    rows, places = np.empty(machine.num_devices, np.int64), np.empty(machine.num_devices, np.int64)
    rows[table] = np.arange(table.shape[0])[:, None]
    places[table] = np.arange(table.shape[1])
    return table, rows, places


def evaluate_all_gather(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    table, rows, _ = _groups(machine, op)
    dimension = int(op.attributes["all_gather_dim"]) + 1
    results = []
    for operand in operands:
        parts = np.moveaxis(operand[table], 1, dimension)
        shape = list(operand.shape)
        shape[0], shape[dimension] = len(table), shape[dimension] * table.shape[1]
        results.append(parts.reshape(shape)[rows])
    return results


def evaluate_all_reduce(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    table, rows, _ = _groups(machine, op)
    results = []
    for operand, value in zip(operands, op.operands, strict=True):
        if commutative_op(op.regions[0]) is not None:
            members = np.moveaxis(operand[table], 1, -1)
            results.append(fold(machine, op.regions[0], [members], [value.tensor.dtype])[0][rows])
        else:
            members = np.moveaxis(operand[table[rows]], 1, -1)
            results.append(fold(machine, op.regions[0], [members], [value.tensor.dtype])[0])
    return results


def evaluate_reduce_scatter(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    table, _, places = _groups(machine, op)
    return [
        _own_part(reduced, int(op.attributes["scatter_dimension"]) + 1, table.shape[1], places)
        for reduced in evaluate_all_reduce(machine, op, operands)
    ]


def _own_part(array: np.ndarray, axis: int, parts: int, places: np.ndarray) -> np.ndarray:
    """For every device the part of its own place when the axis is cut into equal parts."""
    shape = list(array.shape)
    shape[axis : axis + 1] = [parts, shape[axis] // parts]
    by_part = np.moveaxis(array.reshape(shape), axis, 1)
    return by_part[np.arange(len(places)), places]


def evaluate_all_to_all(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    if "split_dimension" not in op.attributes:
        raise UnsupportedOp(op.name, "without a split dimension")
    table, rows, places = _groups(machine, op)
    split, concat = int(op.attributes["split_dimension"]) + 1, int(op.attributes["concat_dimension"]) + 1
    parts = table.shape[1]
    if int(op.attributes.get("split_count", parts)) != parts:
        raise UnsupportedOp(op.name, f"splitting in {op.attributes['split_count']} among groups of {parts}")
    results = []
    for operand in operands:
        shape = list(operand.shape)
        shape[split : split + 1] = [parts, shape[split] // parts]
        by_part = np.moveaxis(operand.reshape(shape), split, 1)
        # Device d takes, from each member m of its group in order, the part of d's own place.
        received = by_part[table[rows], places[:, None]]
        placed = np.moveaxis(received, 1, concat)
        out = list(received.shape[:1] + received.shape[2:])
        out[concat] *= parts
        results.append(placed.reshape(out))
    return results


def evaluate_collective_permute(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    machine.require_together(op.name)
    pairs = op.attributes["source_target_pairs"]
    assert isinstance(pairs, DevicePairs)
    table = pairs.table.reshape(-1, 2)
    if len(set(table[:, 1].tolist())) != len(table) or len(set(table[:, 0].tolist())) != len(table):
        raise UnsupportedOp(op.name, "with a source or target that occurs twice")
    results = []
    for operand in operands:
        received = np.zeros_like(operand)
        received[table[:, 1]] = operand[table[:, 0]]
        results.append(received)
    return results


def evaluate_collective_broadcast(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    machine.require_together(op.name)
    groups = op.attributes["replica_groups"]
    assert isinstance(groups, DeviceGroups)
    results = []
    for operand in operands:
        received = np.zeros_like(operand)
        received[groups.table] = operand[groups.table[:, 0]][:, None]
        results.append(received)
    return results


_CHANNELS = frozenset({"channel_handle", "channel_id", "use_global_device_ids"})
"""The reader expands groups to device numbers, so channels and modes have done their work."""


_record = partial(family_record, Family.COLLECTIVE, ignored=_CHANNELS)

RECORDS: tuple[OpRecord, ...] = (
    _record(
        "stablehlo.all_gather",
        "the group's tensors joined along one dimension",
        evaluate_all_gather,
        "all_gather_dim",
        "replica_groups",
    ),
    _record("stablehlo.all_reduce", "the group's tensors combined by a reducer", evaluate_all_reduce, "replica_groups"),
    _record(
        "stablehlo.reduce_scatter",
        "the group's tensors combined by a reducer, each device keeping its part",
        evaluate_reduce_scatter,
        "scatter_dimension",
        "replica_groups",
    ),
    _record(
        "stablehlo.all_to_all",
        "parts exchanged so that each device holds its place's part of every member",
        evaluate_all_to_all,
        "split_dimension",
        "concat_dimension",
        "split_count",
        "replica_groups",
    ),
    _record(
        "stablehlo.collective_permute",
        "tensors sent from sources to targets; zeros without a source",
        evaluate_collective_permute,
        "source_target_pairs",
    ),
    _record(
        "stablehlo.collective_broadcast",
        "the tensor of each group's first device; zeros outside all groups",
        evaluate_collective_broadcast,
        "replica_groups",
    ),
)
