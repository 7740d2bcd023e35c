"""Elementwise results: f of the operands' elements is the term f(u1, …) read where that has the same operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ops.engine import Function
from ..ops.guarded import index_form, joint_indices
from ..ops.integers import index_function
from ..ops.keys import spelled
from ..ops.record import Theory, strongest
from ..read.ir import TensorType
from ..relation.build import constant
from ..relation.objects import Dom, Rel
from .equality import equal
from .errors import Rejection
from .terms import Kind, Piece, Term, Value
from .values import Calculus


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """A function of every element, which only a claim can name, besides values that it is at other points."""

    function: Function
    operands: tuple[Value, ...]
    type: TensorType
    told: tuple[Value, ...]
    rest: Dom
    """Where all operands are defined."""


def applied(run: Calculus, lifted: Lifted, pieces: Sequence[Piece]) -> Value:
    """The claimed view, if every element of it is f of the operands there (or what else that is)."""
    domain, theories = lifted.rest, [value.theory for value in (*lifted.operands, *lifted.told)]
    for value in lifted.told:
        domain = run.rels.set_union(domain, value.domain)
    run.covered(pieces, domain)
    claimed = run.restricted(Value(lifted.type, tuple(pieces), domain), domain)
    theories += [equal(run, value, claimed, value.domain) for value in lifted.told]
    theories += [_piece(run, lifted, piece) for piece in run.restricted(claimed, lifted.rest).pieces]
    return claimed.needing(*theories)


def _piece(run: Calculus, lifted: Lifted, piece: Piece) -> Theory:
    rels, term, function = run.rels, piece.atom, lifted.function
    if term.kind is not Kind.APPLY or term.key != spelled(function.key) or len(term.parts) != len(lifted.operands):
        raise Rejection(f"{term} is another operation than '{spelled(function.key)}'")
    where = rels.domain(piece.rel)
    nowhere = rels.set_minus(where, where)
    ways = [(where, nowhere)]
    if function.commutative:
        straight = rels.set_meet(where, _agreeing(run, lifted.operands[0], term.parts[0], piece.rel))
        ways += [(nowhere, where), (straight, rels.set_minus(where, straight))]
    for number, (straight, crossed) in enumerate(ways, 1):
        try:
            found = _congruent(run, lifted.operands, term, piece.rel, straight)
            return strongest([found, _congruent(run, lifted.operands[::-1], term, piece.rel, crossed)])
        except Rejection:
            if number == len(ways):
                raise
    raise AssertionError


def _congruent(run: Calculus, operands: Sequence[Value], term: Term, read: Rel, where: Dom) -> Theory:
    """f's operands at the term's index are the operands at hand."""
    theories, read = [], run.rels.restrict(read, where)
    for value, part in zip(operands, term.parts, strict=True) if not run.rels.empty(read) else ():
        if part.atom.dtype is not value.type.dtype:
            raise Rejection(f"{part.atom} is of another type")
        wanted = Value(value.type, (Piece(part.atom, run.rels.compose(read, part.rel)),), where)
        theories.append(equal(run, value, wanted, where))
    return strongest(theories)


def _agreeing(run: Calculus, value: Value, part: Piece, read: Rel) -> Dom:
    """Points at which a term's first operand is the value's one element."""
    want, found = run.rels.compose(read, part.rel), run.rels.set_minus(value.domain, value.domain)
    for piece in value.pieces:
        if piece.atom is part.atom:
            found = run.rels.set_union(found, run.rels.domain(run.rels.meet(piece.rel, want)))
    return found


def decided(run: Calculus, function: Function, operands: Sequence[Value], type_: TensorType) -> Value | None:
    """A comparison at the points where it gives the same for all values that unknown integers can have."""
    rels, dtype = run.rels, operands[0].type.dtype
    if not dtype.is_integer or any(value.monoid is not None for value in operands):
        return None
    forms = [index_form(run, value) for value in operands]
    domain = rels.set_meet(forms[0].domain, forms[1].domain)
    name, attributes = function.key
    seen = [rels.set_minus(domain, domain)] * 2
    for joint in joint_indices(run, forms, domain):
        plain = rels.project_out(joint.rel, joint.width, joint.rel.arity_out - joint.width)
        truth = index_function(run.store, name, dict(attributes), [dtype, dtype], type_.dtype, plain)
        if truth is None:
            return None
        bits = rels.compose(plain, truth)
        seen = [rels.set_union(known, rels.domain(rels.fix_range(bits, 0, k))) for k, known in enumerate(seen)]
    both = rels.set_meet(*seen)
    parts = [rels.set_meet(rels.set_minus(where, both), domain) for where in seen]
    pieces = [Piece(run.integer(type_.dtype), constant(run.store, where, k)) for k, where in enumerate(parts)]
    return Value(type_, tuple(pieces), rels.set_union(*parts))
