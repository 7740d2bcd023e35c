"""Reading a certificate: MLIR text of the `shardproof` dialect, as plain data. Nothing in it is believed here.

A `shardproof.certificate` is followed by `shardproof.relation`s and `shardproof.term`s, which are numbered as they
stand, and then by the `shardproof.step`s of both programs, each behind a `shardproof.program`. A step speaks of one op
of its block, by position. Behind it stand the `shardproof.claim`s on its operands and results, at most one
`shardproof.loop`, and the blocks that were followed inside the op, each from a `shardproof.block` to its
`shardproof.end`. There are no regions, since the definition of the dialect, which other tools load, cannot say how the
block of a region ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.monoid import Monoid
from ..ops.values import Piece
from ..read.flat import Line, read_flat
from ..read.ir import DType
from ..relation.build import passing
from ..relation.objects import Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Term, Terms, is_guarded

VERSION = 1

_DEPTH = 100
"""Blocks in blocks: no program that is read is nested like that."""

_FORM = {
    "certificate": "version seal theory results assumptions mesh before after",
    "relation": "text",
    "term": "kind type arity key parts levels",
    "program": "",
    "step": "position op",
    "claim": "of position monoid pieces",
    "loop": "pair relations",
    "block": "",
    "end": "",
    "the end": "",
}
"""The attributes of each operation."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a value is: pieces, one a point (no monoid) or summed."""

    pieces: tuple[Piece, ...]
    monoid: Monoid | None


@dataclass(frozen=True, slots=True)
class Step:
    """What is said of one op: by operand or result, of the blocks inside, and of a loop with which it is paired."""

    op: str
    claims: Mapping[tuple[str, int], Claim]
    frames: tuple[Frame, ...]
    loop: tuple[int | None, tuple[Rel, ...]] | None


Frame = dict[int, Step]

NO_STEP = Step("", {}, (), None)


def read_certificate(data: bytes, name: str, rels: Relations, terms: Terms) -> tuple[Mapping[str, Any], Frame, Frame]:
    """The head, and what is said of both programs; terms and relations are made in the tables of the check.

    Raises `ReadError` for what is no MLIR of this form, and `Rejection` for what is no certificate.
    """
    lines, text = read_flat(data, name)
    reading = _Reading([(op.removeprefix("shardproof."), said) for op, said in lines], rels, terms)
    head = reading.one("certificate")
    if head["seal"] != seal_of(text, head["seal"]):
        raise Rejection("the file was changed after it was written")
    if head["version"] != VERSION:
        raise Rejection(f"version {head['version']} of certificates is not known")
    reading.tables()
    before, after = reading.program(), reading.program()
    reading.one("the end")
    return head, before, after


def seal_of(text: str, seal: str = "") -> str:
    """What tells that a file is as it was written; it is no proof of anything, since anybody can seal a file anew."""
    return hashlib.sha256(text.rstrip("\n").replace(f'seal = "{seal}"', 'seal = ""').encode()).hexdigest()


class _Reading:
    """One certificate being read; its tables grow as relations and terms come by."""

    def __init__(self, lines: Sequence[Line], rels: Relations, terms: Terms) -> None:
        self.lines, self.at = [*lines, ("the end", {})], 0
        self.rels, self.terms = rels, terms
        self.relation_table: list[Rel] = []
        self.term_table: list[Term] = []

    def take(self, *names: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The lines that come next and have one of these names, each with the attributes that it has to have."""
        while self.lines[self.at][0] in names:
            name, said = self.lines[self.at]
            if set(said) != set(_FORM[name].split()):
                raise Rejection(f"'{name}' has the attributes {sorted(said)}")
            self.at += 1
            yield name, said

    def one(self, name: str) -> Mapping[str, Any]:
        for _, said in self.take(name):
            return said
        raise Rejection(f"'{self.lines[self.at][0]}' instead of '{name}' in a certificate")

    def tables(self) -> None:
        for name, said in self.take("relation", "term"):
            if name == "relation":
                self.relation_table.append(self.rels.rel(said["text"]))
            else:
                self.term_table.append(self._term(said))

    def program(self) -> Frame:
        self.one("program")
        return self._frame(0)

    def _term(self, said: Mapping[str, Any]) -> Term:
        kind, dtype, arity, text = Kind(said["kind"]), DType(said["type"]), said["arity"], str(said["key"])
        parts = self._pieces(said["parts"])
        check_term(self.rels, kind, dtype, arity, parts)
        if kind is Kind.SUM:
            return self.terms.make(kind, dtype, arity, (), parts, Monoid(text), said["levels"])
        key: Hashable = text
        if kind in (Kind.VIEW, Kind.GUARD, Kind.INTEGER):
            key = ()
        elif kind is Kind.NUMBER:
            key = int(text)
        elif kind in (Kind.PARAMETER, Kind.CARRIED, Kind.ROWS, Kind.ORDER):
            key = tuple(int(part) if part.isdigit() else part for part in text.split("|"))
        if said["levels"] or (key == () and text):
            raise Rejection(f"a {kind.value} with a key or levels")
        return self.terms.make(kind, dtype, arity, key, parts)

    def _pieces(self, flat: Sequence[int]) -> tuple[Piece, ...]:
        """Triples of a term, a relation (-1 where the term is read at indices of its own), and a count."""
        found = []
        for number, rel, count in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            term = self._at(self.term_table, number)
            own = passing(self.rels, term.arity)
            found.append(Piece(term, own if rel == -1 else self._at(self.relation_table, rel), count))
        return tuple(found)

    @staticmethod
    def _at(table: Sequence[Any], number: int) -> Any:
        if not 0 <= number < len(table):
            raise Rejection("a number that stands for nothing yet")
        return table[number]

    def _frame(self, depth: int) -> Frame:
        if depth > _DEPTH:
            raise Rejection(f"blocks nested more than {_DEPTH} deep")
        frame: Frame = {}
        for _, said in self.take("step"):
            if said["position"] in frame or said["position"] < 0:
                raise Rejection("two steps for one op, or one of none")
            frame[said["position"]] = self._step(said["op"], depth)
        return frame

    def _step(self, op: str, depth: int) -> Step:
        claims: dict[tuple[str, int], Claim] = {}
        frames: list[Frame] = []
        loop = None
        for name, said in self.take("claim", "loop"):
            if name == "loop":
                if loop is not None:
                    raise Rejection("two loops in a step")
                relations = tuple(self._at(self.relation_table, number) for number in said["relations"])
                loop = None if said["pair"] == -1 else said["pair"], relations
                continue
            place = said["of"], said["position"]
            if place in claims or place[0] not in ("operand", "result"):
                raise Rejection("two claims on one value, or one on none")
            claims[place] = Claim(
                self._pieces(said["pieces"]), None if said["monoid"] == "view" else Monoid(said["monoid"])
            )
        for _ in self.take("block"):
            frames.append(self._frame(depth + 1))
            self.one("end")
        return Step(op, claims, tuple(frames), loop)


_LEAVES = {Kind.NUMBER: 0, Kind.SCALAR: 0, Kind.INTEGER: 1, Kind.PARAMETER: None, Kind.ARRAY: None, Kind.CARRIED: None}
"""Kinds without parts, and how many indices they have where that is fixed."""


def check_term(rels: Relations, kind: Kind, dtype: DType, arity: int, parts: Sequence[Piece]) -> None:
    """That the relations of a definition fit its terms, and that a view reads one element."""
    fixed, guarded, own = _LEAVES.get(kind), is_guarded(parts), kind in (Kind.PRODUCT, Kind.GUARD)
    if own:
        fixed = sum(part.atom.arity for part in parts) + (len(parts) - 1 if kind is Kind.GUARD else 0)
    if arity < 0 or (fixed is not None and arity != fixed) or (kind is Kind.PRODUCT and len(parts) != 2):
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
