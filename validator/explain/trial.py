"""Trying a repair: the partitioned program with a few ops exchanged, walked anew from there on.

A repair that makes the proof go through says where the error is and what it is. The verdict is known before any is
tried and is never touched by one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..read.dependencies import uses
from ..read.ir import Op, Region
from ..relate.decide import compare_to_demand
from ..relate.value import Val
from ..relate.walk import Walk, WalkTimeoutError
from ..relation.store import RelationLimitError
from ..report.cause import Diagnosis
from .scene import Scene, Site


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """Ops in the place of others, and what is wrong if they make the program right.

    `place` is the op to report. `changes` has what stands in the place of each op; `given` are values that are simply
    taken to be known, by number; `returns` exchanges results of the program.
    """

    place: Op
    cause: Diagnosis | None
    changes: tuple[tuple[Site, tuple[Op, ...]], ...] = ()
    given: Mapping[int, Val] = field(default_factory=dict)
    returns: Mapping[int, int] = field(default_factory=dict)


class Trials:
    """Tries repairs of one program, within limits on their number and on CPU seconds."""

    def __init__(self, scene: Scene, seconds: float, count: int) -> None:
        self._scene = scene
        self._device = scene.decision.device
        self._end = time.process_time() + seconds
        self.left = count
        comparisons = scene.decision.comparisons
        self._failing = [k for k, one in enumerate(comparisons) if one is not None and not one.proved]
        self.failing = len(self._failing)
        self._frontier = self._stop_of(scene.result)
        self._open = {origin.op for origin in self._device.origins.values()}
        self._patience = 0.1 + 1.5 * scene.decision.seconds

    @property
    def over(self) -> bool:
        return self.left <= 0 or time.process_time() > self._end

    def _stop_of(self, result: int) -> Op | None:
        stop = self._scene.decision.stops[result]
        return stop.origin.op if stop is not None and stop.origin is not None else None

    def repaired(self, repair: Repair) -> int:
        """How many results without a proof have one after the repair; 0 where the first of them has none."""
        self.left -= 1
        device = self._device
        walk = Walk(
            device.context,
            device.builder,
            False,
            time.monotonic() + self._patience,
            num_partitions=device.num_partitions,
            env={**device.env, **repair.given},
            shardings=dict(device.shardings),
            inner=device.inner,
        )
        try:
            if not self._walk(walk, repair):
                return 0
            if not self._proved(walk, self._scene.result, repair):
                return 0
            return sum(self._proved(walk, number, repair) for number in self._failing)
        except (WalkTimeoutError, RelationLimitError, ValueError):
            # ValueError: the edit gives a value another shape than its type says
            return 0

    def _walk(self, walk: Walk, repair: Repair) -> bool:
        ops = self._scene.after.body.ops
        changed: dict[int, list[tuple[Site, tuple[Op, ...]]]] = {}
        for site, others in repair.changes:
            changed.setdefault(site.top, []).append((site, others))
        dirty = set(repair.given)
        for index in range(min(changed, default=len(ops)), len(ops)):
            op = ops[index]
            if index in changed:
                new = _edited(op, changed[index])
            elif dirty and any(value.number in dirty for value in uses(op)):
                new = (op,)
            else:
                continue
            walk.region(Region((), new, ()))
            dirty.update(value.number for one in new for value in one.results)
            if index not in changed and (op is self._frontier or op not in self._open) and self._is_open(walk, op):
                return False
        return True

    def _is_open(self, walk: Walk, op: Op) -> bool:
        """Whether an op gives numbers in terms of its own: the frontier again, or another one on top of it."""
        found = walk.env.get(op.results[0].number) if op.results else None
        if not isinstance(found, Val) or not found.type.dtype.is_float:
            return False
        return any(
            (origin := walk.origins.get(piece.atom.number)) is not None and origin.op is op for piece in found.pieces
        )

    def _proved(self, walk: Walk, number: int, repair: Repair) -> bool:
        value = repair.returns.get(number, self._scene.after.results[number].value.number)
        have = walk.env.get(value)
        if have is None:
            return False
        comparison, problem = compare_to_demand(self._scene.decision, walk, number, have)
        return comparison is not None and comparison.proved and not problem


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
