"""Which terms give a real number for all real operands, and what they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..ops.elementwise import TOTAL_OVER_REALS
from ..relation.store import Rel
from .atoms import Atom, AtomKind, name_of, reads_of
from .context import Context
from .signs import is_positive_number

CHOICES = frozenset({"stablehlo.select", "stablehlo.if", "stablehlo.case"})
"""Ops of which a result may not depend on some operands, whatever these are."""


def always_read(atom: Atom) -> list[tuple[Atom, Rel | None]]:
    """What a lifted term depends on whatever is chosen."""
    return reads_of(atom)[:1] if name_of(atom) in CHOICES else reads_of(atom)


def made_of(context: Context, atom: Atom) -> list[tuple[Atom, Rel | None]]:
    """What a term is made of by ops, products and sums, and how it reads them; None at its own index."""
    definition = context.definition_of(atom) if atom.kind is AtomKind.NAMED else None
    if definition is not None:
        return [(piece.atom, piece.rel) for piece in definition.pieces]
    if atom.kind is AtomKind.PRODUCT:
        return [(operand, None) for operand in atom.operands]
    return reads_of(atom) if atom.kind is AtomKind.LIFT else []


def is_total(atom: Atom) -> bool:
    """Whether the op of a lifted term gives a real number for all real operands, and one that its type may hold."""
    name = name_of(atom)
    if atom.dtype.is_positive:
        return False
    return name in TOTAL_OVER_REALS or (name == "stablehlo.divide" and is_positive_number(atom.operands[1]))


def stand_in(atom: Atom) -> int:
    """What tells a term from others that terms are equal to: constants of all kinds go by one number."""
    return 0 if atom.kind in (AtomKind.CONSTANT, AtomKind.INTEGER) else atom.number


def not_total(
    atoms: Iterable[Atom], stands_for: Mapping[int, Sequence[Atom]], is_shown: Callable[[Atom], bool]
) -> dict[int, Atom]:
    """Of these terms and those they are made of the ones that may be no real number for some parameters.

    `stands_for` tells, by `stand_in`, instead of which terms another one that is equal to them was taken, `is_shown` of
    an op that gives no real number for some real operands whether it gives one for its own, if these are real.
    """
    pending, seen = list(atoms), dict[int, Atom]()
    while pending:
        atom = pending.pop()
        if atom.number not in seen:
            seen[atom.number] = atom
            pending += atom.operands
            pending += stands_for.get(stand_in(atom), ())
    found: dict[int, Atom] = {}
    for number, atom in sorted(seen.items()):
        below = any(operand.number in found for operand in atom.operands)
        partial = atom.kind is AtomKind.LIFT and not is_total(atom) and atom.dtype.is_float
        if below or (partial and not is_shown(atom)):
            found[number] = atom
    return found
