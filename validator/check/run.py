"""One pass over one program: the value of every op from those of its operands, and each claim against it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from ..evaluate.arithmetic import Native
from ..evaluate.folding import is_foldable
from ..evaluate.machine import Machine
from ..evaluate.numbers import STORAGE
from ..ops import manual_relation as manual
from ..ops.elementwise_relation import is_known
from ..ops.monoid import Monoid
from ..ops.record import Family, Theory
from ..ops.registry import RECORDS
from ..ops.sums import contracted, summed
from ..ops.values import Value
from ..read.certificates import NO_STEP, Frame, Step
from ..read.ir import Op, Program, Region, TensorType
from ..read.shardings import Sharding
from ..relation.build import Builder
from ..relation.objects import Dom, Rel
from ..relation.points import numbers_at
from .congruence import Applied, lifted, named, rows
from .equality import common, equal
from .errors import Rejection
from .loops import Loop, followed
from .orders import in_order, made_in_order
from .relations import Relations
from .tables import Claim, Tables
from .terms import Kind, Term, Terms, is_guarded, sum_of
from .values import Calculus


@dataclass(slots=True)
class Run(Calculus):
    """The state of one pass, which is what op records speak to."""

    rels: Relations
    terms: Terms
    single: dict[Term, Dom]
    loops: list[Loop | None]
    """The loops of the before program in the order in which they begin; None for one that is not followed yet."""
    notes: dict[Hashable, list[Any]]
    arrays: dict[Term, np.ndarray]
    tables: Tables
    excluded: dict[Term, Dom] | None
    builder: Builder
    is_original: bool
    num_partitions: int
    inner: Builder | None = None
    reals: Any = None  # the laws of the real numbers, for a certificate that may use them
    inside: bool = False
    blocks: tuple[Hashable, ...] = ()
    env: dict[int, Any] = field(default_factory=dict)
    shardings: dict[int, Sharding | None] = field(default_factory=dict)
    step: Step = NO_STEP
    """What the certificate says of the op at hand."""
    trail: list[str] = field(default_factory=list)
    ranges: Mapping[Term, tuple[int, int]] = field(default_factory=dict)
    expansions: dict[Term, Any] = field(default_factory=dict)

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
            self.step = frame.get(position, NO_STEP)
            self.trail.append(f"op {position} '{op.name}'")
            try:
                results = self._op(op)
            except Rejection as error:
                if self.step.op:
                    raise error.at(self.where()) from error
                results = [error.at(self.where())] * len(op.results)
            self.trail.pop()
            self.env.update((value.number, result) for value, result in zip(op.results, results, strict=True))
            self.shardings.update((value.number, own) for value, own in zip(op.results, op.shardings, strict=False))
        self.step = outer

    def where(self) -> str:
        return ", ".join(["before" if self.is_original else "after", *self.trail])

    def _op(self, op: Op) -> list[Any]:
        record, step, outer = RECORDS.get(op.name), self.step, self.builder
        if record is None or record.relate is None:
            raise Rejection("this op is not checked")
        for name in op.attributes.keys() - record.attributes - record.ignored:
            raise Rejection(f"attribute '{name}' is not checked")
        if step.op not in ("", op.name):
            raise Rejection(f"the certificate speaks of '{step.op}'")
        counts = {"operand": len(op.operands), "result": len(op.results)}
        if any(not 0 <= position < counts[of] for of, position in step.claims):
            raise Rejection("a claim on an operand or a result that there is not")
        operands = [self._followed(self.env[operand.number]) for operand in op.operands]
        if self.inner is not None and manual.enters(op, operands):
            operands = [manual.lifted(self, operand) for operand in operands]
            self.builder = self.inner
        try:
            operands = [self._claimed("operand", position, value) for position, value in enumerate(operands)]
            results = record.relate(self, op, operands)
            if not all(isinstance(each, Value) and is_known(self, each) for each in results):
                results = self._enumerated(op, operands) or results
        finally:
            self.builder = outer
        return self.tested(record.family, operands, [self._claimed("result", k, v) for k, v in enumerate(results)])

    def _enumerated(self, op: Op, operands: Sequence[Any]) -> list[Any]:
        """Lemma *constant folding*: known integers on all devices, as the reference evaluator has them; none else."""
        if not operands or not is_foldable(op) or not all(isinstance(v, Value) and is_known(self, v) for v in operands):
            return []
        mesh, arrays = self.builder.mesh, []
        for value in operands:
            found = numbers_at([piece.rel for piece in value.pieces], (*mesh.sizes, *value.type.shape))
            if found is None:
                return []
            arrays.append(found.reshape(-1, *value.type.shape).astype(STORAGE[value.type.dtype]))
        machine = Machine(mesh.num_devices, Native(), num_partitions=self.num_partitions if mesh.sizes else 1)
        (result,) = machine.evaluate(op, arrays)
        value = self.table(result.astype(np.int64), op.results[0].tensor) if int(result.max()) < 1 << 63 else None
        return [value] if value is not None else []

    def _claimed(self, of: str, position: int, value: Any) -> Any:
        """The value as the certificate writes it, if it is that."""
        claims = self.tables.claims(self.step, of, position)
        if not claims and isinstance(value, Applied):
            return Rejection("the certificate says nothing of this result", self.where())
        for facts, claim in claims:
            if facts:
                from .algebra.facts import met

                value = reduce(partial(met, self), facts, value)
            value = self._shown(of, position, value, claim)
        return value

    def _shown(self, of: str, position: int, value: Any, claim: Claim) -> Value:
        if not isinstance(value, Value | Applied):
            raise Rejection(f"a claim on {of} {position}, of which nothing is known")
        arity = (value.domain if isinstance(value, Value) else value.rest).arity
        for piece in claim.pieces:
            read = piece.rel.arity_in, piece.rel.arity_out, piece.atom.dtype
            if read != (arity, piece.atom.arity, value.type.dtype):
                raise Rejection("a claim of another rank or element type")
        if claim.monoid is not None and isinstance(value, Applied):
            raise Rejection("an elementwise result is claimed to be a partial one")
        if isinstance(value, Applied):
            return named(self, value, claim.pieces)
        if claim.monoid is None and value.monoid is not None and is_guarded(claim.pieces):
            raise Rejection("a sum under guards is claimed to be one element")
        levels = value.levels if claim.monoid is not None else 0
        found = Value(value.type, claim.pieces, value.domain, claim.monoid, levels)
        return found.needing(value.theory, self.equal(value, found, value.domain))

    def equal(self, left: Value, right: Value, domain: Dom) -> Theory:
        """As in `equality.py`, or else over the reals."""
        straight = partial(equal, self, left, right, domain)
        return self.either(straight, lambda: self.reals.equal(*common(self, left, right, domain)))

    def either(self, straight: Callable[[], Theory], otherwise: Callable[[], Theory]) -> Theory:
        """The arithmetic in which something is shown, by the laws of the reals only if nothing else shows it."""
        try:
            return straight()
        except Rejection as error:
            if self.reals is None:
                raise
            try:
                return otherwise()
            except Rejection as second:
                raise Rejection(f"{error}; {second}") from second

    def tested(self, family: Family | None, operands: Sequence[Any], made: list[Any]) -> list[Any]:
        """What an op makes, which tells equal numbers of the reals from others only if they are defined."""
        return self.reals.tested(family, operands, made) if self.reals is not None else made

    def _followed(self, value: Any) -> Any:
        """A value; what could not be followed stands in `env` as the reason."""
        if isinstance(value, Rejection):
            raise value
        return value

    def known(self, value: Any) -> Value:
        if not isinstance(self._followed(value), Value):
            raise Rejection("a tuple or a token is used as a tensor")
        return value

    def view(self, value: Any) -> Value:
        return self.close(self.known(value), "a value that decides")

    # what op records ask for ----------------------------------------------------------------------------------------

    def integer_operation(self, atom: Term) -> tuple[str, Any, list[tuple[Term, Rel | None]]] | None:
        """An elementwise op, or a logical sum of single elements."""
        parts: list[tuple[Term, Rel | None]] = [(part.atom, part.rel) for part in atom.parts]
        if atom.kind is Kind.APPLY:
            return atom.key.partition(" ")[0], self.terms.meanings.get(atom.key, {}), parts
        summed = sum_of(atom) if len(parts) == 2 else None
        if summed is None or summed[0] not in (Monoid.AND, Monoid.OR) or is_guarded(atom.parts):
            return None
        (_, first), (_, second) = parts
        same = self.rels.set_equal(self.rels.domain(first), self.rels.domain(second))
        single = self.rels.single_valued(first) and self.rels.single_valued(second)
        return (summed[0].value, {}, parts) if same and single else None

    def range_of(self, atom: Term) -> tuple[int, int]:
        return self.ranges.get(atom, atom.dtype.integer_range)

    def sum_over(self, value: Value, rel: Rel, monoid: Monoid, type_: TensorType, *, steps: int) -> Value:
        found = summed(self, value, rel, monoid, type_, steps)
        return found or self.not_modelled(type_, "elements that are not all counted equally often")

    def contract(self, lhs: Value, rhs: Value, reads: Any, type_: TensorType, flavour: Any) -> Value:
        found = contracted(self, self.view(lhs), self.view(rhs), reads, type_, flavour)
        return found or self.not_modelled(type_, "a product that is counted several times")

    lift = lifted  # pyright: ignore[reportAssignmentType]
    rows = rows  # pyright: ignore[reportAssignmentType]
    loop = followed  # pyright: ignore[reportAssignmentType]
    in_order = in_order  # pyright: ignore[reportAssignmentType]
    made_in_order = made_in_order  # pyright: ignore[reportAssignmentType]

    def branch(self, op: Op, number: int, block: Hashable) -> list[Value]:
        with self.bounded({}, block):
            return [self.known(value) for value in self.block(op.regions[number], number)]

    def body(self, region: Region) -> list[Any]:
        return [self.known(value) for value in self.block(region, 0)]

    def block(self, region: Region, number: int, arguments: Sequence[Any] = ()) -> list[Any]:
        """What a block returns that is followed by the certificate's block of this number."""
        self.env.update((argument.number, value) for argument, value in zip(region.arguments, arguments, strict=False))
        blocks = self.step.blocks
        self.region(region, blocks[number] if number < len(blocks) else {})
        values = [self.env[result.number] for result in region.results]
        if self.inner is not None and self.builder is self.inner:
            return [manual.lifted(self, self.known(value)) for value in values]
        return values

    @contextmanager
    def bounded(self, ranges: Mapping[Term, tuple[int, int]], block: Hashable) -> Iterator[None]:
        """Unknown integers have these ranges inside the `with` block, which is of a block that may not be run."""
        before = self.ranges, self.expansions, self.blocks
        self.ranges, self.expansions, self.blocks = {**self.ranges, **ranges}, {}, (*self.blocks, block)
        try:
            yield
        finally:
            self.ranges, self.expansions, self.blocks = before

    def not_modelled(self, type_: Any, construct: str) -> Any:
        raise Rejection(f"not checked: {construct}")

    def defined_as(self, atom: Term) -> tuple[Monoid | None, tuple[Any, ...]] | None:
        return (atom.monoid, atom.parts) if atom.kind in (Kind.SUM, Kind.VIEW) else None

    def noted(self, key: Hashable) -> list[Any]:
        return self.notes.setdefault(key, [])
