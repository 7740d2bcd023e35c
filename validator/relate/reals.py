"""Terms over the reals: which term of the original a new term equals, by the form that both come to.

Lemma *sums of products*: a term built by +, −, ·, / and exp, by sums over relations and by choices between them is a
sum of products of its other terms (`polynomials.py` says how it is found); two terms with the same sum of products
are equal. Precondition: all of these terms are real numbers, and what is divided by is not zero. That parameters are
real, and that the original computes real numbers from them, is what theory *real* assumes of inputs; of terms that
only the partitioned program has it is shown; of what a choice or a loop of the original may leave out nothing is
assumed. A constant −∞ may stand only where a real number is added to it and the exponential taken, which gives 0.
Theory: real.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate.numbers import STORAGE
from ..ops.elementwise import OF_POSITIVE
from ..ops.monoid import Monoid
from ..read.ir import DType
from ..relation.store import Dom, Rel, RelationLimitError
from ..rules.constants import rational
from .atoms import Atom, AtomKind, name_of, reads_of
from .context import Context, Definition
from .forms import Form, NoFormError, factors_of, matched, restricted
from .kept import are_alike
from .left_out import LeftOut
from .partial import is_total, made_of
from .polynomials import MAX_PIECES, Polynomials
from .signs import Signs
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

MAX_SECONDS = 60.0
"""Time of the processor spent on forms in one validation."""

MAX_CONSTANT = 1e30
"""Constants that come out larger are no constants of a program."""

MAX_VALUES = 4
"""An integer of more possible values at a place stays a factor."""

_TESTS = frozenset({"stablehlo.compare", "stablehlo.is_finite"})

_Key = tuple[bool, DType, tuple[tuple[int, Fraction], ...]]


def _rounded(number: Fraction, dtype: DType) -> float:
    """The constant of the type that may stand for a number: programs have constants as their types round them."""
    if abs(number) >= MAX_CONSTANT:
        return math.inf
    with np.errstate(over="ignore"):
        return float(np.asarray(float(number)).astype(STORAGE[dtype]))


class Reals:
    """The forms of all terms of one validation, and the original's terms by their forms."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store
        self._polynomials = Polynomials(context)
        self._forms: dict[tuple[int, bool], Form | None] = {}
        self._finite: dict[int, bool] = {}
        self._terms: dict[_Key, list[Definition]] = {}
        self.left_out = LeftOut(context)
        self._signs = Signs(context, self._polynomials, self.is_real)
        self._made_of_reals: set[int] = set()
        """Numbers of terms that are known to be made of real numbers alone."""
        self._sealed = False
        self._seconds = 0.0
        self._ops: dict[str, Callable[[Walk, Sequence[Form]], Form]] = {
            "stablehlo.add": lambda walk, forms: self._polynomials.add(walk, forms, (1, 1)),
            "stablehlo.subtract": lambda walk, forms: self._polynomials.add(walk, forms, (1, -1)),
            "stablehlo.negate": lambda walk, forms: self._polynomials.add(walk, forms, (-1,)),
            "stablehlo.multiply": self._multiply,
            "stablehlo.divide": self._divide,
            "stablehlo.exponential": lambda walk, forms: self._polynomials.exponential(walk, forms[0]),
            "stablehlo.log": lambda walk, forms: self._polynomials.logarithm(walk, forms[0]),
            "stablehlo.convert": lambda _, forms: forms[0],
            "stablehlo.abs": lambda walk, forms: self._absolute(walk, forms[0]),
        }

    def find(self, walk: Walk, atom: Atom) -> list[Piece] | None:
        """The term in other terms, over its own indices, as far as any are found; None where there is nothing.

        A term of the original that no earlier one equals is remembered.
        """
        if not atom.dtype.is_float or self._seconds > MAX_SECONDS:
            return None
        start = time.process_time()
        self._seal(walk)
        if walk.is_original:
            self.left_out.counts(atom)
        try:
            parts = self._find(walk, atom, deep=False)
            if parts is None or any(part.atom is atom for part in parts):
                # written out further, it may be found where it is not yet
                deeper = self._find(walk, atom, deep=True)
                if parts is None or (deeper is not None and all(part.atom is not atom for part in deeper)):
                    parts = deeper
            if parts is not None and walk.is_original and not are_alike(walk, atom, parts, self._is_shown):
                return None
        finally:
            self._seconds += time.process_time() - start
        if parts is not None and walk.is_original:
            self.left_out.forgets(atom, parts)
        return parts

    def _find(self, walk: Walk, atom: Atom, *, deep: bool) -> list[Piece] | None:
        try:
            form = self._form(walk, atom, deep)
            if form is None or form.below is not None:
                return None
            return self._found(walk, atom, form, deep)
        except (NoFormError, RelationLimitError):
            return None

    # what a form is equal to ----------------------------------------------------------------------------------------

    def _found(self, walk: Walk, atom: Atom, form: Form, deep: bool) -> list[Piece] | None:
        store, pieces, unknown = self._store, [], None
        for domain, active in self._regions(form):
            made, rest = self._in_region(walk, atom, restricted(walk, Form(domain, active), domain), deep)
            pieces += made
            if rest is None:
                continue
            unknown = rest.domain if unknown is None else store.set_union(unknown, rest.domain)
            if walk.is_original:
                definition = Definition(atom, rest.pieces, Monoid.ADD, 1, atom.number, True)
                self._terms.setdefault((deep, atom.dtype, rest.key), []).append(definition)
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

    def _in_region(self, walk: Walk, atom: Atom, form: Form, deep: bool) -> tuple[list[Piece], Form | None]:
        """(what the term is where that is known, its form on the rest of the region)."""
        store, dtype = self._store, atom.dtype
        if not form.pieces:
            return [walk.constant_piece(0.0, dtype, form.domain)], None
        first = form.pieces[0]
        if len(form.pieces) == 1 and not factors_of(first):
            number = _rounded(first.coefficient, dtype)
            if rational(number, dtype) != first.coefficient:
                return [], form  # it would stand for another number, the simplest one near it
            return [walk.constant_piece(number, dtype, form.domain)], None
        if len(form.pieces) == 1 and first.coefficient == 1 and len(factors_of(first)) == 1:
            base, exponent = factors_of(first)[0]
            single = exponent == 1 and store.single_valued(first.rel)
            if single and base.dtype is dtype and base.kind is not AtomKind.REAL and base is not atom:
                return [Piece(base, first.rel)], None
        pieces: list[Piece] = []
        for known in self._terms.get((deep, dtype, form.key), ()):
            if known.atom is atom or (self.left_out.is_shielded(known.atom) and not walk.is_original):
                continue
            match, good = matched(walk, form, known)
            if match is None or store.set_empty(good):
                continue
            pieces.append(Piece(known.atom, match))
            rest = store.set_minus(form.domain, good)
            if store.set_empty(rest):
                return pieces, None
            form = restricted(walk, form, rest)
        return pieces, form

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
        space = self._context.spaces.of(atom)
        return self._polynomials.factor(atom, self._store.identity_on(space), space)

    def _computed(self, walk: Walk, atom: Atom, deep: bool) -> Form | None:
        """The form by what the term is made of; None where it is made of nothing that has one."""
        if not atom.dtype.is_float:
            return None  # integers wrap
        space = self._context.spaces.of(atom)
        if atom.kind is AtomKind.LIFT:
            name = name_of(atom)
            if self.left_out.is_exposed(atom):
                return None
            if name in ("stablehlo.select", "stablehlo.convert") and atom.operands[0].dtype.is_bool:
                return self._chosen(walk, atom, deep)
            if name not in self._ops or any(not operand.dtype.is_float for operand in atom.operands):
                return None
            if not self._is_defined(walk, atom):
                return None
            return self._ops[name](walk, self._operands(walk, atom, deep))
        if self.left_out.is_exposed(atom):
            return None
        if atom.kind is AtomKind.PRODUCT:
            return self._product(walk, atom, space, deep)
        if atom.kind is AtomKind.NAMED and isinstance(atom.data, tuple) and atom.data:
            definition = self._context.definition_of(atom)
            if definition is None or definition.monoid not in (None, Monoid.ADD):
                return None
            forms = [self._part(walk, piece, space, deep) for piece in atom.data]
            return self._polynomials.add(walk, forms, (1,) * len(forms)) if len(forms) > 1 else forms[0]
        return None

    def _operands(self, walk: Walk, atom: Atom, deep: bool) -> list[Form]:
        """The forms of what a lifted term is an op of, on its indices."""
        space = self._context.spaces.of(atom)
        return [self._read(walk, operand, rel, space, deep) for operand, rel in reads_of(atom)]

    def _chosen(self, walk: Walk, atom: Atom, deep: bool) -> Form:
        """What a predicate chooses, [p] · (a − b) + b; of a predicate as a number, [p] itself."""
        space, (predicate, *choices) = self._context.spaces.of(atom), reads_of(atom)
        test, rel = predicate
        if rel is None:
            rel = self._store.identity_on(space) if test.arity == space.arity else walk.empty_tuple(space)
        if test.kind is AtomKind.CONSTANT:
            raise NoFormError
        known = self._tested(walk, test, rel, space, deep) if name_of(test) in _TESTS else None
        if known is None:
            holds = self._polynomials.indicator(test, rel, space)
        else:
            holds = self._polynomials.number(walk, Fraction(known), space)
        if not choices:
            return holds
        first, second = (self._read(walk, *read, space, deep) for read in choices)
        apart = self._polynomials.add(walk, (first, second), (1, -1))
        return self._polynomials.add(walk, (self._polynomials.multiply(walk, holds, apart), second), (1, 1))

    def _tested(self, walk: Walk, test: Atom, rel: Rel, space: Dom, deep: bool) -> bool | None:
        """What a test of real numbers comes to where it holds for all of them, or their signs decide it."""
        reads = list(self.left_out.operands_read(test, rel))
        if not all(self.is_real(walk, *read) for read in reads):
            return None
        if name_of(test) == "stablehlo.is_finite":
            return True
        first, second = (self._read(walk, *read, space, deep) for read in reads)
        return self._signs.compared(walk, walk.operation_of(test), first, second)

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
        if not self.left_out.covers(atom, rel):
            raise NoFormError
        if rel is None and atom.arity < space.arity:
            rel = walk.empty_tuple(space)
        if atom.kind is AtomKind.PRODUCT and rel is not None and not self.left_out.is_exposed(atom):
            form = self._product(walk, atom, store.range(rel), deep)
        elif not deep and atom.number <= self.left_out.last_original and self._is_finite(walk, atom):
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

    def _absolute(self, walk: Walk, form: Form) -> Form:
        if not self._signs.is_positive(walk, form):
            raise NoFormError
        return form

    # which terms are real numbers -----------------------------------------------------------------------------------

    def _seal(self, walk: Walk) -> None:
        """The original is gone through: tell what it computes for all inputs from what a choice may leave out."""
        if self._sealed or walk.is_original:
            return
        self._sealed = True
        self.left_out.seal(partial(self._is_shown, walk))
        for atom, indices in self.left_out.divisions():
            for deep in (False, True):
                try:
                    _, divisor = self._operands(walk, atom, deep)
                    self._signs.divides(walk, divisor, indices)
                except (NoFormError, RelationLimitError):
                    continue

    def covers_read(self, walk: Walk, atom: Atom, rel: Rel) -> bool:
        """Whether a term is read only where the original computes it, if it may be no real number elsewhere."""
        self._seal(walk)
        return self.left_out.covers(atom, rel)

    def may_stand(self, walk: Walk, atom: Atom, rel: Rel) -> bool:
        """Whether a term of the original may be put in the place of a real number at these indices: it is one there."""
        return walk.is_original or (not self.left_out.is_shielded(atom) and self.left_out.covers(atom, rel))

    def is_real(self, walk: Walk, atom: Atom, rel: Rel | None = None) -> bool:
        """Whether the term is a real number wherever it is read."""
        self._seal(walk)
        if not walk.is_original and self.left_out.is_shielded(atom):
            return False
        return self._has_real(walk, atom, rel)

    def is_made_of_reals(self, walk: Walk, atom: Atom) -> bool:
        """Whether the term is a real number, or something else, and all that is compared or converted in it is real."""
        if not self.is_real(walk, atom):
            return False
        pending, seen = [atom], {atom.number}
        while pending:
            term = pending.pop()
            for operand, rel in made_of(self._context, term):
                leaves_reals = operand.dtype.is_float and not term.dtype.is_float
                if leaves_reals and not self.is_real(walk, operand, rel):
                    return False
                if operand.number not in seen | self._made_of_reals:
                    seen.add(operand.number)
                    pending.append(operand)
        self._made_of_reals |= seen
        return True

    def _is_finite(self, walk: Walk, atom: Atom) -> bool:
        """Whether the term is a real number at all its indices (of the original: at those at which it computes it)."""
        if not atom.dtype.is_float:
            return not atom.dtype.is_complex
        found = self._finite.get(atom.number)
        if found is None:
            found = self._finite[atom.number] = self._finds_finite(walk, atom)
        return found

    def _finds_finite(self, walk: Walk, atom: Atom) -> bool:
        if self.left_out.is_exposed(atom):
            return False
        match atom.kind:
            case AtomKind.PARAMETER | AtomKind.INTEGER:
                return True
            case AtomKind.CONSTANT:
                value = atom.data[1] if isinstance(atom.data, tuple) else atom.data
                return isinstance(value, (int, float)) and not isinstance(rational(value, atom.dtype), str)
            case AtomKind.LIFT:
                reads = reads_of(atom)
                return all(self._has_real(walk, *read) for read in reads) and self._is_defined(walk, atom)
            case AtomKind.PRODUCT:
                return all(self._is_real_everywhere(walk, operand) for operand in atom.operands)
            case AtomKind.GUARD:
                return self._is_real_everywhere(walk, atom.operands[0])
            case AtomKind.NAMED:
                definition = self._context.definition_of(atom)
                if definition is None or not definition.pieces:
                    return False
                sums = definition.monoid in (None, Monoid.ADD)
                return all(
                    # a maximum over guarded elements is −∞ where none of them is there
                    (sums or piece.atom.kind is not AtomKind.GUARD) and self._has_real(walk, piece.atom, piece.rel)
                    for piece in definition.pieces
                )
            case _:
                return False

    def _has_real(self, walk: Walk, atom: Atom, rel: Rel | None) -> bool:
        if not self.left_out.covers(atom, rel):
            return False
        if self._is_finite(walk, atom):
            return True
        if not atom.dtype.is_float or atom.kind in (AtomKind.CONSTANT, AtomKind.INTEGER):
            return False
        form = self._form(walk, atom, deep=False)
        return form is not None and form.below is None

    def _is_real_everywhere(self, walk: Walk, atom: Atom) -> bool:
        return self.left_out.covers_everything(atom) and self._has_real(walk, atom, None)

    def _is_defined(self, walk: Walk, atom: Atom) -> bool:
        """Whether an op on real numbers gives one: in the original it does by assumption."""
        return is_total(atom) or atom.number <= self.left_out.last_original or self._is_shown(walk, atom)

    def _is_shown(self, walk: Walk, atom: Atom) -> bool:
        """Whether that is known of an op that does not give one for all real numbers."""
        name = name_of(atom)
        if not atom.dtype.is_float or any(not operand.dtype.is_float for operand in atom.operands):
            return False
        try:
            forms = self._operands(walk, atom, deep=True)
        except (NoFormError, RelationLimitError):
            return False
        if atom.dtype.is_positive:
            return name == "stablehlo.convert" and self._signs.is_positive(walk, forms[0])
        if name == "stablehlo.divide":
            return self._signs.is_nonzero(walk, forms[1])
        return name in OF_POSITIVE and self._signs.is_positive(walk, forms[0])
