"""Known scalars are computed in their own type, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.read.scalars import fold_scalars


def folded(body: str, result: str = "f32", argument: str = "f32") -> Program:
    text = f"func.func @main(%x: tensor<{argument}>) -> tensor<{result}> {{ {body} }}"
    return fold_scalars(read_program(f"module @m {{\n {text} }}"))


def constant(program: Program) -> np.ndarray:
    (op,) = [op for op in program.body.ops if op.results[0] is program.results[0].value]
    assert op.name == "stablehlo.constant"
    return op.attributes["value"]


@pytest.mark.parametrize(
    ("body", "result", "value"),
    [
        ("%0 = stablehlo.sqrt %c : tensor<f32> return %0 : tensor<f32>", "f32", np.sqrt(np.float32(6))),
        ("%0 = stablehlo.divide %o, %c : tensor<f32> return %0 : tensor<f32>", "f32", np.float32(1) / np.float32(6)),
        (
            "%0 = stablehlo.sqrt %c : tensor<f32> %1 = stablehlo.multiply %0, %0 : tensor<f32> return %1 : tensor<f32>",
            "f32",
            np.sqrt(np.float32(6)) * np.sqrt(np.float32(6)),
        ),
        (
            "%0 = stablehlo.convert %n : (tensor<i32>) -> tensor<f32> return %0 : tensor<f32>",
            "f32",
            np.float32(16777217),
        ),
        (
            "%0 = stablehlo.convert %c : (tensor<f32>) -> tensor<f64> return %0 : tensor<f64>",
            "f64",
            np.float64(6),
        ),
    ],
)
def test_folded(body: str, result: str, value: np.generic):
    given = (
        "%c = stablehlo.constant dense<6.0> : tensor<f32> %o = stablehlo.constant dense<1.0> : tensor<f32> "
        "%n = stablehlo.constant dense<16777217> : tensor<i32> "
    )
    found = constant(folded(given + body, result))
    assert found.dtype == value.dtype
    assert found.shape == ()
    assert found == value


@pytest.mark.parametrize(
    "body",
    [
        # not rounded correctly everywhere, not finite, not known
        "%c = stablehlo.constant dense<6.0> : tensor<f32> %0 = stablehlo.exponential %c : tensor<f32> "
        "return %0 : tensor<f32>",
        "%c = stablehlo.constant dense<-1.0> : tensor<f32> %0 = stablehlo.sqrt %c : tensor<f32> "
        "return %0 : tensor<f32>",
        "%c = stablehlo.constant dense<6.0> : tensor<f32> %0 = stablehlo.add %c, %x : tensor<f32> "
        "return %0 : tensor<f32>",
    ],
)
def test_not_folded(body: str):
    names = [op.name for op in folded(body).body.ops]
    assert names[0] == "stablehlo.constant"
    assert names[1] in ("stablehlo.exponential", "stablehlo.sqrt", "stablehlo.add")


def test_scalars_around_a_region_are_known_inside_it():
    body = """
      %c = stablehlo.constant dense<6.0> : tensor<f32>
      %0 = stablehlo.while(%a = %x) : tensor<f32>
        cond {
          %p = stablehlo.compare LT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        }
        do {
          %s = stablehlo.sqrt %c : tensor<f32>
          %b = stablehlo.add %a, %s : tensor<f32>
          stablehlo.return %b : tensor<f32>
        }
      return %0 : tensor<f32>"""
    program = folded(body)
    (loop,) = [op for op in program.body.ops if op.regions]
    assert [op.name for op in loop.regions[1].ops] == ["stablehlo.constant", "stablehlo.add"]
