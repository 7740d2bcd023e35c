"""One pass over one program: the value of every op from those of its operands, and each claim against it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from ..ops.engine import Function, RowOperand
from ..ops.keys import spelled
from ..ops.manual_relation import enters, lifted
from ..ops.monoid import Monoid
from ..ops.registry import RECORDS
from ..ops.sequence_maps import Sequences
from ..ops.sequence_relation import Order
from ..read.ir import Op, Program, Region, TensorType
from ..read.shardings import Sharding
from ..relation.build import Builder
from ..relation.objects import Dom, Rel
from .certificate import Claim, Frame, Step
from .elements import Lifted, applied, decided
from .equality import equal
from .errors import Rejection
from .loops import Loop, followed
from .orders import in_order, taken_apart
from .relations import Relations, TooComplexError
from .rows import treated
from .sums import contract, sum_over
from .terms import Kind, Term, Terms, Value, is_guarded, sum_of
from .values import Calculus


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result that could not be followed, and why; nothing can be concluded from it."""

    reason: str


@dataclass(slots=True)
class Run(Calculus):
    """The state of one pass, which is what op records speak to."""

    rels: Relations
    terms: Terms
    single: dict[Term, Dom]
    loops: list[Loop | None]
    """The loops of the before program in the order in which they begin; None for one that is not followed yet."""
    promised: dict[Hashable, list[frozenset[str]]]
    builder: Builder
    is_original: bool
    num_partitions: int
    inner: Builder | None = None
    inside: bool = False
    env: dict[int, Any] = field(default_factory=dict)
    shardings: dict[int, Sharding | None] = field(default_factory=dict)
    step: Step | None = None
    """What the certificate says of the op at hand."""
    trail: list[str] = field(default_factory=list)
    ranges: Mapping[Term, tuple[int, int]] = field(default_factory=dict)
    forms: dict[Term, Any] = field(default_factory=dict)

    # the pass -------------------------------------------------------------------------------------------------------

    def program(self, program: Program, arguments: Sequence[Any], frame: Frame) -> list[Any]:
        for parameter, argument in zip(program.parameters, arguments, strict=True):
            self.shardings[parameter.value.number] = parameter.sharding
            self.env[parameter.value.number] = argument
        self.region(program.body, frame)
        return [self.env[result.value.number] for result in program.results]

    def region(self, region: Region, frame: Frame) -> None:
        """Every op of a block whose arguments are known."""
        outer = self.step
        if any(position >= len(region.ops) for position in frame):
            raise Rejection("a step of an op that there is not")
        for position, op in enumerate(region.ops):
            self.step = step = frame.get(position)
            self.trail.append(f"op {position} '{op.name}'")
            try:
                results = self._op(op)
            except (Rejection, TooComplexError) as error:
                if step is not None or not isinstance(error, Rejection):
                    raise Rejection(str(error)).at(self.where()) from error
                results = [Unknown(f"{self.where()}: {error}")] * len(op.results)
            self.trail.pop()
            for value, result in zip(op.results, results, strict=True):
                self.env[value.number] = result
            for value, sharding in zip(op.results, op.shardings, strict=False):
                self.shardings[value.number] = sharding
        self.step = outer

    def where(self) -> str:
        return ", ".join(["before" if self.is_original else "after", *self.trail])

    def _op(self, op: Op) -> list[Any]:
        record, step = RECORDS.get(op.name), self.step
        if record is None or record.relate is None:
            raise Rejection("this op is not checked")
        for name in op.attributes:
            if name not in record.attributes and name not in record.ignored:
                raise Rejection(f"attribute '{name}' is not checked")
        if step is not None and step.op != op.name:
            raise Rejection(f"the certificate speaks of '{step.op}'")
        counts = {"operand": len(op.operands), "result": len(op.results)}
        if step is not None and any(not 0 <= position < counts[of] for of, position in step.claims):
            raise Rejection("a claim on an operand or a result that there is not")
        operands = [self.env[operand.number] for operand in op.operands]
        for value in operands:
            if isinstance(value, Unknown):
                raise Rejection(value.reason)
        outer = self.builder
        if self.inner is not None and enters(op, operands):
            operands = [lifted(self, operand) for operand in operands]
            self.builder = self.inner
        try:
            operands = [self._claimed("operand", position, value) for position, value in enumerate(operands)]
            results = record.relate(self, op, operands)
        finally:
            self.builder = outer
        return [self._claimed("result", position, value) for position, value in enumerate(results)]

    def claim(self, of: str, position: int) -> Claim | None:
        return self.step.claims.get((of, position)) if self.step is not None else None

    def _claimed(self, of: str, position: int, value: Any) -> Any:
        """The value as the certificate writes it, if it is that."""
        claim = self.claim(of, position)
        if claim is None:
            if isinstance(value, Lifted):
                return Unknown(f"{self.where()}: the certificate says nothing of this result")
            return value
        if not isinstance(value, Value | Lifted):
            raise Rejection(f"a claim on {of} {position}, of which nothing is known")
        arity = (value.domain if isinstance(value, Value) else value.rest).arity
        for piece in claim.pieces:
            if piece.rel.arity_in != arity or piece.rel.arity_out != piece.atom.arity:
                raise Rejection("a claim of another rank")
            if piece.atom.dtype is not value.type.dtype:
                raise Rejection("a claim of another element type")
        if isinstance(value, Lifted):
            if claim.monoid is not None:
                raise Rejection("an elementwise result is claimed to be a partial one")
            return applied(self, value, claim.pieces)
        if claim.monoid is None and value.monoid is not None and is_guarded(claim.pieces):
            raise Rejection("a sum under guards is claimed to be one element")
        levels = value.levels if claim.monoid is not None else 0
        found = Value(value.type, claim.pieces, value.domain, claim.monoid, levels)
        return found.needing(value.theory, equal(self, value, found, value.domain))

    def known(self, value: Any) -> Value:
        if not isinstance(value, Value):
            raise Rejection(value.reason if isinstance(value, Unknown) else "a tuple or a token is used as a tensor")
        return value

    def view(self, value: Any) -> Value:
        return self.close(self.known(value), "a value that decides")

    # what op records ask for ----------------------------------------------------------------------------------------

    @property
    def expansions(self) -> dict[Term, Any]:
        return self.forms

    def integer_operation(self, atom: Term) -> tuple[str, Any, list[tuple[Term, Rel | None]]] | None:
        """An elementwise op, or a logical sum of single elements."""
        parts: list[tuple[Term, Rel | None]] = [(part.atom, part.rel) for part in atom.parts]
        if atom.kind is Kind.APPLY:
            return atom.key.partition(" ")[0], self.terms.meanings.get(atom.key, {}), parts
        summed = sum_of(atom) if len(parts) == 2 else None
        if summed is None or summed[0] not in (Monoid.AND, Monoid.OR):
            return None
        (_, first), (_, second) = parts
        same = self.rels.set_equal(self.rels.domain(first), self.rels.domain(second))
        single = self.rels.single_valued(first) and self.rels.single_valued(second)
        return (summed[0].value, {}, parts) if same and single else None

    def range_of(self, atom: Term) -> tuple[int, int]:
        return self.ranges.get(atom, atom.dtype.integer_range)

    def lift(self, function: Function, operands: Any, type_: TensorType, told: Sequence[Value] = ()) -> Any:
        if operands is None:
            return reduce(self.beside, told)
        self.terms.meanings[spelled(function.key)] = dict(function.key[1])
        operands = tuple(map(self.known, operands))
        rest = reduce(self.rels.set_meet, [value.domain for value in operands])
        return Lifted(function, operands, type_, tuple(told), rest)

    def decided(self, function: Function, operands: Sequence[Value], type_: TensorType) -> Value | None:
        claim = self.claim("result", 0)
        if claim is None or all(piece.atom.kind is not Kind.INTEGER for piece in claim.pieces):
            return None  # nothing is claimed to be a known boolean
        return decided(self, function, operands, type_)

    def sum_over(self, value: Value, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Value:
        return sum_over(self, value, rel, monoid, type_, steps)

    def contract(self, lhs: Value, rhs: Value, reads: Any, type_: TensorType, flavour: Hashable) -> Value:
        return contract(self, self.view(lhs), self.view(rhs), reads, type_, repr(flavour))

    def rows(
        self,
        key: Hashable,
        operands: Sequence[RowOperand],
        batch: Sequence[int],
        types: Sequence[TensorType],
        reads: Sequence[Rel],
    ) -> list[Value]:
        return treated(self, key, operands, batch, types, reads)

    def in_order(self, order: Order) -> list[Value]:
        return in_order(self, order)

    def taken_apart(self, key: Hashable, atoms: tuple[Term, ...], rels: Sequence[Rel], depth: int) -> Sequences | None:
        return taken_apart(self, key, atoms, rels)

    def selected(self, *arguments: Any) -> None:
        raise Rejection("what windows select is not checked")

    def branch(self, op: Op, number: int) -> list[Value]:
        return [self.known(value) for value in self.block(op.regions[number], number)]

    def body(self, region: Region) -> list[Any]:
        return [self.known(value) for value in self.block(region, 0)]

    def block(self, region: Region, number: int) -> list[Any]:
        """What a block returns that is followed by the certificate's block of this number."""
        frames = self.step.frames if self.step is not None else ()
        self.region(region, frames[number] if number < len(frames) else {})
        values = [self.env[result.number] for result in region.results]
        if self.inner is not None and self.builder is self.inner:
            return [lifted(self, self.known(value)) for value in values]
        return values

    def loop(self, op: Op, values: list[Any]) -> list[Any]:
        return followed(self, op, values)

    @contextmanager
    def bounded(self, ranges: Mapping[Term, tuple[int, int]]) -> Iterator[None]:
        """Unknown integers have these ranges inside the `with` block."""
        before = self.ranges, self.forms
        if ranges:
            self.ranges, self.forms = {**self.ranges, **ranges}, {}
        try:
            yield
        finally:
            self.ranges, self.forms = before

    def not_modelled(self, type_: Any, construct: str) -> Any:
        raise Rejection(f"{construct} is not checked")

    def unrelated(self, type_: TensorType, reason: str) -> Any:
        raise Rejection(reason)

    def promises(self, key: Hashable) -> list[frozenset[str]]:
        return self.promised.setdefault(key, [])
