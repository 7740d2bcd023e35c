"""Terms over the reals: which term of the original a new term equals, by the form that both come to.

Lemma *sums of products*: a term built by +, −, ·, / and exp, by sums over relations and by choices between them is a
sum of products of its other terms (`polynomials.py` says how it is found); two terms with the same sum of products
are equal. Precondition: every element that is multiplied, divided by or taken the exponential of is a real number; a
constant −∞ may stand only where a finite number is added to it and the exponential taken, which gives 0. Parameters
are taken as real numbers. Theory: real.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ..egraph.constants import rational
from ..ops.monoid import Monoid
from ..read.ir import DType
from ..relation.store import Dom, Rel, RelationLimitError
from .atoms import Atom, AtomKind
from .context import Context, Definition
from .polynomials import MAX_PIECES, Form, NoFormError, Polynomials, factors_of, matched
from .spaces import Spaces
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

MAX_SECONDS = 60.0
"""Time of the processor spent on forms in one validation."""

MAX_VALUES = 4
"""An integer of more possible values at a place stays a factor."""

_Key = tuple[bool, DType, tuple[tuple[int, Fraction], ...]]


class Reals:
    """The forms of all terms of one validation, and the original's terms by their forms."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store
        self._spaces = Spaces(context.store)
        self._polynomials = Polynomials(context)
        self._forms: dict[tuple[int, bool], Form | None] = {}
        self._finite: dict[int, bool] = {}
        self._terms: dict[_Key, list[Definition]] = {}
        self._last_original = 0
        self._seconds = 0.0
        self._ops: dict[str, Callable[[Walk, Sequence[Form]], Form]] = {
            "stablehlo.add": lambda walk, forms: self._polynomials.add(walk, forms, (1, 1)),
            "stablehlo.subtract": lambda walk, forms: self._polynomials.add(walk, forms, (1, -1)),
            "stablehlo.negate": lambda walk, forms: self._polynomials.add(walk, forms, (-1,)),
            "stablehlo.multiply": self._multiply,
            "stablehlo.divide": self._divide,
            "stablehlo.exponential": lambda walk, forms: self._polynomials.exponential(walk, forms[0]),
            "stablehlo.convert": lambda _, forms: forms[0],
        }

    def find(self, walk: Walk, atom: Atom) -> list[Piece] | None:
        """The term in other terms, over its own indices, as far as any are found; None where there is nothing.

        A term of the original that no earlier one equals is remembered.
        """
        if not atom.dtype.is_float or self._seconds > MAX_SECONDS:
            return None
        start = time.process_time()
        if walk.is_original:
            self._last_original = atom.number
        try:
            return self._find(walk, atom, deep=False) or self._find(walk, atom, deep=True)
        finally:
            self._seconds += time.process_time() - start

    def _find(self, walk: Walk, atom: Atom, *, deep: bool) -> list[Piece] | None:
        try:
            form = self._form(walk, atom, deep)
            if form is None or form.below is not None:
                return None
            found = self._found(walk, atom, form, deep)
        except (NoFormError, RelationLimitError):
            return None
        if found is None and walk.is_original:
            definition = Definition(atom, form.pieces, Monoid.ADD, 1, atom.number, True)
            self._terms.setdefault((deep, atom.dtype, form.key), []).append(definition)
        return found

    # what a form is equal to ----------------------------------------------------------------------------------------

    def _found(self, walk: Walk, atom: Atom, form: Form, deep: bool) -> list[Piece] | None:
        store, pieces, unknown = self._store, [], None
        for domain, active in self._regions(form):
            parts = tuple(Piece(p.atom, store.restrict(p.rel, domain), p.coefficient) for p in active)
            made, rest = self._in_region(walk, atom, Form(domain, parts), deep)
            pieces += made
            if rest is not None:
                unknown = rest if unknown is None else store.set_union(unknown, rest)
        if not pieces:
            return None
        if unknown is not None:
            pieces.append(Piece(atom, store.identity_on(unknown)))
        return pieces

    def _regions(self, form: Form) -> list[tuple[Dom, tuple[Piece, ...]]]:
        """The points by the pieces that hold something there."""
        store = self._store
        regions: list[tuple[Dom, tuple[Piece, ...]]] = [(form.domain, ())]
        for piece in form.pieces:
            there, cut = store.domain(piece.rel), []
            for domain, active in regions:
                for part, held in (
                    (store.set_meet(domain, there), (*active, piece)),
                    (store.set_minus(domain, there), active),
                ):
                    if not store.set_empty(part):
                        cut.append((part, held))
            regions = cut
            if len(regions) > MAX_PIECES:
                raise NoFormError
        return regions

    def _in_region(self, walk: Walk, atom: Atom, form: Form, deep: bool) -> tuple[list[Piece], Dom | None]:
        """(what the term is where that is known, the rest of the region)."""
        store, dtype = self._store, atom.dtype
        if not form.pieces:
            return [walk.constant_piece(0.0, dtype, form.domain)], None
        first = form.pieces[0]
        if len(form.pieces) == 1 and not factors_of(first):
            number = float(first.coefficient)
            return [walk.constant_piece(number, dtype, form.domain)], None
        if len(form.pieces) == 1 and first.coefficient == 1 and len(factors_of(first)) == 1:
            base, exponent = factors_of(first)[0]
            single = exponent == 1 and store.single_valued(first.rel)
            if single and base.dtype is dtype and base.kind is not AtomKind.REAL and base is not atom:
                return [Piece(base, first.rel)], None
        pieces: list[Piece] = []
        for known in self._terms.get((deep, dtype, form.key), ()):
            match, good = matched(walk, form, known)
            if match is None or store.set_empty(good) or known.atom is atom:
                continue
            pieces.append(Piece(known.atom, match))
            rest = store.set_minus(form.domain, good)
            if store.set_empty(rest):
                return pieces, None
            cut = tuple(Piece(p.atom, store.restrict(p.rel, rest), p.coefficient) for p in form.pieces)
            form = Form(rest, cut)
        return pieces, form.domain

    # forms of terms -------------------------------------------------------------------------------------------------

    def _form(self, walk: Walk, atom: Atom, deep: bool) -> Form | None:
        """The form of a term on its own indices; None where it may not be a real number.

        A deep form is written out as far as it goes, another one down to the terms of the original.
        """
        key = (atom.number, deep)
        if key not in self._forms:
            form: Form | None
            try:
                form = self._computed(walk, atom, deep)
            except (NoFormError, RelationLimitError):
                form = None
            if form is None and self._is_finite(walk, atom):
                form = self._itself(atom)
            self._forms[key] = form
        return self._forms[key]

    def _itself(self, atom: Atom) -> Form:
        space = self._spaces.of(atom)
        return self._polynomials.factor(atom, self._store.identity_on(space), space)

    def _computed(self, walk: Walk, atom: Atom, deep: bool) -> Form | None:
        """The form by what the term is made of; None where it is made of nothing that has one."""
        space = self._spaces.of(atom)
        if atom.kind is AtomKind.LIFT:
            key, _, pattern = atom.data[1] if atom.rels else atom.key[2]
            relate = self._ops.get(key[0]) if isinstance(key, tuple) else None
            if relate is None or any(not operand.dtype.is_float for operand in atom.operands):
                return None
            rels = [None if what == "scalar" or not atom.rels else atom.rels[place] for what, place in pattern]
            reads = zip(atom.operands, rels, strict=True)
            return relate(walk, [self._read(walk, *read, space, deep) for read in reads])
        if atom.kind is AtomKind.PRODUCT:
            return self._product(walk, atom, space, deep)
        if atom.kind is AtomKind.NAMED and isinstance(atom.data, tuple) and atom.data:
            definition = self._context.definition_of(atom)
            if definition is None or definition.monoid not in (None, Monoid.ADD):
                return None
            forms = [self._part(walk, piece, space, deep) for piece in atom.data]
            return self._polynomials.add(walk, forms, (1,) * len(forms)) if len(forms) > 1 else forms[0]
        return None

    def _part(self, walk: Walk, piece: Piece, space: Dom, deep: bool) -> Form:
        read = self._read(walk, piece.atom, piece.rel, space, deep)
        if piece.coefficient == 1:
            return read
        return self._polynomials.multiply(
            walk, self._polynomials.number(walk, Fraction(piece.coefficient), space), read
        )

    def _read(self, walk: Walk, atom: Atom, rel: Rel | None, space: Dom, deep: bool) -> Form:
        """A term read through a relation from the points of `space`; zero where it reads nothing."""
        store = self._store
        if atom.kind is AtomKind.CONSTANT and atom.arity == 0:
            value = atom.data[1] if isinstance(atom.data, tuple) else atom.data
            number = rational(value, atom.dtype) if atom.dtype.is_float else "nan"
            domain = space if rel is None else store.domain(rel)
            if number == "-inf":
                return Form(space, (), domain)
            if isinstance(number, str):
                raise NoFormError
            constant = self._polynomials.number(walk, number, domain)
            return Form(space, constant.pieces)
        if atom.kind is AtomKind.INTEGER and rel is not None:
            values = self._values(walk, rel, space)
            if values is not None:
                return values
        if atom.kind is AtomKind.PRODUCT and rel is not None:
            form = self._product(walk, atom, store.range(rel), deep)
        elif not deep and atom.number <= self._last_original and self._is_finite(walk, atom):
            form = self._itself(atom)
        else:
            form = self._form(walk, atom, deep)
        if form is None:
            raise NoFormError
        if rel is None:
            return form
        return self._polynomials.read(walk, form, rel, space)

    def _product(self, walk: Walk, atom: Atom, indices: Dom, deep: bool) -> Form:
        """A product of two terms at some pairs of their indices."""
        left, right = atom.operands
        pairs = self._store.identity_on(indices)
        forms = (
            self._read(walk, left, self._store.project_out(pairs, left.arity, right.arity), indices, deep),
            self._read(walk, right, self._store.project_out(pairs, 0, left.arity), indices, deep),
        )
        return self._polynomials.multiply(walk, *forms)

    def _values(self, walk: Walk, rel: Rel, space: Dom) -> Form | None:
        """Known integers of few values as constants, each where it stands; None for many."""
        store = self._store
        bounds = store.bounds(store.range(rel), 0)
        if bounds is None or bounds[1] - bounds[0] >= MAX_VALUES or not store.single_valued(rel):
            return None
        pieces: list[Piece] = []
        for value in range(bounds[0], bounds[1] + 1):
            there = store.domain(store.fix_range(rel, 0, value))
            if not store.set_empty(there):
                pieces += self._polynomials.number(walk, Fraction(value), there).pieces
        return self._polynomials.normal(walk, space, pieces)

    def _multiply(self, walk: Walk, forms: Sequence[Form]) -> Form:
        return self._polynomials.multiply(walk, forms[0], forms[1])

    def _divide(self, walk: Walk, forms: Sequence[Form]) -> Form:
        return self._polynomials.multiply(walk, forms[0], self._polynomials.inverse(walk, forms[1]))

    # which terms are real numbers -----------------------------------------------------------------------------------

    def _is_finite(self, walk: Walk, atom: Atom) -> bool:
        """Whether the term is a real number wherever its operations are defined, for real parameters."""
        if not atom.dtype.is_float:
            return not atom.dtype.is_complex
        found = self._finite.get(atom.number)
        if found is None:
            found = self._finite[atom.number] = self._finds_finite(walk, atom)
        return found

    def _finds_finite(self, walk: Walk, atom: Atom) -> bool:
        match atom.kind:
            case AtomKind.PARAMETER | AtomKind.INTEGER:
                return True
            case AtomKind.CONSTANT:
                value = atom.data[1] if isinstance(atom.data, tuple) else atom.data
                return isinstance(value, (int, float)) and not isinstance(rational(value, atom.dtype), str)
            case AtomKind.LIFT | AtomKind.PRODUCT:
                return all(self._has_finite(walk, operand) for operand in atom.operands)
            case AtomKind.GUARD:
                return self._has_finite(walk, atom.operands[0])
            case AtomKind.NAMED:
                parts = atom.data if isinstance(atom.data, tuple) else ()
                return bool(parts) and all(self._has_finite(walk, piece.atom) for piece in parts)
            case _:
                return False

    def _has_finite(self, walk: Walk, atom: Atom) -> bool:
        if self._is_finite(walk, atom):
            return True
        form = self._form(walk, atom, deep=False) if atom.dtype.is_float else None
        return form is not None and form.below is None
