"""The indices at which an atom means something."""

from __future__ import annotations

from ..relation.build import names
from ..relation.store import Dom, Store
from .atoms import Atom, AtomKind


class Spaces:
    """The index space of every atom that is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, Dom] = {}

    def of(self, atom: Atom) -> Dom:
        """All indices of the atom; every integer tuple where nothing is known of them."""
        found = self._known.get(atom.number)
        if found is None:
            found = self._known[atom.number] = self._find(atom)
        return found

    def known(self, atom: Atom) -> bool:
        """Whether anything is known of the atom's indices."""
        return not self._store.set_equal(self.of(atom), self._universe(atom.arity))

    def _find(self, atom: Atom) -> Dom:
        if atom.kind is AtomKind.LIFT and atom.rels:
            return self._store.domain(atom.rels[0])
        if atom.kind is AtomKind.LIFT:
            inner = [operand for operand in atom.operands if operand.arity]
            return self.of(inner[0]) if inner else self._universe(0)
        if atom.kind is AtomKind.PRODUCT:
            return self._store.set_product(self.of(atom.operands[0]), self.of(atom.operands[1]))
        if atom.kind is AtomKind.NAMED and isinstance(atom.data, tuple) and atom.data:
            whole = self._store.domain(atom.data[0].rel)
            for piece in atom.data[1:]:
                whole = self._store.set_union(whole, self._store.domain(piece.rel))
            return whole
        return self._universe(atom.arity)

    def _universe(self, arity: int) -> Dom:
        return self._store.dom(f"{{[{','.join(names('x', arity))}]}}")
