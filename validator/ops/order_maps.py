"""Which rows an op that maps rows to rows treats by themselves, and what else tells its function from others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..read.ir import Op, TensorType
from ..relation.build import Builder, names
from .annotations import ANNOTATIONS
from .keys import frozen_attributes

if TYPE_CHECKING:
    from ..relation.objects import Dom, Rel
    from .engine import Engine, RowOperand


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """An op as a function of rows: result[b, :] = F(row of each operand at b)."""

    key: Hashable
    """Names F."""
    operands: tuple[tuple[int, Rel, int], ...]
    """(operand, {[d, batch, row] -> [d, x]}, rank of a row)."""
    batch: tuple[int, ...]
    reads: tuple[Rel, ...]
    """For each result {[d, i] -> [d, batch, index in the row]}."""


def rows_defined(engine: Engine, operands: Sequence[RowOperand], batch: Sequence[int]) -> Dom:
    """The batch points at which every row is defined."""
    store, domain = engine.store, engine.builder.points(batch)
    for operand in operands:
        undefined = store.set_minus(store.range(operand.read), operand.value.domain)
        if not store.set_empty(undefined):
            bad = store.preimage(undefined, operand.read)
            domain = store.set_minus(domain, store.image(bad, engine.leading_map(bad.arity, domain.arity)))
    return domain


def row_extents(store: Any, read: Rel, arity: int) -> Hashable:
    """How long a result's row is along each dimension: F(row) of another length is another function."""
    image = store.range(read)
    return tuple(store.bounds(image, position) for position in range(arity, read.arity_out))


def _key(op: Op) -> tuple[object, ...]:
    wanted = [name for name in op.attributes if name not in ANNOTATIONS]
    return (op.name, frozen_attributes(op.attributes, wanted))


def _whole(builder: Builder, type_: TensorType) -> Rel:
    return builder.moved(type_.shape, names("i", type_.rank))


def sort_lines(builder: Builder, op: Op) -> tuple[tuple[int, ...], Rel, Rel]:
    """(batch, {[d, batch, place] -> [d, x]}, and back): each line along the dimension is a row."""
    shape = op.operands[0].tensor.shape
    axis = int(op.attributes["dimension"]) % len(shape)
    batch = tuple(n for k, n in enumerate(shape) if k != axis)
    outputs = names("i", len(shape) - 1)
    outputs.insert(axis, f"i{len(shape) - 1}")
    line = builder.moved([*batch, shape[axis]], outputs)
    return batch, line, builder.moved(shape, [*(f"i{k}" for k in range(len(shape)) if k != axis), f"i{axis}"])


def trailing_rows(builder: Builder, op: Op, row_rank: int) -> Rows:
    """The last `row_rank` dimensions of every operand are one row and the others are batch."""
    shape = op.operands[0].tensor.shape
    batch = shape[: len(shape) - row_rank]
    operands = tuple(
        (number, _whole(builder, value.tensor), value.tensor.rank - len(batch))
        for number, value in enumerate(op.operands)
    )
    key = (_key(op), tuple(value.tensor.shape[len(batch) :] for value in op.operands))
    return Rows(key, operands, batch, tuple(_whole(builder, result.tensor) for result in op.results))


def top_k_rows(builder: Builder, op: Op) -> Rows:
    """The greatest k of each row: `chlo.top_k` and `mhlo.topk` are one function, if both keep ties in order or not."""
    type_ = op.operands[0].tensor
    *batch, length = type_.shape
    largest, stable = (bool(op.attributes.get(name, True)) for name in ("largest", "is_stable"))
    key = ("top_k", int(op.attributes["k"]), largest, stable, length)
    reads = tuple(_whole(builder, result.tensor) for result in op.results)
    return Rows(key, ((0, _whole(builder, type_), 1),), tuple(batch), reads)


def one_row(builder: Builder, op: Op) -> Rows | str:
    """An opaque function: equal on wholly equal operands, nothing else."""
    if op.regions or any(not isinstance(value.type, TensorType) for value in (*op.operands, *op.results)):
        return f"op '{op.name}'"
    return trailing_rows(builder, op, op.operands[0].tensor.rank) if op.operands else f"op '{op.name}'"


ROWS: Mapping[str, Callable[[Builder, Op], Rows | str]] = {
    "chlo.top_k": top_k_rows,
    "mhlo.topk": top_k_rows,
    "stablehlo.cholesky": lambda builder, op: trailing_rows(builder, op, 2),
    "stablehlo.triangular_solve": lambda builder, op: trailing_rows(builder, op, 2),
    "stablehlo.fft": lambda builder, op: trailing_rows(builder, op, len(op.attributes["fft_length"])),
    "stablehlo.rng_bit_generator": one_row,
}
"""A text in place of rows says what is not modelled."""
