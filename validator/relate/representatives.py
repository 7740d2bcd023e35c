"""Points of a new term that stand for others: those where what it is made of does not depend on a coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..relation.build import passing
from ..relation.store import Dom, Rel

if TYPE_CHECKING:
    from .walk import Walk


def representatives(walk: Walk, domain: Dom, contents: Sequence[tuple[Rel, int]]) -> Rel:
    """{p -> q} on the domain, where every content is the same at p and q.

    A content is a relation (point, further coordinates) → element with the number of its further coordinates. Those
    coordinates of a point on which none of them depends have their least value at q.
    """
    store = walk.store
    choose = store.identity_on(domain)
    for position in range(domain.arity):
        bounds = store.bounds(domain, position)
        if bounds is None or bounds[0] == bounds[1]:
            continue
        flatten = walk.set_coordinate(domain, position, bounds[0])
        if flatten is not None and all(_is_invariant(walk, rel, flatten, further) for rel, further in contents):
            choose = store.compose(choose, flatten)
    return choose


def _is_invariant(walk: Walk, rel: Rel, flatten: Rel, further: int) -> bool:
    store = walk.store
    whole = store.side_by_side(flatten, passing(store, further)) if further else flatten
    own = store.restrict(rel, store.domain(whole))
    return store.equal(store.compose(whole, rel), own)
