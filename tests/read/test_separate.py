"""Reductions of several operands: one each where the operands never meet, else left as they are."""

from __future__ import annotations

import pytest

from shardproof.validator.options import Options
from shardproof.validator.read.program import read_program
from shardproof.validator.read.simplified import simplified
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MODULE = """
module {{
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r:2 = stablehlo.reduce(%x init: %zero), (%y init: %low) across dimensions = [0]
      : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>)
      reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<f32>, %d: tensor<f32>) {{
        {body}
        stablehlo.return {returned} : tensor<f32>, tensor<f32>
      }}
    return %r#0, %r#1 : tensor<6xf32>, tensor<6xf32>
  }}
}}
"""
SUM = "%s = stablehlo.add %a, %c : tensor<f32>"
GREATEST = "%m = stablehlo.maximum %b, %d : tensor<f32>"
BY_ITSELF = f"{SUM}\n        {GREATEST}"

APART = """
module {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %s, %m : tensor<6xf32>, tensor<6xf32>
  }
}
"""


def reductions(text: str) -> list[int]:
    """How many operands each reduction has."""
    ops = simplified(read_program(text)).body.ops
    return [len(op.operands) // 2 for op in ops if op.name == "stablehlo.reduce"]


def test_operands_that_never_meet() -> None:
    text = MODULE.format(body=BY_ITSELF, returned="%s, %m")
    assert reductions(text) == [1, 1]
    report = validate_programs(read_program(APART), read_program(text), Options())
    assert report.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("body", "returned"),
    [
        (BY_ITSELF, "%m, %s"),
        (SUM, "%s, %s"),
        (f"{SUM}\n        %m = stablehlo.maximum %b, %s : tensor<f32>", "%s, %m"),
        (f"%t = stablehlo.add %a, %d : tensor<f32>\n        {GREATEST}", "%t, %m"),
    ],
    ids=["exchanged", "shared", "one reads the other's", "one reads the other's argument"],
)
def test_operands_that_meet(body: str, returned: str) -> None:
    text = MODULE.format(body=body, returned=returned)
    assert reductions(text) == [2]
    report = validate_programs(read_program(APART), read_program(text), Options())
    assert report.verdict is not Verdict.PROVED


def test_inside_of_loops_and_branches() -> None:
    inner = MODULE[MODULE.index("    %zero") : MODULE.index("    return")].format(body=BY_ITSELF, returned="%s, %m")
    text = f"""
module {{
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %p: tensor<i1>) -> tensor<6xf32> {{
    %0 = "stablehlo.if"(%p) ({{
{inner}
    stablehlo.return %r#0 : tensor<6xf32>
    }}, {{
    %c = stablehlo.constant dense<1.0> : tensor<6xf32>
    stablehlo.return %c : tensor<6xf32>
    }}) : (tensor<i1>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }}
}}
"""
    (branch,) = [op for op in simplified(read_program(text)).body.ops if op.name == "stablehlo.if"]
    assert [op.name for op in branch.regions[0].ops].count("stablehlo.reduce") == 2
