"""Ops that take elements in order: reducers that are no commutative sum, windows, scatters that replace elements.

Each result element is what a function makes of a sequence of elements. An op says what these sequences are, and how
much their order counts; whether two programs have the same ones is for the engine to tell. All is exact but for what
is said of padding.

Lemma *ordered reduction*: let a reducer f of tuples be associative and let its start value e commute with everything
and be idempotent, so that a reduction is e·x1·…·xn, where x1 … xn are the elements in lexicographic order of the
reduced indices; this depends on the sequence of those xk that are not e, and on nothing else. An element that is
itself such a reduction (a device's partial result, read again after a gather) stands for its own sequence. So if the
sequence of a device's reduction at b is, element by element and in order, that of the original's at m(b), the two are
equal. Where f is also commutative the order is free; where it is idempotent as well, so is how often an element occurs.
The laws are proved for the region at hand by running every case of it (`choosers`), bit for bit, NaN, 0 and -0
included. A start value that no step inserts would be seen where e is not neutral: like XLA, every reduction is taken to
insert it at least once.

Lemma *equal windows*: a window is its elements and the start value where it lies in padding, as StableHLO defines it,
and windows of one size with the same elements at the same places give the same. Implementations may leave the padding
out, so a window with padding needs a neutral start value and is the same up to the sign of zero (theory: reassociated).

Lemma *updates in order*: out[o] is a function of a sequence: the operand's element at o, then every update u that may
land on o in the order of the updates, each under the guard that u's index is one that leads to o. It is what the update
computation makes of those that are present, one after the other; for a `set` it is the last. If the device's sequence
at o is the original's at m(o), with equal guards and in the same order, the results are equal. Where the original
promises unique indices at most one update of a sequence is present, and the order of the updates is free; equal guards
inherit that. Without that promise StableHLO leaves the order open; an implementation is taken to go by the order of the
updates. A device that promises sorted indices must keep the original's order even then.
Where all indices are known and no element is set twice there is nothing to decide: the result is a piecewise view.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..read.ir import Region, TensorType
from ..relation.objects import Dom, Rel
from .choices import note_chooser
from .choosers import absorbs, laws_of, seems_neutral
from .digest import rows_digest
from .engine import Engine, strongest
from .record import Theory
from .sequence_maps import (
    Elements,
    Sequences,
    collected,
    placed,
    read_at,
    replaced,
    row_elements,
    together,
    update_sequences,
)
from .values import Piece

MAX_DEPTH = 12
"""Sequences with more index dimensions than this are not followed further."""


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Results that a function makes of sequences of elements, one at each of their batch points."""

    key: Hashable
    """Names the function, with its start: integers and words only, the same in every program."""
    sequences: Sequences
    types: tuple[TensorType, ...]
    theory: Theory
    atoms: tuple[Any, ...]
    """All that the op reads."""
    any_order: bool | None = False
    """Whether the order of elements counts for nothing; None: where at most one of them is present."""
    any_count: bool = False
    """Whether besides an element may occur any number of times."""
    in_place: bool = False
    """Whether equal elements have to be at equal positions."""
    first: int = 0
    """Which result of the op is the first of these."""
    unique: bool = False
    """Whether the op promises that of the updates in a sequence at most one is present."""
    skipped: int = 0
    """How many results come before those that the op has."""


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A start value: its atoms and the numbers that they are."""

    atoms: tuple[Any, ...]
    numbers: tuple[int | float, ...]
    told: tuple[Hashable, ...]


def constant_start(engine: Engine, inits: Sequence[Any]) -> Start | None:
    """The start value where it is one constant tuple, else None."""
    store, atoms, numbers, told = engine.store, [], [], []
    for init in inits:
        if init.monoid is not None or len(init.pieces) != 1:
            return None
        (piece,) = init.pieces
        if not store.set_equal(store.domain(piece.rel), engine.points(init.type)):
            return None
        known = store.constant_range(piece.rel) if engine.is_integer(piece.atom) else None
        number = known[0] if known is not None else engine.number_of(piece.atom)
        if known is None and not isinstance(number, float):
            return None
        atoms.append(piece.atom)
        numbers.append(number)
        told.append((init.type.dtype.value, number if known is not None else engine.bits_of(piece.atom)))
    return Start(tuple(atoms), tuple(numbers), tuple(told))


def reduced_in_order(
    engine: Engine,
    region: Region,
    key: Hashable,
    operands: Sequence[Any],
    inits: Sequence[Any],
    read: Rel,
    row_rank: int,
    types: Sequence[TensorType],
) -> list[Any] | None:
    """One value a result over its own points (device, batch); None where the lemma says nothing of this reducer.

    `read` relates (device, batch index, row index) to the operands' points.
    """
    start, laws, store = constant_start(engine, inits), laws_of(region), engine.store
    if start is None or laws is None or not laws.associative or not absorbs(region, start.numbers):
        return None
    values = [engine.close(value, "an operand of a reduction in order") for value in operands]
    full_key = ("ordered", key, start.told)
    note_chooser(engine, region, full_key, start.numbers, laws)
    elements, domain = _elements(engine, values, read, row_rank)
    parts: list[tuple[tuple[Any, ...], Rel, int]] = []
    for atoms, rels, where in elements:
        kept = store.set_minus(where, _where_start(engine, start, atoms, rels, where))
        if store.set_empty(kept):
            continue
        own = tuple(store.restrict(rel, kept) for rel in rels)
        inner = _taken_apart(engine, full_key, atoms, own, row_rank)
        if inner is None:
            parts.append((atoms, together(store, own), row_rank))
        else:
            parts += [(letters.atoms, letters.rel, row_rank + inner.depth) for letters in inner.letters]
    sequences = collected(store, parts, read.arity_in - row_rank, domain)
    order = _order(full_key, values, sequences, types)
    theory = strongest([order.theory, *(init.theory for init in inits)])
    any_count = laws.commutative and laws.idempotent
    engine.used("ordered reduction")
    return engine.in_order(replace(order, theory=theory, any_order=laws.commutative, any_count=any_count))


def _taken_apart(
    engine: Engine, key: Hashable, atoms: Sequence[Any], rels: Sequence[Rel], depth: int
) -> Sequences | None:
    """The sequences that elements are made of which are all results of this function, read at one place; else None.

    `rels` relate (batch point, position) to the elements; `depth` is how many coordinates a position has.
    """
    store, function = engine.store, rows_digest(key, (), ())
    made = [engine.made_in_order(atom) for atom in atoms]
    first = made[0]
    for number, (each, rel) in enumerate(zip(made, rels, strict=True)):
        if first is None or each is None or not store.equal(rels[0], rel):
            return None
        if (each.function, each.number, each.term) != (function, number, first.term):
            return None
    if first is None or depth + first.sequences.depth > MAX_DEPTH:
        return None
    known = store.set_subset(store.range(rels[0]), first.sequences.domain)
    return read_at(store, first.sequences, rels[0]) if known else None


def windows_in_order(
    engine: Engine,
    region: Region,
    key: Hashable,
    operands: Sequence[Any],
    inits: Sequence[Any],
    inside: Rel,
    window: Sequence[int],
    types: Sequence[TensorType],
) -> list[Any] | None:
    """Reductions of windows by any reducer; `inside` relates (device, result index, place in the window) to points.

    None where the start value is not one constant, or padding is not neutral for elements that are tried.
    """
    start, laws, store = constant_start(engine, inits), laws_of(region), engine.store
    shape = (*types[0].shape, *window)
    outside = store.set_minus(engine.builder.points(shape), store.domain(inside))
    padded = not store.set_empty(outside)
    if start is None or (padded and not absorbs(region, start.numbers) and not seems_neutral(region, start.numbers)):
        return None
    padding = store.restrict(engine.builder.moved(shape, []), outside)
    values = []
    for operand, init in zip(operands, inits, strict=True):
        closed = engine.close(operand, "an operand of windows in order")
        values.append(engine.piecewise([(inside, closed), (padding, init)], TensorType(shape, operand.type.dtype)))
    elements, domain = _elements(engine, values, engine.builder.identity(shape), len(window))
    parts = [
        (atoms, together(store, [store.restrict(rel, where) for rel in rels]), len(window))
        for atoms, rels, where in elements
    ]
    full_key = ("windows", key, start.told, tuple(window))
    order = _order(full_key, values, collected(store, parts, domain.arity, domain), types)
    theory = strongest([order.theory, Theory.REASSOCIATED if padded else Theory.EXACT])
    free = laws is not None and laws.associative and laws.commutative
    engine.used("equal windows")
    any_count = free and laws is not None and laws.idempotent
    return engine.in_order(replace(order, theory=theory, any_order=free, any_count=any_count, in_place=not free))


def updated_in_order(
    engine: Engine,
    base: Any,
    updates: Any,
    joints: Sequence[Any],
    landing: Rel,
    theory: Theory,
    unique: bool,
    sorted_: bool,
    computation: Hashable | None,
    number: int,
) -> Any:
    """`landing` relates (device, update element, index values) to the element it lands on.

    `computation` names what an update does to an element; None where it replaces it. `number` is the result's.
    """
    store, domain = engine.store, base.domain
    undefined = store.set_minus(engine.points(updates.type), updates.domain)
    places = [placed(store, joint, landing) for joint in joints]
    for place in places:
        domain = store.set_minus(domain, store.image(undefined, place.lands))
    before, after = ([(piece.atom, piece.rel) for piece in value.pieces] for value in (base, updates))
    known = replaced(store, before, after, places, domain) if computation is None else None
    engine.used("updates in order")
    if known is not None:
        pieces = engine.gathered([Piece(atom, rel) for atom, rel in known])
        return engine.value(base.type, pieces, domain, theory=strongest([base.theory, updates.theory, theory]))
    devices = len(engine.builder.mesh.sizes)
    sequences = update_sequences(store, before, after, places, domain, devices, engine.guard)
    key = ("updated", base.type.dtype.value, computation)
    atoms = tuple(dict.fromkeys(atom for letters in sequences.letters for atom in letters.atoms))
    theory = strongest([base.theory, updates.theory, theory])
    order = Order(key, sequences, (base.type,), theory, atoms, first=number, unique=unique)
    return engine.in_order(replace(order, any_order=False if sorted_ else None))[0]


def _order(key: Hashable, values: Sequence[Any], sequences: Sequences, types: Sequence[TensorType]) -> Order:
    atoms = tuple(dict.fromkeys(piece.atom for value in values for piece in value.pieces))
    return Order(key, sequences, tuple(types), strongest(value.theory for value in values), atoms)


def _elements(engine: Engine, values: Sequence[Any], read: Rel, row_rank: int) -> tuple[list[Elements], Dom]:
    given = [([(piece.atom, piece.rel) for piece in value.pieces], value.domain) for value in values]
    return row_elements(engine.store, given, read, row_rank, engine.limit_pieces)


def _where_start(engine: Engine, start: Start, atoms: Sequence[Any], rels: Sequence[Rel], where: Dom) -> Dom:
    """Those positions at which the element is the start value."""
    store = engine.store
    for atom, rel, own, number in zip(atoms, rels, start.atoms, start.numbers, strict=True):
        if atom is not own:
            return store.set_minus(where, where)
        if engine.is_integer(atom):
            where = store.set_meet(where, store.domain(store.fix_range(rel, 0, int(number))))
    return where
