"""The second opinion on proofs: it contradicts a wrong one, and keeps quiet otherwise."""

from __future__ import annotations

import pytest

from shardproof.validator import guard
from shardproof.validator.guard import ContradictionError, check_proofs
from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.read.relations import NO_RELATIONS

BEFORE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<6xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %sum : tensor<6xf32>
  }
}
"""

AFTER = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<2x6xf32>) -> tensor<6xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %part = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<2x6xf32>, tensor<f32>) -> tensor<6xf32>
    %sum = "stablehlo.all_reduce"(%part) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %both = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %both : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}
      : (tensor<6xf32>) -> tensor<6xf32>
    return RESULT : tensor<6xf32>
  }
}
"""


def _pair(result: str):
    return read_program(BEFORE), read_program(AFTER.replace("RESULT", result))


def test_a_wrong_proof_is_contradicted():
    before, after = _pair("%part")
    with pytest.raises(ContradictionError, match="result 0 is proved, yet device"):
        check_proofs(before, after, NO_RELATIONS, [0], Options())


def test_a_right_proof_is_left_alone():
    before, after = _pair("%sum")
    check_proofs(before, after, NO_RELATIONS, [0], Options())


def test_only_proved_results_are_looked_at():
    before, after = _pair("%part")
    check_proofs(before, after, NO_RELATIONS, [], Options())


def test_large_programs_are_not_run(monkeypatch):
    before, after = _pair("%part")
    monkeypatch.setattr(guard, "MAX_ELEMENTS", 10)
    check_proofs(before, after, NO_RELATIONS, [0], Options())
