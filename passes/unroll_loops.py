"""The pass `unroll-loops`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..validator.compat import ir
from ..validator.evaluate.arithmetic import Native
from ..validator.evaluate.errors import EvaluationError
from ..validator.evaluate.machine import Machine
from ..validator.ops.record import Family
from ..validator.ops.registry import RECORDS
from ..validator.read.errors import ReadError
from ..validator.read.ir import Op, Region, TensorType
from ..validator.read.program import read_program
from .base import ModulePass
from .rewriting import build_function, clone_body, clone_op, defining_op, nested, read_from_outside, replace

_COUNTING = frozenset({Family.ELEMENTWISE, Family.MOVEMENT})
_PER_DEVICE = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})


@dataclass(frozen=True)
class UnrollLoops(ModulePass):
    """Writes a `stablehlo.while` with a known number of trips as its body that many times.

    The number of trips is known where the condition depends on carried integers only that start as constants and are
    updated from each other and constants; it is counted by running just these in the reference evaluator. A loop of
    more than `max-trips` trips stays, and so does one whose copies would have more than `max-ops` operations. Loops
    inside loops are unrolled first.

    ```mlir
    %r:2 = stablehlo.while(%i = %c0, %x = %arg) : tensor<i32>, tensor<4xf32>
    cond { %p = stablehlo.compare LT, %i, %c2 : ... }
    do   { %j = stablehlo.add %i, %c1 : ...
           %y = stablehlo.tanh %x : ... }
    // becomes
    %0 = stablehlo.tanh %arg : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    ```
    """

    name: ClassVar[str] = "unroll-loops"
    max_trips: int = 64
    max_ops: int = 20_000

    def apply(self, module: ir.Operation) -> None:
        # What is inside comes later in the list, and an unrolled loop copies what is inside.
        for op in reversed(nested(module)):
            if op.name == "stablehlo.while":
                size = _size(op)
                trips = trip_count(op, min(self.max_trips, self.max_ops // size))
                if trips is not None:
                    _unroll(op, trips)


def _size(loop: ir.Operation) -> int:
    body = loop.regions[1].blocks[0]
    return sum(1 + len(nested(view.operation)) for view in body)


def _unroll(loop: ir.Operation, trips: int) -> None:
    body = loop.regions[1].blocks[0]
    carried = list(loop.operands)
    for _ in range(trips):
        carried = clone_body(body, dict(zip(body.arguments, carried, strict=True)), loop)
    replace(loop, carried)


def trip_count(loop: ir.Operation, limit: int) -> int | None:
    """How many trips a loop makes whatever the inputs are, where that is known and at most `limit`."""
    try:
        program = read_program(_alone(loop), name="loop")
        return _count(program.body.ops, limit)
    except (EvaluationError, ReadError):
        return None


def _alone(loop: ir.Operation) -> ir.Module:
    """A module of a loop alone; what it reads from outside is a constant of the module too, or an argument."""
    module = ir.Module.create(loop.location)
    outside = list(read_from_outside([loop]))
    sources = {value: defining_op(value) for value in outside}
    constants = {v: op for v, op in sources.items() if op is not None and op.name == "stablehlo.constant"}
    given = [value for value in outside if value not in constants]
    types = ([value.type for value in given], [result.type for result in loop.results])
    function = build_function("main", *types, ir.InsertionPoint(module.body), loop.location)
    block = function.regions[0].blocks[0]
    mapping = dict(zip(given, block.arguments, strict=True))
    point = ir.InsertionPoint(block)
    for op in constants.values():
        clone_op(op, mapping, point)
    copy = clone_op(loop, mapping, point)
    ir.Operation.create("func.return", operands=list(copy.results), ip=point, loc=loop.location)
    return module


def _count(ops: tuple[Op, ...], limit: int) -> int | None:
    """The trips of the loop at the end of the operations; all before it are constants."""
    *constants, loop = ops
    condition, body = loop.regions
    machine = Machine(1, Native())
    known = {op.results[0].number: machine.evaluate(op, [])[0] for op in constants}
    counters = {k for k, operand in enumerate(loop.operands) if operand.number in known}
    updates: dict[int, list[Op]] = {}
    while True:
        readable = {body.arguments[k].number for k in counters} | set(known)
        updates = {k: steps for k in counters if (steps := _slice(body, k, readable)) is not None}
        if set(updates) == counters:
            break
        counters = set(updates)
    test = _slice(condition, 0, {condition.arguments[k].number for k in counters} | set(known))
    if test is None:
        return None
    state = {k: known[loop.operands[k].number] for k in counters}
    for trip in range(limit + 1):
        entered = known | {condition.arguments[k].number: value for k, value in state.items()}
        if not bool(_run(machine, test, entered)[condition.results[0].number].all()):
            return trip
        entered = known | {body.arguments[k].number: value for k, value in state.items()}
        state = {k: _run(machine, ops, entered)[body.results[k].number] for k, ops in updates.items()}
    return None


def _slice(region: Region, k: int, readable: set[int]) -> list[Op] | None:
    """The operations that the k-th result of a region depends on, where they count and read nothing else."""
    needed = {region.results[k].number}
    ops: list[Op] = []
    for op in reversed(region.ops):
        if any(result.number in needed for result in op.results):
            if not _counts(op):
                return None
            ops.append(op)
            needed.difference_update(result.number for result in op.results)
            needed.update(operand.number for operand in op.operands)
    return ops[::-1] if needed <= readable else None


def _counts(op: Op) -> bool:
    """Whether an operation is plain arithmetic on integers, the same on every device."""
    record = RECORDS.get(op.name)
    return (
        record is not None
        and record.family in _COUNTING
        and op.name not in _PER_DEVICE
        and not op.regions
        and all(
            isinstance(value.type, TensorType) and (value.type.dtype.is_integer or value.type.dtype.is_bool)
            for value in (*op.operands, *op.results)
        )
    )


def _run(machine: Machine, ops: list[Op], values: dict[int, Any]) -> dict[int, np.ndarray]:
    found = dict(values)
    for op in ops:
        results = machine.evaluate(op, [found[operand.number] for operand in op.operands])
        found.update(zip((result.number for result in op.results), results, strict=True))
    return found
