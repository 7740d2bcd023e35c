"""Replica groups and permute pairs as explicit device numbers.

A collective names its participants in one of four modes; here every mode becomes rows of flattened device numbers
`replica * num_partitions + partition`, in the order in which the collective concatenates or splits.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from .attributes import DeviceGroups, DevicePairs
from .tiling import AxisRef, Mesh


class GroupMode(enum.Enum):
    """What the numbers in replica groups count."""

    CROSS_REPLICA = "cross_replica"
    CROSS_PARTITION = "cross_partition"
    CROSS_REPLICA_AND_PARTITION = "cross_replica_and_partition"
    FLATTENED_IDS = "flattened_ids"


_BY_PARTITION = frozenset({"all_to_all", "collective_permute", "collective_broadcast", "ragged_all_to_all"})


def group_mode(op_name: str, channel: int, use_global_device_ids: bool) -> GroupMode:
    """The mode of `stablehlo.<op_name>` by the rules of the StableHLO specification."""
    if op_name.rpartition(".")[2] in _BY_PARTITION:
        return GroupMode.CROSS_PARTITION if channel > 0 else GroupMode.CROSS_REPLICA
    if use_global_device_ids:
        if channel <= 0:
            raise ValueError("use_global_device_ids needs a channel")
        return GroupMode.FLATTENED_IDS
    return GroupMode.CROSS_REPLICA_AND_PARTITION if channel > 0 else GroupMode.CROSS_REPLICA


def everyone(mode: GroupMode, replicas: int, partitions: int) -> np.ndarray:
    """What an empty table of replica groups stands for: one group of everyone the mode counts."""
    counted = {
        GroupMode.CROSS_REPLICA: replicas,
        GroupMode.CROSS_PARTITION: partitions,
        GroupMode.CROSS_REPLICA_AND_PARTITION: replicas,
        GroupMode.FLATTENED_IDS: replicas * partitions,
    }[mode]
    return np.arange(counted, dtype=np.int64).reshape(1, -1)


def device_groups(table: np.ndarray, mode: GroupMode, replicas: int, partitions: int) -> DeviceGroups:
    """Explicit groups; an empty table means one group of everyone the mode counts."""
    whole = everyone(mode, replicas, partitions)
    counted = whole.size
    if table.size == 0:
        table = whole
    if (table < 0).any():
        raise ValueError("replica groups of different sizes are not supported")
    if np.unique(table).size != table.size:
        raise ValueError("a device stands twice in the replica groups")
    if table.max() >= counted or table.size != counted:
        raise ValueError(f"replica groups do not cover exactly the {counted} participants of mode {mode.value}")
    if mode is GroupMode.FLATTENED_IDS:
        return DeviceGroups(table)
    every_partition = np.arange(partitions, dtype=np.int64)
    every_replica = np.arange(replicas, dtype=np.int64)
    if mode is GroupMode.CROSS_REPLICA:
        rows = table[None, :, :] * partitions + every_partition[:, None, None]
        return DeviceGroups(rows.reshape(-1, table.shape[1]))
    if mode is GroupMode.CROSS_PARTITION:
        rows = every_replica[:, None, None] * partitions + table[None, :, :]
        return DeviceGroups(rows.reshape(-1, table.shape[1]))
    rows = table[:, :, None] * partitions + every_partition[None, None, :]
    return DeviceGroups(rows.reshape(table.shape[0], -1))


def device_pairs(table: np.ndarray, mode: GroupMode, replicas: int, partitions: int) -> DevicePairs:
    """Explicit source and target devices of a collective permute."""
    table = table.reshape(-1, 2)
    counted = partitions if mode is GroupMode.CROSS_PARTITION else replicas
    if table.size and (table.min() < 0 or table.max() >= counted):
        raise ValueError(f"source_target_pairs name a device beyond the {counted} participants of mode {mode.value}")
    for column, word in ((0, "source"), (1, "target")):
        if np.unique(table[:, column]).size != table.shape[0]:
            raise ValueError(f"a {word} stands twice in source_target_pairs")
    if mode is GroupMode.CROSS_PARTITION:
        pairs = np.arange(replicas, dtype=np.int64)[:, None, None] * partitions + table[None]
    else:
        pairs = table[None] * partitions + np.arange(partitions, dtype=np.int64)[:, None, None]
    return DevicePairs(pairs.reshape(-1, 2))


def mesh_groups(mesh: Mesh, axes: Sequence[AxisRef]) -> np.ndarray:
    """One row for each place on the other axes; inside a row the first listed axis is the major one."""
    _, array = mesh.split([axes])
    return np.ascontiguousarray(array.T)
