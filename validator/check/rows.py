"""Ops that map whole rows to rows: equal rows in the same order give equal results."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from ..ops.digest import rows_digest
from ..ops.engine import RowOperand
from ..ops.record import Theory, strongest
from ..read.ir import TensorType
from ..relation.build import passing
from ..relation.objects import Rel
from .equality import equal
from .errors import Rejection
from .terms import Kind, Piece, Value

if TYPE_CHECKING:
    from .run import Run


def treated(
    run: Run,
    key: Hashable,
    operands: Sequence[RowOperand],
    batch: Sequence[int],
    types: Sequence[TensorType],
    reads: Sequence[Rel],
) -> list[Value]:
    """Every result is claimed to be a row term read somewhere; the rows there have to be those at hand."""
    rels, domain = run.rels, run.builder.points(batch)
    arity = domain.arity
    for operand in operands:
        undefined = rels.set_minus(rels.range(operand.read), operand.value.domain)
        bad = rels.preimage(undefined, operand.read)
        domain = rels.set_minus(domain, rels.image(bad, run.leading_map(bad.arity, arity)))
    extents = tuple(tuple(rels.bounds(rels.range(read), k) for k in range(arity, read.arity_out)) for read in reads)
    digest = rows_digest(key, tuple(type_.dtype.value for type_ in types), extents)
    results: list[Value] = []
    for position, (type_, read) in enumerate(zip(types, reads, strict=True)):
        claim = run.claim("result", position)
        if claim is None or claim.monoid is not None:
            raise Rejection("the certificate says nothing of these rows")
        points = rels.preimage(rels.set_product(domain, rels.everything(read.arity_out - arity)), read)
        run.covered(claim.pieces, points)
        claimed = run.restricted(Value(type_, claim.pieces, points), points)
        theories = [operand.value.theory for operand in operands]
        for piece in claimed.pieces:
            term, own = piece.atom, (digest, position, *(operand.row_rank for operand in operands))
            if term.kind is not Kind.ROWS or term.key != own or term.dtype is not type_.dtype:
                raise Rejection(f"{term} is another function of rows")
            theories.append(_equal_rows(run, operands, piece, read, arity))
        results.append(claimed.needing(*theories))
    return results


def _equal_rows(run: Run, operands: Sequence[RowOperand], piece: Piece, read: Rel, arity: int) -> Theory:
    """The claim reads whole rows of the term, and these are the rows at hand."""
    rels, term, inner = run.rels, piece.atom, read.arity_out - arity
    match = rels.project_out(rels.compose(rels.reverse(read), piece.rel), term.arity - inner, inner)
    match = rels.compose(rels.reverse(run.leading_map(read.arity_out, arity)), match)
    if not rels.single_valued(match):
        raise Rejection("a row is put together from several")
    again = rels.compose(read, rels.side_by_side(match, passing(run.store, inner)))
    if not rels.equal(rels.restrict(again, rels.domain(piece.rel)), piece.rel):
        raise Rejection("a row is read in another order")
    theories = []
    for operand, part in zip(operands, term.parts, strict=True):
        rank, line = operand.row_rank, operand.read
        want = rels.compose(rels.side_by_side(match, passing(run.store, rank)), part.rel)
        have = run.read_through(operand.value, line, operand.value.type)
        where = rels.set_meet(rels.domain(line), rels.set_product(rels.domain(match), rels.everything(rank)))
        wanted = Value(have.type, (Piece(part.atom, rels.restrict(want, where)),), rels.domain(want))
        if part.atom.dtype is not have.type.dtype or not rels.set_equal(wanted.domain, where):
            raise Rejection(f"{term} has rows of another kind")
        theories.append(equal(run, have, wanted, where))
    return strongest(theories)
