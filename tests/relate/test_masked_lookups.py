"""Masked look-ups in a table whose rows are cut, put together by the sum of all devices or by something else."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory

from .modules import module, theory_of

LOOK_UP = """%clamped = stablehlo.clamp %low, {index}, %high : tensor<3xi32>
  %column = stablehlo.reshape %clamped : (tensor<3xi32>) -> tensor<3x1xi32>
  %rows = "stablehlo.gather"(%table, %column) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}}>
    : (tensor<{length}xf32>, tensor<3x1xi32>) -> tensor<3xf32>"""
BEFORE = f"""%low = stablehlo.constant dense<0> : tensor<3xi32> %high = stablehlo.constant dense<3> : tensor<3xi32>
  %none = stablehlo.constant dense<0.0> : tensor<3xf32> {LOOK_UP.format(index="%i", length=4)}
  %kind = stablehlo.compare LT, %k, %low, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %o = stablehlo.select %kind, %rows, %none : tensor<3xi1>, tensor<3xf32> return %o : tensor<3xf32>"""
AFTER = f"""%low = stablehlo.constant dense<0> : tensor<3xi32> %high = stablehlo.constant dense<1> : tensor<3xi32>
  %none = stablehlo.constant dense<0.0> : tensor<3xf32> %last = stablehlo.constant dense<3> : tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<i32> %id = stablehlo.partition_id : tensor<ui32>
  %device = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %first = stablehlo.multiply %device, %two : tensor<i32>
  %offset = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i32>) -> tensor<3xi32>
  %row = stablehlo.clamp %low, %i, %last : tensor<3xi32> %mine = stablehlo.subtract %row, %offset : tensor<3xi32>
  {LOOK_UP.format(index="%mine", length=2)}
  %there = stablehlo.compare EQ, %mine, %clamped, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %kind = stablehlo.compare LT, %k, %low, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %one = stablehlo.select %kind, %rows, %none : tensor<3xi1>, tensor<3xf32>
  %both = stablehlo.select %there, %one, %none : tensor<3xi1>, tensor<3xf32>
  %o = "stablehlo.all_reduce"(%both) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.REDUCER %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<3xf32>) -> tensor<3xf32> return %o : tensor<3xf32>"""


@pytest.mark.parametrize(("reducer", "theory"), [("add", Theory.REASSOCIATED), ("maximum", None)])
def test_masked_look_ups_are_put_together_by_their_sum_alone(reducer: str, theory: Theory | None) -> None:
    indices = [("i", "3xi32", ""), ("k", "3xi32", "")]
    before = module([("table", "4xf32", "{devices=[2]<=[2]}"), *indices], "3xf32", BEFORE)
    after = module([("table", "2xf32", ""), *indices], "3xf32", AFTER.replace("REDUCER", reducer))
    assert theory_of(before, after) is theory
