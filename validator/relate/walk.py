"""The walk over one program: every value in program order gets its relation to logical terms.

The original program and the partitioned one are walked by the same code; the original is simply the case without
device coordinates, and the one that names terms. How each op relates is told by its record in `ops/`.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..evaluate.arithmetic import Native
from ..evaluate.folding import is_foldable
from ..evaluate.machine import Machine
from ..evaluate.numbers import STORAGE
from ..ops.devices import DEVICE_NUMBERS
from ..ops.integers import exact_integers
from ..ops.keys import frozen_attributes
from ..ops.manual_relation import enters, lifted
from ..ops.monoid import Monoid
from ..ops.record import OpRecord
from ..ops.registry import RECORDS
from ..ops.values import gathered
from ..read.dependencies import live_ops
from ..read.ir import DType, Op, Program, Region, TensorType, TokenType, Type
from ..read.shardings import Sharding
from ..relation.build import Builder, constant, names
from ..relation.mesh import Mesh
from ..relation.store import Dom, Rel, RelationLimitError
from .atoms import Atom, AtomKind
from .context import Context
from .engine import Prover
from .fold import complete_part, resolve
from .lift import met
from .names import name_value
from .patience import Patience
from .scaled import multiple_of_sum
from .trace import Trace
from .value import AnyVal, Piece, TokenVal, Val, strongest

MAX_PIECES = 96
"""A value of more pieces than this is given a name (or up): pieces multiply from op to op."""

_WATCH_EVERY = 64
"""Ops between two calls of what watches a walk."""


class WalkTimeoutError(Exception):
    """The time allowed for a proof is over."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where an atom was made: which op of which program, and why it has no relation if it has none."""

    op: Op | None
    original: bool
    reason: str


@dataclass(slots=True)
class Walk(Prover):
    """One program being walked."""

    context: Context
    builder: Builder
    is_original: bool
    deadline: float | None = None
    num_partitions: int = 1
    env: dict[int, AnyVal] = field(default_factory=dict)
    origins: dict[int, Origin] = field(default_factory=dict)
    unsupported: dict[int, str] = field(default_factory=dict)
    """By atom number: constructs that are not modelled and the value that stands for them."""
    inner: Builder | None = None
    """For an original that itself runs on devices: builds the points of its manual regions."""
    inside: bool = False
    """Whether the walk is in the body of an `sdy.manual_computation`."""
    shardings: dict[int, Sharding | None] = field(default_factory=dict)
    """The sharding that the program names for a value, where it names one."""
    op: Op | None = None
    reason: str = ""
    patience: Patience | None = None
    """When the walk is given up behind the first value without a relation; None for never."""
    ops_walked: int = 0
    next_loop: int = 0
    """The loop of the original, by number, behind the one that was paired last: where the next one is looked for."""
    unrolling: int | None = None
    """Inside of a loop that is unrolled, how many more ops may be."""
    watch: Callable[[], None] | None = None
    """Called after every few ops."""
    trace: Trace | None = None
    """Where what is done is written down for a certificate."""
    _used: set[int] = field(default_factory=set)
    """Over the reals, ids of the ops that results depend on."""
    _machines: dict[int, Machine] = field(default_factory=dict)

    # names and limits -----------------------------------------------------------------------------------------------

    @property
    def mesh(self) -> Mesh:
        return self.builder.mesh

    @property
    def of_reals(self) -> bool:
        """Whether the laws of the real numbers may be used."""
        return self.context.reals is not None

    @property
    def is_used(self) -> bool:
        """Whether a result depends on the current op: of inputs nothing is assumed for what does not matter."""
        return id(self.op) in self._used

    @property
    def op_name(self) -> str:
        return self.op.name if self.op is not None else "parameter"

    def label(self) -> str:
        """What reports call an atom made at the current op."""
        if self.op is None or not self.op.results:
            return ""
        return f"{self.op.name.partition('.')[2]} {self.op.results[0].name}"

    def limit_pieces(self, count: int) -> None:
        if count > MAX_PIECES:
            raise RelationLimitError(f"a value fell into {count} pieces")

    def note_fresh(self, atom: Atom) -> None:
        """Remember where a term was made, for localisation."""
        self.origins[atom.number] = Origin(self.op, self.is_original, self.reason)
        if self.patience is not None:
            self.patience.begin()

    # points ---------------------------------------------------------------------------------------------------------

    def empty_tuple(self, domain: Dom) -> Rel:
        """{p -> []} on the domain."""
        return constant(self.store, domain)

    def forget(self, rel: Rel) -> Rel:
        """{p -> []} on the relation's domain."""
        return self.store.project_out(rel, 0, rel.arity_out)

    def leading(self, domain: Dom, arity: int) -> Dom:
        """The first `arity` coordinates of the points."""
        return self.store.image(domain, self.leading_map(domain.arity, arity))

    def counts_once(self, rel: Rel, inner: Rel) -> bool:
        """Whether no x is reached from one p through two different q (rel: p → q, inner: q → x)."""
        return self.store.counts_once(rel, inner)

    # terms ----------------------------------------------------------------------------------------------------------

    def key(self, op: Op) -> Hashable:
        """The op's name and the attributes that bear meaning, as a hashable key."""
        return (op.name, frozen_attributes(op.attributes, RECORDS[op.name].attributes))

    def neutral_piece(self, monoid: Monoid, dtype: DType, domain: Dom) -> Piece | None:
        """The neutral element on these points, None where the type has none."""
        neutral = monoid.neutral(dtype)
        if neutral is None:
            return None
        return self.constant_piece(np.asarray(neutral), dtype, domain)

    def constant_piece(self, value: Any, dtype: DType, domain: Dom) -> Piece:
        """One scalar constant on these points."""
        if dtype.is_complex:
            value = np.asarray(value, np.complex64 if dtype is DType.C64 else np.complex128)
        atom, integer = self.context.constant(dtype, np.asarray(value)[()])
        if integer is None:
            return Piece(atom, self.empty_tuple(domain))
        return Piece(atom, constant(self.store, domain, integer))

    def integer_constant(self, number: int, type_: TensorType, domain: Dom) -> Val | None:
        """A small integer as a value of the type, None where the type does not hold it exactly."""
        dtype = type_.dtype
        if dtype.is_float:
            if abs(number) > exact_integers(dtype):
                return None
        elif dtype.is_integer:
            low, high = dtype.integer_range
            number = (number - low) % (high - low + 1) + low
        else:
            return None
        return Val(type_, (self.constant_piece(np.asarray(number), dtype, domain),), domain)

    def operation_of(self, atom: Atom) -> tuple[str, Mapping[str, Any], list[Rel | None]] | None:
        """For a LIFT atom of an op: its name, attributes and how it reads each operand from its indices."""
        key, _, pattern = atom.key[2] if not atom.rels else atom.data[1]
        if not (isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], tuple)):
            return None
        name, attributes = key
        variables = ",".join(names("z", atom.arity))
        reads: list[Rel | None] = []
        place = -1
        for what, position in pattern:
            if what == "scalar":
                reads.append(self.store.rel(f"{{[{variables}] -> []}}"))
                continue
            place = position
            reads.append(atom.rels[place] if atom.rels else None)
        return name, dict(attributes), reads

    # closing and settling -------------------------------------------------------------------------------------------

    def settle(self, value: Val) -> Val:
        """What a summation gives: in the original one named term, in the partitioned program whatever folds."""
        value = resolve(self, value)
        if not value.is_view and (self.is_original or self._is_known_multiple(value)):
            return self.named(value)
        return value

    def _is_known_multiple(self, value: Val) -> bool:
        """Whether a sum is a multiple of one that the original has, and terms are simplified here."""
        multiple = multiple_of_sum(self, value)
        self.context.simplifiable |= multiple is not None
        return multiple is not None and self.context.simplifies and resolve(self, *multiple.operands).is_view

    def named(self, value: Val) -> Val:
        """The value under a name of its own, or as what else it is found to be over the reals."""
        return self.as_met(name_value(self, value))

    def as_met(self, value: Val) -> Val:
        """A value with what its terms are found to be in their place."""
        theories = [value.theory]
        pieces = [part for piece in value.pieces for part in met(self, piece, theories)]
        if len(pieces) == len(value.pieces) and all(map(operator.is_, pieces, value.pieces)):
            return value
        found = Val(value.type, gathered(self.store, pieces), value.domain, theory=strongest(theories))
        return self.changed(value, self.equated(value, found))

    def as_one(self, value: Val) -> Val:
        """A sum as the term that it is, of its own where the original has none; never as parts of other terms."""
        found = resolve(self, value)
        return found if found.is_view else self.named(found)

    def equated(self, ordinary: Val, value: Val) -> Val:
        """A value with terms in other terms' place, which certificates tell after what it was."""
        if self.trace is not None:
            self.trace.equated(ordinary, value)
        return value

    def changed(self, old: Val, new: Val) -> Val:
        """The new form of a value, which certificates tell."""
        if self.trace is not None:
            self.trace.changed(old, new)
        return new

    def close(self, value: Val, reason: str) -> Val:
        """The value as an unguarded view; a sum that no term of the original equals gets a name of its own."""
        return self.changed(value, self._closed(value, reason))

    def _closed(self, value: Val, reason: str) -> Val:
        if value.is_plain:
            return value
        value = resolve(self, value, partly=not self.is_original)
        if value.is_view and not value.has_guards:
            return value
        if not self.is_original:
            value = resolve(self, value, own=True, partly=True)
            if value.is_view and not value.has_guards:
                return value
            parts = complete_part(self, value)
            if parts is not None:
                whole, rest = parts
                named = self.close(rest, reason)
                pieces = gathered(self.store, (*whole.pieces, *named.pieces))
                return Val(value.type, pieces, value.domain, theory=strongest([whole.theory, named.theory]))
        before, self.reason = self.reason, reason
        try:
            return self.named(value)
        finally:
            self.reason = before

    def unrelated(self, type_: TensorType, reason: str, domain: Dom | None = None) -> Val:
        """A value of which nothing is known; equal to nothing else."""
        before, self.reason = self.reason, reason
        try:
            points = self.points(type_) if domain is None else domain
            atom = self.context.atoms.fresh(AtomKind.NAMED, type_.dtype, points.arity, (), label=self.label())
            self.note_fresh(atom)
            return Val(type_, (Piece(atom, self.store.identity_on(points)),), points)
        finally:
            self.reason = before

    def not_modelled(self, type_: Type, construct: str) -> AnyVal:
        """Stands for a result of a construct that the prover does not model: UNSUPPORTED if anything depends on it."""
        if isinstance(type_, TokenType):
            return TokenVal()
        value = self.unrelated(type_, construct)
        self.unsupported[value.pieces[0].atom.number] = construct
        return value

    # running --------------------------------------------------------------------------------------------------------

    def run(self, program: Program, arguments: Sequence[AnyVal]) -> list[AnyVal]:
        """Walk the whole program; the results' relations in the order of `program.results`."""
        for parameter in program.parameters:
            self.shardings[parameter.value.number] = parameter.sharding
        for parameter, argument in zip(program.parameters, arguments, strict=True):
            self.env[parameter.value.number] = argument
        if self.of_reals:
            self._used = live_ops(program.body, {result.value.number for result in program.results})
        self.region(program.body)
        return [self.env[result.value.number] for result in program.results]

    def region(self, region: Region) -> None:
        """Walk the ops of one block whose arguments are in the environment."""
        block = self.trace.begin_block() if self.trace is not None else None
        for op in region.ops:
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise WalkTimeoutError
            if self.patience is not None and self.ops_walked % _WATCH_EVERY == 0 and self.patience.is_over():
                raise WalkTimeoutError
            outer, self.op = self.op, op
            if self.trace is not None:
                self.trace.begin(op)
            try:
                results = self._relate(op)
            finally:
                self.op = outer
            if self.trace is not None and block is not None:
                self.trace.end(block, results)
            self.ops_walked += 1
            if self.patience is not None:
                self.patience.see(results)
            for value, result in zip(op.results, results, strict=True):
                self.env[value.number] = result
            for value, sharding in zip(op.results, op.shardings, strict=False):
                self.shardings[value.number] = sharding
            if self.watch is not None and self.ops_walked % _WATCH_EVERY == 0:
                self.watch()

    def results_of(self, region: Region) -> list[AnyVal]:
        """What a region that was walked returns; inside a manual region everything is a device value."""
        values = [self.env[result.number] for result in region.results]
        if self.inner is not None and self.builder is self.inner:
            return [lifted(self, value) for value in values]
        return values

    def _relate(self, op: Op) -> list[AnyVal]:
        record = RECORDS.get(op.name)
        if record is None:
            return [self.not_modelled(result.type, f"op '{op.name}'") for result in op.results]
        unknown = [name for name in op.attributes if name not in record.attributes and name not in record.ignored]
        if unknown:
            return [self.not_modelled(r.type, f"attribute '{unknown[0]}' of '{op.name}'") for r in op.results]
        operands = [self.env[operand.number] for operand in op.operands]
        if self.inner is None:
            return self._relate_modelled(op, record, operands)
        outer = self.builder
        if enters(op, operands):
            operands = [lifted(self, operand) for operand in operands]
            self.builder = self.inner
        try:
            return self._relate_modelled(op, record, operands)
        finally:
            self.builder = outer

    def _relate_modelled(self, op: Op, record: OpRecord, operands: list[AnyVal]) -> list[AnyVal]:
        if self.trace is not None:
            self.trace.given(operands)
        known = self._computed(op, operands)
        if known is not None:
            return [known]
        if record.relate is None:
            return [self.not_modelled(result.type, f"op '{op.name}'") for result in op.results]
        try:
            results = record.relate(self, op, operands)
        except RelationLimitError as limit:
            return [
                self.unrelated(r.type, f"too complex: {limit}") if isinstance(r.type, TensorType) else TokenVal()
                for r in op.results
            ]
        return results

    def _computed(self, op: Op, operands: Sequence[AnyVal]) -> Val | None:
        """A small integer value that depends on no input, computed by the reference evaluator for every device.

        Lemma *constant folding*: it is enumerated over all devices, so nothing is assumed. Theory: exact.
        """
        if not is_foldable(op):
            return None
        arrays = []
        for operand in operands:
            if not isinstance(operand, Val) or operand.known is None:
                return None
            arrays.append(operand.known)
        if not arrays and (op.name not in DEVICE_NUMBERS or (self.is_original and not self.mesh.sizes)):
            # outside its manual regions the original computes logical tensors: no device has a number there
            return None
        devices = self.mesh.num_devices
        whole = [np.broadcast_to(array, (devices, *array.shape[1:])) for array in arrays]
        machine = self._machines.get(devices)
        if machine is None:
            partitions = self.num_partitions if devices > 1 else 1
            machine = self._machines[devices] = Machine(devices, Native(), num_partitions=partitions)
        result = np.asarray(machine.evaluate(op, whole)[0])
        return self.known_value(result, op.results[0].tensor)

    def known_value(self, array: np.ndarray, type_: TensorType) -> Val | None:
        """A value [devices or 1, *shape] of known integers, None where its relation would take too many boxes."""
        array = np.asarray(array)
        if array.dtype == np.uint64 and (array >> np.uint64(63)).any():
            return None
        if len(array) > 1 and np.array_equal(array, np.broadcast_to(array[:1], array.shape)):
            array = array[:1]
        rel = self.builder.table(array.astype(np.int64), type_.shape)
        if rel is None:
            return None
        atom = self.context.atoms.integer(type_.dtype)
        # as the evaluator holds elements of this type: its wrap-around is that of the array
        return Val(type_, (Piece(atom, rel),), self.points(type_), known=array.astype(STORAGE[type_.dtype]))
