"""The definition of the dialect, read from the IRDL file that other MLIR tools load.

jaxlib's MLIR has no IRDL, so the subset that the file uses is read here. A test compares with what MLIR itself reads.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..validator.compat import ir, new_context

DIALECT = "shardproof"
FILE = f"{DIALECT}.irdl.mlir"


@dataclass(frozen=True, slots=True)
class Is:
    """Exactly one attribute, by its text."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Base:
    """Any attribute of one kind, such as `#builtin.string`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AnyOf:
    """What one of several constraints allows."""

    parts: tuple[Constraint, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Anything:
    """Any attribute or type."""

    def __str__(self) -> str:
        return "anything"


Constraint = Is | Base | AnyOf | Anything


@dataclass(frozen=True, slots=True)
class Group:
    """Operands or results under one name: exactly one, at most one, or any number."""

    name: str
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class AttributeDefinition:
    """An attribute of the dialect: its parameters in order."""

    name: str
    summary: str
    parameters: Mapping[str, Constraint] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperationDefinition:
    """An operation of the dialect. No operation has regions: IRDL knows no terminators."""

    name: str
    summary: str
    required: Mapping[str, Constraint] = field(default_factory=dict)
    optional: Mapping[str, Constraint] = field(default_factory=dict)
    operands: tuple[Group, ...] = ()
    results: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """All attributes and operations by their names without the dialect's."""

    attributes: Mapping[str, AttributeDefinition]
    operations: Mapping[str, OperationDefinition]


def definition_text() -> str:
    """The IRDL file."""
    return resources.files(__package__ or DIALECT).joinpath(FILE).read_text(encoding="utf-8")


@functools.cache
def definition() -> Definition:
    """The dialect as the IRDL file defines it."""
    return parse_definition(definition_text())


def parse_definition(text: str) -> Definition:
    """Reads the subset of IRDL that the dialect uses; raises ValueError for anything else."""
    tokens = _Tokens(text)
    for token in ("irdl.dialect", f"@{DIALECT}", "{"):
        tokens.expect(token)
    attributes: dict[str, AttributeDefinition] = {}
    operations: dict[str, OperationDefinition] = {}
    while not tokens.accept("}"):
        kind = tokens.take()
        name = tokens.take().removeprefix("@")
        described = _described(tokens.dictionary()) if tokens.accept("attributes") else {}
        body = _body(tokens)
        summary = described.pop("summary", "")
        if kind == "irdl.attribute":
            attributes[name] = AttributeDefinition(name, summary, dict(body.pop("irdl.parameters", ())))
        elif kind == "irdl.operation":
            optional = {key: _alternatives(value) for key, value in described.pop("optional", {}).items()}
            operations[name] = OperationDefinition(
                name,
                summary,
                dict(body.pop("irdl.attributes", ())),
                optional,
                tuple(body.pop("irdl.operands", ())),
                tuple(body.pop("irdl.results", ())),
            )
        else:
            raise ValueError(f"'{kind}' in a dialect definition")
        if described or body:
            raise ValueError(f"unknown in the definition of '{name}': {', '.join([*described, *body])}")
    return Definition(attributes, operations)


def _described(text: str) -> dict[str, Any]:
    """The description of a definition as plain data."""
    return _plain(ir.Attribute.parse(text, new_context()))


def _plain(attribute: Any) -> Any:
    if isinstance(attribute, ir.DictAttr):
        return {each.name: _plain(each.attr) for each in attribute}
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(each) for each in attribute]
    return ir.StringAttr(attribute).value


def _alternatives(value: str | list[str]) -> Constraint:
    return Base(value) if isinstance(value, str) else AnyOf(tuple(map(Base, value)))


def _body(tokens: _Tokens) -> dict[str, Any]:
    """The statements between braces: what each kind of declaration declares."""
    known: dict[str, Constraint] = {}
    declared: dict[str, Any] = {}
    tokens.expect("{")
    while not tokens.accept("}"):
        token = tokens.take()
        if token.startswith("%"):
            tokens.expect("=")
            known[token] = _constraint(tokens, known)
        elif token == "irdl.attributes":
            declared[token] = [(name.strip('"'), known[value]) for name, _, value in _items(tokens, "{", "}", "=")]
        elif token == "irdl.parameters":
            declared[token] = [(name, known[value]) for name, _, value in _items(tokens, "(", ")", ":")]
        elif token in ("irdl.operands", "irdl.results"):
            declared[token] = [Group(name, *_COUNTS[count]) for name, count, _ in _items(tokens, "(", ")", ":")]
        else:
            raise ValueError(f"'{token}' in a definition")
    return declared


_COUNTS: dict[str, tuple[int, int | None]] = {"": (1, 1), "optional": (0, 1), "variadic": (0, None)}


def _items(tokens: _Tokens, opening: str, closing: str, sign: str) -> Iterator[tuple[str, str, str]]:
    """Entries of a list as name, count word, and value."""
    tokens.expect(opening)
    while not tokens.accept(closing):
        name = tokens.take()
        tokens.expect(sign)
        count = next((word for word in ("optional", "variadic") if tokens.accept(word)), "")
        yield name, count, tokens.take()
        tokens.accept(",")


def _constraint(tokens: _Tokens, known: Mapping[str, Constraint]) -> Constraint:
    match tokens.take():
        case "irdl.is":
            return Is(tokens.take())
        case "irdl.base":
            name = tokens.take()
            # An attribute of the dialect itself is named by symbols: `@shardproof::@shard`.
            return Base("#" + name.replace("@", "").replace("::", ".") if name.startswith("@") else name.strip('"'))
        case "irdl.any_of":
            tokens.expect("(")
            parts = []
            while not tokens.accept(")"):
                parts.append(known[tokens.take()])
                tokens.accept(",")
            return AnyOf(tuple(parts))
        case "irdl.any":
            return Anything()
        case other:
            raise ValueError(f"constraint '{other}' in a definition")


class _Tokens:
    """Words, strings, symbols and punctuation; comments are skipped."""

    _PATTERN = re.compile(r'\s*(?://[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|@\w+(?:::@\w+)*|%\w+|[\w.]+|[{}()\[\]=:,])')

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self) -> str:
        match = self._PATTERN.match(self._text, self._at)
        if match is None:
            line = self._text.count("\n", 0, self._at) + 1
            raise ValueError(f"line {line}: no token of a definition")
        self._at = match.end()
        return match[1]

    def accept(self, token: str) -> bool:
        match = self._PATTERN.match(self._text, self._at)
        if match is None or match[1] != token:
            return False
        self._at = match.end()
        return True

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise ValueError(f"line {self._text.count(chr(10), 0, self._at) + 1}: '{found}' instead of '{token}'")

    def dictionary(self) -> str:
        """The text of a dictionary attribute, which MLIR's own parser reads."""
        self.expect("{")
        start, depth = self._at - 1, 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
        return self._text[start : self._at]
