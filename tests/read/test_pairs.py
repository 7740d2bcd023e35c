"""Dump folders, pairs, and the counts that one file tells for the other."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from read.programs import DATA, stablehlo
from shardproof.validator.read import ReadError, ReadErrorKind, check_pair, find_pairs, read_pair, read_program


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("")


BEFORE, AFTER = "before_spmd-partitioning", "after_spmd-partitioning"


@pytest.mark.parametrize("folder", ["dump", "dump_named"])
def test_a_real_dump(folder: str):
    (pair,) = find_pairs(DATA / folder)
    assert (pair.name, pair.module) == ("jit_layer (0000)", "jit_layer")
    before, after = read_pair(pair.before, pair.after)
    assert before.num_devices == after.num_devices == 8
    assert [parameter.value.tensor.shape for parameter in before.parameters] == [(8, 8), (8, 8)]
    assert [parameter.value.tensor.shape for parameter in after.parameters] == [(4, 2), (4, 2)]


def test_names(tmp_path: Path):
    touch(
        tmp_path,
        f"module_0012.jit_step.0000.spmd-partitioner.after_shardy-xla.{BEFORE}.hlo.pb",
        f"module_0012.jit_step.0001.spmd-partitioner.{AFTER}.before_x.y.hlo.pb.gz",
        f"module_0003.jit_f.g.0007.spmd-partitioner.after_pipeline-start.{BEFORE}.txt",
        f"module_0003.jit_f.g.0008.spmd-partitioner.{AFTER}.before_dce.txt",
        "module_0004.jit_tpu.0007.tpu-spmd.after_pipeline-start.before_tpu-spmd-partitioning.hlo.pb",
        "module_0004.jit_tpu.0008.tpu-spmd.after_tpu-spmd-partitioning.before_dce.hlo.pb",
        "module_0004.jit_tpu.before_optimizations.hlo.pb",
        "module_0004.jit_tpu.obj-file.before_spmd.o",
        "README.txt",
    )
    (tmp_path / f"module_0012.jit_step.0001.spmd-partitioner.{AFTER}.before_x.y.hlo.pb.gz").rename(
        tmp_path / f"module_0012.jit_step.0001.spmd-partitioner.{AFTER}.before_x-y.hlo.pb.gz"
    )
    assert [pair.name for pair in find_pairs(tmp_path)] == ["jit_f.g (0003)", "jit_tpu (0004)", "jit_step (0012)"]
    assert [pair.module for pair in find_pairs(tmp_path, "step|tpu")] == ["jit_tpu", "jit_step"]


def test_a_proto_is_preferred_to_a_text(tmp_path: Path):
    for path in (DATA / "dump").iterdir():
        shutil.copy(path, tmp_path)
        (tmp_path / path.name.replace(".hlo.pb", ".txt")).write_text("not looked at")
    (pair,) = find_pairs(tmp_path)
    assert {pair.before.suffix, pair.after.suffix} == {".pb"}


@pytest.mark.parametrize(
    ("names", "regex", "message"),
    [
        ([], None, "no spmd-partitioning dumps: dump with --xla_dump_hlo_pass_re=spmd-partitioning"),
        ([f"module_0001.f.0001.p.{AFTER}.before_x.txt"], "g", "no spmd-partitioning dumps of a module matching 'g'"),
        (
            [f"module_0001.f.0001.p.{AFTER}.before_x.txt"],
            None,
            "module 'f' (0001) has no before_spmd-partitioning dump",
        ),
        ([], "(", "bad module pattern '('"),
    ],
)
def test_refused_folders(names: list[str], regex: str | None, message: str, tmp_path: Path):
    touch(tmp_path, *names)
    with pytest.raises(ReadError) as caught:
        find_pairs(tmp_path, regex)
    assert str(caught.value).startswith(f"{tmp_path}: {message}")


def test_missing_folder():
    with pytest.raises(ReadError, match="no such folder"):
        find_pairs("/no/such/folder")


ONE = stablehlo("  return %a : tensor<4xf32>")
TWO = stablehlo(
    "  return %a, %a : tensor<4xf32>, tensor<4xf32>", "(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"
)
WIDE = stablehlo("  return %a : tensor<4xf32>", "(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32>")


def with_partitions(text: str, count: int) -> str:
    return text.replace("module @m {", f"module @m attributes {{mhlo.num_partitions = {count} : i32}} {{")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (ONE, TWO, "input: 2 results, but 'input' has 1"),
        (ONE, WIDE, "input: 2 parameters, but 'input' has 1"),
        (
            with_partitions(ONE, 4),
            with_partitions(ONE, 8),
            "input: 1 replicas of 8 partitions, but 'input' is for 1 replicas of 4 partitions",
        ),
    ],
)
def test_mismatch(before: str, after: str, message: str):
    with pytest.raises(ReadError) as caught:
        read_pair(before, after)
    assert caught.value.kind is ReadErrorKind.MISMATCH
    assert str(caught.value) == message


def test_one_device_compares_with_many():
    check_pair(read_program(ONE), read_program(with_partitions(ONE, 8)))


def test_counts_that_only_one_file_implies():
    """A mesh of eight on one side, nothing on the other: both have eight."""
    sharded = stablehlo(
        "  return %a : tensor<4xf32>",
        '(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32>',
        'sdy.mesh @mesh = <["x"=8]>',
    )
    before, after = read_pair(sharded, ONE)
    assert before.num_partitions == after.num_partitions == 8
    before, after = read_pair(ONE, sharded)
    assert (before.num_devices, after.num_devices) == (1, 8)


def test_standard_input_is_read_once():
    code = (
        "from shardproof.validator.read import read_pair\n"
        f"before, after = read_pair({with_partitions(ONE, 8)!r}, '-')\n"
        "print(after.source, after.num_partitions)"
    )
    run = subprocess.run([sys.executable, "-c", code], input=ONE, capture_output=True, text=True)
    assert run.stdout.split() == ["stdin", "8"], run.stderr


def test_counts_of_the_other_file():
    before, after = read_pair(with_partitions(ONE, 8), ONE)
    assert before.num_partitions == after.num_partitions == 8
    assert after.notes == ()


CUT = """
module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.spmd_output_sharding = "{devices=[2]<=[2]}",
    mhlo.spmd_parameters_shardings = ["{devices=[2]<=[2]}"]} {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    return %a : tensor<2xf32>
  }
}"""
OPEN = with_partitions(ONE, 2)


def test_layouts_that_only_the_after_module_states():
    before, _ = read_pair(OPEN, CUT)
    assert [each.sharding.tiles for each in (*before.parameters, *before.results) if each.sharding] == [(2,), (2,)]
    assert before.notes == ("layouts that only the after program states: parameter 'arg0', result 'result'",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OPEN.replace("%a: tensor<4xf32>", '%a: tensor<4xf32> {mhlo.sharding = "{replicated}"}'), CUT),
        (OPEN, CUT.replace("devices=[2]<=[2]", "devices=[4]<=[4]")),
        (OPEN, CUT.replace("{devices=[2]<=[2]}", "{manual}")),
    ],
)
def test_statements_that_do_not_count(before: str, after: str):
    """Where the before program tells a layout itself, or the shapes are others than those stated."""
    told = read_program(before).parameters[0].sharding
    read, _ = read_pair(before, after)
    assert (read.parameters[0].sharding is None) == (told is None)
    assert read.parameters[0].sharding is None or read.parameters[0].sharding.text == "{replicated}"
