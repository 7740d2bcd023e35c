"""Terms as multiples of others, with the constant outside of products and sums and, if a power of two, of choices.

Devices average before they add up, where the original divides a sum, and what is done with a gradient in between is
linear in it: so one program scales what the other one computes with. In both the constant is moved out as far as it
goes, where they meet. Each step is an instance of a rule: *sum-of-scaled*, *divide-of-scaled*,
*select-of-scaled* and their like, or of *sums-and-products-reordered*. Theory: reassociated. Where both programs scale
alike no law is needed, so it is done only where no proof was found without.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate.numbers import STORAGE
from ..ops.contraction_maps import PLAIN
from ..ops.monoid import Monoid
from ..read.ir import DType, TensorType
from ..relation.build import names
from ..relation.store import Dom, Rel
from ..rules.constants import is_power_of_two
from .atoms import Atom, AtomKind, key_of, name_of, reads_of
from .unfolding import elements
from .value import Piece, Val

if TYPE_CHECKING:
    from .walk import Walk

MAX_NESTED = 8
"""At most this many ops of one term are looked through for constants; each of them is moved out as it is met."""

_ONE = Fraction(1)

_ADDS = {"stablehlo.add": "stablehlo.subtract", "stablehlo.subtract": "stablehlo.add"}
"""Ops whose operands are scaled alike, or else by opposite numbers: that is the other op, of operands scaled alike."""

_LINEAR = frozenset({*_ADDS, "stablehlo.divide", "stablehlo.multiply", "stablehlo.select"})
"""Ops that are linear in some operand."""


@dataclass(frozen=True, slots=True)
class Multiple:
    """A constant times an op of other terms, or times these as they are: one term, or a sum."""

    scale: Fraction
    operands: tuple[Val, ...]
    """At the indices of the term that it is."""
    op: tuple[str, object] | None = None
    """The op with its attributes, as lifted terms have it."""


def multiple_of(walk: Walk, atom: Atom) -> Multiple | None:
    """A term of floats with the constant outside that any part of it is scaled by; None where there is none inside."""
    if not atom.dtype.is_float or atom.dtype.is_positive:
        return None
    value = sum_named(walk, atom)
    found = _of_op(walk, atom) if value is None else multiple_of_sum(walk, value)
    return found if found is not None and constant_of(found.scale, atom.dtype) else None


def multiple_of_sum(walk: Walk, value: Val) -> Multiple | None:
    """A sum of scaled elements of one term as a multiple of the sum of these; of sums all that they sum."""
    if value.monoid is not Monoid.ADD or len(value.pieces) != 1 or value.pieces[0].coefficient != 1:
        return None
    (piece,), levels = value.pieces, value.levels
    scale, base = _unscaled(walk, piece.atom)
    if scale == 1:
        return None
    inner = Piece(base.atom, walk.store.compose(piece.rel, base.rel))
    below = sum_named(walk, inner.atom)
    parts = [inner] if below is None else elements(walk, inner, below)
    if below is not None and parts is not None:
        levels += below.levels
    summed = Val(value.type, tuple(parts or (inner,)), value.domain, value.monoid, levels, value.theory)
    return Multiple(scale, (summed,))


def sum_named(walk: Walk, atom: Atom) -> Val | None:
    """The sum over one term, which no guard hides, that a name stands for, at its indices; None for any other term."""
    definition = walk.context.definition_of(atom)
    if definition is None or definition.monoid is not Monoid.ADD or len(definition.pieces) != 1:
        return None
    if definition.pieces[0].atom.kind is AtomKind.GUARD:
        return None
    domain = walk.store.domain(definition.pieces[0].rel)
    return Val(TensorType((), atom.dtype), definition.pieces, domain, definition.monoid, definition.levels)


def constant_of(scale: Fraction, dtype: DType) -> tuple[str, float] | None:
    """(multiply or divide, number of the type) for a scale; None where neither it nor its reciprocal is a number."""
    for op, number in (("stablehlo.multiply", scale), ("stablehlo.divide", 1 / scale)):
        if abs(number) > sys.float_info.max:
            continue
        with np.errstate(all="ignore"):
            rounded = float(np.asarray(float(number)).astype(STORAGE[dtype]))
        if abs(rounded) < math.inf and Fraction(rounded) == number:
            return op, rounded
    return None


def _of_op(walk: Walk, atom: Atom) -> Multiple | None:
    name, space = name_of(atom), walk.context.spaces.of(atom)
    if name == "stablehlo.negate" or (name in ("stablehlo.multiply", "stablehlo.divide") and _constant_of(walk, atom)):
        scale, base = _unscaled(walk, atom)
        op, _ = constant_of(scale, atom.dtype) or (None, 0)
        # what one op scales is as it has to be, if it is the op for this constant
        outside = base.atom in atom.operands and name == ("stablehlo.negate" if scale == -1 else op)
        return None if outside else Multiple(scale, (_value(base, space),))
    if name not in _LINEAR:
        return None
    reads = [_through(walk, read, rel, space) for read, rel in reads_of(atom)]
    bases = [_below(walk, piece) for piece in reads]
    scale: Fraction | None = bases[0][0]
    match name:
        case "stablehlo.multiply":
            scale *= bases[1][0]
        case "stablehlo.divide":
            bases[1] = (_ONE, reads[1])
        case "stablehlo.select":
            scale, bases[0] = _common(walk, bases[1:]), (_ONE, reads[0])
        case _:
            if scale == -bases[1][0]:
                name = _ADDS[name]
            elif scale != bases[1][0]:
                return None
    if scale is None or all(part == 1 for part, _ in bases):
        return None
    if name in (*_ADDS, "stablehlo.select") and not is_power_of_two(scale):
        return None  # of a sum of two that is a law of the reals, and choices have a rule for powers of two alone
    return Multiple(scale, tuple(_value(base, space) for _, base in bases), (name, key_of(atom)[1]))


def _common(walk: Walk, bases: list[tuple[Fraction, Piece]]) -> Fraction | None:
    """The one constant by which all of these are scaled, but for zeros, which are any multiple of themselves."""
    scales = {scale for scale, base in bases if not _is_zero(walk, base.atom)}
    return scales.pop() if len(scales) == 1 else None


def _is_zero(walk: Walk, atom: Atom) -> bool:
    """Whether a term is 0, and not −0."""
    number = walk.number_of(atom)
    return isinstance(number, int) and number == 0


def _unscaled(walk: Walk, atom: Atom) -> tuple[Fraction, Piece]:
    """(constant, the term that is scaled by it, from the index of the whole), with 1 for what is not scaled."""
    scale, piece = _ONE, Piece(atom, walk.store.identity_on(walk.context.spaces.of(atom)))
    for _ in range(MAX_NESTED):
        factor = _factor_of(walk, piece.atom)
        if factor is None:
            break
        scale, piece = scale * factor[0], Piece(factor[1].atom, walk.store.compose(piece.rel, factor[1].rel))
    return scale, piece


def _factor_of(walk: Walk, atom: Atom) -> tuple[Fraction, Piece] | None:
    """A term as a constant times another one, by its own op."""
    if not atom.dtype.is_float:
        return None
    same = walk.store.identity_on(walk.context.spaces.of(atom))
    if name_of(atom) == "stablehlo.negate":
        return -_ONE, Piece(atom.operands[0], same)
    if atom.kind is AtomKind.PRODUCT:
        return _factor_of_product(walk, atom)
    found = _constant_of(walk, atom)
    if found is None:
        return None
    constant, other = found
    return constant, Piece(other, same)


def _constant_of(walk: Walk, atom: Atom) -> tuple[Fraction, Atom] | None:
    """(constant, operand) of an op that multiplies an operand of its own indices by a constant, or divides it."""
    name = name_of(atom)
    if name not in ("stablehlo.multiply", "stablehlo.divide") or atom.rels:
        return None
    for constant, other in (atom.operands[::-1], atom.operands)[: 2 if name == "stablehlo.multiply" else 1]:
        number = _number_of(walk, constant) if other.arity == atom.arity else None
        if number and other.kind is not AtomKind.CONSTANT:
            return number if name == "stablehlo.multiply" else 1 / number, other
    return None


def _number_of(walk: Walk, atom: Atom) -> Fraction | None:
    """A finite constant, or the quotient of two."""
    parts = atom.operands if name_of(atom) == "stablehlo.divide" and not atom.arity else (atom,)
    found = [number for number in map(walk.number_of, parts) if isinstance(number, (int, float))]
    if len(found) < len(parts) or any(abs(number) == math.inf or number != number for number in found):
        return None
    first, *divisors = map(Fraction, found)
    return first if not divisors else first / divisors[0] if divisors[0] else None


def _factor_of_product(walk: Walk, product: Atom) -> tuple[Fraction, Piece] | None:
    """A product of terms of its own type as a constant times the product of what these are scaled from."""
    if product.key[2][2] != PLAIN or any(factor.dtype is not product.dtype for factor in product.operands):
        return None
    places, own = names("x", product.arity), list[tuple[Atom, list[str]]]()
    scale, at = _ONE, 0
    for factor in product.operands:
        part, base = _unscaled(walk, factor) if factor.kind is AtomKind.LIFT else (_ONE, None)
        own.append((factor if base is None else base.atom, places[at : at + factor.arity]))
        scale, at = scale * part, at + factor.arity
    if scale == 1:
        return None
    (first, before), (second, behind) = sorted(own, key=lambda each: each[0].number)
    inner = walk.product(first, second, product.dtype, PLAIN)
    return scale, Piece(inner, walk.store.rel(f"{{[{','.join(places)}] -> [{','.join([*before, *behind])}]}}"))


def _below(walk: Walk, piece: Piece) -> tuple[Fraction, Piece]:
    """(constant, what is scaled by it) of a term that is read."""
    scale, base = _unscaled(walk, piece.atom)
    return scale, piece if scale == 1 else Piece(base.atom, walk.store.compose(piece.rel, base.rel))


def _through(walk: Walk, atom: Atom, rel: Rel | None, space: Dom) -> Piece:
    """An operand as the indices of a lifted term read it."""
    if rel is None:
        rel = walk.store.identity_on(space) if atom.arity == space.arity else walk.empty_tuple(space)
    return Piece(atom, rel)


def _value(piece: Piece, space: Dom) -> Val:
    return Val(TensorType((), piece.atom.dtype), (piece,), space)
