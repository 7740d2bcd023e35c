"""Sums over relations, and sums of products: every element counted as often as it occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.contraction_maps import PairReads
from ..ops.monoid import Monoid
from ..read.ir import TensorType
from ..relation.build import names
from ..relation.objects import Rel
from .errors import Rejection
from .terms import Kind, Part, Term
from .values import Piece, Value, weakest

if TYPE_CHECKING:
    from .run import Run


def sum_over(run: Run, value: Value, rel: Rel, monoid: Monoid, type_: TensorType, steps: int) -> Value:
    """out[p] = ⊕ over q ∈ rel(p) of value[q]."""
    rels, value = run.ground.rels, run.ground.as_sum(value, monoid)
    pieces: list[Piece] = []
    for piece in value.pieces:
        outer, factor = rel, 1
        if not monoid.idempotent:
            outer, factor = _counted(run, rel, piece.rel)
            if monoid is Monoid.XOR:
                factor %= 2
            elif monoid is Monoid.MUL and factor != 1:
                raise Rejection("an element is multiplied several times")
        pieces.append(Piece(piece.term, rels.compose(outer, piece.rel), piece.count * factor))
    points = run.points(type_)
    undefined = rels.set_minus(rels.range(rel), value.domain)
    domain = points if rels.set_empty(undefined) else rels.set_minus(points, rels.preimage(undefined, rel))
    gathered = run.ground.gathered(pieces, monoid.idempotent)
    result = Value(type_, gathered, points, monoid, value.levels + steps, value.theory)
    return run.ground.restricted(result, domain)


def _counted(run: Run, rel: Rel, inner: Rel) -> tuple[Rel, int]:
    """(part of rel, factor): through it each element is reached once, and counts `factor` times."""
    rels, factor = run.ground.rels, 1
    if rels.counts_once(rel, inner):
        return rel, 1
    for position in range(rel.arity_out):
        image = rels.range(rel)
        bounds = rels.bounds(image, position)
        if bounds is None or bounds[0] == bounds[1]:
            continue
        low, high = bounds
        source = names("q", rel.arity_out)
        target = [str(low) if k == position else name for k, name in enumerate(source)]
        text = f"{{[{','.join(source)}] -> [{','.join(target)}] : {low} <= q{position} <= {high}}}"
        flatten = rels.rel(text)
        # the elements are the same at every q that is summed over, whatever this coordinate is …
        same = rels.equal(rels.compose(rels.restrict(flatten, image), inner), rels.restrict(inner, image))
        fixed = rels.fix_range(rel, position, low)
        # … and every value of the coordinate is summed over
        if same and rels.equal(rels.compose(fixed, rels.reverse(flatten)), rel):
            rel, factor = fixed, factor * (high - low + 1)
            if rels.counts_once(rel, inner):
                return rel, factor
    raise Rejection("elements are counted several times, not all equally often")


def contract(run: Run, lhs: Value, rhs: Value, reads: PairReads, type_: TensorType, flavour: str) -> Value:
    """out[p] = Σ over k of lhs[l(p, k)] · rhs[r(p, k)]; the first coordinates of (p, k) are those of p."""
    rels, arity = run.ground.rels, len(run.builder.mesh.sizes) + type_.rank
    domain, pieces, levels = run.points(type_), [], 1
    zero = run.ground.terms.make(Kind.NUMBER, lhs.type.dtype, 0, 0)
    for left_read, right_read in reads:
        inside = rels.domain(right_read)
        for value, read in ((lhs, left_read), (rhs, right_read)):
            if read is not None:
                undefined = rels.set_minus(rels.image(inside, read), value.domain)
                bad = rels.set_meet(inside, rels.preimage(undefined, read))
                domain = rels.set_minus(domain, rels.image(bad, _leading(run, bad.arity, arity)))
        left = [(zero, run.ground.nothing(inside))] if left_read is None else _through(run, lhs, left_read)
        for mine in left:
            for other in _through(run, rhs, right_read):
                made = _product(run, mine, other, type_, arity, flavour)
                if made is None:
                    levels = 2
                else:
                    pieces.append(made)
    theory = weakest(lhs.theory, rhs.theory)
    result = Value(type_, run.ground.gathered(pieces), run.points(type_), Monoid.ADD, levels, theory)
    return run.ground.restricted(result, domain)


def _leading(run: Run, count: int, arity: int) -> Rel:
    variables = names("p", count)
    return run.ground.rels.rel(f"{{[{','.join(variables)}] -> [{','.join(variables[:arity])}]}}")


def _through(run: Run, value: Value, read: Rel) -> list[tuple[Term, Rel]]:
    found = []
    for piece in value.pieces:
        rel = run.ground.rels.compose(read, piece.rel)
        if not run.ground.rels.empty(rel):
            made = run.ground.canonical(Piece(piece.term, rel))
            found.append((made.term, made.rel))
    return found


def _product(
    run: Run, left: tuple[Term, Rel], right: tuple[Term, Rel], type_: TensorType, arity: int, flavour: str
) -> Piece | None:
    """The piece p → (a, b) of the products A[a] · B[b]; None where it is zero times zero, or there is none."""
    rels = run.ground.rels
    (a, rel_a), (b, rel_b) = (left, right) if left[0].number <= right[0].number else (right, left)
    joint = rels.pair(rel_a, rel_b)
    if rels.empty(joint) or all(term.kind is Kind.NUMBER and term.key == 0 for term in (a, b)):
        return None
    point = rels.restrict(_leading(run, joint.arity_in, arity), rels.domain(joint))
    if not rels.injective(rels.pair(point, joint)):
        raise Rejection("a product is counted several times")
    parts = [Part(a, None), Part(b, None)]
    term = run.ground.terms.make(Kind.PRODUCT, type_.dtype, a.arity + b.arity, flavour, parts)
    return Piece(term, rels.compose(rels.reverse(point), joint))
