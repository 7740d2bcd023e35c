"""Constants of float types: which numbers are values of a type, and which rational a value stands for."""

from __future__ import annotations

import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from shardproof import Verdict, validate_modules
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.constants import Constants, is_value, rational

NARROW = {DType.BF16: ml_dtypes.bfloat16, DType.F16: np.float16, DType.F8E5M2: ml_dtypes.float8_e5m2}


def _bits(number: float) -> str:
    return struct.pack("<d", number).hex()


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.value)
def test_a_whole_number_stands_for_itself(dtype: DType):
    """Of each value of a narrow type, however far apart they are."""
    bits = np.dtype(NARROW[dtype]).itemsize * 8
    with np.errstate(invalid="ignore"):  # NaNs are widened, too
        values = np.arange(1 << bits).astype(f"u{bits // 8}").view(NARROW[dtype]).astype(np.float64)
    checked = 0
    for value in values[np.isfinite(values)].tolist():
        if value == int(value):
            assert rational(value, dtype) == int(value)
            checked += 1
        assert is_value(_bits(value), dtype)
    assert checked > 50


def test_numbers_between_values_are_none():
    assert not is_value(_bits(65536.0), DType.F16)
    assert not is_value(_bits(0.1), DType.BF16)
    assert is_value(_bits(float(np.float32(0.1))), DType.F32)
    assert is_value(_bits(float("inf")), DType.F16)
    assert not is_value(2049, DType.F16)
    assert is_value(2048, DType.F16)


@pytest.mark.parametrize(("dtype", "least", "greatest"), [(DType.I1, 0, 1), (DType.UI8, 0, 255), (DType.I4, -8, 7)])
def test_integers_are_values_in_the_range_of_their_type(dtype: DType, least: int, greatest: int):
    assert [is_value(n, dtype) for n in (least - 1, least, greatest, greatest + 1)] == [False, True, True, False]
    assert not is_value(_bits(1.0), dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.value)
def test_what_is_widened_stands_for_the_same_number(dtype: DType):
    for value in np.array([0.1, -0.3, 1 / 3, 0.75, 1e-4, 40.3], NARROW[dtype]).astype(np.float64).tolist():
        assert rational(value, dtype) == rational(value, DType.F32)
        assert abs(Fraction(rational(value, dtype)) - Fraction(value)) <= abs(Fraction(value)) / (1 << 23)


def test_a_constant_stands_for_a_fraction_that_is_rounded_to_it():
    assert rational(float(np.float32(1 / 3)), DType.F32) == rational(1 / 3, DType.F64) == Fraction(1, 3)
    assert rational(float(np.float32(0.1)), DType.F32) == Fraction(1, 10)
    assert rational(float(np.float32(0.1)), DType.F64) != Fraction(1, 10)
    assert rational(float(ml_dtypes.bfloat16(0.1)), DType.BF16) != Fraction(1, 10)


@pytest.mark.parametrize("narrow", [DType.BF16, DType.F16])
def test_what_is_rounded_twice_by_way_of_float32_is_not_folded(narrow: DType):
    """Between two neighbours, and above their middle by less than float32 tells: rounded twice it is the even one."""
    digits = {DType.BF16: 7, DType.F16: 10}[narrow]
    constants = Constants(Theory.EXACT)
    wide, name = constants.dtype_name(DType.F64), constants.dtype_name(narrow)
    tie = 1 + 2.0 ** -(digits + 1)
    assert constants.fold_convert(wide, name, constants.intern(tie + 2.0**-40, DType.F64)) is None
    found = constants.fold_convert(wide, name, constants.intern(tie, DType.F64))
    assert found is not None
    assert constants.number(found) == 1


SCALED = """module @m {{ func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
  {constant}
  %scale = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8xf32>
  {factor}
  %r = stablehlo.multiply %f, %scale : tensor<8xf32>
  return %r : tensor<8xf32>
}} }}"""
PLAIN = "%f = stablehlo.add %x, %x : tensor<8xf32>"
BY_LOGARITHMS = """%e = stablehlo.exponential %x : tensor<8xf32>
  %s = stablehlo.multiply %e, %e : tensor<8xf32>
  %f = stablehlo.log %s : tensor<8xf32>"""
WIDENED = """%narrow = stablehlo.constant dense<0.1> : tensor<bf16>
  %c = stablehlo.convert %narrow : (tensor<bf16>) -> tensor<f32>"""


@pytest.mark.parametrize(("number", "verdict"), [("0.10009765625", Verdict.PROVED), ("0.1", Verdict.REFUTED)])
def test_a_widened_constant_over_the_reals(number: str, verdict: Verdict):
    """The compiler may fold the conversion; another number is another number."""
    before = SCALED.format(constant=WIDENED, factor=PLAIN)
    after = SCALED.format(constant=f"%c = stablehlo.constant dense<{number}> : tensor<f32>", factor=BY_LOGARITHMS)
    report = validate_modules(before, after, theory="real")
    assert report.verdict is verdict
