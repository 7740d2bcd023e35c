"""Whether two values are equal, by putting the definitions of terms in their place.

This one step covers what the prover's lemmas on sums do: a value is a named sum read somewhere, n · e stands for n
elements, a point that holds y + z is the sum of both. There is nothing to search: where both sides differ, the term
that was defined last is replaced by what it is defined as, until nothing differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from ..ops.monoid import Monoid
from ..ops.record import Theory, strongest
from ..ops.sums import product_of_elements
from ..ops.values import Piece, Value, cancels, without_constant
from ..relation.build import passing
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .terms import Kind, Term, is_guarded, sum_of, unguarded
from .values import Calculus

Side = dict[tuple[Term, int], Rel]

MAX_STEPS = 400  # definitions put in place for one equality


def equal(run: Calculus, left: Value, right: Value, domain: Dom) -> Theory:
    """The arithmetic in which both are equal at every point of the domain; rejected where they are not."""
    left, right = common(run, left, right, domain)
    if monoid := left.monoid or right.monoid:
        return _sums(run, left, right, monoid)
    return _views(run, left, right, is_guarded([*left.pieces, *right.pieces]))


def common(run: Calculus, left: Value, right: Value, domain: Dom) -> tuple[Value, Value]:
    """Both at the points of a domain, at which they have to have something."""
    if not all(run.rels.set_subset(domain, value.domain) for value in (left, right)):
        raise Rejection("depends on padding or on undefined elements")
    left, right = run.restricted(left, domain), run.restricted(right, domain)
    for value in (left, right):
        if value.monoid is None and not is_guarded(value.pieces):
            run.covered(value.pieces, value.domain)
    return left, right


def _views(run: Calculus, left: Value, right: Value, guarded: bool) -> Theory:
    """Both have one element at every point: each part of the domain by the term that has to be replaced there.

    Of elements under guards one is present at every point: named views are all that may be taken apart.
    """
    rels, theory, named = run.rels, Theory.EXACT, []
    for _ in range(MAX_STEPS):
        differing = _differing(run, *(_side(run, value.pieces) for value in (left, right)))
        if not differing:
            for value, piece in named:
                run.establish(value, piece)
            return theory
        term = _last(differing)
        reducer, _ = (None, ()) if term.kind is Kind.VIEW else _as_sum(term)
        reducer = Monoid.ADD if reducer is Monoid.MUL and any(e.kind is Kind.PRODUCT for e, _ in differing) else reducer
        if guarded and reducer is not None:
            raise Rejection(f"holds other elements under its guards: {term} has no counterpart")
        if not guarded:
            rest = reduce(rels.set_union, map(rels.domain, differing.values()))
            left, right = run.restricted(left, rest), run.restricted(right, rest)
        if reducer is None:
            read = [(value, piece) for value in (left, right) for piece in value.pieces if piece.atom is term]
            # whoever holds elements under guards has one of them at every point: they are no sum of those present
            guarded |= is_guarded(term.parts) and not all(run.is_established(piece) for _, piece in read)
            named += read if guarded else []
            left, right = (replace(v, pieces=_replaced(run, v.pieces, term, None)) for v in (left, right))
            continue
        place = next(rels.domain(rel) for (each, _), rel in differing.items() if each is term)
        parts = [run.restricted(value, place) for value in (left, right)]
        theory = strongest([theory, _sums(run, parts[0], parts[1], reducer)])
        others = rels.set_minus(left.domain, place)
        left, right = run.restricted(left, others), run.restricted(right, others)
    raise Rejection("an equality takes too many steps")


def _sums(run: Calculus, left: Value, right: Value, monoid: Monoid) -> Theory:
    """Both as sums of one reducer, neutral elements left out, with definitions put in place until they agree."""
    free = monoid.reorders_exactly(left.type.dtype)
    once = None if free else _one_summation(left, right)
    theory = Theory.EXACT if free or once is not None else Theory.REASSOCIATED
    mine, other = (_side(run, run.as_sum(value, monoid).pieces, monoid) for value in (left, right))
    for _ in range(MAX_STEPS):
        differing = _differing(run, mine, other)
        if not differing:
            return theory
        if not monoid.idempotent:
            mine, other = _less(run, mine, other), _less(run, other, mine)
        term = _last(differing)
        if once is not None and term not in once:
            theory = Theory.REASSOCIATED
        pieces = [[Piece(atom, rel, count) for (atom, count), rel in side.items()] for side in (mine, other)]
        replaced = [_replaced(run, side, term, monoid) for side in pieces]
        if not free and any(cancels(run, side) for side in replaced):
            raise Rejection("elements cancel that may be infinite")
        mine, other = (_side(run, side, monoid) for side in replaced)
    raise Rejection("an equality takes too many steps")


def _one_summation(left: Value, right: Value) -> frozenset[Term] | None:
    """The named sums that one side may be taken apart into with the same bits; None where no such thing is known.

    One side is a sum of at most one step; the other holds, point by point, terms that are sums of as many steps, or
    constants. An element that is there as it is has not gone through a summation, which makes -0.0 of nothing else.
    """
    for value, named in ((left, right), (right, left)):
        if value.monoid is None or value.levels > 1 or (named.monoid is not None and named.levels > 0):
            continue
        sums = frozenset(p.atom for p in named.pieces if p.atom.kind is Kind.SUM and p.atom.levels == value.levels)
        rest = [p.atom for p in named.pieces if p.atom not in sums]
        if sums & {p.atom for p in value.pieces} or any(p.coefficient != 1 for p in named.pieces):
            continue
        if value.levels == 0 or (named.monoid is None and all(t.kind in (Kind.INTEGER, Kind.NUMBER) for t in rest)):
            return sums
    return None


# both sides by term and count ---------------------------------------------------------------------------------------


def _side(run: Calculus, pieces: Iterable[Piece], monoid: Monoid | None = None) -> Side:
    gathered = run.gathered([spread(run, piece) for piece in pieces], monoid is not None and monoid.idempotent)
    return {(piece.atom, piece.coefficient): piece.rel for piece in gathered}


def spread(run: Calculus, piece: Piece) -> Piece:
    """A constant integer as INT, in which integers that differ from point to point are written."""
    if piece.atom.kind is not Kind.NUMBER:
        return piece
    number = run.rels.rel(f"{{[] -> [{piece.atom.key}]}}")
    return Piece(run.integer(piece.atom.dtype), run.rels.compose(piece.rel, number), piece.coefficient)


def _differing(run: Calculus, mine: Side, other: Side) -> Side:
    """What one side has and the other has not."""
    rels, found = run.rels, {}
    for key in {**mine, **other}:
        first, second = mine.get(key), other.get(key)
        if first is None or second is None:
            found[key] = first or second
        elif not rels.equal(first, second):
            found[key] = rels.union(rels.minus(first, second), rels.minus(second, first))
    return found


def _less(run: Calculus, side: Side, other: Side) -> Side:
    """What the other side does not have as well."""
    rest = {key: run.rels.minus(rel, other[key]) if key in other else rel for key, rel in side.items()}
    return {key: rel for key, rel in rest.items() if not run.rels.empty(rel)}


def _last(differing: Side) -> Term:
    """The term defined last, products, which have no parts to sum, behind all; guarded ones go by what they guard."""
    return max((each for each, _ in differing), key=lambda e: (e.kind is not Kind.PRODUCT, unguarded(e)[0].number))


# definitions in place of terms --------------------------------------------------------------------------------------


def _as_sum(term: Term) -> tuple[Monoid, tuple[Piece, ...]]:
    found = sum_of(term)
    if found is None or not all(part.coefficient for part in found[1]):
        raise Rejection(f"holds other elements: {term} has no counterpart")
    return found


def _replaced(run: Calculus, pieces: Iterable[Piece], term: Term, monoid: Monoid | None) -> tuple[Piece, ...]:
    """The pieces with the term's definition in its place."""
    done: list[Piece] = []
    for piece in pieces:
        if piece.atom is not term:
            done.append(piece)
            continue
        base, guards = unguarded(term)
        keep = passing(run.store, term.arity - base.arity)
        for part in _definition(run, base, piece, monoid):
            rel = run.rels.side_by_side(part.rel, keep) if guards else part.rel
            inner = run.rels.compose(piece.rel, rel)
            made = spread(run, Piece(run.guard(part.atom, guards), inner, piece.coefficient * part.coefficient))
            kept = made if monoid is None else without_constant(run, made, monoid.neutral(made.atom.dtype))
            once = kept is None or (monoid is not None and monoid.idempotent) or run.rels.counts_once(piece.rel, rel)
            if not once:
                raise Rejection(f"elements of {term} are counted several times")
            done += [kept] if kept is not None else []
    return tuple(done)


def _definition(run: Calculus, term: Term, piece: Piece, monoid: Monoid | None) -> tuple[Piece, ...]:
    """What a term is the sum (or one) of, read where all operands of a function have an element, or a view's part."""
    rels, image = run.rels, run.rels.range(piece.rel)
    parts = term.parts
    if term.kind is not Kind.VIEW:
        reducer, parts = _as_sum(term)
        parts = parts if reducer is monoid else product_of_elements(run, monoid, term.key, term.dtype, parts)
        if parts is None:
            raise Rejection(f"holds other elements: {term} has no counterpart")
        if term.kind is Kind.SUM:
            return parts
        if is_guarded(parts):
            raise Rejection(f"{term} is a function of elements that may be absent")
    elif monoid is not None and is_guarded(parts) and not run.is_established(piece):
        raise Rejection(f"{term} is not known to be one element at all of its points")
    if piece.atom.kind is Kind.GUARD:
        raise Rejection(f"{piece.atom} is taken apart")
    missing = [rels.set_minus(image, rels.domain(part.rel)) for part in parts]
    if term.kind is Kind.VIEW:
        missing = [reduce(rels.set_meet, missing, image)]
    if not all(map(rels.set_empty, missing)):
        raise Rejection(f"{term} is read where it is not defined")
    return parts
