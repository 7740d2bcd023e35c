"""Where the updates of a scatter land, as relations over the update element and the values of the indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.attributes import ScatterDims
from ..read.ir import TensorType
from ..relation.build import Builder, affine, box_constraints, names, passing

if TYPE_CHECKING:
    from ..relation.objects import Rel


def index_reads(builder: Builder, dims: ScatterDims, starts: TensorType, updates: TensorType) -> list[Rel]:
    """For each component of the index vector, where an update element reads it."""
    scatter_dims = [k for k in range(updates.rank) if k not in dims.update_window_dims]
    start_dims = [k for k in range(starts.rank) if k != dims.index_vector_dim]
    reads = []
    for j in range(len(dims.scatter_dims_to_operand_dims)):
        read = [""] * starts.rank
        for position, k in enumerate(start_dims):
            read[k] = f"i{scatter_dims[position]}"
        if dims.index_vector_dim < starts.rank:
            read[dims.index_vector_dim] = str(j)
        reads.append(builder.moved(updates.shape, read))
    return reads


def window_extents(dims: ScatterDims, operand: TensorType, updates: TensorType) -> list[int]:
    """Extent of the window along each operand dimension; 1 where it is inserted or batching."""
    kept = [k for k in range(operand.rank) if k not in dims.inserted_window_dims + dims.input_batching_dims]
    extents = [1] * operand.rank
    for position, k in enumerate(kept):
        extents[k] = updates.shape[dims.update_window_dims[position]]
    return extents


def scatter_limits(dims: ScatterDims, operand: TensorType, updates: TensorType) -> list[int]:
    extents = window_extents(dims, operand, updates)
    return [operand.shape[k] - extents[k] for k in dims.scatter_dims_to_operand_dims]


def landing(builder: Builder, dims: ScatterDims, operand: TensorType, updates: TensorType) -> Rel:
    """{[d, u, n] -> [d, o]}: where an update element lands; windows that leave the operand land nowhere."""
    device = builder.device
    shape = updates.shape
    scatter_dims = [k for k in range(updates.rank) if k not in dims.update_window_dims]
    kept = [k for k in range(operand.rank) if k not in dims.inserted_window_dims + dims.input_batching_dims]
    outputs: list[list[tuple[int, str]]] = [[] for _ in range(operand.rank)]
    for position, k in enumerate(kept):
        outputs[k].append((1, f"i{dims.update_window_dims[position]}"))
    for own, theirs in zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True):
        start_dims = [k for k in range(len(scatter_dims) + 1) if k != dims.index_vector_dim]
        outputs[own].append((1, f"i{scatter_dims[start_dims.index(theirs)]}"))
    where = box_constraints(names("i", len(shape)), shape)
    for j, (k, limit) in enumerate(
        zip(dims.scatter_dims_to_operand_dims, scatter_limits(dims, operand, updates), strict=True)
    ):
        outputs[k].append((1, f"n{j}"))
        where.append(f"0 <= n{j} <= {limit}")
    index = names("n", len(dims.scatter_dims_to_operand_dims))
    source = [*device, *names("i", len(shape)), *index]
    target = [*device, *(affine(terms) for terms in outputs)]
    return builder.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}] : {' and '.join(where) or '1 = 1'}}}")


def spread(builder: Builder, lands: Rel, index: Rel, count: int) -> tuple[Rel, Rel]:
    """({o -> [u, g]}, {g -> g}): the updates u that land on o, where {u -> [n, g]} gives their indices n.

    `lands` is {[u, n] -> o}; the first `count` coordinates that `index` gives are n, the others are those of guards.
    Both sides are functions of the set of all (u, o, g), which keeps the updates apart that land on one element.
    """
    store = builder.store
    extra = index.arity_out - count
    keep = passing(store, extra)
    placed = store.compose(store.pair(store.identity_on(store.domain(index)), index), store.side_by_side(lands, keep))
    u, o, g = names("u", index.arity_in), names("o", placed.arity_out - extra), names("g", extra)
    every = store.range(store.pair(store.identity_on(store.domain(placed)), placed))
    whole = ",".join([*u, *o, *g])
    points = store.restrict(store.rel(f"{{[{whole}] -> [{','.join(o)}]}}"), every)
    updates = store.restrict(store.rel(f"{{[{whole}] -> [{','.join([*u, *g])}]}}"), every)
    return store.compose(store.reverse(points), updates), keep
