"""Which elements an op that only moves data reads: for each operand, a relation from the result's points to its own.

The prover and the certificate checker both take an op's meaning from here. The relations of one op have disjoint
domains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..read.ir import Op
from ..relation.build import Builder, affine, names

if TYPE_CHECKING:
    from ..relation.objects import Rel

Reads = list[tuple[int, "Rel"]]
"""Pairs of an operand's number and the relation {[d, i] -> [d, x]} through which the result reads it."""


def _reshape(builder: Builder, op: Op) -> Reads:
    return [(0, builder.reshape(op.results[0].tensor.shape, op.operands[0].tensor.shape))]


def _transpose(builder: Builder, op: Op) -> Reads:
    permutation = op.attributes["permutation"]
    outputs = [f"i{permutation.index(k)}" for k in range(len(permutation))]
    return [(0, builder.moved(op.results[0].tensor.shape, outputs))]


def _broadcast(builder: Builder, op: Op) -> Reads:
    shape, source = op.results[0].tensor.shape, op.operands[0].tensor.shape
    outputs = [
        f"i{dim}" if extent != 1 or shape[dim] == 1 else "0"
        for dim, extent in zip(op.attributes["broadcast_dimensions"], source, strict=True)
    ]
    return [(0, builder.moved(shape, outputs))]


def _slice(builder: Builder, op: Op) -> Reads:
    starts, strides = op.attributes["start_indices"], op.attributes["strides"]
    outputs = [affine([(step, f"i{k}")], start) for k, (start, step) in enumerate(zip(starts, strides, strict=True))]
    return [(0, builder.moved(op.results[0].tensor.shape, outputs))]


def _reverse(builder: Builder, op: Op) -> Reads:
    shape, flipped = op.results[0].tensor.shape, set(op.attributes["dimensions"])
    outputs = [affine([(-1, f"i{k}")], n - 1) if k in flipped else f"i{k}" for k, n in enumerate(shape)]
    return [(0, builder.moved(shape, outputs))]


def _concatenate(builder: Builder, op: Op) -> Reads:
    type_, axis = op.results[0].tensor, op.attributes["dimension"]
    reads: Reads = []
    offset = 0
    for number, operand in enumerate(op.operands):
        extent = operand.tensor.shape[axis]
        if extent:
            outputs = names("i", type_.rank)
            outputs[axis] = affine([(1, f"i{axis}")], -offset)
            where = [f"{offset} <= i{axis} < {offset + extent}"]
            reads.append((number, builder.moved(type_.shape, outputs, where)))
        offset += extent
    return reads


def _pad(builder: Builder, op: Op) -> Reads:
    type_, store = op.results[0].tensor, builder.store
    inner = names("x", type_.rank)
    where = []
    for k, extent in enumerate(op.operands[0].tensor.shape):
        low, gap = op.attributes["edge_padding_low"][k], op.attributes["interior_padding"][k]
        where.append(f"i{k} = {affine([(gap + 1, f'x{k}')], low)}")
        where.append(f"0 <= x{k} < {extent}")
    inside = builder.linked(type_.shape, inner, where)
    outside = store.set_minus(builder.points(type_.shape), store.domain(inside))
    reads: Reads = [] if store.empty(inside) else [(0, inside)]
    if not store.set_empty(outside):
        reads.append((1, store.restrict(builder.moved(type_.shape, []), outside)))
    return reads


MOVES: Mapping[str, Callable[[Builder, Op], Reads]] = {
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.slice": _slice,
    "stablehlo.reverse": _reverse,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.pad": _pad,
}

IDENTITIES = frozenset({"mhlo.copy", "sdy.reshard", "sdy.sharding_constraint", "stablehlo.optimization_barrier"})
"""Ops whose results are their operands."""
