"""At which indices a program's terms are needed for its results, however its choices come out.

A term is needed where a result holds it, and where a needed term reads it; of a choice only what it chooses by; of a
loop, which may make no trip, what it carries at first, as far as each trip needs of that what the result is needed of.
What is not followed (a look-up by unknown indices, an op that is not modelled) needs nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..relation.store import Dom
from .atoms import LEAVES, Atom, AtomKind
from .context import Context
from .partial import always_read

if TYPE_CHECKING:
    from .loops import Loop
    from .value import Val


def needed(context: Context, roots: Iterable[tuple[Atom, Dom]]) -> dict[int, Dom]:
    """By atom number: the indices at which a term is needed if the roots are at theirs."""
    store, atoms = context.store, dict[int, Atom]()
    found: dict[int, Dom] = {}
    pending: list[int] = []
    loops = {end.number: (loop, k) for loop, _ in context.loops for k, end in enumerate(loop.results)}

    def add(atom: Atom, indices: Dom) -> None:
        if atom.kind in LEAVES or store.set_empty(indices):
            return
        known = found.get(atom.number)
        if known is not None and store.set_subset(indices, known):
            return
        found[atom.number] = indices if known is None else store.set_union(known, indices)
        atoms[atom.number] = atom
        heapq.heappush(pending, -atom.number)

    for atom, indices in roots:
        add(atom, indices)
    while pending:
        number = -heapq.heappop(pending)
        while pending and pending[0] == -number:
            heapq.heappop(pending)
        parts = _at_first(context, *loops[number], found[number]) if number in loops else ()
        for atom, indices in parts or _parts(context, atoms[number], found[number]):
            add(atom, indices)
    return found


def _at_first(context: Context, loop: Loop, position: int, indices: Dom) -> list[tuple[Atom, Dom]]:
    """What a loop carries at first where its result is needed, if the end of a trip needs it where it was before."""

    def read(value: Val) -> list[tuple[Atom, Dom]]:
        return [(piece.atom, context.store.image(indices, piece.rel)) for piece in value.pieces]

    before = needed(context, read(loop.body[position])).get(loop.atoms[position].number)
    if before is None or not context.store.set_subset(indices, before):
        return []
    return read(loop.initial[loop.carried[position]])


def _parts(context: Context, atom: Atom, indices: Dom) -> Iterator[tuple[Atom, Dom]]:
    """What a term is computed from at these of its indices."""
    store = context.store
    if atom.kind is AtomKind.LIFT:
        for operand, rel in always_read(atom):
            if rel is not None:
                yield operand, store.image(indices, rel)
            else:
                yield operand, indices if operand.arity == atom.arity else store.everything(operand.arity)
    elif atom.kind is AtomKind.PRODUCT:
        left, right = atom.operands
        pairs = store.identity_on(indices)
        yield left, store.range(store.project_out(pairs, left.arity, right.arity))
        yield right, store.range(store.project_out(pairs, 0, left.arity))
    elif (definition := context.definition_of(atom)) is not None:
        for piece in definition.pieces:
            yield piece.atom, store.image(indices, piece.rel)
