"""Data movement, windows and contractions against XLA on CPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from evaluate.oracles import agrees_with_xla, interpret, run_text
from shardproof import Verdict, validate_modules
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_movement():
    def every(x):
        spread = lax.broadcast_in_dim(x, (6, 3, 4), (2, 0)) if x.shape == (4, 6) else x
        return [
            x.T,
            x.reshape(3, 8),
            lax.slice(x, (1, 0), (4, 5), (2, 3)),
            lax.rev(x, (0,)),
            lax.concatenate([x, 2 * x, x], 1),
            spread,
            lax.broadcast_in_dim(x, (2, 4, 6), (1, 2)),
            lax.broadcasted_iota(np.int32, (3, 5), 1),
            lax.broadcasted_iota(np.float32, (3, 5), 0),
        ]

    agrees_with_xla(every, X)


@pytest.mark.parametrize(
    "config",
    [
        ((1, 2, 0), (0, 0, 2)),
        ((-1, 0, 0), (2, -3, 0)),
        ((-2, -1, 1), (0, 0, 0)),
        ((-3, 4, 2), (1, -2, 3)),
        ((3, -6, 1), (-6, 0, 0)),
        ((0, -4, 0), (-4, -1, 1)),
    ],
)
def test_pad_with_negative_edges_and_interior(config):
    agrees_with_xla(lambda x: lax.pad(x, jnp.float32(9), config), X)


def test_pad_that_leaves_nothing_of_the_operand():
    agrees_with_xla(lambda x: lax.pad(x, jnp.float32(9), ((-4, 3, 0), (0, 0, 0))), X)


@pytest.mark.parametrize("reducer", ["add", "max", "mul", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_reductions(reducer, dtype):
    x = (X.reshape(2, 3, 4) % 7 - 2).astype(dtype)
    function = {"add": jnp.sum, "max": jnp.max, "mul": jnp.prod, "min": jnp.min}[reducer]
    agrees_with_xla(lambda x: [function(x), function(x, axis=1), function(x, axis=(0, 2))], x)


@pytest.mark.parametrize("width", [1, 2])
def test_sums_of_negative_zeros_keep_their_sign(width):
    text = f"""
    func.func @main(%x: tensor<3x{width}xf32>) -> tensor<3xf32> {{
      %start = stablehlo.constant dense<-0.0> : tensor<f32>
      %sum = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1]
        : (tensor<3x{width}xf32>, tensor<f32>) -> tensor<3xf32>
      %one = stablehlo.constant dense<1.0> : tensor<3xf32>
      %sign = stablehlo.divide %one, %sum : tensor<3xf32>
      return %sign : tensor<3xf32>
    }}"""
    x = np.array([[-0.0, -0.0], [-0.0, 0.0], [-0.0, 1.0]], np.float32)[:, :width]
    np.testing.assert_array_equal(run_text(text, x)[0], interpret(text, x)[0])


def test_logical_reductions():
    x = (X.reshape(4, 6) % 3) > 0
    agrees_with_xla(lambda x: [jnp.all(x, 0), jnp.any(x, 1), jnp.all(x)], x)


def test_reduction_of_two_operands_together():
    x = (X * 7 % 11).astype(np.float32)
    x[1, 2] = np.nan
    agrees_with_xla(lambda x: [jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(jnp.ones_like(x), 1)], x)


def test_reduction_of_nothing_is_the_initial_value():
    agrees_with_xla(lambda x: [jnp.sum(x, 0), jnp.prod(x, 0)], np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(reverse):
    agrees_with_xla(
        lambda x: [lax.cumsum(x, 1, reverse), lax.cummax(x, 0, reverse), lax.cumlogsumexp(x / 9, 1, reverse)], X
    )


@pytest.mark.parametrize(
    "case",
    [
        {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": ((0, 1), (2, 0))},
        {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": ((0, 0), (0, 0)), "window_dilation": (2, 3)},
        {"window_dimensions": (3, 2), "window_strides": (2, 1), "padding": ((1, 1), (0, 3)), "base_dilation": (3, 2)},
    ],
)
def test_reduce_window(case):
    agrees_with_xla(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, **case), X)
    agrees_with_xla(lambda x: lax.reduce_window(x, 0.0, lax.add, **case), X)


def test_select_and_scatter():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1, 6, 7, 2)).astype(np.float32)

    def pooled(x):
        window = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (0, 1), (0, 0)))
        return jnp.sum(window * jnp.arange(window.size, dtype=np.float32).reshape(window.shape))

    agrees_with_xla(jax.grad(pooled), x)


@pytest.mark.parametrize(
    ("dims", "left", "right"),
    [
        ((((1,), (0,)), ((), ())), (4, 6), (6, 3)),
        ((((2, 0), (1, 2)), ((1,), (0,))), (5, 3, 2), (3, 2, 5)),
        ((((), ()), ((), ())), (2,), (3,)),
        ((((0,), (2,)), ((2,), (1,))), (4, 3, 2), (5, 2, 4)),
    ],
)
def test_dot_general(dims, left, right):
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=left).astype(np.float32), rng.normal(size=right).astype(np.float32)
    agrees_with_xla(lambda x, y: lax.dot_general(x, y, dims), x, y, rtol=1e-5)
    agrees_with_xla(
        lambda x, y: lax.dot_general(x, y, dims, preferred_element_type=np.int32),
        (x * 90).astype(np.int8),
        (y * 90).astype(np.int8),
    )


CONVOLUTIONS = [
    {"window_strides": (1, 1), "padding": "SAME"},
    {"window_strides": (2, 3), "padding": ((1, 2), (0, 1))},
    {"window_strides": (1, 2), "padding": ((2, -1), (3, 0)), "lhs_dilation": (2, 3), "rhs_dilation": (1, 2)},
    {"window_strides": (1, 1), "padding": "VALID", "feature_group_count": 2},
    {"window_strides": (1, 1), "padding": "VALID", "batch_group_count": 2},
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case):
    rng = np.random.default_rng(5)
    groups = case.get("feature_group_count", 1)
    x = rng.normal(size=(2, 7, 8, 4)).astype(np.float32)
    w = rng.normal(size=(3, 2, 4 // groups, 6)).astype(np.float32)
    agrees_with_xla(
        lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **case),
        x,
        w,
        rtol=1e-4,
        atol=1e-4,
    )
    agrees_with_xla(
        lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=("HNWC", "OWHI", "CWNH"), **case),
        x.transpose(1, 0, 2, 3),
        w.transpose(3, 1, 0, 2),
        rtol=1e-4,
        atol=1e-4,
    )


def test_convolution_gradients():
    rng = np.random.default_rng(6)
    x, w = rng.normal(size=(2, 3, 9)).astype(np.float32), rng.normal(size=(4, 3, 3)).astype(np.float32)

    def loss(x, w):
        return jnp.sum(lax.conv_general_dilated(x, w, (2,), ((1, 2),), rhs_dilation=(2,)) ** 2)

    agrees_with_xla(jax.grad(loss, (0, 1)), x, w, rtol=1e-4, atol=1e-4)


def test_convolution_with_reversed_window():
    text = """
    func.func @main(%x: tensor<1x1x5xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],
        window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
      return %0 : tensor<1x1x3xf32>
    }"""
    inputs = np.arange(5, dtype=np.float32).reshape(1, 1, 5) ** 2, np.array([[[1, 10, 100]]], np.float32)
    np.testing.assert_array_equal(run_text(text, *inputs)[0], interpret(text, *inputs)[0])


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft", "fft2"])
def test_fft(kind):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(3, 8)).astype(np.float32)
    value = x if kind == "rfft" else (x + 1j * x[::-1]).astype(np.complex64)
    agrees_with_xla(getattr(jnp.fft, kind), value, rtol=1e-4, atol=1e-5)


def test_cholesky_and_triangular_solves():
    rng = np.random.default_rng(8)
    a = rng.normal(size=(3, 5, 5)).astype(np.float32)
    spd = a @ a.transpose(0, 2, 1) + 5 * np.eye(5, dtype=np.float32)
    agrees_with_xla(jnp.linalg.cholesky, spd, rtol=1e-4, atol=1e-5)
    b = rng.normal(size=(3, 5, 2)).astype(np.float32)
    for lower in (True, False):
        for trans in (0, 1):
            agrees_with_xla(
                lambda a, b, lower=lower, trans=trans: jax.scipy.linalg.solve_triangular(
                    a, b, lower=lower, trans=trans
                ),
                spd[0],
                b[0],
                rtol=1e-4,
                atol=1e-5,
            )


@pytest.mark.parametrize("left_side", ["true", "false"])
@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
def test_triangular_solve_solves(left_side, lower, transpose):
    text = f"""
    func.func @main(%a: tensor<2x3x3xf32>, %b: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {{
      %0 = "stablehlo.triangular_solve"(%a, %b) {{left_side = {left_side}, lower = {lower}, unit_diagonal = false,
        transpose_a = #stablehlo<transpose {transpose}>}} : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
      return %0 : tensor<2x3x3xf32>
    }}"""
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(2, 3, 3)).astype(np.float32), rng.normal(size=(2, 3, 3)).astype(np.float32)
    a += 4 * np.eye(3, dtype=np.float32)
    (x,) = run_text(text, a, b)
    triangle = np.tril(a) if lower == "true" else np.triu(a)
    triangle = triangle.swapaxes(1, 2) if transpose == "TRANSPOSE" else triangle
    np.testing.assert_allclose(triangle @ x if left_side == "true" else x @ triangle, b, rtol=1e-4, atol=1e-5)


def test_cholesky_of_an_indefinite_matrix_is_nan():
    a = np.array([[4, 1, 2], [1, -1, 3], [2, 3, 7]], np.float32)
    agrees_with_xla(lambda a: jax.lax.linalg.cholesky(a, symmetrize_input=False), a)


ADDED = """({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) : (tensor<3x1xi32>, tensor<i32>) -> """


@pytest.mark.parametrize(
    "op",
    [
        '"stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ' + ADDED + "tensor<3xi32>",
        '"stablehlo.reduce"(%x, %i) <{dimensions = array<i64>}> ' + ADDED + "tensor<3x1xi32>",
        '"stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3, 1>, '
        "padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> " + ADDED + "tensor<3x1xi32>",
    ],
)
def test_starts_that_xla_treats_otherwise_tell_nothing(op: str) -> None:
    """XLA drops the start of a reduction of single elements, and has it once a window, not at every padded place."""
    result = op.rpartition("-> ")[2]
    text = f"func.func @main(%x: tensor<3x1xi32>, %i: tensor<i32>) -> {result} {{ %r = {op} return %r : {result} }}\n"
    program = read_program(text)
    for start, told in ((0, set()), (5, {program.body.ops[0].name})):
        machine = Machine(1, Native())
        machine.run(program, [np.arange(3, dtype=np.int32).reshape(1, 3, 1), np.full(1, start, np.int32)])
        assert {name.split("'")[1] for name in machine.undefined} == told


@pytest.mark.parametrize(
    ("left", "right", "out"), [("f32", "f32", "bf16"), ("f32", "i32", "i32"), ("f32", "f32", "i32")]
)
def test_products_are_summed_in_the_widest_type(left: str, right: str, out: str):
    """64 times 1 + 2^-9 less 64 is 1/8, where it is not rounded before."""
    x = np.array([1 + 2**-9] * 64 + [-64], np.float32)
    y = np.full(65, 100 if right == "i32" else 1, np.int32 if right == "i32" else np.float32)
    text = f"""func.func @main(%x: tensor<65x{left}>, %y: tensor<65x{right}>) -> tensor<{out}> {{
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
        : (tensor<65x{left}>, tensor<65x{right}>) -> tensor<{out}>
      return %0 : tensor<{out}>
    }}"""
    assert run_text(text, x, y)[0] == {"bf16": 0.125, "i32": 12 if right == "i32" else 0}[out]


def test_a_start_is_neutral_for_what_is_no_number() -> None:
    op = '"stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ' + ADDED.replace("i32", "f32") + "tensor<3xf32>"
    head = "func.func @main(%x: tensor<3x1xf32>, %i: tensor<f32>) -> tensor<3xf32>"
    text = f"{head} {{ %r = {op} return %r : tensor<3xf32> }}\n"
    machine = Machine(1, Native())
    machine.run(read_program(text), [np.full((1, 3, 1), np.nan, np.float32), np.zeros(1, np.float32)])
    assert not machine.undefined


@pytest.mark.parametrize(
    ("op", "good", "bad"),
    [
        ('"stablehlo.cholesky"(%x) <{lower = true}>', [[4, 1], [1, 3]], [[0, 1], [1, 3]]),
        ('"stablehlo.cholesky"(%x) <{lower = false}>', [[4, 1], [1, 3]], [[4, 1], [1, -3]]),
        (
            '"stablehlo.triangular_solve"(%x, %x) <{left_side = true, lower = true, unit_diagonal = false, '
            "transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>",
            [[4, 1], [1, 3]],
            [[4, 1], [1, 0]],
        ),
    ],
)
def test_a_matrix_without_factor_or_inverse_tells_nothing(op: str, good: list, bad: list):
    """XLA's own expansion of a factor of zeros is NaN in the other triangle as well."""
    type_ = "tensor<2x2xf32>"
    operands = ", ".join([type_] * op.count("%x"))
    text = f"func.func @main(%x: {type_}) -> {type_} {{ %r = {op} : ({operands}) -> {type_} return %r : {type_} }}\n"
    program = read_program(text)
    for matrix, defined in ((good, True), (bad, False)):
        machine = Machine(1, Native())
        machine.run(program, [np.array([matrix], np.float32)])
        assert (not machine.undefined) is defined


def test_bits_of_nan_tell_nothing():
    """All NaNs are one: a payload that a constant has must not refute what keeps it."""
    text = """func.func @main() -> tensor<i32> {{
      %c = stablehlo.constant dense<{0}> : tensor<f32>
      %r = stablehlo.bitcast_convert %c : (tensor<f32>) -> tensor<i32>
      return %r : tensor<i32>
    }}\n"""
    folded = """func.func @main() -> tensor<i32> {
      %r = stablehlo.constant dense<2143293492> : tensor<i32>
      return %r : tensor<i32>
    }\n"""
    assert validate_modules(text.format("0x7FC01234"), folded).verdict is not Verdict.REFUTED
    assert validate_modules(text.format("0x3FC01234"), folded).verdict is Verdict.REFUTED
