"""Places computed from index tensors, for every lane at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..read.attributes import GatherDims, ScatterDims
from ..read.ir import Op


def as_int64(x: np.ndarray) -> np.ndarray:
    """Indices of any integer type; what int64 cannot hold is as far out as its greatest value."""
    if x.dtype == np.uint64:
        x = np.minimum(x, np.uint64(np.iinfo(np.int64).max))
    return x.astype(np.int64)


def clamp_start(start: np.ndarray, greatest: int) -> np.ndarray:
    return np.clip(as_int64(start), 0, greatest)


def dynamic_window(starts: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray | slice, ...]:
    """An index of [lanes, *shape] that selects in each lane the window at that lane's starts."""
    if not starts:
        return (slice(None),)
    rank = len(sizes)
    lanes = np.arange(len(starts[0])).reshape(-1, *(1,) * rank)
    places: list[np.ndarray | slice] = [lanes]
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        shape = [1] * rank
        shape[k] = size
        places.append(start.reshape(-1, *(1,) * rank) + np.arange(size).reshape(shape))
    return tuple(places)


def _vectors(indices: np.ndarray, index_vector_dim: int) -> np.ndarray:
    """Index vectors along the last axis: [lanes, *batch, components]."""
    indices = as_int64(indices)
    if index_vector_dim == indices.ndim - 1:
        return indices[..., None]
    return np.moveaxis(indices, index_vector_dim + 1, -1)


def _full_starts(
    vectors: np.ndarray,
    rank: int,
    index_map: Sequence[int],
    operand_batching: Sequence[int],
    indices_batching: Sequence[int],
    index_vector_dim: int,
) -> list[np.ndarray]:
    """The start along every operand dimension, each broadcastable to [lanes, *batch]."""
    batch = vectors.ndim - 2
    starts: list[np.ndarray] = [np.zeros((1,) * (batch + 1), np.int64)] * rank
    for component, dimension in enumerate(index_map):
        starts[dimension] = vectors[..., component]
    for dimension, place in zip(operand_batching, indices_batching, strict=True):
        axis = place - 1 if place > index_vector_dim else place
        shape = [1] * (batch + 1)
        shape[axis + 1] = vectors.shape[axis + 1]
        starts[dimension] = np.arange(vectors.shape[axis + 1]).reshape(shape)
    return starts


def gather_indices(op: Op, indices: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[int, ...], bool]:
    """The index that gathers into [lanes, *batch, *window], the transposition into the result's order, and whether
    no start had to be clamped."""
    dims = op.attributes["dimension_numbers"]
    assert isinstance(dims, GatherDims)
    operand, result = op.operands[0].tensor, op.results[0].tensor
    sizes = [int(n) for n in op.attributes["slice_sizes"]]
    vectors = _vectors(indices, dims.index_vector_dim)
    starts = _full_starts(
        vectors,
        operand.rank,
        dims.start_index_map,
        dims.operand_batching_dims,
        dims.start_indices_batching_dims,
        dims.index_vector_dim,
    )
    batch = vectors.ndim - 2
    dropped = set(dims.collapsed_slice_dims) | set(dims.operand_batching_dims)
    window = [d for d in range(operand.rank) if d not in dropped]
    lanes = np.arange(vectors.shape[0]).reshape(-1, *(1,) * (batch + len(window)))
    # One full-sized entry makes numpy broadcast the rest, whichever dimensions the index vectors leave out.
    places: list[np.ndarray] = [np.broadcast_to(lanes, (*vectors.shape[:-1], *(sizes[d] for d in window)))]
    inside = True
    for dimension in range(operand.rank):
        start = np.clip(starts[dimension], 0, operand.shape[dimension] - sizes[dimension])
        inside = inside and np.array_equal(start, starts[dimension])
        start = start.reshape(*start.shape, *(1,) * len(window))
        if dimension in dropped:
            places.append(start)
            continue
        shape = [1] * (batch + 1 + len(window))
        shape[batch + 1 + window.index(dimension)] = sizes[dimension]
        places.append(start + np.arange(sizes[dimension]).reshape(shape))
    offsets = sorted(dims.offset_dims)
    batches = [d for d in range(result.rank) if d not in offsets]
    source = {d: 1 + k for k, d in enumerate(batches)} | {d: 1 + batch + k for k, d in enumerate(offsets)}
    return tuple(places), (0, *(source[d] for d in range(result.rank))), inside


def scatter_targets(op: Op, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """For every update element its lane and its flat place in the operand, -1 where its window does not fit.

    Elements come in the order of the updates transposed by the third result: scatter dimensions, then the window's.
    """
    dims = op.attributes["scatter_dimension_numbers"]
    assert isinstance(dims, ScatterDims)
    count = len(op.operands) // 2
    operand, update = op.operands[0].tensor, op.operands[count + 1].tensor
    vectors = _vectors(indices, dims.index_vector_dim)
    starts = _full_starts(
        vectors,
        operand.rank,
        dims.scatter_dims_to_operand_dims,
        dims.input_batching_dims,
        dims.scatter_indices_batching_dims,
        dims.index_vector_dim,
    )
    batch = vectors.ndim - 2
    dropped = set(dims.inserted_window_dims) | set(dims.input_batching_dims)
    window = [d for d in range(operand.rank) if d not in dropped]
    window_axes = sorted(dims.update_window_dims)
    sizes = dict(zip(window, (update.shape[d] for d in window_axes), strict=True))
    shape = (*vectors.shape[:-1], *sizes.values())
    fits = np.ones((1,) * (batch + 1), np.bool_)
    flat = np.zeros((1,) * len(shape), np.int64)
    for dimension in range(operand.rank):
        start, size, extent = starts[dimension], sizes.get(dimension, 1), operand.shape[dimension]
        fits = fits & (start >= 0) & (start <= extent - size)
        place = np.clip(start, 0, max(extent - size, 0)).reshape(*start.shape, *(1,) * len(window))
        if dimension in sizes:
            along = [1] * len(shape)
            along[batch + 1 + window.index(dimension)] = size
            place = place + np.arange(size).reshape(along)
        flat = flat * extent + place
    targets = np.where(fits.reshape(*fits.shape, *(1,) * len(window)), flat, -1)
    lanes = np.arange(shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
    scatter_axes = [d for d in range(update.rank) if d not in window_axes]
    order = (0, *(d + 1 for d in scatter_axes), *(d + 1 for d in window_axes))
    return np.broadcast_to(lanes, shape).reshape(-1), np.broadcast_to(targets, shape).reshape(-1), order


def has_duplicates(lanes: np.ndarray, targets: np.ndarray) -> bool:
    """Whether two elements go to one place of one lane."""
    pairs = np.stack([lanes, targets])
    return np.unique(pairs, axis=1).shape[1] < pairs.shape[1]


def sorted_starts(op: Op, indices: np.ndarray) -> bool:
    """Whether the starts of a gather or scatter come in lexicographic order of the operand's dimensions, in every lane.

    Dimensions of the operand that its batching gives take part.
    """
    dims = op.attributes.get("dimension_numbers") or op.attributes["scatter_dimension_numbers"]
    vectors = _vectors(indices, dims.index_vector_dim)
    rank, count = op.operands[0].tensor.rank, int(np.prod(vectors.shape[1:-1]))
    if count < 2 or not rank:
        return True
    if isinstance(dims, GatherDims):
        parts = dims.start_index_map, dims.operand_batching_dims, dims.start_indices_batching_dims
    else:
        parts = dims.scatter_dims_to_operand_dims, dims.input_batching_dims, dims.scatter_indices_batching_dims
    starts = _full_starts(vectors, rank, *parts, dims.index_vector_dim)
    rows = np.stack([np.broadcast_to(start, vectors.shape[:-1]).reshape(-1, count) for start in starts], axis=-1)
    earlier, later = rows[:, :-1], rows[:, 1:]
    differs = earlier != later
    first = differs.argmax(axis=-1)[..., None]
    ascending = np.take_along_axis(earlier, first, -1) <= np.take_along_axis(later, first, -1)
    return bool(ascending.all())
