"""Results that depend on the order of elements: a claim names a term that is made of the same elements, in that order.

What an op takes, in which order, and why nothing else counts, its record says (`ops/sequence_relation.py`). An element
at p has to have a counterpart at m(p), where the term is read, each there has to be one, none may be out of order, but
where order counts for nothing: by the record, or by a promise, if an op that makes it was found to be that term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.choices import Made
from ..ops.digest import rows_digest
from ..ops.sequence_maps import Letters, Sequences, earlier
from ..ops.sequence_relation import Order
from ..ops.values import Value
from ..relation.build import passing
from ..relation.objects import Rel
from .errors import Rejection
from .terms import Kind, Term

if TYPE_CHECKING:
    from .run import Run


def in_order(run: Run, order: Order) -> list[Value]:
    """What is claimed of the results, each piece of which has to be made of the sequences at hand."""
    results: list[Value] = []
    for number, type_ in list(enumerate(order.types))[order.skipped :]:
        (_, claim), *_ = run.tables.claims(run.step, "result", order.first + number) or [(None, None)]
        if claim is None or claim.monoid is not None:
            raise Rejection("the certificate says nothing of these elements in order")
        domain = order.sequences.domain
        run.covered(claim.pieces, domain)
        value = run.restricted(Value(type_, claim.pieces, domain, theory=order.theory), domain)
        for piece in value.pieces:
            atom, key = piece.atom, (rows_digest(order.key, (), ()), number)
            if (atom.kind, atom.dtype, atom.key[:2]) != (Kind.ORDER, type_.dtype, key):
                raise Rejection(f"{atom} is another function of elements in order")
            free = run.is_established(piece) if order.any_order is None else order.any_order
            _check_same(run, order, _sequences(run, atom), piece.rel, free)
            if order.unique and run.is_original and not run.blocks:
                run.establish(value, piece)
        results.append(value)
    return results


def made_in_order(run: Run, atom: Term) -> Made | None:
    """Which result of which function a term is, and of what sequences."""
    if atom.kind is not Kind.ORDER:
        return None
    return Made(atom.key[0], atom.key[1], (atom.key[0], atom.key[2:], atom.parts), _sequences(run, atom))


def _sequences(run: Run, term: Term) -> Sequences:
    """What a term is made of: `width` parts are one kind of elements, read through one relation."""
    _, _, depth, width = term.key
    rels, letters = run.rels, []
    if len(term.parts) % width:
        raise Rejection(f"{term} has a part of an element")
    for start in range(0, len(term.parts), width):
        group = term.parts[start : start + width]
        rel = group[0].rel
        if any(part.rel is not rel for part in group) or not rels.single_valued(rel):
            raise Rejection(f"{term} has elements that are read in several ways")
        letters.append(Letters(tuple(part.atom for part in group), rel))
    taken = rels.disjoint([each.rel for each in letters], f"{term} has several elements at one position")
    places = run.leading_map(term.arity + depth, term.arity)
    return Sequences(tuple(letters), term.arity, depth, rels.image(taken, places))


def _check_same(run: Run, order: Order, other: Sequences, match: Rel, free: bool) -> None:
    """That the sequence at each p is the other's at match(p)."""
    rels, mine = run.rels, order.sequences
    here = rels.set_product(rels.domain(match), rels.everything(mine.depth))
    lead = rels.restrict(run.leading_map(mine.arity + mine.depth, mine.arity), here)
    at = rels.compose(rels.compose(lead, match), rels.reverse(run.leading_map(other.arity + other.depth, other.arity)))
    if order.in_place:
        at = rels.meet(at, rels.side_by_side(match, passing(run.store, mine.depth)))
    # (p, position) → the positions at match(p) of the same element
    theirs = {letters.atoms: letters.rel for letters in other.letters}
    partners, own = rels.minus(at, at), rels.set_minus(here, here)
    for letters in mine.letters:
        rel = rels.restrict(letters.rel, here)
        own = rels.set_union(own, rels.domain(rel))
        if letters.atoms in theirs:
            partners = rels.union(partners, rels.meet(rels.compose(rel, rels.reverse(theirs[letters.atoms])), at))
    partners = rels.project_out(partners, 0, other.arity)
    strict = not (order.in_place or (free and order.any_count))
    partners = rels.lexmin(partners) if strict else partners
    if not rels.set_subset(own, rels.domain(partners)):
        raise Rejection("an element in order has no counterpart")
    # (p, position) → (p, position there)
    graph = rels.pair(lead, partners)
    for letters in other.letters:
        there = rels.side_by_side(match, passing(run.store, other.depth))
        there = rels.restrict_range(there, rels.domain(letters.rel))
        if not rels.set_subset(rels.domain(there), rels.range(graph)):
            raise Rejection("an element of the order is missing")
    if strict and not rels.injective(graph):
        raise Rejection("an element of the order is counted several times")
    if strict and not free:
        for before in earlier(rels, mine.arity, mine.depth):
            moved = rels.compose(rels.compose(rels.reverse(graph), before), graph)
            for after in earlier(rels, mine.arity, other.depth):
                moved = rels.minus(moved, after)
            if not rels.empty(moved):
                raise Rejection("elements are in another order")
