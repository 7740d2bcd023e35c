"""What the search for the error in a program looks at: the ops a wrong result depends on, and the mesh's axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..read.dependencies import dependencies
from ..read.ir import Op, Program, Region, TensorType, Value
from ..relate.decide import Decision
from ..relate.value import Val
from ..relation.points import grid, images
from ..relation.store import Rel
from .axis_names import GroupNames
from .known import MAX_ELEMENTS, Values

MAX_AXES = 5
"""Digits of the device number of which all subsets are looked at."""

_CONTROL = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
_DEVICE_NUMBERS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})
_SOURCES = _DEVICE_NUMBERS | {"stablehlo.constant", "stablehlo.iota"}


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One op and the way to it: its number in the body, then (region, op) steps into loops and branches."""

    top: int
    path: tuple[tuple[int, int], ...]
    op: Op

    @property
    def order(self) -> tuple[int, ...]:
        return (self.top, *(number for step in self.path for number in step))

    @property
    def block(self) -> tuple[int, ...]:
        """Which region the op is in: the same for all ops of one."""
        return self.order[:-1] if self.path else ()


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """Some digits of the device number, major first: the groups of devices that differ in these alone."""

    digits: tuple[int, ...]
    table: np.ndarray
    coordinate: np.ndarray
    """int64 [devices]: the place of each device in its group."""
    names: GroupNames

    @property
    def size(self) -> int:
        return self.table.shape[1]

    def __str__(self) -> str:
        return self.names.of(self.table)


def table_of_digits(sizes: tuple[int, ...], digits: Sequence[int]) -> np.ndarray:
    """[groups, places]: devices that differ in these digits only, the first digit being the major one."""
    rest = [k for k in range(len(sizes)) if k not in digits]
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes).transpose([*rest, *digits])
    return numbers.reshape(-1, int(np.prod([sizes[k] for k in digits])))


class Scene:
    """The two programs, what was decided of them, and what a result without a proof depends on."""

    def __init__(self, decision: Decision, before: Program, after: Program, result: int) -> None:
        self.decision = decision
        self.before = before
        self.after = after
        self.result = result
        self.mesh = decision.device.mesh
        self.names = GroupNames(before, after, decision.relations)
        self._positions: dict[Rel, tuple[np.ndarray, np.ndarray] | None] = {}
        live, _ = dependencies(after, [result])
        self.sites: tuple[Site, ...] = tuple(site for site in _sites(after) if _makes(site.op, live))
        """Ops that the result depends on, in program order, those in loops right after the op that holds them."""
        self.definitions: dict[int, Site] = {value.number: site for site in _sites(after) for value in site.op.results}
        self.proved_too: frozenset[int] = self._behind_proofs()

    def _behind_proofs(self) -> frozenset[int]:
        comparisons = self.decision.comparisons
        proved = [k for k, one in enumerate(comparisons) if one is not None and one.proved]
        return frozenset(dependencies(self.after, proved)[0]) if proved else frozenset()

    @cached_property
    def uses(self) -> dict[int, list[tuple[Site, int]]]:
        """By a value's number: the ops of the whole program that take it as an operand, with the operand's number."""
        found: dict[int, list[tuple[Site, int]]] = {}
        for site in _sites(self.after):
            for position, operand in enumerate(site.op.operands):
                found.setdefault(operand.number, []).append((site, position))
        return found

    def users(self, value: Value) -> list[tuple[Site, int]]:
        return self.uses.get(value.number, [])

    def returned(self, value: Value) -> bool:
        """Whether a value is a result of the program or of a region."""
        return value.number in self._returned

    @cached_property
    def _returned(self) -> frozenset[int]:
        numbers = {result.value.number for result in self.after.results}
        for site in _sites(self.after):
            if site.op.name in _CONTROL:
                numbers.update(value.number for region in site.op.regions for value in region.results)
        return frozenset(numbers)

    @cached_property
    def before_ops(self) -> tuple[Op, ...]:
        """All ops of the original, those of regions included."""
        found, pending = [], [self.before.body]
        while pending:
            for op in pending.pop().ops:
                found.append(op)
                pending.extend(op.regions)
        return tuple(found)

    @cached_property
    def before_definitions(self) -> dict[int, Op]:
        return {value.number: op for op in self.before_ops for value in op.results}

    @cached_property
    def index_values(self) -> frozenset[int]:
        """Numbers of values made of constants, positions and device numbers only."""
        known: set[int] = set()
        for site in _sites(self.after):
            op = site.op
            if op.regions and op.name in _CONTROL:
                continue
            if op.name in _SOURCES or (op.operands and all(value.number in known for value in op.operands)):
                known.update(value.number for value in op.results)
        return frozenset(known)

    @cached_property
    def device_values(self) -> frozenset[int]:
        """Numbers of integers and booleans that a device number flows into."""
        known: set[int] = set()
        for site in _sites(self.after):
            op = site.op
            if op.name in _DEVICE_NUMBERS or any(value.number in known for value in op.operands):
                known.update(value.number for value in op.results if is_integral(value))
        return frozenset(known)

    def behind(self, op: Op) -> set[Op]:
        """The ops of which an op takes something, directly or not, those outside of its loop included."""
        found: set[Op] = set()
        pending = [op]
        while pending:
            for operand in pending.pop().operands:
                site = self.definitions.get(operand.number)
                if site is not None and site.op not in found:
                    found.add(site.op)
                    pending.append(site.op)
        return found

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant, possibly spread, reshaped or converted."""
        return self.constant(value) is not None

    def constant(self, value: Value) -> Op | None:
        """The constant that a value is made of by spreading, reshaping and converting alone."""
        site = self.definitions.get(value.number)
        while site is not None and site.op.name in _SPREADING:
            site = self.definitions.get(site.op.operands[0].number)
        return site.op if site is not None and site.op.name == "stablehlo.constant" else None

    def value(self, value: Value) -> Val | None:
        """What is known of a tensor of the after program."""
        found = self.decision.device.env.get(value.number)
        return found if isinstance(found, Val) else None

    def is_sum(self, value: Value) -> bool:
        found = self.value(value)
        return found is not None and found.monoid is not None

    def held(self, number: int, rel: Rel, kind: TensorType, original: Values) -> np.ndarray | None:
        """What devices hold of a value of the original that each has whole, where a relation tells which elements."""
        logical = original.get(number)
        if logical is None or len(logical) != 1 or logical.ndim != 1 + rel.arity_out or kind.size > MAX_ELEMENTS:
            return None
        if rel not in self._positions:
            self._positions[rel] = images(rel, grid((*self.mesh.sizes, *kind.shape)))
        found = self._positions[rel]
        if found is None:
            return None
        indices, defined = found
        held = np.zeros(len(indices), logical.dtype)
        held[defined] = logical[0][tuple(indices[defined].T)]
        return held.reshape(self.mesh.num_devices, *kind.shape)

    @cached_property
    def axes(self) -> tuple[Axes, ...]:
        """All subsets of the mesh's digits, each in the order of the digits, those of fewer digits first."""
        return tuple(self._axes(digits) for digits in self._subsets())

    @cached_property
    def ordered_axes(self) -> tuple[Axes, ...]:
        """The same with every order of the digits."""
        orders = (order for digits in self._subsets() for order in itertools.permutations(digits))
        return tuple(self._axes(digits) for digits in orders)

    def _subsets(self) -> Iterator[tuple[int, ...]]:
        digits = range(min(len(self.mesh.sizes), MAX_AXES))
        for count in range(1, len(digits) + 1):
            yield from itertools.combinations(digits, count)

    def _axes(self, digits: tuple[int, ...]) -> Axes:
        table = table_of_digits(self.mesh.sizes, digits)
        coordinate = np.empty(self.mesh.num_devices, np.int64)
        coordinate[table] = np.arange(table.shape[1])
        return Axes(digits, table, coordinate, self.names)

    def dead_first(self, values: list[Value]) -> list[Value]:
        """Values that nothing uses come first: what should have used them may have lost them."""
        return sorted(values, key=lambda value: bool(self.users(value)) or self.returned(value))


def _sites(program: Program) -> Iterator[Site]:
    for top, op in enumerate(program.body.ops):
        yield Site(top, (), op)
        if op.name in _CONTROL:
            yield from _inner(top, (), op.regions)


def _inner(top: int, path: tuple[tuple[int, int], ...], regions: tuple[Region, ...]) -> Iterator[Site]:
    for number, region in enumerate(regions):
        for index, op in enumerate(region.ops):
            here = (*path, (number, index))
            yield Site(top, here, op)
            if op.name in _CONTROL:
                yield from _inner(top, here, op.regions)


def _makes(op: Op, live: set[int]) -> bool:
    return any(value.number in live for value in op.results)


_SPREADING = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert"})


def is_integral(value: Value) -> bool:
    """Whether a value is a tensor of integers or booleans."""
    return isinstance(value.type, TensorType) and (value.type.dtype.is_integer or value.type.dtype.is_bool)
