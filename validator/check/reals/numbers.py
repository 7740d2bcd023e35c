"""Which terms are real numbers, and which of these are positive.

A term is *proper* where no infinite constant reaches it: it is a real number, or a program that computes it divides by
zero, or takes a root or a logarithm outside its domain, on the way. It is *real* where that is shown not to happen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from ...ops.domains import ALLOWED_BY, LIMITED, limited
from ...ops.elementwise import TOTAL_OVER_REALS
from ...ops.monoid import Monoid
from ...ops.values import Piece, Value
from ...read.attributes import Comparison
from ...read.ir import Program
from ...relation.objects import Dom, Rel
from ..terms import Kind, Term, is_guarded, sum_of

_OF_SIGN = ("stablehlo.abs", "stablehlo.convert", "stablehlo.sqrt", "stablehlo.divide")
_OF_ZERO = ("stablehlo.convert", "stablehlo.multiply", "stablehlo.negate")
_OF_BOTTOM = ("stablehlo.exponential", "stablehlo.compare")
_LINEAR = ("stablehlo.add", "stablehlo.subtract", "stablehlo.convert")

_NEUTRAL: dict[Monoid | None, float] = {Monoid.MAX: -math.inf, Monoid.MIN: math.inf}


def name_of(term: Term) -> str:
    """The op that a term applies to elements."""
    return term.key.partition(" ")[0] if term.kind is Kind.APPLY else ""


class Numbers:
    """What is known of the terms of one check; every answer holds at all indices that it was asked about."""

    def __init__(self, run: Any, before: Program | None = None) -> None:
        self.run, self.rels, self.limited = run, run.rels, limited(run.builder, before) if before else []
        self._known: dict[tuple[Term, bool, bool], Dom] = {}

    def reads_of(self, term: Term) -> list[tuple[Term, Rel]]:
        """The parts of a term and how each is read from its index; of a guarded one only what is guarded."""
        if term.kind not in (Kind.PRODUCT, Kind.GUARD, Kind.ORDER):
            return [(part.atom, part.rel) for part in term.parts]
        width = term.key[3] if term.kind is Kind.ORDER else len(term.parts)
        every, reads = self.rels.identity_on(self.rels.everything(term.arity)), list[tuple[Term, Rel]]()
        for place, part in enumerate(term.parts[: 1 if term.kind is Kind.GUARD else None]):
            sizes = [each.atom.arity for each in term.parts[place - place % width :][:width]]
            rel, at, size = (part.rel if term.kind is Kind.ORDER else every), place % width, part.atom.arity
            if term.kind is not Kind.ORDER or sum(sizes) == rel.arity_out:  # else there is more in it than indices
                rest = self.rels.project_out(rel, 0, sum(sizes[:at]))
                rel = self.rels.project_out(rest, size, rest.arity_out - size)
            reads.append((part.atom, rel))
        return reads

    def is_real(self, term: Term, indices: Dom, proper: bool = False, below: bool = False) -> bool:
        """Whether a term is a real number at these indices, or (`proper`) no infinite constant reaches it there.

        With `below` it may be −∞ as well.
        """
        seen: dict[tuple[Term, bool, bool], Dom] = {}
        pending = {(term, below, proper): indices}
        while pending:
            what = max(pending, key=lambda other: other[0].number)
            at, known, each = pending.pop(what), seen.get(what, self._known.get(what)), what[0]
            if self.rels.set_empty(at) or (known is not None and self.rels.set_subset(at, known)):
                continue
            if not (what[1] and self.run.number_of(each) == -math.inf) and not self._is_local(each, at, proper):
                return False
            # what a loop carries is real by induction: it is taken for that while the ends of the loop are looked at
            seen[what] = at if known is None else self.rels.set_union(known, at)
            for part, end, more in self._needs(each, what[1], at):
                key = part, end, proper
                pending[key] = self.rels.set_union(pending[key], more) if key in pending else more
        self._known.update(seen)
        return True

    def _needs(self, term: Term, below: bool, at: Dom) -> list[tuple[Term, bool, Dom]]:
        """What has to be real for a term to be at these indices, and whether it may be −∞ (as what is compared may)."""
        if term.kind is Kind.CARRIED:
            return [(piece.atom, False, self.rels.range(piece.rel)) for piece in self._carried(term)]
        name = name_of(term)
        may = name in _OF_BOTTOM or (below and (term.kind is Kind.VIEW or name in _LINEAR))
        less = name == "stablehlo.subtract"
        return [
            (part, may and part.dtype.is_float and not (place and less), self._image(term, at, part, rel))
            for place, (part, rel) in enumerate(self._elements(term))
        ]

    def _image(self, term: Term, at: Dom, part: Term, rel: Rel) -> Dom:
        """Where a part of a term at these indices is read, at least; of rows and sequences in all of them."""
        if term.kind not in (Kind.ROWS, Kind.ORDER):
            return self.rels.image(at, rel)
        return self.rels.range(rel) if rel.arity_out == part.arity else self.rels.everything(part.arity)

    def _elements(self, term: Term) -> list[tuple[Term, Rel]]:
        """The parts of a term, of a maximum without −∞."""
        neutral = _NEUTRAL.get((sum_of(term) or (None,))[0])
        return [read for read in self.reads_of(term) if neutral is None or self.run.number_of(read[0]) != neutral]

    def _carried(self, term: Term) -> list[Any]:
        """What a loop of the before program carries at first and at the end of its body; nothing while it is walked."""
        number, _, position = term.key
        loop = self.run.loops[number] if number < len(self.run.loops) else None
        values = () if loop is None else (loop.initial[position], loop.body[loop.carried.index(position)])
        if any(value.monoid is not None for value in values):
            return []
        return [piece for value in values for piece in value.pieces]

    def _is_local(self, term: Term, indices: Dom, proper: bool) -> bool:
        """Whether a term is a real number at these indices if all that it needs is."""
        reads, name, monoid = self._elements(term), name_of(term), (sum_of(term) or (None,))[0]
        match term.kind:
            case _ if term.dtype.is_complex or (term.dtype.is_positive and term.kind is Kind.APPLY and not proper):
                return False
            case Kind.PARAMETER | Kind.INTEGER | Kind.NUMBER | Kind.PRODUCT | Kind.GUARD:
                return True
            case Kind.SCALAR:
                return math.isfinite(self.run.number_of(term))
            case Kind.CARRIED:
                return bool(self._carried(term)) or not term.dtype.is_float
            case Kind.ARRAY if term in self.run.arrays:
                return not term.dtype.is_float or math.isfinite(abs(self.run.arrays[term]).max(initial=0))
            case Kind.APPLY if is_guarded(term.parts) or (name == "stablehlo.bitcast_convert" and term.dtype.is_float):
                return False  # bits may be those of any float
            case Kind.APPLY if not all(self.covers([read], indices) for read in self.reads_of(term)):
                return False
            case Kind.APPLY if proper or monoid in _NEUTRAL or name in TOTAL_OVER_REALS or not term.dtype.is_float:
                return bool(reads) or not term.parts
            case Kind.APPLY if name in LIMITED:
                part, rel = reads[LIMITED[name]]
                return self.allows(name, part, self.rels.image(indices, rel))
            case Kind.ROWS | Kind.ORDER:
                return not term.dtype.is_float
            case Kind.SUM if monoid in _NEUTRAL:
                return not is_guarded(term.parts) and self.covers(reads, indices)
            case Kind.SUM:
                return monoid in (Monoid.ADD, Monoid.MUL) or not term.dtype.is_float
            case Kind.VIEW:
                one = not is_guarded(term.parts) or self.run.is_established(Piece(term, self.rels.identity_on(indices)))
                return (proper or one) and self.covers(reads, indices)  # under guards one element is there
            case _:
                return False

    def covers(self, reads: Iterable[tuple[Term, Rel]], indices: Dom) -> bool:
        """Whether something is read at each of the indices."""
        return self.rels.set_empty(reduce(self.rels.set_minus, (self.rels.domain(rel) for _, rel in reads), indices))

    def allows(self, name: str, term: Term, indices: Dom) -> bool:
        """Whether an op gives a real number for a term at these indices: by its sign, or as it has to before."""
        for number, other, where in self.limited if self.sign(term, indices) < 2 else ():
            value: Any = self.run.env.get(number) if other in ALLOWED_BY[name] else None
            single = isinstance(value, Value) and value.monoid is None and not is_guarded(value.pieces)
            for piece in value.pieces if single else ():
                every = self._factors(piece.atom, self.rels.range(self.rels.restrict(piece.rel, where)))
                for part, at in every if name == "stablehlo.divide" else [next(every)]:
                    indices = self.rels.set_minus(indices, at) if part is term else indices
        return self.rels.set_empty(indices) or self.sign(term, indices) > 1

    def _factors(self, term: Term, at: Dom) -> Iterator[tuple[Term, Dom]]:
        """A term that is not zero at these indices, and what is none, either, for that."""
        yield term, at
        if not is_guarded(term.parts) and (term.kind in (Kind.VIEW, Kind.PRODUCT) or name_of(term) in _OF_ZERO):
            for part, rel in self.reads_of(term):
                yield from self._factors(part, self.rels.image(at, rel))

    def sign(self, term: Term, indices: Dom) -> int:
        """2 for a term that is positive at these indices if it is real there, 1 if not negative; 0 for all else."""
        if term.kind is Kind.INTEGER:
            return sum(self.rels.set_subset(indices, self.rels.dom(f"{{[n] : n >= {least}}}")) for least in (0, 1))
        if not term.dtype.is_float or term.kind in (Kind.NUMBER, Kind.SCALAR):
            n = self.run.number_of(term)
            return (2 if 0 < n < math.inf else int(n >= 0)) if isinstance(n, int | float) else int(term.dtype.is_bool)
        reads = [(part, self.rels.restrict(rel, indices)) for part, rel in self.reads_of(term)]
        name, (monoid, summed) = name_of(term), sum_of(term) or (None, ())
        if name in ("stablehlo.exponential", "stablehlo.logistic"):
            return 2 * self.is_real(reads[0][0], self.rels.range(reads[0][1]), proper=True)
        signs = [self.sign(part, self.rels.range(rel)) for part, rel in reads]
        if name == "stablehlo.multiply":
            (first, one), (second, other) = reads
            return max(min(signs), int(first is second and self.rels.equal(one, other)))
        if name in _OF_SIGN or term.kind in (Kind.VIEW, Kind.PRODUCT):
            return min(signs, default=0)
        if name == "stablehlo.select":
            return min(signs[1:])
        if name == "stablehlo.maximum":
            return max(signs)
        if monoid is not Monoid.ADD or any(part.coefficient <= 0 for part in summed) or not all(signs):
            return 2 if name == "stablehlo.rsqrt" else 0
        # a sum of what is not negative is positive where it has a summand that is
        positive = [read for sign, read in zip(signs, reads, strict=True) if sign > 1]
        return 2 if self.covers(positive, indices) or self._counts_maxima(term, indices) else 1

    def _counts_maxima(self, term: Term, indices: Dom) -> bool:
        """Lemma *attained maximum*: whether all that a maximum is taken over is compared with it and counted."""
        rels, (part, *more) = self.rels, term.parts
        test = (part.atom.parts or (part,))[0]
        equal = self.run.terms.meanings.get(test.atom.key) == {"comparison_direction": Comparison.EQ}
        if more or name_of(part.atom) != "stablehlo.convert" or name_of(test.atom) != "stablehlo.compare" or not equal:
            return False
        counted = rels.compose(rels.restrict(part.rel, indices), test.rel)
        for element, greatest in (test.atom.parts, test.atom.parts[::-1]):
            monoid, over = sum_of(greatest.atom) or (None, ())
            maximum = rels.compose(counted, greatest.rel)
            if monoid not in _NEUTRAL or len(over) != 1 or over[0].atom is not element.atom:
                continue
            wanted = rels.pair(rels.compose(maximum, over[0].rel), maximum)
            missing = rels.minus(wanted, rels.compose(counted, rels.pair(element.rel, greatest.rel)))
            if rels.single_valued(maximum) and rels.set_subset(indices, rels.domain(wanted)) and rels.empty(missing):
                return True
        return False
