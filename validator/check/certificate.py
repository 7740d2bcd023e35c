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
from ..ops.record import Theory
from ..read.errors import ReadError, ReadErrorKind
from ..read.ir import DType
from ..relation.build import passing
from ..relation.objects import Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Piece, Term, Terms, is_guarded

VERSION = 1

_DEPTH = 100
"""Blocks in blocks: no program that is read is nested like that."""

_FORM = {
    "certificate": {"version", "seal", "theory", "results", "assumptions", "mesh", "before", "after"},
    "relation": {"text"},
    "term": {"kind", "type", "arity", "key", "parts", "levels"},
    "program": set(),
    "step": {"position", "op"},
    "claim": {"of", "position", "monoid", "pieces"},
    "loop": {"pair", "relations"},
    "block": set(),
    "end": set(),
}


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


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate; terms and relations are made in the tables of the check."""

    head: Mapping[str, Any]
    theories: tuple[Theory, ...]
    """Of all results together, then of each."""
    before: Frame
    after: Frame


def read_certificate(data: bytes, name: str, rels: Relations, terms: Terms) -> Certificate:
    """Raises `ReadError` for what is no MLIR, and `Rejection` for what is no certificate."""
    from jaxlib.mlir import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(data.decode())
        except (ir.MLIRError, UnicodeDecodeError) as error:
            message = str(error).strip().splitlines()[0]
            raise ReadError(ReadErrorKind.SYNTAX, name, f"is no MLIR text: {message}") from None
        lines = [_line(view.operation) for view in module.body.operations]
        if not lines or lines[0][0] != "certificate":
            raise Rejection("this file is no certificate")
        seal = lines[0][1]["seal"]
        if seal != seal_of(str(module.operation.get_asm(print_generic_op_form=True)), seal):
            raise Rejection("the file was changed after it was written")
    return _Reading(lines, rels, terms).certificate()


def seal_of(text: str, seal: str = "") -> str:
    """What tells that a file is as it was written; it is no proof of anything, since anybody can seal a file anew."""
    return hashlib.sha256(text.rstrip("\n").replace(f'seal = "{seal}"', 'seal = ""').encode()).hexdigest()


def _line(op: Any) -> tuple[str, dict[str, Any]]:
    """The name of an operation, without the dialect's, and its attributes as plain data."""
    name, found = op.name.removeprefix("shardproof."), {each: _plain(op.attributes[each]) for each in op.attributes}
    if len(op.regions) or len(op.operands) or len(op.results) or _FORM.get(name) != set(found):
        raise Rejection(f"'{op.name}' with {sorted(found)} is no part of a certificate")
    return name, found


def _plain(attribute: Any) -> Any:
    from jaxlib.mlir import ir

    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(element) for element in attribute]
    if not isinstance(attribute, ir.IntegerAttr | ir.StringAttr):
        raise Rejection(f"an attribute of another kind: {attribute}")
    return attribute.value


class _Reading:
    """One certificate being read; its tables grow as relations and terms come by."""

    def __init__(self, lines: Sequence[tuple[str, dict[str, Any]]], rels: Relations, terms: Terms) -> None:
        self.lines, self.at = [*lines, ("", {})], 0
        self.rels, self.terms = rels, terms
        self.relation_table: list[Rel] = []
        self.term_table: list[Term] = []

    def take(self, *names: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The lines that come next and have one of these names."""
        while self.lines[self.at][0] in names:
            self.at += 1
            yield self.lines[self.at - 1]

    def one(self, name: str) -> dict[str, Any]:
        for _, said in self.take(name):
            return said
        raise Rejection(f"'{self.lines[self.at][0] or 'the end'}' instead of '{name}' in a certificate")

    def certificate(self) -> Certificate:
        head = self.one("certificate")
        if head["version"] != VERSION:
            raise Rejection(f"version {head['version']} of certificates is not known")
        for name, said in self.take("relation", "term"):
            if name == "relation":
                self.relation_table.append(self.rels.rel(said["text"]))
            else:
                self.term_table.append(self._term(said))
        frames: list[Frame] = []
        for _ in ("before", "after"):
            self.one("program")
            frames.append(self._frame(0))
        self.one("")
        return Certificate(head, tuple(Theory(each) for each in (head["theory"], *head["results"])), *frames)

    def _term(self, said: Mapping[str, Any]) -> Term:
        kind, dtype, arity, text = Kind(said["kind"]), DType(said["type"]), said["arity"], str(said["key"])
        parts, whole = [], []
        for number, rel, count in _triples(said["parts"]):
            term = self._at(self.term_table, number)
            whole.append(rel == -1)
            read = passing(self.rels, term.arity) if rel == -1 else self._at(self.relation_table, rel)
            parts.append(Piece(term, read, count))
        check_term(self.rels, kind, dtype, arity, parts, whole)
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
            pieces = tuple(
                Piece(self._at(self.term_table, term), self._at(self.relation_table, rel), count)
                for term, rel, count in _triples(said["pieces"])
            )
            claims[place] = Claim(pieces, None if said["monoid"] == "view" else Monoid(said["monoid"]))
        for _ in self.take("block"):
            frames.append(self._frame(depth + 1))
            self.one("end")
        return Step(op, claims, tuple(frames), loop)


def _triples(flat: Sequence[int]) -> list[tuple[int, int, int]]:
    if len(flat) % 3:
        raise Rejection("pieces are triples")
    return [(flat[k], flat[k + 1], flat[k + 2]) for k in range(0, len(flat), 3)]


_ARITIES = {Kind.NUMBER: 0, Kind.SCALAR: 0, Kind.INTEGER: 1}
_LEAVES = {*_ARITIES, Kind.PARAMETER, Kind.ARRAY, Kind.CARRIED}
_DEEP = {Kind.ROWS, Kind.ORDER}
"""Kinds whose parts are read at more indices than their own."""
_WHOLE = {Kind.PRODUCT, Kind.GUARD}
"""Kinds whose parts are read at indices of their own."""


def check_term(
    rels: Relations, kind: Kind, dtype: DType, arity: int, parts: Sequence[Piece], whole: Sequence[bool]
) -> None:
    """That the relations of a definition fit its terms, and that a view reads one element."""
    fixed = _ARITIES.get(kind, arity)
    if kind in _WHOLE:
        fixed = sum(part.atom.arity for part in parts) + (len(parts) - 1 if kind is Kind.GUARD else 0)
    if ((kind in _LEAVES) == bool(parts) and kind is not Kind.APPLY) or arity != fixed or arity < 0:
        raise Rejection(f"a {kind.value} with {len(parts)} parts and {arity} indices")
    if kind is Kind.PRODUCT and len(parts) != 2:
        raise Rejection(f"a product of {len(parts)}")
    guarded, covered = is_guarded(parts), None
    for number, part in enumerate(parts):
        of, rel = part.atom, part.rel
        if whole[number] != (kind in _WHOLE) and not (whole[number] and kind is Kind.APPLY):
            raise Rejection(f"a {kind.value} that reads part {number} in another way")
        if kind not in (*_DEEP, *_WHOLE) and (rel.arity_in, rel.arity_out) != (arity, of.arity):
            raise Rejection(f"a {kind.value} that reads part {number} with another rank")
        if part.coefficient != 1 and kind is not Kind.SUM:
            raise Rejection(f"a {kind.value} that counts")
        if kind in (Kind.SUM, Kind.VIEW) and of.dtype is not dtype:
            raise Rejection(f"a {kind.value} of another type than its parts")
        if kind is Kind.GUARD and (guarded or (number and not (of.dtype.is_integer or of.dtype.is_bool))):
            raise Rejection("a guard that tests no integer")
        if kind is Kind.APPLY or (kind is Kind.VIEW and not guarded):
            if not rels.single_valued(rel):
                raise Rejection(f"a {kind.value} that reads several elements")
            domain = rels.domain(rel)
            if kind is Kind.VIEW and covered is not None and not rels.set_empty(rels.set_meet(covered, domain)):
                raise Rejection("a view whose pieces overlap")
            covered = domain if covered is None else rels.set_union(covered, domain)
