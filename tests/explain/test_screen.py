"""Repairs looked at in numbers: those that leave the result wrong are told from the one that makes it right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.inputs import Profile, draw
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.explain.edits import Repair
from shardproof.validator.explain.repair_collectives import groups_of, other_reducer, regrouped
from shardproof.validator.explain.repair_indices import other_start
from shardproof.validator.explain.scene import Scene
from shardproof.validator.explain.screen import Screen
from shardproof.validator.explain.witnesses import _kept, _noise, witnesses
from shardproof.validator.ops.monoid import Monoid, monoid_of_region
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.relate.decide import decide

BEFORE = """
func.func public @main(%x: tensor<4x6xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"},
    %w: tensor<6x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"},
    %t: tensor<9x5xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}, tensor<9x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>)
    -> tensor<4x5xf32>
  return %y, %t : tensor<4x5xf32>, tensor<9x5xf32>
}
"""

AFTER = """
func.func public @main(%x: tensor<4x2xf32> {mhlo.sharding = "{devices=[1,3]<=[3]}"},
    %w: tensor<2x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"},
    %t: tensor<9x5xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<4x5xf32> {mhlo.sharding = "{replicated}"}, tensor<3x5xf32> {mhlo.sharding = "{devices=[3,1]<=[3]}"}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x5xf32>)
    -> tensor<4x5xf32>
  %n = stablehlo.convert %y : (tensor<4x5xf32>) -> tensor<4x5xSUMMED>
  %z = "stablehlo.all_reduce"(%n) <{replica_groups = dense<GROUPS> : tensor<SIZESxi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<SUMMED>, %b: tensor<SUMMED>):
    %c = stablehlo.add %a, %b : tensor<SUMMED>
    stablehlo.return %c : tensor<SUMMED>
  }) : (tensor<4x5xSUMMED>) -> tensor<4x5xSUMMED>
  %r = stablehlo.convert %z : (tensor<4x5xSUMMED>) -> tensor<4x5xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %id = stablehlo.partition_id : tensor<ui32>
  %wide = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %three = stablehlo.constant dense<STEP> : tensor<i32>
  %first = stablehlo.multiply %wide, %three : tensor<i32>
  %own = stablehlo.dynamic_slice %t, %first, %zero, sizes = [3, 5] : (tensor<9x5xf32>, tensor<i32>, tensor<i32>)
    -> tensor<3x5xf32>
  return %r, %own : tensor<4x5xf32>, tensor<3x5xf32>
}
"""


def _program(body: str) -> Program:
    return read_program(f"module @m attributes {{mhlo.num_partitions = 3 : i32}} {{{body}}}")


def _scene(result: int, groups: str = "[[0, 1, 2]]", summed: str = "f32", step: int = 3) -> Scene:
    sizes = f"{groups.count('], [') + 1}x{len(groups.split('],', maxsplit=1)[0].split(','))}"
    text = AFTER.replace("GROUPS", groups).replace("SIZES", sizes).replace("SUMMED", summed)
    before, after = _program(BEFORE), _program(text.replace("STEP", str(step)))
    decision = decide(before, after, deadline=None, assume_in_bounds=False)
    return Scene(decision, before, after, result)


def _screen(scene: Scene, failing: tuple[int, ...]) -> Screen:
    found = witnesses(scene, failing, None)
    assert found
    return Screen(scene, failing, found)


def _site(scene: Scene, name: str):
    return next(site for site in scene.sites if site.op.name == f"stablehlo.{name}")


def test_of_the_other_groups_only_the_right_ones_remain() -> None:
    scene = _scene(0, groups="[[0], [1], [2]]")
    seen = _screen(scene, (0,))
    repairs = list(regrouped(scene, _site(scene, "all_reduce")))
    left = [groups_of(repair.changes[0][1][0]) for repair in repairs if seen.mended(repair)]
    assert [table.tolist() for table in left if table is not None] == [[[0, 1, 2]]]


def test_another_reducer_leaves_it_wrong() -> None:
    scene = _scene(0, groups="[[0], [1], [2]]")
    seen = _screen(scene, (0,))
    repairs = list(other_reducer(scene, _site(scene, "all_reduce")))
    assert len(repairs) > 2
    assert [seen.mended(repair) for repair in repairs] == [0] * len(repairs)


def test_offsets_that_are_taken_to_be_known_have_numbers() -> None:
    scene = _scene(1, step=2)
    seen = _screen(scene, (1,))
    repairs = list(other_start(scene, _site(scene, "dynamic_slice")))
    right = [repair for repair in repairs if seen.mended(repair)]
    assert len(right) == 1 < len(repairs)
    assert right[0].cause is not None and right[0].cause.facts["expected"].startswith("0, 3, 6 on devices")


def test_results_are_counted_and_the_asked_one_is_needed() -> None:
    scene = _scene(0, groups="[[0], [1], [2]]", step=2)
    seen = _screen(scene, (0, 1))
    site = _site(scene, "all_reduce")
    one = next(repair for repair in regrouped(scene, site) if seen.mended(repair))
    assert seen.mended(one) == 1
    start = next(op for op in scene.after.body.ops if op.name == "stablehlo.dynamic_slice")
    assert seen.mended(Repair(start, None)) == 0


def test_what_differs_by_rounding_alone_is_seen_in_the_programs_own_types() -> None:
    scene = _scene(0, summed="bf16")
    seen = _screen(scene, (0,))
    site = _site(scene, "all_reduce")
    assert monoid_of_region(site.op.regions[0]) is Monoid.ADD
    before = _site(scene, "convert")
    wide = replace(site.op.results[0], type=scene.after.results[0].value.type)
    assert before.op.operands[0].type == wide.type
    assert seen.mended(Repair(site.op, None)) == 0
    dot, back = _site(scene, "dot_general"), scene.definitions[scene.after.results[0].value.number]
    summed = replace(_scene(0).sites[0].op, location=dot.op.location)
    assert summed.name == "stablehlo.dot_general"
    other = next(site for site in _scene(0).sites if site.op.name == "stablehlo.all_reduce").op
    whole = replace(other, operands=dot.op.results, results=back.op.results)
    assert seen.mended(Repair(site.op, None, ((back, (whole,)),))) == 1


def test_nothing_is_looked_at_where_nothing_is_wrong() -> None:
    assert witnesses(_scene(0), (0,), None) == ()


def test_what_takes_longer_than_its_proof_is_not_run_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = _scene(0, groups="[[0], [1], [2]]")
    assert witnesses(scene, (0,), None)
    monkeypatch.setattr("shardproof.validator.explain.witnesses._RUN_SECONDS", 0.0)
    scene.decision = replace(scene.decision, seconds=0.0)
    assert witnesses(scene, (0,), None) == ()


def test_what_holds_too_many_elements_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardproof.validator.explain.witnesses._MAX_HELD", 100)
    assert witnesses(_scene(0, groups="[[0], [1], [2]]"), (0,), None) == ()


@pytest.mark.parametrize("shape", [(4, 5), (5, 4)])
def test_an_edit_of_another_shape_is_no_repair(shape: tuple[int, int]) -> None:
    scene = _scene(0, groups="[[0], [1], [2]]")
    seen = _screen(scene, (0,))
    site = scene.definitions[scene.after.results[0].value.number]
    wrong = replace(_site(scene, "dot_general").op, attributes={}, name="stablehlo.transpose", results=site.op.results)
    wrong = replace(wrong, operands=wrong.operands[:1], attributes={"permutation": (0, 1) if shape[0] == 4 else (1, 0)})
    assert seen.mended(Repair(site.op, None, ((site, (wrong,)),))) == 0


FILLED_BEFORE = """
func.func public @main(%x: tensor<4xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<4xf32> {mhlo.sharding = "{replicated}"}) {
  %y = stablehlo.negate %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""

FILLED_AFTER = """
func.func public @main(%x: tensor<4xf32> {mhlo.sharding = "{replicated}"})
    -> (tensor<4xf32> {mhlo.sharding = "{replicated}"}) {
  %y = stablehlo.negate %x : tensor<4xf32>
  %none = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %z = stablehlo.add %y, %two : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


def test_what_is_no_number_is_no_repair() -> None:
    before, after = _program(FILLED_BEFORE), _program(FILLED_AFTER)
    scene = Scene(decide(before, after, deadline=None, assume_in_bounds=False), before, after, 0)
    seen = _screen(scene, (0,))
    site = _site(scene, "add")
    none = next(op for op in after.body.ops if op.name == "stablehlo.constant").results[0]
    filled = replace(site.op, operands=(none, none))
    assert seen.mended(Repair(site.op, None, ((site, (filled,)),))) == 0
    copy = replace(site.op, name="stablehlo.reshape", operands=site.op.operands[:1])
    assert seen.mended(Repair(site.op, None, ((site, (copy,)),))) == 1


def test_a_result_without_a_proof_may_be_right_where_another_is_wrong() -> None:
    scene = _scene(0, step=2)
    found = witnesses(scene, (0, 1), None)
    assert found and all(0 not in witness.wrong for witness in found) and 1 in found[0].wrong
    seen = Screen(scene, (0, 1), found)
    assert seen.mended(Repair(scene.sites[0].op, None)) == 0
    start = Scene(scene.decision, scene.before, scene.after, 1)
    right = [repair for repair in other_start(start, _site(start, "dynamic_slice")) if seen.mended(repair)]
    assert [seen.mended(repair) for repair in right] == [2]


def test_rounding_in_a_type_is_measured() -> None:
    scene = _scene(0, summed="bf16")
    witness = witnesses(scene, (0,), None)[0]
    layouts = layouts_of(scene.before, scene.after)
    inputs = draw(layouts.logical, Profile.GENERIC, np.random.default_rng(3), (4, 6))
    original = _kept(Machine(1, Native()), scene.before, layouts.to_before(inputs))
    noise = _noise(scene, layouts, inputs, original)
    assert 0 < noise[0] < 1e-4  # a product in float32
    assert noise[1] == 0  # a parameter
    assert witness.wrong == {0}
