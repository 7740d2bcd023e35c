"""Ops of XLA's later stages: fusions, bitcasts, maps; and manual regions of real compilations."""

from __future__ import annotations

import numpy as np

from evaluate.oracles import run_text
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read.ir import DType, Op, Region, TensorType, Value


def value(number: int, shape: tuple[int, ...], dtype: DType = DType.F32) -> Value:
    return Value(number, TensorType(shape, dtype), f"%{number}")


def test_a_bitcast_keeps_the_physical_order():
    x, y = value(0, (2, 3)), value(1, (3, 2))
    data = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    machine = Machine(2, Native())
    transposing = Op("mhlo.bitcast", (x,), (y,), {"source_layout": (0, 1), "result_layout": (1, 0)})
    np.testing.assert_array_equal(machine.evaluate(transposing, [data])[0], data.transpose(0, 2, 1))
    reshaping = Op("mhlo.bitcast", (x,), (y,), {"source_layout": (1, 0), "result_layout": (1, 0)})
    np.testing.assert_array_equal(machine.evaluate(reshaping, [data])[0], data.reshape(2, 3, 2))
    both = Op("mhlo.bitcast", (x,), (y,), {"source_layout": (1, 0), "result_layout": (0, 1)})
    np.testing.assert_array_equal(machine.evaluate(both, [data])[0], data.reshape(2, 2, 3).transpose(0, 2, 1))


def test_a_fusion_runs_its_region():
    x, y, a, b = value(0, (3,)), value(1, (3,)), value(2, (3,)), value(3, (3,))
    region = Region((a,), (Op("stablehlo.negate", (a,), (b,), {}),), (b,))
    fusion = Op("mhlo.fusion", (x,), (y,), {"fusion_kind": "kLoop"}, (region,))
    (result,) = Machine(1, Native()).evaluate(fusion, [np.ones((1, 3), np.float32)])
    np.testing.assert_array_equal(result, -np.ones((1, 3)))


def test_a_map_runs_its_region_on_every_element():
    text = """
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.map"(%x, %y) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.subtract %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }"""
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 4, np.float32)
    np.testing.assert_array_equal(run_text(text, x, y)[0], x - y)
