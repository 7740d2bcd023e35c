"""Collectives on grids of replicas and partitions against XLA, which runs them on eight devices."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program

GRIDS = ((8, 1), (1, 8), (2, 4), (4, 2))
OPS = ("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter")
MODES = ("replicas", "channel", "global")
_BY_PARTITION = ("all_to_all", "collective_permute")
_ADD = """({ ^bb0(%a: tensor<i32>, %b: tensor<i32>): %s = stablehlo.add %a, %b : tensor<i32>
  stablehlo.return %s : tensor<i32> })"""


@dataclass(frozen=True)
class Case:
    op: str
    mode: str
    replicas: int
    partitions: int
    text: str
    inputs: list[np.ndarray]


def _type(shape: list[int]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xi32>"


def _case(op: str, mode: str, replicas: int, partitions: int, rng: np.random.Generator) -> Case:
    manual = '{mhlo.sharding = "{manual}"}' if partitions > 1 else ""
    counted = replicas * partitions if mode == "global" else replicas
    if mode == "channel" and op in _BY_PARTITION:
        counted = partitions
    sizes = [n for n in range(1, counted + 1) if counted % n == 0]
    table = rng.permutation(counted).reshape(-1, sizes[int(rng.integers(len(sizes)))])
    size = table.shape[1] * (partitions if mode == "channel" and op not in _BY_PARTITION else 1)
    shape, result = [size, 2 * size, 3], [size, 2 * size, 3]
    told = f"replica_groups = dense<{table.tolist()}> : tensor<{table.shape[0]}x{table.shape[1]}xi64>"
    match op:
        case "all_gather":
            told += ", all_gather_dim = 2 : i64"
            result[2] *= size
        case "all_to_all":
            told += f", split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = {size} : i64"
            result[1], result[2] = result[1] // size, result[2] * size
        case "collective_permute":
            pairs = np.stack([rng.permutation(counted), rng.permutation(counted)], axis=1)[: counted // 2 + 1]
            told = f"source_target_pairs = dense<{pairs.tolist()}> : tensor<{len(pairs)}x2xi64>"
        case "reduce_scatter":
            told += ", scatter_dimension = 1 : i64"
            result[1] //= size
    if mode != "replicas":
        told += ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    told += ", use_global_device_ids" if mode == "global" else ""
    told += ', mhlo.sharding = "{manual}"' if partitions > 1 else ""
    region = _ADD if "reduce" in op else ""
    text = f"""
    module attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = {partitions} : i32}} {{
      func.func @main(%x: {_type(shape)} {manual}) -> ({_type(result)} {manual}) {{
        %0 = "stablehlo.{op}"(%x) {region} {{{told}}} : ({_type(shape)}) -> {_type(result)}
        return %0 : {_type(result)}
      }}
    }}"""
    return Case(op, mode, replicas, partitions, text, [rng.integers(-99, 99, (8, *shape)).astype(np.int32)])


def _cases() -> list[Case]:
    rng = np.random.default_rng(0)
    return [
        _case(op, mode, *grid, rng)
        for grid in GRIDS
        for op in OPS
        for mode in MODES
        if not (mode == "global" and op in _BY_PARTITION)
    ]


CASES = _cases()


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[list[np.ndarray]]:
    """What XLA computes, for all cases in one process."""
    path = tmp_path_factory.mktemp("grid") / "jobs.pickle"
    path.write_bytes(pickle.dumps([(case.text, case.replicas, case.partitions, case.inputs) for case in CASES]))
    subprocess.run([sys.executable, Path(__file__).parent / "execute.py", path], check=True)
    return pickle.loads(path.read_bytes())


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_collective_goes_to_the_devices_that_its_mode_names(number: int, wanted: list[list[np.ndarray]]) -> None:
    case = CASES[number]
    program = read_program(case.text)
    assert (program.num_replicas, program.num_partitions) == (case.replicas, case.partitions)
    (found,) = Machine(program, Native()).run(program, case.inputs)
    np.testing.assert_array_equal(found, wanted[number][0], str((case.op, case.mode, case.replicas, case.partitions)))
