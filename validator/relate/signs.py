"""Which sums of products are positive, and which are known not to be zero.

A sum of positive products is positive where it has a summand. An exponential is positive. What is positive is greater
than zero and than negative constants. What the original divides by is not zero at the indices at which it does: inputs
for which it is are not judged.
Lemma *attained maximum*: the number of elements that equal their maximum (or minimum) is positive. Precondition: all
elements that the maximum is taken over are among those that are counted, and none of them is NaN. Theory: exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..ops.monoid import Monoid
from ..read.attributes import Comparison
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .context import Context
from .forms import Form, NoFormError, factors_of, restricted, role_of
from .polynomials import Polynomials
from .value import Piece

if TYPE_CHECKING:
    from .walk import Walk

_IF_LESS = frozenset({Comparison.LT, Comparison.LE, Comparison.NE})
_IF_GREATER = frozenset({Comparison.GT, Comparison.GE, Comparison.NE})
_POSITIVE = frozenset({"stablehlo.exponential", "stablehlo.logistic"})


class Signs:
    """What is known of the signs of forms."""

    def __init__(
        self, context: Context, polynomials: Polynomials, is_real: Callable[[Walk, Atom, Rel | None], bool]
    ) -> None:
        """`is_real` tells whether a term is a real number wherever it is read."""
        self._context = context
        self._store = context.store
        self._polynomials = polynomials
        self._is_real = is_real
        self._divisors: dict[int, Dom] = {}
        """By the number of a factor: indices at which the original divides by it."""

    def divides(self, walk: Walk, form: Form, indices: Dom) -> None:
        """The original divides by this form at these of its points."""
        store, part = self._store, restricted(walk, form, indices)
        if not part.pieces:
            return
        for whole in self._polynomials.whole(walk, part.domain, part.pieces):
            for (atom, _), rel in self._polynomials.reads(whole):
                known = self._divisors.get(atom.number)
                read = store.range(rel)
                self._divisors[atom.number] = read if known is None else store.set_union(known, read)

    def is_nonzero(self, walk: Walk, form: Form) -> bool:
        """Whether the form is a real number other than zero at all of its points."""
        store = self._store
        if form.below is not None or not form.pieces:
            return False
        try:
            whole = self._polynomials.whole(walk, form.domain, form.pieces)
        except NoFormError:
            return False
        rest = form.domain
        for part in whole:
            rest = store.set_minus(rest, store.domain(part.rel))
            for (atom, _), rel in self._polynomials.reads(part):
                known = self._divisors.get(atom.number)
                divided = known is not None and store.set_subset(store.range(rel), known)
                if not divided and not self._is_positive(walk, atom):
                    return False
        return store.set_empty(rest)

    def is_positive(self, walk: Walk, form: Form) -> bool:
        """Whether the form is a positive real number at all of its points."""
        return form.below is None and self._all_positive(walk, form.pieces, form.domain)

    def compared(self, walk: Walk, operation: Any, first: Form, second: Form) -> bool | None:
        """What a comparison comes to, where one side is positive and the other one a number that is not."""
        if operation is None or operation[1].keys() != {"comparison_direction"}:
            return None
        for less, greater, holds in ((first, second, _IF_LESS), (second, first, _IF_GREATER)):
            if self._is_no_more_than_zero(less) and self.is_positive(walk, greater):
                return operation[1]["comparison_direction"] in holds
        return None

    def _is_no_more_than_zero(self, form: Form) -> bool:
        """Whether the form is zero or a negative constant at each point."""
        constants = all(not factors_of(piece) and piece.coefficient < 0 for piece in form.pieces)
        return form.below is None and constants

    def _all_positive(self, walk: Walk, pieces: tuple[Piece, ...], domain: Dom) -> bool:
        """Whether no piece is negative, and at each point one that is positive."""
        rest = domain
        for piece in pieces:
            factors = factors_of(piece)
            if all(self._is_positive(walk, atom) for atom, _ in factors):
                rest = self._store.set_minus(rest, self._store.domain(piece.rel))
            elif not all(role_of(atom) == "is" or self._is_positive(walk, atom) for atom, _ in factors):
                return False
            if piece.coefficient <= 0:
                return False
        return self._store.set_empty(rest)

    def _is_positive(self, walk: Walk, atom: Atom) -> bool:
        """Whether a factor is positive at all of its indices."""
        summed = self._polynomials.sum_of(atom)
        if summed is not None:
            return self._all_positive(walk, *summed) or self._counts_maxima(walk, *summed)
        operation = walk.operation_of(atom) if atom.kind is AtomKind.LIFT else None
        return role_of(atom) == "exp" or (operation is not None and operation[0] in _POSITIVE)

    def _counts_maxima(self, walk: Walk, pieces: tuple[Piece, ...], domain: Dom) -> bool:
        """Lemma *attained maximum*: whether a sum counts the elements that are equal to their maximum."""
        if len(pieces) != 1 or len(factors_of(pieces[0])) != 1 or pieces[0].coefficient <= 0:
            return False
        test = _test_of(walk, factors_of(pieces[0])[0])
        if test is None:
            return False
        (one, read), (other, compared) = test
        for element, at, greatest, of in ((one, read, other, compared), (other, compared, one, read)):
            if self._covers_maximum(walk, pieces[0].rel, element, at, greatest, of, domain):
                walk.context.used("attained maximum")
                return True
        return False

    def _covers_maximum(
        self, walk: Walk, counted: Rel, element: Atom, at: Rel, greatest: Atom, of: Rel, domain: Dom
    ) -> bool:
        """Whether every point counts all elements that the one maximum it compares with is taken over."""
        store = self._store
        definition = self._context.definition_of(greatest)
        if definition is None or definition.monoid not in (Monoid.MAX, Monoid.MIN):
            return False
        if len(definition.pieces) != 1 or definition.pieces[0].atom is not element:
            return False
        over = definition.pieces[0].rel
        maximum = store.compose(counted, of)
        if not store.single_valued(maximum) or not store.set_equal(store.domain(maximum), domain):
            return False
        if not store.set_subset(store.range(maximum), store.domain(over)):
            return False
        wanted = store.pair(store.compose(maximum, over), maximum)
        if not store.subset(wanted, store.compose(counted, store.pair(at, of))):
            return False
        return self._is_number(walk, element, store.compose(maximum, over))

    def _is_number(self, walk: Walk, atom: Atom, rel: Rel) -> bool:
        """Whether a term is not NaN wherever it is read: an infinite constant, too, is equal to itself."""
        if atom.kind is AtomKind.CONSTANT and not atom.arity:
            value: Any = atom.data[1] if isinstance(atom.data, tuple) else atom.data
            return isinstance(value, (int, float)) and not math.isnan(value)
        definition = self._context.definition_of(atom)
        if definition is not None and definition.monoid is None:
            reads = [(piece.atom, self._store.compose(rel, piece.rel)) for piece in definition.pieces]
            return all(self._is_number(walk, *read) for read in reads if not self._store.empty(read[1]))
        return self._is_real(walk, atom, rel)


def is_positive_number(atom: Atom) -> bool:
    """Whether a term is a positive constant."""
    if atom.kind is not AtomKind.CONSTANT or atom.arity:
        return False
    value: Any = atom.data[1] if isinstance(atom.data, tuple) else atom.data
    return isinstance(value, (int, float)) and 0 < value < math.inf


def _test_of(walk: Walk, factor: tuple[Atom, Any]) -> tuple[tuple[Atom, Rel], tuple[Atom, Rel]] | None:
    """For 1 where two elements are equal and 0 elsewhere: both, and how they are read from the factor's index."""
    atom, exponent = factor
    if role_of(atom) != "is" or exponent != 1 or atom.operands[0].kind is not AtomKind.LIFT:
        return None
    (test,) = atom.operands
    inner = walk.operation_of(test)
    if inner is None or inner[0] != "stablehlo.compare" or len(test.rels) != 2:
        return None
    attributes: Mapping[str, Any] = inner[1]
    if attributes != {"comparison_direction": Comparison.EQ}:
        return None
    (first, second), (read, compared) = test.operands, inner[2]
    if read is None or compared is None:
        return None
    return (first, read), (second, compared)
