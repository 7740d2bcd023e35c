"""Trying a repair: the partitioned program with a few ops exchanged, walked anew from there on.

A repair that makes the proof go through says where the error is and what it is. The verdict is known before any is
tried and is never touched by one.
"""

from __future__ import annotations

from ..read.ir import Op, Region
from ..relate.decide import compare_to_demand
from ..relate.patience import Patience
from ..relate.value import Val
from ..relate.walk import Walk, WalkTimeoutError
from ..relation.store import RelationLimitError
from .edits import Edits, Repair
from .scene import Scene


class Trials:
    """Tries repairs of one program, within limits on their number and on CPU seconds."""

    def __init__(self, scene: Scene, failing: tuple[int, ...]) -> None:
        self._scene = scene
        self._device = scene.decision.device
        self._failing = failing
        self._edits = Edits(scene.after, failing)
        self._frontier = self._stop_of(scene.result)
        self._open = {origin.op for origin in self._device.origins.values()}
        self._patience = 0.1 + 1.5 * scene.decision.seconds

    def _stop_of(self, result: int) -> Op | None:
        stop = self._scene.decision.stops[result]
        return stop.origin.op if stop is not None and stop.origin is not None else None

    def repaired(self, repair: Repair) -> int:
        """How many results without a proof have one after the repair; 0 where the first of them has none."""
        device = self._device
        try:
            given = {number: known.relation() for number, known in repair.given.items()}
            patience = Patience(self._patience, newest=0)
            patience.begin()
            walk = Walk(
                device.context,
                device.builder,
                False,
                num_partitions=device.num_partitions,
                env={**device.env, **{number: value for number, value in given.items() if value is not None}},
                shardings=dict(device.shardings),
                inner=device.inner,
                patience=patience,
            )
            if None in given.values() or not self._walk(walk, repair):
                return 0
            if not self._proved(walk, self._scene.result, repair):
                return 0
            return sum(self._proved(walk, number, repair) for number in self._failing)
        except (WalkTimeoutError, RelationLimitError, ValueError):
            # ValueError: the edit gives a value another shape than its type says
            return 0

    def _walk(self, walk: Walk, repair: Repair) -> bool:
        dirty = set(repair.given)
        for ops, exchanged in self._edits.reached(repair, dirty):
            walk.region(Region((), ops, ()))
            dirty.update(value.number for op in ops for value in op.results)
            looked_at = () if exchanged else (op for op in ops if op is self._frontier or op not in self._open)
            if any(self._is_open(walk, op) for op in looked_at):
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
