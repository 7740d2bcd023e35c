"""Operations of CHLO that HLO lacks are read as what XLA makes of them, and mean what JAX says they do."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.evaluate.numbers import STORAGE
from shardproof.validator.read import read_program

UNARY = {
    "acos": np.arccos,
    "acosh": lambda x: np.arccosh(1 + x),
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
}
POINTS = np.array([0.05, 0.25, 0.5, 0.75, 0.95], np.float32)


def module(operation: str, arguments: str, result: str = "tensor<5xf32>") -> str:
    return f"""
module @m {{
  func.func @main({arguments}) -> {result} {{
    %0 = {operation}
    return %0 : {result}
  }}
}}"""


def run(text: str, *inputs: np.ndarray) -> tuple[set[str], np.ndarray]:
    program = read_program(text)
    (result,) = Machine(program, Native()).run(program, [array[None] for array in inputs])
    return {op.name for op in program.body.ops}, result[0]


@pytest.mark.parametrize("name", UNARY)
def test_what_an_operation_is_made_of_computes_it(name: str):
    given = 1 + POINTS if name == "acosh" else POINTS
    names, result = run(module(f"chlo.{name} %x : tensor<5xf32> -> tensor<5xf32>", "%x: tensor<5xf32>"), given)
    assert not any(op.startswith("chlo.") for op in names)
    np.testing.assert_allclose(result, UNARY[name](POINTS), rtol=1e-5)


def test_functions_without_a_closed_form():
    text = module("chlo.erf_inv %x : tensor<5xf32> -> tensor<5xf32>", "%x: tensor<5xf32>")
    names, result = run(text, POINTS)
    assert "stablehlo.log_plus_one" in names
    expected = [NormalDist().inv_cdf((1 + float(point)) / 2) / 2**0.5 for point in POINTS]
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    text = module("chlo.lgamma %x : tensor<5xf32> -> tensor<5xf32>", "%x: tensor<5xf32>")
    _, result = run(text, np.arange(1, 6, dtype=np.float32))
    np.testing.assert_allclose(result, np.log([1, 1, 2, 6, 24]), atol=1e-5)


@pytest.mark.parametrize(
    ("operation", "kept"),
    [
        ("chlo.erf %x : tensor<5xf32> -> tensor<5xf32>", "chlo.erf"),
        ("mhlo.erf %x : tensor<5xf32>", "chlo.erf"),
        ("chlo.square %x : tensor<5xf32> -> tensor<5xf32>", "chlo.square"),
    ],
)
def test_what_hlo_has_stays_one_operation(operation: str, kept: str):
    assert run(module(operation, "%x: tensor<5xf32>"), POINTS)[0] == {kept}


def test_each_use_has_values_of_its_own():
    text = """
    module @m {
      func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
        %0 = chlo.asinh %x : tensor<5xf32> -> tensor<5xf32>
        %1 = chlo.asinh %0 : tensor<5xf32> -> tensor<5xf32>
        return %1 : tensor<5xf32>
      }
    }"""
    _, result = run(text, POINTS)
    np.testing.assert_allclose(result, np.arcsinh(np.arcsinh(POINTS)), rtol=1e-5)
    values: list[Any] = [value.number for op in read_program(text).body.ops for value in op.results]
    assert len(values) == len(set(values))


@pytest.mark.parametrize("lengths", [(6,), (4, 6), (3, 4, 6)])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_fourier_transforms_of_several_dimensions_are_read_one_by_one(kind: str, lengths: tuple[int, ...]) -> None:
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    shapes = {"RFFT": (lengths, half), "IRFFT": (half, lengths)}.get(kind, (lengths, lengths))
    types = {"RFFT": ("f32", "complex<f32>"), "IRFFT": ("complex<f32>", "f32")}.get(kind, ("complex<f32>",) * 2)
    operand, result = (
        f"tensor<2x{'x'.join(map(str, shape))}x{type_}>" for shape, type_ in zip(shapes, types, strict=True)
    )
    text = module(
        f"stablehlo.fft %x, type = {kind}, length = {list(lengths)} : ({operand}) -> {result}", f"%x: {operand}", result
    )
    draw = np.random.default_rng(0)
    x = draw.normal(size=(2, *shapes[0])) + (0 if kind == "RFFT" else 1j * draw.normal(size=(2, *shapes[0])))
    names, found = run(text, x.astype(np.float32 if kind == "RFFT" else np.complex64))
    over = tuple(range(1, len(lengths) + 1))
    expected = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn}.get(kind)
    wanted = expected(x, axes=over) if expected else np.fft.irfftn(x, lengths, over)
    assert np.allclose(found, wanted, atol=1e-4)
    program = read_program(text)
    ffts = [op for op in program.body.ops if op.name == "stablehlo.fft"]
    assert len(ffts) == len(lengths)
    assert all(len(op.attributes["fft_length"]) == 1 for op in ffts)
    assert names


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32", "ui8"])
def test_the_greatest_are_sorted_out_in_the_total_order(dtype: str, k: int) -> None:
    rows, cut, places = f"tensor<2x6x{dtype}>", f"tensor<2x{k}x{dtype}>", f"tensor<2x{k}xi32>"
    text = f"""
    module @m {{
      func.func @main(%x: {rows}) -> ({cut}, {places}) {{
        %v, %i = chlo.top_k(%x, k = {k}) : {rows} -> ({cut}, {places})
        return %v, %i : {cut}, {places}
      }}
    }}"""
    program = read_program(text)
    assert "stablehlo.sort" in [op.name for op in program.body.ops]
    given = np.array([[3, 1, 3, 0, 7, 1], [2, 2, 2, 2, 2, 2]], STORAGE[program.parameters[0].value.tensor.dtype])
    order = np.argsort(-given.astype(np.float64), axis=1, kind="stable")
    if "f" in dtype:
        given[0], order[0] = [-0.0, 0.0, np.nan, -np.inf, 0.0, -np.nan], [2, 1, 4, 0, 3, 5]
        given[0, 5] = np.copysign(given[0, 2], -1)
    values, found = Machine(1, Native()).run(program, [given[None]])
    assert found[0].tolist() == order[:, :k].tolist()
    assert values[0].tobytes() == np.take_along_axis(given, order, 1)[:, :k].tobytes()


def dot(left: str, right: str, result: str) -> str:
    x, y, o = f"tensor<2x5x{left}>", f"tensor<5x3x{right}>", f"tensor<2x3x{result}>"
    operation = f"stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {o}"
    return module(operation, f"%x: {x}, %y: {y}", o)


@pytest.mark.parametrize(
    ("left", "right", "converted"),
    [("i1", "f32", True), ("f32", "bf16", True), ("i8", "i32", True), ("i32", "f32", False), ("f32", "f32", False)],
)
def test_a_contraction_of_two_types_converts_the_narrower_one(left: str, right: str, converted: bool) -> None:
    result = "f32" if "f32" in (left, right) else "i32"
    program = read_program(dot(left, right, result))
    assert [op.name for op in program.body.ops] == ["stablehlo.convert"] * converted + ["stablehlo.dot_general"]
    draw = np.random.default_rng(0)
    types = [parameter.value.tensor.dtype for parameter in program.parameters]
    x, y = (draw.integers(0, 2, shape).astype(STORAGE[t]) for shape, t in zip(((2, 5), (5, 3)), types, strict=True))
    (found,) = Machine(1, Native()).run(program, [x[None], y[None]])
    assert np.array_equal(found[0], x.astype(np.float64) @ y.astype(np.float64))


def test_a_contraction_into_a_third_type_is_one_operation() -> None:
    assert [op.name for op in read_program(dot("bf16", "bf16", "f32")).body.ops] == ["stablehlo.dot_general"]
    assert [op.name for op in read_program(dot("bf16", "f16", "f32")).body.ops] == ["stablehlo.dot_general"]
