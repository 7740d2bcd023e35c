"""Sums taken in another order than the original's: by whole shards of several rows at once."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

BEFORE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %rows = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}
"""

AFTER = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<2x6xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %part = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<2x6xf32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.all_reduce"(%part) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %both = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %both : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}
      : (tensor<f32>) -> tensor<f32>
    return RESULT : tensor<f32>
  }
}
"""


@pytest.mark.parametrize(("result", "verdict"), [("%sum", Verdict.PROVED), ("%part", Verdict.REFUTED)])
def test_rows_of_a_device_may_be_summed_at_once(result: str, verdict: Verdict) -> None:
    report = validate_programs(read_program(BEFORE), read_program(AFTER.replace("RESULT", result)), Options())
    assert report.verdict is verdict
    assert report.theory is (Theory.REASSOCIATED if verdict is Verdict.PROVED else None)
