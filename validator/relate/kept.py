"""Whether a term is a real number exactly where the terms are that it is found to be over the reals.

What cancels may have been undefined: x · y / y is x, but for y = 0. The original computes real numbers by assumption,
but for what it leaves out by a choice; if it held x there instead of x · y / y, the partitioned program could use
x · y / y elsewhere, where y may be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..ops.domains import LIMITED
from ..relation.store import Rel, RelationLimitError
from .atoms import LEAVES, Atom, AtomKind, name_of, reads_of
from .partial import CHOICES, is_total, made_of
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

MAX_TERMS = 300
"""Terms looked at for one answer."""


def are_alike(walk: Walk, atom: Atom, parts: Iterable[Piece], is_shown: Callable[[Walk, Atom], bool]) -> bool:
    """Whether a term is real exactly where its parts are; `is_shown` tells which ops give a real number in any case."""
    for part in parts:
        mine = atom, walk.store.identity_on(walk.store.domain(part.rel))
        other = part.atom, part.rel
        if part.atom is not atom and not (
            _follows(walk, mine, other, is_shown) and _follows(walk, other, mine, is_shown)
        ):
            return False
    return True


_Read = tuple[Atom, Rel]
"""A term and how it is read."""


def _follows(walk: Walk, one: _Read, given: _Read, is_shown: Callable[[Walk, Atom], bool]) -> bool:
    """Whether at each point the first term is real where the second one is, both read through relations from there."""
    store = walk.store
    reached: dict[int, Rel] = {}
    asked: dict[tuple[str, int], Rel] = {}

    def known(atom: Atom, rel: Rel) -> bool:
        """The given term, or what it is made of: it is taken for real, and what it asks of its operands for true."""
        reached[atom.number] = rel
        condition = _condition(walk, atom, rel)
        if condition is not None:
            key, there = condition
            asked[key] = store.union(asked[key], there) if key in asked else there
        return name_of(atom) not in CHOICES

    def follows(atom: Atom, rel: Rel) -> bool | None:
        """Whether to look at what the term is made of, too; None where it may be no real number."""
        if atom.kind in LEAVES or (atom.number in reached and store.subset(rel, reached[atom.number])):
            return False
        if not made_of(walk.context, atom):
            return None
        if atom.kind is not AtomKind.LIFT or is_total(atom) or is_shown(walk, atom):
            return True
        key, there = _condition(walk, atom, rel) or (None, rel)
        return True if key in asked and store.subset(there, asked[key]) else None

    try:
        return _visited(walk, given, known) and _visited(walk, one, follows)
    except RelationLimitError:
        return False


def _visited(walk: Walk, root: _Read, enters: Callable[[Atom, Rel], bool | None]) -> bool:
    """Whether float terms down from the root, each with all its indices at once, were gone through without a None."""
    store = walk.store
    pending: dict[int, _Read] = {}

    def add(atom: Atom, rel: Rel) -> None:
        if atom.dtype.is_float and not store.empty(rel):
            more = store.union(pending[atom.number][1], rel) if atom.number in pending else rel
            pending[atom.number] = atom, more

    add(*root)
    for _ in range(MAX_TERMS):
        if not pending:
            return True
        atom, rel = pending.pop(max(pending))
        found = enters(atom, rel)
        if found is None:
            return False
        if found and atom.kind is AtomKind.PRODUCT:
            left, right = atom.operands
            add(left, store.project_out(rel, left.arity, right.arity))
            add(right, store.project_out(rel, 0, left.arity))
        elif found:
            for operand, read in made_of(walk.context, atom):
                add(operand, _through(walk, atom, rel, operand, read))
    return False


def _through(walk: Walk, atom: Atom, rel: Rel, operand: Atom, read: Rel | None) -> Rel:
    if read is not None:
        return walk.store.compose(rel, read)
    return rel if operand.arity == atom.arity else walk.store.project_out(rel, 0, rel.arity_out)


def _condition(walk: Walk, atom: Atom, rel: Rel) -> tuple[tuple[str, int], Rel] | None:
    """What an op asks of an operand, and at which of its indices."""
    name = name_of(atom)
    if name is None or name not in LIMITED:
        return None
    operand, read = reads_of(atom)[LIMITED[name]]
    return (name, operand.number), _through(walk, atom, rel, operand, read)
