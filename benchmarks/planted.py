"""What was planted in a mutant: the ops that are not the partitioned program's own, and the causes that name the error.

The truth that localisation is measured against. It is taken from the two programs and the mutant's kind; nothing of it
is known to the prover.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shardproof.validator.read.dependencies import uses
from shardproof.validator.read.ir import Op, Program, Region
from shardproof.validator.report.cause import Cause
from tests.tools.context import Context
from tests.tools.mutate import Mutant

_CAUSES: dict[str, tuple[Cause, ...]] = {
    "K1": (Cause.UNREDUCED,),
    "K2": (Cause.UNREDUCED,),
    "K3": (Cause.REDUCED_TWICE,),
    "K4": (Cause.UNREDUCED,),
    "K5": (Cause.WRONG_FACTOR,),
    "K6": (Cause.WRONG_REDUCER,),
    "K7": (Cause.WRONG_GROUPS,),
    "K8": (Cause.WRONG_DIMENSION,),
    "K9": (Cause.WRONG_DIMENSION,),
    "K10": (Cause.WRONG_DIMENSION,),
    "K11": (Cause.WRONG_DIMENSION, Cause.WRONG_PERMUTATION),
    "K12": (Cause.WRONG_PERMUTATION,),
    "K13": (Cause.WRONG_OFFSET,),
    "K14": (Cause.WRONG_OFFSET,),
    "K15": (Cause.NONLINEAR_ON_PARTIAL,),
    "K16": (Cause.NONLINEAR_ON_PARTIAL,),
    "K17": (Cause.COUNTED_PER_DEVICE,),
    "K18": (Cause.UNREDUCED,),
    "K19": (Cause.MISSING_MASK,),
    "K20": (Cause.WRONG_OFFSET,),
    "K21": (Cause.SWAPPED,),
    "K22": (Cause.WRONG_CONSTANT,),
    "K23": (Cause.UNREDUCED, Cause.NONLINEAR_ON_PARTIAL),
    "K24": (Cause.REDUCED_TWICE, Cause.COUNTED_PER_DEVICE),
    "K25": (Cause.REPLICAS_DISAGREE,),
    "K26": (Cause.MISSING_MASK,),
    "K27": (Cause.ROUNDING_MOVED,),
    "K28": (Cause.WRONG_OFFSET,),
    "K29": (Cause.COUNTED_PER_DEVICE, Cause.MISSING_MASK),
    "K30": (Cause.WRONG_PERMUTATION,),
    "K31": (Cause.WRONG_OFFSET,),
}

_BY_OPERATOR: dict[str, tuple[Cause, ...]] = {
    "reduce_for_gather": (Cause.WRONG_PERMUTATION,),
    "block_order": (Cause.WRONG_PERMUTATION, Cause.WRONG_GROUPS),
    "half_groups": (Cause.WRONG_GROUPS, Cause.UNREDUCED),
    "mask_bound": (Cause.WRONG_OFFSET, Cause.MISSING_MASK),
    "iota_dimension": (Cause.WRONG_DIMENSION,),
    "first_block_everywhere": (Cause.WRONG_OFFSET,),
    "own_copies_for_gather": (Cause.REPLICAS_DISAGREE, Cause.WRONG_PERMUTATION),
    "moved_in": (Cause.REDUCED_TWICE,),
    "scatter_sets": (Cause.WRONG_REDUCER,),
    "accumulated_once": (),
    "trip_count": (),
}
"""Operators whose error has another name than most of its kind; none where no cause of the enumeration fits."""


def causes_of(mutant: Mutant) -> tuple[Cause, ...]:
    """The causes that name the planted error rightly."""
    causes = _BY_OPERATOR.get(mutant.operator, _CAUSES[mutant.kind])
    if mutant.operator == "constant_changed":
        # a number that is an offset or a bound is named as one; on one device alone the devices disagree
        causes += (Cause.WRONG_OFFSET, Cause.WRONG_FACTOR)
        if "on the last device" in mutant.change:
            causes += (Cause.REPLICAS_DISAGREE,)
    if "shifted by one device" in mutant.change:
        # with one group of all devices only their order changes
        causes += (Cause.WRONG_PERMUTATION,)
    return causes


@dataclass(frozen=True, slots=True)
class Planted:
    """Numbers of values: those the planted ops make, those their direct users make, and what feeds a left-out op.

    `reached` are the values made by the first ops behind the planted one that are no index arithmetic.
    """

    planted: frozenset[int]
    users: frozenset[int]
    producers: frozenset[int]
    reached: frozenset[int]

    def place(self, number: int | None) -> str:
        """Which of them a value is: "planted", "user", "producer", "index", or "elsewhere"."""
        for name, numbers in (
            ("planted", self.planted),
            ("user", self.users),
            ("producer", self.producers),
            ("index", self.reached),
        ):
            if number in numbers:
                return name
        return "elsewhere"


def planted(original: Program, mutant: Program) -> Planted:
    """What distinguishes a mutant from the program it was made of."""
    old = {_key(op): op for op in _ops(original.body)}
    changed = [op for op in _ops(mutant.body) if not _same(old.get(_key(op)), op)]
    kept = {_key(op) for op in _ops(mutant.body)}
    lost = [op for key, op in old.items() if key not in kept]
    numbers = {value.number for op in changed for value in op.results}
    gone = {value.number for op in lost for value in op.results}
    # what used a value that is gone is a user of the place, not what was planted there
    direct = {
        value.number
        for op in changed
        if (before := old.get(_key(op))) is not None
        and before.attributes is op.attributes
        and any(operand.number in gone for operand in before.operands)
        for value in op.results
    }
    producers = {operand.number for op in lost for operand in op.operands}
    returned = _exchanged(original.body, mutant.body) | {
        mine.value.number
        for mine, theirs in zip(mutant.results, original.results, strict=True)
        if mine.value.number != theirs.value.number
    }
    if gone:
        returned -= producers
    seeds = (numbers - direct) | returned
    users = direct | {
        value.number
        for op in _ops(mutant.body)
        if any(operand.number in seeds for operand in op.operands) or _yields(op, seeds)
        for value in op.results
    }
    index = Context(mutant).index_values
    return Planted(frozenset(seeds), frozenset(users), frozenset(producers), _reached(mutant, seeds | users, index))


def _reached(mutant: Program, seeds: set[int], index: frozenset) -> frozenset[int]:
    arithmetic = {value.number for value in index}
    reached, flowing = set(), {number for number in seeds if number in arithmetic}
    for op in _ops(mutant.body):
        if any(operand.number in flowing for operand in op.operands):
            for value in op.results:
                (flowing if value.number in arithmetic else reached).add(value.number)
    return frozenset(reached | flowing)


def tidied(program: Program) -> Program:
    """A program without the ops that nothing needs; its values keep their numbers."""
    body = _tidied(program.body, {result.value.number for result in program.results})
    return replace(program, body=body)


def _tidied(region: Region, needed: set[int]) -> Region:
    needed = needed | {value.number for value in region.results}
    kept: list[Op] = []
    for op in reversed(region.ops):
        if any(result.number in needed for result in op.results):
            control = op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case")
            new = replace(op, regions=tuple(_tidied(inner, set()) for inner in op.regions)) if control else op
            kept.append(new)
            needed.update(value.number for value in uses(new))
    return replace(region, ops=tuple(reversed(kept)))


def _ops(region: Region) -> list[Op]:
    """All ops that compute tensors, regions of loops and branches included, those of reducers not."""
    found = []
    for op in region.ops:
        found.append(op)
        if op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
            for inner in op.regions:
                found += _ops(inner)
    return found


def _key(op: Op) -> tuple[int, ...]:
    return tuple(value.number for value in op.results)


def _same(old: Op | None, new: Op) -> bool:
    if old is new:
        return True
    if old is None or old.name != new.name or old.attributes is not new.attributes:
        return False
    if [value.number for value in old.operands] != [value.number for value in new.operands]:
        return False
    if new.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
        return True
    return all(mine is theirs for mine, theirs in zip(old.regions, new.regions, strict=True))


def _yields(op: Op, numbers: set[int]) -> bool:
    """Whether a loop or branch returns one of these values from inside."""
    if op.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
        return False
    return any(value.number in numbers for region in op.regions for value in region.results)


def _exchanged(old: Region, new: Region) -> set[int]:
    """What loop bodies and branches return in another place than before."""
    found: set[int] = set()
    for mine, theirs in zip(_loops(new), _loops(old), strict=True):
        for ours, other in zip(mine.regions, theirs.regions, strict=True):
            results, before = [v.number for v in ours.results], [v.number for v in other.results]
            if results != before and sorted(results) == sorted(before):
                found.update(a for a, b in zip(results, before, strict=True) if a != b)
    return found


def _loops(region: Region) -> list[Op]:
    return [op for op in _ops(region) if op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case")]
