"""A numerical audit of forms over the reals: each one of a walk is evaluated and compared with its term's elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shardproof.validator.relate.atoms import Atom, AtomKind
from shardproof.validator.relate.forms import Form, role_of
from shardproof.validator.relate.reals import Reals
from shardproof.validator.relate.value import Piece

from .audit import Auditor, Unknown, _member
from .points import TooManyPoints, enumerate_set


class FormAuditor:
    """The forms that one walk has found, by the elements that an audit of it has seen."""

    def __init__(self, auditor: Auditor, reals: Reals) -> None:
        self._auditor = auditor
        self._reals = reals
        self.checked = 0
        self.mismatches: list[str] = []

    def check(self) -> None:
        """Compare every form with the elements of its term."""
        atoms = {atom.number: atom for atom in self._auditor.context.atoms._by_key.values()}
        for (number, deep), form in list(self._reals._forms.items()):
            atom = atoms[number]
            if form is None or _is_trivial(atom, form):
                continue
            try:
                self._compare(atom, form, "deep" if deep else "shallow")
            except (Unknown, TooManyPoints) as reason:
                self._auditor.audit.skipped[f"form {reason}"] += 1

    def _compare(self, atom: Atom, form: Form, which: str) -> None:
        points = enumerate_set(form.domain.set)
        if not len(points):
            return
        actual = self._auditor.element(atom, points)
        given = self._summed(form.pieces, points)
        if form.below is not None:
            given[_member(points, enumerate_set(form.below.set))] = -np.inf
        self.checked += len(points)
        close = np.isclose(actual.astype(np.float64), given, rtol=1e-5, atol=1e-6, equal_nan=True)
        if not close.all():
            at = int(np.argmin(close))
            where = f"{which} form of {atom} ({atom.number}) at {points[at].tolist()}"
            self.mismatches.append(f"{where}: {actual[at]} is not {given[at]}")

    def _summed(self, pieces: Sequence[Piece], points: np.ndarray) -> np.ndarray:
        """Σ of the pieces at these points."""
        places = {tuple(point): row for row, point in enumerate(points.tolist())}
        total = np.zeros(len(points))
        for piece in pieces:
            arity = piece.rel.arity_in
            for pair, value in self._elements(piece):
                row = places.get(tuple(pair[:arity]))
                if row is not None:
                    total[row] += value
        return total

    def _elements(self, piece: Piece) -> Iterator[tuple[list[int], float]]:
        pairs = enumerate_set(piece.rel.map.wrap().flatten())
        values = float(piece.coefficient) * self._element(piece.atom, pairs[:, piece.rel.arity_in :])
        yield from zip(pairs.tolist(), values.tolist(), strict=True)

    def _element(self, atom: Atom, index: np.ndarray) -> np.ndarray:
        """A term's, monomial's or factor's elements at these indices."""
        if atom.kind is AtomKind.MONOMIAL:
            result, at = np.ones(len(index)), 0
            for factor, exponent in atom.data:
                base = self._element(factor, index[:, at : at + factor.arity])
                result = result * base ** (int(exponent) if exponent.denominator == 1 else float(exponent))
                at += factor.arity
            return result
        if atom.kind is not AtomKind.REAL:
            return np.asarray(self._auditor.element(atom, index), np.float64)
        summed = self._reals._polynomials.sum_of(atom)
        if summed is None:
            inner = self._element(atom.operands[0], index)
            return {"exp": np.exp, "log": np.log, "is": np.asarray}[role_of(atom)](inner)
        unique, inverse = np.unique(index, axis=0, return_inverse=True)
        return self._summed(summed[0], unique)[np.asarray(inverse).reshape(-1)]


def _is_trivial(atom: Atom, form: Form) -> bool:
    return len(form.pieces) == 1 and [factor for factor, _ in form.pieces[0].atom.data] == [atom]
