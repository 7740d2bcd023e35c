"""Random accesses at run-time indices."""

from __future__ import annotations

import math

from shardproof.validator.read.attributes import (
    GatherDims,
    ScatterDims,
)
from shardproof.validator.read.ir import DType, Value

from .chain import LARGEST, Chain


def _start(chain: Chain, extent: int) -> Value:
    """A scalar index: of the device, of the data, or a constant, in range or not."""
    kind = chain.draw(0, 2)
    if kind == 0 and chain.devices > 1:
        own = chain.emit("convert", [chain.emit("partition_id", (), (), DType.UI32)], (), DType.I32)
        factor = chain.constant(chain.draw(-1, 2), DType.I32)
        return chain.emit("multiply", [own, factor], (), DType.I32)
    known = chain.pick(DType.I32, shape=())
    if kind == 1 and known is not None:
        return known
    return chain.constant(chain.draw(-2, extent + 2), DType.I32)


def dynamic_slice(chain: Chain) -> None:
    value = chain.pick(DType.F32, rank=1)
    if value is not None and value.tensor.size:
        starts = [_start(chain, n) for n in value.tensor.shape]
        sizes = tuple(chain.draw(1, n) for n in value.tensor.shape)
        chain.emit("dynamic_slice", [value, *starts], sizes, DType.F32, slice_sizes=sizes)


def dynamic_update_slice(chain: Chain) -> None:
    value = chain.pick(DType.F32, rank=1)
    if value is None or not value.tensor.size:
        return
    other = chain.pick(DType.F32, shape=value.tensor.shape) or value
    sizes = [chain.draw(1, n) for n in value.tensor.shape]
    zeros = (0,) * len(sizes)
    part = chain.emit(
        "slice", [other], sizes, DType.F32, start_indices=zeros, limit_indices=tuple(sizes), strides=(1,) * len(sizes)
    )
    starts = [_start(chain, n) for n in value.tensor.shape]
    chain.emit("dynamic_update_slice", [value, part, *starts], value.tensor.shape, DType.F32)


def _index_vectors(chain: Chain, components: int) -> tuple[Value, int] | None:
    """Index vectors [batch…, components], the components in any place, and that place."""
    source = chain.pick(DType.I32, rank=1)
    if source is None or not source.tensor.size or source.tensor.size > 6:
        return None
    shape = list(source.tensor.shape)
    place = chain.draw(0, len(shape))
    dims = [k for k in range(len(shape) + 1) if k != place]
    shape.insert(place, components)
    spread = chain.emit("broadcast_in_dim", [source], shape, DType.I32, broadcast_dimensions=tuple(dims))
    step = chain.emit("iota", (), shape, DType.I32, iota_dimension=place)
    return chain.emit("add", [spread, step], shape, DType.I32), place


def gather(chain: Chain) -> None:
    value = chain.pick(DType.F32, rank=1)
    if value is None or not value.tensor.size or value.tensor.rank > 3:
        return
    rank = value.tensor.rank
    order = tuple(int(k) for k in chain.rng.permutation(rank)[: chain.draw(1, min(rank, 2))])
    made = _index_vectors(chain, len(order))
    if made is None:
        return
    indices, place = made
    sizes = [chain.draw(1, n) for n in value.tensor.shape]
    collapsed = tuple(k for k in range(rank) if k in order and chain.draw(0, 1))
    for k in collapsed:
        sizes[k] = 1
    batch = [n for k, n in enumerate(indices.tensor.shape) if k != place]
    kept = [sizes[k] for k in range(rank) if k not in collapsed]
    offsets = sorted(int(k) for k in chain.rng.permutation(len(batch) + len(kept))[: len(kept)])
    shape, left, inner = [], iter(batch), iter(kept)
    for k in range(len(batch) + len(kept)):
        shape.append(next(inner) if k in offsets else next(left))
    if math.prod(shape) <= LARGEST:
        dims = GatherDims(tuple(offsets), collapsed, (), (), order, place)
        chain.emit(
            "gather", [value, indices], shape, DType.F32, dimension_numbers=dims, slice_sizes=tuple(sizes),
            indices_are_sorted=False,
        )  # fmt: skip


def scatter(chain: Chain) -> None:
    """Whole slices added, or compared, at index vectors of one component."""
    value = chain.pick(DType.F32, rank=1)
    made = _index_vectors(chain, 1)
    if value is None or made is None or not value.tensor.size:
        return
    indices, place = made
    axis = chain.draw(0, value.tensor.rank - 1)
    batch = [n for k, n in enumerate(indices.tensor.shape) if k != place]
    rest = [n for k, n in enumerate(value.tensor.shape) if k != axis]
    if math.prod((*batch, *rest)) > LARGEST:
        return
    spread = chain.emit("iota", (), (*batch, *rest), DType.F32, iota_dimension=chain.draw(0, len(batch) - 1))
    source = chain.pick(DType.F32, shape=()) or chain.constant(1.0, DType.F32)
    wide = chain.emit("broadcast_in_dim", [source], (*batch, *rest), DType.F32, broadcast_dimensions=())
    updates = chain.emit("add", [spread, wide], (*batch, *rest), DType.F32)
    dims = ScatterDims(tuple(range(len(batch), len(batch) + len(rest))), (axis,), (), (), (axis,), place)
    chain.emit(
        "scatter", [value, indices, updates], value.tensor.shape, DType.F32,
        (chain.reducer(("add", "maximum")[chain.draw(0, 1)], DType.F32),),
        scatter_dimension_numbers=dims, indices_are_sorted=False, unique_indices=False,
    )  # fmt: skip
