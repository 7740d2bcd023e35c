"""Programs too large for trials: the proof stops at a partial sum long after the sum should have been completed."""

from __future__ import annotations

import pytest

from shardproof.validator.explain.explain import explain
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.relate.decide import decide

BEFORE = """
func.func public @main(%x: tensor<4x6xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"},
    %w: tensor<6x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"},
    %r: tensor<5x4xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<5x4xf32> {mhlo.sharding = "{replicated}"}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>)
    -> tensor<4x5xf32>
  %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %s = stablehlo.add %t, %r : tensor<5x4xf32>
  %out = stablehlo.tanh %s : tensor<5x4xf32>
  return %out : tensor<5x4xf32>
}
"""

AFTER = """
func.func public @main(%x: tensor<4x2xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"},
    %w: tensor<2x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"},
    %r: tensor<5x4xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<5x4xf32> {mhlo.sharding = "{replicated}"}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x5xf32>)
    -> tensor<4x5xf32>
REDUCED
  %t = stablehlo.transpose %z, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %s = stablehlo.add %t, %r : tensor<5x4xf32>
  %out = stablehlo.tanh %s : tensor<5x4xf32>
  return %out : tensor<5x4xf32>
}
"""

REDUCE = """
  %z = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0], [1], [2]]> : tensor<3x1xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>"""


def _program(body: str) -> Program:
    return read_program(f"module @m attributes {{mhlo.num_partitions = 3 : i32}} {{{body}}}")


@pytest.mark.parametrize(
    ("reduced", "place"),
    [("  %z = stablehlo.reshape %y : (tensor<4x5xf32>) -> tensor<4x5xf32>", "reshape"), (REDUCE, "all_reduce")],
    ids=["left out", "wrong groups"],
)
def test_the_place_is_where_the_sum_is_left_partial(reduced: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardproof.validator.explain.explain.MAX_OPS", 0)
    before, after = _program(BEFORE), _program(AFTER.replace("REDUCED", reduced))
    decision = decide(before, after, deadline=None, assume_in_bounds=False)
    found = explain(decision, before, after, 0)
    assert found.op is not None and found.op.name == f"stablehlo.{place}"
    assert found.cause is None and not found.trials
