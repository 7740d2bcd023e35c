"""Which operations of a program some of its results depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .ir import Op, Program, Value


def dependencies(program: Program, results: Sequence[int]) -> tuple[set[int], list[Op]]:
    """Numbers of the values that these results depend on, and the operations that make them, in order."""
    live = {program.results[number].value.number for number in results}
    ops = []
    for op in reversed(program.body.ops):
        if any(result.number in live for result in op.results):
            ops.append(op)
            live.update(value.number for value in _uses(op))
    return live, ops[::-1]


def _uses(op: Op) -> Iterator[Value]:
    """Every value that the operation or its regions may read; those made inside a region do no harm."""
    pending = [op]
    while pending:
        current = pending.pop()
        yield from current.operands
        for region in current.regions:
            yield from region.results
            pending.extend(region.ops)
