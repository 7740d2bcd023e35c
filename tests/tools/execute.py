"""Runs programs of the zoo for real, sharded and on one device: `python -m tools.execute NAME...` from `tests`.

Prints for each name in how many of the trials some device's copy of a result differs from the single-device result.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from .zoo import ENTRIES, Entry

import jax  # isort: skip  (the zoo asks for devices first)

TRIALS = 6


def differing_trials(one: Entry, trials: int = TRIALS, seed: int = 0) -> int:
    """Trials, on random inputs with starts and indices in and out of range, whose results differ."""
    generator = np.random.default_rng(seed)
    alone = jax.jit(one.function)
    sharded = one.jitted()
    count = 0
    for _ in range(trials):
        inputs = [_random(generator, argument.shape, argument.dtype) for argument in one.arguments]
        with one.in_mesh():
            found = jax.tree.leaves(sharded(*inputs))
        wanted = jax.tree.leaves(alone(*inputs))
        count += not all(_agree(got, np.asarray(want)) for got, want in zip(found, wanted, strict=True))
    return count


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    kind = jax.numpy.dtype(dtype)
    if kind.kind in "iu":
        return generator.integers(0 if kind.kind == "u" else -12, 22, shape).astype(kind)
    return np.asarray(generator.standard_normal(shape)).astype(kind)


def _agree(got: jax.Array, want: np.ndarray) -> bool:
    """Whether every device's copy is its part of what is wanted, but for rounding."""
    for shard in got.addressable_shards:
        copy, part = np.asarray(shard.data), want[shard.index]
        if jax.numpy.issubdtype(copy.dtype, jax.numpy.inexact):
            tolerance = 2e-3 if copy.dtype.itemsize >= 4 else 5e-2
            copy, part = copy.astype(np.complex128), part.astype(np.complex128)
            if not np.allclose(copy, part, rtol=tolerance, atol=tolerance, equal_nan=True):
                return False
        elif not np.array_equal(copy, part):
            return False
    return True


if __name__ == "__main__":
    print(json.dumps({name: differing_trials(ENTRIES[name]) for name in sys.argv[1:]}))
