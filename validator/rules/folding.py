"""Ops of constants in their own arithmetic: what numbers they come to, as far as that is known for certain."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}

FOLDED = (*ARITHMETIC, "maximum", "minimum")
"""The ops of two floats."""

_BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def of_integers(op: str, one: int, other: int) -> int | None:
    """Before it wraps around; booleans are integers here."""
    if op in ("add", "subtract", "multiply") and not isinstance(one, bool):
        return ARITHMETIC[op](one, other)
    if op in ("maximum", "minimum"):
        return max(one, other) if op == "maximum" else min(one, other)
    return _BITWISE[op](one, other) if op in _BITWISE else None


def of_floats(op: str, one: Any, other: Any) -> Any:
    """Rounded as numpy rounds it, which is once; None of NaN, and where the sign of a zero would decide."""
    with np.errstate(all="ignore"):
        if op in ARITHMETIC:
            return None if op == "divide" and float(other) == 0 else ARITHMETIC[op](one, other)
    if op not in FOLDED or not (one < other or other < one or one == other != 0):
        return None
    return min(one, other) if op == "minimum" else max(one, other)


def exactly(op: str, one: Fraction, other: Fraction) -> Fraction:
    """The same without rounding."""
    if op in ARITHMETIC:
        return ARITHMETIC[op](one, other)
    return max(one, other) if op == "maximum" else min(one, other)


def square_root(value: Fraction) -> Fraction | None:
    """The root of a number that is a square; None for any other."""
    if value < 0:
        return None
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else None
