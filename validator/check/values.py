"""What the words of op records mean for the values of a check, as far as relations tell."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..ops.digest import bytes_digest
from ..ops.engine import Engine
from ..ops.integers import whole_number
from ..ops.monoid import Monoid
from ..ops.values import Piece, Value
from ..read.ir import DType, TensorType
from ..relation.build import constant, passing
from ..relation.objects import Dom, Rel
from .errors import Rejection
from .relations import Relations
from .terms import Kind, Term, Terms, unguarded


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

    def read_through(self, value: Value, rel: Rel, type_: TensorType) -> Value:
        if not self.rels.single_valued(rel):
            raise Rejection("an element would be read from several places")
        return super().read_through(value, rel, type_)

    def piecewise(self, parts: Sequence[tuple[Rel, Value]], type_: TensorType) -> Value:
        self.rels.disjoint([rel for rel, _ in parts], "an element has two sources")
        return super().piecewise(parts, type_)

    def as_sum(self, value: Value, monoid: Monoid) -> Value:
        if value.monoid not in (None, monoid):
            raise Rejection(f"a partial result of '{value.monoid.value}' is taken for one of '{monoid.value}'")
        return super().as_sum(value, monoid)

    def covered(self, pieces: Sequence[Piece], domain: Dom | None) -> Dom:
        """The points of pieces: one of them has its one element there (and at these), no two have, nor one several."""
        for piece in pieces:
            if not self.rels.single_valued(piece.rel) or piece.coefficient != 1 or piece.atom.kind is Kind.GUARD:
                raise Rejection(f"a view reads several elements of {piece.atom} at a point")
        covered = self.rels.disjoint([piece.rel for piece in pieces], "two pieces of a view overlap")
        if domain and not (self.rels.set_subset(domain, covered) if pieces else self.rels.set_empty(domain)):
            raise Rejection("a view has no element at some point")
        return covered

    def close(self, value: Value, reason: str) -> Value:
        if value.monoid is not None:
            raise Rejection(f"a partial result is used as if it were complete: {reason}")
        self.covered(value.pieces, value.domain)
        return value

    def establish(self, value: Value, piece: Piece) -> None:
        """A piece that is all that a value has at its points is one element there."""
        if self.rels.single_valued(piece.rel) and len(self.restricted(value, self.rels.domain(piece.rel)).pieces) == 1:
            image = self.rels.range(piece.rel)
            self.single[piece.atom] = self.rels.set_union(self.single.get(piece.atom, image), image)

    def is_established(self, piece: Piece) -> bool:
        known = self.single.get(piece.atom)
        return known is not None and self.rels.set_subset(self.rels.range(piece.rel), known)

    # terms ----------------------------------------------------------------------------------------------------------

    def number_of(self, atom: Term) -> int | float | complex | None:
        if atom.kind is not Kind.SCALAR:
            return atom.key if atom.kind is Kind.NUMBER else None
        bits = bytes.fromhex(atom.key)
        if atom.dtype.is_complex:
            return complex(np.frombuffer(bits, np.complex64 if len(bits) == 8 else np.complex128)[0])
        return struct.unpack("<d", bits)[0] if len(bits) == 8 else float("nan")

    unguarded = staticmethod(unguarded)  # pyright: ignore[reportAssignmentType]

    def integer(self, dtype: DType) -> Term:
        return self.terms.make(Kind.INTEGER, dtype, 1)

    def is_integer(self, atom: Term) -> bool:
        return atom.kind is Kind.INTEGER

    def number(self, dtype: DType, number: int) -> Term:
        return self.terms.make(Kind.NUMBER, dtype, 0, number)

    def bits_of(self, atom: Term) -> str:
        return str(atom.key)

    def product(self, first: Term, second: Term, dtype: DType, flavour: Hashable) -> Term:
        parts = self.whole(first), self.whole(second)
        return self.terms.make(Kind.PRODUCT, dtype, first.arity + second.arity, repr(flavour), parts)

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
        term = self.terms.make(Kind.ARRAY, type_.dtype, type_.rank, bytes_digest(array.shape, array.tobytes()))
        self.arrays[term] = array
        return Value(type_, (Piece(term, self.builder.local_identity(type_.shape)),), self.points(type_))
