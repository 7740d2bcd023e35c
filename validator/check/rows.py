"""Ops that map whole rows to rows: equal rows in the same order give equal results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.digest import rows_digest
from ..ops.order_maps import ROWS, Rows
from ..read.ir import Op
from ..relation.build import names
from ..relation.objects import Rel
from .equality import equal
from .errors import Rejection
from .terms import Kind
from .values import Piece, Value, weakest

if TYPE_CHECKING:
    from ..ops.record import Theory
    from .run import AnyValue, Run


def row_op(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """Every result is claimed to be a row term read somewhere; the rows there have to be those at hand."""
    rows = ROWS[op.name](run.builder, op)
    if isinstance(rows, str):
        raise Rejection(f"{rows} is not checked")
    return treated(run, op, rows, [run.known(value) for value in values])


def row_key(rows: Rows, op: Op, extents: tuple[object, ...], result: int) -> tuple[object, ...]:
    """What tells a row term from others, its operands' terms apart."""
    types = tuple(value.tensor.dtype.value for value in op.results)
    ranks = tuple(rank for _, _, rank in rows.operands)
    return (rows_digest(rows.key, types, extents), result, *ranks)


def treated(run: Run, op: Op, rows: Rows, values: list[Value]) -> list[AnyValue]:
    rels, step = run.ground.rels, run.step
    arity = len(run.builder.mesh.sizes) + len(rows.batch)
    domain = run.builder.points(rows.batch)
    for number, read, _ in rows.operands:
        undefined = rels.set_minus(rels.range(read), values[number].domain)
        bad = rels.preimage(undefined, read)
        domain = rels.set_minus(domain, rels.image(bad, _leading(run, bad.arity, arity)))
    extents = tuple(
        tuple(rels.bounds(rels.range(read), k) for k in range(arity, read.arity_out)) for read in rows.reads
    )
    results: list[AnyValue] = []
    for position, (result, read) in enumerate(zip(op.results, rows.reads, strict=True)):
        claim = step.results.get(position) if step is not None else None
        if claim is None:
            raise Rejection("the certificate says nothing of these rows")
        inner = read.arity_out - arity
        points = rels.preimage(rels.set_product(domain, rels.everything(inner)), read)
        pieces = [Piece(p.term, rels.restrict(p.rel, points)) for p in run.claimed(claim)]
        covered = run.ground.covered(pieces)
        if claim.monoid is not None or covered is None or not rels.set_subset(points, covered):
            raise Rejection("the claim does not tell every row")
        theory = weakest(*(values[number].theory for number, _, _ in rows.operands))
        key = row_key(rows, op, extents, position)
        for piece in pieces:
            if piece.term.kind is not Kind.ROWS or piece.term.key != key or piece.term.dtype is not result.tensor.dtype:
                raise Rejection(f"{piece.term} is another function of rows")
            theory = weakest(theory, _equal_rows(run, rows, values, piece, read, arity))
        results.append(Value(result.tensor, tuple(pieces), points, theory=theory))
    return results


def _equal_rows(run: Run, rows: Rows, values: list[Value], piece: Piece, read: Rel, arity: int) -> Theory:
    """The claim reads whole rows of the term, and these are the rows at hand."""
    rels, term = run.ground.rels, piece.term
    inner = read.arity_out - arity
    match = rels.compose(rels.reverse(read), piece.rel)
    match = rels.project_out(match, term.arity - inner, inner)
    match = rels.compose(rels.reverse(_leading(run, read.arity_out, arity)), match)
    if not rels.single_valued(match):
        raise Rejection("a row is put together from several")
    again = rels.compose(read, rels.side_by_side(match, _passing(run, inner)))
    if not rels.equal(rels.restrict(again, rels.domain(piece.rel)), piece.rel):
        raise Rejection("a row is read in another order")
    theories = []
    for (number, line, rank), part in zip(rows.operands, term.parts, strict=True):
        assert part.rel is not None
        want = rels.compose(rels.side_by_side(match, _passing(run, rank)), part.rel)
        have = run.ground.read(values[number], line, values[number].type)
        where = rels.set_meet(rels.domain(line), rels.set_product(rels.domain(match), rels.everything(rank)))
        wanted = Value(have.type, (Piece(part.term, rels.restrict(want, where)),), rels.domain(want))
        if part.term.dtype is not have.type.dtype or not rels.set_equal(wanted.domain, where):
            raise Rejection(f"{term} has rows of another kind")
        theories.append(equal(run.ground, have, wanted, where))
    return weakest(*theories)


def _leading(run: Run, count: int, arity: int) -> Rel:
    variables = names("p", count)
    return run.ground.rels.rel(f"{{[{','.join(variables)}] -> [{','.join(variables[:arity])}]}}")


def _passing(run: Run, count: int) -> Rel:
    variables = ",".join(names("k", count))
    return run.ground.rels.rel(f"{{[{variables}] -> [{variables}]}}")


ROW_RULES = dict.fromkeys(ROWS, row_op)
