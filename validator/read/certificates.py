"""Certificates as plain data: MLIR text of the `shardproof` dialect. Nothing in it is believed here.

A `shardproof.certificate` is followed by `shardproof.relation`s and `shardproof.term`s, which are numbered as they
stand, and then by the `shardproof.step`s of both programs, each behind a `shardproof.program`. A step speaks of one op
of its block, by position. Behind it stand the `shardproof.claim`s on its operands and results, at most one
`shardproof.loop`, and the blocks that were followed inside the op, each from a `shardproof.block` to its
`shardproof.end`. A value of which something is claimed may be claimed to be something else, by what stands before that
claim: `shardproof.equal`s, each with the `shardproof.instance`s of rules that show it. There are no regions, since the
definition of the dialect, which other tools load, cannot say how the block of a region ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compat import ir
from .files import NESTING_LIMIT, nesting
from .mlir_text import parse_file

VERSION = 2

MAX_DEPTH = 100
"""Blocks in blocks: no program that is read is nested like that."""

MAX_INDICES = 256
"""Indices of one term: isl takes memory for each of them, and no term of a program has a tenth of it."""

_FORM = {
    "certificate": "version seal theory results assumptions mesh before after",
    "relation": "text",
    "term": "kind type arity key parts levels",
    "program": "",
    "step": "position op",
    "claim": "of position monoid pieces",
    "equal": "term parts by theory opened",
    "instance": "rule at bound",
    "loop": "pair relations",
    "block": "",
    "end": "",
    "the end": "",
}
"""The attributes of each operation."""

Said = Mapping[str, Any]
"""Attributes of an operation: integers, strings, and lists of these."""


class FormError(ValueError):
    """A file in MLIR that has not the form of a certificate."""


@dataclass(frozen=True, slots=True)
class Fact:
    """An equality of terms, and the instances of rules that it follows from."""

    said: Said
    instances: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What is said of one op: by operand or result, of the blocks inside, and of a loop with which it is paired.

    What a value is said to be one after the other is each the one before with terms in other terms' place.
    """

    op: str
    claims: Mapping[tuple[str, int], tuple[tuple[tuple[Fact, ...], Said], ...]]
    blocks: tuple[Frame, ...]
    loop: Said | None


NO_STEP = Step("", {}, (), None)

Frame = Mapping[int, Step]
"""Steps of a block by the position of their op."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate as it is written."""

    head: Said
    tables: tuple[tuple[str, Said], ...]
    """Relations and terms, in order."""
    before: Frame
    after: Frame


def seal_of(text: str, seal: str = "") -> str:
    """What tells that a file is as it was written; it is no proof of anything, since anybody can seal a file anew."""
    return hashlib.sha256(text.rstrip("\n").replace(f'seal = "{seal}"', 'seal = ""').encode()).hexdigest()


def read_certificate(data: bytes, name: str) -> Certificate:
    """Raises `ReadError` for what is no MLIR, and `FormError` for what is no certificate as it was written."""
    module = parse_file(data, name)
    reading = _Reading([_line(view.operation) for view in module.body.operations])
    text = str(module.operation.get_asm(print_generic_op_form=True))
    head = reading.one("certificate")
    if head["seal"] != seal_of(text, head["seal"]):
        raise FormError("the file was changed after it was written")
    if head["version"] != VERSION:
        raise FormError(f"version {head['version']} of certificates is not known")
    tables = tuple(reading.take("relation", "term"))
    if any(name == "relation" and nesting(str(said["text"]).encode()) > NESTING_LIMIT for name, said in tables):
        raise FormError(f"a relation whose brackets are nested more than {NESTING_LIMIT} deep")
    before, after = reading.program(), reading.program()
    reading.one("the end")
    return Certificate(head, tables, before, after)


def _line(op: Any) -> tuple[str, Said]:
    if len(op.regions) or len(op.operands) or len(op.results):
        raise FormError(f"'{op.name}' has regions, operands or results")
    return op.name.removeprefix("shardproof."), {each: _plain(op.attributes[each]) for each in op.attributes}


def _plain(attribute: Any) -> Any:
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(element) for element in attribute]
    if isinstance(attribute, ir.IntegerAttr | ir.StringAttr):
        return attribute.value
    raise FormError(f"an attribute of another kind: {attribute}")


class _Reading:
    """One certificate being read, line by line."""

    def __init__(self, lines: Sequence[tuple[str, Said]]) -> None:
        self.lines, self.at = [*lines, ("the end", {})], 0

    def take(self, *names: str) -> Iterator[tuple[str, Said]]:
        """The lines that come next and have one of these names, each with the attributes that it has to have."""
        while self.at < len(self.lines) and self.lines[self.at][0] in names:
            name, said = self.lines[self.at]
            if set(said) != set(_FORM[name].split()):
                raise FormError(f"'{name}' has the attributes {sorted(said)}")
            self.at += 1
            yield name, said

    def one(self, name: str) -> Said:
        for _, said in self.take(name):
            return said
        raise FormError(f"'{self.lines[self.at][0]}' instead of '{name}' in a certificate")

    def program(self) -> Frame:
        self.one("program")
        return self._frame(0)

    def _frame(self, depth: int) -> Frame:
        if depth > MAX_DEPTH:
            raise FormError(f"blocks nested more than {MAX_DEPTH} deep")
        frame: dict[int, Step] = {}
        for _, said in self.take("step"):
            if said["position"] in frame or said["position"] < 0:
                raise FormError("two steps for one op, or one of none")
            frame[said["position"]] = self._step(said["op"], depth)
        return frame

    def _step(self, op: str, depth: int) -> Step:
        claims: dict[tuple[str, int], tuple[tuple[tuple[Fact, ...], Said], ...]] = {}
        blocks: list[Frame] = []
        facts: list[Fact] = []
        loop = None
        for name, said in self.take("claim", "loop", "equal"):
            if name == "equal":
                facts.append(Fact(said, tuple(instance for _, instance in self.take("instance"))))
                continue
            place = (said["of"], said["position"]) if name == "claim" else None
            if place is None:
                wrong = loop is not None or bool(facts)
            else:
                wrong = (bool(facts) and place not in claims) or place[0] not in ("operand", "result")
            if wrong:
                raise FormError("an equality or a claim of no value, or two loops in a step")
            if place is None:
                loop = said
            else:
                claims[place] = (*claims.get(place, ()), (tuple(facts), said))
                facts = []
        if facts:
            raise FormError("an equality that no claim uses")
        for _ in self.take("block"):
            blocks.append(self._frame(depth + 1))
            self.one("end")
        return Step(op, claims, tuple(blocks), loop)
