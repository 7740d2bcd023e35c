"""Random movement and elementwise ops."""

from __future__ import annotations

import math

import numpy as np

from shardproof.validator.evaluate.numbers import STORAGE
from shardproof.validator.read.attributes import (
    Comparison,
)
from shardproof.validator.read.ir import DType

from .chain import ANY, LARGEST, NUMBERS, Chain, factorised


def reshape(chain: Chain) -> None:
    value = chain.pick(*ANY)
    if value is not None and value.tensor.size:
        chain.emit("reshape", [value], factorised(chain.rng, value.tensor.size), value.tensor.dtype)


def transpose(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=2)
    if value is not None:
        order = tuple(int(k) for k in chain.rng.permutation(value.tensor.rank))
        shape = [value.tensor.shape[k] for k in order]
        chain.emit("transpose", [value], shape, value.tensor.dtype, permutation=order)


def broadcast(chain: Chain) -> None:
    value = chain.pick(*ANY)
    if value is None or value.tensor.rank > 2 or value.tensor.size * 3 > LARGEST:
        return
    rank = value.tensor.rank + 1
    dims = sorted(int(k) for k in chain.rng.permutation(rank)[: value.tensor.rank])
    shape = [chain.draw(1, 3)] * rank
    for k, extent in zip(dims, value.tensor.shape, strict=True):
        shape[k] = extent if extent != 1 else chain.draw(1, 2)
    chain.emit("broadcast_in_dim", [value], shape, value.tensor.dtype, broadcast_dimensions=tuple(dims))


def slice_(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=1)
    if value is None:
        return
    starts = [chain.draw(0, max(n - 1, 0)) for n in value.tensor.shape]
    limits = [chain.draw(min(start + 1, n), n) for start, n in zip(starts, value.tensor.shape, strict=True)]
    strides = [chain.draw(1, 3) for _ in starts]
    shape = [-(-(b - a) // s) for a, b, s in zip(starts, limits, strides, strict=True)]
    chain.emit(
        "slice", [value], shape, value.tensor.dtype, start_indices=tuple(starts), limit_indices=tuple(limits),
        strides=tuple(strides),
    )  # fmt: skip


def reverse(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=1)
    if value is not None:
        dims = tuple(k for k in range(value.tensor.rank) if chain.draw(0, 1))
        chain.emit("reverse", [value], value.tensor.shape, value.tensor.dtype, dimensions=dims)


def concatenate(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=1)
    if value is None or value.tensor.size * 2 > LARGEST:
        return
    other = chain.pick(value.tensor.dtype, shape=value.tensor.shape) or value
    axis = chain.draw(0, value.tensor.rank - 1)
    shape = [n * (2 if k == axis else 1) for k, n in enumerate(value.tensor.shape)]
    chain.emit("concatenate", [value, other], shape, value.tensor.dtype, dimension=axis)


def pad(chain: Chain) -> None:
    value = chain.pick(*NUMBERS, rank=1)
    if value is None or 0 in value.tensor.shape:
        return
    low, high, gaps, shape = [], [], [], []
    for n in value.tensor.shape:
        gap = chain.draw(0, 1) if n > 1 else 0
        inner = n + (n - 1) * gap
        before = chain.draw(-1, 2)
        after = chain.draw(max(-1, 1 - inner - before), 2)
        low.append(before)
        high.append(after)
        gaps.append(gap)
        shape.append(inner + before + after)
    if math.prod(shape) <= LARGEST:
        fill = chain.pick(value.tensor.dtype, shape=()) or chain.constant(chain.draw(-1, 1), value.tensor.dtype)
        config = {
            "edge_padding_low": tuple(low),
            "edge_padding_high": tuple(high),
            "interior_padding": tuple(gaps),
        }
        chain.emit("pad", [value, fill], shape, value.tensor.dtype, **config)


def iota(chain: Chain) -> None:
    shape = factorised(chain.rng, chain.draw(2, 12))
    dtype = NUMBERS[chain.draw(0, 1)]
    chain.emit("iota", (), shape, dtype, iota_dimension=chain.draw(0, len(shape) - 1))


def table(chain: Chain) -> None:
    """A constant: one number, a pattern, or anything."""
    shape, dtype = factorised(chain.rng, chain.draw(1, 12)), NUMBERS[chain.draw(0, 1)]
    array = chain.rng.integers(-2, 5, shape)
    if chain.draw(0, 2) == 0:
        array = np.arange(array.size).reshape(shape) * chain.draw(-2, 2)
    if dtype is DType.F32 and chain.draw(0, 1):
        array = np.where(array == 0, -0.0, array / 2)
    chain.emit("constant", (), shape, dtype, value=np.asarray(array).astype(STORAGE[dtype]))


def elementwise(chain: Chain) -> None:
    value = chain.pick(*ANY)
    if value is None:
        return
    dtype, shape = value.tensor.dtype, value.tensor.shape
    other = chain.pick(dtype, shape=shape) or value
    if chain.draw(0, 3) == 0 and dtype is not DType.I1:
        other = chain.constant(chain.draw(-2, 3), dtype, shape)
    if dtype is DType.I1:
        names = ("and", "or", "xor", "add", "multiply", "not")
    elif dtype is DType.I32:
        names = ("add", "subtract", "multiply", "maximum", "minimum", "and", "divide", "remainder", "negate", "abs")
    else:
        names = ("add", "subtract", "multiply", "maximum", "minimum", "exponential", "negate", "tanh", "divide")
    name = names[chain.draw(0, len(names) - 1)]
    unary = name in ("not", "negate", "abs", "exponential", "tanh")
    chain.emit(name, [value] if unary else [value, other], shape, dtype)


def compare(chain: Chain) -> None:
    value = chain.pick(*NUMBERS)
    if value is not None:
        dtype, shape = value.tensor.dtype, value.tensor.shape
        other = chain.pick(dtype, shape=shape) or value
        if chain.draw(0, 1):
            other = chain.constant(chain.draw(-1, 3), dtype, shape)
        direction = list(Comparison)[chain.draw(0, 5)]
        chain.emit("compare", [value, other], shape, DType.I1, comparison_direction=direction)


def select(chain: Chain) -> None:
    predicate = chain.pick(DType.I1)
    if predicate is None:
        compare(chain)
        return
    shape = predicate.tensor.shape
    dtype = NUMBERS[chain.draw(0, 1)]
    yes, no = chain.pick(dtype, shape=shape), chain.pick(dtype, shape=shape)
    yes = yes or chain.constant(chain.draw(0, 2), dtype, shape)
    chain.emit("select", [predicate, yes, no or chain.constant(0, dtype, shape)], shape, dtype)


def clamp(chain: Chain) -> None:
    value = chain.pick(*NUMBERS)
    if value is not None:
        dtype, shape = value.tensor.dtype, value.tensor.shape
        bounds = [chain.constant(n, dtype, () if chain.draw(0, 1) else shape) for n in (chain.draw(-2, 1), 2)]
        chain.emit("clamp", [bounds[0], value, bounds[1]], shape, dtype)


def convert(chain: Chain) -> None:
    value = chain.pick(DType.I32, DType.I1)
    if value is not None:
        target = (DType.F32, DType.I32, DType.UI8)[chain.draw(0, 2)]
        chain.emit("convert", [value], value.tensor.shape, target)
