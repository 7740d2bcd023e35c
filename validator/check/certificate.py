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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..read.errors import ReadError, ReadErrorKind
from ..read.ir import DType
from ..relation.objects import Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Part, Term, Terms

VERSION = 1

_DEPTH = 100
"""Blocks in blocks: no program that is read is nested like that."""

_HEAD = ("version", "seal", "theory", "results", "assumptions", "mesh", "before", "after")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a value is: pieces of (term, relation, count), one a point (no monoid) or summed."""

    pieces: tuple[tuple[int, Rel, int], ...]
    monoid: Monoid | None


@dataclass(frozen=True, slots=True)
class LoopNote:
    """The loop of the before program that a loop is paired with, and the relations of what they carry; or none."""

    pair: int | None
    relations: tuple[Rel, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What is said of one op."""

    op: str
    operands: Mapping[int, Claim]
    results: Mapping[int, Claim]
    frames: tuple[Frame, ...]
    loop: LoopNote | None


Frame = dict[int, Step]


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate; terms and relations are made in the tables of the check."""

    theories: tuple[Theory, ...]
    """By result."""
    theory: Theory
    assumptions: tuple[str, ...]
    mesh: tuple[int, ...]
    digests: tuple[str, str]
    terms: tuple[Term, ...]
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
        ops = [view.operation for view in module.body.operations]
        if not ops or ops[0].name != "shardproof.certificate":
            raise Rejection("this file is no certificate")
        seal = _attributes(ops[0], *_HEAD)["seal"]
        if seal != seal_of(str(module.operation.get_asm(print_generic_op_form=True)), seal):
            raise Rejection("the file was changed after it was written")
        try:
            return _Reading(ops, rels, terms).certificate()
        except (KeyError, ValueError, IndexError, TypeError, AssertionError) as error:
            raise Rejection(f"a malformed certificate: {type(error).__name__}: {error}") from error


def seal_of(text: str, seal: str = "") -> str:
    """What tells that a file is as it was written; it is no proof of anything, since anybody can seal a file anew."""
    return hashlib.sha256(text.rstrip("\n").replace(f'seal = "{seal}"', 'seal = ""').encode()).hexdigest()


class _Reading:
    """One certificate being read; its tables grow as relations and terms come by."""

    def __init__(self, ops: Sequence[Any], rels: Relations, terms: Terms) -> None:
        self.ops, self.at = ops, 0
        self.rels, self.terms = rels, terms
        self.relation_table: list[Rel] = []
        self.term_table: list[Term] = []

    def next(self) -> str:
        """The name of the operation that comes next, without the dialect's."""
        return self.ops[self.at].name.removeprefix("shardproof.") if self.at < len(self.ops) else ""

    def take(self, name: str, *attributes: str) -> dict[str, Any]:
        """The attributes of the operation that comes next, which has to have this name."""
        if self.next() != name:
            raise Rejection(f"'{self.next() or 'the end'}' instead of '{name}' in a certificate")
        op = self.ops[self.at]
        if len(op.regions) or len(op.operands) or len(op.results):
            raise Rejection(f"'{op.name}' with regions, operands or results")
        self.at += 1
        return _attributes(op, *attributes)

    def certificate(self) -> Certificate:
        head = self.take("certificate", *_HEAD)
        if head["version"] != VERSION:
            raise Rejection(f"version {head['version']} of certificates is not known")
        while self.next() in ("relation", "term"):
            if self.next() == "relation":
                self.relation_table.append(self.rels.rel(self.take("relation", "text")["text"]))
            else:
                self.term_table.append(self._term())
        frames: list[Frame] = []
        for _ in ("before", "after"):
            self.take("program")
            frames.append(self._frame(0))
        if self.next():
            raise Rejection(f"'{self.next()}' behind a certificate")
        before, after = frames
        return Certificate(
            tuple(Theory(theory) for theory in head["results"]),
            Theory(head["theory"]),
            tuple(head["assumptions"]),
            tuple(head["mesh"]),
            (head["before"], head["after"]),
            tuple(self.term_table),
            before,
            after,
        )

    def _term(self) -> Term:
        said = self.take("term", "kind", "type", "arity", "key", "parts", "levels")
        kind, dtype, arity, text = Kind(said["kind"]), DType(said["type"]), said["arity"], str(said["key"])
        parts = [
            Part(self._at(self.term_table, term), None if rel == -1 else self._at(self.relation_table, rel), count)
            for term, rel, count in _triples(said["parts"])
        ]
        self._check(kind, dtype, arity, parts)
        key: Hashable = text
        if kind is Kind.SUM:
            return self.terms.make(kind, dtype, arity, (), parts, Monoid(text), said["levels"])
        if said["levels"] or (text and kind in (Kind.VIEW, Kind.GUARD, Kind.INTEGER)):
            raise Rejection(f"a {kind.value} with a key or levels")
        if kind in (Kind.VIEW, Kind.GUARD, Kind.INTEGER):
            key = ()
        elif kind is Kind.NUMBER:
            key = int(text)
        elif kind in (Kind.PARAMETER, Kind.CARRIED, Kind.ROWS):
            key = tuple(int(part) if part.isdigit() else part for part in text.split("|"))
        return self.terms.make(kind, dtype, arity, key, parts)

    def _check(self, kind: Kind, dtype: DType, arity: int, parts: Sequence[Part]) -> None:
        """That the relations of a definition fit its terms, and that a view reads one element."""
        leaves = {Kind.PARAMETER, Kind.NUMBER, Kind.SCALAR, Kind.ARRAY, Kind.CARRIED, Kind.INTEGER}
        if ((kind in leaves) == bool(parts) and kind is not Kind.APPLY) or arity < 0:
            raise Rejection(f"a {kind.value} with {len(parts)} parts")
        fixed = {Kind.NUMBER: 0, Kind.SCALAR: 0, Kind.INTEGER: 1}.get(kind, arity)
        if kind in (Kind.PRODUCT, Kind.GUARD):
            fixed = sum(part.term.arity for part in parts) + (len(parts) - 1 if kind is Kind.GUARD else 0)
        if arity != fixed:
            raise Rejection(f"a {kind.value} of {arity} indices")
        for number, part in enumerate(parts):
            whole = part.rel is None
            source, target = (arity, part.term.arity) if part.rel is None else (part.rel.arity_in, part.rel.arity_out)
            if kind in (Kind.SUM, Kind.VIEW) and part.term.dtype is not dtype:
                raise Rejection(f"a {kind.value} of another type than its parts")
            if kind is Kind.GUARD and (part.term.kind is Kind.GUARD or (number and not _counts(part.term.dtype))):
                raise Rejection("a guard that tests no integer")
            if kind in (Kind.PRODUCT, Kind.GUARD):
                if not whole or part.count != 1 or (kind is Kind.PRODUCT and len(parts) != 2):
                    raise Rejection(f"a {kind.value} whose parts are read through relations")
                continue
            if kind is not Kind.ROWS and (source != arity or target != part.term.arity):
                raise Rejection(f"a {kind.value} that reads part {number} with another rank")
            if whole and (kind is not Kind.APPLY or arity != part.term.arity):
                raise Rejection(f"a {kind.value} without a relation")
            if kind is not Kind.SUM and part.count != 1:
                raise Rejection(f"a {kind.value} that counts")
            one = kind is Kind.APPLY or (kind is Kind.VIEW and not any(p.term.kind is Kind.GUARD for p in parts))
            if one and part.rel is not None and not self.rels.single_valued(part.rel):
                raise Rejection(f"a {kind.value} that reads several elements")
        if kind is Kind.VIEW and not any(part.term.kind is Kind.GUARD for part in parts):
            domains = [self.rels.domain(part.rel) for part in parts if part.rel is not None]
            for k, domain in enumerate(domains):
                if any(not self.rels.set_empty(self.rels.set_meet(domain, other)) for other in domains[:k]):
                    raise Rejection("a view whose pieces overlap")

    @staticmethod
    def _at(table: Sequence[Any], number: int) -> Any:
        if not 0 <= number < len(table):
            raise Rejection("a number that stands for nothing yet")
        return table[number]

    def _frame(self, depth: int) -> Frame:
        if depth > _DEPTH:
            raise Rejection(f"blocks nested more than {_DEPTH} deep")
        frame: Frame = {}
        while self.next() == "step":
            said = self.take("step", "position", "op")
            if said["position"] in frame:
                raise Rejection("two steps for one op")
            frame[said["position"]] = self._step(said["op"], depth)
        return frame

    def _step(self, name: str, depth: int) -> Step:
        claims: dict[str, dict[int, Claim]] = {"operand": {}, "result": {}}
        frames: list[Frame] = []
        loop: LoopNote | None = None
        while self.next() in ("claim", "loop"):
            if self.next() == "loop":
                said = self.take("loop", "pair", "relations")
                if loop is not None:
                    raise Rejection("two loops in a step")
                relations = tuple(self._at(self.relation_table, number) for number in said["relations"])
                loop = LoopNote(None if said["pair"] == -1 else said["pair"], relations)
                continue
            said = self.take("claim", "of", "position", "monoid", "pieces")
            if said["position"] in claims[said["of"]]:
                raise Rejection("two claims on one value")
            pieces = tuple(
                (self._term_number(term), self._at(self.relation_table, rel), count)
                for term, rel, count in _triples(said["pieces"])
            )
            monoid = None if said["monoid"] == "view" else Monoid(said["monoid"])
            claims[said["of"]][said["position"]] = Claim(pieces, monoid)
        while self.next() == "block":
            self.take("block")
            frames.append(self._frame(depth + 1))
            self.take("end")
        return Step(name, claims["operand"], claims["result"], tuple(frames), loop)

    def _term_number(self, number: int) -> int:
        self._at(self.term_table, number)
        return number


def _attributes(op: Any, *names: str) -> dict[str, Any]:
    """The attributes of an op, which has these and no others, as plain data."""
    found = {name: _plain(op.attributes[name]) for name in op.attributes}
    if set(found) != set(names):
        raise Rejection(f"'{op.name}' has the attributes {sorted(found)}")
    return found


def _counts(dtype: DType) -> bool:
    return dtype.is_integer or dtype.is_bool


def _plain(attribute: Any) -> Any:
    from jaxlib.mlir import ir

    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    if isinstance(attribute, ir.StringAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(element) for element in attribute]
    raise Rejection(f"an attribute of another kind: {attribute}")


def _triples(flat: Sequence[int]) -> list[tuple[int, int, int]]:
    if len(flat) % 3:
        raise Rejection("pieces are triples")
    return [(flat[k], flat[k + 1], flat[k + 2]) for k in range(0, len(flat), 3)]
