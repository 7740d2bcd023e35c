"""Repairs of partial results: a reduction that is missing, or that stands behind what should follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..ops.monoid import Monoid, monoid_of_region
from ..read.ir import Op, TensorType, Value
from ..report.cause import Cause, Diagnosis
from .edits import Repair
from .make import Maker
from .repair_collectives import groups_of
from .scene import Axes, Scene, Site

_DEPTH = 6
"""Ops above a reduction at which it might belong."""

_LINEAR = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim", "concatenate", "convert", "negate", "pad", "reshape", "reverse", "slice", "transpose",
        "dot", "dot_general", "convolution", "reduce", "add", "subtract",
    )
)  # fmt: skip


def never_reduced(scene: Scene, site: Site) -> Iterator[Repair]:
    """A partial result is reduced where it is made, for all that use it but the reductions there are."""
    op = site.op
    if len(op.results) != 1 or not scene.is_sum(op.results[0]) or op.name == "stablehlo.all_reduce":
        return
    value = scene.value(op.results[0])
    assert value is not None and value.monoid is not None
    users = scene.users(op.results[0])
    reduced = [user for user, _ in users if groups_of(user.op) is not None and user.op.regions]
    for axes in scene.axes:
        if not reduced:
            make = Maker(op)
            make.all_reduce(make.before(op), axes.table, value.monoid.value, into=op.results[0])
            place = users[0][0].op if len(users) == 1 and not scene.returned(op.results[0]) else op
            yield Repair(place, _unreduced(axes), ((site, tuple(make.ops)),))
            continue
        for user, _ in users:
            if user not in reduced:
                make = Maker(user.op)
                whole = make.all_reduce(op.results[0], axes.table, value.monoid.value)
                yield Repair(user.op, _unreduced(axes), ((user, (*make.ops, _reading(user.op, op.results[0], whole))),))


def _unreduced(axes: Axes) -> Diagnosis:
    return Diagnosis(Cause.UNREDUCED, {"axis": str(axes)})


def _reading(op: Op, old: Value, new: Value) -> Op:
    return replace(op, operands=tuple(new if value.number == old.number else value for value in op.operands))


def reduced_too_late(scene: Scene, site: Site) -> Iterator[Repair]:
    """A reduction across devices is done on one of the values that its operand is made of."""
    op, table = site.op, groups_of(site.op)
    if op.name != "stablehlo.all_reduce" or table is None or len(op.operands) != 1:
        return
    monoid = monoid_of_region(op.regions[0])
    if monoid is None:
        return
    for chain in _chains(scene, op.operands[0], []):
        source = chain[0]
        for position, operand in enumerate(source.op.operands):
            if not isinstance(operand.type, TensorType) or operand.number in scene.index_values:
                continue
            early = Maker(source.op)
            whole = early.all_reduce(operand, table, monoid.value)
            operands = tuple(whole if k == position else value for k, value in enumerate(source.op.operands))
            late = Maker(op)
            late.same(op.operands[0], op.results[0])
            blamed, cause = _blamed(scene, chain, operand, table, monoid)
            changes = ((source, (*early.ops, replace(source.op, operands=operands))), (site, tuple(late.ops)))
            yield Repair(blamed, cause, changes)


def _chains(scene: Scene, value: Value, below: list[Site]) -> Iterator[list[Site]]:
    """Ways of ops that lead to a value, each first op on its own; nearest ones first."""
    pending: list[tuple[Value, list[Site]]] = [(value, below)]
    while pending:
        reached, chain = pending.pop(0)
        site = scene.definitions.get(reached.number)
        if site is None or len(chain) >= _DEPTH or site.op.name == "stablehlo.while":
            continue
        longer = [site, *chain]
        yield longer
        pending.extend((operand, longer) for operand in site.op.operands if operand.number not in scene.index_values)


def _blamed(
    scene: Scene, chain: Sequence[Site], source: Value, table: np.ndarray, monoid: Monoid
) -> tuple[Op, Diagnosis | None]:
    """Which op between a partial result and its reduction does not commute with it."""
    partial = {source.number}
    for site in chain:
        op = site.op
        others = [value for value in op.operands if value.number not in partial]
        partial.update(value.number for value in op.results)
        if op.name in ("stablehlo.add", "stablehlo.subtract") and any(not scene.is_sum(value) for value in others):
            facts = {"factor": str(table.shape[1]), "axis": scene.names.of(table)}
            return op, Diagnosis(Cause.COUNTED_PER_DEVICE, facts)
        if op.name in ("stablehlo.multiply", "stablehlo.divide") and len(others) == 1 and _scales(scene, others[0]):
            continue
        if op.name not in _LINEAR or monoid is not Monoid.ADD:
            facts = {"op": op.name.partition(".")[2], "axis": scene.names.of(table)}
            return op, Diagnosis(Cause.NONLINEAR_ON_PARTIAL, facts)
    return chain[0].op, None


def _scales(scene: Scene, value: Value) -> bool:
    found = scene.value(value)
    return scene.is_constant(value) or (found is not None and found.is_view)


def reduced_after_loop(scene: Scene, site: Site) -> Iterator[Repair]:
    """What a loop returns is reduced after it, instead of a partial result in each of its trips."""
    op, table = site.op, groups_of(site.op)
    if op.name != "stablehlo.all_reduce" or table is None or len(op.operands) != 1:
        return
    loop = scene.definitions.get(op.operands[0].number)
    monoid = monoid_of_region(op.regions[0])
    if loop is None or loop.op.name != "stablehlo.while" or monoid is None:
        return
    for inner in scene.sites:
        if inner.top != loop.top or not inner.path or len(inner.op.results) != 1:
            continue
        if scene.is_sum(inner.op.results[0]):
            make, late = Maker(inner.op), Maker(op)
            make.all_reduce(make.before(inner.op), table, monoid.value, into=inner.op.results[0])
            late.same(op.operands[0], op.results[0])
            cause = Diagnosis(Cause.UNREDUCED, {"axis": scene.names.of(table)})
            yield Repair(op, cause, ((inner, tuple(make.ops)), (site, tuple(late.ops))))


def counted_on_every_device(scene: Scene, site: Site) -> Iterator[Repair]:
    """A value that all devices hold is added up over them: it is kept on the first device of each group only."""
    op = site.op
    if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType) or not scene.mesh.sizes:
        return
    result = op.results[0]
    if result.number in scene.index_values or result.tensor.dtype.is_bool:
        return
    walk = scene.decision.device
    for axes in scene.axes:
        make = Maker(op)
        value = make.before(op)
        shape, where = result.tensor.shape, [f"d{digit} = 0" for digit in axes.digits]
        first = np.broadcast_to((axes.coordinate == 0).reshape(-1, *[1] * len(shape)), (len(axes.coordinate), *shape))
        mask = make.mask(walk, partial(walk.builder.where, shape, where), shape, first)
        zero = make.constant(0, result.tensor)
        make.emit("select", (mask, value, zero), result.type, result)
        facts = {"factor": str(axes.size), "axis": str(axes)}
        yield Repair(op, Diagnosis(Cause.COUNTED_PER_DEVICE, facts), ((site, tuple(make.ops)),), make.given)
