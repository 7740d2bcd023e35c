"""Repairs as edits of a program, and which of its ops they reach."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..read.dependencies import dependencies, uses
from ..read.ir import Op, Program, Value
from ..report.cause import Diagnosis
from .known import Known
from .scene import Site

Changes = tuple[tuple[Site, tuple[Op, ...]], ...]
"""What stands in the place of ops."""


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """Ops in the place of others, and what is wrong if they make the program right.

    `place` is the op to report. `changes` has what stands in the place of each op; `given` are values that are simply
    taken to be known, by number; `returns` exchanges results of the program. Of a tier's repairs those of least `rank`
    are the likeliest.
    """

    place: Op
    cause: Diagnosis | None
    changes: Changes = ()
    given: Mapping[int, Known] = field(default_factory=dict)
    returns: Mapping[int, int] = field(default_factory=dict)
    rank: int = 0


class Edits:
    """The part of a program that some results depend on, op by op, with what each reads."""

    def __init__(self, program: Program, results: Sequence[int]) -> None:
        self._ops = program.body.ops
        needed = set(dependencies(program, results)[1])
        self._steps = [
            (index, frozenset(value.number for value in uses(op))) for index, op in enumerate(self._ops) if op in needed
        ]
        self._needed = frozenset(index for index, _ in self._steps)
        self._read: dict[Op, tuple[Value, ...]] = {}

    def reached(self, repair: Repair, changed: Container[int]) -> Iterator[tuple[tuple[Op, ...], bool]]:
        """In program order, what stands in the place of ops that are exchanged or read something that has changed.

        With it comes whether it is an exchange. `changed` are the numbers of such values, to which whoever goes through
        the ops adds.
        """
        edits: dict[int, list[tuple[Site, tuple[Op, ...]]]] = {}
        for site, others in repair.changes:
            edits.setdefault(site.top, []).append((site, others))
        first = min(edits, default=len(self._ops))
        # what nothing needs may be needed after the edit
        others = [(index, frozenset[int]()) for index in edits if index not in self._needed]
        for index, reads in sorted([*self._steps, *others], key=lambda step: step[0]) if others else self._steps:
            if index < first:
                continue
            if index in edits:
                yield _edited(self._ops[index], edits[index]), True
            elif any(number in changed for number in reads):
                yield (self._ops[index],), False

    def read_by(self, op: Op) -> tuple[Value, ...]:
        """All values that an op and its regions read, each once."""
        found = self._read.get(op)
        if found is None:
            found = self._read[op] = tuple({value.number: value for value in uses(op)}.values())
        return found


def _edited(op: Op, changes: list[tuple[Site, tuple[Op, ...]]]) -> tuple[Op, ...]:
    """The ops that stand in the place of a top-level op; changes inside of it edit its regions."""
    whole = [others for site, others in changes if not site.path]
    if whole:
        return whole[0]
    for site, others in sorted(changes, key=lambda change: change[0].order, reverse=True):
        op = _with_inner(op, site.path, others)
    return (op,)


def _with_inner(op: Op, path: tuple[tuple[int, int], ...], others: tuple[Op, ...]) -> Op:
    (number, index), rest = path[0], path[1:]
    region = op.regions[number]
    new = others if not rest else (_with_inner(region.ops[index], rest, others),)
    ops = (*region.ops[:index], *new, *region.ops[index + 1 :])
    regions = (*op.regions[:number], replace(region, ops=ops), *op.regions[number + 1 :])
    return replace(op, regions=regions)
