"""Unreduced shardings in every spelling, and programs without them in place of programs with them."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.options import Options
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.hlo_sharding import parse_hlo_sharding
from shardproof.validator.read.program import read_program
from shardproof.validator.read.sdy_sharding import parse_sdy_sharding
from shardproof.validator.read.shardings import Sharding, ShardingKind
from shardproof.validator.read.tiling import Mesh
from shardproof.validator.read.unreduced import summands, with_sums_written_out
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MESHES = {"mesh": Mesh.of([("x", 2), ("y", 4)])}


def sdy(text: str) -> Sharding:
    sharding = parse_sdy_sharding(f"#sdy.sharding<@mesh, {text}>", MESHES)
    assert isinstance(sharding, Sharding)
    return sharding


def hlo(text: str) -> Sharding:
    sharding = parse_hlo_sharding(text)
    assert isinstance(sharding, Sharding)
    return sharding


SPELLINGS = {
    "tiles": hlo("{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}"),
    "mesh": hlo("{mesh['x'=2,'y'=4], [{'x'}, {}], unreduced={'y'}}"),
    "sum": hlo("{mesh['x'=2,'y'=4], [{'x'}, {}], unreduced=sum{'y'}}"),
    "sdy": sdy('[{"x"}, {}], unreduced={"y"}'),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_meaning_of_all_spellings(name: str):
    sums = summands(SPELLINGS[name], 2, 8)
    assert sums is not None
    assert (sums.reducer, sums.count) == ("stablehlo.add", 4)
    assert sums.groups.table.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert sums.stacked.kind is ShardingKind.TILED
    assert sums.stacked.tiles == (4, 2, 1)
    assert sums.stacked.devices is not None
    assert sums.stacked.devices.reshape(4, 2).tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert sums.whole.tiles == (2, 1)
    assert sums.whole.devices is not None
    assert np.array_equal(sums.whole.devices.reshape(2, 4), np.arange(8).reshape(2, 4))


def test_copies_and_sub_axes():
    sums = summands(sdy('[{}, {"y":(2)2}], unreduced={"y":(1)2}'), 2, 8)
    assert sums is not None
    assert sums.stacked.tiles == (2, 1, 2)
    # devices of both x hold the same; y = 2 · (place of the summand) + (number of the tile)
    assert sorted(map(sorted, sums.groups.table.tolist())) == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_all_devices_are_those_of_the_program():
    sharding = hlo("{unreduced}")
    sums = summands(sharding, 3, 6)
    assert sums is not None
    assert sums.groups.table.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert sums.whole.kind is ShardingKind.REPLICATED


def test_maxima_minima_and_nothing_else():
    assert summands(sdy('[{"x"}], unreduced=max{"y"}'), 1, 8).reducer == "stablehlo.maximum"  # type: ignore[union-attr]
    other = hlo("{mesh['x'=2,'y'=4], [{'x'}], unreduced=min{'y'}}")
    assert summands(other, 1, 8).reducer == "stablehlo.minimum"  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="unknown reduction 'product'"):
        sdy('[{"x"}], unreduced=product{"y"}')
    assert summands(sdy('[{"x"}, {"y"}]'), 2, 8) is None
    assert summands(None, 2, 8) is None


def pair(sharding: str, before: str, after: str, dtype: str = "f32") -> tuple[Verdict, str]:
    """One parameter of `sharding` over four devices, and a replicated result."""
    whole = f"tensor<6x{dtype}>"
    spec = read_program(
        "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
        f'func.func public @main(%x: {whole} {{mhlo.sharding = "{sharding}"}}) -> '
        f'({whole} {{mhlo.sharding = "{{replicated}}"}}) {{\n{before.replace("T", whole)}\nreturn %r : {whole}\n}}\n}}'
    )
    implementation = read_program(
        "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
        f"func.func public @main(%x: {whole}) -> {whole} {{\n{after.replace('T', whole)}\nreturn %r : {whole}\n}}\n}}"
    )
    report = validate_programs(spec, implementation, Options())
    return report.verdict, str(report)


def summed(operand: str = "%x", result: str = "%r", op: str = "add", dtype: str = "f32") -> str:
    return (
        f'{result} = "stablehlo.all_reduce"({operand}) <{{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, '
        "use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({\n"
        f"^bb0(%l: tensor<{dtype}>, %m: tensor<{dtype}>):\n%s = stablehlo.{op} %l, %m : tensor<{dtype}>\n"
        f"stablehlo.return %s : tensor<{dtype}>\n}}) : (T) -> T\n"
    )


ALL = "{devices=[1,4]<=[4] last_tile_dims={unreduced}}"
COPY = "%r = stablehlo.optimization_barrier %x : T"


@pytest.mark.parametrize("sharding", [ALL, "{unreduced}"])
def test_pairs_with_a_summed_parameter(sharding: str):
    assert pair(sharding, COPY, summed())[0] is Verdict.PROVED
    assert pair(sharding, COPY, COPY)[0] is Verdict.REFUTED
    assert pair(sharding, COPY, summed(result="%y") + summed("%y").replace("%s", "%t"))[0] is Verdict.REFUTED
    assert pair(sharding, COPY, summed(op="maximum"))[0] is Verdict.REFUTED
    # a sum is linear, a square is not
    double = "%r = stablehlo.add %x, %x : T"
    assert pair(sharding, double, double.replace("%r", "%y") + "\n" + summed("%y"))[0] is Verdict.PROVED
    square = double.replace("add", "multiply")
    assert pair(sharding, square, square.replace("%r", "%y") + "\n" + summed("%y"))[0] is Verdict.REFUTED
    assert pair(sharding, square, summed(result="%y") + square.replace("%x", "%y"))[0] is Verdict.PROVED


def test_integers_wrap_and_booleans_have_no_sum():
    assert pair(ALL, COPY, summed(dtype="i8"), "i8")[0] is Verdict.PROVED
    verdict, text = pair(ALL, COPY, COPY, "i1")
    assert verdict is Verdict.UNSUPPORTED
    assert "unreduced" in text


def test_two_stages_of_a_device_program_hold_device_values():
    program = read_program(
        "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
        f'func.func public @main(%x: tensor<6xf32> {{mhlo.sharding = "{ALL}"}}) -> tensor<6xf32> {{\n'
        f"{summed().replace('T', 'tensor<6xf32>')}return %r : tensor<6xf32>\n}}\n}}"
    )
    before, after = with_sums_written_out(program, program)
    assert before.parameters[0].value.type == program.parameters[0].value.type
    assert after is program


@pytest.mark.parametrize(("kind", "refused"), [("MAX", True), ("MIN", True), ("SUM", False)])
def test_tile_assignments_that_hide_their_reduction_are_refused(kind: str, refused: bool):
    note = f'metadata={{op_type="sdy::reduction_op" op_name="{kind}"}}'
    text = (
        "HloModule m, num_partitions=4\n\nENTRY main {\n"
        f"  ROOT x = f32[6] parameter(0), sharding={{devices=[1,4]<=[4] last_tile_dims={{unreduced}} {note}}}\n}}\n"
    )
    if refused:
        with pytest.raises(ReadError, match="another reduction of unreduced axes than a sum"):
            read_program(text)
    else:
        assert read_program(text).parameters[0].sharding is not None
