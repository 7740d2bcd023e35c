"""Functions of elements and of whole rows: equal operands in the same order give equal results.

f of the operands' elements is the term f(u1, …) read where that has the same operands; an op that maps rows to rows is
read at the rows that are the same, element by element.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from ..ops.digest import rows_digest
from ..ops.engine import Function, RowOperand
from ..ops.keys import spelled
from ..ops.order_maps import row_extents, rows_defined
from ..ops.record import Theory, strongest
from ..ops.values import Piece, Value
from ..read.ir import TensorType
from ..relation.build import passing
from ..relation.objects import Dom, Rel
from .equality import equal, spread
from .errors import Rejection
from .terms import Kind, Term
from .values import Calculus


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """A function of every element, or of rows, which only a claim can name, besides values that it is elsewhere."""

    kind: Kind
    key: Any
    operands: tuple[RowOperand, ...]
    type: TensorType
    rest: Dom
    """The points at which the operands are defined."""
    told: tuple[Value, ...] = ()
    commutative: bool = False
    read: Rel | None = None
    """{point -> (batch, index in the row of the result)}; None where every element is a row."""
    rank: int = 0
    """Of a row of the result."""


def lifted(run: Calculus, function: Function, operands: Any, type_: TensorType, told: Sequence[Value] = ()) -> Any:
    """An elementwise function: rows of one element."""
    if operands is None:
        return reduce(run.beside, told)
    key = spelled(function.key)
    run.terms.meanings[key] = dict(function.key[1])
    rest = reduce(run.rels.set_meet, [value.domain for value in operands])
    elements = tuple(RowOperand(value, run.rels.identity_on(rest), 0) for value in operands)
    return Applied(Kind.APPLY, key, elements, type_, rest, tuple(told), function.commutative)


def rows(run: Calculus, key: Hashable, operands: Any, batch: Any, types: Any, reads: Sequence[Rel]) -> list[Applied]:
    rels, domain = run.rels, rows_defined(run, operands, batch)
    extents = tuple(row_extents(run.store, read, domain.arity) for read in reads)
    digest = rows_digest(key, tuple(type_.dtype.value for type_ in types), extents)
    made = []
    for position, (type_, read) in enumerate(zip(types, reads, strict=True)):
        rank, own = read.arity_out - domain.arity, (digest, position, *(operand.row_rank for operand in operands))
        points = rels.preimage(rels.set_product(domain, rels.everything(rank)), read)
        made.append(Applied(Kind.ROWS, own, tuple(operands), type_, points, read=read, rank=rank))
    return made


def named(run: Any, made: Applied, pieces: tuple[Piece, ...]) -> Value:
    """The claimed view, if every element of it is the function of the operands there (or what else that is)."""
    domain = reduce(run.rels.set_union, [value.domain for value in made.told], made.rest)
    run.covered(pieces, domain)
    claimed = run.restricted(Value(made.type, pieces, domain), domain)
    theories = [value.theory for value in (*made.told, *(operand.value for operand in made.operands))]
    theories += [run.equal(value, claimed, value.domain) for value in made.told]
    for piece in run.restricted(claimed, made.rest).pieces:
        term = piece.atom
        if (term.kind, term.key, len(term.parts)) != (made.kind, made.key, len(made.operands)):
            raise Rejection(f"{term} is another function than '{made.key}'")
        match = _match(run, piece, made)
        ways = (partial(_same, run, made, term, match, agree) for agree in (partial(equal, run), run.equal))
        theories.append(run.either(*ways))
    return claimed.needing(*theories)


def _match(run: Calculus, piece: Piece, made: Applied) -> Rel:
    """Which row of the term each row is, if the piece reads whole rows in order."""
    rels, rank, read = run.rels, made.rank, made.read
    if read is None:
        return piece.rel
    match = rels.project_out(rels.compose(rels.reverse(read), piece.rel), piece.atom.arity - rank, rank)
    match = rels.compose(rels.reverse(run.leading_map(read.arity_out, read.arity_out - rank)), match)
    if not rels.single_valued(match):
        raise Rejection("a row is put together from several")
    again = rels.compose(read, rels.side_by_side(match, passing(run.store, rank)))
    if not rels.equal(rels.restrict(again, rels.domain(piece.rel)), piece.rel):
        raise Rejection("a row is read in another order")
    return match


def _same(run: Calculus, made: Applied, term: Term, match: Rel, agree: Any) -> Theory:
    """The operands at the term's index are those at hand, of a commutative function in either order."""
    rels, where = run.rels, run.rels.domain(match)
    nowhere = rels.set_minus(where, where)
    ways = [(where, nowhere)]
    if made.commutative:
        agreeing = [_agreeing(run, op.value, part, match) for op, part in zip(made.operands, term.parts, strict=True)]
        straight = rels.set_meet(where, reduce(rels.set_union, agreeing))
        ways = [(straight, rels.set_minus(where, straight)), (where, nowhere), (nowhere, where)]
    for number, (straight, crossed) in enumerate(ways, 1):
        try:
            return strongest(
                _congruent(run, made, operands, term, rels.restrict(match, part), agree)
                for operands, part in ((made.operands, straight), (made.operands[::-1], crossed))
            )
        except Rejection:
            if number == len(ways):
                raise
    raise AssertionError


def _congruent(run: Any, made: Applied, operands: Sequence[RowOperand], term: Term, match: Rel, agree: Any) -> Theory:
    rels, theories = run.rels, []
    for operand, part in zip(operands, term.parts, strict=True) if not rels.empty(match) else ():
        have, where, read = operand.value, rels.domain(match), match
        if made.read is not None:
            have = run.read_through(have, operand.read, have.type)
            where = rels.set_product(where, rels.everything(operand.row_rank))
            where = rels.set_meet(where, rels.domain(operand.read))
            read = rels.side_by_side(match, passing(run.store, operand.row_rank))
        if part.atom.dtype is not have.type.dtype:
            raise Rejection(f"{part.atom} is of another type")
        wanted = Piece(part.atom, rels.compose(read, part.rel))
        if not rels.set_subset(rels.domain(wanted.rel), where):
            raise Rejection(f"{term} is a function of longer rows")
        theories.append(agree(have, Value(have.type, (wanted,), where), where))
    return strongest(theories)


def _agreeing(run: Calculus, value: Value, part: Piece, read: Rel) -> Dom:
    """Points at which a term's operand is the value's one element."""
    want = spread(run, Piece(part.atom, run.rels.compose(read, part.rel)))
    have = [spread(run, piece) for piece in value.pieces]
    found = [run.rels.domain(run.rels.meet(piece.rel, want.rel)) for piece in have if piece.atom is want.atom]
    return reduce(run.rels.set_union, found, run.rels.set_minus(value.domain, value.domain))
