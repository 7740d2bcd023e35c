"""What op records speak to: the values of one program, and what can be done with them.

A record says once what its op does to values, whoever asks. The prover's walk looks for terms that its results are; the
certificate checker takes those that a certificate names and checks them. Both are an `Engine`, and have nothing else in
common than how values are read and put together (`values.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..read.ir import DType, Op, Region, TensorType
from ..read.shardings import Sharding
from ..relation.build import Builder, leading, names
from ..relation.objects import Dom, Rel
from . import values
from .monoid import Monoid
from .record import Theory, strongest

if TYPE_CHECKING:
    from .choices import Made
    from .contraction_maps import Flavour
    from .sequence_relation import Order


@dataclass(frozen=True, slots=True, eq=False)
class RowOperand:
    """One operand: `read` relates (device, batch index, row index) to its points; `row_rank` dimensions make a row."""

    value: Any
    read: Rel
    row_rank: int


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """What is applied to each element: a name with attributes, and what else is known of it.

    `integers` is the result of operands that are known integers, None where it cannot tell. `neutral`: of two operands,
    the number at the place of each that leaves the other one as it is, bit for bit; None where there is none.
    `compares`: it is a comparison.
    """

    key: tuple[str, tuple[tuple[str, Hashable], ...]]
    commutative: bool = False
    integers: Callable[[Sequence[Any]], Any] | None = None
    neutral: tuple[int | float | None, ...] = ()
    compares: bool = False


class Engine(ABC):
    """One pass over one program, and its values. Methods without a comment do what `values.py` says of them."""

    __slots__ = ()

    builder: Builder
    """The points of values at this place of the program."""
    inner: Builder | None
    """For an original that itself runs on devices: the points of its manual regions."""
    is_original: bool
    inside: bool
    """Whether this is the body of a manual region."""
    blocks: tuple[Hashable, ...]
    """The branches and bodies of loops around this place, which may not be run: equal ones are run alike."""
    num_partitions: int
    arrays: dict[Any, np.ndarray]
    """What the constant tensors met so far hold, by their atoms."""
    expansions: dict[Any, Any]
    """What atoms were found to be as guarded integers, at this place of the program."""
    excluded: dict[Any, Dom] | None
    """Elements and values (x…, t) of unknown integers that the assumption indices-in-bounds rules out, if made."""
    env: dict[int, Any]
    shardings: dict[int, Sharding | None]

    @property
    @abstractmethod
    def store(self) -> Any:
        """Relations, sets and what can be done with them."""

    # values ---------------------------------------------------------------------------------------------------------

    def value(
        self,
        type_: TensorType,
        pieces: tuple[Any, ...],
        domain: Dom,
        monoid: Monoid | None = None,
        levels: int = 0,
        theory: Theory = Theory.EXACT,
    ) -> Any:
        return values.Value(type_, pieces, domain, monoid, levels, theory)

    def gathered(self, pieces: Iterable[Any], idempotent: bool = False) -> tuple[Any, ...]:
        return values.gathered(self.store, pieces, idempotent)

    def merged(self, pieces: Sequence[Any], monoid: Monoid, dtype: DType) -> tuple[Any, ...] | None:
        return values.merged(self, pieces, monoid, dtype)

    def read_through(self, value: Any, rel: Rel, type_: TensorType) -> Any:
        return values.read_through(self, value, rel, type_)

    def piecewise(self, parts: Sequence[tuple[Rel, Any]], type_: TensorType) -> Any:
        return values.piecewise(self, parts, type_)

    def restricted(self, value: Any, domain: Dom) -> Any:
        return values.restricted(self, value, domain)

    def as_sum(self, value: Any, monoid: Monoid) -> Any:
        return values.as_sum(self, value, monoid)

    @abstractmethod
    def close(self, value: Any, reason: str) -> Any:
        """The value as a view of terms without guards."""

    # terms ----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def integer(self, dtype: DType) -> Any:
        """INT[n] = n."""

    @abstractmethod
    def is_integer(self, atom: Any) -> bool:
        """Whether an atom is INT."""

    @abstractmethod
    def number_of(self, atom: Any) -> int | float | complex | None:
        """The number that an atom of no indices is."""

    @abstractmethod
    def bits_of(self, atom: Any) -> str:
        """The bits of a float constant, in hexadecimal."""

    @abstractmethod
    def number(self, dtype: DType, number: int) -> Any:
        """An integer as an atom of no indices."""

    def canonical(self, piece: Any) -> Any:
        """An integer piece of one value as that constant, so that equal constants meet."""
        value = self.store.constant_range(piece.rel) if self.is_integer(piece.atom) else None
        if value is None:
            return piece
        return values.Piece(self.number(piece.atom.dtype, value[0]), self.store.project_out(piece.rel, 0, 1))

    @abstractmethod
    def product(self, first: Any, second: Any, dtype: DType, flavour: Flavour) -> Any:
        """The atom A[x] · B[y] at (x, y)."""

    @abstractmethod
    def guard(self, atom: Any, guards: tuple[Any, ...]) -> Any:
        """The atom where each guard, an unknown integer, has the value that the index says."""

    @abstractmethod
    def unguarded(self, atom: Any) -> tuple[Any, tuple[Any, ...]]:
        """The atom that a guarded one reads, and its guards."""

    @abstractmethod
    def constant_piece(self, value: Any, dtype: DType, domain: Dom) -> Any:
        """One scalar constant on these points."""

    def uniform(self, type_: TensorType, array: np.ndarray) -> Any:
        """A constant of one element."""
        points = self.points(type_)
        return self.value(type_, (self.constant_piece(array.reshape(-1)[0], type_.dtype, points),), points)

    def table(self, whole: np.ndarray, type_: TensorType) -> Any:
        """Known integers [devices or 1, *shape], None where that takes too many boxes."""
        rel = self.builder.table(whole, type_.shape)
        return rel and self.value(type_, (values.Piece(self.integer(type_.dtype), rel),), self.points(type_))

    @abstractmethod
    def array(self, type_: TensorType, array: np.ndarray) -> Any:
        """A constant tensor as a term of its own, which is put into `arrays`."""

    def element(self, piece: Any) -> Any:
        """A constant tensor that is read at one of its indices only as the number there.

        Lemma *element of a constant*.
        """
        array = self.arrays.get(piece.atom)
        index = None if array is None else self.store.constant_range(piece.rel)
        if array is None or index is None or not all(0 <= i < n for i, n in zip(index, array.shape, strict=True)):
            return piece
        self.used("element of a constant")
        number = self.constant_piece(array[index], piece.atom.dtype, self.store.domain(piece.rel))
        return values.Piece(number.atom, number.rel, piece.coefficient)

    # integers that index --------------------------------------------------------------------------------------------

    @abstractmethod
    def integer_operation(self, atom: Any) -> tuple[str, Any, list[tuple[Any, Rel | None]]] | None:
        """An atom as an op, with its attributes, on atoms and how these are read from its indices (None: as it is)."""

    @abstractmethod
    def range_of(self, atom: Any) -> tuple[int, int]:
        """What is known of an unknown integer at this place of the program."""

    # what needs more than relations ---------------------------------------------------------------------------------

    @abstractmethod
    def lift(
        self, function: Function, operands: Sequence[Any] | None, type_: TensorType, told: Sequence[Any] = ()
    ) -> Any:
        """A function of each element, besides views of it at other points; only good as a result of the op."""

    @abstractmethod
    def sum_over(self, value: Any, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Any:
        """out[p] = ⊕ over q ∈ rel(p) of value[q]; `steps` is what it adds to the levels."""

    @abstractmethod
    def contract(
        self, lhs: Any, rhs: Any, reads: Sequence[tuple[Rel | None, Rel]], type_: TensorType, flavour: Flavour
    ) -> Any:
        """out[p] = Σ over k of lhs[l(p, k)] · rhs[r(p, k)]; without a left relation the left factor is zero."""

    @abstractmethod
    def rows(
        self,
        key: Hashable,
        operands: Sequence[RowOperand],
        batch: Sequence[int],
        types: Sequence[TensorType],
        reads: Sequence[Rel],
    ) -> list[Any]:
        """A function of whole rows; `reads[r]` relates result r's points to (device, batch, index in the row)."""

    @abstractmethod
    def in_order(self, order: Order) -> list[Any]:
        """What a function makes of sequences of elements."""

    @abstractmethod
    def made_in_order(self, atom: Any) -> Made | None:
        """How an atom is a result of a function of sequences; None for any other atom."""

    @abstractmethod
    def defined_as(self, atom: Any) -> tuple[Monoid | None, tuple[Any, ...]] | None:
        """The sum, or with None the view, that an atom is the name of, as pieces over its indices; else None."""

    @abstractmethod
    def branch(self, op: Op, number: int, block: Hashable) -> list[Any]:
        """What a branch returns; `block` is equal for those that are run alike."""

    @abstractmethod
    def body(self, region: Region) -> list[Any]:
        """What a block that is run returns; its arguments are in `env`."""

    @abstractmethod
    def loop(self, op: Op, values: list[Any]) -> list[Any]:
        """The results of a loop from what it carries at first."""

    # what cannot be told --------------------------------------------------------------------------------------------

    @abstractmethod
    def not_modelled(self, type_: Any, construct: str) -> Any:
        """Stands for a result of something that no record says."""

    def unrelated(self, type_: TensorType, reason: str) -> Any:
        """Stands for a result of which nothing is known."""
        return self.not_modelled(type_, reason)

    def refuse(self, op: Op, construct: str) -> list[Any]:
        return [self.not_modelled(result.type, construct) for result in op.results]

    @abstractmethod
    def noted(self, key: Hashable) -> list[Any]:
        """What the ops so far, of both programs, noted under this key: a list to add to."""

    # what only a search has to do: fold sums, count lemmas, keep within limits --------------------------------------

    def settle(self, value: Any) -> Any:
        return value

    def vanishes(self, first: Any, second: Any) -> bool:
        """Whether a product with the constant zero is known to be zero."""
        return False

    def used(self, lemma: str) -> None:  # noqa: B027
        """A lemma was used."""

    def limit_pieces(self, count: int) -> None:  # noqa: B027
        """A value falls into this many pieces."""

    def leaves_out(self, choices: Sequence[Any]) -> None:  # noqa: B027
        """Something of these values is not chosen."""

    # common to all --------------------------------------------------------------------------------------------------

    def points(self, type_: TensorType) -> Dom:
        return self.builder.points(type_.shape)

    def leading_map(self, count: int, arity: int) -> Rel:
        """{p -> the first `arity` coordinates of p}."""
        return leading(self.store, count, arity)

    def set_coordinate(self, domain: Dom, position: int, value: int) -> Rel | None:
        """{p -> p with one coordinate set} if that stays inside the domain everywhere, else None."""
        variables = names("p", domain.arity)
        target = [str(value) if k == position else name for k, name in enumerate(variables)]
        rel = self.store.restrict(self.store.rel(f"{{[{','.join(variables)}] -> [{','.join(target)}]}}"), domain)
        return rel if self.store.set_subset(self.store.range(rel), domain) else None

    def beside(self, first: Any, second: Any) -> Any:
        """Two views of disjoint points as one."""
        pieces = self.gathered([*first.pieces, *second.pieces])
        domain = self.store.set_union(first.domain, second.domain)
        return self.value(first.type, pieces, domain, theory=strongest([first.theory, second.theory]))
