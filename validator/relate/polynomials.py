"""Sums of products over the reals: v[p] = Σ over pieces and x ∈ R(p) of c · (A1^e1 · … · Ak^ek)[x].

The atom of each piece is a monomial, its index the indices of its factors one after the other. What a value is built
of by +, −, ·, / and exp comes out as one such form, and equal values mostly as equal forms:

- factors of one atom at the same index are joined, exponents added; exp(Σ c·m) is Π exp(m)^c;
- log of a positive product is the sum of the logarithms of its exponentials and of the rest;
- a choice by a predicate p is [p] · a + (1 − [p]) · b, where [p] is 1 or 0 and its own square;
- products of sums are multiplied out, unless an atom would then occur at two indices: such a sum is one factor;
- a sum that is divided by is one factor too, without what is the same for all its summands;
- Σ over x ∈ S(z) of m[x], times A[z]^e for the factor A that is this very sum, is A[z]^(1 + e).

All of that is the distributive law and exp(a + b) = exp(a) · exp(b), with x / x = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid
from ..ops.sums import counted
from ..ops.values import gathered
from ..read.ir import DType
from ..relation.build import names
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .context import Context, Definition
from .forms import Factors, Form, NoFormError, factors_of, matched, offsets_of, restricted, role_of
from .representatives import representatives
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

MAX_PIECES = 24
"""A form of more monomials is given up on."""

MAX_FACTORS = 12
"""So is a monomial of more factors."""

MAX_ROUNDS = 12
"""Rounds of multiplying out and cancelling."""


@dataclass(slots=True)
class Polynomials:
    """The arithmetic of forms, and the sums that were made factors."""

    context: Context
    _sums: dict[int, tuple[tuple[Piece, ...], Dom]] = field(default_factory=dict)
    """By the number of a factor that stands for a sum: the sum at each of its indices, and these."""
    _known: dict[tuple[tuple[int, Fraction], ...], list[Definition]] = field(default_factory=dict)

    # forms ----------------------------------------------------------------------------------------------------------

    def monomial(self, factors: Factors) -> Atom:
        """The product of these factors; they are sorted."""
        if len(factors) > MAX_FACTORS:
            raise NoFormError
        key = tuple((atom.number, exponent) for atom, exponent in factors)
        arity = sum(atom.arity for atom, _ in factors)
        atoms = tuple(atom for atom, _ in factors)
        label = "·".join(f"{atom}" if e == 1 else f"{atom}^{e}" for atom, e in factors) or "1"
        return self.context.atoms.make(AtomKind.MONOMIAL, DType.F64, arity, key, atoms, label=label, data=factors)

    def number(self, walk: Walk, value: Fraction, domain: Dom) -> Form:
        """A constant."""
        if value == 0:
            return Form(domain, ())
        return Form(domain, (Piece(self.monomial(()), walk.empty_tuple(domain), value),))

    def factor(self, atom: Atom, rel: Rel, domain: Dom) -> Form:
        """One atom, read through a function."""
        return Form(domain, (Piece(self.monomial(((atom, Fraction(1)),)), rel),))

    def read(self, walk: Walk, form: Form, rel: Rel, domain: Dom) -> Form:
        """p → Σ over q ∈ rel(p) of form[q]."""
        store, pieces = self.context.store, []
        for piece in form.pieces:
            once = counted(walk.store, rel, piece.rel)
            if once is None:
                raise NoFormError
            outer, times = once
            composed = store.compose(outer, piece.rel)
            if not store.empty(composed):
                pieces.append(Piece(piece.atom, composed, piece.coefficient * times))
        below = None if form.below is None else store.preimage(form.below, rel)
        return self.normal(walk, domain, pieces, below)

    def add(self, walk: Walk, forms: Sequence[Form], signs: Sequence[int]) -> Form:
        """The sum of forms on the same points, each with its sign."""
        store, domain, below = self.context.store, forms[0].domain, None
        for form, sign in zip(forms, signs, strict=True):
            domain = store.set_meet(domain, form.domain)
            if form.below is not None:
                if sign < 0:
                    raise NoFormError
                below = form.below if below is None else store.set_union(below, form.below)
        pieces = [Piece(p.atom, p.rel, p.coefficient * s) for f, s in zip(forms, signs, strict=True) for p in f.pieces]
        return self.normal(walk, domain, pieces, below)

    def multiply(self, walk: Walk, first: Form, second: Form) -> Form:
        """The product of two forms of real numbers."""
        if first.below is not None or second.below is not None:
            raise NoFormError
        store, pieces = self.context.store, []
        domain = store.set_meet(first.domain, second.domain)
        firsts, seconds = first.pieces, second.pieces
        if any(self._clash(a, b) for a in firsts for b in seconds):
            firsts, seconds = self._filled(firsts), self._filled(seconds)
        for a in firsts:
            for b in seconds:
                if store.set_empty(store.set_meet(store.domain(a.rel), store.domain(b.rel))):
                    continue
                if len(pieces) > MAX_PIECES:
                    raise NoFormError
                if not self._clash(a, b):
                    pieces += self._times(a, b)
                    continue
                for one in self.one_factor(walk, a):
                    for other in self.one_factor(walk, b):
                        pieces += self._times(one, other)
        return self.normal(walk, domain, pieces)

    def _filled(self, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        """The same sum with whole rows in it: a · x + b · Σ of the row's others is (a − b) · x + b · Σ of the row."""
        store, filled = self.context.store, list(pieces)
        for i, part in enumerate(filled):
            for j, others in enumerate(filled):
                if i == j or part.atom is not others.atom or store.single_valued(others.rel):
                    continue
                same_points = store.set_equal(store.domain(part.rel), store.domain(others.rel))
                if store.weight(others.rel) < 2 or not same_points or not store.disjoint(part.rel, others.rel):
                    continue
                row = store.in_one_piece(store.union(part.rel, others.rel))
                if row is not None:
                    filled[j] = Piece(part.atom, row, others.coefficient)
                    filled[i] = Piece(part.atom, part.rel, part.coefficient - others.coefficient)
                    break
        return tuple(filled)

    def inverse(self, walk: Walk, form: Form) -> Form:
        """One divided by a form that is a real number other than zero."""
        store = self.context.store
        if form.below is not None or not form.pieces:
            raise NoFormError
        rest, pieces = form.domain, []
        for whole in self.whole(walk, form.domain, form.pieces):
            rest = store.set_minus(rest, store.domain(whole.rel))
            factors = tuple((atom, -exponent) for atom, exponent in factors_of(whole))
            pieces += self._sorted(factors, whole.rel, 1 / Fraction(whole.coefficient))
        if not store.set_empty(rest):
            raise NoFormError
        return self.normal(walk, form.domain, pieces)

    def exponential(self, walk: Walk, form: Form) -> Form:
        """exp of a form: a product of powers; 0 where the form is −∞."""
        store = self.context.store
        domain = form.domain if form.below is None else store.set_minus(form.domain, form.below)
        parts = [Piece(self.monomial(()), walk.empty_tuple(domain))]
        for single in [part for piece in form.pieces for part in self.one_factor(walk, piece)]:
            power = self._power_of_exponential(single)
            there, extended = store.domain(single.rel), []
            for part in parts:
                rel = store.restrict(part.rel, there)
                if not store.empty(rel):
                    extended += self._times(Piece(part.atom, rel), power)
                rel = store.restrict(part.rel, store.set_minus(store.domain(part.rel), there))
                if not store.empty(rel):
                    extended.append(Piece(part.atom, rel))
            parts = extended
        return self.normal(walk, form.domain, parts)

    def _power_of_exponential(self, piece: Piece) -> Piece:
        """exp(c · m) as exp(m)^c, or m'^c where m is the logarithm of m'."""
        power, factors = Fraction(piece.coefficient), factors_of(piece)
        if len(factors) == 1 and factors[0][1] == 1 and power.denominator == 1 and role_of(factors[0][0]) == "log":
            (logarithm,) = factors[0][0].operands
            raised = tuple((atom, exponent * power) for atom, exponent in logarithm.data)
            results = self._sorted(raised, piece.rel, Fraction(1))
            if len(results) != 1:
                raise NoFormError
            return results[0]
        return Piece(self.monomial(((self._function("exp", piece.atom), power),)), piece.rel)

    def logarithm(self, walk: Walk, form: Form) -> Form:
        """log of a form that is positive: exponentials come out of it, and what is left is one factor."""
        if form.below is not None or not form.pieces:
            raise NoFormError
        pieces: list[Piece] = []
        for whole in self.whole(walk, form.domain, form.pieces):
            if whole.coefficient != 1:
                raise NoFormError
            rest: list[int] = []
            for k, ((atom, exponent), rel) in enumerate(self.reads(whole)):
                if role_of(atom) == "exp":
                    pieces.append(Piece(atom.operands[0], rel, exponent))
                else:
                    rest.append(k)
            if rest:
                factors = factors_of(whole)
                kept = tuple(factors[k] for k in rest)
                # of one divisor, which is positive then, it is taken away
                sign = -1 if len(kept) == 1 and kept[0][1] == -1 else 1
                inner = self.monomial(tuple((atom, exponent * sign) for atom, exponent in kept))
                outer = self.monomial(((self._function("log", inner), Fraction(1)),))
                pieces.append(Piece(outer, self._blocks(whole.rel, factors, rest), sign))
        return self.normal(walk, form.domain, pieces)

    def indicator(self, predicate: Atom, rel: Rel, domain: Dom) -> Form:
        """1 where a predicate holds and 0 where it does not."""
        return self.factor(self._function("is", predicate), rel, domain)

    def _function(self, role: str, of: Atom) -> Atom:
        key = (role, of.number)
        return self.context.atoms.make(AtomKind.REAL, DType.F64, of.arity, key, (of,), label=f"{role}({of})")

    # products -------------------------------------------------------------------------------------------------------

    def reads(self, piece: Piece) -> list[tuple[tuple[Atom, Fraction], Rel]]:
        """The factors of a piece with their exponents, and how each is read."""
        factors = factors_of(piece)
        return [(factor, self._blocks(piece.rel, factors, [k])) for k, factor in enumerate(factors)]

    def _blocks(self, rel: Rel, factors: Factors, chosen: Sequence[int]) -> Rel:
        """The relation to the indices of some factors only, in this order."""
        if list(chosen) == list(range(len(factors))):
            return rel
        variables, offsets = names("x", rel.arity_out), offsets_of(factors)
        kept = [variables[k] for position in chosen for k in range(*offsets[position])]
        return self.context.store.compose(
            rel, self.context.store.rel(f"{{[{','.join(variables)}] -> [{','.join(kept)}]}}")
        )

    def _alike(self, arity: int, first: tuple[int, int], second: tuple[int, int], sign: str = "=") -> Dom:
        """Indices in which two blocks are equal, or the first one comes before the second one."""
        pairs = [(f"x{a}", f"x{b}") for a, b in zip(range(*first), range(*second), strict=True)]
        if sign == "=":
            condition = " and ".join(f"{a} = {b}" for a, b in pairs) or "true"
        else:
            equal = [" and ".join(f"{a} = {b}" for a, b in pairs[:k]) for k in range(len(pairs))]
            condition = " or ".join(
                f"({before + ' and ' if before else ''}{a} < {b})" for before, (a, b) in zip(equal, pairs, strict=True)
            )
        return self.context.store.dom(f"{{[{','.join(names('x', arity))}] : {condition}}}")

    def _clash(self, first: Piece, second: Piece) -> bool:
        """Whether a product of sums would hold one atom at two indices."""
        store = self.context.store
        if store.single_valued(first.rel) and store.single_valued(second.rel):
            return False
        mine, other = factors_of(first), factors_of(second)
        joint, count = None, first.atom.arity
        for (a, _), left in zip(mine, offsets_of(mine), strict=True):
            for (b, _), right in zip(other, offsets_of(other), strict=True):
                if a is b and a.arity:
                    joint = joint or store.pair(first.rel, second.rel)
                    same = self._alike(joint.arity_out, left, (right[0] + count, right[1] + count))
                    if not store.set_subset(store.range(joint), same):
                        return True
        return False

    def _times(self, first: Piece, second: Piece) -> list[Piece]:
        """The product of two pieces, factors at the same index joined."""
        joint = self.context.store.pair(first.rel, second.rel)
        factors = (*factors_of(first), *factors_of(second))
        coefficient = Fraction(first.coefficient) * Fraction(second.coefficient)
        return self._joined(factors, joint, coefficient, tuple(range(len(factors))), frozenset())

    def _joined(
        self,
        factors: Factors,
        rel: Rel,
        coefficient: Fraction,
        slots: tuple[int, ...],
        apart: frozenset[tuple[int, int]],
    ) -> list[Piece]:
        """The pieces of a product, cut where two factors of one atom are at the same index; `slots` name factors."""
        store = self.context.store
        if store.empty(rel):
            return []
        offsets = offsets_of(factors)
        for i, (atom, exponent) in enumerate(factors):
            for j in range(i + 1, len(factors)):
                if factors[j][0] is not atom or (slots[i], slots[j]) in apart:
                    continue
                same = store.restrict_range(rel, self._alike(rel.arity_out, offsets[i], offsets[j]))
                other = store.minus(rel, same)
                made = self._joined(factors, other, coefficient, slots, apart | {(slots[i], slots[j])})
                if store.empty(same):
                    return made
                kept = [k for k in range(len(factors)) if k != j]
                power = exponent + factors[j][1]
                if power > 1 and role_of(atom) == "is":
                    power = Fraction(1)
                merged = tuple((a, e if k != i else power) for k, (a, e) in enumerate(factors))
                rest, fewer = self._blocks(same, factors, kept), tuple(merged[k] for k in kept)
                if power == 0:
                    rest = self._without(rest, fewer, i)
                    kept.pop(i)
                    fewer = fewer[:i] + fewer[i + 1 :]
                return made + self._joined(fewer, rest, coefficient, tuple(slots[k] for k in kept), apart)
        return self._sorted(factors, rel, coefficient)

    def _without(self, rel: Rel, factors: Factors, position: int) -> Rel:
        """The relation without a factor that became 1, where no two summands become one by that."""
        others = [k for k in range(len(factors)) if k != position]
        store, kept = self.context.store, self._blocks(rel, factors, others)
        if not store.single_valued(rel):
            given = self._blocks(rel, factors, [*others, position])
            if not store.single_valued(store.into_domain(given, kept.arity_out)):
                raise NoFormError
        return kept

    def _sorted(self, factors: Factors, rel: Rel, coefficient: Fraction) -> list[Piece]:
        """Factors by number; those of one atom and exponent by their index, at each point by itself."""
        store = self.context.store
        order = sorted(range(len(factors)), key=lambda k: (factors[k][0].number, factors[k][1]))
        rel = self._blocks(rel, factors, order)
        factors = tuple(factors[k] for k in order)
        twins = [k for k in range(len(factors) - 1) if factors[k] == factors[k + 1]]
        atom = self.monomial(factors)
        if not twins:
            return [Piece(atom, rel, coefficient)]
        offsets = offsets_of(factors)
        behind = [self._alike(rel.arity_out, offsets[k + 1], offsets[k], "<") for k in twins]
        done, pending = list[Piece](), [rel]
        while pending:
            if len(done) + len(pending) > MAX_PIECES:
                raise NoFormError
            current = pending.pop()
            for k, wrong in zip(twins, behind, strict=True):
                turned = store.restrict_range(current, wrong)
                if store.empty(turned):
                    continue
                swapped = [k + 1 if j == k else k if j == k + 1 else j for j in range(len(factors))]
                good = store.minus(current, turned)
                pending += [part for part in (good, self._blocks(turned, factors, swapped)) if not store.empty(part)]
                break
            else:
                done.append(Piece(atom, current, coefficient))
        return done

    # sums as factors ------------------------------------------------------------------------------------------------

    def one_factor(self, walk: Walk, piece: Piece) -> list[Piece]:
        """A piece that sums as products of factors, one of them the sum; any other piece as it is."""
        store = self.context.store
        if store.single_valued(piece.rel):
            return [piece]
        return self.whole(walk, store.domain(piece.rel), [piece])

    def whole(self, walk: Walk, domain: Dom, pieces: Sequence[Piece]) -> list[Piece]:
        """A form as one product at each point: what all its summands share, and the sum of the rest."""
        pieces = sorted(pieces, key=lambda piece: (piece.atom.number, piece.coefficient))
        lead = Fraction(pieces[0].coefficient)
        pieces = [Piece(piece.atom, piece.rel, piece.coefficient / lead) for piece in pieces]
        shared, pieces = self._shared(domain, pieces)
        results = [Piece(self.monomial(()), walk.empty_tuple(domain), lead)]
        if len(pieces) > 1 or factors_of(pieces[0]):
            sums = self._sum(walk, Form(domain, tuple(pieces)))
            results = [Piece(self.monomial(((atom, Fraction(1)),)), rel, lead) for atom, rel in sums]
        for (atom, exponent), rel in shared:
            factor = Piece(self.monomial(((atom, exponent),)), rel)
            results = [part for result in results for part in self._times(result, factor)]
        return results

    def _shared(self, domain: Dom, pieces: list[Piece]) -> tuple[list[tuple[tuple[Atom, Fraction], Rel]], list[Piece]]:
        """Factors that are the same for all summands of each point, taken out, and what is left of the pieces."""
        store = self.context.store
        if any(not store.set_equal(store.domain(piece.rel), domain) for piece in pieces):
            return [], pieces
        reads = [
            [self._blocks(piece.rel, factors_of(piece), [k]) for k in range(len(factors_of(piece)))] for piece in pieces
        ]
        found: list[tuple[tuple[Atom, Fraction], Rel]] = []
        seen: list[tuple[Atom, Rel]] = []
        for piece, rels in zip(pieces, reads, strict=True):
            for (atom, _), rel in zip(factors_of(piece), rels, strict=True):
                if not store.single_valued(rel) or any(a is atom and store.equal(r, rel) for a, r in seen):
                    continue
                seen.append((atom, rel))
                least = min(self._exponent(p, rs, atom, rel) for p, rs in zip(pieces, reads, strict=True))
                if least:
                    found.append(((atom, least), rel))
        left = pieces
        for (atom, exponent), rel in found:
            divisor = Piece(self.monomial(((atom, -exponent),)), rel)
            divided = [self._times(piece, divisor) for piece in left]
            if any(len(parts) != 1 for parts in divided):
                raise NoFormError
            left = [part for parts in divided for part in parts]
        return found, left

    def sum_of(self, atom: Atom) -> tuple[tuple[Piece, ...], Dom] | None:
        """What a factor that stands for a sum is at each of its indices, and these; None for any other factor."""
        return self._sums.get(atom.number)

    def _definition(self, atom: Atom) -> tuple[Piece, ...] | None:
        found = self._sums.get(atom.number)
        return None if found is None else found[0]

    def _exponent(self, piece: Piece, reads: Sequence[Rel], atom: Atom, rel: Rel) -> Fraction:
        """How often a piece has this factor, read like this; 0 where it has not."""
        for (own, exponent), read in zip(factors_of(piece), reads, strict=True):
            if own is atom and self.context.store.equal(read, rel):
                return exponent
        return Fraction(0)

    def _sum(self, walk: Walk, form: Form) -> list[tuple[Atom, Rel]]:
        """The factors that stand for a sum, and where and how each is read; the same one for the same sum."""
        store = self.context.store
        if not form.pieces:
            raise NoFormError
        for known in self._known.get(form.key, ()):
            match, good = matched(walk, form, known)
            if match is None or store.set_empty(good):
                continue
            found = [(known.atom, match)]
            rest = restricted(walk, form, store.set_minus(form.domain, good))
            return found if store.set_empty(rest.domain) else found + self._sum(walk, rest)
        choose = representatives(walk, form.domain, [(piece.rel, 0) for piece in form.pieces])
        kept = store.range(choose)
        definition = restricted(walk, form, kept).pieces
        parts = tuple(piece.atom for piece in definition)
        label = f"Σ {parts[0]}" if parts else "0"
        atom = self.context.atoms.fresh(AtomKind.REAL, DType.F64, kept.arity, parts, label=label)
        self._sums[atom.number] = definition, kept
        self._known.setdefault(form.key, []).append(Definition(atom, definition, Monoid.ADD, 1, atom.number, True))
        return [(atom, choose)]

    # the normal form ------------------------------------------------------------------------------------------------

    def normal(self, walk: Walk, domain: Dom, pieces: Iterable[Piece], below: Dom | None = None) -> Form:
        """The form with sums multiplied out that can be, and divided by themselves."""
        store = self.context.store
        current = gathered(store, pieces)
        for _ in range(MAX_ROUNDS):
            if len(current) > MAX_PIECES:
                raise NoFormError
            changed, following = False, []
            for piece in current:
                made = self._expanded(piece) or self._cancelled(piece)
                changed |= made is not None
                following += [piece] if made is None else made
            if not changed:
                break
            current = gathered(store, following)
        if below is not None and store.set_empty(below):
            below = None
        return Form(domain, current, below)

    def _expanded(self, piece: Piece) -> list[Piece] | None:
        """The piece with its latest sum written out, where no atom then occurs twice."""
        store, factors = self.context.store, factors_of(piece)
        offsets = offsets_of(factors)
        for position in sorted(range(len(factors)), key=lambda k: -factors[k][0].number):
            atom, exponent = factors[position]
            definition = self._definition(atom)
            if definition is None or exponent != 1:
                continue
            others = [k for k in range(len(factors)) if k != position]
            taken = {factors[k][0] for k in others}
            if any(inner in taken for part in definition for inner, _ in factors_of(part)):
                continue
            if any(len(others) + len(factors_of(part)) > MAX_FACTORS for part in definition):
                continue
            arranged = self._blocks(piece.rel, factors, [*others, position])
            rest = tuple(factors[k] for k in others)
            width = arranged.arity_out - (offsets[position][1] - offsets[position][0])
            made: list[Piece] = []
            for part in definition:
                through = store.side_by_side(store.identity_on(store.everything(width)), part.rel)
                if not store.counts_once(arranged, through):
                    return None
                inner = store.compose(arranged, through)
                coefficient = Fraction(piece.coefficient) * part.coefficient
                made += self._sorted((*rest, *factors_of(part)), inner, coefficient) if not store.empty(inner) else []
            return made
        return None

    def _cancelled(self, piece: Piece) -> list[Piece] | None:
        """The piece with a sum that it also divides by, or is multiplied by, taken as that sum."""
        store, factors = self.context.store, factors_of(piece)
        for position, (atom, _) in enumerate(factors):
            definition = self._definition(atom)
            if definition is None or len(definition) != 1:
                continue
            wanted = factors_of(definition[0])
            places = [[k for k, own in enumerate(factors) if own == one] for one in wanted]
            if any(len(found) != 1 for found in places) or len({atom for atom, _ in wanted}) < len(wanted):
                continue
            chosen = [found[0] for found in places]
            others = [k for k in range(len(factors)) if k not in chosen]
            arranged = self._blocks(piece.rel, factors, [*others, *chosen])
            rest, kept = tuple(factors[k] for k in others), self._blocks(piece.rel, factors, others)
            own = self._blocks(store.identity_on(store.range(kept)), rest, [others.index(position)])
            whole = store.pair(store.identity_on(store.range(kept)), store.compose(own, definition[0].rel))
            if not store.equal(arranged, store.compose(kept, whole)):
                continue
            place = others.index(position)
            raised = tuple((a, e + 1 if k == place else e) for k, (a, e) in enumerate(rest))
            if raised[place][1] == 0:
                kept = self._without(kept, raised, place)
                raised = raised[:place] + raised[place + 1 :]
            return [Piece(self.monomial(raised), kept, piece.coefficient / Fraction(definition[0].coefficient))]
        return None
