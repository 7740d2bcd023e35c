"""Operations that only move elements, and those that make them out of nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..read.ir import Op
from .annotations import ANNOTATIONS
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_constant(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    tensor = op.results[0].tensor
    value = machine.arithmetic.constant(np.asarray(op.attributes["value"]), tensor.dtype)
    return [np.broadcast_to(value, (machine.lanes, *tensor.shape))]


def evaluate_iota(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    tensor = op.results[0].tensor
    dimension = int(op.attributes["iota_dimension"])
    counts = np.arange(tensor.shape[dimension])
    shape = [1] * (tensor.rank + 1)
    shape[dimension + 1] = tensor.shape[dimension]
    loaded = machine.arithmetic.load(counts, tensor.dtype).reshape(shape)
    return [np.broadcast_to(loaded, (machine.lanes, *tensor.shape))]


def evaluate_identity(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return operands


def evaluate_reshape(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [operands[0].reshape(machine.lanes, *op.results[0].tensor.shape)]


def evaluate_broadcast_in_dim(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    source, target = op.operands[0].tensor, op.results[0].tensor
    dimensions = [int(d) for d in op.attributes["broadcast_dimensions"]]
    order = sorted(range(source.rank), key=dimensions.__getitem__)
    shape = [1] * target.rank
    for d in range(source.rank):
        shape[dimensions[d]] = source.shape[d]
    arranged = operands[0].transpose(0, *(d + 1 for d in order)).reshape(machine.lanes, *shape)
    return [np.broadcast_to(arranged, (machine.lanes, *target.shape))]


def evaluate_broadcast(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    target = op.results[0].tensor
    new = target.rank - op.operands[0].tensor.rank
    arranged = operands[0].reshape(machine.lanes, *(1,) * new, *op.operands[0].tensor.shape)
    return [np.broadcast_to(arranged, (machine.lanes, *target.shape))]


def evaluate_bitcast(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """Layouts list dimensions from minor to major; the elements stay in their physical order."""
    source, target = op.operands[0].tensor, op.results[0].tensor
    if source.dtype is not target.dtype:
        raise UnsupportedOp(op.name, f"of '{source}' as '{target}'")
    physical, order = ([int(d) for d in reversed(op.attributes[name])] for name in ("source_layout", "result_layout"))
    laid_out = operands[0].transpose(0, *(d + 1 for d in physical))
    placed = laid_out.reshape(machine.lanes, *(target.shape[d] for d in order))
    return [placed.transpose(0, *(int(d) + 1 for d in np.argsort(order)))]


def evaluate_transpose(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [operands[0].transpose(0, *(int(d) + 1 for d in op.attributes["permutation"]))]


def evaluate_slice(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    bounds = (op.attributes[name] for name in ("start_indices", "limit_indices", "strides"))
    window = tuple(slice(int(start), int(limit), int(step)) for start, limit, step in zip(*bounds, strict=True))
    return [operands[0][(slice(None), *window)]]


def evaluate_reverse(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [np.flip(operands[0], axis=tuple(int(d) + 1 for d in op.attributes["dimensions"]))]


def evaluate_concatenate(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [np.concatenate(operands, axis=int(op.attributes["dimension"]) + 1)]


def evaluate_pad(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    operand, value = operands
    result = op.results[0].tensor
    padded = np.empty((machine.lanes, *result.shape), operand.dtype)
    padded[...] = value.reshape(-1, *(1,) * result.rank)
    source, target = [slice(None)], [slice(None)]
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    for extent, out, edge, _, interior in zip(
        op.operands[0].tensor.shape, result.shape, *(op.attributes[name] for name in names), strict=True
    ):
        step, low = int(interior) + 1, int(edge)
        # Element i lands at low + i * step; negative edges cut elements off.
        first = max(0, -(low // step))
        last = min(extent, (out - 1 - low) // step + 1)
        if last <= first:
            return [padded]
        source.append(slice(first, last))
        target.append(slice(low + first * step, low + (last - 1) * step + 1, step))
    padded[tuple(target)] = operand[tuple(source)]
    return [padded]


def evaluate_partition_id(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [(machine.devices % machine.num_partitions).astype(np.uint32)]


def evaluate_replica_id(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [(machine.devices // machine.num_partitions).astype(np.uint32)]


def evaluate_create_token(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [None]


_record = partial(family_record, Family.MOVEMENT)

RECORDS: tuple[OpRecord, ...] = (
    _record("stablehlo.constant", "a literal tensor", evaluate_constant, "value"),
    _record("stablehlo.iota", "each element's index along one dimension", evaluate_iota, "iota_dimension"),
    _record("stablehlo.reshape", "the same elements, in row-major order, in another shape", evaluate_reshape),
    _record(
        "stablehlo.broadcast_in_dim",
        "operand dimensions placed in a larger shape, repeated along the others",
        evaluate_broadcast_in_dim,
        "broadcast_dimensions",
    ),
    _record("stablehlo.broadcast", "new leading dimensions", evaluate_broadcast, "broadcast_sizes"),
    _record("stablehlo.transpose", "dimensions permuted", evaluate_transpose, "permutation"),
    _record("stablehlo.slice", "a strided window", evaluate_slice, "start_indices", "limit_indices", "strides"),
    _record("stablehlo.reverse", "the order along some dimensions reversed", evaluate_reverse, "dimensions"),
    _record("stablehlo.concatenate", "operands joined along one dimension", evaluate_concatenate, "dimension"),
    _record(
        "stablehlo.pad",
        "elements put at the edges and between, negative edges cut off",
        evaluate_pad,
        "edge_padding_low",
        "edge_padding_high",
        "interior_padding",
    ),
    _record("stablehlo.partition_id", "number of this device's partition", evaluate_partition_id),
    _record("stablehlo.replica_id", "number of this device's replica", evaluate_replica_id),
    OpRecord(
        name="mhlo.bitcast",
        family=Family.MOVEMENT,
        doc="the same memory in another shape and layout",
        evaluate=evaluate_bitcast,
        attributes=frozenset({"result_layout", "source_layout"}),
        ignored=ANNOTATIONS - {"result_layout"},
    ),
    _record(
        "mhlo.copy",
        "the operand in another layout",
        evaluate_identity,
        ignored=frozenset({"cross_program_prefetch_index"}),
    ),
    _record("stablehlo.optimization_barrier", "the operands, kept from being moved across", evaluate_identity),
    _record("stablehlo.after_all", "a token that follows its operands", evaluate_create_token),
    _record("stablehlo.create_token", "a new token", evaluate_create_token),
)
