"""Sums of products of elements, as contractions, and contractions as sums of such.

Lemma *products of elements*: Σ over x ∈ R(p) of y[a(x)] · z[b(x)] is the sum of the products of y and z over the pairs
(a(x), b(x)), as a contraction has it. No pair may be reached through two x. XLA for TPUs writes small matrix products
as a multiplication and a sum. Theory: reassociated, since a contraction may multiply in a wider type than its own;
exact for integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops.contraction_maps import PLAIN
from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.sums import product_of_elements
from ..ops.values import gathered
from ..relation.build import names
from .atoms import AtomKind
from .lift import find
from .splitting import taken_apart
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


def contracted(walk: Walk, value: Val) -> Val | None:
    """The sum with products that the original contracts in the place of multiplications; None where there is none."""
    return _with(walk, value, [_product(walk, piece) for piece in value.pieces])


def multiplied(walk: Walk, value: Val) -> Val | None:
    """The sum with multiplications of the original in the place of products; None where there is none."""
    return _with(walk, value, [_multiplication(walk, piece) for piece in value.pieces])


def read_as_product(walk: Walk, value: Val) -> Val | None:
    """New multiplications as products that there are, which contractions over nothing leave; None where none is."""
    if walk.is_original:
        return None
    pieces = [_known_product(walk, piece) for piece in value.pieces]
    if not any(pieces):
        return None
    walk.context.used("products of elements")
    found = gathered(walk.store, [new or old for old, new in zip(value.pieces, pieces, strict=True)])
    theory = value.theory if value.type.dtype.is_integer else strongest([value.theory, Theory.REASSOCIATED])
    whole = Val(value.type, found, value.domain, theory=theory)
    return walk.equated(value if walk.trace is None else walk.trace.ordinary(value), whole)


def _with(walk: Walk, value: Val, others: list[list[Piece] | None]) -> Val | None:
    if value.monoid is not Monoid.ADD or not any(others):
        return None
    pieces = [new for old, found in zip(value.pieces, others, strict=True) for new in found or (old,)]
    apart = taken_apart(walk, value, Monoid.ADD, pieces, value.levels)
    if apart is not None:
        walk.context.used("products of elements")
    return apart


def _known_product(walk: Walk, piece: Piece) -> Piece | None:
    """A new multiplication of two elements as their product, if that is older."""
    product = _as_product(walk, piece) if piece.atom.number in walk.origins else None
    if product is None or product.atom.number > piece.atom.number:
        return None
    return Piece(product.atom, walk.store.compose(piece.rel, product.rel))


def _product(walk: Walk, piece: Piece) -> list[Piece] | None:
    """A multiplication of two elements as their product, where the original sums such."""
    product = _as_product(walk, piece)
    if product is None or product.atom.number not in walk.context.definitions:
        return None
    if not walk.counts_once(piece.rel, product.rel):
        return None
    return [Piece(product.atom, walk.store.compose(piece.rel, product.rel), piece.coefficient)]


def _as_product(walk: Walk, piece: Piece) -> Piece | None:
    """The product that a multiplication is, as its indices read it; None for any other term."""
    operation = walk.operation_of(piece.atom) if piece.atom.kind is AtomKind.LIFT else None
    if operation is None or len(piece.atom.operands) != 2:
        return None
    name, _, reads = operation
    own = walk.store.identity_on(walk.store.range(piece.rel))
    parts = [Piece(atom, read or own) for atom, read in zip(piece.atom.operands, reads, strict=True)]
    found = product_of_elements(walk, Monoid.ADD, name, piece.atom.dtype, parts)
    return None if found is None else found[0]


def _multiplication(walk: Walk, piece: Piece) -> list[Piece] | None:
    """A product as the multiplications that the original has of these elements."""
    atom, store = piece.atom, walk.store
    if atom.kind is not AtomKind.PRODUCT or atom.key[2][2] != PLAIN:
        return None
    domain, first = store.range(piece.rel), atom.operands[0].arity
    every = names("x", atom.arity)
    reads = [store.rel(f"{{[{','.join(every)}] -> [{','.join(part)}]}}") for part in (every[:first], every[first:])]
    parts = [Piece(operand, store.restrict(r, domain)) for operand, r in zip(atom.operands, reads, strict=True)]
    if product_of_elements(walk, Monoid.ADD, Monoid.MUL.value, atom.dtype, parts) is None:
        return None
    found = find(walk, (Monoid.MUL.value, ()), parts, domain, atom.dtype, commutative=True)
    if found is None:
        return None
    # an index of the multiplication has one pair of elements: it is reached through one pair only
    return [Piece(new.atom, store.compose(piece.rel, new.rel), piece.coefficient) for new in found]
