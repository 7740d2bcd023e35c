"""Types of few bits, as XLA and StableHLO's interpreter have them: whatever is computed stays in range."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from evaluate.oracles import agrees_with_xla, run_text
from shardproof import Verdict, validate_modules

SMALL = {"i2": (-2, 1), "ui2": (0, 3), "i4": (-8, 7), "ui4": (0, 15)}
NARROW = [
    ml_dtypes.float8_e3m4,
    ml_dtypes.float8_e4m3,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
    ml_dtypes.float4_e2m1fn,
]


def _made(element: str, body: str, shape: str) -> str:
    type_ = f"tensor<{shape}{element}>"
    return f"func.func @main() -> {type_} {{\n{body.replace('TYPE', type_)}\n  return %r : {type_}\n}}\n"


@pytest.mark.parametrize("element", SMALL)
def test_an_iota_wraps(element: str) -> None:
    (found,) = run_text(_made(element, "%r = stablehlo.iota dim = 0 : TYPE", "300x"))
    least, greatest = SMALL[element]
    np.testing.assert_array_equal(found, (np.arange(300) - least) % (greatest - least + 1) + least)


@pytest.mark.parametrize("dtype", [jnp.int4, jnp.uint4, jnp.int2, jnp.uint2])
def test_an_iota_is_xlas(dtype) -> None:
    agrees_with_xla(lambda: lax.iota(dtype, 40).astype(np.int32))


@pytest.mark.parametrize("dtype", [jnp.int4, jnp.uint4, jnp.int2, jnp.uint2])
def test_counts_of_bits_wrap(dtype) -> None:
    """Two bits are counted in a type whose greatest number is 1."""
    x = np.arange(16).astype(dtype)
    agrees_with_xla(lambda x: lax.clz(x).astype(np.int32), x)
    # Of negative int4 XLA counts the bits of an int8 (see BUGLIST.md).
    positive = np.arange(8 if dtype is jnp.int4 else 16).astype(dtype)
    agrees_with_xla(lambda x: lax.population_count(x).astype(np.int32), positive)


def test_what_is_known_of_counted_bits_is_what_they_wrap_to() -> None:
    body = """%c = stablehlo.constant dense<{0}> : tensor<i2>
      %n = stablehlo.{1} %c : tensor<i2>
      %r = stablehlo.convert %n : (tensor<i2>) -> TYPE"""
    told = "%r = stablehlo.constant dense<{0}> : TYPE"
    for value, op in ((-1, "popcnt"), (0, "count_leading_zeros")):
        before = _made("i32", body.format(value, op), "")
        assert validate_modules(before, _made("i32", told.format(-2), "")).verdict is Verdict.PROVED
        assert validate_modules(before, _made("i32", told.format(2), "")).verdict is Verdict.REFUTED


def test_a_range_of_four_bits_is_a_converted_one() -> None:
    """It was refuted with numbers that four bits do not have."""
    before = _made("i4", "%r = stablehlo.iota dim = 0 : TYPE", "20x")
    converted = "%i = stablehlo.iota dim = 0 : tensor<20xi32> %r = stablehlo.convert %i : (tensor<20xi32>) -> TYPE"
    assert validate_modules(before, _made("i4", converted, "20x")).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("source", NARROW, ids=lambda dtype: dtype.__name__)
def test_every_narrow_float_converts_to_every_other(source) -> None:
    """Of what is too great in the target only that it is the same number again, and no error."""
    x = np.array([0.5, 1, 2, 4, 0.25, 1.5, 3], source)
    targets = [target for target in NARROW if target is not source]
    agrees_with_xla(lambda x: [x.astype(target).astype(np.float32) for target in targets], x)


@pytest.mark.parametrize(
    ("dtype", "exponent", "mantissa"),
    [(np.float16, 5, 18), (np.float16, 5, 5), (np.float16, 10, 8), (np.float32, 5, 0), (np.float32, 8, 0)],
)
def test_reduce_precision_rounds_bits(dtype, exponent: int, mantissa: int) -> None:
    """Denormal numbers stay where the exponent is no narrower; without a mantissa 3 lies between 2 and 4."""
    x = np.array([6e-8, -5e-7, 9.83e-6, 1.0, 3.0, -6.0, 1.5, 12.0, 0.75, np.inf, np.nan], dtype)
    agrees_with_xla(lambda x: lax.reduce_precision(x, exponent, mantissa), x, rtol=0, atol=0)


def test_four_bit_floats_keep_their_greatest_number() -> None:
    """XLA has the greatest integer instead (see BUGLIST.md)."""
    x = np.array([6, -6, 4], ml_dtypes.float4_e2m1fn)
    text = """func.func @main(%x: tensor<3xf4E2M1FN>) -> tensor<3xi8> {
      %0 = stablehlo.convert %x : (tensor<3xf4E2M1FN>) -> tensor<3xi8>
      return %0 : tensor<3xi8>
    }"""
    assert run_text(text, x)[0].tolist() == [6, -6, 4]
    assert np.asarray(jax.jit(lambda x: x.astype(np.float32).astype(np.int8))(x)).tolist() == [6, -6, 4]
