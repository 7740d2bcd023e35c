"""Edits of immutable programs: find operations, build new ones, put them in another's place.

An edit never changes a program, it builds another one that shares everything it does not touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardproof.validator.read.dtypes import NUMPY_DTYPES
from shardproof.validator.read.ir import UNKNOWN_LOCATION, DType, Location, Op, Program, Region, TensorType, Type, Value

CONTROL = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
"""Operations whose regions hold ordinary operations; other regions are reducers and comparators."""

Path = tuple[tuple[int, int], ...]
"""The way from the body to a region: (operation index, region index) for each step."""


@dataclass(frozen=True, slots=True)
class Site:
    """One operation and where it stands."""

    path: Path
    index: int
    op: Op

    def __str__(self) -> str:
        names = ", ".join(value.name for value in self.op.results)
        place = "".join(f" in region {region} of op {index}" for index, region in reversed(self.path))
        origin = "" if self.op.location is UNKNOWN_LOCATION else f" ({self.op.location})"
        return f"{self.op.name} {names}{place}{origin}"


def walk(program: Program) -> Iterator[Site]:
    """All operations in order, those in loop bodies and branches right after the operation that holds them."""
    pending: list[tuple[Path, Region, int]] = [((), program.body, 0)]
    while pending:
        path, region, index = pending.pop()
        if index == len(region.ops):
            continue
        op = region.ops[index]
        yield Site(path, index, op)
        pending.append((path, region, index + 1))
        if op.name in CONTROL:
            for number, inner in reversed(list(enumerate(op.regions))):
                pending.append(((*path, (index, number)), inner, 0))


def region_at(program: Program, path: Path) -> Region:
    """The region a path leads to."""
    region = program.body
    for index, number in path:
        region = region.ops[index].regions[number]
    return region


def with_region(program: Program, path: Path, region: Region) -> Program:
    """The program with the region at `path` exchanged."""
    chain = [program.body]
    for index, number in path:
        chain.append(chain[-1].ops[index].regions[number])
    chain[-1] = region
    for depth in range(len(path) - 1, -1, -1):
        index, number = path[depth]
        outer = chain[depth]
        holder = outer.ops[index]
        regions = (*holder.regions[:number], chain[depth + 1], *holder.regions[number + 1 :])
        chain[depth] = replace(
            outer, ops=(*outer.ops[:index], replace(holder, regions=regions), *outer.ops[index + 1 :])
        )
    return replace(program, body=chain[0])


def with_ops(program: Program, site: Site, ops: Sequence[Op]) -> Program:
    """The program with `ops` in the place of the operation at `site`; they must define its results."""
    region = region_at(program, site.path)
    return with_region(
        program, site.path, replace(region, ops=(*region.ops[: site.index], *ops, *region.ops[site.index + 1 :]))
    )


def with_attributes(program: Program, site: Site, **attributes: Any) -> Program:
    """The program with some attributes of one operation changed."""
    return with_ops(program, site, [replace(site.op, attributes={**site.op.attributes, **attributes})])


def without(program: Program, site: Site, stand_ins: Sequence[Value]) -> Program:
    """The program without the operation at `site`, its results' uses taken by `stand_ins`."""
    return substitute(with_ops(program, site, []), dict(zip(site.op.results, stand_ins, strict=True)))


def substitute(program: Program, mapping: Mapping[Value, Value]) -> Program:
    """The program with each use of a key taken by its value; the definitions stay."""
    results = tuple(replace(result, value=mapping.get(result.value, result.value)) for result in program.results)
    return replace(program, body=_substitute_region(program.body, mapping), results=results)


def _substitute_region(region: Region, mapping: Mapping[Value, Value]) -> Region:
    ops = []
    for op in region.ops:
        operands = tuple(mapping.get(value, value) for value in op.operands)
        regions = tuple(_substitute_region(inner, mapping) for inner in op.regions)
        if operands == op.operands and regions == op.regions:
            ops.append(op)
        else:
            ops.append(replace(op, operands=operands, regions=regions))
    results = tuple(mapping.get(value, value) for value in region.results)
    if results == region.results and all(new is old for new, old in zip(ops, region.ops, strict=True)):
        return region
    return replace(region, ops=tuple(ops), results=results)


def highest_number(program: Program) -> int:
    """The greatest value number in use, reducers included."""
    highest = max((parameter.value.number for parameter in program.parameters), default=-1)
    pending = [program.body]
    while pending:
        region = pending.pop()
        highest = max(highest, *(value.number for value in region.arguments), -1)
        for op in region.ops:
            highest = max(highest, *(value.number for value in op.results), -1)
            pending.extend(op.regions)
    return highest


class Builder:
    """Makes operations with fresh values, in order; `into` lets one define a value that exists already."""

    def __init__(self, program: Program, location: Location) -> None:
        self._program = program
        self._next = highest_number(program) + 1
        self._location = location
        self.ops: list[Op] = []

    def fresh(self, kind: Type) -> Value:
        """A value that no operation defines yet."""
        number = self._next
        self._next += 1
        return Value(number, kind, f"%mutant{number}")

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        kind: Type,
        *,
        into: Value | None = None,
        regions: tuple[Region, ...] = (),
        **attributes: Any,
    ) -> Value:
        """Append one operation with one result."""
        result = into if into is not None else self.fresh(kind)
        self.ops.append(Op(f"stablehlo.{name}", tuple(operands), (result,), attributes, regions, self._location))
        return result

    def again(
        self,
        op: Op,
        operands: Sequence[Value] | None = None,
        into: Sequence[Value] | None = None,
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Append a copy of `op`, its regions with fresh values; attributes given here win."""
        results = tuple(into) if into is not None else tuple(self.fresh(value.type) for value in op.results)
        self.ops.append(
            replace(
                op,
                operands=tuple(operands) if operands is not None else op.operands,
                results=results,
                attributes={**op.attributes, **attributes},
                regions=tuple(self.copy_region(region) for region in op.regions),
            )
        )
        return results

    def rerun(self, ops: Sequence[Op], old: Value, new: Value) -> Value:
        """Append copies of a chain of operations that starts from `new` in the place of `old`; its last value."""
        mapping = {old: new}
        for op in ops:
            results = self.again(op, [mapping.get(value, value) for value in op.operands])
            mapping.update(zip(op.results, results, strict=True))
        return mapping[ops[-1].results[0]] if ops else new

    def copy_region(self, region: Region, mapping: dict[Value, Value] | None = None) -> Region:
        """A region with fresh values throughout."""
        mapping = {} if mapping is None else mapping
        arguments = tuple(mapping.setdefault(value, self.fresh(value.type)) for value in region.arguments)
        ops = []
        for op in region.ops:
            operands = tuple(mapping.get(value, value) for value in op.operands)
            regions = tuple(self.copy_region(inner, mapping) for inner in op.regions)
            results = tuple(mapping.setdefault(value, self.fresh(value.type)) for value in op.results)
            ops.append(replace(op, operands=operands, regions=regions, results=results))
        return Region(arguments, tuple(ops), tuple(mapping.get(value, value) for value in region.results))

    def reducer(self, name: str, dtype: DType) -> Region:
        """The region of a reduction that combines two elements by one operation."""
        scalar = TensorType((), dtype)
        left, right, both = self.fresh(scalar), self.fresh(scalar), self.fresh(scalar)
        op = Op(f"stablehlo.{name}", (left, right), (both,), {}, (), self._location)
        return Region((left, right), (op,), (both,))

    def constant(self, number: object, kind: TensorType) -> Value:
        """A constant, filled with one number or given as an array of the right shape."""
        array = np.broadcast_to(np.asarray(number).astype(NUMPY_DTYPES[kind.dtype]), kind.shape)
        return self.emit("constant", (), kind, value=np.array(array))

    def elementwise(self, name: str, *operands: Value, into: Value | None = None) -> Value:
        """An operation whose result has its first operand's type."""
        return self.emit(name, operands, operands[0].type, into=into)

    def reshape(self, value: Value, shape: tuple[int, ...], into: Value | None = None) -> Value:
        return self.emit("reshape", (value,), TensorType(shape, value.tensor.dtype), into=into)

    def convert(self, value: Value, dtype: DType, into: Value | None = None) -> Value:
        return self.emit("convert", (value,), TensorType(value.tensor.shape, dtype), into=into)

    def transpose(self, value: Value, permutation: Sequence[int], into: Value | None = None) -> Value:
        shape = tuple(value.tensor.shape[dim] for dim in permutation)
        return self.emit(
            "transpose", (value,), TensorType(shape, value.tensor.dtype), into=into, permutation=tuple(permutation)
        )

    def concatenate(self, values: Sequence[Value], dimension: int, into: Value | None = None) -> Value:
        shape = list(values[0].tensor.shape)
        shape[dimension] = sum(value.tensor.shape[dimension] for value in values)
        kind = TensorType(tuple(shape), values[0].tensor.dtype)
        return self.emit("concatenate", values, kind, into=into, dimension=dimension)

    def slice(self, value: Value, starts: Sequence[int], limits: Sequence[int], into: Value | None = None) -> Value:
        shape = tuple(limit - start for start, limit in zip(starts, limits, strict=True))
        return self.emit(
            "slice",
            (value,),
            TensorType(shape, value.tensor.dtype),
            into=into,
            start_indices=tuple(starts),
            limit_indices=tuple(limits),
            strides=(1,) * len(shape),
        )

    def broadcast(self, scalar: Value, shape: tuple[int, ...]) -> Value:
        """A scalar spread over a shape."""
        kind = TensorType(shape, scalar.tensor.dtype)
        return self.emit("broadcast_in_dim", (scalar,), kind, broadcast_dimensions=())

    def device_number(self) -> Value:
        """The device's own number; only for programs whose devices are all replicas or all partitions."""
        name = "partition_id" if self._program.num_replicas == 1 else "replica_id"
        return self.emit(name, (), TensorType((), DType.UI32))

    def per_device(self, numbers: Sequence[int], dtype: DType) -> Value:
        """A scalar that is `numbers[d]` on device d."""
        table = self.constant(np.asarray(numbers), TensorType((len(numbers),), dtype))
        start = self.convert(self.device_number(), DType.I32)
        one = self.emit("dynamic_slice", (table, start), TensorType((1,), dtype), slice_sizes=(1,))
        return self.reshape(one, ())

    def on_device(self, device: int, there: Value, elsewhere: Value, into: Value | None = None) -> Value:
        """`there` on one device and `elsewhere` on the others."""
        count = self._program.num_devices
        chosen = self.per_device([int(other == device) for other in range(count)], DType.I1)
        predicate = self.broadcast(chosen, there.tensor.shape)
        return self.emit("select", (predicate, there, elsewhere), there.type, into=into)
