"""Sums over relations, and sums of products: every element counted as often as it occurs."""

from __future__ import annotations

from ..ops.contraction_maps import PairReads
from ..ops.monoid import Monoid
from ..ops.record import strongest
from ..read.ir import TensorType
from ..relation.build import constant, names
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .terms import Kind, Piece, Value
from .values import Calculus


def sum_over(run: Calculus, value: Value, rel: Rel, monoid: Monoid, type_: TensorType, steps: int) -> Value:
    """out[p] = ⊕ over q ∈ rel(p) of value[q]."""
    rels, value = run.rels, run.as_sum(value, monoid)
    pieces: list[Piece] = []
    for piece in value.pieces:
        outer, factor = (rel, 1) if monoid.idempotent else _counted(run, rel, piece.rel)
        if monoid is Monoid.XOR:
            factor %= 2
        elif monoid is Monoid.MUL and factor != 1:
            raise Rejection("an element is multiplied several times")
        pieces.append(Piece(piece.atom, rels.compose(outer, piece.rel), piece.coefficient * factor))
    points = run.points(type_)
    domain = rels.set_minus(points, _undefined(run, value, rel))
    gathered = run.gathered(pieces, monoid.idempotent)
    result = Value(type_, gathered, points, monoid, value.levels + steps, value.theory)
    return run.restricted(result, domain)


def _undefined(run: Calculus, value: Value, rel: Rel) -> Dom:
    """The points at which an undefined element is read."""
    return run.rels.preimage(run.rels.set_minus(run.rels.range(rel), value.domain), rel)


def _counted(run: Calculus, rel: Rel, inner: Rel) -> tuple[Rel, int]:
    """(part of rel, factor): through it each element is reached once, and counts `factor` times."""
    rels, factor = run.rels, 1
    for position in range(rel.arity_out):
        if rels.counts_once(rel, inner):
            break
        image = rels.range(rel)
        low, high = rels.bounds(image, position) or (0, 0)
        if low == high:
            continue
        source = names("q", rel.arity_out)
        target = [str(low) if k == position else name for k, name in enumerate(source)]
        flatten = rels.rel(f"{{[{','.join(source)}] -> [{','.join(target)}] : {low} <= q{position} <= {high}}}")
        # the elements are the same at every q that is summed over, whatever this coordinate is …
        same = rels.equal(rels.compose(rels.restrict(flatten, image), inner), rels.restrict(inner, image))
        fixed = rels.fix_range(rel, position, low)
        # … and every value of the coordinate is summed over
        if same and rels.equal(rels.compose(fixed, rels.reverse(flatten)), rel):
            rel, factor = fixed, factor * (high - low + 1)
    if not rels.counts_once(rel, inner):
        raise Rejection("elements are counted several times, not all equally often")
    return rel, factor


def contract(run: Calculus, lhs: Value, rhs: Value, reads: PairReads, type_: TensorType, flavour: str) -> Value:
    """out[p] = Σ over k of lhs[l(p, k)] · rhs[r(p, k)]; the first coordinates of (p, k) are those of p."""
    rels, points, pieces, levels = run.rels, run.points(type_), [], 1
    domain = points
    zero = run.terms.make(Kind.NUMBER, lhs.type.dtype, 0, 0)
    for left_read, right_read in reads:
        inside = rels.domain(right_read)
        for value, read in ((lhs, left_read), (rhs, right_read)):
            if read is not None:
                bad = rels.set_meet(inside, _undefined(run, value, rels.restrict(read, inside)))
                domain = rels.set_minus(domain, rels.image(bad, run.leading_map(bad.arity, points.arity)))
        left = [Piece(zero, constant(run.store, inside))] if left_read is None else _through(run, lhs, left_read)
        for mine in left:
            for other in _through(run, rhs, right_read):
                made = _product(run, mine, other, type_, points.arity, flavour)
                if made is None:
                    levels = 2
                else:
                    pieces.append(made)
    theory = strongest([lhs.theory, rhs.theory])
    result = Value(type_, run.gathered(pieces), points, Monoid.ADD, levels, theory)
    return run.restricted(result, domain)


def _through(run: Calculus, value: Value, read: Rel) -> list[Piece]:
    composed = [Piece(piece.atom, run.rels.compose(read, piece.rel)) for piece in value.pieces]
    return [run.canonical(piece) for piece in composed if not run.rels.empty(piece.rel)]


def _product(run: Calculus, left: Piece, right: Piece, type_: TensorType, arity: int, flavour: str) -> Piece | None:
    """The piece p → (a, b) of the products A[a] · B[b]; None where it is zero times zero, or there is none."""
    rels = run.rels
    a, b = (left, right) if left.atom.number <= right.atom.number else (right, left)
    joint = rels.pair(a.rel, b.rel)
    if rels.empty(joint) or all(each.atom.kind is Kind.NUMBER and each.atom.key == 0 for each in (a, b)):
        return None
    point = rels.restrict(run.leading_map(joint.arity_in, arity), rels.domain(joint))
    if not rels.injective(rels.pair(point, joint)):
        raise Rejection("a product is counted several times")
    parts = run.whole(a.atom), run.whole(b.atom)
    term = run.terms.make(Kind.PRODUCT, type_.dtype, a.atom.arity + b.atom.arity, flavour, parts)
    return Piece(term, rels.compose(rels.reverse(point), joint))
