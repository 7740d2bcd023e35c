"""What a mutation operator needs to know of a program: sites, definitions, uses, and where device numbers flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shardproof.validator.read.attributes import DeviceGroups
from shardproof.validator.read.ir import Op, Program, Region, TensorType, Value

from .rewrite import Builder, Site, walk

DEVICE_NUMBERS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})
COLLECTIVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "collective_permute",
        "collective_broadcast",
    )
)
_INDEX_SOURCES = DEVICE_NUMBERS | {"stablehlo.constant", "stablehlo.iota"}
_OPENING = COLLECTIVES | {"stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.custom_call"}
"""Operations through which no index arithmetic is followed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edited program and what was done where."""

    site: str
    change: str
    program: Program


class Context:
    """A program with the analyses the operators share, each made when first asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        live = live_values(program)
        self.sites: tuple[Site, ...] = tuple(
            site for site in walk(program) if any(value in live for value in site.op.results)
        )
        """Operations that a result may depend on; editing any other changes nothing."""

    def named(self, *names: str) -> Iterator[Site]:
        """The sites of the named StableHLO operations."""
        wanted = {f"stablehlo.{name}" for name in names}
        return (site for site in self.sites if site.op.name in wanted)

    def builder(self, site: Site) -> Builder:
        return Builder(self.program, site.op.location)

    @property
    def one_kind_of_device(self) -> bool:
        """Whether a device's number is its partition id or its replica id alone."""
        return self.program.num_replicas == 1 or self.program.num_partitions == 1

    @cached_property
    def definitions(self) -> dict[Value, Op]:
        return {value: site.op for site in self.sites for value in site.op.results}

    @cached_property
    def uses(self) -> dict[Value, list[tuple[Site, int]]]:
        """The sites that take a value as an operand, with the operand's number."""
        uses: dict[Value, list[tuple[Site, int]]] = {}
        for site in self.sites:
            for number, value in enumerate(site.op.operands):
                uses.setdefault(value, []).append((site, number))
        return uses

    def uses_of(self, value: Value) -> list[tuple[Site, int]]:
        return self.uses.get(value, [])

    @cached_property
    def index_values(self) -> frozenset[Value]:
        """Values made of constants, iota and device numbers only."""
        known: set[Value] = set()
        for site in self.sites:
            op = site.op
            if op.name in _OPENING:
                continue
            if op.name in _INDEX_SOURCES or (op.operands and all(value in known for value in op.operands)):
                known.update(op.results)
        return frozenset(known)

    @cached_property
    def device_values(self) -> frozenset[Value]:
        """Integers and booleans that a device number flows into."""
        known: set[Value] = set()
        for site in self.sites:
            op = site.op
            if op.name in _OPENING:
                continue
            if op.name in DEVICE_NUMBERS or any(value in known for value in op.operands):
                known.update(value for value in op.results if is_integral(value))
        return frozenset(known)

    def is_constant(self, value: Value) -> bool:
        """Whether a value is a constant, possibly broadcast, reshaped or converted."""
        op = self.definitions.get(value)
        while op is not None and op.name in _SPREADING:
            op = self.definitions.get(op.operands[0])
        return op is not None and op.name == "stablehlo.constant"

    def chain(self, source: Value, value: Value, through: frozenset[str]) -> list[Op] | None:
        """The operations on a way from `source` to `value` through the named ones, in order; None if there is none."""
        ways: list[tuple[Value, list[Op]]] = [(value, [])]
        while ways:
            reached, ops = ways.pop()
            if reached is source:
                return ops[::-1]
            op = self.definitions.get(reached)
            if op is not None and op.name in through and len(ops) < _LONGEST_CHAIN:
                ways.extend((operand, [*ops, op]) for operand in op.operands)
        return None


MOVES = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "convert", "reshape", "reverse", "slice", "transpose")
)
LINEAR = MOVES | frozenset(f"stablehlo.{name}" for name in ("add", "divide", "multiply", "negate", "subtract"))
_LONGEST_CHAIN = 6
_SPREADING = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert"})


def live_values(program: Program) -> set[Value]:
    """Values that a result may depend on; a loop or branch that is alive keeps all it returns alive."""
    live = {result.value for result in program.results}
    for op in reversed(program.body.ops):
        if any(value in live for value in op.results):
            live.update(op.operands)
            pending = list(op.regions)
            while pending:
                region = pending.pop()
                live.update(_live_in_region(region))
                pending.extend(inner for other in region.ops for inner in other.regions)
    return live


def _live_in_region(region: Region) -> set[Value]:
    live = set(region.results)
    for op in reversed(region.ops):
        if any(value in live for value in op.results):
            live.update(op.operands)
            live.update(_captured(op))
    return live


def _captured(op: Op) -> set[Value]:
    """What the regions of an operation take from outside them, and their own values."""
    values: set[Value] = set()
    pending = list(op.regions)
    while pending:
        region = pending.pop()
        values.update(region.results)
        for inner in region.ops:
            values.update(inner.operands)
            pending.extend(inner.regions)
    return values


def is_integral(value: Value) -> bool:
    """Whether a value is a tensor of integers or booleans."""
    return isinstance(value.type, TensorType) and (value.type.dtype.is_integer or value.type.dtype.is_bool)


def is_float(value: Value) -> bool:
    """Whether a value is a tensor of floats or complex numbers."""
    return isinstance(value.type, TensorType) and (value.type.dtype.is_float or value.type.dtype.is_complex)


def is_number(value: Value) -> bool:
    """Whether a value is a tensor that arithmetic applies to."""
    return isinstance(value.type, TensorType) and not value.type.dtype.is_bool


def groups_of(op: Op) -> np.ndarray | None:
    """The group table of a collective."""
    groups = op.attributes.get("replica_groups")
    return groups.table if isinstance(groups, DeviceGroups) else None


def combiner(region: Region) -> str | None:
    """The operation of a region that combines its two arguments by one operation, else None."""
    if len(region.ops) == 1 and len(region.arguments) == 2 and region.results == region.ops[0].results:
        op = region.ops[0]
        if set(op.operands) == set(region.arguments):
            return op.name.removeprefix("stablehlo.")
    return None
