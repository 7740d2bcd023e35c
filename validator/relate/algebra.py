"""What the e-graph asks of relations."""

from __future__ import annotations

from ..relation.store import Dom, Rel, RelationLimitError, Store


class Algebra:
    """Facts about relations for the e-graph, which numbers a relation together with the space it leads to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers: dict[tuple[int, int], int] = {}
        self._rels: list[tuple[Rel, Dom]] = []

    def keep(self, rel: Rel, target: Dom) -> int:
        """The number of a relation into a space; it is defined at every point of the space it leaves from."""
        key = (rel.number, target.number)
        if key not in self._numbers:
            self._numbers[key] = len(self._rels)
            self._rels.append((rel, target))
        return self._numbers[key]

    def compose(self, first: int, second: int) -> int | None:
        (before, _), (after, target) = self._rels[first], self._rels[second]
        try:
            return self.keep(self._store.compose(before, after), target)
        except RelationLimitError:
            return None

    def counts_once(self, first: int, second: int) -> bool:
        try:
            return self._store.counts_once(self._rels[first][0], self._rels[second][0])
        except RelationLimitError:
            return False

    def is_identity(self, relation: int) -> bool:
        rel, target = self._rels[relation]
        if rel.arity_in != rel.arity_out or self._store.domain(rel) is not target:
            return False
        return self._store.equal(rel, self._store.identity_on(target))

    def is_function(self, relation: int) -> bool:
        return self._store.single_valued(self._rels[relation][0])

    def is_nonempty(self, relation: int) -> bool:
        # every relation kept here is defined on the whole of its space, so each point has an element
        return True

    def count(self, relation: int) -> int | None:
        return 1 if self.is_function(relation) else None
