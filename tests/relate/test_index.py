"""Index arithmetic against the reference evaluator: all integer types, at zero and at both ends, and exact floats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import islpy as isl
import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.evaluate.numbers import STORAGE
from shardproof.validator.ops.integers import exact_integers, index_function
from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.ir import UNKNOWN_LOCATION, DType, Op, TensorType, Value
from shardproof.validator.relation.store import Dom, Rel, Store
from tests.tools.points import enumerate_set

INTEGERS = [dtype for dtype in DType if dtype.is_integer]
FLOATS = [DType.F64, DType.F32, DType.F16, DType.BF16]
Box = Sequence[range]

UNARY = ("negate", "abs", "sign", "not", "popcnt")
BINARY = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "maximum",
    "minimum",
    "mulhi",
    "and",
    "or",
    "xor",
    "power",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
)


def full_name(name: str) -> str:
    return f"{'chlo' if name == 'mulhi' else 'stablehlo'}.{name}"


def evaluated(
    name: str, attributes: Mapping[str, Any], types: Sequence[DType], result: DType, columns: Sequence[Sequence[int]]
) -> np.ndarray:
    """What the reference evaluator computes for rows of plain integers."""
    count = len(columns[0])
    operands = tuple(Value(k, TensorType((count,), dtype), f"%{k}") for k, dtype in enumerate(types))
    out = Value(len(types), TensorType((count,), result), "%out")
    op = Op(full_name(name), operands, (out,), attributes, (), UNKNOWN_LOCATION)
    arrays = [np.asarray([column], STORAGE[dtype]) for column, dtype in zip(columns, types, strict=True)]
    return np.asarray(Machine(1, Native()).evaluate(op, arrays)[0][0])


def as_integers(array: np.ndarray, dtype: DType) -> list[int] | None:
    """The elements as integers; None where one is no integer or a negative zero."""
    if not dtype.is_float:
        return [int(x) for x in array]
    wide = array.astype(np.float64)
    if not np.isfinite(wide).all() or (wide != np.floor(wide)).any() or np.signbit(wide[wide == 0]).any():
        return None
    return [int(x) for x in wide]


def whole_domain(store: Store, box: Box) -> Dom:
    bounds = " and ".join(f"{part[0]} <= a{k} <= {part[-1]}" for k, part in enumerate(box))
    return store.dom(f"{{[{','.join(f'a{k}' for k in range(len(box)))}] : {bounds}}}")


def equals(store: Store, found: Rel, rows: list[tuple[int, ...]], wanted: list[int]) -> bool:
    """Whether the relation is exactly these rows; written out where numbers are too large for arrays."""
    if all(abs(n) < 1 << 12 for row in rows for n in row) and all(abs(n) < 1 << 12 for n in wanted):
        points = {tuple(map(int, point)) for point in enumerate_set(found.map.wrap().flatten())}
        return points == {(*row, n) for row, n in zip(rows, wanted, strict=True)}
    pieces = "; ".join(f"[{', '.join(map(str, row))}] -> [{n}]" for row, n in zip(rows, wanted, strict=True))
    return bool(found.map.is_equal(isl.Map(f"{{{pieces}}}")))


def agrees(name: str, types: Sequence[DType], result: DType, box: Box, attributes: Mapping[str, Any]) -> bool:
    """Compares the function of an op on a box of values; False where it is not modelled."""
    store = Store()
    domain = whole_domain(store, box)
    function = index_function(store, full_name(name), attributes, types, result, store.identity_on(domain))
    if function is None:
        return False
    rows = list(itertools.product(*box))
    wanted = as_integers(evaluated(name, attributes, types, result, list(zip(*rows, strict=True))), result)
    where = f"{name} {dict(attributes)} {[t.value for t in types]} -> {result.value} on {box}"
    assert wanted is not None, f"no integers: {where}"
    assert equals(store, store.restrict(function, domain), rows, wanted), where
    return True


def ranges(dtype: DType, width: int = 4) -> list[range]:
    """Values around zero, at both ends, and single ones; all of them for the smallest types."""
    if dtype.is_float:
        limit = exact_integers(dtype)
        ends = [range(limit - width + 1, limit + 1), range(-limit, -limit + width)]
        return [range(-3, 4), range(5), range(1, 4), *ends, range(3, 4), range(1), range(-2, -1)]
    low, high = dtype.integer_range
    if high - low < 16:
        return [range(low, high + 1), range(3 if high >= 3 else high, (3 if high >= 3 else high) + 1), range(1)]
    near = range(max(low, -3), 4)
    singles = [range(n, n + 1) for n in (0, 1, 3, 7, -1, -2, high, low) if low <= n <= high]
    return [near, range(low, low + width), range(high - width + 1, high + 1), *singles]


def boxes(types: Sequence[DType]) -> Iterator[Box]:
    yield from itertools.product(*(ranges(dtype) for dtype in types))


def modelled(names: Sequence[str], types: Sequence[DType], result: DType) -> set[str]:
    """The ops of which at least one box was compared."""
    found = set()
    for name in names:
        for box in boxes(types):
            if agrees(name, types, result, box, {}):
                found.add(name)
    return found


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.value)
def test_integers_of_every_type(dtype: DType) -> None:
    unary = {"negate", "abs", "sign"} if dtype.is_signed else {"negate"}
    assert modelled(sorted(unary), [dtype], dtype) == unary
    assert modelled(["popcnt"], [dtype], dtype) == set()
    binary = set(BINARY) - {"power"}
    if not dtype.is_signed:
        binary -= {"shift_right_arithmetic"}
    assert modelled(BINARY, [dtype, dtype], dtype) == binary


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.value)
def test_floats_that_are_integers(dtype: DType) -> None:
    assert modelled(["negate", "abs", "sign"], [dtype], dtype) == {"negate", "abs", "sign"}
    names = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power"]
    assert modelled(names, [dtype, dtype], dtype) == {"add", "subtract", "multiply", "maximum", "minimum"}


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.value)
def test_no_negative_zero_and_no_rounding_is_taken_for_an_integer(dtype: DType) -> None:
    limit = exact_integers(dtype)
    around, zero, top = range(-2, 3), range(1), range(limit, limit + 1)
    assert not agrees("negate", [dtype], dtype, [around], {})
    assert not agrees("multiply", [dtype, dtype], dtype, [around, zero], {})
    assert not agrees("multiply", [dtype, dtype], dtype, [range(-2, -1), range(2)], {})
    assert not agrees("add", [dtype, dtype], dtype, [top, range(1, 2)], {})
    assert not agrees("subtract", [dtype, dtype], dtype, [range(-limit, -limit + 1), range(1, 2)], {})
    assert agrees("negate", [dtype], dtype, [range(1, 4)], {})
    assert agrees("multiply", [dtype, dtype], dtype, [range(4), range(3, 4)], {})


def test_booleans() -> None:
    bit = DType.I1
    logic = ("and", "or", "xor", "add", "multiply", "maximum", "minimum")
    assert modelled(logic, [bit, bit], bit) == set(logic)
    assert modelled(["not"], [bit], bit) == {"not"}


COMPARED = [DType.I1, DType.I4, DType.I8, DType.I32, DType.I64, DType.UI4, DType.UI32, DType.UI64, *FLOATS]


@pytest.mark.parametrize("dtype", COMPARED, ids=lambda dtype: dtype.value)
def test_comparisons(dtype: DType) -> None:
    for direction in Comparison:
        for box in boxes([dtype, dtype]):
            assert agrees("compare", [dtype, dtype], DType.I1, box, {"comparison_direction": direction})


def test_total_order_of_floats_is_not_modelled() -> None:
    attributes = {"comparison_direction": Comparison.LT, "compare_type": "TOTALORDER"}
    store = Store()
    values = store.rel("{[a,b] -> [a,b] : 0 <= a <= 2 and 0 <= b <= 2}")
    assert index_function(store, "stablehlo.compare", attributes, [DType.F32] * 2, DType.I1, values) is None


@pytest.mark.parametrize("source", [DType.I1, *INTEGERS, *FLOATS], ids=lambda dtype: dtype.value)
def test_conversions(source: DType) -> None:
    counted = 0
    for target in [DType.I1, *INTEGERS, *FLOATS]:
        if target is not source:
            counted += sum(agrees("convert", [source], target, box, {}) for box in boxes([source]))
    assert counted > 40


def test_selection_and_clamp() -> None:
    for dtype in (DType.I4, DType.I32, DType.UI8, DType.F32):
        values = [range(-2, 3) if dtype is not DType.UI8 else range(4), range(3, 4)]
        for box in itertools.product([range(2), range(1, 2)], values, values):
            assert agrees("select", [DType.I1, dtype, dtype], dtype, box, {})
        for box in itertools.product(values, values, values):
            assert agrees("clamp", [dtype, dtype, dtype], dtype, box, {}), "a lower bound above the upper one too"


@pytest.mark.parametrize("dtype", [DType.I4, DType.UI4, DType.I2, DType.UI2], ids=lambda dtype: dtype.value)
def test_values_of_which_nothing_is_known_range_over_their_type(dtype: DType) -> None:
    """Unknown integers are related to all integers; only those of the type exist."""
    store = Store()
    low, high = dtype.integer_range
    every = range(low, high + 1)
    domain = whole_domain(store, [every, every])
    for name in ("add", "subtract", "maximum", "minimum"):
        unknown = store.identity_on(store.everything(2))
        function = index_function(store, full_name(name), {}, [dtype, dtype], dtype, unknown)
        assert function is not None
        rows = list(itertools.product(every, every))
        wanted = as_integers(evaluated(name, {}, [dtype] * 2, dtype, list(zip(*rows, strict=True))), dtype)
        assert wanted is not None
        assert equals(store, store.restrict(function, domain), rows, wanted), name


def test_mixed_and_unbounded_floats_are_not_modelled() -> None:
    store = Store()
    unknown = store.identity_on(store.everything(2))
    assert index_function(store, "stablehlo.add", {}, [DType.F32] * 2, DType.F32, unknown) is None
    complex_ = store.rel("{[a,b] -> [a,b] : 0 <= a <= 2 and 0 <= b <= 2}")
    assert index_function(store, "stablehlo.add", {}, [DType.C64] * 2, DType.C64, complex_) is None
