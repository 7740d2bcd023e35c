"""Atoms: the logical terms that values of both programs are written in.

An atom is a tensor term indexed by integer tuples. Parameters, constants and the universal integer atom INT[n] = n are
leaves; an operation applied to atoms is an atom; a sum or a piecewise value that was given a name is an atom; and a
guarded atom G(A; E1, …)[y, x1, t1, …] is A[y] where E1[x1] = t1 and …, and absent elsewhere.
Atoms are hash-consed: the same key gives the same object.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from ..read.ir import DType
from ..relation.store import Rel


class AtomKind(enum.Enum):
    """What an atom stands for."""

    PARAMETER = "parameter"
    CONSTANT = "constant"
    INTEGER = "integer"
    LIFT = "lift"
    PRODUCT = "product"
    NAMED = "named"
    ROWS = "rows"
    GUARD = "guard"
    MONOMIAL = "monomial"
    """A product of powers; only in the forms of `polynomials.py`, as the next one."""
    REAL = "real"
    """An exponential or a sum as a factor of monomials."""

    __hash__ = object.__hash__  # members are single objects, and every atom's key holds one


LEAVES = frozenset({AtomKind.PARAMETER, AtomKind.CONSTANT, AtomKind.INTEGER})
"""What is made of no other atoms."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atom:
    """One logical term. `arity` is the number of its indices."""

    number: int
    kind: AtomKind
    dtype: DType
    arity: int
    key: Any
    operands: tuple[Atom, ...] = ()
    rels: tuple[Rel, ...] = field(default=(), repr=False)
    """For LIFT: one relation an operand, from this atom's index to the operand's."""
    label: str = ""
    data: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.label or f"{self.kind.value}#{self.number}"

    __repr__ = __str__


def key_of(atom: Atom) -> Any:
    """The op of a lifted term with its attributes, as terms are told apart by it."""
    return (atom.data[1] if atom.rels else atom.key[2])[0]


def name_of(atom: Atom) -> str | None:
    """The op of a lifted term."""
    key = key_of(atom) if atom.kind is AtomKind.LIFT else None
    return key[0] if isinstance(key, tuple) and isinstance(key[0], str) else None


def reads_of(atom: Atom) -> list[tuple[Atom, Rel | None]]:
    """The operands of a lifted term and how it reads them; None at its own index."""
    pattern = (atom.data[1] if atom.rels else atom.key[2])[2]
    rels = [None if what == "scalar" or not atom.rels else atom.rels[place] for what, place in pattern]
    return list(zip(atom.operands, rels, strict=True))


@dataclass(slots=True)
class AtomTable:
    """All atoms of one validation."""

    _by_key: dict[Hashable, Atom] = field(default_factory=dict)
    _count: int = 0

    @property
    def count(self) -> int:
        """How many there are, and the number of the last one."""
        return self._count

    def make(
        self,
        kind: AtomKind,
        dtype: DType,
        arity: int,
        key: Hashable,
        operands: tuple[Atom, ...] = (),
        rels: tuple[Rel, ...] = (),
        label: str = "",
        data: Any = None,
    ) -> Atom:
        """The atom of this kind, type and key."""
        full = (kind, dtype, key)
        atom = self._by_key.get(full)
        if atom is None:
            self._count += 1
            atom = Atom(self._count, kind, dtype, arity, full, operands, rels, label, data)
            self._by_key[full] = atom
        return atom

    def known(self, kind: AtomKind, dtype: DType, key: Hashable) -> Atom | None:
        """The atom of this kind, type and key if there is one."""
        return self._by_key.get((kind, dtype, key))

    def fresh(self, kind: AtomKind, dtype: DType, arity: int, operands: tuple[Atom, ...], **rest: Any) -> Atom:
        """A new atom that is equal to no other by construction."""
        return self.make(kind, dtype, arity, ("fresh", self._count + 1), operands, **rest)

    def integer(self, dtype: DType) -> Atom:
        """INT[n] = n as a value of this type."""
        return self.make(AtomKind.INTEGER, dtype, 1, "INT", label="INT")

    def constant(self, dtype: DType, value: Hashable, label: str) -> Atom:
        """A scalar constant; `value` must tell apart -0.0 and 0.0, and NaN payloads, by equality."""
        return self.make(AtomKind.CONSTANT, dtype, 0, value, label=label, data=value)

    def guard(self, value: Atom, guards: tuple[Atom, ...]) -> Atom:
        """G(value; guards), or the value itself where nothing guards it."""
        if not guards:
            return value
        if value.kind is AtomKind.GUARD:
            value, guards = value.operands[0], value.operands[1:] + guards
        arity = value.arity + sum(guard.arity + 1 for guard in guards)
        key = (value.number, *(guard.number for guard in guards))
        return self.make(AtomKind.GUARD, value.dtype, arity, key, (value, *guards), label=f"{value} guarded")

    def __len__(self) -> int:
        return self._count
