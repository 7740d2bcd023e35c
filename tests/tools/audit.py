"""A numerical audit of the prover: every relation of a walk is compared with what the evaluator computes.

Both programs are walked and run on the same inputs. An atom's elements are taken from the first value that is a view
of it; whatever is related to it afterwards, in either program, must agree with that. Sums and operations are computed
from their elements. In the exact arithmetic all this is equality, so a relation that is wrong anywhere shows unless the
inputs hide it. Only values outside loops and branches are looked at.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import islpy as isl
import numpy as np

from shardproof.validator.evaluate.arithmetic import Arithmetic, Wide
from shardproof.validator.evaluate.errors import UnsupportedInExact
from shardproof.validator.evaluate.exact import Exact
from shardproof.validator.evaluate.inputs import Profile, draw, extents
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType, Program
from shardproof.validator.relate.atoms import Atom, AtomKind
from shardproof.validator.relate.context import Definition
from shardproof.validator.relate.decide import Decision, decide
from shardproof.validator.relate.value import Piece, Val
from shardproof.validator.relate.walk import Walk

from .points import TooManyPoints, enumerate_set


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place at which a relation and a run disagree."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(slots=True)
class Audit:
    """What an audit saw."""

    mismatches: list[Mismatch] = field(default_factory=list)
    values: int = 0
    """Op results whose relation was compared."""
    elements: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    proved: bool = False


_UNARY = frozenset({"negate", "abs", "sign", "exponential", "log", "tanh", "sqrt", "rsqrt", "logistic", "not"})
_BINARY = frozenset({"add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "and", "or", "xor"})


class Unknown(Exception):
    """An atom without a value: it belongs to a loop, or to an op that is not interpreted here."""


class _Recorder(Machine):
    """Keeps every value of the outermost block."""

    def __init__(self, program: Program, arithmetic: Arithmetic, num_devices: int, deadline: float) -> None:
        super().__init__(num_devices, arithmetic, num_partitions=program.num_partitions, deadline=deadline)
        self.kept: dict[int, Any] = {}
        self._body = program.body

    def _store(self, frame: Any, op: Any, results: list[Any], dead: tuple[int, ...]) -> None:
        if frame.region is self._body:
            for value, result in zip(op.results, results, strict=True):
                self.kept[value.number] = result
        super()._store(frame, op, results, dead)


class _Table:
    """Elements of one atom, by index, in a box that grows."""

    def __init__(self, arity: int) -> None:
        self.low = np.zeros(max(arity, 1), np.int64)
        self.known: np.ndarray = np.zeros((0,) * max(arity, 1), np.bool_)
        self.data: np.ndarray | None = None

    @staticmethod
    def _indices(index: np.ndarray) -> np.ndarray:
        return index if index.shape[1] else np.zeros((len(index), 1), np.int64)

    def _offsets(self, index: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple((index - self.low).T)

    def indices(self) -> np.ndarray:
        """All indices that are known."""
        return np.argwhere(self.known) + self.low

    def get(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Which of the indices are known, and what is there (anything where it is not known)."""
        if self.data is None:
            return np.zeros(len(index), np.bool_), None
        index = self._indices(index)
        shape = np.asarray(self.known.shape, np.int64)
        inside: np.ndarray = np.all((index >= self.low) & (index < self.low + shape), axis=1)
        places = self._offsets(np.where(inside[:, None], index, self.low))
        held: np.ndarray = self.known[places]
        return inside & held, self.data[places]

    def put(self, index: np.ndarray, values: np.ndarray) -> None:
        if not len(index):
            return
        index = self._indices(index)
        low, high = index.min(axis=0, initial=1 << 40), index.max(axis=0, initial=-(1 << 40)) + 1
        if self.data is not None:
            low, high = np.minimum(low, self.low), np.maximum(high, self.low + np.asarray(self.known.shape))
        shape = tuple(int(n) for n in high - low)
        if np.prod(shape, dtype=np.float64) > 1 << 24:
            raise TooManyPoints(f"a table of shape {shape}")
        if self.data is None or shape != self.known.shape:
            known, data = np.zeros(shape, np.bool_), np.zeros(shape, values.dtype)
            if self.data is not None:
                old = tuple(
                    slice(int(a - b), int(a - b) + n) for a, b, n in zip(self.low, low, self.known.shape, strict=True)
                )
                known[old], data[old] = self.known, self.data
            self.low, self.known, self.data = low, known, data
        places = self._offsets(index)
        assert self.data is not None
        self.known[places] = True
        self.data[places] = values


class Auditor:
    """One pair of programs, walked and run."""

    def __init__(self, decision: Decision, arithmetic: Arithmetic) -> None:
        self.decision = decision
        self.context = decision.original.context
        self.arithmetic = arithmetic
        self.audit = Audit()
        self._tables: dict[int, _Table] = {}
        self._defining: set[int] = set()
        self._definitions: dict[int, Definition] = {}
        for group in self.context.definitions.values():
            for definition in group:
                self._definitions.setdefault(definition.atom.number, definition)

    # values of atoms ------------------------------------------------------------------------------------------------

    def element(self, atom: Atom, index: np.ndarray) -> np.ndarray:
        """The atom's elements at these indices [points, arity]."""
        if atom.kind is AtomKind.INTEGER:
            if atom.dtype.is_integer or atom.dtype.is_bool:
                low, high = atom.dtype.integer_range
                if len(index) and (index.min() < low or index.max() > high):
                    self._report(str(atom), f"{index.min()} … {index.max()} as '{atom.dtype.value}'")
                    raise Unknown("integer out of range")
            return self.arithmetic.load(_integers(index[:, 0], atom.dtype), atom.dtype)
        if atom.kind is AtomKind.CONSTANT and atom.arity == 0:
            return self._constant(atom, len(index))
        if atom.kind is AtomKind.PRODUCT:
            left, right = atom.operands
            a = self.element(left, index[:, : left.arity])
            b = self.element(right, index[:, left.arity :])
            if atom.dtype.is_bool:
                raise Unknown("a product of booleans")
            convert = self.arithmetic.convert
            return self.arithmetic.binary(
                "multiply", convert(a, left.dtype, atom.dtype), convert(b, right.dtype, atom.dtype), atom.dtype
            )
        index = index.astype(np.int64)
        known, data = self._table(atom).get(index)
        if not known.all():
            self._define(atom, index[~known])
            known, data = self._table(atom).get(index)
        if not known.all():
            raise Unknown(f"{atom.kind.value} atom")
        assert data is not None
        return data

    def _table(self, atom: Atom) -> _Table:
        return self._tables.setdefault(atom.number, _Table(atom.arity))

    def _constant(self, atom: Atom, count: int) -> np.ndarray:
        if isinstance(atom.data, tuple):
            value = np.asarray(_integers(np.asarray([atom.data[1]], object), atom.dtype))
        elif isinstance(atom.data, float):
            value = np.asarray([atom.data])
        else:
            raise Unknown("constant")
        return np.broadcast_to(self.arithmetic.load(value, atom.dtype), (count,))

    def _define(self, atom: Atom, index: np.ndarray) -> None:
        """Elements that no value of a program holds, from what the atom is made of."""
        if atom.number in self._defining:
            raise Unknown("circular definition")
        self._defining.add(atom.number)
        try:
            definition = self._definitions.get(atom.number)
            if definition is not None:
                points, values, _ = self.combined(definition.pieces, definition.monoid, atom.dtype, index)
                self._table(atom).put(points, values)
            elif atom.kind is AtomKind.LIFT:
                self._table(atom).put(index, self._lifted(atom, index))
        finally:
            self._defining.discard(atom.number)

    def _lifted(self, atom: Atom, index: np.ndarray) -> np.ndarray:
        """f(u1, ..., uk) at these indices of a lifted atom."""
        operation = self.decision.original.operation_of(atom)
        if operation is None:
            raise Unknown("lifted atom")
        name, attributes, reads = operation
        values = []
        for operand, read in zip(atom.operands, reads, strict=True):
            inner = index
            if read is not None and operand.arity:
                inner = _looked_up(enumerate_set(read.map.wrap().flatten()), index)
            values.append(self.element(operand, inner if operand.arity else inner[:, :0]))
        return self._operation(name.removeprefix("stablehlo."), attributes, values, atom)

    def _operation(self, name: str, attributes: Any, values: list[np.ndarray], atom: Atom) -> np.ndarray:
        source = atom.operands[-1].dtype
        if name == "compare" and set(attributes) == {"comparison_direction"}:
            return self.arithmetic.compare(attributes["comparison_direction"], values[0], values[1], source)
        if attributes:
            raise Unknown(f"'{name}' with attributes")
        if name == "convert":
            return self.arithmetic.convert(values[0], source, atom.dtype)
        if name == "select":
            return np.where(values[0], values[1], values[2])
        if name in _UNARY and len(values) == 1:
            return self.arithmetic.unary(name, values[0], atom.dtype)
        if name in _BINARY and len(values) == 2:
            return self.arithmetic.binary(name, values[0], values[1], atom.dtype)
        raise Unknown(f"'{name}'")

    def check_lifted(self) -> None:
        """Every lifted atom against its operation on its operands' elements."""
        for atom in list(self.context.atoms._by_key.values()):
            table = self._tables.get(atom.number)
            if atom.kind is not AtomKind.LIFT or table is None or table.data is None:
                continue
            index = table.indices()[:, : atom.arity]
            try:
                values = self._lifted(atom, index)
            except (Unknown, TooManyPoints) as reason:
                self.audit.skipped[f"operation {reason}"] += 1
                continue
            _, data = table.get(index)
            assert data is not None
            self._compare(f"operation {atom}", index, data, values)

    # values ---------------------------------------------------------------------------------------------------------

    def parts(self, piece: Piece) -> tuple[np.ndarray, np.ndarray, Atom]:
        """(points, indices, atom) of a piece, guards taken at what the run holds."""
        base, guards = piece.atom, ()
        if piece.atom.kind is AtomKind.GUARD:
            base, *rest = piece.atom.operands
            guards = tuple(rest)
        arity, rel = piece.rel.arity_in, piece.rel.map
        if guards:
            # the guards' places before the index of what they guard
            count = base.arity
            whole = rel.wrap().flatten()
            kind = isl.dim_type
            extra = piece.rel.arity_out - count
            moved = whole.insert_dims(kind.set, arity + extra + count, 0)
            order = [*range(arity), *range(arity + count, arity + count + extra), *range(arity, arity + count)]
            moved = _reordered(moved, order)
            solved, place = {}, arity
            for guard in guards:
                start = place
                place += guard.arity
                solved[place] = self._guard_value(guard, start)
                place += 1
            all_ = enumerate_set(moved, solved)
            return all_[:, :arity].astype(np.int64), all_[:, place:], base
        all_ = enumerate_set(rel.wrap().flatten())
        return all_[:, :arity], all_[:, arity:], base

    def _guard_value(self, guard: Atom, start: int) -> Any:
        def value(points: np.ndarray) -> np.ndarray:
            found = self.element(guard, points[:, start : start + guard.arity])
            return np.asarray([int(n) for n in found], object)

        return value

    def combined(
        self, pieces: Sequence[Piece], monoid: Monoid | None, dtype: DType, only: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(points, values, number of elements): what the pieces give wherever some element is."""
        chunks: list[tuple[np.ndarray, np.ndarray]] = []
        for piece in pieces:
            points, index, atom = self.parts(piece)
            if only is not None:
                keep = _member(points, only)
                points, index = points[keep], index[keep]
            values = self.element(atom, index)
            if piece.coefficient != 1:
                values = self._times(values, int(piece.coefficient), monoid, dtype)
            chunks.append((points, values))
        chunks = [chunk for chunk in chunks if len(chunk[0])]
        if not chunks:
            arity = pieces[0].rel.arity_in if pieces else 0
            empty = self.arithmetic.load(np.zeros(0), dtype)
            return np.zeros((0, arity), np.int64), empty, np.zeros(0, np.int64)
        points = np.concatenate([chunk[0] for chunk in chunks])
        values = np.concatenate([chunk[1] for chunk in chunks])
        unique, inverse = (
            np.unique(points, axis=0, return_inverse=True)
            if points.shape[1]
            else (points[:1], np.zeros(len(points), np.int64))
        )
        inverse = np.asarray(inverse).reshape(-1)
        order = np.argsort(inverse, kind="stable")
        counts = np.bincount(inverse, minlength=len(unique))
        starts = np.cumsum(counts) - counts
        result = values[order][starts]
        for turn in range(1, int(counts.max(initial=0))):
            more = np.nonzero(counts > turn)[0]
            if monoid is None:
                break
            name = monoid.value.partition(".")[2]
            result = np.array(result)
            result[more] = self.arithmetic.binary(name, result[more], values[order][starts[more] + turn], dtype)
        return unique, result, counts

    def _times(self, values: np.ndarray, count: int, monoid: Monoid | None, dtype: DType) -> np.ndarray:
        if monoid is not Monoid.ADD:
            raise Unknown("a coefficient")
        number = self.arithmetic.load(_integers(np.asarray([count], object), dtype), dtype)
        return self.arithmetic.binary("multiply", values, np.broadcast_to(number, values.shape), dtype)

    # checking -------------------------------------------------------------------------------------------------------

    def check(self, walk: Walk, where: str, value: Val, run: np.ndarray) -> None:
        """Compare one value with the run's array [devices, *shape]."""
        for piece in value.pieces:
            base = piece.atom.operands[0] if piece.atom.kind is AtomKind.GUARD else piece.atom
            if base.dtype is not value.type.dtype:
                self._report(where, f"an atom of type '{base.dtype.value}' in a '{value.type.dtype.value}'")
        domain = enumerate_set(value.domain.set)
        if not len(domain):
            return
        self.audit.values += 1
        self.audit.elements += len(domain)
        actual = run[_places(walk, domain, value.type.rank)]
        if value.is_view and not value.has_guards:
            self._check_view(where, value, domain, actual)
            return
        points, given, counts = self.combined(value.pieces, value.monoid, value.type.dtype, domain)
        held = _member(domain, points)
        if value.is_view:
            if not held.all() or (counts > 1).any():
                self._report(
                    where, f"a guarded view holds {sorted(set(counts.tolist()))} elements, misses {(~held).sum()}"
                )
                return
        elif not held.all():
            neutral = value.monoid.neutral(value.type.dtype) if value.monoid is not None else None
            if neutral is None:
                raise Unknown("no neutral element")
            plain = (
                _integers(np.asarray([neutral], object), value.type.dtype)
                if np.isfinite(float(neutral))
                else np.asarray([neutral])
            )
            fill = self.arithmetic.load(plain, value.type.dtype)
            self._compare(where, domain[~held], actual[~held], np.broadcast_to(fill, ((~held).sum(),)))
        order = _position(points, domain[held])
        self._compare(where, domain[held], actual[held], given[order])

    def _check_view(self, where: str, value: Val, domain: np.ndarray, actual: np.ndarray) -> None:
        seen = np.zeros(len(domain), np.int64)
        for piece in value.pieces:
            points, index, atom = self.parts(piece)
            keep = _member(points, domain)
            points, index = points[keep], index[keep]
            place = _position(domain, points)
            np.add.at(seen, place, 1)
            self._check_elements(where, atom, points, index, actual[place])
        if (seen != 1).any():
            bad = domain[seen != 1][0].tolist()
            self._report(where, f"a view holds {seen[seen != 1][0]} elements at {bad}")

    def _check_elements(
        self, where: str, atom: Atom, points: np.ndarray, index: np.ndarray, actual: np.ndarray
    ) -> None:
        if atom.kind in (AtomKind.INTEGER, AtomKind.PRODUCT) or (atom.kind is AtomKind.CONSTANT and not atom.arity):
            try:
                self._compare(where, points, actual, self.element(atom, index))
            except Unknown as reason:
                self.audit.skipped[str(reason)] += 1
            return
        table = self._table(atom)
        index = index.astype(np.int64)
        known, data = table.get(index)
        if data is not None:
            self._compare(f"{where} as {atom}", points[known], actual[known], data[known])
        new = ~known
        if not new.any():
            return
        if atom.number in self._definitions:
            try:
                self._compare(f"{where} as {atom}", points[new], actual[new], self.element(atom, index[new]))
                return
            except (Unknown, TooManyPoints):
                self.audit.skipped["definition of unknown elements"] += 1
        table.put(index[new], actual[new])
        _, again = table.get(index[new])
        assert again is not None
        self._compare(f"{where}, twice as {atom}", points[new], actual[new], again)

    def check_definitions(self) -> None:
        """Every definition of a named atom against the atom's elements."""
        for group in list(self.context.definitions.values()):
            for definition in group:
                atom = definition.atom
                try:
                    points, values, _ = self.combined(definition.pieces, definition.monoid, atom.dtype)
                    known, data = self._table(atom).get(points)
                except (Unknown, TooManyPoints):
                    self.audit.skipped["definition"] += 1
                    continue
                if data is not None:
                    self._compare(f"definition of {atom}", points[known], data[known], values[known])

    def _compare(self, where: str, points: np.ndarray, actual: np.ndarray, given: np.ndarray) -> None:
        if isinstance(self.arithmetic, Exact) or actual.dtype.kind in "iub":
            differ = actual != given
        else:
            size = np.maximum(np.abs(actual), np.abs(given))
            apart = np.abs(np.subtract(actual, given, where=np.isfinite(size), out=np.zeros(size.shape, actual.dtype)))
            differ = np.where(np.isfinite(size), apart > 1e-6 * np.maximum(size, 1.0), False)
        if differ.any():
            first = int(np.argmax(differ))
            self._report(where, f"at {points[first].tolist()}: {actual[first]} instead of {given[first]}")

    def _report(self, where: str, what: str) -> None:
        self.audit.mismatches.append(Mismatch(where, what))


def _integers(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Python integers as an array that holds them."""
    if dtype.is_bool:
        return np.asarray(values != 0, np.bool_)
    if dtype.is_integer and not dtype.is_signed:
        return np.asarray([int(n) for n in values], np.uint64)
    return np.asarray([int(n) for n in values], np.int64)


def _reordered(raw: Any, order: Sequence[int]) -> Any:
    """The set with its dimensions in another order."""
    names = [f"a{k}" for k in range(len(order))]
    target = ",".join(names[k] for k in order)
    return raw.apply(isl.Map(f"{{[{','.join(names)}] -> [{target}]}}"))


def _rows(points: np.ndarray) -> np.ndarray:
    """Points as single comparable items."""
    whole = np.ascontiguousarray(points.astype(np.int64))
    if not whole.shape[1]:
        return np.zeros(len(whole), "V8")
    return whole.view(np.dtype((np.void, 8 * whole.shape[1]))).reshape(-1)


def _member(points: np.ndarray, of: np.ndarray) -> np.ndarray:
    return np.isin(_rows(points), _rows(of))


def _position(where: np.ndarray, points: np.ndarray) -> np.ndarray:
    """For each point its row in `where`, which holds them all."""
    keys = _rows(where)
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], _rows(points))]


def _looked_up(pairs: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The range part of the pairs whose domain part is each index."""
    arity = index.shape[1]
    return pairs[_position(pairs[:, :arity], index)][:, arity:]


def _places(walk: Walk, points: np.ndarray, rank: int) -> tuple[np.ndarray, ...]:
    """Points as an index of arrays [devices, *shape]; a logical value is looked up on the first device."""
    count = points.shape[1] - rank
    sizes = walk.mesh.sizes
    if count and not sizes and walk.inner is not None:
        # a device value in a manual region of the original
        sizes = walk.inner.mesh.sizes
    device = np.zeros(len(points), np.int64)
    for k in range(count):
        device = device * sizes[k] + points[:, k]
    return (device, *(points[:, k] for k in range(count, points.shape[1])))


def audit_pair(
    before: Program,
    after: Program,
    *,
    seed: int = 0,
    profile: Profile = Profile.GENERIC,
    seconds: float = 20.0,
    accepted: Theory = Theory.REASSOCIATED,
) -> Audit:
    """Walk and run both programs, and compare. Raises `EvaluationError` where they cannot be run."""
    return audit_walks(before, after, seed=seed, profile=profile, seconds=seconds, accepted=accepted).audit


def audit_walks(
    before: Program, after: Program, *, seed: int, profile: Profile, seconds: float, accepted: Theory
) -> Auditor:
    """The auditor behind `audit_pair`, which has all elements of the run."""
    deadline = time.monotonic() + seconds
    decision = decide(before, after, deadline=deadline, assume_in_bounds=False, accepted=accepted)
    layouts = layouts_of(before, after)
    inputs = draw(layouts.logical, profile, np.random.default_rng(seed), extents((before, after)))
    if accepted is Theory.REAL:  # exp is no homomorphism of residues
        return _audited(before, after, decision, Wide(), layouts, inputs, deadline)
    try:
        return _audited(before, after, decision, Exact(seed), layouts, inputs, deadline)
    except UnsupportedInExact:
        return _audited(before, after, decision, Wide(narrowing=True), layouts, inputs, deadline)


def _audited(
    before: Program,
    after: Program,
    decision: Decision,
    arithmetic: Arithmetic,
    layouts: Any,
    inputs: Sequence[np.ndarray],
    deadline: float,
) -> Auditor:
    spec = _Recorder(before, arithmetic, layouts.before_devices, deadline)
    runs = []
    given = layouts.to_before(inputs)
    spec.run(before, given)
    runs.append((decision.original, before, given, spec, None))
    other = layouts.to_after(inputs, np.random.default_rng(2))
    second = _Recorder(after, arithmetic, after.num_devices, deadline)
    second.run(after, other)
    local = layouts.to_after(inputs, np.random.default_rng(1))
    device = _Recorder(after, arithmetic, after.num_devices, deadline)
    device.run(after, local)
    runs.append((decision.device, after, local, device, second))
    auditor = Auditor(decision, arithmetic)
    auditor.audit.proved = all(comparison is not None and comparison.proved for comparison in decision.comparisons)
    for walk, program, arguments, machine, twin in runs:
        side = "before" if walk.is_original else "after"
        for parameter, array in zip(program.parameters, arguments, strict=True):
            value = walk.env.get(parameter.value.number)
            loaded = arithmetic.load(np.asarray(array), parameter.value.tensor.dtype)
            _guarded(auditor, walk, f"{side} parameter {parameter.value.name}", value, loaded)
        for op in program.body.ops:
            for result in op.results:
                value, run = walk.env.get(result.number), machine.kept.get(result.number)
                where = f"{side} {op.name} {result.name}"
                if twin is not None and isinstance(value, Val):
                    _check_poison(auditor, walk, where, value, run, twin.kept[result.number])
                _guarded(auditor, walk, where, value, run)
    auditor.check_definitions()
    auditor.check_lifted()
    return auditor


def _guarded(auditor: Auditor, walk: Walk, where: str, value: Any, run: Any) -> None:
    if not isinstance(value, Val):
        return
    try:
        auditor.check(walk, where, value, np.asarray(run))
    except (Unknown, TooManyPoints) as reason:
        auditor.audit.skipped[str(reason)] += 1


def _unrelated(atom: Atom) -> bool:
    """Whether the atom stands for an unknown value, or is made of one."""
    seen, stack = set(), [atom]
    while stack:
        current = stack.pop()
        if current.number in seen:
            continue
        seen.add(current.number)
        if current.kind is AtomKind.NAMED and not current.operands and current.data is None:
            return True
        stack.extend(current.operands)
    return False


def _check_poison(auditor: Auditor, walk: Walk, where: str, value: Val, run: Any, twin: Any) -> None:
    """A defined element must not change with what is in the padding, unless nothing at all is said of it."""
    if any(_unrelated(piece.atom) for piece in value.pieces):
        return
    domain = enumerate_set(value.domain.set)
    places = _places(walk, domain, value.type.rank)
    run, twin = np.asarray(run)[places], np.asarray(twin)[places]
    differ = run != twin
    if run.dtype.kind in "fc":
        differ &= ~(np.isnan(run) & np.isnan(twin))
    if differ.any():
        auditor.audit.mismatches.append(Mismatch(where, f"at {domain[np.argmax(differ)].tolist()}: depends on padding"))
