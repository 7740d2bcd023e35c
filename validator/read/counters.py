"""Loops without counters that tell nothing: one that another one equals throughout, and one that nothing reads.

JAX writes a loop of known length with a counter of its own beside the user's, and XLA drops one of them early; so one
stage of a program carries a value more than the next one. Two carried integers of one type that start as one constant
and to which each trip adds one constant are equal at the start of every trip and at the end, by induction. A carried
integer that only its own next value is made of, and that is not used behind the loop, decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .dependencies import has_loops, uses
from .ir import Op, Program, Region, TensorType, Value


def merge_counters(program: Program) -> Program:
    """The program whose loops carry no counter that equals one before it, and none that nothing depends on."""
    if not has_loops(program):
        return program
    used = {result.value.number for result in program.results}
    used.update(value.number for op in program.body.ops for value in uses(op))
    body, names = _merged(program.body, {}, {}, used)
    results = tuple(replace(result, value=_named(result.value, names)) for result in program.results)
    return replace(program, body=body, results=results)


def _named(value: Value, names: Mapping[int, Value]) -> Value:
    return names.get(value.number, value)


def _merged(
    region: Region, known: dict[int, int], names: dict[int, Value], used: set[int]
) -> tuple[Region, dict[int, Value]]:
    """The block, and what stands for the values that it lost; `known` has integer scalars, `used` what is read."""
    ops: list[Op] = []
    for op in region.ops:
        regions = tuple(_merged(inner, known, names, used)[0] for inner in op.regions)
        op = replace(op, operands=tuple(_named(value, names) for value in op.operands), regions=regions)  # noqa: PLW2901
        if op.name == "stablehlo.constant" and _is_counter(op.results[0]):
            known[op.results[0].number] = int(op.attributes["value"].reshape(-1)[0])
        ops.append(_with_fewer(op, known, names, used) if op.name == "stablehlo.while" else op)
    return replace(region, ops=tuple(ops), results=tuple(_named(value, names) for value in region.results)), names


def _is_counter(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.is_integer and not value.type.shape


def _with_fewer(op: Op, known: dict[int, int], names: dict[int, Value], used: set[int]) -> Op:
    """The loop without those of its counters that tell nothing; `names` learns what stands for them."""
    steps = {k: step for k in range(len(op.operands)) if (step := _step(op, known, k)) is not None}
    kept: dict[tuple[object, int | None, int], int] = {}
    dropped: dict[int, int | None] = {}
    for k, step in steps.items():
        start = known.get(op.operands[k].number)
        first = k if start is None else kept.setdefault((op.operands[k].type, start, step), k)
        if first != k:
            dropped[k] = first
        elif _is_read_by_its_next_value_alone(op, k) and op.results[k].number not in used:
            dropped[k] = None
    # what nothing reads may be what others are equal to
    dropped = {k: other for k, other in dropped.items() if other is not None or k not in dropped.values()}
    if not dropped or len(dropped) == len(op.operands):
        return op
    for k, other in dropped.items():
        if other is not None:
            names[op.results[k].number] = op.results[other]
            for region in op.regions:
                names[region.arguments[k].number] = region.arguments[other]
    left = [k for k in range(len(op.operands)) if k not in dropped]
    condition, body = (_without(region, dropped, names) for region in op.regions)
    body = replace(body, results=tuple(body.results[k] for k in left))
    operands, results = (tuple(values[k] for k in left) for values in (op.operands, op.results))
    shardings = tuple(op.shardings[k] for k in left) if op.shardings else ()
    return replace(op, operands=operands, results=results, regions=(condition, body), shardings=shardings)


def _without(region: Region, dropped: Mapping[int, int | None], names: Mapping[int, Value]) -> Region:
    """A block of the loop without these arguments, and without what is made of one that nothing stands for."""
    lost = {region.arguments[k].number for k, other in dropped.items() if other is None}
    arguments = tuple(value for k, value in enumerate(region.arguments) if k not in dropped)
    ops = tuple(_renamed(op, names) for op in region.ops if not any(value.number in lost for value in op.operands))
    return Region(arguments, ops, tuple(_named(value, names) for value in region.results))


def _renamed(op: Op, names: Mapping[int, Value]) -> Op:
    regions = tuple(
        Region(
            inner.arguments,
            tuple(_renamed(each, names) for each in inner.ops),
            tuple(_named(value, names) for value in inner.results),
        )
        for inner in op.regions
    )
    return replace(op, operands=tuple(_named(value, names) for value in op.operands), regions=regions)


def _step(op: Op, known: Mapping[int, int], position: int) -> int | None:
    """The constant that each trip adds to a carried integer; None where it does something else."""
    body = op.regions[1]
    following = body.results[position].number
    add = next((each for each in body.ops if any(value.number == following for value in each.results)), None)
    if add is None or add.name != "stablehlo.add" or not _is_counter(body.results[position]):
        return None
    own = [value for value in add.operands if value.number == body.arguments[position].number]
    steps = [known[value.number] for value in add.operands if value.number in known]
    return steps[0] if len(own) == 1 and len(steps) == 1 else None


def _is_read_by_its_next_value_alone(op: Op, position: int) -> bool:
    """Whether a counter is read nowhere but where its next value is made, and that value nowhere at all."""
    condition, body = op.regions
    argument, following = body.arguments[position], body.results[position]
    reads = [value.number for each in body.ops for value in uses(each)]
    tests = [value.number for each in condition.ops for value in uses(each)]
    tests += [value.number for value in condition.results]
    return (
        condition.arguments[position].number not in tests
        and reads.count(argument.number) == 1
        and following.number not in reads
        and [value.number for value in body.results].count(following.number) == 1
        and all(value.number != argument.number for value in body.results)
    )
