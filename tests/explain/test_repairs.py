"""Repairs by their kind: small partitioned programs with one error each, and the place and cause that are named."""

from __future__ import annotations

import pytest

from shardproof.validator.explain.explain import Explanation, explain
from shardproof.validator.explain.scene import Scene
from shardproof.validator.read.ir import Op, Program
from shardproof.validator.relate.decide import decide
from shardproof.validator.report.cause import Cause
from tests.relate.pairs import Tensor, program

DEVICES = 4
CUT = f"{{devices=[{DEVICES}]<=[{DEVICES}]}}"
WHOLE, SHARD = Tensor((12,), "f32", CUT), Tensor((3,), "f32", CUT)

MASKED = """
  %p = stablehlo.iota dim = 0 : tensor<12xi32>
  %five = stablehlo.constant dense<5> : tensor<12xi32>
  %m = stablehlo.compare LT, %p, %five : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<12xf32>
  %out = stablehlo.select %m, %a0, %zero : tensor<12xi1>, tensor<12xf32>
"""

OWN = """
  %d = stablehlo.partition_id : tensor<ui32>
  %i = stablehlo.convert %d : (tensor<ui32>) -> tensor<i32>
"""

OFFSET = """
  %three = stablehlo.constant dense<3> : tensor<i32>
  %s = stablehlo.multiply %i, %three : tensor<i32>
  %o = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<3xi32>
"""

MASKED_SHARD = """
  %p = stablehlo.iota dim = 0 : tensor<3xi32>
  %five = stablehlo.constant dense<5> : tensor<3xi32>
  %m = stablehlo.compare LT, %p, %five : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %out = stablehlo.select %m, %a0, %zero : tensor<3xi1>, tensor<3xf32>
"""

NEXT = """
  %n = stablehlo.negate %a0 : tensor<12xf32>
  %l = stablehlo.slice %n [3:12] : (tensor<12xf32>) -> tensor<9xf32>
  %f = stablehlo.slice %n [0:3] : (tensor<12xf32>) -> tensor<3xf32>
  %r = stablehlo.concatenate %l, %f, dim = 0 : (tensor<9xf32>, tensor<3xf32>) -> tensor<12xf32>
  %out = stablehlo.divide %r, %n : tensor<12xf32>
"""

NEXT_SHARD = """
  %n = stablehlo.negate %a0 : tensor<3xf32>
  %out = stablehlo.divide %n, %n : tensor<3xf32>
"""


def _sides(before: str, after: str) -> tuple[Program, Program]:
    return program(before, [WHOLE], WHOLE, DEVICES), program(after, [SHARD], SHARD, DEVICES)


def _explained(before: Program, after: Program) -> Explanation:
    decision = decide(before, after, deadline=None, assume_in_bounds=False)
    return explain(decision, before, after, 0, 60.0, 200.0)


def _found(before: str, after: str) -> tuple[Op, Cause, dict[str, str]]:
    found = _explained(*_sides(before, after))
    assert found.op is not None and found.cause is not None
    return found.op, found.cause.cause, dict(found.cause.facts)


@pytest.mark.parametrize("unused", [False, True], ids=["gone", "unused"])
def test_positions_that_are_those_of_device_0_everywhere(unused: bool):
    op, cause, facts = _found(MASKED, (OWN if unused else "") + MASKED_SHARD)
    assert op.name == "stablehlo.iota"
    assert cause is Cause.WRONG_OFFSET
    assert facts == {"expected": "0, 3, 6, 9 on devices 0, 1, …", "found": "no offset"}


def test_a_value_that_nothing_uses_belongs_where_it_mends():
    before = """
  %t = stablehlo.tanh %a0 : tensor<12xf32>
  %s = stablehlo.multiply %t, %a0 : tensor<12xf32>
  %out = stablehlo.negate %s : tensor<12xf32>
"""
    after = """
  %t = stablehlo.tanh %a0 : tensor<3xf32>
  %out = stablehlo.negate %a0 : tensor<3xf32>
"""
    found = _explained(*_sides(before, after))
    assert found.op is not None and found.op.name == "stablehlo.negate"
    assert found.cause is None


def test_an_exchange_is_missing_at_one_of_several_uses():
    op, cause, facts = _found(NEXT, NEXT_SHARD)
    assert op.name == "stablehlo.divide"
    assert cause is Cause.WRONG_PERMUTATION
    assert facts == {"expected": "pairs 0→3, 1→0, 2→1, 3→2", "found": "no exchange"}


LOOP = """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %x, %k = stablehlo.while(%y = %a0, %j = %zero) : tensor<3xf32>, tensor<i32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %go = stablehlo.compare LT, %j, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %j, %one : tensor<i32>
    %z = stablehlo.add %y, %y : tensor<3xf32>
    stablehlo.return %z, %next : tensor<3xf32>, tensor<i32>
  }
  %out = stablehlo.negate %x : tensor<3xf32>
"""


def test_regions_are_blocks_of_their_own():
    before, after = program(NEXT, [WHOLE], WHOLE, DEVICES), program(LOOP, [SHARD], SHARD, DEVICES)
    scene = Scene(decide(before, after, deadline=None, assume_in_bounds=False), before, after, 0)
    blocks: dict[tuple[int, ...], list[str]] = {}
    for site in scene.sites:
        blocks.setdefault(site.block, []).append(site.op.name.partition(".")[2])
    assert sorted(map(sorted, blocks.values())) == [
        ["add", "add", "constant"],
        ["compare", "constant"],
        ["constant", "negate", "while"],
    ]
    assert sorted(blocks[()]) == ["constant", "negate", "while"]


def test_an_unused_offset_belongs_into_positions_that_only_later_ops_take():
    # both comparisons lack it, so that no single use of the positions can be mended
    before = MASKED.replace(
        "%out = ",
        """%two = stablehlo.constant dense<2> : tensor<12xi32>
  %h = stablehlo.compare LT, %p, %two : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %u = stablehlo.exponential %a0 : tensor<12xf32>
  %v = stablehlo.select %h, %u, %a0 : tensor<12xi1>, tensor<12xf32>
  %out = """,
    ).replace("select %m, %a0, %zero", "select %m, %v, %zero")
    positions = "%p = stablehlo.iota dim = 0 : tensor<3xi32>"
    shard = before.replace("12x", "3x").replace(positions, positions + OWN + OFFSET)
    op, cause, facts = _found(before, shard)
    assert op.name == "stablehlo.iota"
    assert cause is Cause.WRONG_OFFSET
    assert facts["expected"].startswith("'add' of '%") and facts["expected"].endswith("which nothing uses")


def test_a_mask_that_is_missing_on_a_result():
    before = MASKED
    # the mask is there, and nothing uses it
    shard = (
        OWN
        + OFFSET
        + """
  %q = stablehlo.iota dim = 0 : tensor<3xi32>
  %p = stablehlo.add %q, %o : tensor<3xi32>
  %five = stablehlo.constant dense<5> : tensor<3xi32>
  %m = stablehlo.compare LT, %p, %five : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %n = stablehlo.negate %a0 : tensor<3xf32>
  %out = stablehlo.negate %n : tensor<3xf32>
"""
    )
    op, cause, facts = _found(before, shard)
    assert op.name == "stablehlo.negate"
    assert cause is Cause.MISSING_MASK
    assert facts["found"].startswith("elements where '%")


SLICED = """
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.negate %a0 : tensor<12xf32>
  %out = stablehlo.negate %n : tensor<12xf32>
"""


def test_a_table_of_offsets_is_named_where_it_is_looked_up():
    """Another number further down would do as well, and one that a slice clamps is no offset."""
    table = """
  %t = stablehlo.constant dense<[0, 1, 2, 2]> : tensor<4xi32>
  %h = stablehlo.dynamic_slice %t, %i, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  %g = stablehlo.reshape %h : (tensor<1xi32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %s = stablehlo.multiply %g, %three : tensor<i32>
  %out = stablehlo.dynamic_slice %a0, %s, sizes = [3] : (tensor<12xf32>, tensor<i32>) -> tensor<3xf32>
"""
    before = program(SLICED, [Tensor((12,), "f32")], WHOLE, DEVICES)
    after = program(OWN + table, [Tensor((12,), "f32")], SHARD, DEVICES)
    found = _explained(before, after)
    assert found.op is not None and found.op.results[0].type == after.body.ops[3].results[0].type
    assert found.cause is not None and found.cause.cause is Cause.WRONG_OFFSET
    assert found.cause.facts["expected"] == "0, 1, 2, 3 on devices 0, 1, …"


def test_a_last_op_that_is_left_out():
    before = """
  %n = stablehlo.exponential %a0 : tensor<12xf32>
  %p = stablehlo.iota dim = 0 : tensor<12xi32>
  %five = stablehlo.constant dense<5> : tensor<12xi32>
  %m = stablehlo.compare LT, %p, %five : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<12xf32>
  %out = stablehlo.select %m, %n, %zero : tensor<12xi1>, tensor<12xf32>
"""
    op, cause, facts = _found(before, "  %out = stablehlo.exponential %a0 : tensor<3xf32>")
    assert op.name == "stablehlo.exponential"
    assert cause is Cause.MISSING_MASK
    assert facts["found"].endswith("of the before program masks them")


LOOKED_UP = """
  %out = "stablehlo.gather"(%a0, INDEX) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>
    : (TABLE, tensor<5x1xi32>) -> tensor<5x2xf32>
"""
LOCAL = """
  %three = stablehlo.constant dense<3> : tensor<i32>
  %s = stablehlo.multiply %i, %three : tensor<i32>
  %o = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<5x1xi32>
  %low = stablehlo.constant dense<0> : tensor<5x1xi32>
  %high = stablehlo.constant dense<11> : tensor<5x1xi32>
  %valid = stablehlo.clamp %low, %a1, %high : tensor<5x1xi32>
  %local = stablehlo.subtract %valid, %o : tensor<5x1xi32>
"""
CLAMPED = """
  %last = stablehlo.constant dense<2> : tensor<5x1xi32>
  %kept = stablehlo.clamp %low, %local, %last : tensor<5x1xi32>
"""
SUMMED = """
  %out = "stablehlo.all_reduce"(%part) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<5x2xf32>) -> tensor<5x2xf32>
"""


@pytest.mark.parametrize("clamped", [False, True], ids=["as it is", "clamped"])
def test_lookups_out_of_the_range_of_a_shard_are_not_masked(clamped: bool):
    rows = f"{{devices=[{DEVICES},1]<=[{DEVICES}]}}"
    index, result = Tensor((5, 1), "i32"), Tensor((5, 2), "f32")
    before = program(
        LOOKED_UP.replace("INDEX", "%a1").replace("TABLE", "tensor<12x2xf32>"),
        [Tensor((12, 2), "f32", rows), index],
        result,
        DEVICES,
    )
    part = LOOKED_UP.replace("%out", "%part").replace("TABLE", "tensor<3x2xf32>")
    part = (CLAMPED if clamped else "") + part.replace("INDEX", "%kept" if clamped else "%local")
    after = program(OWN + LOCAL + part + SUMMED, [Tensor((3, 2), "f32", rows), index], result, DEVICES)
    found = _explained(before, after)
    assert found.op is not None and found.op.name == "stablehlo.gather"
    assert found.cause is not None and found.cause.cause is Cause.MISSING_MASK
    assert found.cause.facts["found"].endswith("is out of the shard's range")
