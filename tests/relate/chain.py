"""A random straight-line program in the making: sharded parameters, and ops appended one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardproof.validator.evaluate.layout import shard_shape
from shardproof.validator.evaluate.numbers import STORAGE
from shardproof.validator.read.attributes import (
    DeviceGroups,
)
from shardproof.validator.read.ir import DType, Op, Parameter, Program, Region, Result, TensorType, Value
from shardproof.validator.read.shardings import Sharding, ShardingKind

LARGEST = 72
"""Elements of a value: points are enumerated one by one."""

Shape = tuple[int, ...]
Given = tuple[TensorType, Sharding | None]


def factorised(rng: np.random.Generator, size: int) -> Shape:
    """A shape of this many elements."""
    shape = []
    while size > 1 and len(shape) < 3:
        factor = int(rng.choice([d for d in range(1, size + 1) if size % d == 0]))
        shape.append(factor)
        size //= factor
    return (*shape, size) if size != 1 or not shape else tuple(shape)


def device_order(rng: np.random.Generator, devices: int) -> np.ndarray:
    """All devices: in order, by the transpose of some mesh, or shuffled."""
    numbers = np.arange(devices)
    kind = rng.integers(4)
    if kind < 3:
        shape = factorised(rng, devices)
        return numbers.reshape(shape).transpose(rng.permutation(len(shape))).reshape(-1) if kind else numbers
    return rng.permutation(numbers)


def random_sharding(rng: np.random.Generator, shape: Shape, devices: int) -> Sharding | None:
    """Tiles of any dimensions, even or not, or none."""
    tiles, rest = [1] * len(shape), devices
    for k in rng.permutation(len(shape)):
        tiles[k] = int(rng.choice([d for d in range(1, rest + 1) if rest % d == 0]))
        rest //= tiles[k]
    if rest == devices:
        return None
    order = device_order(rng, devices).reshape(*tiles, rest)
    return Sharding(ShardingKind.TILED, f"tiles {tiles} in order {order.ravel().tolist()}", tuple(tiles), order)


def groups(rng: np.random.Generator, devices: int) -> DeviceGroups:
    size = int(rng.choice([d for d in range(1, devices + 1) if devices % d == 0]))
    return DeviceGroups(device_order(rng, devices).reshape(-1, size).astype(np.int64))


class Chain:
    """One program in the making."""

    def __init__(self, rng: np.random.Generator, parameters: Sequence[Given], devices: int, *, local: bool) -> None:
        self.rng, self.devices = rng, devices
        self.values: list[Value] = []
        self.ops: list[Op] = []
        self._count = 0
        self.parameters = []
        for number, (type_, sharding) in enumerate(parameters):
            shape = shard_shape(type_.shape, sharding) if local else type_.shape
            value = self._value(TensorType(shape, type_.dtype))
            self.parameters.append(Parameter(value, None if local else sharding, f"a{number}"))
            self.values.append(value)

    def _value(self, type_: TensorType) -> Value:
        self._count += 1
        return Value(self._count, type_, f"%{self._count}")

    def program(self) -> Program:
        first = self.parameters[0]
        body = Region(tuple(p.value for p in self.parameters), tuple(self.ops), (first.value,))
        result = Result(first.value, first.sharding, "result")
        return Program("m", "chain", tuple(self.parameters), body, (result,), num_partitions=self.devices)

    # drawing --------------------------------------------------------------------------------------------------------

    def pick(self, *dtypes: DType, rank: int = 0, shape: Shape | None = None) -> Value | None:
        """Some value, the later ones rather; None where none has such a type."""
        fitting = [
            value
            for value in self.values
            if value.tensor.dtype in dtypes
            and value.tensor.rank >= rank
            and (shape is None or value.tensor.shape == shape)
        ]
        if not fitting:
            return None
        weights = np.arange(1, len(fitting) + 1, dtype=np.float64)
        return fitting[int(self.rng.choice(len(fitting), p=weights / weights.sum()))]

    def draw(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        dtype: DType,
        regions: tuple[Region, ...] = (),
        **attributes: object,
    ) -> Value:
        value = self._value(TensorType(tuple(shape), dtype))
        self.ops.append(Op(f"stablehlo.{name}", tuple(operands), (value,), attributes, regions))
        self.values.append(value)
        return value

    def constant(self, number: float, dtype: DType, shape: Shape = ()) -> Value:
        array = np.broadcast_to(np.asarray(number).astype(STORAGE[dtype]), shape)
        return self.emit("constant", (), shape, dtype, value=array)

    def reducer(self, name: str, dtype: DType) -> Region:
        scalar = TensorType((), dtype)
        left, right, both = self._value(scalar), self._value(scalar), self._value(scalar)
        return Region((left, right), (Op(f"stablehlo.{name}", (left, right), (both,), {}),), (both,))


NUMBERS = (DType.F32, DType.I32)
ANY = (*NUMBERS, DType.I1)
