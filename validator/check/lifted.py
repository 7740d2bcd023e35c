"""Elementwise results: f of the operands' elements is the term f(u1, …) read where that has the same operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..read.ir import TensorType
from ..relation.objects import Dom, Rel
from .equality import equal
from .errors import Rejection
from .terms import Kind, Term, number_of
from .values import Ground, Piece, Value, weakest


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """f applied to every element, which only a claim can name; f(x, neutral element of a reducer) may be x."""

    key: str
    operands: tuple[Value, ...]
    type: TensorType
    commutative: bool = False
    neutral: Monoid | None = None
    known: tuple[Callable[[], Value | None], ...] = ()
    """Ways to tell the result at some points as an integer; asked for only where the claim says that it is one."""


def applied(ground: Ground, lifted: Lifted, pieces: Sequence[Piece]) -> Value:
    """The claimed view, if every element of it is f of the operands there (or the operand that f returns)."""
    rels = ground.rels
    domain = lifted.operands[0].domain
    for value in lifted.operands[1:]:
        domain = rels.set_meet(domain, value.domain)
    covered = ground.covered(pieces)
    if not (rels.set_empty(domain) if covered is None else rels.set_subset(domain, covered)):
        raise Rejection("the claim does not tell every element")
    theory = weakest(*(value.theory for value in lifted.operands))
    for piece in pieces:
        if piece.term.dtype is not lifted.type.dtype or piece.rel.arity_out != piece.term.arity:
            raise Rejection("a claim of another type")
        theory = weakest(theory, _piece(ground, lifted, Piece(piece.term, rels.restrict(piece.rel, domain))))
    kept = [Piece(piece.term, rels.restrict(piece.rel, domain)) for piece in pieces]
    return Value(lifted.type, tuple(p for p in kept if not rels.empty(p.rel)), domain, theory=theory)


def _piece(ground: Ground, lifted: Lifted, piece: Piece) -> Theory:
    rels, theory = ground.rels, Theory.EXACT
    where = rels.domain(piece.rel)
    for known in lifted.known if piece.term.kind is Kind.INTEGER else ():
        value = known()
        part = rels.set_meet(where, value.domain) if value is not None else None
        if value is not None and part is not None and not rels.set_empty(part):
            theory = weakest(theory, _is(ground, value, piece.term, piece.rel, part))
            where = rels.set_minus(where, part)
    if lifted.neutral is not None:
        first, second = lifted.operands
        for idle, other in ((first, second), (second, first)):
            part = rels.set_meet(where, _neutral(ground, idle, lifted.neutral))
            if not rels.set_empty(part):
                theory = weakest(theory, _is(ground, other, piece.term, piece.rel, part))
                where = rels.set_minus(where, part)
    if rels.set_empty(where):
        return theory
    term = piece.term
    if term.kind is not Kind.APPLY or term.key != lifted.key or len(term.parts) != len(lifted.operands):
        raise Rejection(f"{term} is another operation than '{lifted.key}'")
    read = rels.restrict(piece.rel, where)
    if not (lifted.commutative and len(lifted.operands) == 2):
        return weakest(theory, _congruent(ground, lifted.operands, term, read, where))
    first, second = lifted.operands
    try:
        return weakest(theory, _congruent(ground, (first, second), term, read, where))
    except Rejection:
        pass
    try:
        return weakest(theory, _congruent(ground, (second, first), term, read, where))
    except Rejection:
        straight = _agreeing(ground, first, term, read)
        crossed = rels.set_minus(where, straight)
        if rels.set_empty(straight) or rels.set_empty(crossed):
            raise
    theory = weakest(theory, _congruent(ground, (first, second), term, read, straight))
    return weakest(theory, _congruent(ground, (second, first), term, read, crossed))


def _congruent(ground: Ground, operands: Sequence[Value], term: Term, read: Rel, where: Dom) -> Theory:
    """f's operands at the term's index are the operands at hand."""
    rels, theories = ground.rels, []
    read = rels.restrict(read, where)
    for value, part in zip(operands, term.parts, strict=True):
        rel = read if part.rel is None else rels.compose(read, part.rel)
        if rel.arity_out != part.term.arity:
            raise Rejection(f"{term} reads an operand of another rank")
        theories.append(_is(ground, value, part.term, rel, where))
    return weakest(*theories)


def _is(ground: Ground, value: Value, term: Term, rel: Rel, where: Dom) -> Theory:
    """The value is this term, read so, at all these points."""
    rels = ground.rels
    rel = rels.restrict(rel, where)
    if value.monoid is None and len(value.pieces) == 1 and value.pieces[0].term is term:
        # the common case: nothing but one comparison of relations
        own = rels.restrict(value.pieces[0].rel, where)
        if rels.equal(own, rel) and rels.set_equal(rels.domain(rel), where) and rels.set_subset(where, value.domain):
            ground.covered([Piece(term, rel)])
            return Theory.EXACT
    if term.dtype is not value.type.dtype:
        raise Rejection(f"{term} has another element type")
    return equal(ground, value, Value(value.type, (Piece(term, rel),), where), where)


def _neutral(ground: Ground, value: Value, monoid: Monoid) -> Dom:
    """Points at which a view is the reducer's neutral element."""
    rels = ground.rels
    found = rels.set_minus(value.domain, value.domain)
    if value.monoid is not None:
        return found
    for piece in value.pieces:
        if piece.term.kind is not Kind.INTEGER and number_of(piece.term) is None:
            continue
        rest = ground.without_neutral(piece, monoid)
        if rest is not piece:
            part = rels.domain(piece.rel)
            found = rels.set_union(found, part if rest is None else rels.set_minus(part, rels.domain(rest.rel)))
    return found


def _agreeing(ground: Ground, value: Value, term: Term, read: Rel) -> Dom:
    """Points at which the term's first operand is the value's one element."""
    rels, part = ground.rels, term.parts[0]
    want = read if part.rel is None else rels.compose(read, part.rel)
    found = rels.set_minus(value.domain, value.domain)
    for piece in value.pieces:
        if piece.term is part.term:
            found = rels.set_union(found, rels.domain(rels.meet(piece.rel, want)))
    return found
