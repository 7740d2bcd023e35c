"""Repairs of chains of moves: a collective, or the reshapes around it, in another way between the same two types."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..ops.monoid import Monoid
from ..read.ir import Op, TensorType, Value
from ..report.cause import Cause, Diagnosis
from .axis_names import GroupNames
from .edits import Repair
from .make import Maker
from .repair_collectives import COLLECTIVES, collective_between, groups_of, natural_pairs, pairs_text, regrouping, said
from .scene import Scene, Site
from .slots import slots

_LONGEST = 4
_UNUSUAL = 2 * _LONGEST

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in ("reshape", "transpose", "slice", "concatenate", "reverse", "broadcast_in_dim", "convert", "pad")
)


def units(scene: Scene, site: Site) -> Iterator[tuple[tuple[Site, ...], Value, Value]]:
    """Chains of moves that end at an op, shortest first, with the value that each starts from and the one it gives."""
    chain: list[Site] = []
    current: Site | None = site
    while current is not None and len(chain) < _LONGEST:
        op = current.op
        if op.name not in _MOVES | COLLECTIVES or len(op.results) != 1:
            return
        sources = {operand.number: operand for operand in op.operands if not scene.is_constant(operand)}
        if len(sources) != 1:
            return
        (source,) = sources.values()
        if not isinstance(source.type, TensorType):
            return
        chain.insert(0, current)
        yield tuple(chain), source, site.op.results[0]
        # what others use too is no part of the chain
        if len({id(user) for user, _ in scene.users(source)}) != 1 or scene.returned(source):
            return
        current = scene.definitions.get(source.number)
        if current is not None and current.path[:-1] != site.path[:-1]:
            return


def other_way(scene: Scene, site: Site) -> Iterator[Repair]:
    """The chain's value by one collective, or by moves alone; the longer the chain, the less likely."""
    for chain, source, result in units(scene, site):
        there = [one.op for one in chain if one.op.name in COLLECTIVES]
        if len(there) > 1:
            continue
        own = there[0] if there else None
        place = own if own is not None else site.op
        rank = 2 * (len(chain) - 1)
        for repair in _by_collective(scene, site, chain, own, place, source, result):
            yield replace(repair, rank=rank)
        if own is None:
            for repair in _by_moves(site, chain, place, source, result):
                yield replace(repair, rank=rank)


def _by_collective(
    scene: Scene, site: Site, chain: tuple[Site, ...], own: Op | None, place: Op, source: Value, result: Value
) -> Iterator[Repair]:
    narrowed = _narrowed(chain)
    if own is not None and source.type == result.type and own.name == "stablehlo.all_reduce" and narrowed:
        table = groups_of(own)
        assert table is not None
        make = Maker(place)
        make.all_reduce(source, table, Monoid.ADD.value, into=result)
        cause = Diagnosis(Cause.ROUNDING_MOVED, {"found": f"rounded to '{narrowed}'"})
        yield Repair(place, cause, ((site, tuple(make.ops)),))
    for name, axes, dims, op in collective_between(scene, Maker(place), source, result):
        expected = f"'{name}' along dimension {dims} over {axes}"
        yield Repair(place, _exchange(scene.names, own, name, dims, axes.table, expected), ((site, (op,)),))
    if source.type == result.type and own is not None and own.name not in ("stablehlo.all_reduce",):
        value = scene.value(source)
        if value is not None and value.monoid is not None:
            for axes in scene.axes:
                make = Maker(place)
                make.all_reduce(source, axes.table, value.monoid.value, into=result)
                yield Repair(place, Diagnosis(Cause.UNREDUCED, {"axis": str(axes)}), ((site, tuple(make.ops)),))


def _narrowed(chain: tuple[Site, ...]) -> str:
    """The narrowest type that a chain converts to."""
    kinds = [one.op.results[0].tensor.dtype for one in chain if one.op.name == "stablehlo.convert"]
    return min(kinds, key=lambda kind: kind.bits).value if kinds else ""


def _exchange(names: GroupNames, own: Op | None, name: str, dims: str, table: np.ndarray, expected: str) -> Diagnosis:
    """What is wrong where a collective in another way is right."""
    if own is None:
        cause = Cause.REPLICAS_DISAGREE if name == "all_gather" else Cause.WRONG_PERMUTATION
        return Diagnosis(cause) if cause is Cause.REPLICAS_DISAGREE else Diagnosis(cause, {"expected": expected})
    if own.name.partition(".")[2] != name:
        return Diagnosis(Cause.WRONG_PERMUTATION, {"expected": expected, "found": said(names, own)})
    found = _dimensions(own)
    if found != dims:
        return Diagnosis(Cause.WRONG_DIMENSION, {"expected": dims, "found": found})
    groups = groups_of(own)
    assert groups is not None
    return regrouping(names, table, groups)


def _dimensions(op: Op) -> str:
    match op.name:
        case "stablehlo.all_gather":
            return str(op.attributes["all_gather_dim"])
        case "stablehlo.reduce_scatter":
            return str(op.attributes["scatter_dimension"])
        case "stablehlo.all_to_all":
            return f"{op.attributes['split_dimension']} into {op.attributes['concat_dimension']}"
        case _:
            return ""


def _by_moves(site: Site, chain: tuple[Site, ...], place: Op, source: Value, result: Value) -> Iterator[Repair]:
    one, two = source.tensor, result.tensor
    if one.dtype is not two.dtype or one.size != two.size:
        return
    cause = Diagnosis(Cause.WRONG_DIMENSION)
    if len(chain) > 1 or site.op.name != "stablehlo.reshape":
        make = Maker(place)
        make.emit("reshape", (source,), two, result)
        yield Repair(place, cause, ((site, tuple(make.ops)),))
    if one.rank == two.rank and one.rank <= 6:
        for order in itertools.permutations(range(one.rank)):
            if tuple(one.shape[k] for k in order) == two.shape and list(order) != sorted(order):
                make = Maker(place)
                make.emit("transpose", (source,), two, result, permutation=order)
                yield Repair(place, cause, ((site, tuple(make.ops)),))


def not_exchanged(scene: Scene, site: Site) -> Iterator[Repair]:
    """Blocks are exchanged between devices where one op takes a value, or all do, in a way that keeps its type."""
    for slot in slots(scene, site):
        if slot.value.number in scene.index_values or not scene.mesh.sizes:
            continue
        if slot.position is None and site.op.name == "stablehlo.constant":
            continue
        for make, moved, expected, rank in _exchanges(scene, site.op, slot.value):
            cause = Diagnosis(Cause.WRONG_PERMUTATION, {"expected": expected, "found": "no exchange"})
            yield Repair(site.op, cause, slot.filled(make, moved), rank=rank)


def _exchanges(scene: Scene, op: Op, value: Value) -> Iterator[tuple[Maker, Value, str, int]]:
    """Exchanges of a value's blocks: the ops, what they give, what they are called, and how unusual they are."""
    for pairs in natural_pairs(scene):
        make = Maker(op)
        yield make, make.permute(value, pairs, make.fresh(value.type)), pairs_text(pairs), 1
    for dim, axes in itertools.product(range(value.tensor.rank), scene.axes):
        extent = value.tensor.shape[dim]
        if extent % axes.size == 0:
            make = Maker(op)
            moved = make.all_to_all(value, axes.table, dim, dim, make.fresh(value.type))
            # compilers make a dimension of just the blocks first
            rank = 1 if extent == axes.size else _UNUSUAL
            yield make, moved, f"'all_to_all' along dimension {dim} over {axes}", rank
