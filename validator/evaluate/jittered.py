"""The wide arithmetic with every rounding made another one: how far a result moves tells what rounding may do to it.

Inputs that move by a hair do not show it: 1 − cos(1e-9 · x) is 0 in float64 for all x near the one at hand, though it
is 5e-19 · x². What is computed exactly is left as it is, so that equal numbers stay equal and whole ones stay whole.
"""

from __future__ import annotations

import numpy as np

from ..read.ir import DType
from .arithmetic import Wide

_EXACT = frozenset(
    [
        *("abs", "ceil", "floor", "maximum", "minimum", "negate", "remainder", "sign"),
        *("round_nearest_afz", "round_nearest_even"),
    ]
)
_UNIT = 2.0**-46
_SPLITTER = 2.0**27 + 1


class Jittered(Wide):
    """All floats in float64, where what is rounded is then changed in its last few bits."""

    name = "jittered"

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng([seed, 0x11])

    def float_unary(self, name: str, x: np.ndarray, dtype: DType) -> np.ndarray:
        found = super().float_unary(name, x, dtype)
        if name in _EXACT and not dtype.is_complex:
            return found
        if name == "sqrt" and not dtype.is_complex:
            return self._shaken(found, _product_is(found, found, x))
        # of a whole number such functions are whole where they are so exactly, as exp(0) and log2(1)
        return self._shaken(found, _is_whole(x) & _is_whole(found) & (np.abs(x) <= 1))

    def float_binary(self, name: str, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        found = super().float_binary(name, x, y, dtype)
        if name in _EXACT:
            return found
        if dtype.is_complex or name not in ("add", "subtract", "multiply", "divide"):
            return self._shaken(found, _is_whole(x) & _is_whole(y) & _is_whole(found))
        with np.errstate(all="ignore"):
            if name == "multiply":
                return self._shaken(found, _product_is(x, y, found))
            if name == "divide":
                return self._shaken(found, _product_is(found, y, x))
            other = y if name == "add" else -y
            taken = found - x
            return self._shaken(found, ((x - (found - taken)) + (other - taken)) == 0)

    def float_reduce(self, name: str, x: np.ndarray, axis: int, dtype: DType) -> np.ndarray:
        found = super().float_reduce(name, x, axis, dtype)
        exact = name in _EXACT or x.shape[axis] == 1
        return found if exact else self._shaken(found, _is_whole(x).all(axis=axis) & _is_whole(found))

    def float_matmul(self, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
        found = super().float_matmul(x, y, dtype)
        whole = np.all(_is_whole(x), axis=-1)[..., :, None] & np.all(_is_whole(y), axis=-2)[..., None, :]
        return self._shaken(found, whole & _is_whole(found))

    def _shaken(self, found: np.ndarray, exact: np.ndarray) -> np.ndarray:
        """What was found, changed in its last few bits but for what is exact."""
        change = self._change(found.shape)
        if found.dtype.kind == "c":
            change = change + 1j * self._change(found.shape)
        with np.errstate(all="ignore"):
            return np.where(exact | ~np.isfinite(found), found, found * (1 + _UNIT * change))

    def _change(self, shape: tuple[int, ...]) -> np.ndarray:
        """In units of about a hundred of the last place: two changes rarely undo each other."""
        return self._rng.choice(np.array([-1, 1]), shape) * self._rng.uniform(1, 2, shape)


def _is_whole(x: np.ndarray) -> np.ndarray:
    """Where a number is whole and small enough for its sums and products to be exact."""
    with np.errstate(all="ignore"):
        return (x == np.rint(x)) & (np.abs(x) < 2.0**53)


def _product_is(x: np.ndarray, y: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Where x · y is a number exactly: the product and what its rounding leaves, from halves of both factors."""
    with np.errstate(all="ignore"):
        product = x * y
        (high_x, low_x), (high_y, low_y) = _halves(x), _halves(y)
        left = ((high_x * high_y - product) + high_x * low_y + low_x * high_y) + low_x * low_y
        return (product == whole) & (left == 0)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high
