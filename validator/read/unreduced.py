"""Tensors that devices hold in summands (`unreduced` axes), written out as the sums they are.

A tensor whose sharding has an unreduced axis is the sum, or the maximum or minimum, over that axis of what the devices
hold. Neither the prover nor the evaluator knows of it: here both programs are rewritten so that no such sharding is
left, and a proof of the rewritten pair is a proof of the statement about the pair as it was read:

- A parameter gets one more leading dimension, cut over the unreduced axes: its summands. The original adds them up, the
  devices take their own. So summands are free inputs, of which only the sum is the logical value.
- A result is summed over the axes by the devices at their end, and then has to be the logical value on each of them.
- At a boundary into a manual region a logical value is cut into summands in one way, the first device's summand being
  the whole value; `linear.py` shows that what the region computes does not depend on the way. At a boundary out of a
  region the devices' values are summed inside of it.

What does not fit keeps its sharding, which is refused later, by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from .attributes import DeviceGroups
from .dtypes import NUMPY_DTYPES
from .ir import DType, Location, Op, Parameter, Program, Region, Result, TensorType, Value
from .linear import ENTER, LEAVE, MANUAL, Flow
from .sharding_forms import normal_form
from .shardings import REDUCERS, Sharding, ShardingKind
from .values import Maker


@dataclass(frozen=True, slots=True, eq=False)
class Summands:
    """What an unreduced sharding says: over which devices a tensor is summed, and how it is laid out otherwise."""

    reducer: str
    """The operation that combines two summands."""
    stacked: Sharding
    """The layout of all summands, one more leading dimension, each on the devices that hold it."""
    whole: Sharding
    """The layout of the sum where every device of a group has it."""
    groups: DeviceGroups
    """The devices that hold the summands of one tile, in their order."""

    @property
    def count(self) -> int:
        return self.groups.table.shape[1]


def summands(sharding: Sharding | None, rank: int, num_devices: int) -> Summands | None:
    """What the sharding of a tensor of this rank says; None for one without unreduced axes, or of several kinds."""
    sharding = None if sharding is None else sharding.of_rank(rank, num_devices)
    if sharding is None or sharding.kind is not ShardingKind.UNSUPPORTED or sharding.devices is None:
        return None
    kinds = {word for word in sharding.marked if word in REDUCERS}
    if len(kinds) != 1:
        return None
    marked = sharding.marked
    summed = [rank + k for k, word in enumerate(marked) if word in REDUCERS]
    others = [rank + k for k, word in enumerate(marked) if word not in REDUCERS]
    devices, extents = sharding.devices, sharding.devices.shape
    count = math.prod(extents[place] for place in summed)
    by_summand = devices.transpose([*summed, *range(rank), *others, devices.ndim - 1])
    rest = tuple(extents[place] for place in others)
    stacked = by_summand.reshape(count, *sharding.tiles, *rest, -1)
    whole = np.moveaxis(stacked, 0, -1).reshape(*sharding.tiles, *rest, -1)
    words = tuple(marked[place - rank] for place in others)
    return Summands(
        REDUCERS[next(iter(kinds))],
        normal_form((count, *sharding.tiles), stacked, words, f"{sharding.text} by summands"),
        normal_form(sharding.tiles, whole, words, f"{sharding.text} summed"),
        DeviceGroups(np.ascontiguousarray(by_summand.reshape(count, -1).T)),
    )


def with_sums_written_out(
    before: Program, after: Program, given: tuple[Iterable[int], Iterable[int]] = ((), ())
) -> tuple[Program, Program]:
    """Both programs without unreduced shardings, as far as they can be done without.

    `given` numbers the parameters and the results whose relations are given by hand: these are left alone.
    """
    if not any(_mentions(sharding) for sharding in _shardings(before)):
        return before, after
    before = _Boundaries(before).rewritten()
    if before.num_devices not in (1, after.num_devices) or _holds_device_values(before, after):
        return before, after
    parameters, results = (frozenset(numbers) for numbers in given)
    for number, ours in enumerate(before.parameters):
        sums = _boundary(ours, after.num_devices)
        if sums is not None and number not in parameters:
            before, after = _summed_parameter(before, number, sums), _own_summand(after, number)
    for number, ours in enumerate(before.results):
        sums = _boundary(ours, after.num_devices)
        if sums is not None and number not in results:
            before, after = _whole_result(before, number, sums), _summed_result(after, number, sums)
    return before, after


def _mentions(sharding: Sharding | None) -> bool:
    return sharding is not None and any(word in REDUCERS for word in sharding.marked)


def _shardings(program: Program) -> Iterable[Sharding | None]:
    yield from (parameter.sharding for parameter in program.parameters)
    yield from (result.sharding for result in program.results)
    for op in _ops(program):
        yield from op.shardings
        yield from op.attributes.get("in_shardings", ())
        yield from op.attributes.get("out_shardings", ())


def _ops(program: Program) -> Iterable[Op]:
    pending = [program.body]
    while pending:
        for op in pending.pop().ops:
            yield op
            pending.extend(op.regions)


def _holds_device_values(before: Program, after: Program) -> bool:
    """Whether the first program is one of devices as well: it asks for them, or its tensors are not cut as it says."""
    ops = list(_ops(before))
    exchanges = any({"replica_groups", "source_target_pairs"} & op.attributes.keys() for op in ops)
    crosses = any(op.name == MANUAL or op.attributes.get("call_target_name") in (ENTER, LEAVE) for op in ops)
    if not crosses and (exchanges or any(op.name in ("stablehlo.partition_id", "stablehlo.replica_id") for op in ops)):
        return True
    pairs = [*zip(before.parameters, after.parameters, strict=True), *zip(before.results, after.results, strict=True)]
    return any(_shard_shape(ours) != theirs.value.type for ours, theirs in pairs)


def _shard_shape(described: Parameter | Result) -> TensorType | None:
    """The type of one device's part, None for what is no tensor or has a sharding that is not modelled."""
    type_, sharding = described.value.type, described.sharding
    if not isinstance(type_, TensorType):
        return None
    if sharding is None or not sharding.tiles:
        return type_
    shape = tuple(-(-extent // tiles) for extent, tiles in zip(type_.shape, sharding.tiles, strict=True))
    return TensorType(shape, type_.dtype)


def _boundary(ours: Parameter | Result, devices: int) -> Summands | None:
    """The summands of a parameter or a result that can be written out."""
    if not isinstance(ours.value.type, TensorType):
        return None
    type_ = ours.value.type
    sums = summands(ours.sharding, type_.rank, devices)
    if sums is None or sums.groups.table.size != devices or _neutral(sums.reducer, type_.dtype) is None:
        return None
    return None if sums.stacked.kind is ShardingKind.UNSUPPORTED else sums


def _neutral(reducer: str, dtype: DType) -> float | int | None:
    """The start of a reduction; None where the type has no such reduction."""
    if dtype.is_bool or (dtype.is_complex and reducer != "stablehlo.add"):
        return None
    if reducer == "stablehlo.add":
        return 0
    low, high = (-math.inf, math.inf) if dtype.is_float else dtype.integer_range
    return low if reducer == "stablehlo.maximum" else high


def _summed_parameter(program: Program, number: int, sums: Summands) -> Program:
    """The original with a parameter's summands in place of it, and their sum as the first thing it computes."""
    make, old = Maker(program), program.parameters[number]
    type_ = old.value.tensor
    stacked = make.value(TensorType((sums.count, *type_.shape), type_.dtype))
    start = make.constant(np.asarray(_neutral(sums.reducer, type_.dtype), NUMPY_DTYPES[type_.dtype]), type_.dtype)
    total = Op(
        "stablehlo.reduce",
        (stacked, start.results[0]),
        (old.value,),
        {"dimensions": (0,)},
        (make.reducer(sums.reducer, type_.dtype),),
        old.location,
    )
    note = f"'{old.label}' is held in {sums.count} summands, which are inputs each: its first dimension numbers them"
    described = replace(old, value=stacked, sharding=sums.stacked)
    return replace(_with_parameter(program, number, described, (start, total)), notes=(*program.notes, note))


def _own_summand(program: Program, number: int) -> Program:
    """The devices' program, where a parameter is a list of one summand."""
    make, old = Maker(program), program.parameters[number]
    stacked = make.value(TensorType((1, *old.value.tensor.shape), old.value.tensor.dtype))
    own = Op("stablehlo.reshape", (stacked,), (old.value,), {}, (), old.location)
    return _with_parameter(program, number, replace(old, value=stacked, sharding=None), (own,))


def _with_parameter(program: Program, number: int, parameter: Parameter, first: tuple[Op, ...]) -> Program:
    parameters = (*program.parameters[:number], parameter, *program.parameters[number + 1 :])
    arguments = tuple(each.value for each in parameters)
    body = Region(arguments, (*first, *program.body.ops), program.body.results)
    return replace(program, parameters=parameters, body=body)


def _whole_result(program: Program, number: int, sums: Summands) -> Program:
    results = list(program.results)
    results[number] = replace(results[number], sharding=sums.whole)
    return replace(program, results=tuple(results))


def _summed_result(program: Program, number: int, sums: Summands) -> Program:
    """The devices' program with one result summed over the devices that hold its summands."""
    make, results, old = Maker(program), list(program.results), program.results[number]
    location = next((op.location for op in reversed(program.body.ops) if old.value in op.results), Location())
    total = make.all_reduce(old.value, sums.reducer, sums.groups, location)
    results[number] = replace(old, value=total.results[0], sharding=None)
    returned = tuple(result.value for result in results)
    body = Region(program.body.arguments, (*program.body.ops, total), returned)
    return replace(program, results=tuple(results), body=body)


@dataclass(slots=True)
class _Boundaries:
    """Rewrites the boundaries of the original's manual regions, block by block."""

    program: Program
    shardings: dict[int, Sharding | None] = field(default_factory=dict)
    make: Maker = field(init=False)

    def __post_init__(self) -> None:
        self.make = Maker(self.program)

    def rewritten(self) -> Program:
        """The program without unreduced shardings at the boundaries of those regions for which that is the same."""
        if self.program.num_replicas != 1:
            return self.program
        self.shardings = {each.value.number: each.sharding for each in self.program.parameters}
        return replace(self.program, body=self._region(self.program.body, logical=True))

    def _region(self, region: Region, *, logical: bool = False) -> Region:
        flow = Flow(region, self.shardings, (None,) * len(region.arguments) if logical else None)
        ops: list[Op] = []
        for op in region.ops:
            self.shardings.update({v.number: s for v, s in zip(op.results, op.shardings, strict=False)})
            ops.extend(self._rewritten(op, flow))
        return replace(region, ops=tuple(ops))

    def _rewritten(self, op: Op, flow: Flow) -> list[Op]:
        target = op.attributes.get("call_target_name")
        if target == ENTER:
            return self._enter(op, flow)
        if target == LEAVE:
            return self._leave(op, flow)
        if op.name == MANUAL:
            return [self._manual(op)]
        if op.regions:
            return [replace(op, regions=tuple(self._region(inner) for inner in op.regions))]
        return [op]

    def _summands(self, sharding: Sharding | None, type_: TensorType) -> Summands | None:
        sums = summands(sharding, type_.rank, self.program.num_devices)
        if sums is None or sums.groups.table.size != self.program.num_devices:
            return None
        return None if _neutral(sums.reducer, type_.dtype) is None else sums

    def _enter(self, op: Op, flow: Flow) -> list[Op]:
        """A custom call into a region, of the whole value; then all devices but the first of each group forget it."""
        (operand,), (result,) = op.operands, op.results
        sums = self._summands(self.shardings.get(operand.number), result.tensor)
        if sums is None or not flow.is_free(sums.groups, sums.reducer):
            return [op]
        copied, whole = self.make.value(operand.tensor), self.make.value(result.tensor)
        copy = Op("mhlo.copy", (operand,), (copied,), {}, (), op.location, (sums.whole,))
        return [copy, replace(op, operands=(copied,), results=(whole,)), *self._first_only(whole, result, sums, op)]

    def _leave(self, op: Op, flow: Flow) -> list[Op]:
        (operand,) = op.operands
        sums = self._summands(op.shardings[0] if op.shardings else None, operand.tensor)
        if sums is None or not flow.is_free(sums.groups, sums.reducer):
            return [op]
        total = self.make.all_reduce(operand, sums.reducer, sums.groups, op.location)
        return [total, replace(op, operands=total.results, shardings=(sums.whole,))]

    def _manual(self, op: Op) -> Op:
        entering, leaving = list(op.attributes["in_shardings"]), list(op.attributes["out_shardings"])
        (region,) = op.regions
        inner = self._region(region)
        flow = Flow(region, self.shardings, entering, leaving)
        arguments, results = list(inner.arguments), list(inner.results)
        first: list[Op] = []
        last: list[Op] = []
        for k, argument in enumerate(inner.arguments):
            sums = self._summands(entering[k], argument.tensor)
            if sums is not None and flow.is_free(sums.groups, sums.reducer):
                arguments[k], entering[k] = self.make.value(argument.tensor), sums.whole
                first += self._first_only(arguments[k], argument, sums, op)
        for k, result in enumerate(inner.results):
            sums = self._summands(leaving[k], result.tensor)
            if sums is not None and flow.is_free(sums.groups, sums.reducer):
                total = self.make.all_reduce(result, sums.reducer, sums.groups, op.location)
                results[k], leaving[k] = total.results[0], sums.whole
                last.append(total)
        body = Region(tuple(arguments), (*first, *inner.ops, *last), tuple(results))
        attributes = {**op.attributes, "in_shardings": tuple(entering), "out_shardings": tuple(leaving)}
        return replace(op, attributes=attributes, regions=(body,))

    def _first_only(self, whole: Value, own: Value, sums: Summands, op: Op) -> list[Op]:
        """`own` is `whole` on the first device of each group, and the reduction's neutral element elsewhere."""
        type_ = own.tensor
        first = np.zeros(self.program.num_devices, np.bool_)
        first[sums.groups.table[:, 0]] = True
        neutral = np.asarray(_neutral(sums.reducer, type_.dtype), NUMPY_DTYPES[type_.dtype])
        return self.make.where_device(first, whole, neutral, own, op.location)
