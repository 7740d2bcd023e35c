"""Reducers that only choose between their arguments, and their laws, proved by running every case.

Such a region is made of comparisons, boolean logic and selections. What it does with a few argument tuples depends on
nothing but which elements of one type are equal, less or not a number. So running it on one representative of every
order is a proof, not a test. Floats that compare equal may still be different bits (0 and -0, payloads of NaN): a law
holds only if both sides choose the *same* element, not merely an equal one.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType, Op, Region
from .monoid import Monoid

MAX_CASES = 1 << 20
"""A region with more cases than this is not looked at."""

_COMPARE = {
    Comparison.EQ: np.equal,
    Comparison.NE: np.not_equal,
    Comparison.GE: np.greater_equal,
    Comparison.GT: np.greater,
    Comparison.LE: np.less_equal,
    Comparison.LT: np.less,
}
_LOGIC = {"stablehlo.and": np.logical_and, "stablehlo.or": np.logical_or, "stablehlo.xor": np.logical_xor}
_EXTREMES = {"stablehlo.maximum": np.maximum, "stablehlo.minimum": np.minimum}


@dataclass(frozen=True, slots=True)
class Laws:
    """What holds of a reducer for all arguments, bit for bit."""

    associative: bool
    commutative: bool
    idempotent: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Elements:
    """One element a case: its value, and which of the given elements it is."""

    values: np.ndarray
    tags: np.ndarray


_Tuple = Sequence[_Elements]


class _Unknown(Exception):
    """The region does more than choose."""


def laws_of(region: Region) -> Laws | None:
    """The laws of a reducer of tuples, None where it does more than choose or has too many cases."""
    types = _types(region)
    if types is None:
        return None
    cases = _every_order(types)
    if cases is None:
        return None
    first, second, third = cases
    try:
        left = _apply(region, _apply(region, first, second), third)
        right = _apply(region, first, _apply(region, second, third))
        forth, back = _apply(region, first, second), _apply(region, second, first)
        twice = _apply(region, first, first)
    except _Unknown:
        return None
    return Laws(
        _same(types, left, right, by_value=False),
        _same(types, forth, back, by_value=False),
        _same(types, twice, first, by_value=False),
    )


def choices_of(region: Region) -> str | None:
    """What a reducer of tuples chooses in every case, as a digest; None where it does more than choose.

    Reducers with one digest are one function, however they are written.
    """
    types = _types(region)
    cases = None if types is None else _every_order(types)
    if types is None or cases is None:
        return None
    try:
        chosen = _apply(region, cases[0], cases[1])
    except _Unknown:
        return None
    digest = hashlib.sha256(repr([dtype.value for dtype in types]).encode())
    for dtype, element in zip(types, chosen, strict=True):
        digest.update(np.ascontiguousarray(element.tags if dtype.is_float else element.values, np.int64).tobytes())
    return digest.hexdigest()


def absorbs(region: Region, start: Sequence[float | int]) -> bool:
    """Whether e = `start` may stand anywhere and any number of times: e·x = x·e for every x, and e·e = e.

    Then a reduction that inserts e at least once is e·x1·…·xn whatever the places, and elements that are e count for
    nothing.
    """
    types = _types(region)
    if types is None:
        return False
    columns: list[Sequence[float | int]] = []
    for dtype in types:
        mine = [number for number, other in zip(start, types, strict=True) if other is dtype]
        columns.append(_around(dtype, mine))
    if math.prod(len(column) for column in columns) > MAX_CASES:
        return False
    grid = list(itertools.product(*columns))
    given = [_elements([row[k] for row in grid], dtype, k) for k, dtype in enumerate(types)]
    fixed = [_elements([start[k]] * len(grid), dtype, -1 - k) for k, dtype in enumerate(types)]
    try:
        before, after = _apply(region, fixed, given), _apply(region, given, fixed)
        twice = _apply(region, fixed, fixed)
    except _Unknown:
        return False
    return _same(types, before, after, by_value=True) and _same(types, twice, fixed, by_value=True)


def seems_neutral(region: Region, start: Sequence[float | int]) -> bool:
    """Whether the reducer leaves a few elements as they are when it meets the start value on either side."""
    # the evaluator's machine knows every op's record, and records know how they relate: imported when it is needed
    from ..evaluate.arithmetic import Native
    from ..evaluate.errors import EvaluationError
    from ..evaluate.machine import Machine
    from ..evaluate.numbers import STORAGE
    from ..evaluate.regions import RegionCall

    count = len(_TRIED)
    types = [argument.tensor.dtype for argument in region.arguments[: len(start)]]
    if len(region.arguments) != 2 * len(types) or any(not (t.is_float or t.is_integer or t.is_bool) for t in types):
        return False
    arithmetic = Native()
    tried = [arithmetic.load(np.array(_TRIED).astype(STORAGE[dtype]), dtype) for dtype in types]
    fixed = [
        arithmetic.load(np.full(count, number).astype(STORAGE[dtype]), dtype)
        for number, dtype in zip(start, types, strict=True)
    ]
    with np.errstate(all="ignore"):
        try:
            left = Machine(count, arithmetic).call(RegionCall(region, [*fixed, *tried]))
            right = Machine(count, arithmetic).call(RegionCall(region, [*tried, *fixed]))
        except EvaluationError:
            return False
    return all(np.array_equal(a, b) for made in (left, right) for a, b in zip(made, tried, strict=True))


_TRIED = (0, 1, 2, 3, 7, 60)


def _types(region: Region) -> list[DType] | None:
    """Element types of one tuple; None unless the region maps two tuples of scalars to one."""
    count = len(region.results)
    if len(region.arguments) != 2 * count or any(argument.tensor.rank for argument in region.arguments):
        return None
    types = [argument.tensor.dtype for argument in region.arguments]
    if types[:count] != types[count:] or types[:count] != [result.tensor.dtype for result in region.results]:
        return None
    return None if any(dtype.is_complex for dtype in types) else types[:count]


def _every_order(types: Sequence[DType]) -> list[list[_Elements]] | None:
    """Three tuples that between them are in every order which elements of one type can be in."""
    columns: list[Sequence[float | int]] = []
    for dtype in [*types, *types, *types]:
        distinct = range(3 * sum(other is dtype for other in types))
        columns.append([0, 1] if dtype.is_bool else [*distinct, float("nan")] if dtype.is_float else distinct)
    if math.prod(len(column) for column in columns) > MAX_CASES:
        return None
    grid = np.meshgrid(*[np.arange(len(column)) for column in columns], indexing="ij")
    made = []
    for k, (positions, column) in enumerate(zip(grid, columns, strict=True)):
        values = np.array(column)[positions.ravel()]
        made.append(_Elements(values, np.full(len(values), k)))
    count = len(types)
    return [made[k * count : (k + 1) * count] for k in range(3)]


def _elements(values: Sequence[float | int], dtype: DType, tag: int) -> _Elements:
    # object holds the few integers that 64 signed bits do not
    wide = not dtype.is_float and dtype.is_integer and dtype.integer_range[1] >= 1 << 63
    array = np.array(values, np.float64 if dtype.is_float else object if wide else np.int64)
    return _Elements(array, np.full(len(values), tag))


def _around(dtype: DType, numbers: Sequence[float | int]) -> list[float | int]:
    """Values of the type in every order relative to these numbers, enough of them for as many elements."""
    count = len(numbers)
    if not dtype.is_float:
        low, high = dtype.integer_range
        near = {int(number) + step for number in numbers for step in range(-count, count + 1)}
        return sorted(number for number in near if low <= number <= high)
    ends = sorted({float("-inf"), float("inf"), *(number for number in numbers if number == number)})
    found: list[float | int] = [float("nan"), *ends]
    for low, high in itertools.pairwise(ends):
        base = low if math.isfinite(low) else high - count - 1 if math.isfinite(high) else 0.0
        step = (high - low) / (count + 1) if math.isfinite(low) and math.isfinite(high) else 1.0
        found.extend(base + (k + 1) * step for k in range(count))
    return found


def _apply(region: Region, left: _Tuple, right: _Tuple) -> list[_Elements]:
    """The region on every case at once."""
    known = dict(zip((argument.number for argument in region.arguments), [*left, *right], strict=True))
    cases = len(left[0].values)
    for op in region.ops:
        if op.regions or len(op.results) != 1 or any(operand.number not in known for operand in op.operands):
            raise _Unknown
        known[op.results[0].number] = _step(op, [known[operand.number] for operand in op.operands], cases)
    if any(result.number not in known for result in region.results):
        raise _Unknown
    return [known[result.number] for result in region.results]


def _step(op: Op, operands: list[_Elements], cases: int) -> _Elements:
    values = [operand.values for operand in operands]
    no_tags = np.zeros(cases, np.int64)
    if op.name == "stablehlo.constant" and op.results[0].tensor.dtype.is_bool:
        return _Elements(np.full(cases, int(np.asarray(op.attributes["value"]).item()), np.int64), no_tags)
    if not operands:
        raise _Unknown
    dtype = op.operands[0].tensor.dtype
    if op.name == "stablehlo.compare":
        if str(op.attributes.get("compare_type", "")).upper().endswith("TOTALORDER") or dtype.is_complex:
            raise _Unknown
        function = _COMPARE[op.attributes["comparison_direction"]]
        return _Elements(function(*values).astype(np.int64), no_tags)
    if op.name == "stablehlo.select":
        chosen = values[0].astype(bool)
        tags = np.where(chosen, operands[1].tags, operands[2].tags)
        return _Elements(np.where(chosen, values[1], values[2]), tags)
    if op.name in _LOGIC and dtype.is_bool:
        return _Elements(_LOGIC[op.name](*[v.astype(bool) for v in values]).astype(np.int64), no_tags)
    if op.name == "stablehlo.not" and dtype.is_bool:
        return _Elements(np.logical_not(values[0].astype(bool)).astype(np.int64), no_tags)
    if op.name in _EXTREMES and dtype.is_integer:
        return _Elements(_EXTREMES[op.name](*values), no_tags)
    raise _Unknown


def _same(types: Sequence[DType], left: _Tuple, right: _Tuple, *, by_value: bool) -> bool:
    """Whether both are the same bits in every case; `by_value` where values are real ones and not only an order."""
    for dtype, one, other in zip(types, left, right, strict=True):
        if not dtype.is_float:
            equal = one.values == other.values
        else:
            equal = one.tags == other.tags
            if by_value:
                equal |= (one.values == other.values) & (one.values != 0)
        if not np.all(equal):
            return False
    return True


def extreme_of(region: Region, start: Sequence[float | int]) -> Monoid | None:
    """Maximum or minimum, for a reducer of (value, index) pairs that finds where the extreme value is; else None.

    What every case has to show: what is chosen as the value compares equal to the extreme one (NaN, if there is any);
    indices are told apart among themselves alone; of two pairs with growing indices the chosen index is that of a value
    which compares equal to the chosen one; and the start value gives way to a pair of the same index.
    """
    types = _types(region)
    cases = None if types is None or len(types) != 2 else _every_order(types)
    if types is None or cases is None or not types[1].is_integer or any(dtype.is_bool for dtype in types):
        return None
    (x, i), (y, j), _ = cases
    values = _around(types[0], [start[0]])
    given = [_elements(values, types[0], 0), _elements([start[1]] * len(values), types[1], 1)]
    fixed = [_elements([start[k]] * len(values), dtype, -1 - k) for k, dtype in enumerate(types)]
    try:
        value, index = _apply(region, (x, i), (y, j))
        met = _apply(region, fixed, given)
    except _Unknown:
        return None
    from_left = (index.values == i.values) & _alike(value.values, x.values)
    from_right = (index.values == j.values) & _alike(value.values, y.values)
    of_one_pair = np.all((from_left | from_right)[i.values < j.values])
    if not of_one_pair or not _same(types, met, given, by_value=True) or not _kept_apart(region):
        return None
    for monoid, extreme in ((Monoid.MAX, np.maximum), (Monoid.MIN, np.minimum)):
        if np.all(_alike(value.values, extreme(x.values, y.values))):
            return monoid
    return None


def _alike(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where elements compare equal or are both NaN: no comparison tells them apart."""
    return (first == second) | ((first != first) & (second != second))


def _kept_apart(region: Region) -> bool:
    """Whether no element of one place in the tuple is compared to, or put in the place of, one of another."""
    count = len(region.results)
    places = {argument.number: {k % count} for k, argument in enumerate(region.arguments)}
    for op in region.ops:
        choices = op.operands[1:] if op.name == "stablehlo.select" else op.operands
        met = set().union(*(places.get(operand.number, set()) for operand in choices))
        if len(met) > 1:
            return False
        places[op.results[0].number] = set() if op.results[0].tensor.dtype.is_bool else met
    return all(places.get(result.number) == {k} for k, result in enumerate(region.results))
