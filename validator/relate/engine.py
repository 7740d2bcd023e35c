"""The walk as op records see it: what each of their words means to a prover, most of it told elsewhere."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.numbers import STORAGE
from ..ops.choices import Made
from ..ops.contraction_maps import Flavour
from ..ops.engine import Engine, Function, RowOperand
from ..ops.monoid import Monoid
from ..ops.movement_relation import MAX_TABLE
from ..ops.record import Theory
from ..ops.sequence_relation import Order
from ..read.ir import DType, Op, Region, TensorType
from ..relation.store import Dom, Rel, Store
from . import sums
from .added import added_up
from .atoms import Atom, AtomKind
from .lift import lift
from .loops import relate_loop
from .multiplied import read_as_product
from .ordered import made_in_order, relate_in_order
from .rows import relate_rows
from .value import AnyVal, Piece, Val

if TYPE_CHECKING:
    from .context import Context
    from .walk import Walk


class Prover(Engine):
    """What records ask of a walk; it is a base of `Walk` and of nothing else."""

    __slots__ = ()

    context: Context

    @property
    def store(self) -> Store:
        return self.context.store

    @property
    def walk(self) -> Walk:
        return self  # pyright: ignore[reportReturnType]

    # values ---------------------------------------------------------------------------------------------------------

    def value(
        self,
        type_: TensorType,
        pieces: Iterable[Piece],
        domain: Dom,
        monoid: Monoid | None = None,
        levels: int = 0,
        theory: Theory = Theory.EXACT,
    ) -> Val:
        return Val(type_, tuple(pieces), domain, monoid, levels, theory)

    def restricted(self, value: Val, domain: Dom) -> Val:
        found = super().restricted(value, domain)
        if found.known is None or self.store.set_equal(found.domain, value.domain):
            return found
        return replace(found, known=None)  # what is computed from it would be known everywhere

    # terms ----------------------------------------------------------------------------------------------------------

    def integer(self, dtype: DType) -> Atom:
        return self.context.atoms.integer(dtype)

    def is_integer(self, atom: Atom) -> bool:
        return atom.kind is AtomKind.INTEGER

    def number_of(self, atom: Atom) -> int | float | complex | None:
        if atom.kind is not AtomKind.CONSTANT or atom.arity:
            return None
        return atom.data[1] if isinstance(atom.data, tuple) else atom.data

    def bits_of(self, atom: Atom) -> str:
        return atom.key[2].hex()

    def number(self, dtype: DType, number: int) -> Atom:
        return self.context.atoms.constant(dtype, ("int", number), str(number))

    def product(self, first: Atom, second: Atom, dtype: DType, flavour: Flavour) -> Atom:
        key = first.number, second.number, flavour
        both = first, second
        return self.context.atoms.make(
            AtomKind.PRODUCT, dtype, first.arity + second.arity, key, both, label=f"{first}·{second}"
        )

    def guard(self, atom: Atom, guards: tuple[Atom, ...]) -> Atom:
        return self.context.atoms.guard(atom, guards)

    def unguarded(self, atom: Atom) -> tuple[Atom, tuple[Atom, ...]]:
        return (atom.operands[0], atom.operands[1:]) if atom.kind is AtomKind.GUARD else (atom, ())

    def uniform(self, type_: TensorType, array: np.ndarray) -> Val:
        found, dtype = super().uniform(type_, array), type_.dtype
        if (dtype.is_integer or dtype.is_bool) and type_.size <= MAX_TABLE:
            return replace(found, known=array[None].astype(STORAGE[dtype]))
        return found

    def table(self, whole: np.ndarray, type_: TensorType) -> Val | None:
        found = self.walk.known_value(whole, type_)
        return found if found is None or not type_.dtype.is_float else Val(type_, found.pieces, found.domain)

    def array(self, type_: TensorType, array: np.ndarray) -> Val:
        key = type_.shape, array.tobytes()
        atom = self.context.atoms.make(AtomKind.CONSTANT, type_.dtype, type_.rank, key, label=f"constant {type_}")
        self.arrays[atom] = array
        is_table = type_.dtype.is_integer or type_.dtype.is_bool
        known = array[None].astype(STORAGE[type_.dtype]) if is_table else None
        return Val(type_, (Piece(atom, self.builder.local_identity(type_.shape)),), self.points(type_), known=known)

    @property
    def arrays(self) -> dict[Atom, np.ndarray]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.context.arrays

    # integers that index --------------------------------------------------------------------------------------------

    @property
    def expansions(self) -> dict[Atom, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.context.expansions

    def integer_operation(self, atom: Atom) -> tuple[str, Any, list[tuple[Atom, Rel | None]]] | None:
        """A lifted op, or a logical sum of single elements."""
        if atom.kind is AtomKind.LIFT:
            operation = self.walk.operation_of(atom)
            if operation is None:
                return None
            name, attributes, reads = operation
            return name, attributes, list(zip(atom.operands, reads, strict=True))
        definition = self.context.definition_of(atom)
        if definition is None or definition.monoid not in (Monoid.AND, Monoid.OR) or len(definition.pieces) != 2:
            return None
        first, second = definition.pieces
        if any(self.unguarded(piece.atom)[1] or not self.store.single_valued(piece.rel) for piece in definition.pieces):
            return None
        if not self.store.set_equal(self.store.domain(first.rel), self.store.domain(second.rel)):
            return None
        return definition.monoid.value, {}, [(first.atom, first.rel), (second.atom, second.rel)]

    def range_of(self, atom: Atom) -> tuple[int, int]:
        return self.context.root_ranges.get(atom.number, atom.dtype.integer_range)

    @property
    def blocks(self) -> tuple[Hashable, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.context.blocks

    @property
    def excluded(self) -> dict[Atom, Dom] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.context.excluded if self.context.assume_in_bounds else None

    # what needs more than relations ---------------------------------------------------------------------------------

    def lift(
        self, function: Function, operands: Sequence[Val] | None, type_: TensorType, told: Sequence[Val] = ()
    ) -> Val:
        parts = list(told)
        if operands is not None:
            found = lift(self.walk, function.key, operands, type_, commutative=function.commutative)
            found = added_up(self.walk, str(function.key[0]), found) or read_as_product(self.walk, found) or found
            parts.append(found)
        whole, trace = reduce(self.beside, parts), self.walk.trace
        if trace is None or trace.ordinary(parts[-1]) is parts[-1]:
            return whole
        return self.walk.equated(reduce(self.beside, map(trace.ordinary, parts)), whole)

    def sum_over(self, value: Val, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Val:
        return sums.sum_over(self.walk, value, rel, monoid, type_, steps=steps)

    def contract(
        self, lhs: Val, rhs: Val, reads: Sequence[tuple[Rel | None, Rel]], type_: TensorType, flavour: Flavour
    ) -> Val:
        return sums.contract(self.walk, lhs, rhs, reads, type_, flavour)

    def rows(
        self,
        key: Hashable,
        operands: Sequence[RowOperand],
        batch: Sequence[int],
        types: Sequence[TensorType],
        reads: Sequence[Rel],
    ) -> list[AnyVal]:
        return relate_rows(self.walk, key, operands, batch, types, reads)

    def in_order(self, order: Order) -> list[AnyVal]:
        return relate_in_order(self.walk, order)

    def made_in_order(self, atom: Atom) -> Made | None:
        return made_in_order(self.walk, atom)

    def defined_as(self, atom: Atom) -> tuple[Monoid | None, tuple[Piece, ...]] | None:
        definition = self.context.definition_of(atom)
        return None if definition is None else (definition.monoid, definition.pieces)

    def branch(self, op: Op, number: int, block: Hashable) -> list[AnyVal]:
        # what a branch computes is not computed for all inputs, returned or not
        with self.context.bounded({}, block):
            self.walk.region(op.regions[number])
        return self.walk.results_of(op.regions[number])

    def body(self, region: Region) -> list[AnyVal]:
        self.walk.region(region)
        return self.walk.results_of(region)

    def loop(self, op: Op, values: list[Val]) -> list[AnyVal]:
        return relate_loop(self.walk, op, values)

    # what else is noted ---------------------------------------------------------------------------------------------

    def noted(self, key: Hashable) -> list[Any]:
        return self.context.rows.setdefault(("noted", key), [])

    def vanishes(self, first: Piece, second: Piece) -> bool:
        return sums.is_zero_product(self.walk, first, second)

    def used(self, lemma: str) -> None:
        self.context.used(lemma)

    def leaves_out(self, choices: Sequence[Val]) -> None:
        """A selection that is no term of its own still leaves something of what it chooses from out."""
        if self.is_original and self.context.reals is not None:
            self.context.reals.left_out.leaves_out(choices)
