"""Whether a program is one of logical tensors or of device values, as its ops tell."""

from __future__ import annotations

from collections.abc import Iterator

from ..read.dependencies import regions
from ..read.ir import Op, Program
from ..relation.layout import local_shape

DEVICE_NUMBERS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})

EXCHANGES = frozenset({"replica_groups", "source_target_pairs"})
"""Attributes of the ops that exchange data between devices."""

BOUNDARIES = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Custom calls that cross into and out of a manual region."""


def both_on_devices(before: Program, after: Program) -> bool:
    """Whether the programs are two stages of one device program: both hold device values from end to end.

    The original then has collectives or device numbers, and no boundary between logical and device values.
    """
    if before.num_devices == 1 or before.num_devices != after.num_devices:
        return False
    if crosses_boundaries(before):
        return False
    if asks_for_devices(before):
        return True
    ours, theirs = (*before.parameters, *before.results), (*after.parameters, *after.results)
    shapes = [(a.value.type, b.value.type) for a, b in zip(ours, theirs, strict=True)]
    # a dimension of one element that is cut keeps its extent: that tells nothing
    cut = any(local_shape(s.value.tensor.shape, s.sharding) != s.value.tensor.shape for s in ours)
    return cut and all(mine == other for mine, other in shapes)


def crosses_boundaries(program: Program) -> bool:
    """Whether it has manual regions, so that what is outside of them are logical tensors."""
    return any(
        op.name == "sdy.manual_computation" or op.attributes.get("call_target_name") in BOUNDARIES
        for op in _ops(program)
    )


def asks_for_devices(program: Program) -> bool:
    """Whether devices differ or exchange data outside of any manual region."""
    asks = any(op.name in DEVICE_NUMBERS or EXCHANGES & op.attributes.keys() for op in _ops(program))
    return asks and not crosses_boundaries(program)


def _ops(program: Program) -> Iterator[Op]:
    return (op for region in regions(program.body) for op in region.ops)
