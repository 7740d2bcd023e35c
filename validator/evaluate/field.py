"""Arithmetic on pairs of residues modulo two primes just below 2^31, held in one uint64 each.

The high half holds the residue modulo P, the low half the residue modulo Q. Three values outside the field stand for
the infinities and NaN. Two different rational numbers of moderate size collide with probability about 2^-62.
"""

from __future__ import annotations

import numpy as np

P = (1 << 31) - 1
Q = (1 << 31) - 19
SPECIAL = np.uint64(1 << 63)
NAN = np.uint64((1 << 63) + 3)
POSITIVE_INFINITY = np.uint64((1 << 63) + 2)
NEGATIVE_INFINITY = np.uint64((1 << 63) + 1)
ZERO = np.uint64(0)
ONE = np.uint64((1 << 32) + 1)

_PRIMES = (np.uint64(P), np.uint64(Q))
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def pack(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return (high << _HALF) | low


def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x >> _HALF, x & _LOW


def special(x: np.ndarray) -> np.ndarray:
    return x >= SPECIAL


def of_integers(x: np.ndarray) -> np.ndarray:
    """Integers of any numpy integer type."""
    if x.dtype == np.uint64:
        return pack(x % _PRIMES[0], x % _PRIMES[1])
    wide = x.astype(np.int64)
    return pack((wide % np.int64(P)).astype(np.uint64), (wide % np.int64(Q)).astype(np.uint64))


def of_floats(x: np.ndarray) -> np.ndarray:
    """Floats as the exact dyadic rationals they are."""
    x = np.asarray(x, np.float64)
    finite = np.isfinite(x)
    fraction, exponent = np.frexp(np.where(finite, x, 0.0))
    mantissa = of_integers(np.ldexp(fraction, 53).astype(np.int64))
    result = multiply(mantissa, _POWERS[exponent.astype(np.int64) - 53 + _POWER_BIAS])
    infinite = np.where(x > 0, POSITIVE_INFINITY, NEGATIVE_INFINITY)
    return np.where(finite, result, np.where(np.isnan(x), NAN, infinite))


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    (a, b), (c, d) = parts(x), parts(y)
    return pack((a + c) % _PRIMES[0], (b + d) % _PRIMES[1])


def negate(x: np.ndarray) -> np.ndarray:
    a, b = parts(x)
    return pack((_PRIMES[0] - a) % _PRIMES[0], (_PRIMES[1] - b) % _PRIMES[1])


def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    (a, b), (c, d) = parts(x), parts(y)
    return pack(a * c % _PRIMES[0], b * d % _PRIMES[1])


def inverse(x: np.ndarray) -> np.ndarray:
    """Multiplicative inverse by Fermat's theorem; zero has none and gives zero."""
    results = []
    for part, prime in zip(parts(x), _PRIMES, strict=True):
        exponent, square, result = int(prime) - 2, part, np.ones_like(part)
        while exponent:
            if exponent & 1:
                result = result * square % prime
            square = square * square % prime
            exponent >>= 1
        results.append(result)
    return pack(*results)


def power(x: np.ndarray, exponent: int) -> np.ndarray:
    """A small integer power."""
    if exponent < 0:
        return power(inverse(x), -exponent)
    result = np.full_like(x, ONE)
    while exponent:
        if exponent & 1:
            result = multiply(result, x)
        x = multiply(x, x)
        exponent >>= 1
    return result


def total(x: np.ndarray, axis: int) -> np.ndarray:
    """Sum along an axis; up to 2^32 terms cannot overflow."""
    a, b = parts(x)
    return pack(a.sum(axis=axis) % _PRIMES[0], b.sum(axis=axis) % _PRIMES[1])


def product(x: np.ndarray, axis: int) -> np.ndarray:
    x = np.moveaxis(x, axis, -1)
    while (extent := x.shape[-1]) > 1:
        even = extent - extent % 2
        paired = multiply(x[..., 0:even:2], x[..., 1:even:2])
        x = np.concatenate([paired, x[..., even:]], axis=-1)
    return x[..., 0]


def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Exact products: residues are cut in halves of 16 bits, so that float64 products of blocks are exact integers."""
    block = 1 << 20
    halves = []
    for a, b, prime in zip(parts(x), parts(y), _PRIMES, strict=True):
        result = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.uint64)
        for start in range(0, a.shape[-1], block):
            left, right = a[..., start : start + block], b[..., start : start + block, :]
            left_high, left_low = (left >> np.uint64(16)).astype(float), (left & np.uint64(0xFFFF)).astype(float)
            right_high, right_low = (right >> np.uint64(16)).astype(float), (right & np.uint64(0xFFFF)).astype(float)
            high = np.matmul(left_high, right_high).astype(np.uint64) % prime
            low = np.matmul(left_low, right_low).astype(np.uint64) % prime
            cross = np.matmul(left_high, right_low) + np.matmul(left_low, right_high)
            middle = cross.astype(np.uint64) % prime
            shifted = ((high << np.uint64(16)) % prime + middle) % prime
            result = (result + ((shifted << np.uint64(16)) % prime + low) % prime) % prime
        halves.append(result)
    return pack(*halves)


def signed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The residues as the least numbers in magnitude that they stand for."""
    a, b = (part.astype(np.int64) for part in parts(x))
    return np.where(a > P // 2, a - P, a), np.where(b > Q // 2, b - Q, b)


DYADIC_SCALE = 1 << 16


def dyadic(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numerators over 2^16 of the elements that are such fractions below 2^14, and which elements those are.

    A field element that is none looks like one with probability about 2^-31.
    """
    a, b = signed(multiply(x, _SCALE))
    found = (a == b) & ~special(x) & (np.abs(a) < 1 << 30)
    return np.where(found, a, 0), found


def numerators(x: np.ndarray) -> np.ndarray:
    """For every field element the least number in magnitude that it is over 2^30: the numerator itself where the
    element is such a fraction below 2^31. No two elements share one, and negation changes its sign.
    """
    a, b = (part.astype(np.int64) for part in parts(multiply(x, _ORDER_SCALE)))
    # The Chinese remainder theorem: a + P t, with t such that it is b modulo Q.
    whole = a + P * ((b - a) % Q * _P_INVERSE % Q)
    return np.where(whole > P * Q // 2, whole - P * Q, whole)


def mix(x: np.ndarray) -> np.ndarray:
    """A fixed random-looking permutation of 64-bit words (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def from_words(word: np.ndarray) -> np.ndarray:
    """Field elements from random words."""
    return pack((word >> _HALF) % _PRIMES[0], (word & _LOW) % _PRIMES[1])


_POWER_BIAS = 1200


def _powers_of_two() -> np.ndarray:
    exponents = range(-_POWER_BIAS, _POWER_BIAS)
    high = np.array([pow(2, e, P) for e in exponents], np.uint64)
    low = np.array([pow(2, e, Q) for e in exponents], np.uint64)
    return pack(high, low)


_POWERS = _powers_of_two()
_SCALE = _POWERS[_POWER_BIAS + 16]
_ORDER_SCALE = _POWERS[_POWER_BIAS + 30]
_P_INVERSE = pow(P, -1, Q)
