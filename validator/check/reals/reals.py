"""Equality over the real numbers: values are sums of products, and definitions are put in the place of terms.

v[p] = Σ over pieces and x ∈ R(p) of c · (product of factors)[x], x being the indices of all factors side by side.
A factor is a power of a term, of its exponential or its logarithm, or is 1 where a predicate holds and 0 elsewhere. As
in `equality.py` there is nothing to search: the term that was defined last is replaced until both sides are alike.

All factors are proper (`numbers.py`). What is dropped (0 · x, x / x, x − x) is shown to be real, and no zero where it
is divided by. So each side is a real number exactly where the other one is, and the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from typing import Any

from ...ops.monoid import Monoid
from ...ops.record import Family, Theory
from ...ops.sums import counted
from ...ops.values import Piece, Value, gathered
from ...read.attributes import Comparison
from ...read.ir import DType, Program, TensorType
from ...relation.build import constant, names, passing
from ...relation.objects import Dom, Rel
from ...rules.constants import rational
from ..errors import Rejection
from ..terms import Kind, Term, is_guarded, sum_of, unguarded
from .numbers import Numbers, name_of

Factor = tuple[str, Term, Fraction]
"""Which function of a term ('' for itself, 'exp', 'log', 'is'), the term, and the power."""

Side = tuple[Piece, ...]
"""A sum of products: the atom of a piece is a tuple of factors, its coefficient a rational number."""

MAX_STEPS, MAX_PIECES, MAX_FACTORS, MAX_VALUES = 200, 24, 24, 4
"""Terms replaced for one equality; products of one side; factors of one product; values of an integer that is none."""

_ONE = Fraction(1)

_AS_POSITIVE = (
    "stablehlo.abs",
    "stablehlo.convert",
)  # what is positive if the one operand is, and the same number then


class Reals:
    """The arithmetic of one check, and what terms were found to be."""

    def __init__(self, run: Any, before: Program | None = None) -> None:
        self.run, self.rels, self.numbers = run, run.rels, Numbers(run, before)
        self._found: dict[Term, list[Piece]] = {}

    def shown(self, term: Term, parts: Sequence[Piece]) -> None:
        """That the term is each part wherever that is read."""
        for part in parts:
            there, type_ = self.rels.domain(part.rel), TensorType((), term.dtype)
            whole = Piece(term, self.rels.identity_on(there))
            self.equal(*(Value(type_, (piece,), there) for piece in (whole, part)))

    def tested(self, family: Family | None, operands: Sequence[Any], made: list[Any]) -> list[Any]:
        """What an op makes. What is equal over the reals may differ where it is undefined, which a test tells."""
        loose = any(v.theory is Theory.REAL and not v.type.dtype.is_float for v in made if isinstance(v, Value))
        floats = [value for value in operands if isinstance(value, Value) and value.type.dtype.is_float]
        for piece in [p for v in floats for p in v.pieces] if loose and family is not Family.CONTROL else ():
            if not self.numbers.is_real(piece.atom, self.rels.range(piece.rel), below=True):
                raise Rejection(f"{piece.atom} is tested, and not shown to be a real number")
        return made

    def equal(self, left: Value, right: Value) -> Theory:
        """Both at all points of both; rejected where they are not shown to be the same number.

        From then on a term that is one element of the one may have the other's elements put in its place.
        """
        for value in (left, right):
            if not value.type.dtype.is_float or value.monoid not in (None, Monoid.ADD):
                raise Rejection("no sums of real numbers")
            if value.monoid is None and is_guarded(value.pieces):
                raise Rejection("one of several elements under guards")
        sides = [
            self._gathered(part for p in value.pieces for part in self._read(p.atom, p.rel, p.coefficient))
            for value in (left, right)
        ]
        for _ in range(MAX_STEPS):
            sides = self._apart(*sides)
            if not any(sides):
                self._remember(left, right)
                self._remember(right, left)
                return Theory.REAL
            sides = self._step(sides)
        raise Rejection("an equality takes too many steps over the reals")

    def _remember(self, value: Value, other: Value) -> None:
        """What the terms of a value are, if nothing is known of them yet: those of the other one."""
        rels = self.rels
        for piece in value.pieces if value.monoid is other.monoid is None else ():
            # replacing ends if only earlier terms are put in a term's place
            earlier = all(part.atom.number < piece.atom.number for part in other.pieces)
            if earlier and rels.injective(piece.rel):
                known = self._found.setdefault(piece.atom, [])
                rest = reduce(rels.set_minus, (rels.domain(part.rel) for part in known), rels.range(piece.rel))
                back = rels.restrict(rels.reverse(piece.rel), rest)
                known += [Piece(part.atom, rels.compose(back, part.rel)) for part in other.pieces]

    def _step(self, sides: Sequence[Side]) -> list[Side]:
        """Both sides with the last term replaced that can be; else times a sum that they are divided by."""
        held = {term for side in sides for piece in side for _, term, _ in piece.atom}
        reason = None
        for term in sorted(held, key=lambda term: unguarded(term)[0].number, reverse=True):
            # a logarithm that nothing is known of may stay where the term itself is replaced
            for kept in (None, "log"):
                try:
                    if any(each[1] is term and each[0] != kept for side in sides for p in side for each in p.atom):
                        return [self._replaced(side, term, kept) for side in sides]
                except Rejection as error:
                    reason = reason or error
            for piece in (piece for side in sides for piece in side):
                for place, (role, other, power) in enumerate(piece.atom):
                    rel = self._blocks(piece, [place])
                    if role == "" and other is term and power < 0 and self.rels.single_valued(rel):
                        self._require([(role, term, power)], rel)
                        return [self._multiplied(side, (role, term, -power), rel) for side in sides]
        raise reason or Rejection("other numbers")

    def _apart(self, left: Side, right: Side) -> list[Side]:
        """What each side has more of than the other one: of a product with one sign, as often as both have it."""
        pending, others, kept, rels = list(left), list(right), list[Piece](), self.rels
        while pending:
            piece = pending.pop()
            for place, other in enumerate(others):
                if piece.atom != other.atom or piece.coefficient * other.coefficient < 0:
                    continue
                common = rels.meet(piece.rel, other.rel)
                if not rels.empty(common):
                    both = min(piece.coefficient, other.coefficient, key=abs)
                    pending += self._less(piece, common, both)
                    others[place : place + 1] = self._less(other, common, both)
                    break
            else:
                kept.append(piece)
        return [gathered(rels, kept), gathered(rels, others)]

    def _less(self, piece: Piece, common: Rel, count: Fraction) -> list[Piece]:
        """A piece without so many of some elements."""
        parts = (self.rels.minus(piece.rel, common), piece.coefficient), (common, piece.coefficient - count)
        return [Piece(piece.atom, rel, left) for rel, left in parts if left and not self.rels.empty(rel)]

    def _gathered(self, pieces: Iterable[Piece]) -> Side:
        """The pieces with one for each product; what cancels has to be real."""
        pieces = [part for piece in pieces for part in self._joined(piece)]
        if len(pieces) > MAX_PIECES:
            raise Rejection("a sum of too many products")
        for other, piece in combinations(pieces, 2):
            if other.atom == piece.atom and other.coefficient * piece.coefficient < 0:
                self._require(piece.atom, self.rels.meet(piece.rel, other.rel))
        return gathered(self.rels, pieces)

    def _require(self, factors: Sequence[Factor], rel: Rel) -> None:
        """That these factors are real numbers wherever they are read."""
        for place, (role, term, power) in enumerate(factors if not self.rels.empty(rel) else ()):
            at = self.rels.range(self._blocks(Piece(factors, rel), [place]))
            if role == "log" or not self.numbers.is_real(term, at):
                raise Rejection(f"{term} is not shown to be a real number")
            if power < 0 and (role == "is" or (role == "" and not self.numbers.allows("stablehlo.divide", term, at))):
                raise Rejection(f"{term} is not shown to be other than zero")

    # products -------------------------------------------------------------------------------------------------------

    def _blocks(self, piece: Piece, places: Sequence[int]) -> Rel:
        """The relation to the indices of these factors, in this order."""
        if list(places) == list(range(len(piece.atom))):
            return piece.rel
        variables, own, at = names("x", piece.rel.arity_out), list[str](), 0
        for _, term, _ in piece.atom:
            own.append(",".join(variables[at : at + term.arity]))
            at += term.arity
        kept = ",".join(own[place] for place in places if own[place])
        return self.rels.compose(piece.rel, self.rels.rel(f"{{[{','.join(variables)}] -> [{kept}]}}"))

    def _times(self, first: Piece, second: Piece) -> Piece:
        """The product of two sums: each element of the one with each of the other."""
        rel = self.rels.pair(first.rel, second.rel)
        return Piece((*first.atom, *second.atom), rel, Fraction(first.coefficient) * second.coefficient)

    def _multiplied(self, side: Side, factor: Factor, rel: Rel) -> Side:
        """A side times a factor, at the points at which that is read."""
        more, there = Piece((factor,), rel), self.rels.domain(rel)
        return self._gathered([part for piece in side for part in (self._times(piece, more), self._off(piece, there))])

    def _off(self, piece: Piece, domain: Dom) -> Piece:
        """A piece at the other points."""
        rel = self.rels.restrict(piece.rel, self.rels.set_minus(self.rels.domain(piece.rel), domain))
        return Piece(piece.atom, rel, piece.coefficient)

    def _joined(self, piece: Piece) -> Iterator[Piece]:
        """The piece with one factor for powers of one thing at the same index, and with its factors in order."""
        rel, factors, rels = piece.rel, piece.atom, self.rels
        if len(factors) > MAX_FACTORS:
            raise Rejection("a product of too many factors")
        if rels.empty(rel):
            return
        for j, (role, term, power) in enumerate(factors):
            for i in (i for i in range(j) if factors[i][:2] == (role, term)):
                same = self._alike(piece, i, j)
                if rels.empty(same):
                    continue
                yield from self._joined(Piece(factors, rels.minus(rel, same), piece.coefficient))
                total = _ONE if role == "is" else factors[i][2] + power
                kept = [place for place in range(len(factors)) if place != j and (total or place != i)]
                joint = Piece(factors, same)
                if factors[i][2] * power < 0:
                    self._require([(role, term, -_ONE)], self._blocks(joint, [i]))
                if not total:
                    given = self._blocks(joint, [*kept, i])
                    if not rels.single_valued(rels.into_domain(given, given.arity_out - term.arity)):
                        raise Rejection(f"summands become one without {term}")
                merged = tuple((role, term, total) if place == i else factors[place] for place in kept)
                yield from self._joined(Piece(merged, self._blocks(joint, kept), piece.coefficient))
                return
        order = sorted(range(len(factors)), key=lambda k: (factors[k][1].number, factors[k][0], factors[k][2]))
        piece = Piece(tuple(factors[k] for k in order), self._blocks(piece, order), piece.coefficient)
        for k in range(len(factors) - 1):
            # what is the same but for its index stands in the order of the indices
            if piece.atom[k] == piece.atom[k + 1]:
                good = self._alike(piece, k, k + 1, earlier=True)
                rest = Piece(piece.atom, rels.minus(piece.rel, good))
                if not rels.empty(rest.rel):
                    turned = [*range(k), k + 1, k, *range(k + 2, len(factors))]
                    yield from self._joined(Piece(piece.atom, good, piece.coefficient))
                    yield from self._joined(Piece(piece.atom, self._blocks(rest, turned), piece.coefficient))
                    return
        yield piece

    def _alike(self, piece: Piece, i: int, j: int, earlier: bool = False) -> Rel:
        """The piece's relation where two factors are read at the same index, or the first one at an earlier one."""
        first, second = (sum(term.arity for _, term, _ in piece.atom[:place]) for place in (i, j))
        pairs = [(f"x{first + k}", f"x{second + k}") for k in range(piece.atom[i][1].arity)]
        same = ["1 = 1"]
        for one, other in pairs:
            same.append(f"{same[-1]} and {one} = {other}")
        before = " or ".join(f"({each} and {one} < {other})" for each, (one, other) in zip(same, pairs, strict=False))
        where = (before or "1 = 0") if earlier else same[-1]
        variables = ",".join(names("x", piece.rel.arity_out))
        return self.rels.restrict_range(piece.rel, self.rels.dom(f"{{[{variables}] : {where}}}"))

    # terms as products ----------------------------------------------------------------------------------------------

    def _number(self, term: Term, rel: Rel) -> Fraction | None:
        """The constant that a term is wherever it is read, if it is one."""
        if term.kind is Kind.INTEGER:
            value = self.rels.constant_range(rel)
            return None if value is None else Fraction(value[0])
        if name_of(term) in ("stablehlo.is_finite", "stablehlo.compare"):
            return self._tested(term, self._operands(term, self.rels.range(rel)))
        number = self.run.number_of(term)
        if number is None or isinstance(number, complex):
            return None
        found = rational(number, term.dtype) if term.dtype.is_float else Fraction(number)
        return None if isinstance(found, str) else found

    def _tested(self, term: Term, reads: Sequence[tuple[Term, Rel]]) -> Fraction | None:
        """What a test of real numbers comes to: 1 if they are finite, and by what is positive and what is 0 or less."""
        if not all(part.dtype.is_float and self.numbers.is_real(part, self.rels.range(rel)) for part, rel in reads):
            return None
        if len(reads) == 1:
            return _ONE
        kinds = Comparison.LT, Comparison.LE, Comparison.NE, Comparison.GT, Comparison.GE, Comparison.EQ
        for (less, one), (more, other), true in zip(reads, reads[::-1], (kinds[:3], kinds[2:5]), strict=True):
            number, sign = self._number(less, one), self.numbers.sign(more, self.rels.range(other))
            if number is not None and number <= 0 and sign > 1:
                told = self.run.terms.meanings.get(term.key)
                return next((Fraction(each in true) for each in kinds if told == {"comparison_direction": each}), None)
        return None

    def _read(self, term: Term, rel: Rel, count: int | Fraction = 1, role: str = "") -> Iterator[Piece]:
        """A term, or a function of it, so many times through a relation."""
        if self.rels.empty(rel):
            return
        bounds = self.rels.bounds(self.rels.range(rel), 0) if term.kind is Kind.INTEGER else None
        number = self._number(term, rel) if role != "log" else None
        if bounds is not None and number is None and bounds[1] - bounds[0] < MAX_VALUES:
            for value in range(bounds[0], bounds[1] + 1):
                yield from self._read(term, self.rels.fix_range(rel, 0, value), count, role)
        elif role == "exp":
            yield self._power_of_exp(term, rel, Fraction(count))
        elif number is None:
            yield Piece((self._factor(role, term, _ONE, rel),), rel, Fraction(count))
        elif number:
            if not self.rels.single_valued(rel):
                raise Rejection("a constant is counted several times")
            yield Piece((), self.rels.project_out(rel, 0, rel.arity_out), number * count)

    def _factor(self, role: str, term: Term, power: Fraction, rel: Rel) -> Factor:
        """A factor that has a meaning: exp(−∞) is 0, nothing else is known of infinite constants."""
        below, at = role == "exp" and power > 0, self.rels.range(rel)
        if not (term.dtype.is_bool if role == "is" else term.dtype.is_float):
            raise Rejection(f"{term} is no real number")
        if not self.numbers.is_real(term, at, proper=True, below=below):
            raise Rejection(f"an infinite constant may reach {term}")
        return role, term, power

    def _power_of_exp(self, term: Term, rel: Rel, power: Fraction) -> Piece:
        """exp(term) to a power, of which a number or a logarithm tells more."""
        number, role = self._number(term, rel), "exp"
        if name_of(term) == "stablehlo.log":
            ((inner, read),) = self._operands(term, self.rels.range(rel))
            term, rel, role = inner, self.rels.compose(rel, read), ""
            if not self.numbers.allows("stablehlo.log", term, self.rels.range(rel)):
                raise Rejection(f"{term} is not shown to be positive")
        elif number is not None:
            term, power = self.run.number(DType.F64, 1), power * number
            rel = self.rels.project_out(rel, 0, rel.arity_out)
        return Piece((self._factor(role, term, power, rel),) if power else (), rel, _ONE)

    # definitions in place of terms ----------------------------------------------------------------------------------

    def _replaced(self, side: Side, term: Term, kept: str | None = None) -> Side:
        """A side with a term's definition in its place, whatever function of it is a factor but for the one kept."""
        done, pending = list[Piece](), list(side)
        while pending:
            piece = pending.pop()
            places = [k for k, factor in enumerate(piece.atom) if factor[1] is term and factor[0] != kept]
            if not places:
                done.append(piece)
                continue
            place, (role, _, power) = places[0], piece.atom[places[0]]
            if role == "" and power > 1:
                # one after the other: a power of a sum is no sum of powers
                factors = [(role, term, power - 1) if k == place else each for k, each in enumerate(piece.atom)]
                rel = self._blocks(piece, [place, *range(len(factors))])
                pending.append(Piece(((role, term, _ONE), *factors), rel, piece.coefficient))
                continue
            others = [k for k in range(len(piece.atom)) if k != place]
            rest, rel = tuple(piece.atom[k] for k in others), self._blocks(piece, [*others, place])
            own, width = self._blocks(piece, [place]), rel.arity_out - term.arity
            parts = self._definition(role, term, power, self.rels.range(own))
            for part in parts:
                through = self.rels.side_by_side(passing(self.rels, width), part.rel)
                once = (rel, 1) if self.rels.injective(part.rel) else counted(self.rels, rel, through)
                if once is None:
                    raise Rejection(f"elements of {term} are counted several times")
                count = piece.coefficient * part.coefficient * once[1]
                pending.append(Piece((*rest, *part.atom), self.rels.compose(once[0], through), count))
            # where the term is zero, what it is multiplied by has to be real
            empty = reduce(self.rels.set_minus, (self.rels.domain(p.rel) for p in parts), self.rels.range(own))
            zero = self.rels.restrict_range(rel, self.rels.set_product(self.rels.everything(width), empty))
            self._require(rest, self.rels.project_out(zero, width, term.arity))
        return self._gathered(done)

    def _definition(self, role: str, term: Term, power: Fraction, at: Dom) -> list[Piece]:
        """What a function of a term is at these indices; zero where nothing is read."""
        if role in ("exp", "log"):
            return (self._exponential if role == "exp" else self._logarithm)(term, power, at)
        if role == "is":
            raise Rejection(f"{term} is tested by one side only")
        parts, rest, found = self._sum(term, at), at, list[Piece]()
        if power == 1:
            return parts
        for part in parts:
            there = self.rels.domain(part.rel)
            apart = self.rels.single_valued(part.rel) and self.rels.set_subset(there, rest)
            if power.denominator != 1 or not apart:
                raise Rejection(f"{term} is no product")
            rest = self.rels.set_minus(rest, there)
            for place, (own, other, exponent) in enumerate(part.atom):
                if own in ("is", "log") or (exponent < 0 > power and own != "exp"):  # 1 / (1 / x) is x but for 0
                    self._require([(own, other, -_ONE)], self._blocks(part, [place]))
            factors = tuple((own, other, exponent * power) for own, other, exponent in part.atom)
            found.append(Piece(factors, part.rel, Fraction(part.coefficient) ** int(power)))
        if not self.rels.set_empty(rest):
            raise Rejection(f"{term} may be zero, and is divided by")
        return found

    def _operands(self, term: Term, at: Dom) -> list[tuple[Term, Rel]]:
        """What a term is made of at these indices, where it has to be defined."""
        reads = [(part, self.rels.restrict(rel, at)) for part, rel in self.numbers.reads_of(term)]
        unsigned = term.dtype.is_positive and term.kind is Kind.APPLY  # which holds no more than positive results
        if term.kind is Kind.GUARD or unsigned or (is_guarded(term.parts) and term.monoid is not Monoid.ADD):
            raise Rejection(f"{term} is taken apart")
        every = [reads] if term.kind is Kind.VIEW else [] if term.kind is Kind.SUM else [[read] for read in reads]
        if not all(self.numbers.covers(some, at) for some in every):
            raise Rejection(f"{term} is read where it is not defined")
        return reads

    def _linear(self, term: Term, at: Dom) -> list[tuple[Fraction, Term, Rel]] | None:
        """A term as a sum of multiples of others."""
        known = [(part.atom, self.rels.restrict(part.rel, at)) for part in self._found.get(term, ())]
        if known and self.numbers.covers(known, at):
            return [(_ONE, *read) for read in known]
        reads, (monoid, summed), name = self._operands(term, at), sum_of(term) or (None, ()), name_of(term)
        if name in ("stablehlo.multiply", "stablehlo.divide"):
            (first, one), (second, other) = reads
            left, right = self._number(first, one), self._number(second, other)
            if right:
                return [(right if name == "stablehlo.multiply" else 1 / right, first, one)]
            return [(left, second, other)] if left and name == "stablehlo.multiply" else None
        if term.kind is Kind.SUM and monoid in (Monoid.MAX, Monoid.MIN):
            single = all(self.rels.single_valued(rel) for _, rel in reads) and self.numbers.covers(reads, at)
            self.rels.disjoint([rel for _, rel in reads], f"{term} has no counterpart")
            return [(_ONE, *read) for read in reads] if single else None
        converted = name == "stablehlo.convert" and [part.dtype.is_float for part, _ in reads] == [True]
        unsigned = name == "stablehlo.abs" and self.numbers.sign(reads[0][0], self.rels.range(reads[0][1])) > 0
        if term.kind is Kind.VIEW or converted or unsigned:
            return [(_ONE, *read) for read in reads]
        added = [(Fraction(part.coefficient), *read) for part, read in zip(summed, reads, strict=False)]
        return added if monoid is Monoid.ADD else None

    def _sum(self, term: Term, at: Dom) -> list[Piece]:
        """A term as a sum of products."""
        if (linear := self._linear(term, at)) is not None:
            return [part for count, other, rel in linear for part in self._read(other, rel, count)]
        reads, name = self._operands(term, at), name_of(term)
        of_test = name == "stablehlo.convert" and reads[0][0].dtype.is_bool
        role = {"stablehlo.exponential": "exp", "stablehlo.log": "log"}.get(name, "is" if of_test else "")
        if role:
            return list(self._read(*reads[0], role=role))
        if name == "stablehlo.select":
            test, chosen, other = reads
            self._all_real([chosen, other])
            less = [*self._read(*chosen), *self._read(*other, count=-1)]
            return [*self._read(*other), *(self._times(p, q) for p in self._read(*test, role="is") for q in less)]
        if name not in ("stablehlo.multiply", "stablehlo.divide") and term.kind is not Kind.PRODUCT:
            raise Rejection(f"{term} has no counterpart")
        first, second = (list(self._read(*read)) for read in reads)
        # where one factor is zero, the other one has to be real, and no zero if it is divided by
        divides = name == "stablehlo.divide"
        for mine, (other, rel), power in ((first, reads[1], -_ONE if divides else _ONE), (second, reads[0], _ONE)):
            zero = reduce(self.rels.set_minus, (self.rels.domain(p.rel) for p in mine), at)
            self._require([("", other, power)], self.rels.restrict(rel, zero))
            if mine is second and divides and not self.rels.set_empty(zero):
                raise Rejection(f"{term} divides by zero")
        if divides:
            second = [Piece(tuple((r, t, -e) for r, t, e in p.atom), p.rel, _ONE / p.coefficient) for p in second]
        return [self._times(p, q) for p in first for q in second]

    def _all_real(self, reads: Iterable[tuple[Term, Rel]]) -> None:
        for term, rel in reads:
            self._require([("", term, _ONE)], rel)

    def _exponential(self, term: Term, power: Fraction, at: Dom) -> list[Piece]:
        """exp(Σ c · u) is Π exp(u)^c, and 0 where −∞ is added."""
        if (linear := self._linear(term, at)) is None:
            raise Rejection(f"the exponential of {term} has no counterpart")
        parts = [Piece((), constant(self.rels, at), _ONE)]
        for count, other, rel in linear:
            there = self.rels.domain(rel)
            if not self.rels.single_valued(rel):
                raise Rejection(f"{term} is a sum in an exponent")
            here = list[Piece]()
            if self.run.number_of(other) != -math.inf:
                more = [] if self.rels.empty(rel) else [self._power_of_exp(other, rel, count * power)]
                here = [self._times(p, q) for p in parts for q in more]
            elif count * power < 0:
                raise Rejection(f"{other} is taken away")
            else:
                self._all_real((each, self.rels.restrict(read, there)) for _, each, read in linear if each is not other)
            parts = [p for p in (*here, *(self._off(p, there) for p in parts)) if not self.rels.empty(p.rel)]
        return parts

    def _logarithm(self, term: Term, power: Fraction, at: Dom) -> list[Piece]:
        """log(x · y) is log x + log y where one of them is positive, log |x| is log x then; log(exp(x)) is x."""
        reads, name = self._operands(term, at), name_of(term)
        counts = {"stablehlo.multiply": (1, 1), "stablehlo.divide": (1, -1)}.get(name, ())
        counts = (1,) * len(reads) if term.kind is Kind.VIEW or name in _AS_POSITIVE else counts
        if power == 1 and name == "stablehlo.exponential":
            return list(self._read(*reads[0]))
        if power != 1 or not counts:
            raise Rejection(f"the logarithm of {term} has no counterpart")
        signed = any(self.numbers.allows("stablehlo.log", part, self.rels.range(rel)) for part, rel in reads)
        if name not in ("", "stablehlo.convert") and not signed:
            raise Rejection(f"no factor of {term} is shown to be positive")
        return [p for count, read in zip(counts, reads, strict=True) for p in self._read(*read, count, role="log")]
