"""Windows that lie wholly in padding hold the reducer's neutral element, in both programs."""

from __future__ import annotations

import pytest

from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MODULE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<6xf32> {
    %start = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %padded = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<4xf32>
    %r = "stablehlo.reduce_window"(%padded, %start) <{window_dimensions = array<i64: 1>,
        padding = dense<[[LOW, HIGH]]> : tensor<1x2xi64>}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %m = stablehlo.maximum %x, %y : tensor<f32>
        stablehlo.return %m : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}
"""
PADDED = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4xf32>) -> tensor<6xf32> {
    %start = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = stablehlo.pad %a, %start, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}
"""


@pytest.mark.parametrize(("low", "high", "verdict"), [(1, 1, Verdict.PROVED), (2, 0, Verdict.REFUTED)])
def test_a_window_in_padding_is_the_padding(low, high, verdict):
    before = MODULE.replace("LOW", str(low)).replace("HIGH", str(high))
    assert validate_programs(read_program(before), read_program(PADDED), Options()).verdict is verdict
