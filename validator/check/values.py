"""What the words of op records mean for the values of a check, as far as relations tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..ops.digest import bytes_digest
from ..ops.engine import Engine
from ..ops.integers import whole_number
from ..ops.monoid import Monoid
from ..read.ir import DType, TensorType
from ..relation.build import constant, passing
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Piece, Term, Terms, Value, number_of, unguarded


class Calculus(Engine):
    """Values and terms; what needs the certificate stands in `Run`."""

    __slots__ = ()

    rels: Relations
    terms: Terms
    single: dict[Term, Dom]
    """Where a view of elements under guards is known to have exactly one: it equals a value that has."""

    @property
    def store(self) -> Any:
        return self.rels

    # values ---------------------------------------------------------------------------------------------------------

    def value(self, type_: TensorType, pieces: Iterable[Piece], domain: Dom, *rest: Any, **named: Any) -> Value:
        return Value(type_, tuple(pieces), domain, *rest, **named)

    def piece(self, atom: Term, rel: Rel, coefficient: int = 1) -> Piece:
        return Piece(atom, rel, coefficient)

    def read_through(self, value: Value, rel: Rel, type_: TensorType) -> Value:
        if not self.rels.single_valued(rel):
            raise Rejection("an element would be read from several places")
        return super().read_through(value, rel, type_)

    def piecewise(self, parts: Sequence[tuple[Rel, Value]], type_: TensorType) -> Value:
        points = self.points(type_)
        covered = self.rels.set_minus(points, points)
        for rel, _ in parts:
            if not self.rels.set_empty(self.rels.set_meet(covered, self.rels.domain(rel))):
                raise Rejection("an element has two sources")
            covered = self.rels.set_union(covered, self.rels.domain(rel))
        return super().piecewise(parts, type_)

    def as_sum(self, value: Value, monoid: Monoid) -> Value:
        if value.monoid not in (None, monoid):
            raise Rejection(f"a partial result of '{value.monoid.value}' is taken for one of '{monoid.value}'")
        return super().as_sum(value, monoid)

    def covered(self, pieces: Sequence[Piece], domain: Dom) -> None:
        """That one of the pieces has its one element at each of these points, and no two have, nor one several."""
        rels, covered = self.rels, self.rels.set_minus(domain, domain)
        for piece in pieces:
            if not rels.single_valued(piece.rel) or piece.coefficient != 1 or piece.atom.kind is Kind.GUARD:
                raise Rejection(f"a view reads several elements of {piece.atom} at a point")
            if not rels.set_empty(rels.set_meet(covered, rels.domain(piece.rel))):
                raise Rejection("two pieces of a view overlap")
            covered = rels.set_union(covered, rels.domain(piece.rel))
        if not rels.set_subset(domain, covered):
            raise Rejection("a view has no element at some point")

    def close(self, value: Value, reason: str) -> Value:
        if value.monoid is not None:
            raise Rejection(f"a partial result is used as if it were complete: {reason}")
        self.covered(value.pieces, value.domain)
        return value

    def establish(self, piece: Piece) -> None:
        image = self.rels.range(piece.rel)
        known = self.single.get(piece.atom)
        self.single[piece.atom] = image if known is None else self.rels.set_union(known, image)

    def is_established(self, piece: Piece) -> bool:
        known = self.single.get(piece.atom)
        return known is not None and self.rels.set_subset(self.rels.range(piece.rel), known)

    # terms ----------------------------------------------------------------------------------------------------------

    def integer(self, dtype: DType) -> Term:
        return self.terms.make(Kind.INTEGER, dtype, 1)

    def is_integer(self, atom: Term) -> bool:
        return atom.kind is Kind.INTEGER

    def number_of(self, atom: Term) -> int | float | complex | None:
        return number_of(atom)

    def bits_of(self, atom: Term) -> str:
        return str(atom.key)

    def unguarded(self, atom: Term) -> tuple[Term, tuple[Term, ...]]:
        return unguarded(atom)

    def guard(self, atom: Term, guards: tuple[Term, ...]) -> Term:
        if not guards:
            return atom
        base, known = unguarded(atom)
        every = (base, *known, *guards)
        arity = base.arity + sum(term.arity + 1 for term in every[1:])
        return self.terms.make(Kind.GUARD, base.dtype, arity, (), map(self.whole, every))

    def whole(self, term: Term) -> Piece:
        """A term at indices of its own."""
        return Piece(term, passing(self.store, term.arity))

    def constant_piece(self, value: Any, dtype: DType, domain: Dom) -> Piece:
        integer = whole_number(dtype, value)
        if integer is not None:
            return Piece(self.integer(dtype), constant(self.store, domain, integer))
        if dtype.is_complex:
            value = np.asarray(value, np.complex64 if dtype is DType.C64 else np.complex128)[()]
        elif not np.isnan(float(value)):
            value = np.float64(value)
        term = self.terms.make(Kind.SCALAR, dtype, 0, value.tobytes().hex())
        return Piece(term, constant(self.store, domain))

    def array(self, type_: TensorType, array: np.ndarray) -> Value:
        digest = bytes_digest(array.shape, np.ascontiguousarray(array).tobytes())
        term = self.terms.make(Kind.ARRAY, type_.dtype, type_.rank, digest)
        return Value(type_, (Piece(term, self.builder.local_identity(type_.shape)),), self.points(type_))

    def canonical(self, piece: Piece) -> Piece:
        """An integer piece of one value as that constant, so that equal constants are one term."""
        value = self.rels.constant_range(piece.rel) if piece.atom.kind is Kind.INTEGER else None
        if value is None:
            return piece
        term = self.terms.make(Kind.NUMBER, piece.atom.dtype, 0, value[0])
        return Piece(term, self.rels.project_out(piece.rel, 0, 1), piece.coefficient)
