"""Atoms and relations of a proof as numbered lines of a certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..ops.digest import bytes_digest, rows_digest
from ..ops.keys import spelled
from ..relate.atoms import Atom, AtomKind
from ..relate.context import Context
from ..relate.ordered import OrderedTerm
from ..relate.rows import RowTerm
from ..relation.build import names
from ..relation.store import Rel


class InexpressibleError(Exception):
    """A step of a proof that certificates have no words for."""


def whole(coefficient: int | Fraction) -> int:
    if not isinstance(coefficient, int):
        raise InexpressibleError(f"an element is counted {coefficient} times")
    return coefficient


@dataclass(slots=True)
class Lines:
    """The relations and terms of one certificate, each written once, terms after what they are made of."""

    context: Context
    carried: dict[int, tuple[int, str, int]]
    """By atom number: the loop, the end of an iteration or its start, and the position of what it carries."""
    relations: list[str] = field(default_factory=list)
    terms: list[dict[str, object]] = field(default_factory=list)
    _relations: dict[int, int] = field(default_factory=dict)
    _terms: dict[int, int] = field(default_factory=dict)
    _wanted: dict[int, Atom] = field(default_factory=dict)

    def relation(self, rel: Rel) -> int:
        if rel.number not in self._relations:
            self._relations[rel.number] = self.add_relation(str(rel.map))
        return self._relations[rel.number]

    def add_relation(self, text: str) -> int:
        """One more relation, by its text."""
        self.relations.append(text)
        return len(self.relations) - 1

    def add_term(self, line: dict[str, object]) -> int:
        """One more term, which the proof did without."""
        self.terms.append(line)
        return len(self.terms) - 1

    @property
    def is_numbered(self) -> bool:
        return bool(self._terms)

    @property
    def meanings(self) -> dict[str, dict[str, Any]]:
        """The attributes behind the keys of ops."""
        keys = [self._key(atom)[0] for atom in self._wanted.values() if atom.kind is AtomKind.LIFT]
        return {spelled(key): dict(key[1]) for key in keys if isinstance(key[1], tuple)}

    @staticmethod
    def _key(atom: Atom) -> Any:
        return atom.data[1] if atom.rels else atom.key[2]

    def _want(self, atom: Atom) -> None:
        """Remember that the certificate needs a term, and so all that it is made of."""
        stack = [atom]
        while stack:
            current = stack.pop()
            if current.number not in self._wanted:
                self._wanted[current.number] = current
                stack.extend(current.operands)

    def number_terms(self) -> None:
        """Number all that is wanted in the order in which the proof made it: factors of products go by it."""
        for number in sorted(self._wanted):
            self._terms[number] = len(self.terms)
            self.terms.append(self._line(self._wanted[number]))

    def term(self, atom: Atom) -> int:
        """The term's number, once terms are numbered."""
        if self._terms:
            return self._terms[atom.number]
        self._want(atom)
        return -1

    def _line(self, atom: Atom) -> dict[str, object]:
        kind, key, parts, levels = self._told(atom)
        return {
            "kind": kind,
            "type": atom.dtype.value,
            "arity": atom.arity,
            "key": key,
            "parts": [number for part in parts for number in part],
            "levels": levels,
        }

    def _told(self, atom: Atom) -> tuple[str, str, list[tuple[int, int, int]], int]:
        own: Any = atom.key[2]
        match atom.kind:
            case AtomKind.PARAMETER:
                number, shape = own
                return "parameter", "|".join(map(str, (number, *shape))), [], 0
            case AtomKind.INTEGER:
                return "integer", "", [], 0
            case AtomKind.CONSTANT if isinstance(atom.data, tuple):
                return "number", str(atom.data[1]), [], 0
            case AtomKind.CONSTANT if isinstance(own, bytes):
                return "scalar", own.hex(), [], 0
            case AtomKind.CONSTANT:
                return "array", bytes_digest(*own), [], 0
            case AtomKind.LIFT:
                return self._applied(atom)
            case AtomKind.PRODUCT:
                return "product", repr(own[2]), [(self._known(each), -1, 1) for each in atom.operands], 0
            case AtomKind.GUARD:
                return "guard", "", [(self._known(each), -1, 1) for each in atom.operands], 0
            case AtomKind.NAMED:
                return self._named(atom)
            case _:
                return self._rows(atom)

    def _known(self, atom: Atom) -> int:
        return self._terms[atom.number]

    def _applied(self, atom: Atom) -> tuple[str, str, list[tuple[int, int, int]], int]:
        key, _, pattern = self._key(atom)
        nothing = self.context.store.rel(f"{{[{','.join(names('z', atom.arity))}] -> []}}")
        parts = []
        for operand, (what, place) in zip(atom.operands, pattern, strict=True):
            if what == "scalar":
                rel = self.relation(nothing)
            else:
                rel = self.relation(atom.rels[place]) if atom.rels else -1
            parts.append((self._known(operand), rel, 1))
        return "apply", spelled(key), parts, 0

    def _named(self, atom: Atom) -> tuple[str, str, list[tuple[int, int, int]], int]:
        if atom.number in self.carried:
            return "carried", "|".join(map(str, self.carried[atom.number])), [], 0
        definition = self.context.definition_of(atom)
        if definition is None:
            raise InexpressibleError(f"'{atom}' is a value of which nothing is known")
        parts = [(self._known(p.atom), self.relation(p.rel), whole(p.coefficient)) for p in definition.pieces]
        if definition.monoid is None:
            return "view", "", parts, 0
        return "sum", definition.monoid.value, parts, definition.levels

    def _rows(self, atom: Atom) -> tuple[str, str, list[tuple[int, int, int]], int]:
        for term in self.context.rows.get(atom.data, ()) if isinstance(atom.data, tuple) else ():
            if isinstance(term, OrderedTerm) and atom in term.atoms:
                return self._order(atom, term)
            if isinstance(term, RowTerm) and atom in term.atoms:
                _, key, _, dtypes, extents = atom.data
                types = tuple(dtype.value for dtype in dtypes)
                text = rows_digest(key, types, extents)
                parts = [
                    (self._known(operand), self.relation(rel), 1)
                    for operand, rel in zip(atom.operands, term.contents, strict=True)
                ]
                return "rows", "|".join(map(str, (text, term.atoms.index(atom), *term.ranks))), parts, 0
        raise InexpressibleError(f"'{atom}' is a term of an order of elements")

    def _order(self, atom: Atom, term: OrderedTerm) -> tuple[str, str, list[tuple[int, int, int]], int]:
        """What is made of elements in order, by which they are."""
        function = rows_digest(atom.data, (), ())
        width = len(term.sequences.letters[0].atoms) if term.sequences.letters else 1
        parts = [
            (self._known(operand), self.relation(letters.rel), 1)
            for letters in term.sequences.letters
            for operand in letters.atoms
        ]
        key = function, term.atoms.index(atom), term.sequences.depth, width
        return "order", "|".join(map(str, key)), parts, 0
