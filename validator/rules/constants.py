"""Splat constants: interning, folding, and what rules may ask of a constant or an element type.

Below theory real a constant is one number of its own type, held bit for bit (all NaNs are one).
Under theory real every float type is REALS, and a float constant stands for the simplest rational that float32 rounds
to it (float64, where it is of that type): the float32 nearest 1/3 is 1/3. The bfloat16 nearest 1/3 is another number,
the same one before and after it is converted to float32. Only infinities and NaN stay symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from ..ops.integers import exact_integers
from ..ops.record import Theory
from ..read.ir import DType
from .folding import ARITHMETIC, of_floats, of_integers, square_root

REALS = "real"

_NUMPY: dict[DType, Any] = {
    DType.BF16: ml_dtypes.bfloat16,
    DType.F16: np.float16,
    DType.F32: np.float32,
    DType.F64: np.float64,
    DType.F4E2M1FN: ml_dtypes.float4_e2m1fn,
    DType.F8E3M4: ml_dtypes.float8_e3m4,
    DType.F8E4M3: ml_dtypes.float8_e4m3,
    DType.F8E4M3FN: ml_dtypes.float8_e4m3fn,
    DType.F8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.F8E4M3B11FNUZ: ml_dtypes.float8_e4m3b11fnuz,
    DType.F8E5M2: ml_dtypes.float8_e5m2,
    DType.F8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.F8E8M0FNU: ml_dtypes.float8_e8m0fnu,
    DType.C64: np.complex64,
    DType.C128: np.complex128,
}

_ARITHMETIC_FLOATS = {DType.BF16, DType.F16, DType.F32, DType.F64}
"""The types whose + - * / are known to round the exact result once, here as in XLA."""

_WIDER: dict[DType, frozenset[DType]] = {
    DType.F8E4M3: frozenset({DType.BF16, DType.F16, DType.F32, DType.F64}),
    DType.F8E4M3FN: frozenset({DType.BF16, DType.F16, DType.F32, DType.F64}),
    DType.F8E5M2: frozenset({DType.BF16, DType.F16, DType.F32, DType.F64}),
    DType.BF16: frozenset({DType.F32, DType.F64}),
    DType.F16: frozenset({DType.F32, DType.F64}),
    DType.F32: frozenset({DType.F64}),
}

_INFINITE = _ARITHMETIC_FLOATS | {DType.F8E3M4, DType.F8E4M3, DType.F8E5M2}
"""The types in which what is too great becomes infinite; in others it becomes NaN, or their greatest number."""

MONOIDS = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
IDEMPOTENT = ("maximum", "minimum", "and", "or")


def widens(narrow: DType, wide: DType) -> bool:
    """Every value of `narrow` is a value of `wide`, and converting back returns it."""
    if narrow is wide or wide.is_complex or narrow.is_complex or wide.is_bool:
        return False
    if narrow.is_float:
        return wide in _WIDER.get(narrow, frozenset())
    low, high = narrow.integer_range
    if wide.is_float:
        return max(-low, high) <= exact_integers(wide) and high < 65_504
    least, greatest = wide.integer_range
    return least <= low and high <= greatest


def chains(first: DType, middle: DType, last: DType) -> bool:
    """Converting `first` -> `middle` -> `last` is converting `first` -> `last`: widening, then by value.

    What a float out of an integer's range converts to is the implementation's choice, so that way out is closed.
    """
    if not widens(first, middle) or last.is_complex or last is first:
        return False
    return not (middle.is_float and last.is_integer) or widens(first, last)


def simplest_rational(low: Fraction, high: Fraction) -> Fraction:
    """The rational of least denominator in the closed interval (Stern-Brocot descent)."""
    if low > high:
        low, high = high, low
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest_rational(-high, -low)
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = low.numerator // low.denominator
    return floor + 1 / simplest_rational(1 / (high - floor), 1 / (low - floor))


Fact = tuple[str, tuple[int | str, ...]]
Number = Any
"""A numpy scalar, an int, a bool, or under theory real a Fraction or one of the strings inf, -inf, nan."""


class Constants:
    """The constants of one graph. Ids are positive; `facts` collects what rules may use about them."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self._ids: dict[tuple[str, Any], int] = {}
        self._numbers: list[Number] = [None]
        self._names: list[str] = [""]
        self._dtypes: dict[str, DType | None] = {}
        self.facts: list[Fact] = [("idempotent", (op,)) for op in IDEMPOTENT]
        self.facts += [("monoid", (op,)) for op in MONOIDS]

    # -- element types

    def dtype_name(self, dtype: DType) -> str:
        """The element type as rules see it; telling its facts when it is new."""
        name = REALS if self.theory is Theory.REAL and dtype.is_float else dtype.value
        if name not in self._dtypes:
            known = list(self._dtypes)
            self._dtypes[name] = None if name == REALS else dtype
            self.facts.extend(self._dtype_facts(name, known))
            if name == REALS or not dtype.is_complex:
                greatest = 2 if dtype.is_float else dtype.integer_range[1]
                for value in range(min(2, greatest) + 1):
                    self._intern(name, self._cast(name, value))
        return name

    def _dtype_facts(self, name: str, known: list[str]) -> Iterator[Fact]:
        dtype = self._dtypes[name]
        is_float = dtype is None or (dtype.is_float and not dtype.is_positive)
        exact = dtype is not None and (dtype.is_integer or dtype.is_bool)
        if is_float:
            yield "float", (name,)
        if dtype is None:
            yield "reals", (name,)
        if dtype is not None and dtype.is_integer:
            yield "integer", (name,)
        if is_float or (dtype is not None and dtype.is_signed):
            yield "signed", (name,)
        if dtype is None or not (dtype.is_bool or dtype.is_positive):
            yield "negates", (name,)
        if dtype is None or dtype in _INFINITE:
            yield "infinite", (name,)
        if exact:
            yield "bits", (name,)
        if is_float or exact:
            yield "ordered", (name,)
        for monoid in MONOIDS:
            if exact or (is_float and monoid in ("maximum", "minimum")):
                yield "any-order", (monoid, name)
        names = [*known, name]
        for first in names:
            for second in names:
                if name in (first, second) and self._widens(first, second):
                    yield "widens", (first, second)
                for third in names:
                    if name in (first, second, third) and self._chains(first, second, third):
                        yield "chains", (first, second, third)

    def _widens(self, narrow: str, wide: str) -> bool:
        first, second = self._dtypes[narrow], self._dtypes[wide]
        if first is None:
            return False
        if second is None:
            return not first.is_complex
        return widens(first, second)

    def _chains(self, first: str, middle: str, last: str) -> bool:
        a, b, c = self._dtypes[first], self._dtypes[middle], self._dtypes[last]
        if a is None or c is None:
            return False
        if b is None:
            return c is not a and widens(a, c) and not c.is_float
        return chains(a, b, c)

    # -- constants

    def intern(self, value: Any, dtype: DType) -> int:
        """The id of a constant, rounded into its type; an integer out of its type's range is an error."""
        name = self.dtype_name(dtype)
        if name == REALS:
            return self._intern(name, rational(value, dtype))
        return self._intern(name, self._cast(name, value))

    def number(self, constant: int) -> Number:
        return self._numbers[constant]

    def dtype_of(self, constant: int) -> str:
        return self._names[constant]

    def describe(self, constant: int) -> str:
        return f"{self._numbers[constant]}:{self._names[constant]}"

    def fraction(self, constant: int) -> Fraction | None:
        """The exact rational value; None for infinities, NaN and complex numbers."""
        number = self._numbers[constant]
        if isinstance(number, (int, bool, Fraction)):
            return Fraction(number)
        if isinstance(number, str) or np.iscomplexobj(number) or not math.isfinite(float(number)):
            return None
        return Fraction(float(number))

    def from_fraction(self, value: Fraction, name: str) -> int | None:
        """The constant of exactly this value; None where the type has none."""
        dtype = self._dtypes[name]
        if dtype is None:
            return self._intern(name, value)
        if dtype.is_integer:
            return self._intern(name, _wrap(int(value), dtype)) if value.denominator == 1 else None
        if dtype.is_bool:
            return self._intern(name, bool(value)) if value in (0, 1) else None
        try:
            with np.errstate(over="ignore"):
                number = _NUMPY[dtype](float(value))
        except OverflowError:
            return None
        return self._intern(name, number) if math.isfinite(float(number)) and Fraction(float(number)) == value else None

    def _cast(self, name: str, value: Any) -> Number:
        dtype = self._dtypes[name]
        if dtype is None:
            return Fraction(value)
        if dtype.is_bool:
            return bool(value)
        if dtype.is_integer:
            low, high = dtype.integer_range
            if not low <= int(value) <= high or int(value) != value:
                raise ValueError(f"{value} is not a value of '{name}'")
            return int(value)
        with np.errstate(all="ignore"):
            return _NUMPY[dtype](value)

    def _intern(self, name: str, number: Number) -> int:
        key = (name, _key(number))
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._numbers)
            self._numbers.append(number)
            self._names.append(name)
            self.facts.extend(self._constant_facts(name, found))
        return found

    # -- facts and folding

    def _constant_facts(self, name: str, constant: int) -> Iterator[Fact]:
        dtype, number = self._dtypes[name], self._numbers[constant]
        if dtype is not None and dtype.is_complex:
            return
        if dtype is not None and dtype.is_bool:
            yield ("true" if number else "false"), (name, constant)
        is_integer = dtype is not None and not dtype.is_float
        negative_zero = isinstance(number, np.generic) and float(number) == 0 and math.copysign(1, float(number)) < 0
        value = self.fraction(constant)
        if value == 0 and not negative_zero:
            yield "zero", (name, constant)
        for word, wanted in (("one", 1), ("two", 2)):
            if value == wanted:
                yield word, (name, constant)
        if dtype is not None and dtype.is_integer and not dtype.is_signed:
            if value == dtype.integer_range[1]:
                yield "minus-one", (name, constant)
        elif value == -1:
            yield "minus-one", (name, constant)
        if value is not None:
            yield "finite", (name, constant)
            if value != 0:
                yield "nonzero", (name, constant)
            if value > 0:
                yield "positive", (name, constant)
            if not is_integer and is_power_of_two(value):
                yield "power-of-two", (name, constant)
                if self._is_normal(value, dtype) and self._is_normal(1 / value, dtype):
                    inverse = self.from_fraction(1 / value, name)
                    if inverse is not None:
                        yield "reciprocal", (name, constant, inverse)
        for op in _neutral_for(dtype, number, value, negative_zero):
            yield "neutral", (op, name, constant)
        if not is_integer and value == 0:
            yield "neutral-loose", ("subtract" if negative_zero else "add", name, constant)
        if is_integer:
            if dtype is not None and dtype.is_integer and value is not None and value > 0 and is_power_of_two(value):
                yield "low-bits", (name, constant, self._intern(name, int(value) - 1))
            for op in _absorbing_for(dtype, number):
                yield "absorbing", (op, name, constant)

    @staticmethod
    def _is_normal(value: Fraction, dtype: DType | None) -> bool:
        if dtype is None:
            return True
        limits = ml_dtypes.finfo(_NUMPY[dtype])
        return Fraction(float(limits.tiny)) <= abs(value) <= Fraction(float(limits.max))

    def fold_unary(self, op: str, name: str, constant: int) -> int | None:
        """`op` of a constant in its own type; None where its value is not known for certain."""
        number, dtype = self._numbers[constant], self._dtypes.get(name)
        if self._names[constant] != name or isinstance(number, str):
            return None
        if op == "not" and dtype is not None and not dtype.is_float and not dtype.is_complex:
            return self._intern(name, not number if dtype.is_bool else _wrap(~number, dtype))
        if op == "negate" and not isinstance(number, bool):
            if isinstance(number, int):
                assert dtype is not None
                return self._intern(name, _wrap(-number, dtype))
            return self._intern(name, -number)
        value = self.fraction(constant) if op == "sqrt" and (dtype is None or dtype in _ARITHMETIC_FLOATS) else None
        root = None if not value else square_root(value)
        return None if root is None else self.from_fraction(root, name)

    def fold_binary(self, op: str, name: str, first: int, second: int) -> int | None:
        """`op` of two constants in their own type; None where its value is not known for certain.

        At theory exact it is rounded as the op rounds it. Above, where x + (c + k) is (x + c) + k, nothing may be
        rounded: c + k as the number that it is rounded to would make that x + j for another number j.
        """
        if self._names[first] != name or self._names[second] != name:
            return None
        one, other, dtype = self._numbers[first], self._numbers[second], self._dtypes[name]
        if dtype is None:
            is_number = not (isinstance(one, str) or isinstance(other, str) or (op == "divide" and other == 0))
            if not is_number or op not in ARITHMETIC:
                return None
            return self._intern(name, ARITHMETIC[op](one, other))
        if dtype.is_bool or dtype.is_integer:
            result = of_integers(op, one, other)
            if result is None:
                return None
            return self._intern(name, bool(result) if dtype.is_bool else _wrap(result, dtype))
        result = of_floats(op, one, other) if dtype in _ARITHMETIC_FLOATS else None
        if result is None:
            return None
        found = self._intern(name, result)
        left, right = self.fraction(first), self.fraction(second)
        if self.theory is Theory.EXACT or left is None or right is None:
            return found
        return found if self.fraction(found) == ARITHMETIC[op](left, right) else None

    def fold_convert(self, source: str, target: str, constant: int) -> int | None:
        """A converted constant; None where the conversion is the implementation's choice."""
        if self._names[constant] != source:
            return None
        number, to = self._numbers[constant], self._dtypes.get(target)
        value = self.fraction(constant)
        if target == REALS:
            return None if value is None else self._intern(target, value)
        if to is None or to.is_complex:
            return None
        if to.is_bool:
            return None if value is None else self._intern(target, value != 0)
        if to.is_integer:
            from_integer = isinstance(number, (int, bool))
            if value is None or value.denominator != 1:
                return None
            low, high = to.integer_range
            if not from_integer and not low <= value <= high:
                return None
            return self._intern(target, _wrap(int(value), to))
        if to not in _ARITHMETIC_FLOATS or source == REALS:
            return None
        if isinstance(number, (int, bool)) and abs(int(number)) >= 1 << 24:
            return None  # numpy would round large integers twice on their way to a small type
        with np.errstate(all="ignore"):
            if to.bits < 32 and isinstance(number, np.float64) and value not in (None, np.float32(number)):
                return None  # XLA rounds it twice, first to float32: rounded once it may be another number
            return self._intern(target, _NUMPY[to](number if isinstance(number, np.generic) else float(number)))

    def multiple(self, monoid: str, name: str, constant: int, count: int) -> int | None:
        """`count` copies of a constant combined; None where no constant of the type is exactly that."""
        value, dtype = self.fraction(constant), self._dtypes.get(name)
        if self._names[constant] != name:
            return None
        if monoid in IDEMPOTENT:
            return constant if count > 0 else None
        if value is None or count < 1 or (dtype is not None and (dtype.is_bool or dtype.is_complex)):
            return None
        if value == 0 and constant != self.from_fraction(value, name):
            return None  # of -0 it may be either zero
        if monoid == "add":
            return self.from_fraction(value * count, name)
        if monoid == "multiply" and count <= 4096:
            return self.from_fraction(value**count, name)
        return None


def _neutral_for(dtype: DType | None, number: Number, value: Fraction | None, negative_zero: bool) -> Iterator[str]:
    if dtype is not None and not dtype.is_float:
        low, high = dtype.integer_range
        if dtype.is_bool:
            yield from ("and", "minimum", "multiply") if number else ("or", "xor", "maximum", "add")
            return
        if number == 0:
            yield from ("add", "subtract", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")
        if number == 1:
            yield from ("multiply", "divide")
        if number == (-1 if dtype.is_signed else high):
            yield "and"
        if number == low:
            yield "maximum"
        if number == high:
            yield "minimum"
        return
    if value == 1:
        yield from ("multiply", "divide")
    if dtype is None and value == 0:
        yield from ("add", "subtract")
    elif value == 0:
        yield "add" if negative_zero else "subtract"
    infinite = number if isinstance(number, str) else float(number)
    if infinite in ("-inf", -math.inf):
        yield "maximum"
    if infinite in ("inf", math.inf):
        yield "minimum"


def _absorbing_for(dtype: DType | None, number: Number) -> Iterator[str]:
    assert dtype is not None
    low, high = dtype.integer_range
    if number == 0:
        yield from ("and", "multiply")
    if number == (-1 if dtype.is_signed else high):
        yield "or"
    if number == high:
        yield "maximum"
    if number == low:
        yield "minimum"


def is_power_of_two(value: Fraction) -> bool:
    """Plus or minus a power of two, negative exponents included."""
    top, bottom = abs(value.numerator), value.denominator
    return top > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0 and (top == 1 or bottom == 1)


def _wrap(value: int, dtype: DType) -> int:
    low, _ = dtype.integer_range
    return (value - low) % (1 << dtype.bits) + low


def is_value(value: int | str, dtype: DType) -> bool:
    """Whether an integer, or the bits of a float64 or a complex number in hexadecimal, is exactly a value of this type.

    Bits of another length stand for NaN.
    """
    if isinstance(value, int):
        if dtype.is_float or dtype.is_complex:
            return abs(value) <= exact_integers(dtype)
        return dtype.integer_range[0] <= value <= dtype.integer_range[1]
    bits = bytes.fromhex(value)
    if not dtype.is_float or len(bits) != 8:
        return dtype.is_float or (dtype.is_complex and len(bits) == _NUMPY[dtype]().nbytes)
    with np.errstate(all="ignore"):
        number = float(np.frombuffer(bits, np.float64)[0])
        return math.isnan(number) or float(_NUMPY[dtype](number)) == number


def rational(value: Any, dtype: DType) -> Fraction | str:
    """The simplest rational that float32 rounds to a constant, and float64 to one of its own; a whole number is itself.

    Narrower types round to it what differs visibly from the constant as it is used, widened or folded.
    """
    with np.errstate(all="ignore"):
        rounded = float(_NUMPY[dtype](value))
    if not math.isfinite(rounded):
        return "nan" if math.isnan(rounded) else "inf" if rounded > 0 else "-inf"
    if rounded == 0:
        return Fraction(0)
    exact, limits = Fraction(rounded), np.finfo(np.float64 if dtype is DType.F64 else np.float32)
    if exact.denominator == 1:
        return exact
    # Half the gap to the next value below in magnitude, which is the smaller one: safe on both sides.
    spacing = Fraction(2) ** (math.frexp(rounded)[1] - 1 - int(limits.nmant))
    least = max(spacing, Fraction(float(limits.smallest_subnormal)))
    half = least / 4 if is_power_of_two(exact) else least / 2
    return simplest_rational(exact - half, exact + half)


def _key(number: Number) -> Any:
    if isinstance(number, np.generic):
        if number != number and not np.iscomplexobj(number):  # one NaN
            return "nan"
        return number.tobytes()
    return (type(number).__name__, number)
