"""How the values of two programs correspond: logical inputs to both, and results to what each device must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..read.ir import Program, Region, TensorType
from ..read.shardings import Sharding, ShardingKind
from .errors import NoLayout, UnsupportedOp
from .floats import round_to
from .layout import defined_elements, full_to_shards, shard, shard_shape
from .numbers import STORAGE


class Layouts(Protocol):
    """What a search for counterexamples needs to know of a pair of programs. Arrays are plain numbers."""

    @property
    def logical(self) -> Sequence[TensorType]:
        """Types of the inputs to draw."""
        ...

    @property
    def before_devices(self) -> int:
        """How many devices the original program runs on: 1 where none of its operations asks."""
        ...

    def to_before(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The original program's inputs [before_devices, *shape]."""
        ...

    def to_after(self, inputs: Sequence[np.ndarray], poison: np.random.Generator) -> list[np.ndarray]:
        """The implementation's inputs [devices, *local shape]; padding holds what `poison` draws."""
        ...

    def expected(self, results: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """What each device must hold, and where that is defined, from results [before_devices, *shape]."""
        ...


def garbage(tensor: TensorType, devices: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers that stand out: nothing in them repeats, and integers may be any of their type."""
    shape = (devices, *tensor.shape)
    if tensor.dtype.is_bool:
        return rng.random(shape) < 0.5
    if tensor.dtype.is_integer:
        least, greatest = tensor.dtype.integer_range
        bits = rng.integers(0, 1 << 63, shape, dtype=np.uint64, endpoint=True)
        span = np.uint64(greatest - least)
        offset = bits if span == np.uint64((1 << 64) - 1) else bits % (span + np.uint64(1))
        return (offset + np.uint64(least % (1 << 64))).astype(STORAGE[tensor.dtype])
    return round_to(rng.uniform(50, 200, shape), tensor.dtype)


@dataclass(frozen=True, slots=True)
class ShardedLayouts:
    """The implementation's values are shards of the original's, as the original's parameters and results say."""

    before: Program
    after: Program
    before_devices: int

    @property
    def logical(self) -> Sequence[TensorType]:
        return [parameter.value.tensor for parameter in self.before.parameters]

    def to_before(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.broadcast_to(array, (self.before_devices, *array.shape)) for array in inputs]

    def to_after(self, inputs: Sequence[np.ndarray], poison: np.random.Generator) -> list[np.ndarray]:
        shards = []
        for array, spec, local in zip(inputs, self.before.parameters, self.after.parameters, strict=True):
            padding = garbage(local.value.tensor, self.after.num_devices, poison).astype(array.dtype)
            shards.append(shard(array, spec.sharding, self.after.num_devices, padding))
        return shards

    def expected(self, results: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        devices = self.after.num_devices
        wanted = []
        for result, described in zip(results, self.before.results, strict=True):
            copies = np.broadcast_to(result, (devices, *result.shape[1:]))
            mask = defined_elements(result.shape[1:], described.sharding, devices)
            wanted.append((full_to_shards(copies, described.sharding), mask))
        return wanted


@dataclass(frozen=True, slots=True)
class PerDeviceLayouts:
    """Both programs run on the same devices and hold the same values there.

    Devices that a parameter's sharding gives the same tile get the same copy; without one each gets its own.
    """

    before: Program
    after: Program

    @property
    def before_devices(self) -> int:
        return self.before.num_devices

    @property
    def logical(self) -> Sequence[TensorType]:
        devices = self.before.num_devices
        types = [parameter.value.tensor for parameter in self.before.parameters]
        return [TensorType((devices, *tensor.shape), tensor.dtype) for tensor in types]

    def to_before(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [
            array[_first_holder(parameter.sharding, self.before.num_devices)]
            for array, parameter in zip(inputs, self.before.parameters, strict=True)
        ]

    def to_after(self, inputs: Sequence[np.ndarray], poison: np.random.Generator) -> list[np.ndarray]:
        return self.to_before(inputs)

    def expected(self, results: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(result, np.ones(result.shape, np.bool_)) for result in results]


def _first_holder(sharding: Sharding | None, num_devices: int) -> np.ndarray:
    """For every device the first device that holds the same tile."""
    holders = np.arange(num_devices)
    if sharding is None:
        return holders
    if sharding.kind is ShardingKind.REPLICATED:
        return np.zeros_like(holders)
    if sharding.kind is not ShardingKind.TILED or sharding.devices is None:
        raise UnsupportedOp("sharding", f"'{sharding.text}' has no layout that can be evaluated")
    for copies in sharding.devices.reshape(-1, sharding.devices.shape[-1]):
        holders[copies] = copies[0]
    return holders


_BOUNDARIES = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})


def _device_ops(program: Program) -> tuple[bool, bool]:
    """Whether operations ask for the devices, and whether some cross a manual boundary."""
    asks = crosses = False
    pending: list[Region] = [program.body]
    while pending:
        region = pending.pop()
        for op in region.ops:
            pending.extend(op.regions)
            crosses = crosses or op.attributes.get("call_target_name") in _BOUNDARIES
            crosses = crosses or op.name == "sdy.manual_computation"
            asks = asks or op.name in ("stablehlo.partition_id", "stablehlo.replica_id")
            asks = asks or "replica_groups" in op.attributes or "source_target_pairs" in op.attributes
    return asks or crosses, crosses


def runs_on_devices(program: Program) -> bool:
    """Whether the program's values differ between devices: it asks for them or has manual regions."""
    return _device_ops(program)[0]


def _uncut(before: Program, after: Program) -> bool:
    """Whether the after program holds whole tensors that the before program's shardings would cut."""
    ours, theirs = (*before.parameters, *before.results), (*after.parameters, *after.results)
    shapes = [(mine.value.tensor.shape, mine.sharding) for mine in ours]
    cut = any(shard_shape(shape, sharding) != shape for shape, sharding in shapes)
    return cut and all(mine.value.type == other.value.type for mine, other in zip(ours, theirs, strict=True))


def layouts_of(before: Program, after: Program) -> Layouts:
    """The correspondence that the programs' own shardings give; raises `NoLayout` where they give none."""
    if len(before.parameters) != len(after.parameters) or len(before.results) != len(after.results):
        raise NoLayout("the programs differ in their number of parameters or results")
    asks, crosses = _device_ops(before)
    if (asks or _uncut(before, after)) and not crosses and before.num_devices == after.num_devices:
        layouts: Layouts = PerDeviceLayouts(before, after)
        shapes = [(value.value.tensor.shape, None) for value in (*before.parameters, *before.results)]
    else:
        layouts = ShardedLayouts(before, after, after.num_devices if asks else 1)
        shapes = [(value.value.tensor.shape, value.sharding) for value in (*before.parameters, *before.results)]
    for (shape, sharding), local in zip(shapes, (*after.parameters, *after.results), strict=True):
        if shard_shape(shape, sharding) != local.value.tensor.shape:
            text = "no sharding" if sharding is None else f"sharding '{sharding.text}'"
            raise NoLayout(f"'{local.label}' is {local.value.tensor}, not a shard of {shape} with {text}")
    return layouts
