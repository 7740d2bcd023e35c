"""Which operations of a program some of its results depend on, how large these get, and what stands in a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .ir import Op, Program, Region, TensorType, Value


def dependencies(program: Program, results: Sequence[int]) -> tuple[set[int], list[Op]]:
    """Numbers of the values that these results depend on, and the operations that make them, in order."""
    live = {program.results[number].value.number for number in results}
    ops = []
    for op in reversed(program.body.ops):
        if any(result.number in live for result in op.results):
            ops.append(op)
            live.update(value.number for value in uses(op))
    return live, ops[::-1]


def live_ops(region: Region, needed: set[int]) -> set[int]:
    """Ids of the ops of a block, and of those in its ops, that values depend on.

    `needed`, these values' numbers, grows by all that are read.
    """
    live: set[int] = set()
    for op in reversed(region.ops):
        if any(result.number in needed for result in op.results):
            live.add(id(op))
            needed.update(operand.number for operand in op.operands)
            for inner in op.regions:
                needed.update(value.number for value in inner.results)
                live |= live_ops(inner, needed)
    return live


def largest_behind(program: Program) -> list[int]:
    """For each result, the elements of the largest tensor that it depends on, itself included, in one pass.

    Tensors inside regions are left out.
    """
    largest = {argument.number: _elements(argument) for argument in program.body.arguments}
    for op in program.body.ops:
        behind = max((largest.get(value.number, 0) for value in uses(op)), default=0)
        own = max(map(_elements, op.results), default=0)
        for result in op.results:
            largest[result.number] = max(behind, own)
    return [largest[result.value.number] for result in program.results]


def _elements(value: Value) -> int:
    return value.type.size if isinstance(value.type, TensorType) else 0


def uses(op: Op) -> Iterator[Value]:
    """Every value that the operation or its regions read, those made inside a region included."""
    pending = [op]
    while pending:
        current = pending.pop()
        yield from current.operands
        for region in current.regions:
            yield from region.results
            pending.extend(region.ops)


def regions(root: Region) -> Iterator[Region]:
    """The region and all regions inside it."""
    stack = [root]
    while stack:
        region = stack.pop()
        yield region
        for op in region.ops:
            stack.extend(op.regions)


def has_loops(program: Program) -> bool:
    """Whether any loop is in the program, in whatever region."""
    return any(op.name == "stablehlo.while" for region in regions(program.body) for op in region.ops)
