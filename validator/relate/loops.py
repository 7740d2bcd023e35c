"""Loops: one loop of the partitioned program paired with one of the original.

Lemma *loop induction*: let the original's loop carry u_1 … u_n and the device's loop v_1 … v_n. If v_k = u_k read
through H_k holds for the initial values, and from v_k = u_k through H_k at the start of an iteration it follows that
the conditions are equal on every device and that it holds at the end, then both loops run equally often and it holds
for the results. Where H_k leads to another device of the original's, its devices have to go on alike, too, and so have
those that exchange data in the loop: a collective takes what all of them have in the same iteration.
H_k is a guess (from shardings, from the initial values, or replicated); the checks prove.
A loop that only the partitioned program has is unrolled if its trips are known. Where that leaves something without a
proof, the original's loops are unrolled in a second attempt: one side may have a loop where the other one has none, or
one of other trips.
Theory: exact, plus what the checks need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ops.control_relation import counter_range, ending_together, in_body, varying
from ..ops.manual_relation import is_inside, lifted
from ..ops.record import Theory
from ..read.ir import Op, TensorType
from ..relation.layout import layout, regions
from ..relation.store import Rel
from .atoms import Atom, AtomKind
from .guesses import layouts_by_shape
from .outputs import compare_values
from .value import AnyVal, Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk

MAX_TRIPS = 64
"""Trips up to which a loop is unrolled that is not paired."""

MAX_UNROLLED_OPS = 4_000
"""Ops up to which a loop is unrolled: one that does not match must be reported, not worked at."""

MAX_NESTED_OPS = 16_000
"""Ops up to which a loop is unrolled with the loops in it: their trips multiply."""

MAX_ATTEMPTS = 6
"""Guesses tried for one carried value."""

UNEQUAL_TRIPS = "devices that exchange values in this loop, or take each other's, are not shown to run it equally often"


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """One loop of the original: atoms for what it carries, and what its condition and body give from them."""

    op: Op
    carried: tuple[int, ...]
    """Positions that change; the others are the initial values throughout."""
    atoms: tuple[Atom, ...]
    choices: tuple[Rel, ...]
    """For each of them, which element of the atom stands for each point: the same one for points that are equal."""
    initial: tuple[Val, ...]
    condition: Val
    body: tuple[Val, ...]
    results: tuple[Atom, ...]


def relate_loop(walk: Walk, op: Op, initial: list[Val]) -> list[AnyVal]:
    """A while loop of either program."""
    if not walk.is_original:
        return _device(walk, op, initial)
    if walk.context.repeats:
        repeated = _unrolled(walk, op, initial)
        if repeated is not None:
            walk.context.used("loop unrolling")
            return repeated
        # a loop that is repeated has none in it that is not
        walk.unrolling = None if walk.unrolling is None else -1
    return _original(walk, op, initial)


def _original(walk: Walk, op: Op, initial: list[Val]) -> list[AnyVal]:
    """The original's loop, in a manual region with what its values have in common on all devices.

    Inside a region a carried value is taken to be the same along those device coordinates along which its initial
    value is. That is lemma *loop induction* between the loop on one device and on another: it has to hold of what the
    body gives again, and the conditions must be equal; what fails is given up, and the body is walked once more.
    """
    known = len(walk.context.loops)
    initial = [walk.close(value, "initial value of a loop") for value in initial]
    shared = [_shared_along(walk, value) for value in initial]
    while True:
        first = 0 if walk.trace is None else walk.trace.walked()
        loop, counters = _walked(walk, op, initial, shared)
        if loop is None and walk.inner is not None and walk.builder is not walk.inner:
            # the body asks for the devices, though nothing that comes in does
            walk.builder = walk.inner
            initial = [lifted(walk, value) for value in initial]
            shared = [_shared_along(walk, value) for value in initial]
        elif loop is None:
            return walk.refuse(op, "a loop that carries tokens or tuples")
        else:
            everywhere = _shared_along(walk, loop.condition)
            kept = [s & everywhere for s in shared]
            for k, value in zip(loop.carried, loop.body, strict=True):
                kept[k] &= _shared_along(walk, value)
            if all(kept[k] == shared[k] for k in loop.carried):
                break
            shared = kept
        del walk.context.loops[known:]
    walk.context.loops.append((loop, counters))
    if walk.trace is not None:
        walk.trace.loop(None, loop.choices if any(shared) else (), first)
    output: list[AnyVal] = list(initial)
    for k, atom, choice in zip(loop.carried, loop.results, loop.choices, strict=True):
        output[k] = Val(initial[k].type, (Piece(atom, choice),), walk.points(initial[k].type))
    return output


def _walked(
    walk: Walk, op: Op, initial: list[Val], shared: Sequence[frozenset[int]]
) -> tuple[Loop | None, dict[int, tuple[int, int]]]:
    """The loop by one walk of its regions and its counters; None where it carries what cannot be related."""
    carried = varying(op)
    values = [_named(walk, initial[k].type, f"carried {op.results[k].name}", shared[k]) for k in carried]
    atoms = [value.pieces[0].atom for value in values]
    arguments: list[AnyVal] = list(initial)
    for k, value in zip(carried, values, strict=True):
        arguments[k] = value
    condition = _region(walk, op, 0, arguments)[0]
    single = {
        k: atom
        for k, atom in zip(carried, atoms, strict=True)
        if not initial[k].type.rank and len(shared[k]) == len(walk.mesh.sizes)
    }
    counters = _counter_ranges(walk, op, single, initial, condition)
    with walk.context.bounded(counters, tuple(atoms)):
        body = _region(walk, op, 1, _in_body(walk, arguments, counters))
    inside = {is_inside(value) for value in (condition, *(body[k] for k in carried), *(initial[k] for k in carried))}
    if not isinstance(condition, Val) or any(not isinstance(body[k], Val) for k in carried) or len(inside) > 1:
        return None, {}
    results = [_named(walk, initial[k].type, f"loop result {op.results[k].name}", shared[k]) for k in carried]
    loop = Loop(
        op,
        carried,
        tuple(atoms),
        tuple(value.pieces[0].rel for value in values),
        tuple(initial),
        walk.close(condition, "condition of a loop"),
        tuple(value for k in carried if isinstance(value := body[k], Val)),
        tuple(result.pieces[0].atom for result in results),
    )
    return loop, counters


def _shared_along(walk: Walk, value: Val) -> frozenset[int]:
    """Device coordinates along which a value of a manual region is the same on all devices."""
    if not is_inside(value):
        return frozenset()
    found = []
    for digit in range(value.domain.arity - value.type.rank):
        chosen = walk.set_coordinate(value.domain, digit, 0)
        if chosen is not None and all(
            walk.store.equal(walk.store.compose(chosen, piece.rel), piece.rel) for piece in value.pieces
        ):
            found.append(digit)
    return frozenset(found)


def _named(walk: Walk, type_: TensorType, label: str, shared: frozenset[int]) -> Val:
    """A new term for a value, which is the same along the `shared` device coordinates."""
    points, store = walk.points(type_), walk.store
    choice = store.identity_on(points)
    for digit in shared:
        there = walk.set_coordinate(points, digit, 0)
        assert there is not None
        choice = store.compose(choice, there)
    atom = walk.context.atoms.fresh(AtomKind.NAMED, type_.dtype, points.arity, (), label=label)
    walk.note_fresh(atom)
    return Val(type_, (Piece(atom, choice),), points)


def _region(walk: Walk, op: Op, number: int, arguments: Sequence[AnyVal]) -> list[AnyVal]:
    region = op.regions[number]
    for argument, value in zip(region.arguments, arguments, strict=True):
        walk.env[argument.number] = value
    walk.region(region)
    return walk.results_of(region)


def _in_body(walk: Walk, values: Sequence[AnyVal], counters: dict[int, tuple[int, int]]) -> list[AnyVal]:
    return in_body(walk, values, counters, lambda atom: atom.number)


def _counter_ranges(
    walk: Walk, op: Op, carried: Mapping[int, Atom], initial: Sequence[Val], condition: AnyVal
) -> dict[int, tuple[int, int]]:
    """By atom number: the range inside the body of each counter that lemma *counter range* applies to.

    `carried` are those values that are one element on all devices: the test of one of several elements says nothing of
    the others.
    """
    found = counter_range(walk, op, carried, initial, condition) if isinstance(condition, Val) else None
    return {} if found is None else {found[0].number: found[1]}


def _device(walk: Walk, op: Op, initial: list[Val]) -> list[AnyVal]:
    carried = varying(op)
    types = [initial[k].type.dtype for k in carried]
    reason = "no loop of the before program carries these values"
    # programs keep their loops in order: trying all of them for each takes time with the square of their number
    numbers = range(len(walk.context.loops))
    for number in (*numbers[walk.next_loop :], *numbers[: walk.next_loop]):
        loop, counters = walk.context.loops[number]
        if len(loop.carried) != len(carried) or [a.dtype for a in loop.atoms] != types:
            continue
        coordinates = {a.arity - initial[k].type.rank for k, a in zip(carried, loop.atoms, strict=True)}
        if not coordinates <= {0, len(walk.mesh.sizes)} or len(coordinates) > 1:
            continue
        found = _pair(walk, op, carried, initial, loop, counters)
        if not isinstance(found, str):
            walk.context.used("loop induction")
            walk.next_loop = number + 1
            output: list[AnyVal] = list(initial)
            for k, value in zip(carried, found, strict=True):
                output[k] = value
            return output
        reason = found or reason
    unrolled = _unrolled(walk, op, initial)
    if unrolled is not None:
        walk.context.used("loop unrolling")
        return unrolled
    return [walk.unrelated(result.tensor, reason) for result in op.results]


def _unrolled(walk: Walk, op: Op, initial: Sequence[Val]) -> list[AnyVal] | None:
    """A loop of a few trips whose condition depends on no input, walked trip by trip.

    Lemma *loop unrolling*: a loop whose condition is known before every trip, the same on all devices, is its body
    repeated. Theory: exact.
    """
    carried: list[AnyVal] = list(initial)
    if all(not isinstance(value, Val) or value.known is None for value in carried):
        return None
    outermost, known = walk.unrolling is None, len(walk.context.loops)
    if walk.unrolling is None:
        walk.unrolling = MAX_NESTED_OPS
    if walk.trace is not None:
        walk.trace.loop(None, (), walk.trace.walked())
    results = None
    try:
        results = _trip_by_trip(walk, op, carried)
    finally:
        if walk.is_original and results is None:
            del walk.context.loops[known:]
        if outermost:
            walk.unrolling = None
    return results


def _trip_by_trip(walk: Walk, op: Op, carried: list[AnyVal]) -> list[AnyVal] | None:
    size = sum(len(region.ops) for region in regions(op.regions[1]))
    for _ in range(min(MAX_TRIPS, MAX_UNROLLED_OPS // max(size, 1)) + 1):
        condition = _region(walk, op, 0, carried)[0]
        if not isinstance(condition, Val) or condition.known is None or len(set(condition.known.ravel().tolist())) != 1:
            return None
        if not condition.known.ravel()[0]:
            return carried
        assert walk.unrolling is not None
        walk.unrolling -= size
        if walk.unrolling < 0:
            return None
        carried = _region(walk, op, 1, carried)
        if walk.unrolling < 0:
            return None
    return None


def _pair(
    walk: Walk,
    op: Op,
    carried: Sequence[int],
    initial: Sequence[Val],
    loop: Loop,
    counters: dict[int, tuple[int, int]],
) -> list[Val] | str:
    """The device loop's results through the original's, or why the induction does not go through, if known."""
    guesses: list[list[Rel]] = []
    theories: dict[tuple[int, Rel], Theory] = {}
    for position, k in enumerate(carried):
        options: list[Rel] = []
        for rel in _guesses(walk, loop, position, initial[k]):
            if rel.arity_out != loop.atoms[position].arity:
                continue
            start = compare_values(walk, loop.initial[loop.carried[position]], initial[k], rel)
            if start.proved:
                options.append(rel)
                theories[position, rel] = start.theory
        if not options:
            return ""
        guesses.append(options)
    chosen, reason = [0] * len(carried), ""
    for _ in range(MAX_ATTEMPTS):
        rels = [options[choice] for options, choice in zip(guesses, chosen, strict=True)]
        failing, theory, reason = _check(walk, op, carried, initial, loop, counters, rels)
        if not failing:
            theory = strongest([theory, *(theories[position, rel] for position, rel in enumerate(rels))])
            if walk.trace is not None:
                walk.trace.loop(loop, rels, walk.trace.walked() - 2)
            return [
                Val(initial[k].type, (Piece(atom, read),), walk.store.domain(rel), theory=theory)
                for k, atom, rel, read in zip(carried, loop.results, rels, _read(walk, loop, rels), strict=True)
            ]
        progress = False
        for position in failing:
            if chosen[position] + 1 < len(guesses[position]):
                chosen[position] += 1
                progress = True
        if not progress:
            break
    return reason


def _read(walk: Walk, loop: Loop, rels: Sequence[Rel]) -> list[Rel]:
    """Which element of each carried value's atom the device's points hold, from how they read the original's points."""
    return [walk.store.compose(rel, choice) for rel, choice in zip(rels, loop.choices, strict=True)]


def _guesses(walk: Walk, loop: Loop, position: int, value: Val) -> Iterator[Rel]:
    """How the device's carried value may relate to the original's, likely ones first."""
    result = loop.op.results[loop.carried[position]].tensor
    seen: list[Rel] = []
    shardings = loop.op.shardings
    if shardings:
        annotated = layout(walk.builder, result.shape, shardings[loop.carried[position]], value.type.shape)
        if not isinstance(annotated, str):
            seen.append(annotated)
            yield annotated
    if result.shape == value.type.shape:
        replicated = _same_point(walk, loop.atoms[position], result.shape)
        if replicated not in seen:
            seen.append(replicated)
            yield replicated
    for rel in walk.context.layouts.get((result.shape, value.type.shape), ()):
        if rel not in seen:
            seen.append(rel)
            yield rel
    start = loop.initial[loop.carried[position]]
    standing = walk.store.range(loop.choices[position])
    for mine in value.pieces:
        for theirs in start.pieces:
            if mine.atom is theirs.atom and theirs.rel.arity_out:
                back = walk.store.reverse(walk.store.restrict(theirs.rel, standing))
                rel = walk.store.compose(mine.rel, back)
                if walk.store.single_valued(rel) and rel not in seen:
                    seen.append(rel)
                    yield rel
    for rel in layouts_by_shape(walk.builder, result.shape, value.type.shape):
        if rel not in seen:
            seen.append(rel)
            yield rel


def _same_point(walk: Walk, original: Atom | Val, shape: tuple[int, ...]) -> Rel:
    """Every device holds the whole logical value, or (of a value that has devices itself) what that device holds."""
    arity = original.arity if isinstance(original, Atom) else original.domain.arity
    return walk.builder.identity(shape) if arity > len(shape) else walk.builder.local_identity(shape)


def _go_on_alike(walk: Walk, op: Op, loop: Loop, rels: Sequence[Rel]) -> Theory | None:
    """The theory in which the loops of devices that have to end together run equally often; None if that is not known.

    Where values are those of the same device (or of no device), equal conditions say so.
    """
    together = ending_together(walk, op, rels, loop.condition.domain)
    if together is None:
        return Theory.EXACT
    compared = compare_values(walk, loop.condition, loop.condition, together)
    return compared.theory if compared.proved else None


def _check(
    walk: Walk,
    op: Op,
    carried: Sequence[int],
    initial: Sequence[Val],
    loop: Loop,
    counters: dict[int, tuple[int, int]],
    rels: Sequence[Rel],
) -> tuple[list[int], Theory, str]:
    """Positions at which the induction step fails (all of them if the condition does), its theory, why, if known."""
    store = walk.store
    arguments: list[AnyVal] = list(initial)
    for k, atom, rel, read in zip(carried, loop.atoms, rels, _read(walk, loop, rels), strict=True):
        arguments[k] = Val(initial[k].type, (Piece(atom, read),), store.domain(rel))
    everywhere = list(range(len(carried)))
    condition = _region(walk, op, 0, arguments)[0]
    if not isinstance(condition, Val):
        return everywhere, Theory.EXACT, ""
    tested = compare_values(walk, loop.condition, condition, _same_point(walk, loop.condition, ()))
    alike = _go_on_alike(walk, op, loop, rels)
    if not tested.proved:
        return everywhere, Theory.EXACT, ""
    if alike is None:
        return everywhere, Theory.EXACT, UNEQUAL_TRIPS
    with walk.context.bounded(counters, loop.atoms):
        body = _region(walk, op, 1, _in_body(walk, arguments, counters))
        failing: list[int] = []
        theories = [tested.theory, alike, *(initial[k].theory for k in carried)]
        for position, (k, rel) in enumerate(zip(carried, rels, strict=True)):
            value = body[k]
            result = compare_values(walk, loop.body[position], value, rel) if isinstance(value, Val) else None
            if result is None or not result.proved:
                failing.append(position)
            else:
                theories.append(result.theory)
    return failing, strongest(theories), ""
