"""Integer arithmetic on known values: INT[n] under maps from integers to integers.

Lemma *index arithmetic*: an integer op on INT[a1], …, INT[ak] is INT[f(a1, …, ak)] with f the op's function on the
values of its type, wrap-around included. Floats take part as long as every value is an exactly representable integer
and no negative zero can arise. Theory: exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import and_, or_, xor
from typing import TYPE_CHECKING, Any

from ..read.attributes import Comparison
from ..read.ir import DType

if TYPE_CHECKING:
    from ..relation.objects import Dom, Rel
    from ..relation.store import Store

_SIGNIFICAND = {DType.F64: 53, DType.F32: 24, DType.F16: 11, DType.BF16: 8}


def exact_integers(dtype: DType) -> int:
    """Every integer of at most this magnitude is exactly a value of the float type (only 0 where that is not modelled,
    and not even that where the type has none).
    """
    if dtype.is_positive:
        return -1
    return 1 << _SIGNIFICAND[dtype] if dtype in _SIGNIFICAND else 0


def whole_number(dtype: DType, value: Any) -> int | None:
    """The integer that a constant of this type is exactly; None for others, for -0.0, and for complex numbers."""
    if dtype.is_float:
        number = float(value)
        whole = math.isfinite(number) and number.is_integer() and abs(number) <= exact_integers(dtype)
        return int(number) if whole and (number or math.copysign(1, number) > 0) else None
    return None if dtype.is_complex else int(value)


UNBOUNDED = 1 << 200
"""Stands for no bound on a float operand, larger than any integer taken as exact."""

_COMPARE = {
    Comparison.EQ: ("a = b", "a < b or a > b"),
    Comparison.NE: ("a < b or a > b", "a = b"),
    Comparison.LT: ("a < b", "a >= b"),
    Comparison.LE: ("a <= b", "a > b"),
    Comparison.GT: ("a > b", "a <= b"),
    Comparison.GE: ("a >= b", "a < b"),
}

_PLAIN = {
    "stablehlo.add": "{[a,b] -> [a + b]}",
    "stablehlo.subtract": "{[a,b] -> [a - b]}",
    "stablehlo.maximum": "{[a,b] -> [a] : a >= b; [a,b] -> [b] : b > a}",
    "stablehlo.minimum": "{[a,b] -> [a] : a <= b; [a,b] -> [b] : b < a}",
    "stablehlo.negate": "{[a] -> [-a]}",
    "stablehlo.abs": "{[a] -> [a] : a >= 0; [a] -> [-a] : a < 0}",
    "stablehlo.sign": "{[a] -> [1] : a > 0; [a] -> [0] : a = 0; [a] -> [-1] : a < 0}",
    "stablehlo.clamp": (
        "{[l,x,h] -> [l] : x <= l and l <= h; [l,x,h] -> [x] : l < x and x < h; "
        "[l,x,h] -> [h] : h <= x and l < x and l <= h; [l,x,h] -> [h] : h < l}"
    ),
}

_BITWISE = {"stablehlo.and": and_, "stablehlo.or": or_, "stablehlo.xor": xor}
"""On constants: Python's integers are in two's complement of as many bits as needed."""

_BITS = "0 <= a <= 1 and 0 <= b <= 1"

_LOGIC = {
    "stablehlo.and": f"{{[a,b] -> [1] : a = 1 and b = 1; [a,b] -> [0] : (a = 0 or b = 0) and {_BITS}}}",
    "stablehlo.or": f"{{[a,b] -> [0] : a = 0 and b = 0; [a,b] -> [1] : (a = 1 or b = 1) and {_BITS}}}",
    "stablehlo.xor": f"{{[a,b] -> [0] : a = b and {_BITS}; [a,b] -> [1] : a + b = 1 and {_BITS}}}",
    "stablehlo.not": "{[a] -> [1 - a] : 0 <= a <= 1}",
}
_LOGIC["stablehlo.minimum"] = _LOGIC["stablehlo.and"]
_LOGIC["stablehlo.maximum"] = _LOGIC["stablehlo.or"]
_LOGIC["stablehlo.multiply"] = _LOGIC["stablehlo.and"]
_LOGIC["stablehlo.add"] = _LOGIC["stablehlo.or"]


def index_function(
    store: Store, name: str, attributes: Any, types: Sequence[DType], result: DType, operands: Rel
) -> Rel | None:
    """{(a1, …, ak) -> n} for this op on the values that `operands` (point → (a1, …, ak)) can take, or None.

    None means: this op or these values are not modelled as index arithmetic; the op is then treated as any other.
    """
    image = store.range(operands)
    bounds = [_bounds(store, image, k, dtype) for k, dtype in enumerate(types)]
    if name == "stablehlo.select":
        return store.rel("{[p,a,b] -> [a] : p = 1; [p,a,b] -> [b] : p = 0}") if types[0].is_bool else None
    if name == "stablehlo.compare":
        return _compare(store, attributes, types[0], types[1])
    if name == "stablehlo.convert":
        return _convert(store, types[0], result, bounds[0])
    if all(dtype.is_bool for dtype in types) and result.is_bool:
        text = _LOGIC.get(name)
        return store.rel(text) if text else None
    text = _PLAIN.get(name) or _by_constant(store, name, bounds, result)
    if text is None:
        return None
    function = store.rel(text)
    if result.is_float:
        return _exact_float(store, name, function, bounds, image, result)
    if not result.is_integer:
        return None
    box = " and ".join(f"{low} <= a{k} <= {high}" for k, (low, high) in enumerate(bounds))
    within = store.dom(f"{{[{','.join(f'a{k}' for k in range(len(bounds)))}] : {box}}}")
    return wrapped(store, function, store.image(store.set_meet(image, within), function), result)


def _bounds(store: Store, image: Dom, position: int, dtype: DType) -> tuple[int, int]:
    """The least and greatest value of an operand: where the relation leaves it open, its type's."""
    found = store.bounds(image, position)
    if found is not None or dtype.is_float or dtype.is_complex:
        return found or (-UNBOUNDED, UNBOUNDED)
    return dtype.integer_range


def wrapped(store: Store, function: Rel, image: Dom, dtype: DType) -> Rel | None:
    """The function followed by the type's wrap-around, which is left out where no value reaches it."""
    reach = store.bounds(image, 0)
    low, high = dtype.integer_range
    if reach is None:
        return None
    if low <= reach[0] and reach[1] <= high:
        return function
    span = high - low + 1
    turns = range((reach[0] - low) // span, (reach[1] - low) // span + 1)
    if len(turns) > 8:
        return None
    pieces = [f"[n] -> [n - {turn * span}] : {low + turn * span} <= n <= {high + turn * span}" for turn in turns]
    return store.compose(function, store.rel("{" + "; ".join(pieces).replace("- -", "+ ") + "}"))


def _compare(store: Store, attributes: Any, left: DType, right: DType) -> Rel | None:
    direction = attributes.get("comparison_direction")
    kind = attributes.get("compare_type")
    if left != right or (kind == "TOTALORDER" and left.is_float):
        return None
    yes, no = _COMPARE[direction]
    return store.rel(f"{{[a,b] -> [1] : {yes}; [a,b] -> [0] : {no}}}")


def _convert(store: Store, source: DType, result: DType, bound: tuple[int, int]) -> Rel | None:
    if result.is_bool:
        return store.rel("{[a] -> [0] : a = 0; [a] -> [1] : a > 0 or a < 0}")
    if result.is_float:
        limit = exact_integers(result)
        return store.rel("{[a] -> [a]}") if max(abs(bound[0]), abs(bound[1])) <= limit else None
    if not result.is_integer:
        return None
    identity = store.rel("{[a] -> [a]}")
    low, high = result.integer_range
    if low <= bound[0] and bound[1] <= high:
        return identity
    if source.is_float:
        return None
    return wrapped(store, identity, store.dom(f"{{[a] : {bound[0]} <= a <= {bound[1]}}}"), result)


def _by_constant(store: Store, name: str, bounds: list[tuple[int, int]], result: DType) -> str | None:
    """Ops that are affine or a division once an operand is a constant."""
    if len(bounds) != 2:
        return None
    (low_a, high_a), (low_b, high_b) = bounds
    if name == "stablehlo.multiply":
        if low_b == high_b:
            return f"{{[a,b] -> [{low_b}a]}}" if low_b >= 0 else f"{{[a,b] -> [-{-low_b}a]}}"
        if low_a == high_a:
            return f"{{[a,b] -> [{low_a}b]}}" if low_a >= 0 else f"{{[a,b] -> [-{-low_a}b]}}"
        return None
    if name == "chlo.mulhi" and (low_a == high_a or low_b == high_b):
        product = f"{low_b}*a" if low_b == high_b else f"{low_a}*b"
        return f"{{[a,b] -> [floor(({product})/{1 << result.bits})]}}"
    if low_b != high_b or result.is_float:
        return None
    if low_a == high_a and name in _BITWISE:
        return f"{{[a,b] -> [{_BITWISE[name](low_a, low_b)}]}}"
    if name == "stablehlo.divide" and low_b > 0:
        pieces = [f"[a,b] -> [floor(a/{low_b})] : a >= 0"]
        if low_a < 0:
            pieces.append(f"[a,b] -> [-floor((-a)/{low_b})] : a < 0")
        return "{" + "; ".join(pieces) + "}"
    if name == "stablehlo.remainder" and low_b > 0:
        pieces = [f"[a,b] -> [a - {low_b}*floor(a/{low_b})] : a >= 0"]
        if low_a < 0:
            pieces.append(f"[a,b] -> [a + {low_b}*floor((-a)/{low_b})] : a < 0")
        return "{" + "; ".join(pieces) + "}"
    if name == "stablehlo.and" and low_b >= 0 and (low_b & (low_b + 1)) == 0:
        return f"{{[a,b] -> [a - {low_b + 1}*floor(a/{low_b + 1})]}}"
    if name in ("stablehlo.shift_left", "stablehlo.shift_right_logical") and low_b >= result.bits:
        return "{[a,b] -> [0]}"
    if name == "stablehlo.shift_left" and 0 <= low_b < result.bits:
        return f"{{[a,b] -> [{1 << low_b}a]}}"
    if name == "stablehlo.shift_right_logical" and low_a >= 0 and 0 <= low_b < result.bits:
        return f"{{[a,b] -> [floor(a/{1 << low_b})]}}"
    if name == "stablehlo.shift_right_arithmetic" and result.is_signed and 0 <= low_b < result.bits:
        return f"{{[a,b] -> [floor(a/{1 << low_b})]}}"
    return None


def _exact_float(
    store: Store, name: str, function: Rel, bounds: list[tuple[int, int]], image: Dom, result: DType
) -> Rel | None:
    """Only where every operand and result is an exact integer of the type and no result is −0.0."""
    limit = exact_integers(result)
    reach = store.bounds(store.image(image, function), 0)
    if reach is None or any(max(abs(low), abs(high)) > limit for low, high in [*bounds, reach]):
        return None
    signed_zero = name in ("stablehlo.negate", "stablehlo.multiply") and reach[0] <= 0 <= reach[1]
    if signed_zero and (name == "stablehlo.negate" or any(low < 0 for low, _ in bounds)):
        return None
    return function
