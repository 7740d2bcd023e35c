"""Whether two values are equal, by putting the definitions of terms in their place.

This one step covers what the prover's lemmas on sums do: a value is a named sum read somewhere, n · e stands for n
elements, a point that holds y + z is the sum of both. The certificate names the terms, so there is nothing to search:
where both sides differ, the term that was defined last is replaced by what it is defined as, until nothing differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..relation.build import names
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .terms import Kind, Part, Term, sum_of, unguarded
from .values import Ground, Piece, Value, weakest

Side = dict[tuple[Term, int], Rel]

MAX_STEPS = 400
"""Definitions put in place for one equality."""


def equal(ground: Ground, left: Value, right: Value, domain: Dom) -> Theory:
    """The arithmetic in which both are equal at every point of the domain; rejected where they are not."""
    rels = ground.rels
    for value in (left, right):
        if not rels.set_subset(domain, value.domain):
            raise Rejection("depends on padding or on undefined elements")
    left, right = ground.restricted(left, domain), ground.restricted(right, domain)
    monoid = left.monoid or right.monoid
    guarded = [any(piece.term.kind is Kind.GUARD for piece in value.pieces) for value in (left, right)]
    for value, unknown in zip((left, right), guarded, strict=True):
        if value.monoid is None and not unknown:
            ground.as_view(value)
    if monoid is not None:
        return _sums(ground, left, right, monoid)
    if any(guarded):
        return _guarded(ground, left, right)
    return _views(ground, left, right)


def _guarded(ground: Ground, left: Value, right: Value) -> Theory:
    """Of the elements under guards one is present at every point: named views are all that may be taken apart."""
    named: list[Piece] = []
    for _ in range(MAX_STEPS):
        differing = _differing(ground, *(_side(ground, value.pieces, False) for value in (left, right)))
        if not differing:
            for piece in named:
                ground.establish(piece)
            return Theory.EXACT
        term = _last(differing)
        named += [piece for value in (left, right) for piece in value.pieces if piece.term is term]
        if term.kind is not Kind.VIEW:
            raise Rejection(f"holds other elements under its guards: {term} has no counterpart")
        left, right = (replace(v, pieces=_replaced(ground, v.pieces, term, None)) for v in (left, right))
    raise Rejection("an equality takes too many steps")


def _views(ground: Ground, left: Value, right: Value) -> Theory:
    """Both have one element at every point: each part of the domain by the term that has to be replaced there."""
    rels, theory = ground.rels, Theory.EXACT
    for _ in range(MAX_STEPS):
        mine, other = _side(ground, left.pieces, False), _side(ground, right.pieces, False)
        differing = _differing(ground, mine, other)
        if not differing:
            return theory
        where = [rels.domain(rel) for rel in differing.values()]
        rest = where[0]
        for part in where[1:]:
            rest = rels.set_union(rest, part)
        left, right = ground.restricted(left, rest), ground.restricted(right, rest)
        term = _last(differing)
        found = _sum_definition(term)
        if found is None:
            left, right = (replace(v, pieces=_replaced(ground, v.pieces, term, None)) for v in (left, right))
            continue
        place = next(rels.domain(rel) for (each, _), rel in differing.items() if each is term)
        parts = [ground.restricted(value, place) for value in (left, right)]
        theory = weakest(theory, _sums(ground, parts[0], parts[1], found))
        others = rels.set_minus(rest, place)
        left, right = ground.restricted(left, others), ground.restricted(right, others)
    raise Rejection("an equality takes too many steps")


def _sums(ground: Ground, left: Value, right: Value, monoid: Monoid) -> Theory:
    """Both as sums of one reducer, neutral elements left out, with definitions put in place until they agree."""
    once = (
        frozenset(p.term for p in (*left.pieces, *right.pieces)) if monoid.reorders_exactly(left.type.dtype) else None
    )
    free = once is not None
    if once is None:
        once = _one_summation(left, right)
    theory = Theory.REASSOCIATED if once is None else Theory.EXACT
    mine, other = (_side(ground, ground.as_sum(value, monoid).pieces, monoid.idempotent) for value in (left, right))
    for _ in range(MAX_STEPS):
        differing = _differing(ground, mine, other)
        if not differing:
            return theory
        if not monoid.idempotent:
            mine, other = _less(ground, mine, other), _less(ground, other, mine)
        term = _last(differing)
        if not free and once is not None and term not in once:
            theory = Theory.REASSOCIATED
        mine, other = (
            _side(ground, _replaced(ground, _pieces(side), term, monoid), monoid.idempotent) for side in (mine, other)
        )
    raise Rejection("an equality takes too many steps")


def _one_summation(left: Value, right: Value) -> frozenset[Term] | None:
    """The named sums that one side may be taken apart into with the same bits; None where no such thing is known.

    One side is a sum of at most one step; the other holds, point by point, terms that are sums of as many steps, or
    constants. An element that is there as it is has not gone through a summation, which makes -0.0 of nothing else.
    """
    for value, named in ((left, right), (right, left)):
        if value.monoid is None or value.levels > 1 or (named.monoid is not None and named.levels > 0):
            continue
        sums = frozenset(p.term for p in named.pieces if p.term.kind is Kind.SUM and p.term.levels == value.levels)
        rest = [p.term for p in named.pieces if p.term not in sums]
        if sums & {p.term for p in value.pieces} or any(p.count != 1 for p in named.pieces):
            continue
        if value.levels == 0 or (named.monoid is None and all(t.kind in (Kind.INTEGER, Kind.NUMBER) for t in rest)):
            return sums
    return None


def _pieces(side: Side) -> list[Piece]:
    return [Piece(term, rel, count) for (term, count), rel in side.items()]


def _side(ground: Ground, pieces: Iterable[Piece], idempotent: bool) -> Side:
    gathered = ground.gathered([_spread(ground, piece) for piece in pieces], idempotent)
    return {(piece.term, piece.count): piece.rel for piece in gathered}


def _spread(ground: Ground, piece: Piece) -> Piece:
    """A constant integer as INT, in which integers that differ from point to point are written."""
    if piece.term.kind is not Kind.NUMBER:
        return piece
    number = ground.rels.rel(f"{{[] -> [{piece.term.key}]}}")
    return Piece(ground.terms.integer(piece.term.dtype), ground.rels.compose(piece.rel, number), piece.count)


def _differing(ground: Ground, mine: Side, other: Side) -> Side:
    """What one side has and the other has not."""
    rels, found = ground.rels, {}
    for key in {**mine, **other}:
        first, second = mine.get(key), other.get(key)
        if first is None or second is None:
            found[key] = first or second
        elif not rels.equal(first, second):
            found[key] = rels.union(rels.minus(first, second), rels.minus(second, first))
    return found


def _less(ground: Ground, side: Side, other: Side) -> Side:
    """What the other side does not have as well."""
    rels = ground.rels
    rest = {key: rels.minus(rel, other[key]) if key in other else rel for key, rel in side.items()}
    return {key: rel for key, rel in rest.items() if not rels.empty(rel)}


def _last(differing: Side) -> Term:
    return max((term for term, _ in differing), key=_order)


def _order(term: Term) -> int:
    """Guarded terms go by what they guard: they are made as needed, in no order."""
    return unguarded(term)[0].number


def _sum_definition(term: Term) -> Monoid | None:
    """The reducer by which a term is defined as a sum, None for a view; rejected where it cannot be replaced."""
    if term.kind is Kind.SUM:
        assert term.monoid is not None
        return term.monoid
    if term.kind is Kind.VIEW:
        return None
    found = sum_of(term)
    if found is None:
        raise Rejection(f"holds other elements: {term} has no counterpart")
    return found[0]


def _replaced(ground: Ground, pieces: Iterable[Piece], term: Term, monoid: Monoid | None) -> tuple[Piece, ...]:
    """The pieces with the term's definition in its place."""
    done: list[Piece] = []
    for piece in pieces:
        if piece.term is not term:
            done.append(piece)
            continue
        base, guards = unguarded(term)
        for part, count in _definition(ground, base, piece, monoid):
            rel = part.rel
            if guards:
                assert rel is not None
                passing = names("g", term.arity - base.arity)
                keep = ground.rels.rel(f"{{[{','.join(passing)}] -> [{','.join(passing)}]}}")
                rel = ground.rels.side_by_side(rel, keep)
            once = monoid is not None and monoid.idempotent
            if rel is not None and not once and not ground.rels.counts_once(piece.rel, rel):
                raise Rejection(f"elements of {term} are counted several times")
            inner = piece.rel if rel is None else ground.rels.compose(piece.rel, rel)
            made = Piece(ground.terms.guard(part.term, guards), inner, piece.count * count)
            kept = made if monoid is None else ground.without_neutral(_spread(ground, made), monoid)
            if kept is not None:
                done.append(kept)
    return tuple(done)


def _definition(ground: Ground, term: Term, piece: Piece, monoid: Monoid | None) -> list[tuple[Part, int]]:
    """What a term is the sum (or one) of, with counts; the read must stay where the definition says something."""
    if term.kind is Kind.SUM and term.monoid is monoid:
        return [(part, part.count) for part in term.parts]
    if term.kind is Kind.VIEW:
        guarded = any(part.term.kind is Kind.GUARD for part in term.parts)
        if monoid is not None and guarded and not ground.is_established(piece):
            raise Rejection(f"{term} is not known to be one element at all of its points")
        found = [(part, 1) for part in term.parts]
    else:
        summed = sum_of(term)
        if summed is None or summed[0] is not monoid or any(not count for _, count in summed[1]):
            raise Rejection(f"holds other elements: {term} has no counterpart")
        found = list(summed[1])
    _check_inside(ground, term, piece, found, every=term.kind is Kind.APPLY)
    return found


def _check_inside(ground: Ground, term: Term, piece: Piece, parts: list[tuple[Part, int]], *, every: bool) -> None:
    """That the term is read only where its definition has an element: in every part, or in one of them."""
    rels = ground.rels
    if piece.term.kind is Kind.GUARD:
        raise Rejection(f"{piece.term} is taken apart")
    domains = [rels.domain(part.rel) for part, _ in parts if part.rel is not None]
    image = rels.range(piece.rel)
    if every:
        inside = all(rels.set_subset(image, domain) for domain in domains)
    else:
        rest = image
        for domain in domains:
            rest = rels.set_minus(rest, domain)
        inside = rels.set_empty(rest)
    if not inside:
        raise Rejection(f"{term} is read where it is not defined")
