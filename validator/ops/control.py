"""Control flow. Devices whose conditions differ run apart, and may then not reach a collective."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..evaluate.layout import full_to_manual, manual_to_full
from ..evaluate.regions import Evaluation, RegionCall, merge_lanes, run_elementwise, select_lanes
from ..read.ir import Op, TensorType, Type
from ..read.shardings import Sharding, ShardingKind
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_while(machine: Machine, op: Op, operands: list[Any]) -> Evaluation:
    condition, body = op.regions
    carried = list(operands)
    results = list(operands)
    running: np.ndarray | None = None
    while True:
        (holds,) = yield RegionCall(condition, carried, running)
        if not holds.size or not holds.all():
            staying = np.arange(machine.lanes)[holds] if running is None else running[holds]
            everyone = np.arange(machine.lanes) if running is None else running
            results = [merge_lanes(old, new, everyone) for old, new in zip(results, carried, strict=True)]
            carried = [select_lanes(value, holds) for value in carried]
            running = staying
        if running is not None and not len(running):
            return results
        carried = yield RegionCall(body, carried, running)


def evaluate_case(machine: Machine, op: Op, operands: list[Any]) -> Evaluation:
    index = operands[0].astype(np.int64)
    last = len(op.regions) - 1
    return _branch(machine, op, np.where((index < 0) | (index > last), last, index))


def evaluate_if(machine: Machine, op: Op, operands: list[Any]) -> Evaluation:
    return _branch(machine, op, np.where(operands[0], 0, 1))


def evaluate_manual_computation(machine: Machine, op: Op, operands: list[Any]) -> Evaluation:
    """The region on every device's manual shards; axes that are not manual stay whole inside, as at a boundary call."""
    machine.require_together(op.name)
    (region,) = op.regions
    shards = [
        full_to_manual(operand, _whole_tiling(op, sharding), argument.tensor.shape)
        for operand, sharding, argument in zip(operands, op.attributes["in_shardings"], region.arguments, strict=True)
    ]
    results = yield RegionCall(region, shards)
    return [
        manual_to_full(result, _whole_tiling(op, sharding), value.tensor.shape)
        for result, sharding, value in zip(results, op.attributes["out_shardings"], op.results, strict=True)
    ]


def _whole_tiling(op: Op, sharding: Sharding) -> Sharding:
    if sharding.kind not in (ShardingKind.TILED, ShardingKind.REPLICATED):
        raise UnsupportedOp(op.name, f"with sharding '{sharding.text}'")
    return sharding


def evaluate_map(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return run_elementwise(machine, op.regions[0], operands)


def evaluate_fusion(machine: Machine, op: Op, operands: list[Any]) -> Evaluation:
    return (yield RegionCall(op.regions[0], operands))


def _branch(machine: Machine, op: Op, chosen: np.ndarray) -> Evaluation:
    """Run in every lane the region it chose."""
    taken = np.unique(chosen)
    if len(taken) == 1:
        results = yield RegionCall(op.regions[int(taken[0])], ())
        return results
    merged: list[Any] = [_blank(machine, value.type) for value in op.results]
    for number in taken:
        lanes = np.flatnonzero(chosen == number)
        results = yield RegionCall(op.regions[int(number)], (), lanes)
        merged = [merge_lanes(old, new, lanes) for old, new in zip(merged, results, strict=True)]
    return merged


def _blank(machine: Machine, type_: Type) -> Any:
    """A value of a type, to be overwritten in every lane."""
    if isinstance(type_, TensorType):
        return np.zeros((machine.lanes, *type_.shape), machine.arithmetic.storage(type_.dtype))
    return None


_record = partial(family_record, Family.CONTROL)

RECORDS: tuple[OpRecord, ...] = (
    _record("stablehlo.while", "the body repeated while the condition holds", evaluate_while),
    _record("stablehlo.case", "the region an index chooses, the last one if it is out of range", evaluate_case),
    _record("stablehlo.if", "the first region where the predicate holds, else the second", evaluate_if),
    _record(
        "sdy.manual_computation",
        "the region run on every device's shards",
        evaluate_manual_computation,
        "in_shardings",
        "manual_axes",
        "mesh",
        "out_shardings",
    ),
    _record("stablehlo.map", "the region applied to every element", evaluate_map, ignored=frozenset({"dimensions"})),
    _record(
        "mhlo.fusion",
        "the region, compiled as one kernel",
        evaluate_fusion,
        ignored=frozenset({"fusion_kind", "output_operand_aliasing"}),
    ),
)
