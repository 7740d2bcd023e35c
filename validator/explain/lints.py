"""What is odd about a program that is proved: notes, never a reason to fail.

Each lint says only what the relations of both programs, or the program's own uses of values, show.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ops.monoid import Monoid, monoid_of_region
from ..read.dependencies import dependencies, uses
from ..read.ir import DType, Op, Program, TensorType, Value
from ..read.shardings import ShardingKind
from ..relate.decide import Decision
from ..relate.fold import resolve
from ..relate.value import Val
from ..relation.store import RelationLimitError
from ..report.note import Note, NoteKind
from .axis_names import GroupNames
from .repair_collectives import COLLECTIVES, REDUCING, groups_of, said

_ROUNDOFF = {DType.BF16: 2.0**-8, DType.F16: 2.0**-11}
"""Unit roundoff: half the distance from 1 to the next greater number."""

_GATHER = "stablehlo.all_gather"
_SLICES = frozenset({"stablehlo.slice", "stablehlo.dynamic_slice"})


def lints(decision: Decision, before: Program, after: Program) -> tuple[Note, ...]:
    """The notes on a program all of whose results are proved."""
    live, _ = dependencies(after, range(len(after.results)))
    users = _users_of_gathered(after)
    names = GroupNames(before, after, decision.relations)
    found = [
        _note(kind, said(names, op), op, what)
        for op in after.body.ops
        if op.name in COLLECTIVES
        for kind, what in _of_collective(decision, after, op, live, users)
    ]
    return (*found, *_replicated(decision, before, after))


def _users_of_gathered(after: Program) -> dict[int, list[Op]]:
    """By the number of each all-gather's result: the ops that take it, themselves or in a region."""
    users: dict[int, list[Op]] = {
        result.number: [] for op in after.body.ops if op.name == _GATHER for result in op.results
    }
    for op in after.body.ops:
        for number in {value.number for value in uses(op)} & users.keys():
            users[number].append(op)
    return users


def _of_collective(
    decision: Decision, after: Program, op: Op, live: set[int], users: dict[int, list[Op]]
) -> Iterator[tuple[NoteKind, str]]:
    if not any(result.number in live for result in op.results):
        yield NoteKind.DEAD_COLLECTIVE, "no result depends on it"
        return
    try:
        if _redundant(decision, op):
            yield NoteKind.REDUNDANT_COLLECTIVE, "every device has what it gives already"
            return
        yield from _narrow(decision, op)
    except RelationLimitError:
        return
    yield from _sliced(decision, after, op, users)


def _note(kind: NoteKind, collective: str, op: Op, what: str) -> Note:
    result = op.results[0]
    return Note(kind, f"{collective} gives '{result.name}' : {result.type}: {what}", op.location)


def _redundant(decision: Decision, op: Op) -> bool:
    """Whether each result holds, at every point, the same as the operand of its place."""
    if not decision.device.mesh.sizes:
        return False
    env = decision.device.env
    pairs = list(zip(op.operands, op.results, strict=True)) if len(op.operands) == len(op.results) else []
    return bool(pairs) and all(_same(decision, env.get(a.number), env.get(b.number)) for a, b in pairs)


def _same(decision: Decision, one: object, two: object) -> bool:
    if not isinstance(one, Val) or not isinstance(two, Val) or one.type != two.type:
        return False
    device, store = decision.device, decision.device.store
    one, two = resolve(device, one), resolve(device, two)
    if one.monoid is not two.monoid or not one.pieces or not store.set_equal(one.domain, two.domain):
        return False
    mine = {(piece.atom.number, piece.coefficient): piece.rel for piece in one.pieces}
    theirs = {(piece.atom.number, piece.coefficient): piece.rel for piece in two.pieces}
    return mine.keys() == theirs.keys() and all(store.equal(rel, theirs[key]) for key, rel in mine.items())


def _narrow(decision: Decision, op: Op) -> Iterator[tuple[NoteKind, str]]:
    """A sum across devices in a type of few digits.

    Each device rounds its part once and the sum rounds once for each further device: k roundings in all, so the error
    is at most k·u / (1 − k·u) times the sum of the parts' magnitudes, u being the unit roundoff.
    """
    table = groups_of(op)
    if op.name not in REDUCING or table is None or monoid_of_region(op.regions[0]) is not Monoid.ADD:
        return
    for operand, result in zip(op.operands, op.results, strict=True):
        unit, count = _ROUNDOFF.get(result.tensor.dtype), table.shape[1]
        if unit is None or count < 2 or not _adds_up(decision, operand, result):
            continue
        if count * unit < 1:
            bound = count * unit / (1 - count * unit)
            what = f"the error is at most {bound:.2g} of the sum of the parts' magnitudes"
        else:
            what = "no digit of the sum is sure"
        kind = result.tensor.dtype.value
        yield NoteKind.NARROW_PARTIAL_SUMS, f"{kind} partial sums over {count} devices: {what}"


def _adds_up(decision: Decision, operand: Value, result: Value) -> bool:
    """Whether a sum across devices really adds: where at most one device has anything, nothing is rounded."""
    part, whole = (decision.device.env.get(value.number) for value in (operand, result))
    if not isinstance(part, Val) or not isinstance(whole, Val):
        return False
    if part.levels > 0:
        return True
    if part.has_guards or whole.is_view:
        return False
    return not all(decision.device.store.single_valued(piece.rel) for piece in whole.pieces)


def _sliced(
    decision: Decision, after: Program, op: Op, users_of: dict[int, list[Op]]
) -> Iterator[tuple[NoteKind, str]]:
    """A gathered value of which only slices are used that together have at most half of its elements.

    What the gathering of uneven shards leaves undefined at the end does not count: to cut that off is no waste.
    """
    if op.name != _GATHER or len(op.results) != 1:
        return
    result = op.results[0]
    if any(row.value.number == result.number for row in after.results):
        return
    users = users_of[result.number]
    if not users or any(user.name not in _SLICES or user.operands[0].number != result.number for user in users):
        return
    used = sum(user.results[0].tensor.size for user in users)
    defined = _defined(decision, result)
    if 2 * used <= defined:
        yield NoteKind.GATHER_THEN_SLICE, f"only slices of it are used, {used} of {defined} elements"


def _defined(decision: Decision, value: Value) -> int:
    """Elements of a value that some device has defined, at most: those of the box around them."""
    known = decision.device.env.get(value.number)
    if not isinstance(known, Val):
        return 0
    size, first = 1, known.domain.arity - value.tensor.rank
    for position in range(first, known.domain.arity):
        bounds = decision.device.store.bounds(known.domain, position)
        if bounds is None:
            return 0
        size *= bounds[1] - bounds[0] + 1
    return size


def _replicated(decision: Decision, before: Program, after: Program) -> Iterator[Note]:
    """A value that the before program shards unevenly, and that every device holds whole wherever it has it."""
    uneven = [
        (op, dim)
        for op in before.body.ops
        for sharding in op.shardings[:1]
        if sharding is not None and sharding.kind is ShardingKind.TILED and isinstance(op.results[0].type, TensorType)
        for dim, (extent, tiles) in enumerate(zip(op.results[0].tensor.shape, sharding.tiles, strict=True))
        if extent > 1 and extent % tiles
    ]
    if not uneven:
        return
    held: dict[int, list[tuple[Op, Val]]] = {}
    for op in after.body.ops:
        for result in op.results:
            value = decision.device.env.get(result.number)
            if isinstance(value, Val) and value.is_plain:
                held.setdefault(value.pieces[0].atom.number, []).append((op, value))
    for op, dim in uneven:
        theirs = decision.original.env.get(op.results[0].number)
        copies = held.get(theirs.pieces[0].atom.number, []) if isinstance(theirs, Val) and theirs.is_plain else []
        shape = op.results[0].tensor.shape
        # made whole by the same op, not gathered of parts
        if copies and copies[0][0].name == op.name and all(value.type.shape == shape for _, value in copies):
            sharding = op.shardings[0]
            assert sharding is not None
            text = (
                f"'{op.results[0].name}' : {op.results[0].type} of the before program is to be sharded on dimension "
                f"{dim} over {sharding.tiles[dim]} devices, which do not divide {shape[dim]}; every device makes "
                f"all of it as '{copies[0][0].results[0].name}'"
            )
            yield Note(NoteKind.REPLICATED_FALLBACK, text, copies[0][0].location)
