"""Integer and boolean arithmetic, the same in every arithmetic of the evaluator.

Integers wrap in their own width. Corner cases the StableHLO specification leaves open follow XLA's CPU back end:
division by zero gives all ones, the remainder by zero gives the dividend, MIN / -1 gives MIN with remainder 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType
from .errors import UnsupportedOp
from .numbers import STORAGE, from_bits, to_bits, wrap

Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]

COMPARE: dict[Comparison, Compare] = {
    Comparison.EQ: np.equal,
    Comparison.NE: np.not_equal,
    Comparison.GE: np.greater_equal,
    Comparison.GT: np.greater,
    Comparison.LE: np.less_equal,
    Comparison.LT: np.less,
}


def unary(name: str, x: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.is_bool:
        if name == "not":
            return np.logical_not(x)
        raise UnsupportedOp(f"stablehlo.{name}", "on booleans")
    storage = STORAGE[dtype]
    match name:
        case "negate":
            return wrap(np.negative(x), dtype)
        case "abs":
            return wrap(np.abs(x), dtype) if dtype.is_signed else x
        case "sign":
            return np.sign(x).astype(storage)
        case "not":
            return wrap(np.invert(x), dtype)
        case "popcnt":
            return wrap(np.bitwise_count(to_bits(x, dtype)).astype(storage), dtype)
        case "count_leading_zeros":
            return wrap(_leading_zeros(to_bits(x, dtype), dtype.bits).astype(storage), dtype)
    raise UnsupportedOp(f"stablehlo.{name}", f"on '{dtype.value}'")


def _leading_zeros(bits: np.ndarray, width: int) -> np.ndarray:
    for shift in (1, 2, 4, 8, 16, 32):
        bits = bits | (bits >> np.uint64(shift))
    return width - np.bitwise_count(bits).astype(np.int64)


def binary(name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.is_bool:
        return _boolean(name, x, y)
    match name:
        case "add":
            return wrap(x + y, dtype)
        case "subtract":
            return wrap(x - y, dtype)
        case "multiply":
            return wrap(x * y, dtype)
        case "maximum":
            return np.maximum(x, y)
        case "minimum":
            return np.minimum(x, y)
        case "and":
            return x & y
        case "or":
            return x | y
        case "xor":
            return x ^ y
        case "mulhi":
            return _upper_half(x, y, dtype)
        case "divide":
            return _quotient(x, y, dtype)
        case "remainder":
            return _remainder(x, y, dtype)
        case "power":
            return _power(x, y, dtype)
        case "shift_left" | "shift_right_logical" | "shift_right_arithmetic":
            return _shift(name, x, y, dtype)
    raise UnsupportedOp(f"stablehlo.{name}", f"on '{dtype.value}'")


def _boolean(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    match name:
        case "add" | "or" | "maximum":
            return x | y
        case "multiply" | "and" | "minimum":
            return x & y
        case "xor":
            return x ^ y
    raise UnsupportedOp(f"stablehlo.{name}", "on booleans")


def _upper_half(x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    """The upper half of the product in twice the width, by whole numbers of any size."""
    product = (x.astype(object) * y.astype(object)) >> dtype.bits
    return np.asarray(product, dtype=STORAGE[dtype])


def _quotient(x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    zero = y == 0
    if not dtype.is_signed:
        return np.where(zero, STORAGE[dtype].type(dtype.integer_range[1]), x // np.where(zero, y.dtype.type(1), y))
    least = dtype.integer_range[0]
    overflow = (x == least) & (y == -1)
    divisor = np.where(zero | overflow, y.dtype.type(1), y)
    floor = x // divisor
    truncated = floor + ((floor * divisor != x) & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return np.where(zero, x.dtype.type(-1), truncated)


def _remainder(x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    zero = y == 0
    safe = np.where(zero, y.dtype.type(1), y)
    if dtype.is_signed:
        safe = np.where(safe == -1, y.dtype.type(1), safe)
    return np.where(zero, x, np.fmod(x, safe))


def _power(x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    one = x.dtype.type(1)
    base, exponent = np.broadcast_arrays(x, y)
    negative = exponent < 0
    left = np.where(negative, y.dtype.type(0), exponent)
    square, result = base.copy(), np.full(base.shape, one)
    while left.any():
        result = np.where(left & one, wrap(result * square, dtype), result)
        square = wrap(square * square, dtype)
        left = left >> one
    unit = np.where(base == 1, one, np.where((base + one) == 0, np.where(exponent & one, base, one), one - one))
    return np.where(negative, unit, result)


def _shift(name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    """Amounts are read as unsigned; at or beyond the width all bits are shifted out."""
    amount = to_bits(y, dtype)
    beyond = amount >= np.uint64(dtype.bits)
    amount = np.where(beyond, np.uint64(0), amount)
    if name == "shift_right_arithmetic":
        amount = np.where(beyond, np.uint64(dtype.bits - 1), amount)
        if not dtype.is_signed:
            signed = DType("i" + dtype.value[2:])
            shifted = from_bits(to_bits(x, dtype), signed) >> amount.astype(STORAGE[signed])
            return from_bits(to_bits(shifted, signed), dtype)
        return x >> amount.astype(x.dtype)
    bits = to_bits(x, dtype)
    shifted = bits << amount if name == "shift_left" else bits >> amount
    return from_bits(np.where(beyond, np.uint64(0), shifted), dtype)


def convert(x: np.ndarray, target: DType) -> np.ndarray:
    """Integer or boolean to integer (low bits kept) or boolean (non-zero)."""
    return x != 0 if target.is_bool else wrap(x.astype(STORAGE[target]), target)


def saturate(x: np.ndarray, target: DType) -> np.ndarray:
    """Float (as float64) to integer: towards zero, NaN to 0, beyond the range to the nearest bound (as XLA on CPU)."""
    if target.is_bool:
        return x != 0
    least, greatest = target.integer_range
    storage = STORAGE[target]
    x = np.where(np.isnan(x), 0.0, np.trunc(x))
    low, high = x <= float(least), x >= float(greatest)
    inside = np.where(low | high, 0.0, x).astype(storage)
    return np.where(low, storage.type(least), np.where(high, storage.type(greatest), inside))
