"""Random reductions and contractions."""

from __future__ import annotations

import math

import numpy as np

from shardproof.validator.read.attributes import (
    ConvDims,
    DotDims,
)
from shardproof.validator.read.ir import DType

from .chain import LARGEST, Chain, factorised


def _reducer_name(chain: Chain) -> tuple[str, float]:
    return (("add", 0.0), ("maximum", -math.inf), ("minimum", math.inf))[chain.draw(0, 2)]


def reduce(chain: Chain) -> None:
    value = chain.pick(DType.F32, rank=1)
    if value is not None and value.tensor.size:
        dims = tuple(k for k in range(value.tensor.rank) if chain.draw(0, 1)) or (0,)
        name, start = _reducer_name(chain)
        init = chain.constant(start, DType.F32)
        shape = [n for k, n in enumerate(value.tensor.shape) if k not in dims]
        chain.emit("reduce", [value, init], shape, DType.F32, (chain.reducer(name, DType.F32),), dimensions=dims)


def reduce_window(chain: Chain) -> None:
    value = chain.pick(DType.F32, rank=1)
    if value is None or not value.tensor.size:
        return
    sizes, strides, padding, shape = [], [], [], []
    for n in value.tensor.shape:
        size, stride = chain.draw(1, min(n, 3)), chain.draw(1, 2)
        low, high = chain.draw(0, 1), chain.draw(0, 1)
        sizes.append(size)
        strides.append(stride)
        padding.append((low, high))
        shape.append((n + low + high - size) // stride + 1)
    if math.prod(shape) <= LARGEST:
        name, start = _reducer_name(chain)
        init, region = chain.constant(start, DType.F32), (chain.reducer(name, DType.F32),)
        window = {"window_dimensions": tuple(sizes), "window_strides": tuple(strides), "padding": np.array(padding)}
        chain.emit("reduce_window", [value, init], shape, DType.F32, region, **window)


def dot_general(chain: Chain) -> None:
    """Batch and contracting dimensions where extents agree; transposes of each operand come from other steps."""
    left, right = chain.pick(DType.F32, rank=1), chain.pick(DType.F32, rank=1)
    if left is None or right is None:
        return
    pairs, used = [], set()
    for a in chain.rng.permutation(left.tensor.rank):
        for b in chain.rng.permutation(right.tensor.rank):
            if left.tensor.shape[a] == right.tensor.shape[b] and b not in used and len(pairs) < 2:
                pairs.append((int(a), int(b)))
                used.add(b)
                break
    cut = chain.draw(0, len(pairs))
    batch, summed = pairs[:cut], pairs[cut:]
    dims = DotDims(
        tuple(a for a, _ in batch), tuple(b for _, b in batch), tuple(a for a, _ in summed), tuple(b for _, b in summed)
    )
    shape = [left.tensor.shape[a] for a, _ in batch]
    shape += [n for k, n in enumerate(left.tensor.shape) if k not in dims.lhs_batch + dims.lhs_contracting]
    shape += [n for k, n in enumerate(right.tensor.shape) if k not in dims.rhs_batch + dims.rhs_contracting]
    if math.prod(shape) <= LARGEST:
        chain.emit("dot_general", [left, right], shape, DType.F32, dot_dimension_numbers=dims)


def convolution(chain: Chain) -> None:
    """Windows over one or two dimensions of an operand reshaped to have them, a kernel of broadcast numbers."""
    value = chain.pick(DType.F32)
    if value is None or not 2 <= value.tensor.size <= 36:
        return
    spatial = chain.draw(1, 2)
    extents = [int(n) for n in factorised(chain.rng, value.tensor.size)][: 2 + spatial]
    extents += [1] * (2 + spatial - len(extents))
    extents[-1] = value.tensor.size // math.prod(extents[:-1])
    operand = chain.emit("reshape", [value], extents, DType.F32)
    order = [int(k) for k in chain.rng.permutation(2 + spatial)]
    groups_ = int(chain.rng.choice([g for g in (1, 2, 3) if extents[order[1]] % g == 0]))
    by_batch = groups_ > 1 and bool(chain.draw(0, 1)) and extents[order[0]] % groups_ == 0
    feature_groups, batch_groups = (1, groups_) if by_batch else (groups_, 1)
    features = extents[order[1]] // feature_groups
    outputs = groups_ * chain.draw(1, 2)
    window = [chain.draw(1, 3) for _ in range(spatial)]
    kernel_order = [int(k) for k in chain.rng.permutation(2 + spatial)]
    kernel_shape = [0] * (2 + spatial)
    for k, n in zip(kernel_order, (features, outputs, *window), strict=True):
        kernel_shape[k] = n
    strides, dilate, spread = ([chain.draw(1, 2) for _ in range(spatial)] for _ in range(3))
    padding = [(chain.draw(-1, 2), chain.draw(0, 2)) for _ in range(spatial)]
    sizes = []
    for k in range(spatial):
        inner = (extents[order[2 + k]] - 1) * spread[k] + 1 + sum(padding[k])
        sizes.append((inner - (window[k] - 1) * dilate[k] - 1) // strides[k] + 1)
    if min(sizes) < 1:
        return
    out_order = [int(k) for k in chain.rng.permutation(2 + spatial)]
    shape = [0] * (2 + spatial)
    for k, n in zip(out_order, (extents[order[0]] // batch_groups, outputs, *sizes), strict=True):
        shape[k] = n
    if math.prod(shape) > LARGEST or math.prod(kernel_shape) > LARGEST:
        return
    source = chain.pick(DType.F32, shape=()) or chain.constant(2.0, DType.F32)
    step = chain.emit("iota", (), kernel_shape, DType.F32, iota_dimension=kernel_order[-1])
    kernel = chain.emit("broadcast_in_dim", [source], kernel_shape, DType.F32, broadcast_dimensions=())
    kernel = chain.emit("add", [kernel, step], kernel_shape, DType.F32)
    chain.emit(
        "convolution",
        [operand, kernel],
        shape,
        DType.F32,
        dimension_numbers=ConvDims(
            order[0],
            order[1],
            tuple(order[2:]),
            kernel_order[0],
            kernel_order[1],
            tuple(kernel_order[2:]),
            out_order[0],
            out_order[1],
            tuple(out_order[2:]),
        ),
        feature_group_count=feature_groups,
        batch_group_count=batch_groups,
        window_strides=tuple(strides),
        padding=np.array(padding),
        lhs_dilation=tuple(spread),
        rhs_dilation=tuple(dilate),
        window_reversal=tuple(bool(chain.draw(0, 1)) for _ in range(spatial)),
    )
