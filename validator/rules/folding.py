"""Ops of constants in their own arithmetic: what numbers they come to, as far as that is known for certain."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}

_BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def of_integers(op: str, one: int, other: int) -> int | None:
    """Before it wraps around; booleans are integers here."""
    if op in ("add", "subtract", "multiply") and not isinstance(one, bool):
        return ARITHMETIC[op](one, other)
    if op in ("maximum", "minimum"):
        return max(one, other) if op == "maximum" else min(one, other)
    return _BITWISE[op](one, other) if op in _BITWISE else None


def of_floats(op: str, one: Any, other: Any) -> Any:
    """Rounded as numpy rounds it, which is once; None by zero, where the sign of that would decide.

    Extremes of floats stay what they are: the program that has max(x, 3) and max(x, 3, 2) has two terms.
    """
    if op not in ARITHMETIC or (op == "divide" and float(other) == 0):
        return None
    with np.errstate(all="ignore"):
        return ARITHMETIC[op](one, other)


def square_root(value: Fraction) -> Fraction | None:
    """The root of a number that is a square; None for any other."""
    if value < 0:
        return None
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else None
