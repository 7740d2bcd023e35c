"""Which elements an access at run-time indices reads, as relations over the point and the values of the indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..read.attributes import GatherDims
from ..read.ir import Op
from ..relation.build import Builder, box_constraints, names

if TYPE_CHECKING:
    from ..relation.objects import Rel


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """How each point of a result reads: the indices first, then an operand at a place that depends on them."""

    indices: tuple[tuple[int, Rel], ...]
    """(operand, {[d, i] -> [d, x]}): where each index n_k is read."""
    limits: tuple[int, ...]
    """The greatest value of each index that is not clamped; the least is 0."""
    ways: tuple[tuple[Rel, int], ...]
    """({[d, i, n] -> [d, x]}, operand): what is read, by whichever of the relations holds (point, indices)."""


def _clamped(limits: Sequence[int]) -> str:
    """Constraints that c_k is n_k clamped to [0, limit_k], as alternatives per index."""
    parts = []
    for k, high in enumerate(limits):
        if high <= 0:
            parts.append(f"c{k} = 0")
            continue
        parts.append(
            f"((n{k} < 0 and c{k} = 0) or (0 <= n{k} <= {high} and c{k} = n{k}) or (n{k} > {high} and c{k} = {high}))"
        )
    return " and ".join(parts) or "1 = 1"


def _index_map(
    builder: Builder, shape: Sequence[int], limits: Sequence[int], outputs: Sequence[str], where: Sequence[str] = ()
) -> Rel:
    """{[d, i, n] -> [d, outputs]} with c… the clamped n… in the expressions."""
    device = builder.device
    local, index, clamped = names("i", len(shape)), names("n", len(limits)), names("c", len(limits))
    body = " and ".join([*box_constraints(local, shape), _clamped(limits), *where])
    if clamped:
        fresh = names("y", len(outputs))
        ties = [f"{a} = {b}" for a, b in zip(fresh, outputs, strict=True)]
        body = f"exists {','.join(clamped)} : {' and '.join([body, *ties])}"
        outputs = fresh
    return builder.store.rel(
        f"{{[{','.join([*device, *local, *index])}] -> [{','.join([*device, *outputs])}] : {body}}}"
    )


def _scalars(builder: Builder, op: Op, first: int) -> tuple[tuple[int, Rel], ...]:
    """Scalar operands from `first` on, read at every point of the result."""
    rel = builder.moved(op.results[0].tensor.shape, [])
    return tuple((number, rel) for number in range(first, len(op.operands)))


def dynamic_slice_access(builder: Builder, op: Op) -> Access:
    type_ = op.results[0].tensor
    limits = [n - size for n, size in zip(op.operands[0].tensor.shape, type_.shape, strict=True)]
    outputs = [f"c{k} + i{k}" for k in range(type_.rank)]
    where = _index_map(builder, type_.shape, limits, outputs)
    return Access(_scalars(builder, op, 1), tuple(limits), ((where, 0),))


def dynamic_update_slice_access(builder: Builder, op: Op) -> Access:
    type_, sizes, store = op.results[0].tensor, op.operands[1].tensor.shape, builder.store
    limits = [n - size for n, size in zip(type_.shape, sizes, strict=True)]
    window = [f"0 <= i{k} - c{k} < {size}" for k, size in enumerate(sizes)]
    inside = _index_map(builder, type_.shape, limits, [f"i{k} - c{k}" for k in range(type_.rank)], window)
    everywhere = _index_map(builder, type_.shape, limits, names("i", type_.rank))
    outside = store.restrict(everywhere, store.set_minus(store.domain(everywhere), store.domain(inside)))
    return Access(_scalars(builder, op, 2), tuple(limits), ((inside, 1), (outside, 0)))


def gather_access(builder: Builder, op: Op) -> Access:
    dims = op.attributes["dimension_numbers"]
    assert isinstance(dims, GatherDims)
    operand, starts = (value.tensor for value in op.operands)
    type_ = op.results[0].tensor
    sizes = op.attributes["slice_sizes"]
    batch_out = [k for k in range(type_.rank) if k not in dims.offset_dims]
    kept = [k for k in range(operand.rank) if k not in dims.collapsed_slice_dims + dims.operand_batching_dims]
    outputs = ["0"] * operand.rank
    for position, k in enumerate(kept):
        outputs[k] = f"i{dims.offset_dims[position]}"
    start_dims = [k for k in range(starts.rank) if k != dims.index_vector_dim]
    for own, theirs in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
        outputs[own] = f"i{batch_out[start_dims.index(theirs)]}"
    for j, k in enumerate(dims.start_index_map):
        outputs[k] = f"c{j} + {outputs[k]}"
    limits = [operand.shape[k] - sizes[k] for k in dims.start_index_map]
    indices = []
    for j in range(len(dims.start_index_map)):
        read = [""] * starts.rank
        for position, k in enumerate(start_dims):
            read[k] = f"i{batch_out[position]}"
        if dims.index_vector_dim < starts.rank:
            read[dims.index_vector_dim] = str(j)
        indices.append((1, builder.moved(type_.shape, read)))
    where = _index_map(builder, type_.shape, limits, outputs)
    return Access(tuple(indices), tuple(limits), ((where, 0),))


ACCESSES: Mapping[str, Callable[[Builder, Op], Access]] = {
    "stablehlo.dynamic_slice": dynamic_slice_access,
    "stablehlo.dynamic_update_slice": dynamic_update_slice_access,
    "stablehlo.gather": gather_access,
}
