"""How data movement relates: each result index reads one operand index, so relations compose, and that is all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..evaluate.numbers import STORAGE
from ..read.ir import DType, Op, TensorType
from ..relate.atoms import AtomKind
from ..relate.lift import lift
from ..relate.moves import piecewise, read_through
from ..relate.value import Piece, Val
from .integers import exact_integers
from .movement_maps import IDENTITIES, MOVES

if TYPE_CHECKING:
    from ..relate.walk import Walk

MAX_TABLE = 1 << 16
"""Constants of more elements than this are not searched for integer patterns."""


def relate_identity(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Every result is the operand of the same position."""
    return list(values)


def relate_moved(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """The result reads its operands through the op's relations."""
    type_, reads = op.results[0].tensor, MOVES[op.name](walk.builder, op)
    if len(reads) == 1:
        number, rel = reads[0]
        return [read_through(walk, values[number], rel, type_)]
    return [piecewise(walk, [(rel, values[number]) for number, rel in reads], type_)]


def relate_iota(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    type_ = op.results[0].tensor
    axis = op.attributes["iota_dimension"]
    rel = walk.builder.relation(type_.shape, [f"i{axis}"])
    points = walk.points(type_)
    if type_.dtype.is_integer and type_.shape[axis] - 1 <= type_.dtype.integer_range[1]:
        return [Val(type_, (Piece(walk.context.atoms.integer(type_.dtype), rel),), points)]
    if type_.dtype.is_float and type_.shape[axis] - 1 <= exact_integers(type_.dtype):
        return [Val(type_, (Piece(walk.context.atoms.integer(type_.dtype), rel),), points)]
    wide = TensorType(type_.shape, DType.I64)
    counted = Val(wide, (Piece(walk.context.atoms.integer(DType.I64), rel),), points)
    return [lift(walk, ("iota element", ()), [counted], type_)]


def relate_constant(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    type_ = op.results[0].tensor
    dtype, array = type_.dtype, np.asarray(op.attributes["value"])
    points = walk.points(type_)
    if type_.size and all(
        stride == 0 or extent == 1 for stride, extent in zip(array.strides, array.shape, strict=True)
    ):
        value = Val(type_, (walk.constant_piece(array.reshape(-1)[0], dtype, points),), points)
        if (dtype.is_integer or dtype.is_bool) and type_.size <= MAX_TABLE:
            return [Val(type_, value.pieces, points, known=array[None].astype(STORAGE[dtype]))]
        return [value]
    if type_.size <= MAX_TABLE:
        whole = _as_integers(array, dtype)
        known = walk.known_value(whole[None], type_) if whole is not None else None
        if known is not None:
            return [known if not dtype.is_float else Val(type_, known.pieces, points)]
    atom = walk.context.atoms.make(
        AtomKind.CONSTANT,
        dtype,
        type_.rank,
        (type_.shape, np.ascontiguousarray(array).tobytes()),
        label=f"constant {type_}",
    )
    rel = walk.builder.local_identity(type_.shape)
    is_table = dtype.is_integer or dtype.is_bool
    return [Val(type_, (Piece(atom, rel),), points, known=array[None].astype(STORAGE[dtype]) if is_table else None)]


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
}
