"""Elementwise operations against XLA on CPU, corner cases first."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from evaluate.oracles import agrees_with_xla, interpret, run_text

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]


def corner_integers(dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of values at the ends of the type and near zero."""
    info = np.iinfo(dtype)
    wanted = {info.min, info.min + 1, -3, -1, 0, 1, 2, 7, info.max - 1, info.max}
    values = sorted(value for value in wanted if info.min <= value <= info.max)
    pairs = np.array([(x, y) for x in values for y in values], dtype)
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps_and_divides_as_xla(dtype):
    x, y = corner_integers(dtype)

    def every(x, y):
        binary = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min]
        binary += [lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor]
        binary += [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]
        unary = [lax.neg, lax.abs, lax.sign] if np.issubdtype(dtype, np.signedinteger) else [lax.sign]
        unary += [lax.bitwise_not, lax.population_count, lax.clz]
        compare = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
        return [f(x, y) for f in (*binary, *compare)] + [f(x) for f in unary]

    agrees_with_xla(every, x, y)


def test_integer_power():
    text = """
    func.func @main(%x: tensor<48xi32>, %y: tensor<48xi32>) -> tensor<48xi32> {
      %0 = stablehlo.power %x, %y : tensor<48xi32>
      return %0 : tensor<48xi32>
    }"""
    x, y = np.meshgrid(np.array([-3, -1, 1, 2, 3, 7]), np.array([0, 1, 2, 3, 5, 31, -1, -2]))
    inputs = x.ravel().astype(np.int32), y.ravel().astype(np.int32)
    np.testing.assert_array_equal(run_text(text, *inputs)[0], interpret(text, *inputs)[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_functions(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=40), [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5]]).astype(dtype)
    y = np.concatenate([rng.normal(size=40), [1.0, 2.0, 0.0, -3.0, 0.5, 2.0, 1.0, 4.0]]).astype(dtype)

    def every(x, y):
        unary = [lax.neg, lax.abs, lax.sign, lax.floor, lax.ceil, lax.exp, lax.expm1, lax.log1p, lax.logistic]
        unary += [lax.tanh, lax.sin, lax.cos, lax.tan, lax.cbrt, lax.sqrt, lax.rsqrt, lax.log, lax.erf, lax.is_finite]
        unary += [lambda v: lax.round(v, lax.RoundingMethod.AWAY_FROM_ZERO)]
        unary += [lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN)]
        binary = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.atan2, lax.lt, lax.eq, lax.ne]
        return [f(abs(v) if f in (lax.sqrt, lax.rsqrt, lax.log, lax.log1p) else v) for v in (x,) for f in unary] + [
            f(x, y) for f in binary
        ]

    tolerance = {np.float32: 3e-6, np.float16: 2e-3, ml_dtypes.bfloat16: 2e-2}[dtype]
    agrees_with_xla(every, x, y, rtol=tolerance, atol=tolerance)


def test_special_functions():
    x = np.array([0.1, 0.3, 0.7, 0.95, -0.2, -0.9, 0.999], np.float32)

    def every(x):
        gamma = [lax.lgamma(abs(x) * 5), lax.digamma(abs(x) * 5), lax.erfc(x), lax.erf_inv(x)]
        return [*gamma, lax.asin(x), lax.acos(x), lax.atan(x), lax.sinh(x), lax.cosh(x), lax.asinh(x), lax.atanh(x)]

    agrees_with_xla(every, x, rtol=2e-5, atol=1e-5)


def test_nan_and_signed_zero():
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))

    def every(x, y):
        return [f(x, y) for f in (lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.ge, lax.add, lax.mul, lax.div, lax.rem)]

    agrees_with_xla(every, x, y)
    agrees_with_xla(lambda x: lax.clamp(jnp.float32(-1), x, jnp.float32(0.5)), x)


@pytest.mark.parametrize("element", ["f32", "bf16", "f64"])
def test_a_maximum_takes_the_greater_zero_wherever_it_stands(element: str):
    """numpy takes the one or the other of -0 and 0 by their places; StableHLO has -0 below 0."""
    type_, pairs = f"tensor<17x{element}>", f"tensor<17x2x{element}>"
    made = " ".join(
        f"%{k} = stablehlo.{op} %x, %y : {type_} %b{k} = stablehlo.{op} %y, %x : {type_} "
        f"%r{k} = stablehlo.reduce(%p init: %i{k}) applies stablehlo.{op} across dimensions = [1] : "
        f"({pairs}, tensor<{element}>) -> {type_}"
        for k, op in enumerate(("maximum", "minimum"))
    )
    text = f"""
    func.func @main(%x: {type_}, %y: {type_}, %p: {pairs}, %i0: tensor<{element}>, %i1: tensor<{element}>)
        -> ({", ".join([type_] * 6)}) {{
      {made}
      return %0, %b0, %r0, %1, %b1, %r1 : {", ".join([type_] * 6)}
    }}"""
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64}[element]
    x, y = np.array([0.0, -0.0] * 8 + [1.0], dtype), np.array([-0.0, 0.0] * 8 + [-0.0], dtype)
    most, least = np.array([0.0] * 16 + [1.0]), np.array([-0.0] * 17)
    found = run_text(text, x, y, np.stack([x, y], 1), np.array(-np.inf, dtype), np.array(np.inf, dtype))
    for values, wanted in zip(found, [most] * 3 + [least] * 3, strict=True):
        np.testing.assert_array_equal(values.astype(np.float64), wanted)
        np.testing.assert_array_equal(np.signbit(values.astype(np.float64)), np.signbit(wanted))


def test_total_order_puts_nan_last_and_tells_zeros_apart():
    text = """
    func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> (tensor<5xi1>, tensor<5xi1>) {
      %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
      %1 = stablehlo.compare EQ, %x, %y, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
      return %0, %1 : tensor<5xi1>, tensor<5xi1>
    }"""
    x = np.array([-0.0, np.inf, np.nan, -np.nan, 1.0], np.float32)
    y = np.array([0.0, np.nan, np.nan, -np.inf, 2.0], np.float32)
    less, equal = run_text(text, x, y)
    assert less.tolist() == [True, True, False, True, True]
    assert equal.tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32, np.uint32, np.bool_, np.float16, ml_dtypes.bfloat16])
def test_conversions_of_floats(target):
    x = np.array([0, -0.9, 1.5, -2.5, 127.5, 300, -300, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan, 0.1], np.float32)
    agrees_with_xla(lambda x: lax.convert_element_type(x, target), x)


@pytest.mark.parametrize("source", [np.int8, np.uint8, np.int32, np.uint32])
def test_conversions_of_integers(source):
    x, _ = corner_integers(source)
    targets = [np.int8, np.uint8, np.int16, np.uint32, np.bool_, np.float32, ml_dtypes.bfloat16]
    agrees_with_xla(lambda x: [lax.convert_element_type(x, target) for target in targets], x)


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_eight_bit_floats(dtype):
    x = np.linspace(-3, 3, 13).astype(np.float32)

    def narrow(x):
        y = x.astype(dtype)
        return [(y + y).astype(np.float32), y.astype(np.float32), (y * y).astype(jnp.bfloat16)]

    agrees_with_xla(narrow, x)


def test_four_bit_integers_wrap():
    x = np.arange(-8, 8).astype(np.int32)

    def narrow(x):
        y = x.astype(jnp.int4)
        return [(y + y).astype(np.int32), (y * y).astype(np.int32), (-y).astype(np.int32)]

    agrees_with_xla(narrow, x)


@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 10), (8, 7), (4, 3), (8, 23), (5, 2)])
def test_reduce_precision(exponent, mantissa):
    x = np.array(
        [1.0, 1.0009765625, 3.14159, 65519.0, 65520.0, 7e4, 1e-5, 6.1e-5, 1e-8, -2.7, np.inf, np.nan], np.float32
    )
    agrees_with_xla(lambda x: lax.reduce_precision(x, exponent, mantissa), x, rtol=0, atol=0)


@pytest.mark.parametrize("target", [np.uint32, np.int32, np.uint8, np.uint16, np.float16])
def test_bitcasts_of_floats(target):
    x = np.array([1.0, -2.5, 3.25e-12, 0.0, -0.0, 7e7], np.float32)
    agrees_with_xla(lambda x: lax.bitcast_convert_type(x, target), x)


def test_bitcasts_that_join_and_split():
    x = np.arange(16, dtype=np.uint8).reshape(4, 4) * 17
    agrees_with_xla(lambda x: lax.bitcast_convert_type(x, np.uint32), x)
    agrees_with_xla(lambda x: lax.bitcast_convert_type(x.reshape(4, 2, 2), np.float16), x)


def test_complex_numbers():
    rng = np.random.default_rng(1)
    x = (rng.normal(size=9) + 1j * rng.normal(size=9)).astype(np.complex64)
    x[0] = 0

    def every(x):
        made = lax.complex(lax.imag(x), lax.real(x))
        return [made, x * made, x - made, lax.abs(x), lax.neg(x), lax.exp(x), lax.conj(x), lax.sign(x), lax.eq(x, made)]

    agrees_with_xla(every, x)


def test_select_with_scalar_predicate():
    x = np.arange(6, dtype=np.float32)
    for flag in (True, False):
        agrees_with_xla(lambda p, x: lax.select(jnp.broadcast_to(p, x.shape), x, -x), np.array(flag), x)
    text = """
    func.func @main(%p: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    inputs = (np.array(True), np.arange(3, dtype=np.float32), -np.ones(3, np.float32))
    np.testing.assert_array_equal(run_text(text, *inputs)[0], interpret(text, *inputs)[0])


def test_sixty_four_bit_arithmetic():
    with jax.enable_x64(True):
        x, y = corner_integers(np.int64)
        agrees_with_xla(lambda x, y: [x + y, x * y, lax.div(x, y), lax.rem(x, y), lax.shift_left(x, y)], x, y)
        wide = np.array([1e19, -1e19, 2.0**63, -(2.0**63), 0.5, np.nan])
        agrees_with_xla(lambda x: [x.astype(np.int64), x.astype(np.uint64), x.astype(np.float32)], wide)
