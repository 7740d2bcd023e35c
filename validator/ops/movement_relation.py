"""How data movement relates: each result index reads one operand index, so relations compose, and that is all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..read.ir import DType, Op, TensorType
from .engine import Engine, Function
from .integers import exact_integers
from .movement_maps import IDENTITIES, MOVES
from .values import Piece

MAX_TABLE = 1 << 16
"""Constants of more elements than this are not searched for integer patterns."""


def relate_identity(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Every result is the operand of the same position."""
    return list(values)


def relate_moved(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """The result reads its operands through the op's relations."""
    type_, reads = op.results[0].tensor, MOVES[op.name](engine.builder, op)
    if len(reads) == 1:
        number, rel = reads[0]
        return [engine.read_through(values[number], rel, type_)]
    return [engine.piecewise([(rel, values[number]) for number, rel in reads], type_)]


def relate_iota(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    type_ = op.results[0].tensor
    axis = op.attributes["iota_dimension"]
    rel = engine.builder.relation(type_.shape, [f"i{axis}"])
    points, last = engine.points(type_), type_.shape[axis] - 1
    if (type_.dtype.is_integer and last <= type_.dtype.integer_range[1]) or (
        type_.dtype.is_float and last <= exact_integers(type_.dtype)
    ):
        return [engine.value(type_, (Piece(engine.integer(type_.dtype), rel),), points)]
    wide = TensorType(type_.shape, DType.I64)
    counted = engine.value(wide, (Piece(engine.integer(DType.I64), rel),), points)
    return [engine.lift(Function(("iota element", ())), [counted], type_)]


def relate_constant(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """One number everywhere, integers by a table, or a term of its own."""
    type_, array = op.results[0].tensor, np.asarray(op.attributes["value"])
    if _is_one_number(array):
        return [engine.uniform(type_, array)]
    if type_.size <= MAX_TABLE:
        whole = _as_integers(array, type_.dtype)
        known = engine.table(whole[None], type_) if whole is not None else None
        if known is not None:
            return [known]
    return [engine.array(type_, array)]


def _is_one_number(array: np.ndarray) -> bool:
    """Whether all elements have the same bits; readers hold most such arrays as one element without strides."""
    if array.size and all(stride == 0 or n == 1 for stride, n in zip(array.strides, array.shape, strict=True)):
        return True
    bits = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    return bool(array.size) and bool((bits == bits[:1]).all())


def relate_device_number(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """A number of each device; a logical tensor has none."""
    type_ = op.results[0].tensor
    if engine.is_original and not engine.builder.mesh.sizes:
        return engine.refuse(op, f"'{op.name}' outside of a manual region")
    numbers, partitions = np.arange(engine.builder.mesh.num_devices), engine.num_partitions
    found = engine.table(numbers % partitions if op.name == "stablehlo.partition_id" else numbers // partitions, type_)
    return engine.refuse(op, f"'{op.name}' of these devices") if found is None else [found]


def _as_integers(array: np.ndarray, dtype: DType) -> np.ndarray | None:
    """The array as int64 if every element is exactly that integer and no negative zero."""
    if dtype.is_complex:
        return None
    if dtype.is_float:
        wide = array.astype(np.float64)
        if not np.isfinite(wide).all() or (wide != np.floor(wide)).any() or np.signbit(wide[wide == 0]).any():
            return None
        return wide.astype(np.int64) if np.abs(wide).max(initial=0) <= exact_integers(dtype) else None
    if dtype is DType.UI64 and (array > np.uint64(1 << 62)).any():
        return None
    return array.astype(np.int64)


RELATIONS = {
    **dict.fromkeys(MOVES, relate_moved),
    **dict.fromkeys(IDENTITIES, relate_identity),
    "stablehlo.iota": relate_iota,
    "stablehlo.constant": relate_constant,
    "stablehlo.partition_id": relate_device_number,
    "stablehlo.replica_id": relate_device_number,
}
