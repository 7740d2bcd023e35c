"""The machine that runs a `Program` on all its devices at once, in a given arithmetic.

Every tensor is an array with a leading lane axis. At the top level there is one lane a device. A region that is run
for many elements (a reducer, a comparator) or for some devices only (a loop whose condition differs) has other lanes;
its frame maps each lane to a lane of the frame around it, which is how values captured from outside are read.
Control flow is driven from an explicit stack, so nesting depth costs no Python recursion.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..ops.record import OpRecord
from ..ops.registry import RECORDS
from ..read.dependencies import uses
from ..read.ir import Op, Program, Region, TensorType, Value
from ..read.shardings import Sharding
from .arithmetic import Arithmetic
from .errors import DivergentCollective, OutOfTime, TooLarge, UnsupportedOp
from .indices import sorted_starts
from .reals import RealNumbers
from .regions import Evaluation, RegionCall, select_lanes


@dataclass(slots=True)
class _Frame:
    """One activation of a region."""

    region: Region
    lanes: np.ndarray | None
    devices: np.ndarray
    together: bool
    values: dict[int, Any]
    position: int = 0
    waiting: Evaluation | None = None
    captured: dict[int, Any] = field(default_factory=dict)


class Machine:
    """Runs operations and programs.

    `evaluate` of one op needs nothing but the machine; `run` runs a whole program. After a run, `undefined` names the
    ops whose results on these inputs tell nothing: a promise that they carry is broken (unique or sorted indices), what
    they ask for is not defined (the factor of a matrix that has none, the bits of NaN), or StableHLO and XLA have the
    start of a reduction at other places. On a machine `of_reals` it also tells of results that are no real numbers,
    such as quotients by zero, and of what may have been made of such. `unordered` names those that the specification
    lets choose an order (an unstable sort of equal keys, colliding updates that do not commute); a `backwards` machine
    chooses the opposite one. `out_of_bounds` names the ops that met an index outside their operand, or wrapped a
    negative one around, and their places. `deadline` is a time of the monotonic clock; `max_steps` bounds `steps`, the
    ops that were run in regions.
    """

    def __init__(
        self,
        program: Program | int,
        arithmetic: Arithmetic,
        *,
        deadline: float | None = None,
        max_elements: int = 1 << 27,
        backwards: bool = False,
        num_partitions: int | None = None,
        of_reals: bool = False,
    ) -> None:
        if isinstance(program, Program):
            self.num_devices = program.num_devices
            self.num_partitions = program.num_partitions
        else:
            self.num_devices = program
            self.num_partitions = num_partitions or program
        self.arithmetic = arithmetic
        self.backwards = backwards
        self.reals = RealNumbers() if of_reals else None
        self.undefined: set[str] = set()
        self.unordered: set[str] = set()
        self.out_of_bounds: set[str] = set()
        self.shardings: dict[int, Sharding | None] = {}
        self.deadline = deadline
        self.steps = 0
        self.max_steps: int | None = None
        self.max_elements = max_elements
        self._stack: list[_Frame] = [_Frame(_NO_REGION, None, np.arange(self.num_devices), True, {})]

    @property
    def lanes(self) -> int:
        """Length of the leading axis of the operands at hand."""
        return len(self._stack[-1].devices)

    @property
    def devices(self) -> np.ndarray:
        """The device number of every lane."""
        return self._stack[-1].devices

    def require_together(self, construct: str) -> None:
        """Refuse a collective that not every device reaches."""
        if not self._stack[-1].together:
            raise DivergentCollective(construct)

    def takes_outside(self, op: Op) -> None:
        """An op has met an index outside its operand."""
        self.out_of_bounds.add(f"'{op.name}' at {op.location}")

    def promise_sorted(self, op: Op, indices: np.ndarray) -> None:
        """Note where `indices_are_sorted` promises what does not hold."""
        if not sorted_starts(op, indices):
            self.undefined.add(f"'{op.name}' with indices that are not sorted")

    def run(self, program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run a program on arrays [devices, *shape] of plain numbers; results are in the machine's arithmetic."""
        arguments = []
        for parameter, array in zip(program.parameters, inputs, strict=True):
            tensor = parameter.value.tensor
            expected = (self.num_devices, *tensor.shape)
            if array.shape != expected:
                raise ValueError(f"input '{parameter.value.name}' has shape {array.shape}, not {expected}")
            arguments.append(self.arithmetic.load(array, tensor.dtype))
        return self.run_loaded(program, arguments)

    def run_loaded(self, program: Program, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run a program on arrays that are already in the machine's arithmetic."""
        for parameter in program.parameters:
            self.shardings[parameter.value.number] = parameter.sharding
        with self._floats():
            results = self.call(RegionCall(program.body, arguments))
        if self.reals is not None and not self.reals.end(results):
            self.undefined.add("a number that is not real")
        by_number = dict(zip((value.number for value in program.body.results), results, strict=True))
        return [by_number[result.value.number] for result in program.results]

    def _floats(self) -> np.errstate:
        return np.errstate(all="ignore") if self.reals is None else self.reals.floats()

    def call(self, call: RegionCall) -> list[Any]:
        """Run one region to its end."""
        bottom = len(self._stack)
        self._push(call)
        try:
            while True:
                results = self._step()
                if results is None:
                    continue
                self._stack.pop()
                if len(self._stack) == bottom:
                    return results
                self._resume(results)
        finally:
            del self._stack[bottom:]

    def evaluate(self, op: Op, operands: list[Any]) -> list[Any]:
        """Run one op, regions included, on operands in the machine's arithmetic."""
        record = _record(op)
        with self._floats():
            results = record.evaluate(self, op, operands)
            return self._drive(results) if isinstance(results, Generator) else results

    def _drive(self, evaluation: Evaluation) -> list[Any]:
        sent: list[Any] | None = None
        while True:
            try:
                request = next(evaluation) if sent is None else evaluation.send(sent)
            except StopIteration as stop:
                return stop.value
            sent = self.call(request)

    def _push(self, call: RegionCall) -> None:
        outer = self._stack[-1]
        devices = outer.devices if call.lanes is None else outer.devices[call.lanes]
        largest = _largest(call.region) * len(devices)
        if largest > self.max_elements:
            raise TooLarge(f"a tensor has {largest} elements on {len(devices)} devices")
        values = dict(zip((argument.number for argument in call.region.arguments), call.arguments, strict=True))
        self._stack.append(_Frame(call.region, call.lanes, devices, outer.together and call.lanes is None, values))

    def _step(self) -> list[Any] | None:
        """Run the top frame until it calls a region (None) or ends (its results)."""
        frame = self._stack[-1]
        plan = _plan(frame.region)
        while frame.position < len(plan):
            op, record, dead = plan[frame.position]
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise OutOfTime(f"evaluation ran out of time at '{op.name}'")
            self.steps += 1
            if self.max_steps is not None and self.steps > self.max_steps:
                raise OutOfTime(f"evaluation ran out of steps at '{op.name}'")
            operands = [self._read(value) for value in op.operands]
            for value, sharding in zip(op.results, op.shardings, strict=False):
                self.shardings[value.number] = sharding
            results = record.evaluate(self, op, operands)
            if isinstance(results, Generator):
                frame.waiting = results
                if self._advance(frame, None):
                    return None
                continue
            if self.reals is not None:
                results = self.reals.judged(op, operands, results)
            self._store(frame, op, results, dead)
        return [self._read(value) for value in frame.region.results]

    def _advance(self, frame: _Frame, sent: list[Any] | None) -> bool:
        """Continue the frame's control-flow op; True where it called another region, False where it is done."""
        assert frame.waiting is not None
        try:
            request = next(frame.waiting) if sent is None else frame.waiting.send(sent)
        except StopIteration as stop:
            frame.waiting = None
            op, _, dead = _plan(frame.region)[frame.position]
            self._store(frame, op, stop.value, dead)
            return False
        self._push(request)
        return True

    def _resume(self, results: list[Any]) -> None:
        self._advance(self._stack[-1], results)

    def _store(self, frame: _Frame, op: Op, results: list[Any], dead: tuple[int, ...]) -> None:
        for value, result in zip(op.results, results, strict=True):
            if isinstance(value.type, TensorType):
                expected = (len(frame.devices), *value.type.shape)
                assert result.shape == expected, f"'{op.name}' gave {result.shape}, not {expected}"
            frame.values[value.number] = result
        for number in dead:
            frame.values.pop(number, None)
        frame.position += 1

    def _read(self, value: Value) -> Any:
        frame = self._stack[-1]
        found = frame.values.get(value.number, _MISSING)
        if found is not _MISSING:
            return found
        found = frame.captured.get(value.number, _MISSING)
        if found is not _MISSING:
            return found
        maps: list[np.ndarray] = []
        for outer in reversed(self._stack):
            found = outer.values.get(value.number, _MISSING)
            if found is not _MISSING:
                for lanes in reversed(maps):
                    found = select_lanes(found, lanes)
                frame.captured[value.number] = found
                return found
            if outer.lanes is not None:
                maps.append(outer.lanes)
        raise AssertionError(f"value '{value.name}' is read before it is computed")


_MISSING = object()
_NO_REGION = Region((), (), ())


@lru_cache(maxsize=4096)
def _plan(region: Region) -> tuple[tuple[Op, OpRecord, tuple[int, ...]], ...]:
    """The region's ops with their records, and the values no later op of this region or its subregions reads."""
    last: dict[int, int] = {}
    for position, op in enumerate(region.ops):
        for value in uses(op):
            last[value.number] = position
    for value in region.results:
        last[value.number] = len(region.ops)
    dying: dict[int, list[int]] = {}
    for number, position in last.items():
        dying.setdefault(position, []).append(number)
    plan = []
    for position, op in enumerate(region.ops):
        unused = [result.number for result in op.results if result.number not in last]
        plan.append((op, _record(op), (*dying.get(position, ()), *unused)))
    return tuple(plan)


@lru_cache(maxsize=4096)
def _largest(region: Region) -> int:
    """Elements of the largest tensor the region defines itself."""
    values = [*region.arguments, *(result for op in region.ops for result in op.results)]
    return max((value.type.size for value in values if isinstance(value.type, TensorType)), default=0)


def _record(op: Op) -> OpRecord:
    record = RECORDS.get(op.name)
    if record is None:
        raise UnsupportedOp(op.name)
    for attribute in op.attributes:
        if attribute not in record.attributes and attribute not in record.ignored:
            raise UnsupportedOp(op.name, f"attribute '{attribute}'")
    return record
