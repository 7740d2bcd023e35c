"""Values of either program: v[p] = ⊕ over pieces and x ∈ R(p) of count · term[x], where they are defined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..read.ir import TensorType
from ..relation.build import names
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Term, Terms, number_of, unguarded

_THEORIES = tuple(Theory)


def weakest(*theories: Theory) -> Theory:
    """The arithmetic that a conclusion from all of them needs."""
    return max(theories, key=_THEORIES.index, default=Theory.EXACT)


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements of one term, each counted `count` times."""

    term: Term
    rel: Rel
    count: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A view (no monoid) has one element at every point of its domain; a sum, the neutral element where it has none."""

    type: TensorType
    pieces: tuple[Piece, ...]
    domain: Dom
    monoid: Monoid | None = None
    levels: int = 0
    """How many summations it went through; only those of one step can be equal bit for bit."""
    theory: Theory = Theory.EXACT

    def needing(self, *theories: Theory) -> Value:
        return replace(self, theory=weakest(self.theory, *theories))


@dataclass(frozen=True, slots=True)
class Ground:
    """What all steps of a check share."""

    rels: Relations
    terms: Terms
    single: dict[Term, Dom] = field(default_factory=dict)
    """Where a view of elements under guards is known to have exactly one: it equals a value that has."""

    def establish(self, piece: Piece) -> None:
        image = self.rels.range(piece.rel)
        known = self.single.get(piece.term)
        self.single[piece.term] = image if known is None else self.rels.set_union(known, image)

    def is_established(self, piece: Piece) -> bool:
        known = self.single.get(piece.term)
        return known is not None and self.rels.set_subset(self.rels.range(piece.rel), known)

    # moving ---------------------------------------------------------------------------------------------------------

    def gathered(self, pieces: Iterable[Piece], idempotent: bool = False) -> tuple[Piece, ...]:
        """One piece a term and count, where elements that occur twice are counted twice unless that changes nothing."""
        rels = self.rels
        disjoint: dict[Term, list[Piece]] = {}
        pending = list(pieces)[::-1]
        while pending:
            piece = pending.pop()
            if rels.empty(piece.rel) or not piece.count:
                continue
            group = disjoint.setdefault(piece.term, [])
            clash = next((old for old in group if not rels.empty(rels.meet(old.rel, piece.rel))), None)
            if clash is None:
                group.append(piece)
                continue
            group.remove(clash)
            if idempotent:
                pending.append(Piece(piece.term, rels.union(clash.rel, piece.rel)))
                continue
            common = rels.meet(clash.rel, piece.rel)
            pending.append(Piece(piece.term, rels.minus(clash.rel, common), clash.count))
            pending.append(Piece(piece.term, rels.minus(piece.rel, common), piece.count))
            pending.append(Piece(piece.term, common, clash.count + piece.count))
        merged: dict[tuple[Term, int], Rel] = {}
        for group in disjoint.values():
            for piece in group:
                key = (piece.term, piece.count)
                merged[key] = rels.union(merged[key], piece.rel) if key in merged else piece.rel
        return tuple(Piece(term, rel, count) for (term, count), rel in merged.items())

    def read(self, value: Value, rel: Rel, type_: TensorType) -> Value:
        """out[p] = value[rel(p)] for a relation that is a function."""
        if not self.rels.single_valued(rel):
            raise Rejection("an element would be read from several places")
        composed = [Piece(p.term, self.rels.compose(rel, p.rel), p.count) for p in value.pieces]
        pieces = tuple(piece for piece in composed if not self.rels.empty(piece.rel))
        domain = self.rels.preimage(value.domain, rel)
        return replace(value, type=type_, pieces=pieces, domain=domain)

    def restricted(self, value: Value, domain: Dom) -> Value:
        parts = [Piece(p.term, self.rels.restrict(p.rel, domain), p.count) for p in value.pieces]
        pieces = tuple(piece for piece in parts if not self.rels.empty(piece.rel))
        return replace(value, pieces=pieces, domain=self.rels.set_meet(value.domain, domain))

    def piecewise(self, parts: Sequence[tuple[Rel, Value]], type_: TensorType, points: Dom) -> Value:
        """out[p] = part[rel(p)] for the one part whose relation holds p."""
        rels = self.rels
        monoids = {value.monoid for _, value in parts} - {None}
        if len(monoids) > 1:
            raise Rejection("partial results of different reducers are put together")
        monoid = next(iter(monoids), None)
        domain, pieces, covered = rels.set_minus(points, points), [], rels.set_minus(points, points)
        for rel, value in parts:
            if not rels.set_empty(rels.set_meet(covered, rels.domain(rel))):
                raise Rejection("an element has two sources")
            covered = rels.set_union(covered, rels.domain(rel))
            moved = self.read(value if monoid is None else self.as_sum(value, monoid), rel, type_)
            pieces.extend(moved.pieces)
            domain = rels.set_union(domain, moved.domain)
        levels = max((value.levels for _, value in parts), default=0)
        idempotent = monoid is not None and monoid.idempotent
        theory = weakest(*(value.theory for _, value in parts))
        return Value(type_, self.gathered(pieces, idempotent), domain, monoid, levels, theory)

    # sums -----------------------------------------------------------------------------------------------------------

    def as_sum(self, value: Value, monoid: Monoid) -> Value:
        """A view as a sum of one element a point, neutral elements left out."""
        if value.monoid is monoid:
            return value
        if value.monoid is not None:
            raise Rejection(f"a partial result of '{value.monoid.value}' is taken for one of '{monoid.value}'")
        pieces, levels = [], value.levels
        for piece in value.pieces:
            rest = self.without_neutral(piece, monoid)
            if rest is not piece and not monoid.reorders_exactly(value.type.dtype):
                levels = max(levels, 1)
            if rest is not None:
                pieces.append(rest)
        return replace(value, pieces=tuple(pieces), monoid=monoid, levels=levels)

    def without_neutral(self, piece: Piece, monoid: Monoid) -> Piece | None:
        """The piece less the points at which it is the neutral element; None where nothing is left."""
        base, _ = unguarded(piece.term)
        neutral = monoid.neutral(base.dtype)
        if neutral is None:
            return piece
        number = number_of(base)
        if number is not None:
            signed_zero = isinstance(number, float) and number == 0 and math.copysign(1, number) < 0
            return None if number == neutral and not signed_zero else piece
        if base.kind is Kind.INTEGER and abs(neutral) != math.inf:
            hit = self.rels.fix_range(piece.rel, 0, int(neutral))
            if not self.rels.empty(hit):
                rest = self.rels.minus(piece.rel, hit)
                return None if self.rels.empty(rest) else Piece(piece.term, rest, piece.count)
        return piece

    # constants ------------------------------------------------------------------------------------------------------

    def nothing(self, domain: Dom) -> Rel:
        """{p -> []} on the domain."""
        return self.rels.restrict(self.rels.rel(f"{{[{','.join(names('p', domain.arity))}] -> []}}"), domain)

    def number_piece(self, term: Term, number: int, domain: Dom) -> Piece:
        """INT[number] at every point."""
        text = f"{{[{','.join(names('p', domain.arity))}] -> [{number}]}}"
        return Piece(term, self.rels.restrict(self.rels.rel(text), domain))

    def canonical(self, piece: Piece) -> Piece:
        """An integer piece of one value as that constant, so that equal constants are one term."""
        if piece.term.kind is Kind.INTEGER:
            value = self.rels.constant_range(piece.rel)
            if value is not None:
                term = self.terms.make(Kind.NUMBER, piece.term.dtype, 0, value[0])
                return Piece(term, self.rels.project_out(piece.rel, 0, 1), piece.count)
        return piece

    # views ----------------------------------------------------------------------------------------------------------

    def covered(self, pieces: Sequence[Piece]) -> Dom | None:
        """The points at which one of the pieces has its one element; rejected where two do, or one has several."""
        rels, covered = self.rels, None
        for piece in pieces:
            if not rels.single_valued(piece.rel) or piece.count != 1 or piece.term.kind is Kind.GUARD:
                raise Rejection(f"a view reads several elements of {piece.term} at a point")
            domain = rels.domain(piece.rel)
            if covered is not None and not rels.set_empty(rels.set_meet(covered, domain)):
                raise Rejection("two pieces of a view overlap")
            covered = domain if covered is None else rels.set_union(covered, domain)
        return covered

    def as_view(self, value: Value) -> Value:
        """The value if it is a view of unguarded terms that has an element at every point of its domain."""
        if value.monoid is not None:
            raise Rejection("a partial result is used as if it were complete")
        covered = self.covered(value.pieces)
        if not (self.rels.set_empty(value.domain) if covered is None else self.rels.set_subset(value.domain, covered)):
            raise Rejection("a view has no element at some point")
        return value
