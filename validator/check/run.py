"""One pass over one program: the value of every op from those of its operands, and each claim against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..ops.records import MEANINGS
from ..read.ir import Op, Program, Region, TensorType
from ..read.shardings import Sharding
from ..relation.build import Builder
from ..relation.objects import Dom
from .certificate import Claim, Frame, Step
from .equality import equal
from .errors import Rejection
from .guards import Guards
from .lifted import Lifted, applied
from .manual import enters, lifted
from .relations import TooComplexError
from .terms import Kind, Term
from .values import Ground, Piece, Value


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result that could not be followed, and why; nothing can be concluded from it."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """The elements of a tuple, or a token (no elements)."""

    elements: tuple[Any, ...] = ()


AnyValue = Value | Unknown | Tuple


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop of the before program, for those of the after program that are paired with it."""

    op: Op
    carried: tuple[int, ...]
    initial: tuple[Value, ...]
    condition: Value
    body: tuple[Value, ...]
    counters: Mapping[Term, tuple[int, int]]


@dataclass(slots=True)
class Loops:
    """The loops of the before program, numbered in the order in which they begin."""

    known: dict[int, Loop] = field(default_factory=dict)
    count: int = 0

    def number(self) -> int:
        self.count += 1
        return self.count - 1


@dataclass(slots=True)
class Run:
    """The state of one pass. `inner` builds the points of manual regions of a before program that has some."""

    ground: Ground
    builder: Builder
    is_before: bool
    table: Sequence[Term]
    loops: Loops
    guards: Guards
    promises: dict[object, list[frozenset[str]]]
    rules: Mapping[str, Any]
    devices: tuple[int, int] = (1, 1)
    """Replicas and partitions."""
    inner: Builder | None = None
    env: dict[int, AnyValue] = field(default_factory=dict)
    shardings: dict[int, Sharding | None] = field(default_factory=dict)
    step: Step | None = None
    """What the certificate says of the op at hand."""
    trail: list[str] = field(default_factory=list)

    def points(self, type_: TensorType) -> Dom:
        return self.builder.points(type_.shape)

    def program(self, program: Program, arguments: Sequence[AnyValue], frame: Frame) -> list[AnyValue]:
        for parameter, argument in zip(program.parameters, arguments, strict=True):
            self.shardings[parameter.value.number] = parameter.sharding
            self.env[parameter.value.number] = argument
        self.region(program.body, frame)
        return [self.env[result.value.number] for result in program.results]

    def region(self, region: Region, frame: Frame) -> None:
        """Every op of a block whose arguments are known."""
        outer = self.step
        for position in frame:
            if position >= len(region.ops):
                raise Rejection(f"there is no op {position}")
        for position, op in enumerate(region.ops):
            self.step = step = frame.get(position)
            self.trail.append(f"op {position} '{op.name}'")
            try:
                if step is not None and step.op != op.name:
                    raise Rejection(f"the certificate speaks of '{step.op}'")
                results = self._op(op, step)
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
        return ", ".join(["before" if self.is_before else "after", *self.trail])

    def _op(self, op: Op, step: Step | None) -> list[AnyValue]:
        record, rule = MEANINGS.get(op.name), self.rules.get(op.name)
        if record is None or rule is None:
            raise Rejection("this op is not checked")
        for name in op.attributes:
            if name not in record.attributes and name not in record.ignored:
                raise Rejection(f"attribute '{name}' is not checked")
        if step is not None:
            for claims, of in ((step.operands, op.operands), (step.results, op.results)):
                if any(not 0 <= number < len(of) for number in claims):
                    raise Rejection("a claim on an operand or a result that there is not")
        operands = [self.env[operand.number] for operand in op.operands]
        outer = self.builder
        if self.inner is not None and not self.builder.mesh.sizes and enters(op, operands):
            operands = [lifted(self, operand) for operand in operands]
            self.builder = self.inner
        try:
            operands = [self._operand(position, value, step) for position, value in enumerate(operands)]
            for value in operands:
                if isinstance(value, Unknown):
                    raise Rejection(value.reason)
            results = rule(self, op, operands)
        finally:
            self.builder = outer
        return [self._result(position, value, step) for position, value in enumerate(results)]

    def _operand(self, position: int, value: AnyValue, step: Step | None) -> AnyValue:
        claim = step.operands.get(position) if step is not None else None
        if claim is None:
            return value
        if not isinstance(value, Value):
            raise Rejection(f"a claim on operand {position}, of which nothing is known")
        return self.adopt(value, claim)

    def _result(self, position: int, value: AnyValue | Lifted, step: Step | None) -> AnyValue:
        claim = step.results.get(position) if step is not None else None
        if isinstance(value, Lifted):
            if claim is None:
                return Unknown(f"{self.where()}: the certificate says nothing of this result")
            if claim.monoid is not None:
                raise Rejection("an elementwise result is claimed to be a partial one")
            return applied(self.ground, value, self.claimed(claim))
        if claim is None:
            return value
        if not isinstance(value, Value):
            raise Rejection(f"a claim on result {position}, of which nothing is known")
        return self.adopt(value, claim)

    def claimed(self, claim: Claim) -> tuple[Piece, ...]:
        return tuple(Piece(self.table[term], rel, count) for term, rel, count in claim.pieces)

    def adopt(self, value: Value, claim: Claim) -> Value:
        """The value as the certificate writes it, if it is that."""
        pieces = self.claimed(claim)
        for piece in pieces:
            if piece.rel.arity_in != value.domain.arity or piece.rel.arity_out != piece.term.arity:
                raise Rejection("a claim of another rank")
            if piece.term.dtype is not value.type.dtype:
                raise Rejection("a claim of another element type")
        if claim.monoid is None and value.monoid is not None and any(p.term.kind is Kind.GUARD for p in pieces):
            raise Rejection("a sum under guards is claimed to be one element")
        levels = value.levels if claim.monoid is not None else 0
        found = Value(value.type, pieces, value.domain, claim.monoid, levels)
        return found.needing(value.theory, equal(self.ground, value, found, value.domain))

    def view(self, value: AnyValue) -> Value:
        """An operand that has to be a complete value."""
        return self.ground.as_view(self.known(value))

    def known(self, value: AnyValue) -> Value:
        if not isinstance(value, Value):
            raise Rejection(value.reason if isinstance(value, Unknown) else "a tuple or a token is used as a tensor")
        return value

    def returned(self, region: Region) -> list[AnyValue]:
        """What a block that was followed returns; inside a manual region everything is a device value."""
        values = [self.env[result.number] for result in region.results]
        if self.inner is not None and self.builder is self.inner:
            return [lifted(self, value) for value in values]
        return values

    @contextmanager
    def bounded(self, ranges: Mapping[Term, tuple[int, int]]) -> Iterator[None]:
        """Unknown integers have these ranges inside the `with` block."""
        before = self.guards
        self.guards = Guards(self.ground, self.builder, {**before.ranges, **ranges}, {}) if ranges else before
        try:
            yield
        finally:
            self.guards = before
