"""The arithmetic interface of the evaluator, and the two arithmetics that compute with floats.

An `Arithmetic` says how floating-point and complex elements are held and what the scalar operations on them mean;
integers and booleans behave natively in all of them. Data movement never looks at elements and so is the same code
for every arithmetic.
"""

from __future__ import annotations

import abc
from functools import partial

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType
from . import floats, integers
from .errors import UnsupportedOp
from .numbers import STORAGE, from_bits, regroup_bits, to_bits, wrap

_REDUCERS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _holds(dtype: DType) -> tuple[bool, bool, int]:
    """Orders types by what they hold: complex numbers before floats before integers, then by width."""
    return dtype.is_complex, dtype.is_float, dtype.bits


class Arithmetic(abc.ABC):
    """What elements are and what scalar operations do to them; `name` is what reports print."""

    name: str

    def load(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        """Bring plain numpy data of the given element type into this arithmetic."""
        if dtype.is_float or dtype.is_complex:
            return self.load_float(np.asarray(array), dtype)
        return integers.convert(np.asarray(array), dtype)

    def storage(self, dtype: DType) -> np.dtype:
        """The numpy type this arithmetic holds elements of the given type in."""
        if dtype.is_float or dtype.is_complex:
            return self.float_storage(dtype)
        return STORAGE[dtype]

    def full(self, shape: tuple[int, ...], value: complex, dtype: DType) -> np.ndarray:
        """A tensor of one plain number."""
        return np.broadcast_to(self.load(np.asarray(value), dtype), shape)

    def unary(self, name: str, x: np.ndarray, dtype: DType) -> np.ndarray:
        if dtype.is_float or dtype.is_complex:
            return self.float_unary(name, x, dtype)
        return integers.unary(name, x, dtype)

    def binary(self, name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        if dtype.is_float or dtype.is_complex:
            return self.float_binary(name, x, y, dtype)
        return integers.binary(name, x, y, dtype)

    def compare(
        self, direction: Comparison, x: np.ndarray, y: np.ndarray, dtype: DType, total_order: bool = False
    ) -> np.ndarray:
        if dtype.is_float or dtype.is_complex:
            return self.float_compare(direction, x, y, dtype, total_order)
        return integers.COMPARE[direction](x, y)

    def convert(self, x: np.ndarray, source: DType, target: DType) -> np.ndarray:
        if source is target:
            return x
        if source.is_float or source.is_complex:
            return self.convert_float(x, source, target)
        if target.is_float or target.is_complex:
            return self.load(x, target)
        return integers.convert(x, target)

    def bitcast(self, x: np.ndarray, source: DType, target: DType) -> np.ndarray:
        """Reinterpret bits; a change of width acts on the last dimension."""
        if source is target:
            return x
        if not (source.is_float or source.is_complex):
            bits = to_bits(x, source)
        else:
            bits = self.float_bits(x, source)
        return self.load(from_bits(regroup_bits(bits, source, target), target), target)

    def constant(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        """The elements of a constant as this arithmetic has them."""
        return self.load(array, dtype)

    def reduce(self, name: str, x: np.ndarray, axis: int, dtype: DType) -> np.ndarray:
        """Combine one axis, which must not be empty, with a commutative binary operation."""
        if dtype.is_float or dtype.is_complex:
            return self.float_reduce(name, x, axis, dtype)
        if dtype.is_bool:
            name = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}.get(name, name)
        if name not in _REDUCERS:
            raise UnsupportedOp(f"stablehlo.{name}", "as a reducer")
        return wrap(_REDUCERS[name].reduce(x, axis=axis, dtype=x.dtype), dtype)

    def matmul(self, x: np.ndarray, y: np.ndarray, lhs: DType, rhs: DType, out: DType) -> np.ndarray:
        """Products [..., m, k] by [..., k, n], accumulated in the result's type, or an operand's that holds more."""
        kept = max((out, lhs, rhs), key=_holds)
        left, right = self.convert(x, lhs, kept), self.convert(y, rhs, kept)
        if kept.is_float or kept.is_complex:
            return self.convert(self.float_matmul(left, right, kept), kept, out)
        if kept.is_bool:
            return np.matmul(left, right)
        return self.convert(wrap(np.matmul(left, right), kept), kept, out)

    def sort_keys(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        """Numbers that numpy compares as this arithmetic orders the elements, floats by their total order."""
        return self.float_sort_keys(x, dtype) if dtype.is_float else x

    @abc.abstractmethod
    def float_storage(self, dtype: DType) -> np.dtype: ...

    @abc.abstractmethod
    def load_float(self, array: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def unload(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        """Elements as numpy numbers that can be compared with another program's: floats widened, or residues."""

    @abc.abstractmethod
    def float_unary(self, name: str, x: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_binary(self, name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_compare(
        self, direction: Comparison, x: np.ndarray, y: np.ndarray, dtype: DType, total_order: bool
    ) -> np.ndarray: ...

    @abc.abstractmethod
    def is_finite(self, x: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def convert_float(self, x: np.ndarray, source: DType, target: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_bits(self, x: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_reduce(self, name: str, x: np.ndarray, axis: int, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_matmul(self, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def float_sort_keys(self, x: np.ndarray, dtype: DType) -> np.ndarray: ...

    @abc.abstractmethod
    def reduce_precision(self, x: np.ndarray, dtype: DType, exponent_bits: int, mantissa_bits: int) -> np.ndarray: ...


class _FloatArithmetic(Arithmetic):
    """Floats computed as floats: in their own type, or all in float64."""

    def __init__(self, *, wide: bool, narrowing: bool) -> None:
        self._wide = wide
        self._narrowing = narrowing

    def float_storage(self, dtype: DType) -> np.dtype:
        if not self._wide:
            return STORAGE[dtype]
        return np.dtype(np.complex128 if dtype.is_complex else np.float64)

    def load_float(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        if self._wide:
            return floats.widen(array, dtype)
        return floats.round_to(array, dtype)

    def unload(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return floats.widen(x, dtype) if dtype.is_float or dtype.is_complex else x

    def _compute(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        """The type computed in: narrow floats compute in float32, whose rounding the basic operations cannot tell."""
        return x.astype(np.float32) if not self._wide and dtype.is_float and dtype.bits < 32 else x

    def _done(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return x if self._wide else floats.round_to(x, dtype)

    def float_unary(self, name: str, x: np.ndarray, dtype: DType) -> np.ndarray:
        return self._done(floats.unary(name, self._compute(x, dtype)), dtype)

    def float_binary(self, name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        return self._done(floats.binary(name, self._compute(x, dtype), self._compute(y, dtype)), dtype)

    def float_compare(
        self, direction: Comparison, x: np.ndarray, y: np.ndarray, dtype: DType, total_order: bool
    ) -> np.ndarray:
        x, y = self._compute(x, dtype), self._compute(y, dtype)
        if total_order and dtype.is_float:
            x, y = floats.total_order_keys(x), floats.total_order_keys(y)
        return integers.COMPARE[direction](x, y)

    def convert_float(self, x: np.ndarray, source: DType, target: DType) -> np.ndarray:
        if target.is_complex:
            return self._done(x.astype(np.complex128), target)
        if source.is_complex:
            x = np.real(x)
        if target.is_float:
            return floats.round_to(x, target).astype(self.float_storage(target)) if self._narrowing else x
        return integers.saturate(x.astype(np.float64), target)

    def is_finite(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return np.isfinite(self._compute(x, dtype))

    def float_bits(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return to_bits(floats.round_to(x, dtype), dtype)

    def float_reduce(self, name: str, x: np.ndarray, axis: int, dtype: DType) -> np.ndarray:
        if name not in _REDUCERS or name in ("and", "or", "xor"):
            raise UnsupportedOp(f"stablehlo.{name}", "as a reducer of floats")
        x = self._compute(x, dtype)
        # numpy starts sums with 0, which makes 0 of elements that are all -0
        start = {"initial": -np.zeros((), x.dtype)} if name == "add" else {}
        choose = partial(_REDUCERS[name].reduce, axis=axis, **start)
        found = choose(x)
        return self._done(floats.zeros_in_order(found, x, choose) if name in ("maximum", "minimum") else found, dtype)

    def float_matmul(self, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        return self._done(np.matmul(self._compute(x, dtype), self._compute(y, dtype)), dtype)

    def float_sort_keys(self, x: np.ndarray, dtype: DType) -> np.ndarray:
        return floats.total_order_keys(self._compute(x, dtype))

    def reduce_precision(self, x: np.ndarray, dtype: DType, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
        if not self._narrowing:
            return x
        # What is narrower than 16 bits has no bits for infinities in every type.
        held = x.astype(np.float32) if x.dtype.itemsize == 1 else x
        return self._done(floats.reduce_precision(held, exponent_bits, mantissa_bits), dtype)


class Native(_FloatArithmetic):
    """Every type computed as itself, as a device would."""

    name = "native"

    def __init__(self) -> None:
        super().__init__(wide=False, narrowing=True)


class Wide(_FloatArithmetic):
    """All floats in float64 and complex numbers in complex128.

    Conversions to narrower floats and `reduce_precision` keep the value unless `narrowing` is set, so that programs
    which differ only in where they round agree up to float64 rounding. With `moved`, a constant that seems to be a
    rounded number is another number that is rounded to it, or nearly so.
    """

    name = "wide"

    def __init__(self, *, narrowing: bool = False, moved: np.random.Generator | None = None) -> None:
        super().__init__(wide=True, narrowing=narrowing)
        self._moved = moved

    def constant(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        loaded = self.load(array, dtype)
        if self._moved is None or not seems_rounded(array, dtype).any():
            return loaded
        ulp = float(np.finfo(STORAGE[dtype]).eps)
        moved = loaded * (1 + ulp / 2 * self._moved.choice([-1.0, 1.0], loaded.shape))
        return np.where(seems_rounded(array, dtype), moved, loaded)


def seems_rounded(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Which elements of a constant are likely to be rounded: no whole numbers, and none of few digits.

    Of types narrower than float32 none is told: where they round, they round more than what is looked for.
    """
    if not dtype.is_float or dtype.bits < 32:
        return np.zeros(array.shape, np.bool_)
    scale = 2.0 ** (np.finfo(STORAGE[dtype]).nmant // 2)
    with np.errstate(invalid="ignore"):
        fraction = np.frexp(array.astype(np.float64))[0] * scale
        return np.isfinite(array) & (array != np.rint(array)) & (fraction != np.rint(fraction))
