"""How collectives relate, against the evaluator: random groups, orders of devices and permutations."""

from __future__ import annotations

import pytest

from shardproof import Verdict, validate_modules

from .audits import audit, sees_a_fault
from .chains import COLLECTIVES, ELEMENTS, INDEXING, MOVEMENT, SUMS


def test_random_chains() -> None:
    seen = audit(range(40), MOVEMENT, (*COLLECTIVES, *COLLECTIVES, "reshape", "transpose", "iota"))
    assert seen.refused <= 4
    for name in COLLECTIVES:
        assert seen.ops[f"stablehlo.{name}"] >= 5, name
        assert 4 * seen.unknown[f"stablehlo.{name}"] <= seen.ops[f"stablehlo.{name}"], name


def test_between_other_ops() -> None:
    seen = audit(range(100, 116), MOVEMENT, (*MOVEMENT, *ELEMENTS, *SUMS, *COLLECTIVES, *COLLECTIVES))
    assert seen.refused <= 4
    assert sum(seen.ops[f"stablehlo.{name}"] for name in COLLECTIVES) >= 10


@pytest.mark.slow
def test_many_random_chains() -> None:
    everything = (*MOVEMENT, *ELEMENTS, *SUMS, *INDEXING)
    assert audit(range(1000, 1200), everything, (*everything, *COLLECTIVES, *COLLECTIVES), steps=10).values > 1000


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_wrong_relation_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sees_a_fault(name, monkeypatch)


_ONE_DEVICE_DIFFERS = """
module @m attributes {{mhlo.num_partitions = 4 : i32}} {{
func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {{
  %p = stablehlo.partition_id : tensor<ui32>
  %z = stablehlo.constant dense<0> : tensor<ui32>
  %one = stablehlo.constant dense<1.0> : tensor<6xf32>
  %s = {sum}(%x) {region} : (tensor<6xf32>) -> tensor<6xf32>
  %t = stablehlo.add %s, %one : tensor<6xf32>
  %q = stablehlo.compare EQ, %p, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %v = stablehlo.select %q, {choices} : tensor<i1>, tensor<6xf32>
  %r = {sum}(%v) {region} : (tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}}
}}
"""
_SUM = """({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}"""


def test_a_sum_over_devices_of_which_one_holds_something_else() -> None:
    """The others hold the same element, so that the sum counts it more than once."""
    programs = [
        _ONE_DEVICE_DIFFERS.format(sum='"stablehlo.all_reduce"', region=_SUM, choices=choices)
        for choices in ("%t, %s", "%s, %t")
    ]
    assert validate_modules(programs[0], programs[0]).verdict is Verdict.PROVED
    assert validate_modules(programs[0], programs[1]).verdict is Verdict.REFUTED
