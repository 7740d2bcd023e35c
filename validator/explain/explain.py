"""What a missing proof is told as: the place and the cause.

Where relations alone show what is wrong, they are taken at their word. Else single repairs of the partitioned program
are tried, likely ones first, in numbers and then by a proof: the one that makes the proof go through names the op and
the cause. What no single repair mends is reported where the proof stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..evaluate.compare import Counterexample
from ..read.ir import Op, Program
from ..relate.decide import Decision
from ..relate.departure import EXCHANGES
from ..relate.value import Val
from ..relation.store import RelationLimitError
from ..report.cause import Cause, Diagnosis
from . import repair_collectives, repair_indices, repair_masks, repair_operands, repair_sums, repair_units
from .apart import apart
from .edits import Repair
from .scene import Scene, Site
from .screen import Screen
from .trial import Trials
from .witnesses import witnesses

TRIALS = 20_000
"""Repairs of one program that are tried at most."""
_PROOFS = 6
"""Repairs of one tier that give the right numbers and are proved at most."""

MAX_OPS = 600
"""Programs in which a result depends on more ops than this are told where their proof stops, or where the sum that it
stops at was left partial, without any trials."""

Repairs = Callable[[Scene, Site], Iterator[Repair]]

TIERS: tuple[tuple[Repairs, ...], ...] = (
    (repair_collectives.left_out, repair_collectives.regrouped, repair_collectives.other_reducer),
    (repair_operands.unused,),
    (repair_indices.other_numbers,),
    (repair_sums.reduced_too_late, repair_sums.reduced_after_loop),
    (repair_sums.never_reduced,),
    (repair_indices.other_start, repair_indices.positions_along, repair_indices.other_bound),
    (repair_indices.slice_moved, repair_operands.swapped, repair_operands.exchanged_carries),
    (repair_operands.too_many,),
    (repair_operands.another_constant,),
    (repair_masks.not_masked, repair_masks.out_of_range),
    (repair_collectives.other_dimension, repair_collectives.other_pairs),
    (repair_indices.positions_of_device_0,),
    (repair_indices.offset_left_out,),
    (repair_operands.left_out,),
    (repair_units.other_way, repair_units.not_exchanged),
    (repair_sums.counted_on_every_device,),
    (repair_operands.another_operand,),
)
"""Kinds of repairs, the likeliest first.

Within a tier those that mend the most come first, then those of least rank, then those at ops that no proof depends on.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Where a result's proof goes wrong, and why, as far as that is known."""

    op: Op | None
    reason: str
    cause: Diagnosis | None
    trials: int = 0


def explain(
    decision: Decision,
    before: Program,
    after: Program,
    result: int,
    seconds: float = 4.0,
    wall_seconds: float = 30.0,
    known: Counterexample | None = None,
) -> Explanation:
    """The place and the cause of one result's missing proof; a counterexample helps where one is known.

    The search for the cause takes these seconds of CPU time at most, and no longer than the others.
    """
    stop = decision.stops[result]
    op = stop.origin.op if stop is not None and stop.origin is not None else None
    reason = stop.reason if stop is not None else ""
    comparison = decision.comparisons[result]
    if decision.missing[result]:
        return Explanation(op, reason, Diagnosis(Cause.UNSUPPORTED, {"found": decision.missing[result]}))
    if comparison is None or comparison.proved or decision.out_of_time or seconds <= 0 or wall_seconds <= 0:
        return Explanation(op, reason, None)
    scene = Scene(decision, before, after, result)
    if len(scene.sites) > MAX_OPS:
        return Explanation(op if op is None else _where_left_partial(scene, op), reason, None)
    found = apart(lambda: _sought(scene, seconds, known), seconds, wall_seconds)
    if found is None:
        return Explanation(op, reason, None)
    place, cause, trials = found
    return Explanation(op if place is None else scene.definitions[place].op, reason, cause, trials)


def _where_left_partial(scene: Scene, op: Op) -> Op:
    """Behind an op that stops at a partial sum: the collective that leaves it partial, or the first op that takes it.

    What only adds up or moves a partial sum goes through, so that a proof stops long after the sum should have been
    completed.
    """

    def partial(user: Op) -> list[int]:
        known = ((operand.number, scene.decision.device.env.get(operand.number)) for operand in user.operands)
        return [number for number, value in known if isinstance(value, Val) and not value.is_view]

    while len(sums := partial(op)) == 1 and sums[0] in scene.definitions:
        maker = scene.definitions[sums[0]].op
        if EXCHANGES & maker.attributes.keys():
            return maker
        if not partial(maker):
            return op
        op = maker
    return op


def _sought(
    scene: Scene, seconds: float, known: Counterexample | None
) -> Iterator[tuple[int | None, Diagnosis | None, int]]:
    """Better and better ones: the number of the value that the op at the place makes, the cause, repairs tried so far.

    A repair that is right on all inputs tried stands until a repair is proved right.
    """
    search = _Search(scene, seconds, known)
    for tier in _tiers(scene):
        yield from search.answers(tier)
        if search.done or search.over:
            break
    yield _told(search.found, search.tried)


class _Search:
    """Goes through repairs and keeps the best."""

    def __init__(self, scene: Scene, seconds: float, known: Counterexample | None) -> None:
        self._scene = scene
        self._end = time.process_time() + seconds
        self._failing = tuple(
            k for k, one in enumerate(scene.decision.comparisons) if one is not None and not one.proved
        )
        self._trials = Trials(scene, self._failing)
        self._screen = Screen(scene, self._failing, witnesses(scene, self._failing, known))
        self._best = (0, 0)
        """How many results the repair found mends: proved to, and seen to."""
        self._unproved: list[Repair] = []
        """Repairs that give the right numbers, the likeliest first."""
        self.found: Repair | None = None
        self.tried = 0

    @property
    def over(self) -> bool:
        return self.tried >= TRIALS or time.process_time() > self._end

    @property
    def done(self) -> bool:
        return self._best[0] == len(self._failing)

    def answers(self, tier: Iterable[Repair]) -> Iterator[tuple[int | None, Diagnosis | None, int]]:
        """Answers better than all before: of the repairs that give the right numbers, the likeliest one is proved."""
        right: list[tuple[int, Repair]] = []
        for repair in tier:
            if self.over or self.done:
                break
            self.tried += 1
            mended = self._screen.mended(repair)
            if mended is None:
                yield from self._taken((self._trials.repaired(repair), 0), repair)
            elif mended:
                right.append((mended, repair))
        right.sort(key=lambda each: (-each[0], each[1].rank))
        for mended, repair in right[:_PROOFS]:
            yield from self._taken((0, mended), repair)
            if self.over or self.done:
                break
            proved = self._trials.repaired(repair)
            if proved:
                yield from self._taken((proved, mended), self._first(repair))
            self._unproved.append(repair)

    def _first(self, proved: Repair) -> Repair:
        """Where something that a proved repair's place is made of can be mended for the same cause, that is named.

        It gives the right numbers and is likelier; only the proof of it lacks.
        """
        if proved.cause is not None:
            behind = self._scene.behind(proved.place)
            for one in self._unproved:
                if one.cause is not None and one.cause.cause is proved.cause.cause and one.place in behind:
                    return one
        return proved

    def _taken(self, mended: tuple[int, int], repair: Repair) -> Iterator[tuple[int | None, Diagnosis | None, int]]:
        if mended > self._best:
            self._best, self.found = mended, repair
            yield _told(repair, self.tried)


def _told(found: Repair | None, tried: int) -> tuple[int | None, Diagnosis | None, int]:
    return (None, None, tried) if found is None else (found.place.results[0].number, found.cause, tried)


def _tiers(scene: Scene) -> Iterator[Iterator[Repair]]:
    """All repairs, the likeliest first."""
    order = sorted(scene.sites, key=lambda site: _behind_proof(scene, site))
    for tier in TIERS:
        yield (repair for site in order for kind in tier for repair in _attempts(kind, scene, site))
    yield repair_operands.exchanged_results(scene)


def _attempts(kind: Repairs, scene: Scene, site: Site) -> Iterator[Repair]:
    """The repairs of one kind; a site whose relations do not fit the kind, or are too much, has no more of them."""
    try:
        yield from kind(scene, site)
    except RelationLimitError:
        return


def _behind_proof(scene: Scene, site: Site) -> bool:
    return any(value.number in scene.proved_too for value in site.op.results)
