"""The relations and terms of a certificate, made as they come by, and the claims that are written in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ops.monoid import Monoid
from ..ops.values import Piece
from ..read.certificates import MAX_INDICES, Certificate, Fact, Said, Step
from ..read.ir import DType
from ..relation.build import passing
from ..relation.objects import Rel
from ..rules.constants import is_value
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Term, Terms, is_guarded


class Claim(NamedTuple):
    pieces: tuple[Piece, ...]
    monoid: Monoid | None


class Tables:
    """What the numbers in one certificate stand for."""

    def __init__(self, certificate: Certificate, rels: Relations, terms: Terms) -> None:
        self.rels, self.terms = rels, terms
        self.relations: list[Rel] = []
        self.made: list[Term] = []
        for name, said in certificate.tables:
            if name == "relation":
                self.relations.append(rels.rel(said["text"]))
            else:
                self.made.append(self._term(said))

    def _term(self, said: Said) -> Term:
        kind, dtype, arity, text = Kind(said["kind"]), DType(said["type"]), said["arity"], str(said["key"])
        parts = self.pieces(said["parts"])
        check_term(self.rels, kind, dtype, arity, parts)
        if kind is Kind.SUM:
            return self.terms.make(kind, dtype, arity, (), parts, Monoid(text), said["levels"])
        key: Any = text
        if kind in (Kind.VIEW, Kind.GUARD, Kind.INTEGER):
            key = ()
        elif kind is Kind.NUMBER:
            key = int(text)
        elif kind in (Kind.PARAMETER, Kind.CARRIED, Kind.ROWS, Kind.ORDER):
            key = tuple(int(part) if part.isdigit() else part for part in text.split("|"))
        if said["levels"] or (key == () and text):
            raise Rejection(f"a {kind.value} with a key or levels")
        if kind in (Kind.NUMBER, Kind.SCALAR) and not is_value(key, dtype):
            raise Rejection(f"a {kind.value} that is no value of its type")
        return self.terms.make(kind, dtype, arity, key, parts)

    def pieces(self, flat: Sequence[int]) -> tuple[Piece, ...]:
        """Triples of a term, a relation (-1 where the term is read at indices of its own), and a count."""
        found = []
        for number, rel, count in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            term = self.term(number)
            own = passing(self.rels, term.arity)
            found.append(Piece(term, own if rel == -1 else self.relation(rel), count))
        return tuple(found)

    def claims(self, step: Step, of: str, position: int) -> list[tuple[tuple[Fact, ...], Claim]]:
        """What a value is said to be, one after the other: pieces, one a point (no monoid) or summed; and why."""
        return [
            (why, Claim(self.pieces(said["pieces"]), None if said["monoid"] == "view" else Monoid(said["monoid"])))
            for why, said in step.claims.get((of, position), ())
        ]

    def term(self, number: int) -> Term:
        return _at(self.made, number)

    def relation(self, number: int) -> Rel:
        return _at(self.relations, number)

    def loop(self, step: Step) -> tuple[int | None, list[Rel]]:
        """The before program's loop that a loop is paired with, None for none, and relations of what is carried."""
        said = step.loop or {"pair": -1, "relations": ()}
        return None if said["pair"] == -1 else said["pair"], [self.relation(k) for k in said["relations"]]


def _at(table: Sequence[Any], number: int) -> Any:
    if not 0 <= number < len(table):
        raise Rejection("a number that stands for nothing yet")
    return table[number]


_LEAVES = {Kind.NUMBER: 0, Kind.SCALAR: 0, Kind.INTEGER: 1, Kind.PARAMETER: None, Kind.ARRAY: None, Kind.CARRIED: None}
"""Kinds without parts, and how many indices they have where that is fixed."""


def check_term(rels: Relations, kind: Kind, dtype: DType, arity: int, parts: Sequence[Piece]) -> None:
    """That the relations of a definition fit its terms, and that a view reads one element."""
    fixed, guarded, own = _LEAVES.get(kind), is_guarded(parts), kind in (Kind.PRODUCT, Kind.GUARD)
    if own:
        fixed = sum(part.atom.arity for part in parts) + (len(parts) - 1 if kind is Kind.GUARD else 0)
    if not 0 <= arity <= MAX_INDICES or fixed not in (None, arity) or (kind is Kind.PRODUCT and len(parts) != 2):
        raise Rejection(f"a {kind.value} with {arity} indices")
    if bool(parts) == (kind in _LEAVES) and kind is not Kind.APPLY:
        raise Rejection(f"a {kind.value} of {len(parts)} parts")
    for number, part in enumerate(parts):
        of, rel = part.atom, part.rel
        deep = kind in (Kind.ROWS, Kind.ORDER)  # parts of them are read at more indices
        tested, ranks = of.dtype.is_integer or of.dtype.is_bool, (rel.arity_in, rel.arity_out)
        for is_wrong, what in (
            (part.coefficient != 1 and kind is not Kind.SUM, "is counted"),
            (own and rel is not passing(rels, of.arity), "is read through a relation"),
            (kind is Kind.GUARD and (guarded or (number and not tested)), "is no integer that is tested"),
            (kind in (Kind.SUM, Kind.VIEW) and of.dtype is not dtype, "is of another type"),
            (not own and not deep and ranks != (arity, of.arity), "is read with another rank"),
            (kind in (Kind.APPLY, Kind.VIEW) and not guarded and not rels.single_valued(rel), "is several elements"),
        ):
            if is_wrong:
                raise Rejection(f"a {kind.value} whose part {number} {what}")
    if kind is Kind.VIEW and not guarded:
        rels.disjoint([part.rel for part in parts], "a view whose pieces overlap")
