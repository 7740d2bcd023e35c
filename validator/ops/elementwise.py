"""Operations that act on every element by itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import Op
from .record import Family, OpRecord, family_record
from .wrapped import is_wrapped

if TYPE_CHECKING:
    from ..evaluate.machine import Machine

_UNARY = {
    "abs": "magnitude; of a complex number its modulus",
    "cbrt": "cube root",
    "ceil": "least integer not below",
    "cosine": "cosine",
    "count_leading_zeros": "number of leading zero bits",
    "exponential": "exponential function",
    "exponential_minus_one": "exponential function minus one",
    "floor": "greatest integer not above",
    "log": "natural logarithm",
    "log_plus_one": "natural logarithm of one plus the operand",
    "logistic": "1 / (1 + exp(-x))",
    "negate": "negation, wrapping for integers",
    "not": "bitwise or logical complement",
    "popcnt": "number of bits set",
    "round_nearest_afz": "nearest integer, halves away from zero",
    "round_nearest_even": "nearest integer, halves to even",
    "rsqrt": "reciprocal square root",
    "sign": "sign: -1, 0 or 1",
    "sine": "sine",
    "sqrt": "square root",
    "tan": "tangent",
    "tanh": "hyperbolic tangent",
}

_CHLO_UNARY = {
    "acos": "arc cosine",
    "acosh": "inverse hyperbolic cosine",
    "asin": "arc sine",
    "asinh": "inverse hyperbolic sine",
    "atan": "arc tangent",
    "atanh": "inverse hyperbolic tangent",
    "cosh": "hyperbolic cosine",
    "digamma": "logarithmic derivative of the gamma function",
    "erf": "error function",
    "erf_inv": "inverse error function",
    "erfc": "complementary error function",
    "lgamma": "logarithm of the gamma function's magnitude",
    "sinh": "hyperbolic sine",
    "square": "the operand times itself",
    "tan": "tangent",
}

_BINARY = {
    "add": "sum; on booleans logical or",
    "and": "bitwise or logical and",
    "atan2": "angle of the point (y, x)",
    "divide": "quotient; of integers rounded towards zero",
    "maximum": "greater of two; NaN if either is",
    "minimum": "lesser of two; NaN if either is",
    "multiply": "product; on booleans logical and",
    "or": "bitwise or logical or",
    "power": "first operand raised to the second",
    "remainder": "remainder with the dividend's sign",
    "shift_left": "shift towards the high end",
    "shift_right_arithmetic": "shift towards the low end, copying the sign",
    "shift_right_logical": "shift towards the low end, filling with zeros",
    "subtract": "difference, wrapping for integers",
    "xor": "bitwise or logical exclusive or",
}


TOTAL_OVER_REALS = frozenset(
    [f"stablehlo.{name}" for name in (
        "abs", "add", "atan2", "cbrt", "ceil", "clamp", "convert", "cosine", "exponential", "exponential_minus_one",
        "floor", "logistic", "maximum", "minimum", "multiply", "negate", "reduce_precision", "round_nearest_afz",
        "round_nearest_even", "select", "sign", "sine", "subtract", "tanh",
    )] + [f"chlo.{name}" for name in ("asinh", "cosh", "erf", "erfc", "sinh")]
)  # fmt: skip
"""Ops that give a real number for all real operands."""

OF_POSITIVE = frozenset({"stablehlo.log", "stablehlo.rsqrt", "stablehlo.sqrt"})
"""Ops that give one for positive operands."""


def _local_name(op: Op) -> str:
    return op.name.partition(".")[2]


def evaluate_unary(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    dtype = op.operands[0].tensor.dtype
    name = _local_name(op)
    if name == "abs" and dtype.is_complex:
        modulus = np.real(machine.arithmetic.unary(name, operands[0], dtype))
        return [modulus.astype(machine.arithmetic.storage(op.results[0].tensor.dtype))]
    if name == "square":
        return [machine.arithmetic.binary("multiply", operands[0], operands[0], dtype)]
    return [machine.arithmetic.unary(name, operands[0], dtype)]


def evaluate_binary(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    left, right = operands
    return [machine.arithmetic.binary(_local_name(op), left, right, op.operands[0].tensor.dtype)]


def evaluate_compare(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    direction = Comparison(op.attributes["comparison_direction"])
    total_order = str(op.attributes.get("compare_type", "")).upper() == "TOTALORDER"
    left, right = operands
    return [machine.arithmetic.compare(direction, left, right, op.operands[0].tensor.dtype, total_order)]


def evaluate_select(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    predicate, on_true, on_false = operands
    if op.operands[0].tensor.rank < op.operands[1].tensor.rank:
        predicate = predicate.reshape(-1, *(1,) * op.operands[1].tensor.rank)
    if is_wrapped(predicate, on_true, on_false):
        machine.takes_outside(op)
    return [np.where(predicate, on_true, on_false)]


def evaluate_clamp(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    low, operand, high = operands
    rank, dtype = op.operands[1].tensor.rank, op.operands[1].tensor.dtype
    low = low if op.operands[0].tensor.rank == rank else low.reshape(-1, *(1,) * rank)
    high = high if op.operands[2].tensor.rank == rank else high.reshape(-1, *(1,) * rank)
    raised = machine.arithmetic.binary("maximum", operand, np.broadcast_to(low, operand.shape), dtype)
    return [machine.arithmetic.binary("minimum", raised, np.broadcast_to(high, operand.shape), dtype)]


def evaluate_convert(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [machine.arithmetic.convert(operands[0], op.operands[0].tensor.dtype, op.results[0].tensor.dtype)]


def evaluate_bitcast_convert(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    source, target = op.operands[0].tensor.dtype, op.results[0].tensor.dtype
    if source.is_float and target is not source:
        not_numbers = machine.arithmetic.compare(Comparison.NE, operands[0], operands[0], source)
        if not_numbers.any():
            # All NaNs are one value here, and have the bits of one.
            machine.undefined.add(f"'{op.name}' of NaN")
    return [machine.arithmetic.bitcast(operands[0], source, target)]


def evaluate_reduce_precision(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    exponent_bits, mantissa_bits = op.attributes["exponent_bits"], op.attributes["mantissa_bits"]
    dtype = op.operands[0].tensor.dtype
    return [machine.arithmetic.reduce_precision(operands[0], dtype, exponent_bits, mantissa_bits)]


def evaluate_is_finite(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [machine.arithmetic.is_finite(operands[0], op.operands[0].tensor.dtype)]


def evaluate_complex(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    storage = machine.arithmetic.storage(op.results[0].tensor.dtype)
    real, imag = operands
    result = np.empty(real.shape, storage)
    result.real, result.imag = real, imag
    return [result]


def evaluate_real(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [operands[0].real]


def evaluate_imag(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    operand = operands[0]
    return [operand.imag if op.operands[0].tensor.dtype.is_complex else np.zeros_like(operand)]


_record = partial(family_record, Family.ELEMENTWISE)

RECORDS: tuple[OpRecord, ...] = (
    *(_record(f"stablehlo.{name}", doc, evaluate_unary, "result_accuracy") for name, doc in _UNARY.items()),
    *(_record(f"chlo.{name}", doc, evaluate_unary, "result_accuracy") for name, doc in _CHLO_UNARY.items()),
    *(_record(f"mhlo.{name}", doc, evaluate_unary, "result_accuracy") for name, doc in _CHLO_UNARY.items()),
    *(_record(f"stablehlo.{name}", doc, evaluate_binary) for name, doc in _BINARY.items()),
    _record("chlo.mulhi", "upper half of the product of integers", evaluate_binary),
    _record("stablehlo.compare", "comparison of elements", evaluate_compare, "comparison_direction", "compare_type"),
    _record("stablehlo.select", "second operand where the first holds, else the third", evaluate_select),
    _record("stablehlo.clamp", "operand limited to a range", evaluate_clamp),
    _record("stablehlo.convert", "conversion to another element type", evaluate_convert),
    _record("stablehlo.bitcast_convert", "the same bits as another element type", evaluate_bitcast_convert),
    _record(
        "stablehlo.reduce_precision",
        "rounding to a given exponent and mantissa width",
        evaluate_reduce_precision,
        "exponent_bits",
        "mantissa_bits",
    ),
    _record("stablehlo.is_finite", "whether an element is neither infinite nor NaN", evaluate_is_finite),
    _record("stablehlo.complex", "complex number of a real and an imaginary part", evaluate_complex),
    _record("stablehlo.real", "real part", evaluate_real),
    _record("stablehlo.imag", "imaginary part", evaluate_imag),
)
