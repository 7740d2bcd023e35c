"""Scalar floating-point functions on numpy arrays, and rounding to narrow types."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from ..read.ir import DType
from .errors import UnsupportedOp
from .numbers import STORAGE


def widen(array: np.ndarray, dtype: DType) -> np.ndarray:
    return array.astype(np.complex128 if dtype.is_complex else np.float64)


def round_to(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Round to the nearest value of the type, in its own storage."""
    storage = STORAGE[dtype]
    if array.dtype.itemsize == 1 and array.dtype != storage:
        # Not every two narrow types have a conversion of their own; float32 holds the values of all of them.
        array = array.astype(np.float32)
    return array.astype(storage)


def round_half_away(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones_like(x), x), whole)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def sign(x: np.ndarray) -> np.ndarray:
    """Keeps the sign of zeros and NaN; a complex number is scaled to modulus one."""
    if np.iscomplexobj(x):
        modulus = np.abs(x)
        return np.where(modulus == 0, x, x / np.where(modulus == 0, 1, modulus))
    return np.where(x == 0, x, np.sign(x))


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A scalar library function on every element; outside its domain it gives NaN."""

    def guarded(value: float) -> float:
        try:
            return function(value)
        except (ValueError, OverflowError):
            return math.nan

    vectorised = np.vectorize(guarded, otypes=[np.float64])
    return lambda x: vectorised(x.astype(np.float64)).astype(x.dtype)


def _log_gamma(value: float) -> float:
    if value == -math.inf or (value <= 0 and value == math.floor(value)):
        return math.inf
    return math.lgamma(value)


def _digamma(value: float) -> float:
    if value <= 0:
        if value == math.floor(value):
            return math.nan
        return _digamma(1 - value) - math.pi / math.tan(math.pi * value)
    result = 0.0
    while value < 10:
        result -= 1 / value
        value += 1
    inverse = 1 / (value * value)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return result + math.log(value) - 0.5 / value - series


def _erf_inv(value: float) -> float:
    if not -1 <= value <= 1:
        return math.nan
    if abs(value) == 1:
        return math.copysign(math.inf, value)
    if value == 0:
        return value
    # A closed approximation good to three digits, then Halley's method; erfc keeps the digits near one.
    size = abs(value)
    logarithm = math.log1p(-size * size)
    part = 2 / (math.pi * 0.147) + logarithm / 2
    root = math.sqrt(math.sqrt(part * part - logarithm / 0.147) - part)
    for _ in range(4):
        error = math.erf(root) - size if size < 0.5 else (1 - size) - math.erfc(root)
        step = error / (2 / math.sqrt(math.pi) * math.exp(-root * root))
        root -= step / (1 + root * step)
    return math.copysign(root, value)


_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "negate": np.negative,
    "abs": np.abs,
    "sign": sign,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "log": np.log,
    "log_plus_one": np.log1p,
    "logistic": logistic,
    "tanh": np.tanh,
    "tan": np.tan,
    "sine": np.sin,
    "cosine": np.cos,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_even": np.rint,
    "round_nearest_afz": round_half_away,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "erf_inv": _each(_erf_inv),
    "lgamma": _each(_log_gamma),
    "digamma": _each(_digamma),
}


def zeros_in_order(found: np.ndarray, x: np.ndarray, choose: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What a maximum or minimum of elements `x` found, with -0 below +0 as in StableHLO: numpy takes either zero."""
    if np.iscomplexobj(x):
        return found
    return np.where(found == 0, np.copysign(found, choose(np.copysign(x.dtype.type(1), x))), found)


def _extremum(choose: np.ufunc) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def of_two(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        pair = np.stack(np.broadcast_arrays(x, y))
        return zeros_in_order(choose(x, y), pair, choose.reduce)

    return of_two


_BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": _extremum(np.maximum),
    "minimum": _extremum(np.minimum),
    "remainder": np.fmod,
    "power": np.power,
    "atan2": np.arctan2,
}

UNARY_NAMES = frozenset(_UNARY)


def unary(name: str, x: np.ndarray) -> np.ndarray:
    if name not in _UNARY:
        raise UnsupportedOp(f"stablehlo.{name}", "on floats")
    return _UNARY[name](x)


def binary(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if name not in _BINARY:
        raise UnsupportedOp(f"stablehlo.{name}", "on floats")
    return _BINARY[name](x, y)


def total_order_keys(x: np.ndarray) -> np.ndarray:
    """Integers in IEEE total order: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN."""
    bits = np.ascontiguousarray(x.astype(np.float64)).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)


def reduce_precision(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Round to a type with the given field widths, as XLA does it: on the bits of the type at hand.

    Halves go to the even one of the two bit patterns. Only where the exponent gets narrower do denormal results become
    zeros and what is too great infinities.
    """
    kind = ml_dtypes.finfo(x.dtype)
    unsigned = np.dtype(f"u{x.dtype.itemsize}").type
    bits = np.ascontiguousarray(x).view(unsigned)
    dropped = kind.nmant - mantissa_bits
    if dropped > 0:
        unit = unsigned(1 << dropped)
        half_down = unsigned((1 << (dropped - 1)) - 1)
        bits = (bits + half_down + ((bits >> unsigned(dropped)) & unsigned(1))) & ~(unit - unsigned(1))
    rounded = bits.view(x.dtype)
    if exponent_bits < kind.nexp:
        bias, middle = (1 << (exponent_bits - 1)) - 1, (1 << (kind.nexp - 1)) - 1
        exponent = (bits >> unsigned(kind.nmant)) & unsigned((1 << kind.nexp) - 1)
        infinity, zero = (np.copysign(x.dtype.type(size), x) for size in (np.inf, 0))
        rounded = np.where(exponent > middle + bias, infinity, np.where(exponent <= middle - bias, zero, rounded))
    return np.where(np.isnan(x), x, rounded)
