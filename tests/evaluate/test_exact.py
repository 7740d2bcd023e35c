"""The exact arithmetic: field laws hold to the bit, specials follow IEEE, order is a lattice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardproof.validator.evaluate import field
from shardproof.validator.evaluate.errors import UnsupportedInExact
from shardproof.validator.evaluate.exact import Exact
from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.ir import DType

F32 = DType.F32
EXACT = Exact(5)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def load(*values: float) -> np.ndarray:
    return EXACT.load(np.array(values, np.float64), F32)


def residues(value: Fraction) -> int:
    high = value.numerator * pow(value.denominator, -1, field.P) % field.P
    low = value.numerator * pow(value.denominator, -1, field.Q) % field.Q
    return high << 32 | low


@given(FLOATS)
def test_floats_are_the_rationals_they_are(value):
    assert int(load(value)[0]) == residues(Fraction(value))


@given(FLOATS, FLOATS, FLOATS)
@settings(max_examples=50)
def test_field_operations(x, y, z):
    exact = {
        "add": Fraction(x) + Fraction(y),
        "subtract": Fraction(x) - Fraction(y),
        "multiply": Fraction(x) * Fraction(y),
    }
    if y:
        exact["divide"] = Fraction(x) / Fraction(y)
    for name, value in exact.items():
        assert int(EXACT.binary(name, load(x), load(y), F32)[0]) == residues(value)
    total = EXACT.reduce("add", load(x, y, z), 0, F32)
    assert int(total) == residues(Fraction(x) + Fraction(y) + Fraction(z))
    product = EXACT.reduce("multiply", load(x, y, z), 0, F32)
    assert int(product) == residues(Fraction(x) * Fraction(y) * Fraction(z))


@pytest.mark.parametrize("extent", [1, 7, 1000, (1 << 20) + 3])
def test_long_products_of_matrices_do_not_overflow(extent):
    rng = np.random.default_rng(extent)
    words = rng.integers(0, 1 << 63, (2, extent), dtype=np.uint64)
    x, y = field.from_words(words)
    x[0] = (field.P - 1) << 32 | (field.Q - 1)
    (got,) = field.matmul(x[None, :], y[:, None])[0]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    high = low = 0
    for a, b in pairs:
        high, low = (high + (a >> 32) * (b >> 32)) % field.P, (low + (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)) % field.Q
    assert int(got) == high << 32 | low


def test_rounding_hides_nothing():
    tiny, huge = load(2.0**-140), load(2.0**120)
    back = EXACT.binary("subtract", EXACT.binary("add", huge, tiny, F32), huge, F32)
    assert back == tiny


def test_order_is_that_of_moderate_fractions_and_reversed_by_negation():
    values = np.array([-5.5, -1.0, -0.25, 0.0, 0.125, 1.0, 3.0, 1000.5])
    keys = EXACT.sort_keys(load(*values), F32)
    assert (np.diff(keys) > 0).all()
    x = field.from_words(np.random.default_rng(0).integers(0, 1 << 63, 200, dtype=np.uint64))
    keys = EXACT.sort_keys(x, F32)
    assert len(np.unique(keys)) == len(x)
    np.testing.assert_array_equal(EXACT.sort_keys(EXACT.unary("negate", x, F32), F32), -keys)
    y = np.roll(x, 1)
    greatest = EXACT.reduce("maximum", np.stack([x, y]), 0, F32)
    np.testing.assert_array_equal(greatest, EXACT.binary("maximum", y, x, F32))
    np.testing.assert_array_equal(
        EXACT.unary("negate", EXACT.unary("abs", x, F32), F32), np.where(keys < 0, x, field.negate(x))
    )


def test_infinities_and_nan_follow_ieee():
    plain = np.array([np.inf, -np.inf, np.nan, 0.0, 2.0, -3.0])
    x, y = (grid.ravel() for grid in np.meshgrid(plain, plain))
    with np.errstate(all="ignore"):
        for name, function in {
            "add": np.add,
            "subtract": np.subtract,
            "multiply": np.multiply,
            "divide": np.divide,
            "maximum": np.maximum,
            "minimum": np.minimum,
        }.items():
            wanted = function(x, y)
            got = EXACT.binary(name, load(*x), load(*y), F32)
            odd = ~np.isfinite(wanted)
            np.testing.assert_array_equal(got[odd], load(*wanted[odd]), err_msg=name)
            assert not field.special(got[~odd]).any(), name
        for direction, function in {
            Comparison.LT: np.less,
            Comparison.NE: np.not_equal,
            Comparison.GE: np.greater_equal,
        }.items():
            np.testing.assert_array_equal(EXACT.compare(direction, load(*x), load(*y), F32), function(x, y))
    product = EXACT.matmul(load(np.inf, 1.0).reshape(1, 2), load(2.0, 5.0).reshape(2, 1), F32, F32, F32)
    assert product == field.POSITIVE_INFINITY
    total = EXACT.reduce("add", load(1.0, np.inf, -np.inf), 0, F32)
    assert total == field.NAN


def test_functions_are_congruent_and_keyed():
    x = load(0.3, 0.3, 0.7)
    values = EXACT.unary("exponential", x, F32)
    assert values[0] == values[1] != values[2]
    assert values[0] != Exact(6).unary("exponential", x, F32)[0]
    assert values[0] != EXACT.unary("tanh", x, F32)[0]
    np.testing.assert_array_equal(EXACT.unary("exponential", load(0.0, -np.inf, np.inf), F32), load(1.0, 0.0, np.inf))
    assert EXACT.hashed


def test_integers_come_back_as_themselves():
    n = np.array([-70, -1, 0, 3, 10000])
    as_float = EXACT.convert(n.astype(np.int32), DType.I32, F32)
    np.testing.assert_array_equal(EXACT.convert(as_float, F32, DType.I32), n)
    halves = load(-1.5, -0.5, 0.5, 2.75)
    np.testing.assert_array_equal(EXACT.convert(halves, F32, DType.I32), [-1, 0, 0, 2])
    np.testing.assert_array_equal(EXACT.unary("floor", halves, F32), load(-2, -1, 0, 2))
    np.testing.assert_array_equal(EXACT.bitcast(load(1.0, -2.5), F32, DType.UI32), [0x3F800000, 0xC0200000])
    np.testing.assert_array_equal(EXACT.bitcast(np.array([0x3F800000], np.uint32), DType.UI32, F32), load(1.0))


def test_powers_multiply():
    x = load(1.1, 0.0, -3.0)
    squared = EXACT.binary("power", x, load(2.0, 2.0, 2.0), F32)
    np.testing.assert_array_equal(squared, EXACT.binary("multiply", x, x, F32))
    inverse = EXACT.binary("power", x, load(-1.0, -1.0, -1.0), F32)
    np.testing.assert_array_equal(inverse, EXACT.binary("divide", load(1.0, 1.0, 1.0), x, F32))


def test_complex_numbers_are_refused():
    with pytest.raises(UnsupportedInExact, match="complex"):
        EXACT.load(np.array([1j]), DType.C64)
