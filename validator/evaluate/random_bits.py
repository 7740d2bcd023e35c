"""The counter-based generators behind `rng_bit_generator`, with the element order of XLA's expansion on CPU.

Arrays have a leading lane axis: keys and counters are uint64 [lanes].
"""

from __future__ import annotations

import math

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (x & _LOW).astype(np.uint32), (x >> _WORD).astype(np.uint32)


def _join(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return low.astype(np.uint64) | (high.astype(np.uint64) << _WORD)


def threefry(key: np.ndarray, counter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 with 20 rounds: two words from each 64-bit counter."""
    first, second = _halves(key)
    schedule = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = _halves(counter)
    x, y = x + schedule[0], y + schedule[1]
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    for group in range(5):
        for distance in rotations[group % 2]:
            x = x + y
            y = ((y << np.uint32(distance)) | (y >> np.uint32(32 - distance))) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def philox(key: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """Philox-4x32 with 10 rounds: four words from each 128-bit counter."""
    keys = list(_halves(key))
    words = [*_halves(low), *_halves(high)]
    for _ in range(10):
        low0, high0 = _halves(words[0].astype(np.uint64) * np.uint64(0xD2511F53))
        low1, high1 = _halves(words[2].astype(np.uint64) * np.uint64(0xCD9E8D57))
        words = [high1 ^ words[1] ^ keys[0], low1, high0 ^ words[3] ^ keys[1], low0]
        keys = [keys[0] + np.uint32(0x9E3779B9), keys[1] + np.uint32(0xBB67AE85)]
    return words


def threefry_bits(
    key: np.ndarray, counter: np.ndarray, shape: tuple[int, ...], bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random words [lanes, *shape] (uint64) and the counter that follows."""
    if bits == 64:
        size = math.prod(shape)
        x, y = threefry(key[:, None], counter[:, None] + np.arange(size, dtype=np.uint64))
        return _join(x, y).reshape(-1, *shape), counter + np.uint64(size)
    if not shape:
        x, _ = threefry(key, counter)
        return x.astype(np.uint64), counter + np.uint64(1)
    # The two words of a counter lie next to each other on the first even dimension, or on the longest if none is.
    even = [d for d, extent in enumerate(shape) if extent % 2 == 0]
    split = even[0] if even else max(range(len(shape)), key=lambda d: (shape[d], -d))
    half = (*shape[:split], (shape[split] + 1) // 2, *shape[split + 1 :])
    size = math.prod(half)
    pair = threefry(key[:, None], counter[:, None] + np.arange(size, dtype=np.uint64))
    words = np.stack([word.reshape(-1, *half) for word in pair], axis=split + 2)
    doubled = words.reshape(-1, *half[:split], 2 * half[split], *half[split + 1 :])
    kept = doubled.take(np.arange(shape[split]), axis=split + 1)
    return kept.astype(np.uint64), counter + np.uint64(size)


def philox_bits(
    key: np.ndarray, low: np.ndarray, high: np.ndarray, shape: tuple[int, ...], bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random words [lanes, *shape] (uint64) and the counter that follows, as its low and high half."""
    size = math.prod(shape)
    blocks = -(-size * (2 if bits == 64 else 1) // 4)
    steps = np.arange(blocks, dtype=np.uint64)
    lows = low[:, None] + steps
    highs = high[:, None] + (lows < low[:, None]).astype(np.uint64)
    words = philox(key[:, None], lows, highs)
    if bits == 64:
        words = [_join(words[0], words[1]), _join(words[2], words[3])]
    numbers = np.stack(words, axis=-1).reshape(len(key), -1)[:, :size]
    new_low = low + np.uint64(blocks)
    new_high = high + (new_low < low).astype(np.uint64)
    return numbers.astype(np.uint64).reshape(-1, *shape), new_low, new_high
