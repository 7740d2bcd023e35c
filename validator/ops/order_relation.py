"""How operations on whole rows relate: sorts, selections of the greatest, dense factorisations, opaque calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op, TensorType
from ..relate.rows import RowOperand, relate_rows
from ..relate.value import AnyVal, Val
from ..relation.build import names
from ..relation.store import Rel
from .annotations import ANNOTATIONS
from .keys import frozen_attributes, region_key

if TYPE_CHECKING:
    from ..relate.walk import Walk


def _key(op: Op) -> tuple[object, ...]:
    wanted = [name for name in op.attributes if name not in ANNOTATIONS]
    return (op.name, frozen_attributes(op.attributes, wanted))


def relate_sort(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """Each line along the dimension is a row; an unstable sort is the same function of equal rows."""
    key = region_key(op.regions[0], ANNOTATIONS)
    if key is None:
        return [walk.not_modelled(r.type, f"comparator of '{op.name}' that reads outer values") for r in op.results]
    shape = values[0].type.shape
    axis = int(op.attributes["dimension"]) % len(shape)
    stable = bool(op.attributes.get("is_stable", False))
    batch = [n for k, n in enumerate(shape) if k != axis]
    operands = [RowOperand(value, _last_to(walk, [*batch, shape[axis]], axis), 1) for value in values]
    reads = [_to_last(walk, shape, axis) for _ in op.results]
    return relate_rows(walk, (op.name, key, stable), operands, batch, [r.tensor for r in op.results], reads)


def _last_to(walk: Walk, shape: list[int], axis: int) -> Rel:
    """{[d, batch, row] -> [d, index]} with the row index put at `axis`."""
    outputs = names("i", len(shape) - 1)
    outputs.insert(axis, f"i{len(shape) - 1}")
    return walk.builder.moved(shape, outputs)


def _to_last(walk: Walk, shape: tuple[int, ...], axis: int) -> Rel:
    outputs = [f"i{k}" for k in range(len(shape)) if k != axis]
    return walk.builder.moved(shape, [*outputs, f"i{axis}"])


def relate_trailing_rows(row_rank: int):
    """Ops that treat the last `row_rank` dimensions of every operand as one row and the others as batch."""

    def relate(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
        shape = values[0].type.shape
        batch = shape[: len(shape) - row_rank]
        operands = []
        for value in values:
            count = value.type.rank
            operands.append(
                RowOperand(value, walk.builder.moved(value.type.shape, names("i", count)), count - len(batch))
            )
        reads = [walk.builder.moved(r.tensor.shape, names("i", r.tensor.rank)) for r in op.results]
        key = (_key(op), tuple(value.type.shape[len(batch) :] for value in values))
        return relate_rows(walk, key, operands, batch, [r.tensor for r in op.results], reads)

    return relate


def relate_top_k(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """The greatest k of each row: `chlo.top_k` and `mhlo.topk` are one function."""
    operand = values[0]
    *batch, length = operand.type.shape
    row = RowOperand(operand, walk.builder.moved(operand.type.shape, names("i", operand.type.rank)), 1)
    reads = [walk.builder.moved(r.tensor.shape, names("i", r.tensor.rank)) for r in op.results]
    key = ("top_k", int(op.attributes["k"]), bool(op.attributes.get("largest", True)), length)
    return relate_rows(walk, key, [row], batch, [r.tensor for r in op.results], reads)


def relate_fft(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    return relate_trailing_rows(len(op.attributes["fft_length"]))(walk, op, values)


def relate_whole(walk: Walk, op: Op, values: list[AnyVal]) -> list[AnyVal]:
    """An opaque function: equal on wholly equal operands, nothing else."""
    if op.regions or any(not isinstance(r.type, TensorType) for r in op.results):
        return [walk.not_modelled(r.type, f"op '{op.name}'") for r in op.results]
    operands = []
    for value in values:
        if not isinstance(value, Val):
            return [walk.not_modelled(r.type, f"op '{op.name}'") for r in op.results]
        shape = value.type.shape
        operands.append(RowOperand(value, walk.builder.moved(shape, names("i", len(shape))), len(shape)))
    reads = [walk.builder.moved(r.tensor.shape, names("i", r.tensor.rank)) for r in op.results]
    key = (_key(op), tuple(v.type.shape for v in values if isinstance(v, Val)))
    return relate_rows(walk, key, operands, [], [r.tensor for r in op.results], reads)


RELATIONS = {
    "stablehlo.sort": relate_sort,
    "chlo.top_k": relate_top_k,
    "mhlo.topk": relate_top_k,
    "stablehlo.cholesky": relate_trailing_rows(2),
    "stablehlo.triangular_solve": relate_trailing_rows(2),
    "stablehlo.fft": relate_fft,
    "stablehlo.rng_bit_generator": relate_whole,
}
