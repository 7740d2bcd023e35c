"""Unknown integers as indices: what is read at e[x] is, for every t, what is read at t where e[x] = t.

An integer (or boolean) element has exactly one value t in its type's range, so at most one of these is present, and
whatever is done to the integer acts on t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ops.integers import index_function
from ..relation.build import Builder, names
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .terms import Kind, Part, Term, unguarded
from .values import Ground, Piece, Value

MAX_CASES = 24
"""An integer expression of more cases than this is taken as one unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """p → (value indices, x1, t1, …): the first `count` coordinates are values, the others those of the guards."""

    guards: tuple[Term, ...]
    count: int
    rel: Rel

    @staticmethod
    def of(piece: Piece) -> Guarded:
        base, guards = unguarded(piece.term)
        return Guarded(guards, base.arity, piece.rel)


@dataclass(slots=True)
class Guards:
    """Index forms, with what is known of the range of unknown integers at this place of the check."""

    ground: Ground
    builder: Builder
    ranges: Mapping[Term, tuple[int, int]]
    forms: dict[Term, tuple[Piece, ...]]

    def index_form(self, value: Value) -> Value:
        """An integer view with every piece INT under guards."""
        if value.monoid is not None:
            raise Rejection("a partial result is an index")
        rels, pieces = self.ground.rels, []
        for piece in value.pieces:
            if piece.term.kind is Kind.GUARD:
                raise Rejection("an index is read under guards itself")
            pieces += [Piece(form.term, rels.compose(piece.rel, form.rel)) for form in self._expanded(piece.term)]
        return Value(value.type, self.ground.gathered(pieces), value.domain, theory=value.theory)

    def _expanded(self, term: Term) -> tuple[Piece, ...]:
        if term not in self.forms:
            self.forms[term] = self._computed(term) or (self._root(term),)
        return self.forms[term]

    def _root(self, term: Term) -> Piece:
        rels = self.ground.rels
        if term.kind is Kind.INTEGER:
            return Piece(term, rels.rel("{[n] -> [n]}"))
        low, high = self.ranges.get(term, term.dtype.integer_range)
        index = names("z", term.arity)
        inner = ",".join(["t", *index, "t"])
        guarded = self.ground.terms.guard(self.ground.terms.integer(term.dtype), (term,))
        return Piece(guarded, rels.rel(f"{{[{','.join(index)}] -> [{inner}] : {low} <= t <= {high}}}"))

    def _computed(self, term: Term) -> tuple[Piece, ...] | None:
        """An integer op on known or unknown integers, as index arithmetic on their values."""
        operation = self._operation(term)
        if operation is None or any(not (p.term.dtype.is_integer or p.term.dtype.is_bool) for p in operation[1]):
            return None
        name, parts = operation
        ways: list[Guarded] = []
        for number, part in enumerate(parts):
            options = [Guarded.of(piece) for piece in self._operand(part)]
            if number == 0:
                ways = options
                continue
            ways = [made for one in ways for other in options if (made := self.join(one, other)) is not None]
            if len(ways) > MAX_CASES:
                return None
        rels, pieces, types = self.ground.rels, [], [part.term.dtype for part in parts]
        for way in ways:
            values = rels.project_out(way.rel, way.count, way.rel.arity_out - way.count)
            attributes = self.ground.terms.meanings.get(str(term.key), {})
            function = index_function(self.builder.store, name, attributes, types, term.dtype, values)
            if function is None:
                return None
            rel = rels.compose(way.rel, rels.side_by_side(function, self._keep(way.rel.arity_out - way.count)))
            pieces.append(Piece(self.ground.terms.guard(self.ground.terms.integer(term.dtype), way.guards), rel))
        result = self.ground.gathered(pieces)
        return result if len(result) <= MAX_CASES else None

    def _operation(self, term: Term) -> tuple[str, tuple[Part, ...]] | None:
        if not (term.dtype.is_integer or term.dtype.is_bool):
            return None
        if term.kind is Kind.APPLY:
            return str(term.key).partition(" ")[0], term.parts
        if term.kind is not Kind.SUM or term.monoid is None or len(term.parts) != 2 or not term.monoid.idempotent:
            return None
        rels = self.ground.rels
        first, second = (part.rel for part in term.parts)
        assert first is not None and second is not None
        whole = rels.set_equal(rels.domain(first), rels.domain(second))
        return (term.monoid.value, term.parts) if whole and all(map(rels.single_valued, (first, second))) else None

    def _operand(self, part: Part) -> list[Piece]:
        rels = self.ground.rels
        if part.term.kind is Kind.NUMBER:
            assert part.rel is not None
            constant = rels.rel(f"{{[] -> [{part.term.key}]}}")
            return [Piece(self.ground.terms.integer(part.term.dtype), rels.compose(part.rel, constant))]
        forms = self._expanded(part.term)
        return [p if part.rel is None else Piece(p.term, rels.compose(part.rel, p.rel)) for p in forms]

    # putting guards together ----------------------------------------------------------------------------------------

    def _keep(self, count: int) -> Rel:
        inner = ",".join(names("g", count))
        return self.ground.rels.rel(f"{{[{inner}] -> [{inner}]}}")

    def joints(self, indices: Sequence[Value], domain: Dom) -> list[Guarded]:
        """All combinations of the pieces of several index values."""
        if not indices:
            return [Guarded((), 0, self.ground.nothing(domain))]
        current: list[Guarded] = []
        for number, value in enumerate(indices):
            options = [Guarded.of(piece) for piece in value.pieces]
            current = (
                [made for one in current for other in options if (made := self.join(one, other)) is not None]
                if number
                else options
            )
        return current

    def join(self, first: Guarded, second: Guarded) -> Guarded | None:
        """Both on the points and guards where both hold, the same element guarded once; None where they never do."""
        rels = self.ground.rels
        values_a, values_b = names("a", first.count), names("b", second.count)
        slots_a, slots_b = _slots("g", first.guards), _slots("h", second.guards)
        twins: list[tuple[int, int]] = []
        for other, term in enumerate(second.guards):
            for mine, candidate in enumerate(first.guards):
                taken = any(mine == known for known, _ in twins)
                if candidate is term and not taken and self._same(self._at(first, mine), self._at(second, other)):
                    twins.append((mine, other))
                    break
        shared_a = [name for mine, _ in twins for name in slots_a[mine]]
        shared_b = [name for _, other in twins for name in slots_b[other]]
        alone = [k for k in range(len(first.guards)) if k not in {mine for mine, _ in twins}]
        fresh = [k for k in range(len(second.guards)) if k not in {other for _, other in twins}]
        rest_a = [*values_a, *(name for k in alone for name in slots_a[k])]
        rest_b = [*values_b, *(name for k in fresh for name in slots_b[k])]
        flat_a, flat_b = [n for slot in slots_a for n in slot], [n for slot in slots_b for n in slot]
        # what is shared is matched before the product is formed, which would have all pairs of pieces
        left = rels.into_domain(self._ordered(first.rel, [*values_a, *flat_a], [*shared_a, *rest_a]), len(shared_a))
        right = rels.into_domain(self._ordered(second.rel, [*values_b, *flat_b], [*shared_b, *rest_b]), len(shared_a))
        whole = rels.into_range(rels.pair(left, right), len(shared_a))
        source = [*shared_a, *rest_a, *rest_b]
        target = [*values_a, *values_b, *flat_a, *(name for k in fresh for name in slots_b[k])]
        rel = self._ordered(whole, source, target)
        guards = (*first.guards, *(second.guards[k] for k in fresh))
        return None if rels.empty(rel) else Guarded(guards, first.count + second.count, rel)

    def _ordered(self, rel: Rel, source: list[str], target: list[str]) -> Rel:
        """The relation with its range in another order."""
        text = f"{{[{','.join(source)}] -> [{','.join(target)}]}}"
        return rel if source == target else self.ground.rels.compose(rel, self.ground.rels.rel(text))

    def _at(self, value: Guarded, number: int) -> Rel:
        """{p -> x} of one guard."""
        start = value.count + sum(guard.arity + 1 for guard in value.guards[:number])
        arity = value.guards[number].arity
        rels = self.ground.rels
        return rels.project_out(
            rels.project_out(value.rel, start + arity, value.rel.arity_out - start - arity), 0, start
        )

    def _same(self, first: Rel, second: Rel) -> bool:
        """Whether both are one element wherever both are given."""
        rels = self.ground.rels
        common = rels.set_meet(rels.domain(first), rels.domain(second))
        mine, other = rels.restrict(first, common), rels.restrict(second, common)
        return rels.single_valued(mine) and rels.equal(mine, other)

    def accessed(self, value: Value, index: Guarded, where: Rel) -> list[Piece]:
        """Pieces of value[where(p, n)] for guarded integers n."""
        rels = self.ground.rels
        keep = self._keep(index.rel.arity_out - index.count)
        with_point = rels.pair(rels.identity_on(rels.domain(index.rel)), index.rel)
        target = rels.compose(with_point, rels.side_by_side(where, keep))
        pieces = []
        for piece in value.pieces:
            read = rels.compose(target, rels.side_by_side(piece.rel, keep))
            if not rels.empty(read):
                base, inner = unguarded(piece.term)
                pieces += self._merged(
                    base, Guarded((*inner, *index.guards), base.arity, read), len(inner), piece.count
                )
        return pieces

    def _merged(self, base: Term, whole: Guarded, inner: int, count: int) -> list[Piece]:
        """Guards that test the same element twice as one."""
        slots, kept, ties = _slots("g", whole.guards), list(range(inner)), []
        for number in range(inner, len(whole.guards)):
            twins = [
                k
                for k in range(inner)
                if whole.guards[k] is whole.guards[number] and self._same(self._at(whole, k), self._at(whole, number))
            ]
            if twins:
                ties += [f"{a} = {b}" for a, b in zip(slots[number], slots[twins[0]], strict=True)]
            else:
                kept.append(number)
        values = names("y", whole.count)
        source = [*values, *(name for slot in slots for name in slot)]
        target = [*values, *(name for k in kept for name in slots[k])]
        body = f" : {' and '.join(ties)}" if ties else ""
        rels = self.ground.rels
        rel = rels.compose(whole.rel, rels.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]{body}}}"))
        guards = tuple(whole.guards[k] for k in kept)
        return [] if rels.empty(rel) else [Piece(self.ground.terms.guard(base, guards), rel, count)]

    def both(self, piece: Piece, test: Guarded) -> list[Piece]:
        """The piece where a test holds as well; the value of the test is dropped."""
        joined = self.join(Guarded.of(piece), test)
        if joined is None:
            return []
        rel = self.ground.rels.project_out(joined.rel, joined.count - test.count, test.count)
        return [Piece(self.ground.terms.guard(unguarded(piece.term)[0], joined.guards), rel, piece.count)]


def _slots(prefix: str, guards: Sequence[Term]) -> list[list[str]]:
    """Names of the index positions (x…, t) of each guard."""
    return [[f"{prefix}{k}_{j}" for j in range(term.arity + 1)] for k, term in enumerate(guards)]
