"""Chains of one operation, such as (a + b) − (c + d): what they combine, however it is grouped.

A chain goes down through operands of the same family of ops and ends at anything else. It only suggests which term of
the original another one may be, and at which of its indices; that they are equal is for the e-graph to find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import reduce

from ..relation.store import Rel, Store
from .atoms import Atom, AtomKind, name_of, reads_of
from .spaces import Spaces

MAX_LINKS = 24
"""What longer chains combine is not looked at."""

_FAMILIES: dict[str | None, tuple[str, tuple[int, ...]]] = {
    "stablehlo.add": ("add", (1, 1)),
    "stablehlo.subtract": ("add", (1, -1)),
    "stablehlo.negate": ("add", (-1,)),
    "stablehlo.multiply": ("multiply", (1, 1)),
    "stablehlo.divide": ("multiply", (1, -1)),
    **{f"stablehlo.{name}": (name, (1, 1)) for name in ("and", "maximum", "minimum", "or", "xor")},
}
"""The ops that one chain may be of, and the signs or exponents with which operands count."""

Link = tuple[int, Atom, Rel | None]
"""A sign, what is combined, and how it is read at the chain's indices (None for a scalar)."""


def family_of(atom: Atom) -> str | None:
    """The family of a term that is one of a chain's ops."""
    family = _FAMILIES.get(name_of(atom))
    return None if family is None or atom.dtype.is_positive else family[0]


def is_scalar_of(operand: Atom, atom: Atom) -> bool:
    """Whether a term is the same at all indices of a lifted term that it is an operand of."""
    return not operand.arity and (atom.arity > 0 or operand.kind is AtomKind.CONSTANT)


class Chains:
    """The chains of the terms of one validation."""

    def __init__(self, store: Store, spaces: Spaces) -> None:
        self._store, self._spaces = store, spaces

    def key(self, atom: Atom) -> Hashable:
        """What two groupings of one chain share, constants aside, which may come together; None for a mere pair."""
        family = family_of(atom)
        if family is None:
            return None
        combined: Counter[tuple[int, int]] = Counter()
        constants = 0
        for count, (sign, inner, _) in enumerate(self._links(atom, None)):
            if count == MAX_LINKS:
                return None
            if inner.kind is AtomKind.CONSTANT and not inner.arity:
                constants += 1
            else:
                combined[(sign, inner.number)] += 1
        return (atom.dtype, family, frozenset(combined.items())) if combined.total() > 2 - bool(constants) else None

    def match(self, atom: Atom, other: Atom) -> Rel | None:
        """How the indices of two chains go together if each reads what the other one does; None if they do not."""
        store, found = self._store, None
        theirs = list(self._links(other, store.identity_on(self._spaces.of(other))))
        for sign, operand, rel in self._links(atom, store.identity_on(self._spaces.of(atom))):
            if rel is None:
                continue
            places = [
                store.compose(rel, store.reverse(read))
                for their_sign, twin, read in theirs
                if twin is operand and their_sign == sign and read is not None
            ]
            if not places:
                return None
            part = reduce(store.union, places)
            found = part if found is None else store.meet(found, part)
        if found is None or store.empty(found):
            return None
        if not store.single_valued(found):
            found = store.lexmin(found)
        return found if store.set_equal(store.domain(found), self._spaces.of(atom)) else None

    def _links(self, atom: Atom, rel: Rel | None) -> Iterator[Link]:
        """What a chain combines; how it is read only where the chain itself is read through a relation."""
        family = family_of(atom)
        stack: list[Link] = [(1, atom, rel)]
        while stack:
            sign, current, through = stack.pop()
            found = _FAMILIES.get(name_of(current))
            if found is None or found[0] != family:
                yield sign, current, through
                continue
            for turn, (operand, read) in zip(found[1], reads_of(current), strict=True):
                inner = None if is_scalar_of(operand, current) else through
                if inner is not None and read is not None:
                    inner = self._store.compose(inner, read)
                stack.append((sign * turn, operand, inner))
