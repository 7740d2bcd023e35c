"""Reading a certificate: MLIR text of the `shardproof` dialect, as plain data. Nothing in it is believed here.

`shardproof.certificate` holds, in this order, `shardproof.relation`s and `shardproof.term`s, which are numbered as they
stand, and one `shardproof.program` each for before and after, of `shardproof.step`s. A step speaks of one op of its
block, by position; its first region has `shardproof.claim`s on operands and results, and at most one `shardproof.loop`;
further regions are the blocks that were followed inside the op, one after the other.
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
        ops = list(module.body.operations)
        if len(ops) != 1 or ops[0].name != "shardproof.certificate":
            raise Rejection("this file is no certificate")
        seal = _attributes(ops[0], *_HEAD)["seal"]
        if seal != seal_of(str(module.operation.get_asm(print_generic_op_form=True)), seal):
            raise Rejection("the file was changed after it was written")
        try:
            return _Reading(rels, terms).certificate(ops[0])
        except (KeyError, ValueError, IndexError, TypeError, AssertionError) as error:
            raise Rejection(f"a malformed certificate: {type(error).__name__}: {error}") from error


def seal_of(text: str, seal: str = "") -> str:
    """What tells that a file is as it was written; it is no proof of anything, since anybody can seal a file anew."""
    return hashlib.sha256(text.replace(f'seal = "{seal}"', 'seal = ""').encode()).hexdigest()


class _Reading:
    """One certificate being read; its tables grow as relations and terms come by."""

    def __init__(self, rels: Relations, terms: Terms) -> None:
        self.rels, self.terms = rels, terms
        self.relation_table: list[Rel] = []
        self.term_table: list[Term] = []

    def certificate(self, op: Any) -> Certificate:
        head = _attributes(op, *_HEAD)
        if head["version"] != VERSION:
            raise Rejection(f"version {head['version']} of certificates is not known")
        frames: list[Frame] = []
        for inner in op.regions[0].blocks[0].operations:
            if inner.name == "shardproof.relation":
                self.relation_table.append(self.rels.rel(_attributes(inner, "text")["text"]))
            elif inner.name == "shardproof.term":
                self.term_table.append(self._term(inner))
            elif inner.name == "shardproof.program":
                _attributes(inner)
                frames.append(self._frame(inner.regions[0]))
            else:
                raise Rejection(f"'{inner.name}' is not part of a certificate")
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

    def _term(self, op: Any) -> Term:
        said = _attributes(op, "kind", "type", "arity", "key", "parts", "levels")
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

    def _frame(self, region: Any) -> Frame:
        frame: Frame = {}
        for op in region.blocks[0].operations if len(region.blocks) else ():
            if op.name != "shardproof.step":
                raise Rejection(f"'{op.name}' among steps")
            said = _attributes(op, "position", "op")
            if said["position"] in frame:
                raise Rejection("two steps for one op")
            frame[said["position"]] = self._step(op, said["op"])
        return frame

    def _step(self, op: Any, name: str) -> Step:
        claims: dict[str, dict[int, Claim]] = {"operand": {}, "result": {}}
        loop: LoopNote | None = None
        first, *frames = op.regions
        for inner in first.blocks[0].operations if len(first.blocks) else ():
            if inner.name == "shardproof.loop" and loop is None:
                said = _attributes(inner, "pair", "relations")
                relations = tuple(self._at(self.relation_table, number) for number in said["relations"])
                loop = LoopNote(None if said["pair"] == -1 else said["pair"], relations)
                continue
            if inner.name != "shardproof.claim":
                raise Rejection(f"'{inner.name}' in a step")
            said = _attributes(inner, "of", "position", "monoid", "pieces")
            if said["position"] in claims[said["of"]]:
                raise Rejection("two claims on one value")
            pieces = tuple(
                (self._term_number(term), self._at(self.relation_table, rel), count)
                for term, rel, count in _triples(said["pieces"])
            )
            monoid = None if said["monoid"] == "view" else Monoid(said["monoid"])
            claims[said["of"]][said["position"]] = Claim(pieces, monoid)
        return Step(name, claims["operand"], claims["result"], tuple(map(self._frame, frames)), loop)

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
