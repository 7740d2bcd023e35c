"""Every program of the corpus, and the few of it that are kept here, read into well-formed programs."""

import sys
from pathlib import Path

import numpy as np
import pytest

from read.programs import CORPUS, DATA, every_op
from shardproof.validator.read import read_program
from shardproof.validator.read.attributes import DeviceGroups, DevicePairs
from shardproof.validator.read.ir import Op, Program, Region, TensorType, Value
from shardproof.validator.read.shardings import Sharding, ShardingKind


def _files() -> list[Path]:
    kept = [path for path in sorted(DATA.rglob("*")) if path.is_file() and path.suffix != ".md"]
    folders = ["xla_cpu", "aws_llama"]
    if sys.version_info >= (3, 12):
        folders.append("xla_tpu")
    return kept + [path for folder in folders for path in sorted((CORPUS / folder).rglob("*.*")) if path.is_file()]


def _check_region(region: Region, outer: frozenset[Value], numbers: set[int]) -> list[tuple[Region, frozenset[Value]]]:
    """Every operand is defined before its use and every value once; gives the regions inside."""
    known = set(outer) | set(region.arguments)
    inner: list[tuple[Region, frozenset[Value]]] = []
    defined = list(region.arguments)
    for op in region.ops:
        assert known.issuperset(op.operands), op.name
        inner += [(nested, frozenset(known)) for nested in op.regions]
        known.update(op.results)
        defined += op.results
        assert len(op.shardings) in (0, len(op.results))
    assert known.issuperset(region.results)
    for value in defined:
        assert value.number not in numbers
        numbers.add(value.number)
    return inner


def _check_sharding(sharding: Sharding | None, devices: int) -> None:
    if sharding is None or sharding.kind in (ShardingKind.REPLICATED, ShardingKind.MANUAL):
        return
    assert sharding.kind in (ShardingKind.TILED, ShardingKind.MAXIMAL)
    assert sharding.devices is not None
    if sharding.kind is ShardingKind.TILED:
        assert sharding.devices.shape[:-1] == sharding.tiles
        assert sorted(sharding.devices.reshape(-1).tolist()) == list(range(devices))


def _check_attributes(op: Op, program: Program) -> None:
    for name, value in op.attributes.items():
        if isinstance(value, DeviceGroups):
            assert sorted(value.table.reshape(-1).tolist()) == list(range(program.num_devices))
        elif isinstance(value, DevicePairs):
            assert value.table.shape[1] == 2
        elif isinstance(value, np.ndarray):
            type_ = op.results[0].type
            assert isinstance(type_, TensorType)
            assert value.shape == type_.shape
        elif isinstance(value, str) and name not in ("backend_config", "sdy.sharding_rule"):
            assert not value.startswith(("#", "dense<")), f"{op.name} keeps {name} as MLIR text"


@pytest.mark.parametrize("path", _files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_program_is_well_formed(path: Path):
    program = read_program(path)
    numbers: set[int] = set()
    pending = [(program.body, frozenset[Value]())]
    while pending:
        region, outer = pending.pop()
        pending += _check_region(region, outer, numbers)
    assert program.body.arguments == tuple(parameter.value for parameter in program.parameters)
    assert program.body.results == tuple(result.value for result in program.results)
    for entry in (*program.parameters, *program.results):
        _check_sharding(entry.sharding, program.num_devices)
    for op in every_op(program):
        _check_attributes(op, program)
        for sharding in op.shardings:
            _check_sharding(sharding, program.num_devices)


@pytest.mark.parametrize(
    "path", [path for path in _files() if path.parent.name != "aws_llama"], ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_eight_partitions(path: Path):
    program = read_program(path)
    assert (program.num_replicas, program.num_partitions) == (1, 8)
    assert program.notes == ()


@pytest.mark.parametrize("layers", [1, 2, 4, 8])
@pytest.mark.parametrize("devices", [1, 2, 4, 6, 8])
def test_replicas_of_the_llama_modules(devices: int, layers: int):
    path = CORPUS / "aws_llama" / f"tp{devices}_layer{layers}.hlo.pb.gz"
    if not path.exists():
        pytest.skip("no corpus")
    program = read_program(path)
    assert (program.num_replicas, program.num_partitions) == (devices, 1)
    assert len(program.parameters) == 6 + 2 * layers + 7 * layers + 2
    assert len(program.results) == 1 + 2 * layers
    assert all(op.location.frames for op in every_op(program) if op.name == "stablehlo.dot_general")
