"""The machine: nesting without recursion, limits, refusals; shards and inputs."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native, Wide
from shardproof.validator.evaluate.errors import OutOfTime, TooLarge, UnsupportedOp
from shardproof.validator.evaluate.inputs import Profile, boundary_integers, draw, extents
from shardproof.validator.evaluate.layout import (
    expected_shards,
    full_to_manual,
    full_to_shards,
    manual_to_full,
    shard,
    unshard,
)
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.evaluate.regions import RegionCall
from shardproof.validator.ops.registry import RECORDS
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import DType, Op, Program, Region, TensorType, Value
from shardproof.validator.read.shardings import Sharding, ShardingKind


def value(number: int, shape: tuple[int, ...] = (), dtype: DType = DType.F32) -> Value:
    return Value(number, TensorType(shape, dtype), f"%{number}")


def test_depth_costs_no_recursion():
    depth = sys.getrecursionlimit() + 100
    x, flag = value(0), value(1, dtype=DType.I1)
    number, region = 2, Region((), (), (x,))
    for _ in range(depth):
        result = value(number)
        op = Op("stablehlo.if", (flag,), (result,), {}, (region, Region((), (), (x,))))
        number, region = number + 1, Region((), (op,), (result,))
    top = Region((x, flag), region.ops, region.results)
    program = Program("deep", "", (), top, ())
    machine = Machine(1, Native())
    (result,) = machine.call(RegionCall(program.body, [np.array([2.5], np.float32), np.array([True])]))
    assert result == np.float32(2.5)


def test_one_op_by_itself():
    machine = Machine(3, Native())
    x, y = value(0, dtype=DType.I8), value(1, dtype=DType.I8)
    (result,) = machine.evaluate(Op("stablehlo.negate", (x,), (y,), {}), [np.array([1, -128, 0], np.int8)])
    assert result.tolist() == [-1, -128, 0]


def test_an_attribute_nobody_knows_is_refused():
    x, y = value(0), value(1)
    op = Op("stablehlo.negate", (x,), (y,), {"direction": "up"})
    with pytest.raises(UnsupportedOp, match=r"'stablehlo\.negate' attribute 'direction'"):
        Machine(1, Native()).evaluate(op, [np.zeros(1, np.float32)])
    with pytest.raises(UnsupportedOp, match=r"stablehlo\.mystery"):
        Machine(1, Native()).evaluate(Op("stablehlo.mystery", (x,), (y,), {}), [np.zeros(1, np.float32)])


def test_every_record_has_a_line_and_separate_attributes():
    for record in RECORDS.values():
        assert record.doc and "\n" not in record.doc and not record.doc.endswith("."), record.name
        assert not record.attributes & record.ignored, record.name


ENDLESS = read_program("""
module @m {
  func.func @main(%x: tensor<i32>) -> tensor<i32> {
    %r = stablehlo.while(%i = %x) : tensor<i32>
      cond {
        %c = stablehlo.compare EQ, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        stablehlo.return %i : tensor<i32>
      }
    return %r : tensor<i32>
  }
}
""")


def test_time_and_size_are_limited():
    with pytest.raises(OutOfTime):
        Machine(1, Native(), deadline=time.monotonic() + 0.05).run(ENDLESS, [np.zeros(1, np.int32)])
    with pytest.raises(TooLarge, match="elements on 8 devices"):
        Machine(8, Native(), max_elements=7).run(ENDLESS, [np.zeros(8, np.int32)])


def test_inputs_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="has shape"):
        Machine(1, Native()).run(ENDLESS, [np.zeros((1, 2), np.int32)])


def test_wide_arithmetic_keeps_what_narrow_types_drop():
    x = Wide().load(np.array([1 / 3]), DType.BF16)
    assert x == 1 / 3
    assert Wide().convert(x, DType.F32, DType.BF16) == 1 / 3
    assert Wide(narrowing=True).convert(x, DType.F32, DType.BF16) != 1 / 3
    assert Native().convert(np.array([1 / 3], np.float32), DType.F32, DType.BF16).astype(float) == 0.333984375


def tiled(tiles: tuple[int, ...], devices: np.ndarray) -> Sharding:
    return Sharding(ShardingKind.TILED, "test", tiles, devices)


def test_uneven_shards_and_back():
    x = np.arange(15).reshape(3, 5)
    sharding = tiled((2, 2), np.array([3, 1, 0, 2, 5, 4, 7, 6]).reshape(2, 2, 2))
    poison = -np.arange(1, 49).reshape(8, 2, 3)
    shards = shard(x, sharding, 8, poison)
    np.testing.assert_array_equal(shards[3], [[0, 1, 2], [5, 6, 7]])
    np.testing.assert_array_equal(shards[1], shards[3])
    assert shards[2].tolist() == [[3, 4, poison[2, 0, 2]], [8, 9, poison[2, 1, 2]]]
    expected, defined = expected_shards(x, sharding, 8)
    assert (shards == expected)[defined].all()
    assert defined.sum() == 2 * x.size
    np.testing.assert_array_equal(unshard(shards, sharding, (3, 5)), x)


def test_more_tiles_than_elements():
    sharding = tiled((4,), np.arange(4).reshape(4, 1))
    expected, defined = expected_shards(np.arange(5), sharding, 4)
    assert defined.sum(axis=1).tolist() == [2, 2, 1, 0]
    np.testing.assert_array_equal(unshard(expected, sharding, (5,)), np.arange(5))


def test_manual_boundaries_take_each_devices_own_copy():
    sharding = tiled((2,), np.array([[0, 2], [3, 1]]))
    copies = np.arange(16).reshape(4, 4)
    shards = full_to_manual(copies, sharding, (2,))
    np.testing.assert_array_equal(shards, full_to_shards(copies, sharding))
    np.testing.assert_array_equal(shards, [[0, 1], [6, 7], [8, 9], [14, 15]])
    back = manual_to_full(shards, sharding, (4,))
    np.testing.assert_array_equal(back[0], [0, 1, 14, 15])
    np.testing.assert_array_equal(back[3], back[0])
    np.testing.assert_array_equal(back[1], [8, 9, 6, 7])


def test_automatic_axes_stay_whole_inside_a_manual_region():
    # Manual axis of 2 outside, automatic axis of 2 inside the one tiled dimension.
    sharding = tiled((4,), np.array([[2], [0], [1], [3]]))
    copies = np.arange(32).reshape(4, 8)
    shards = full_to_manual(copies, sharding, (4,))
    np.testing.assert_array_equal(shards[:, 0], [0, 8 + 4, 16, 24 + 4])
    back = manual_to_full(shards, sharding, (8,))
    np.testing.assert_array_equal(back[0], [0, 1, 2, 3, 28, 29, 30, 31])
    np.testing.assert_array_equal(back[2], [16, 17, 18, 19, 12, 13, 14, 15])


def test_markings_without_a_layout_are_refused():
    for kind in (ShardingKind.MAXIMAL, ShardingKind.MANUAL, ShardingKind.UNSUPPORTED):
        with pytest.raises(UnsupportedOp, match="no layout"):
            shard(np.zeros(4), Sharding(kind, "odd"), 4)
    with pytest.raises(UnsupportedOp, match="every one of 8 devices"):
        shard(np.zeros(4), tiled((4,), np.arange(4).reshape(4, 1)), 8)


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("profile", list(Profile))
def test_inputs_are_in_range_seeded_and_not_uniform(dtype, profile):
    tensor = TensorType((16, 16), dtype)
    first, again, other = (draw([tensor], profile, np.random.default_rng(seed), (1, 4, 7)) for seed in (1, 1, 2))
    assert first[0].tobytes() == again[0].tobytes() != other[0].tobytes()
    values = np.unique(first[0].astype(np.complex128))
    assert len(values) > 1
    assert np.isfinite(values).all()
    if dtype.is_integer:
        least, greatest = dtype.integer_range
        assert least <= first[0].min() and first[0].max() <= greatest


def test_boundaries_of_all_extents():
    assert set(boundary_integers(DType.I8, (7,))) >= {-128, -127, -8, -7, -1, 0, 1, 5, 6, 7, 8, 126, 127}
    assert min(boundary_integers(DType.UI8, (7,))) == 0
    assert extents([ENDLESS]) == ()
