"""Contractions against multiplications that are summed, either way round, and what is neither."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shardproof
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.program import read_program

from .modules import module, theory_of


def arguments(dtype: str) -> list[tuple[str, str, str]]:
    return [("x", f"4x6x{dtype}", ""), ("y", f"6x{dtype}", "")]


def contracted(dtype: str, more: str = "") -> str:
    x, y, o = (f"tensor<{shape}x{dtype}>" for shape in ("4x6", "6", "4"))
    body = f"%o = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]{more} : ({x}, {y}) -> {o} return %o : {o}"
    return module(arguments(dtype), f"4x{dtype}", body)


def summed(dtype: str, zero: str, op: str = "multiply", width: int = 6) -> str:
    x, y, o = (f"tensor<{shape}x{dtype}>" for shape in ("4x6", "6", "4"))
    body = f"""%w = stablehlo.broadcast_in_dim %y, dims = [1] : ({y}) -> {x}
      %z = stablehlo.{op} %x, %w : {x}
      %s = stablehlo.slice %z [0:4, 0:{width}] : ({x}) -> tensor<4x{width}x{dtype}>
      %c = stablehlo.constant dense<{zero}> : tensor<{dtype}>
      %o = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [1]
        : (tensor<4x{width}x{dtype}>, tensor<{dtype}>) -> {o} return %o : {o}"""
    return module(arguments(dtype), f"4x{dtype}", body)


TYPES = [("f32", "0.0"), ("bf16", "0.0"), ("f64", "0.0"), ("i32", "0"), ("ui8", "0")]


@pytest.mark.parametrize(("dtype", "zero"), TYPES)
def test_either_stands_for_the_other(dtype: str, zero: str) -> None:
    expected = Theory.EXACT if "i" in dtype else Theory.REASSOCIATED
    programs = contracted(dtype), summed(dtype, zero)
    assert [theory_of(one, other) for one, other in itertools.permutations(programs)] == [expected] * 2


@pytest.mark.parametrize(
    "other", [summed("f32", "0.0", "add"), summed("f32", "0.0", width=5), summed("f32", "0.0", "divide")]
)
def test_another_sum_is_another_value(other: str) -> None:
    assert theory_of(contracted("f32"), other) is None
    assert theory_of(other, contracted("f32")) is None


def test_what_is_no_sum_of_numbers_of_one_type() -> None:
    # of booleans the one is a disjunction; of complex numbers infinities may become another no-number
    assert theory_of(contracted("complex<f32>"), summed("complex<f32>", "(0.0, 0.0)")) is None
    # that an operand is rounded first is more than the sum's own rounding
    algorithm = """, algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,
      lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
      allow_imprecise_accumulation = false>"""
    assert theory_of(contracted("f32", algorithm), summed("f32", "0.0")) is None


def test_a_pair_that_is_reached_twice() -> None:
    """Each product is counted three times."""
    x = "tensor<4x3x6xf32>"
    body = f"""%v = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x6xf32>) -> {x}
      %w = stablehlo.broadcast_in_dim %y, dims = [2] : (tensor<6xf32>) -> {x}
      %z = stablehlo.multiply %v, %w : {x}
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %o = stablehlo.reduce(%z init: %c) applies stablehlo.add across dimensions = [1, 2]
        : ({x}, tensor<f32>) -> tensor<4xf32> return %o : tensor<4xf32>"""
    wrong = module(arguments("f32"), "4xf32", body)
    assert theory_of(contracted("f32"), wrong) is None
    assert theory_of(wrong, contracted("f32")) is None


@pytest.mark.parametrize(("dtype", "zero"), [("f32", "0.0"), ("i32", "0")])
def test_they_are_equal_as_the_evaluator_computes_them(dtype: str, zero: str) -> None:
    draw = np.random.default_rng(0)
    kind = np.float64 if dtype == "f32" else np.int64
    for _ in range(5):
        # integers, of which floats make no rounded products
        given = [draw.integers(-99, 99, (1, *shape)).astype(kind) for shape in ((4, 6), (6,))]
        results = []
        for text in (contracted(dtype), summed(dtype, zero)):
            program = read_program(text.encode())
            stored = [array.astype("float32" if dtype == "f32" else "int32") for array in given]
            results.append(Machine(1, Native()).run(program, stored)[0])
        assert np.array_equal(*results)


def outer(how: str) -> str:
    """x[i, j] · y[j] with nothing summed, of which a function is taken."""
    x, y, o = "tensor<4x6xf32>", "tensor<6xf32>", "tensor<6x4xf32>"
    dims = "batching_dims = [1] x [0], contracting_dims = [] x []"
    dot = f"%z = stablehlo.dot_general %x, %y, {dims} : ({x}, {y}) -> {o}"
    spread = f"""%v = stablehlo.transpose %x, dims = [1, 0] : ({x}) -> {o}
      %w = stablehlo.broadcast_in_dim %y, dims = [0] : ({y}) -> {o} %z = stablehlo.{how} %v, %w : {o}"""
    body = f"{dot if how == 'dot_general' else spread} %o = stablehlo.tanh %z : {o} return %o : {o}"
    return module(arguments("f32"), "6x4xf32", body)


def test_a_contraction_over_nothing_is_a_multiplication() -> None:
    assert theory_of(outer("dot_general"), outer("multiply")) is Theory.REASSOCIATED
    assert theory_of(outer("dot_general"), outer("add")) is None
    assert theory_of(outer("dot_general"), outer("divide")) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (contracted("f32"), summed("f32", "0.0")),
        (summed("f32", "0.0"), contracted("f32")),
        (contracted("i32"), summed("i32", "0")),
        (outer("dot_general"), outer("multiply")),
    ],
)
def test_certificates_tell_it(before: str, after: str) -> None:
    report = shardproof.validate_modules(before.encode(), after.encode(), certificate=True)
    assert report.verdict is shardproof.Verdict.PROVED
    assert report.certificate is not None


PRECISIONS = {
    "precision": ", precision = [{0}, {1}]",
    "algorithm": """, algorithm = <lhs_precision_type = f8E4M3{0},
      rhs_precision_type = f8E4M3{1}, accumulation_type = f32,
      lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
      allow_imprecise_accumulation = false>""",
}


@pytest.mark.parametrize(("how", "one", "other"), [("precision", "HIGHEST", "DEFAULT"), ("algorithm", "", "FN")])
def test_precision_belongs_to_a_factor(how: str, one: str, other: str) -> None:
    """With the factors exchanged, what is said of the one goes with it, and else it is another product."""
    two_ways, way = [("x", "4x6xf32", ""), ("y", "6x5xf32", "")], PRECISIONS[how]

    def product(first: str, second: str, said: str) -> str:
        sizes = {"x": "tensor<4x6xf32>", "y": "tensor<6x5xf32>"}
        dims = "[1] x [0]" if first == "x" else "[0] x [1]"
        made = "tensor<4x5xf32>" if first == "x" else "tensor<5x4xf32>"
        body = f"""%d = stablehlo.dot_general %{first}, %{second}, contracting_dims = {dims}{said}
          : ({sizes[first]}, {sizes[second]}) -> {made}"""
        turned = f"%t = stablehlo.transpose %d, dims = [1, 0] : ({made}) -> tensor<4x5xf32>"
        end = f"{turned} return %t" if first == "y" else "return %d"
        return module(two_ways, "4x5xf32", f"{body} {end} : tensor<4x5xf32>")

    original = product("x", "y", way.format(one, other))
    assert theory_of(original, product("y", "x", way.format(other, one))) is Theory.EXACT
    assert theory_of(original, product("y", "x", way.format(one, other))) is None
    assert theory_of(original, product("x", "y", way.format(other, one))) is None
    assert theory_of(original, original) is Theory.EXACT
