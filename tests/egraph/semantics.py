"""What patterns mean: evaluation on a few points, in machine numbers or in exact and real arithmetic.

This is the other side of the rules' checks: it shares nothing with the e-graph but the parsed patterns.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np

from egraph.relations import FiniteRelations
from shardproof.validator.rules.rule import Node, Pattern

NUMPY = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
    "ui8": np.uint8,
    "i1": np.bool_,
}
FLOATS = ("f32", "bf16", "f64")
INTEGERS = ("i32", "i8", "ui8")


class Machine:
    """Numbers of the types themselves, bit for bit."""

    def sample(self, dtype: str, rng: random.Random) -> Any:
        kind = NUMPY[dtype]
        if dtype == "i1":
            return kind(rng.random() < 0.5)
        if dtype in INTEGERS:
            limits = np.iinfo(kind)
            low, high = int(limits.min), int(limits.max)
            return kind(rng.choice([low, low + 1, 0, 1, 2, high - 1, high, rng.randint(low, high), rng.randint(0, 9)]))
        limits = ml_dtypes.finfo(kind)
        special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3.0, 0.1]
        special += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal), -float(limits.max)]
        with np.errstate(all="ignore"):
            if rng.random() < 0.4:
                return kind(rng.choice(special))
            exponent = rng.choice([0, 1, -3, 20, -30, rng.randint(-60, 60)])
            return kind(rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0**exponent)

    def constant(self, number: Any, dtype: str) -> Any:
        return NUMPY[dtype](number)

    def equal(self, left: Any, right: Any) -> bool:
        if left != left and right != right:
            return True  # all NaNs are one value
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()

    def apply(self, op: str, source: str, target: str, values: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            result = MACHINE[op](*values) if op != "convert" else _convert(values[0], target)
        return NUMPY[target](result)

    def total(self, monoid: str, dtype: str, values: list[Any]) -> Any:
        # A fixed order, whatever the order of arrival: equal multisets have equal sums.
        ordered = sorted(values, key=lambda value: value.tobytes())
        if not ordered:
            return self.neutral(monoid, dtype)
        return reduce(lambda one, other: self.apply(monoid, dtype, dtype, [one, other]), ordered)

    def neutral(self, monoid: str, dtype: str) -> Any:
        kind = NUMPY[dtype]
        if dtype == "i1":
            return kind(monoid in ("and", "minimum", "multiply"))
        if monoid in ("maximum", "minimum"):
            if dtype in INTEGERS:
                limits = np.iinfo(kind)
                return kind(limits.min if monoid == "maximum" else limits.max)
            return kind(-math.inf if monoid == "maximum" else math.inf)
        return kind({"add": 0, "or": 0, "xor": 0, "multiply": 1}[monoid]) if monoid != "and" else ~kind(0)


def _convert(value: Any, target: str) -> Any:
    if target == "i1":
        return value != 0
    if target in INTEGERS and value.dtype.kind not in "iub":
        return int(value)  # only asked where it is in range
    return value.astype(NUMPY[target])


def _maximum(x: Any, y: Any) -> Any:
    if x != x or y != y:
        return x if x != x else y
    if x == y == 0 and x.dtype.kind not in "iub":
        return y if math.copysign(1, float(x)) < 0 else x
    return max(x, y)


def _minimum(x: Any, y: Any) -> Any:
    if x != x or y != y:
        return x if x != x else y
    if x == y == 0 and x.dtype.kind not in "iub":
        return x if math.copysign(1, float(x)) < 0 else y
    return min(x, y)


def _abs(x: Any) -> Any:
    return np.abs(x)


MACHINE: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y if x.dtype.kind not in "iub" else int(x) // int(y),
    "remainder": np.fmod,
    "maximum": _maximum,
    "minimum": _minimum,
    "negate": lambda x: -x,
    "abs": _abs,
    "sqrt": np.sqrt,
    "not": lambda x: ~x,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shift_left": lambda x, y: x << y,
    "shift_right_logical": lambda x, y: x >> y,
    "shift_right_arithmetic": lambda x, y: x >> y,
    "select": lambda p, x, y: x if p else y,
    "clamp": lambda low, x, high: _minimum(_maximum(x, low), high),
    "compare.LT": lambda x, y: x < y,
    "compare.LE": lambda x, y: x <= y,
    "compare.GT": lambda x, y: x > y,
    "compare.GE": lambda x, y: x >= y,
    "compare.EQ": lambda x, y: x == y,
    "compare.NE": lambda x, y: x != y,
}


class Exact:
    """Rational arithmetic: what machine arithmetic rounds; by zero it divides as floats do."""

    def sample(self, dtype: str, rng: random.Random) -> Fraction:
        return Fraction(rng.randint(-9, 9), rng.choice([1, 1, 2, 3, 7]))

    def constant(self, number: Any, dtype: str) -> Fraction:
        return Fraction(number if isinstance(number, (int, Fraction)) else float(number))

    def equal(self, left: Any, right: Any) -> bool:
        return left == right or (left != left and right != right)

    def apply(self, op: str, source: str, target: str, values: list[Any]) -> Any:
        return _FIELD[op](*values)

    def total(self, monoid: str, dtype: str, values: list[Any]) -> Any:
        neutral = {"add": Fraction(0), "multiply": Fraction(1), "maximum": -math.inf, "minimum": math.inf}[monoid]
        return reduce(_FIELD[monoid], values, neutral)


_FIELD: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y if y else (math.copysign(math.inf, x) if x else math.nan),
    "negate": lambda x: -x,
    "maximum": max,
    "minimum": min,
    "select": lambda p, x, y: x if p else y,
}


class Reals:
    """The reals, by float64 on moderate values; equality up to 1e-9, undefined equals undefined."""

    def sample(self, dtype: str, rng: random.Random) -> float:
        return rng.uniform(-3, 3)

    def constant(self, number: Any, dtype: str) -> float:
        return float(number)

    def equal(self, left: Any, right: Any) -> bool:
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)

    def apply(self, op: str, source: str, target: str, values: list[Any]) -> float:
        try:
            return float(_REAL[op](*values))
        except (ValueError, ZeroDivisionError):
            return math.nan

    def total(self, monoid: str, dtype: str, values: list[Any]) -> float:
        neutral = {"add": 0.0, "multiply": 1.0, "maximum": -math.inf, "minimum": math.inf}[monoid]
        return reduce(_REAL[monoid], values, neutral)


_REAL = _FIELD | {
    "exponential": math.exp,
    "log": math.log,
    "exponential_minus_one": math.expm1,
    "log_plus_one": math.log1p,
    "logistic": lambda x: 0.5 * (1 + math.tanh(x / 2)),
    "sqrt": math.sqrt,
    "rsqrt": lambda x: x**-0.5 if x > 0 else math.nan,
    "power": math.pow,
}

Numbers = Machine | Exact | Reals


def evaluate(pattern: Pattern, env: dict[str, Any], numbers: Numbers, relations: FiniteRelations) -> list[Any]:
    """The values of a pattern at all points. `env` binds terms to lists, constants to numbers, the rest to names."""
    if isinstance(pattern, str):
        return env[pattern]

    def name(text: str) -> Any:
        return env.get(text, text)

    source, target = name(pattern.source), name(pattern.target)
    if pattern.head == "const":
        return [numbers.constant(env[str(pattern.arguments[0])], source)] * relations.size
    if pattern.head == "view":
        sets = relations.sets(env[str(pattern.arguments[0])])
        values = evaluate(pattern.arguments[1], env, numbers, relations)
        assert all(len(points) == 1 for points in sets), "a view through a relation that is no function"
        return [values[points[0]] for points in sets]
    if pattern.head == "total":
        monoid, relation, term = pattern.arguments
        sets = relations.sets(env[str(relation)])
        values = evaluate(term, env, numbers, relations)
        return [numbers.total(name(str(monoid)), source, [values[x] for x in points]) for points in sets]
    operands = [evaluate(argument, env, numbers, relations) for argument in pattern.arguments]
    op = name(pattern.head)
    return [numbers.apply(op, source, target, list(row)) for row in zip(*operands, strict=True)]


def term_dtypes(pattern: Pattern, dtype: str, found: dict[str, str]) -> None:
    """The element types of the term variables, as names or type variables; `dtype` is the pattern's own."""
    if isinstance(pattern, str):
        found.setdefault(pattern, dtype)
        return
    if pattern.head == "view":
        term_dtypes(pattern.arguments[1], dtype, found)
    elif pattern.head == "total":
        term_dtypes(pattern.arguments[2], pattern.source, found)
    elif pattern.head != "const":
        for position, argument in enumerate(pattern.arguments):
            predicate = pattern.head == "select" and position == 0
            term_dtypes(argument, "i1" if predicate else pattern.source, found)


def own_dtype(pattern: Pattern) -> str:
    """The element type of a pattern, as a name or type variable; `d` for one that leaves it open."""
    if isinstance(pattern, str):
        return "d"
    if pattern.head == "view":
        return own_dtype(pattern.arguments[1])
    return pattern.target


def heads(pattern: Pattern) -> set[str]:
    """All op names and monoids of a pattern."""
    if isinstance(pattern, str):
        return set()
    found = {pattern.head} if pattern.head not in ("view", "total", "const") else set()
    if pattern.head == "total":
        found.add(str(pattern.arguments[0]))
    return found.union(*(heads(argument) for argument in pattern.arguments))


def arity_of(pattern: Pattern, op: str) -> int | None:
    """With how many operands a pattern uses an op."""
    if isinstance(pattern, Node):
        if pattern.head == op:
            return len(pattern.arguments)
        for argument in pattern.arguments:
            arity = arity_of(argument, op)
            if arity is not None:
                return arity
    return None
