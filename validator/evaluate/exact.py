"""Exact arithmetic: floats as residues, so that programs that agree over the reals agree bit for bit.

Sums, products and quotients are exact in the field. Other functions are keyed hash functions of the residues: equal
arguments give equal values, and nothing else is known of them. Some consequences:

- Any two programs that are equal by field laws and congruence agree for certain, and programs that are not differ
  with probability above 1 - 2^-60 on random residues; rounding cannot hide a small term.
- `maximum`, `compare` and `sort` follow one fixed total order of the field that negation reverses. It is the usual
  order on multiples of 2^-30 below 2^31 and arbitrary elsewhere: lattice laws hold, max(x + c) = max(x) + c does not,
  nor does exp(x) * exp(y) = exp(x + y). A difference seen here must therefore be confirmed in the wide arithmetic.
- Conversions between float types and `reduce_precision` keep the value. Floats that are multiples of 2^-16 below 2^14
  convert to integers, round and have bits as usual; other residues give hashed integers.
- Infinities and NaN follow IEEE, a finite residue's sign being its sign in the total order. There is one zero.
- Complex numbers have no residues and raise `UnsupportedInExact`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType
from . import field, floats, integers
from .arithmetic import Arithmetic
from .errors import UnsupportedInExact, UnsupportedOp
from .numbers import from_bits, to_bits

_ROUNDING = frozenset({"floor", "ceil", "round_nearest_even", "round_nearest_afz"})


class Exact(Arithmetic):
    """Residue arithmetic; the seed keys the hash functions."""

    name = "exact"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.hashed = False
        """Whether a hash function stood in for a real one, so that laws of the real one may have been missed."""

    # Holding.

    def float_storage(self, dtype: DType) -> np.dtype:
        self._refuse_complex(dtype)
        return np.dtype(np.uint64)

    def load_float(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        self._refuse_complex(dtype)
        if array.dtype.kind in "iub":
            return field.of_integers(array.astype(np.int8) if array.dtype.kind == "b" else array)
        return field.of_floats(array.astype(np.float64))

    def unload(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return x

    @staticmethod
    def _refuse_complex(dtype: DType) -> None:
        if dtype.is_complex:
            raise UnsupportedInExact(dtype.value)

    # Field operations, with IEEE's rules where an infinity or NaN takes part.

    def float_binary(self, name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        match name:
            case "add":
                result = field.add(x, y)
            case "subtract":
                result = field.add(x, field.negate(y))
            case "multiply":
                result = field.multiply(x, y)
            case "divide":
                result = field.multiply(x, field.inverse(y))
            case "maximum" | "minimum":
                return self._extreme(name, x, y)
            case "remainder":
                return self._remainder(x, y)
            case "power":
                return self._power(x, y)
            case "atan2":
                return self._hash(name, x, y)
            case _:
                raise UnsupportedOp(f"stablehlo.{name}", "on floats")
        outside = field.special(x) | field.special(y)
        if name == "divide":
            outside = outside | (y == field.ZERO)
        return self._by_shadow(result, outside, lambda: floats.binary(name, self._shadow(x), self._shadow(y)))

    def float_unary(self, name: str, x: np.ndarray, dtype: DType) -> np.ndarray:
        one = field.ONE
        match name:
            case "negate":
                return self._by_shadow(field.negate(x), field.special(x), lambda: -self._shadow(x))
            case "abs":
                opposite = self.float_unary("negate", x, dtype)
                return np.where(self._keys(x) < 0, opposite, x)
            case "sign":
                signs = field.of_integers(np.sign(self._keys(x)))
                return np.where(x == field.NAN, field.NAN, signs)
            case "rsqrt":
                return self.float_binary("divide", np.full_like(x, one), self.float_unary("sqrt", x, dtype), dtype)
            case "logistic":
                decay = self.float_unary("exponential", self.float_unary("negate", x, dtype), dtype)
                below = self.float_binary("add", np.full_like(x, one), decay, dtype)
                return self.float_binary("divide", np.full_like(x, one), below, dtype)
            case "exponential_minus_one":
                grown = self.float_unary("exponential", x, dtype)
                return self.float_binary("subtract", grown, np.full_like(x, one), dtype)
            case "log_plus_one":
                return self.float_unary("log", self.float_binary("add", x, np.full_like(x, one), dtype), dtype)
        if name not in floats.UNARY_NAMES:
            raise UnsupportedOp(f"stablehlo.{name}", "on floats")
        if name in _ROUNDING:
            numerators, known = field.dyadic(x)
            rounded = field.of_floats(floats.unary(name, numerators / field.DYADIC_SCALE))
            return np.where(known, rounded, np.where(field.special(x), x, self._hash(name, x)))
        return self._named_function(name, x)

    def _named_function(self, name: str, x: np.ndarray) -> np.ndarray:
        """A hash, except where argument and value are both 0, 1 or not finite, which programs rely on."""
        result = self._hash(name, x)
        plain = (field.ZERO, field.ONE, field.POSITIVE_INFINITY, field.NEGATIVE_INFINITY, field.NAN)
        for residue, argument in zip(plain, (0.0, 1.0, np.inf, -np.inf, np.nan), strict=True):
            with np.errstate(all="ignore"):
                value = float(floats.unary(name, np.array([argument]))[0])
            if not np.isfinite(value) or value in (0.0, 1.0, -1.0):
                result = np.where(x == residue, field.of_floats(np.array(value)), result)
        return result

    def _shadow(self, x: np.ndarray) -> np.ndarray:
        """Floats that carry the infinities, NaN, zeros and signs of residues, and nothing else of them."""
        finite = np.sign(self._keys(x)).astype(np.float64)
        finite = np.where(x == field.POSITIVE_INFINITY, np.inf, np.where(x == field.NEGATIVE_INFINITY, -np.inf, finite))
        return np.where(x == field.NAN, np.nan, finite)

    @staticmethod
    def _by_shadow(result: np.ndarray, outside: np.ndarray, shadow: Callable[[], np.ndarray]) -> np.ndarray:
        """Put what IEEE gives for the operands' shadows where the field has no meaning."""
        if not np.any(outside):
            return result
        with np.errstate(all="ignore"):
            plain = shadow()
        return np.where(outside, field.of_floats(plain), result)

    def _hash(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        return field.from_words(self._words(name, *arguments))

    def _words(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        self.hashed = True
        key = np.uint64((zlib.crc32(name.encode()) << 32) ^ (self._seed & 0xFFFFFFFF))
        word = field.mix(np.full((1,) * arguments[0].ndim, key) + np.uint64(0x9E3779B97F4A7C15))
        for argument in arguments:
            word = field.mix(word + field.mix(argument + np.uint64(0x9E3779B97F4A7C15)))
        return np.broadcast_to(word, np.broadcast_shapes(*(argument.shape for argument in arguments)))

    def _power(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Small integer exponents multiply; others hash."""
        x, y = np.broadcast_arrays(x, y)
        result = self._hash("power", x, y)
        numerators, known = field.dyadic(y)
        whole = known & (numerators % field.DYADIC_SCALE == 0) & ~field.special(x)
        exponents = np.where(whole, numerators // field.DYADIC_SCALE, 0)
        for exponent in np.unique(exponents[whole]):
            if abs(exponent) <= 64:
                powered = field.power(x, int(exponent))
                if exponent < 0:
                    powered = np.where(x == field.ZERO, field.POSITIVE_INFINITY, powered)
                result = np.where(whole & (exponents == exponent), powered, result)
        return result

    def _remainder(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        (a, x_known), (b, y_known) = field.dyadic(x), field.dyadic(y)
        exact = field.of_floats(np.fmod(a, np.where(b == 0, 1, b)) / field.DYADIC_SCALE)
        usual = x_known & y_known & (b != 0)
        return np.where(usual, exact, np.where(y == field.ZERO, field.NAN, self._hash("remainder", x, y)))

    # Order.

    def _keys(self, x: np.ndarray) -> np.ndarray:
        """Integers in the total order; those of finite residues change sign with negation."""
        keys = field.numerators(x)
        keys = np.where(x == field.POSITIVE_INFINITY, np.int64(1 << 62), keys)
        keys = np.where(x == field.NEGATIVE_INFINITY, np.int64(-1 << 62), keys)
        return np.where(x == field.NAN, np.int64((1 << 63) - 1), keys)

    def _extreme(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        left, right = self._keys(x), self._keys(y)
        chosen = np.where(left >= right if name == "maximum" else left <= right, x, y)
        return np.where((x == field.NAN) | (y == field.NAN), field.NAN, chosen)

    def float_compare(
        self, direction: Comparison, x: np.ndarray, y: np.ndarray, dtype: DType, total_order: bool
    ) -> np.ndarray:
        if direction is Comparison.EQ:
            result = x == y
        elif direction is Comparison.NE:
            result = x != y
        else:
            result = integers.COMPARE[direction](self._keys(x), self._keys(y))
        if total_order:
            return result
        unordered = (x == field.NAN) | (y == field.NAN)
        return np.where(unordered, direction is Comparison.NE, result)

    def float_sort_keys(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return self._keys(x)

    def is_finite(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return ~field.special(x)

    # Sums.

    def float_reduce(self, name: str, x: np.ndarray, axis: int, dtype: DType) -> np.ndarray:
        match name:
            case "add":
                result, ufunc = field.total(x, axis), np.add
            case "multiply":
                result, ufunc = field.product(x, axis), np.multiply
            case "maximum" | "minimum":
                keys = self._keys(x)
                if name == "minimum":
                    # NaN wins in both directions.
                    keys = np.where(x == field.NAN, np.iinfo(np.int64).max, -keys)
                return np.take_along_axis(x, np.expand_dims(keys.argmax(axis), axis), axis).squeeze(axis)
            case _:
                raise UnsupportedOp(f"stablehlo.{name}", "as a reducer of floats")
        outside = np.any(field.special(x), axis=axis)
        return self._by_shadow(result, np.asarray(outside), lambda: ufunc.reduce(self._shadow(x), axis=axis))

    def float_matmul(self, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        result = field.matmul(np.where(field.special(x), field.ZERO, x), np.where(field.special(y), field.ZERO, y))
        if not (field.special(x).any() or field.special(y).any()):
            return result
        plain = np.matmul(self._shadow(x), self._shadow(y))
        return self._by_shadow(result, ~np.isfinite(plain), lambda: plain)

    # Conversions.

    def convert_float(self, x: np.ndarray, source: DType, target: DType) -> np.ndarray:
        if target.is_float:
            return x
        self._refuse_complex(target)
        if target.is_bool:
            return x != field.ZERO
        numerators, known = field.dyadic(x)
        plain = np.where(known, numerators / field.DYADIC_SCALE, np.where(field.special(x), self._shadow(x), 0.0))
        usual = integers.saturate(plain, target)
        hashed = from_bits(self._words("convert", x), target)
        return np.where(known | field.special(x), usual, hashed)

    def float_bits(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        self._refuse_complex(dtype)
        numerators, known = field.dyadic(x)
        plain = np.where(known, numerators / field.DYADIC_SCALE, self._shadow(x))
        usual = to_bits(floats.round_to(plain, dtype), dtype)
        mask = np.uint64((1 << dtype.bits) - 1)
        return np.where(known | field.special(x), usual, self._words("bitcast_convert", x) & mask)

    def reduce_precision(self, x: np.ndarray, dtype: DType, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
        return x
