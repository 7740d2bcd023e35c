"""A value over the reals as a sum of monomials, the parts it is made of, and when two such forms are one.

The atom of each piece is a monomial, its index the indices of its factors one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .context import Definition
from .fold import candidate
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

Factors = tuple[tuple[Atom, Fraction], ...]
"""Atoms by number, with their exponents; an atom that is read at two indices occurs twice."""


class NoFormError(Exception):
    """A value is no sum of products, or not one of reasonable size."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A value over the reals, on the points of `domain`: zero where no piece holds anything, −∞ on `below`."""

    domain: Dom
    pieces: tuple[Piece, ...]
    below: Dom | None = None

    @property
    def key(self) -> tuple[tuple[int, Fraction], ...]:
        """What equal forms share."""
        return tuple(sorted((piece.atom.number, Fraction(piece.coefficient)) for piece in self.pieces))


def factors_of(piece: Piece) -> Factors:
    """The factors of the monomial that a piece reads."""
    return piece.atom.data


def role_of(atom: Atom) -> str:
    """What a factor of its own kind is: `exp`, `log`, `is` (a predicate as 1 or 0) or `fresh` (a sum)."""
    return atom.key[2][0] if atom.kind is AtomKind.REAL else ""


def offsets_of(factors: Factors) -> list[tuple[int, int]]:
    """Where the index of each factor lies within the monomial's."""
    found, at = [], 0
    for atom, _ in factors:
        found.append((at, at + atom.arity))
        at += atom.arity
    return found


def restricted(walk: Walk, form: Form, domain: Dom) -> Form:
    """The form at some of its points."""
    store = walk.store
    pieces = (Piece(piece.atom, store.restrict(piece.rel, domain), piece.coefficient) for piece in form.pieces)
    below = None if form.below is None else store.set_meet(form.below, domain)
    return Form(domain, tuple(piece for piece in pieces if not store.empty(piece.rel)), below)


def matched(walk: Walk, form: Form, known: Definition) -> tuple[Rel | None, Dom]:
    """(m, the points p at which form[p] = known[m(p)]): lemma *completion* over monomials."""
    store = walk.store
    own = {piece.atom.number: piece for piece in form.pieces}
    theirs = {piece.atom.number: piece for piece in known.pieces}
    if len(own) != len(form.pieces) or len(theirs) != len(known.pieces) or own.keys() != theirs.keys():
        return None, form.domain
    match = candidate(walk, own, known)
    if match is None:
        return None, form.domain
    good = store.domain(match)
    for piece in known.pieces:
        have = store.restrict(own[piece.atom.number].rel, good)
        want = store.compose(match, piece.rel)
        for difference in (store.minus(want, have), store.minus(have, want)):
            good = store.set_minus(good, store.domain(difference))
    return store.restrict(match, good), good
