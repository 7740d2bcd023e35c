"""Repairs of index arithmetic: starts, offsets, positions, bounds and masks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import Op, TensorType, Value
from ..relate.value import Val
from ..report.cause import Cause, Diagnosis
from .edits import Repair
from .make import Maker
from .scene import Scene, Site, is_integral

_MAX_STARTS = 16
"""Starts of a slice that are tried along one dimension."""
_MAX_EXTENTS = 8


def other_start(scene: Scene, site: Site) -> Iterator[Repair]:
    """A device's slice or update at another block: that of its place along some axes, or the first one."""
    op = site.op
    if op.name not in ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"):
        return
    if op.results[0].number in scene.index_values:
        return
    first = 1 if op.name == "stablehlo.dynamic_slice" else 2
    window = (op.results[0] if first == 1 else op.operands[1]).tensor.shape
    whole = op.operands[0].tensor.shape
    walk = scene.decision.device
    for dim, start in enumerate(op.operands[first:]):
        if start.number not in scene.index_values or whole[dim] == window[dim]:
            continue
        current = _known(scene, start)
        for table in tables(scene, (window[dim],), (start,), whole[dim] - window[dim]):
            if current is not None and np.array_equal(np.broadcast_to(current, table.shape), table):
                continue
            make = Maker(op)
            other = make.known(walk, table, start.tensor)
            operands = (*op.operands[: first + dim], other, *op.operands[first + dim + 1 :])
            facts = {"expected": _told(table)} | ({"found": _told(current)} if current is not None else {})
            yield Repair(
                _origin(scene, start, op),
                Diagnosis(Cause.WRONG_OFFSET, facts),
                ((site, (replace(op, operands=operands),)),),
                make.given,
            )


def other_numbers(scene: Scene, site: Site) -> Iterator[Repair]:
    """A number that each device computes for itself, or the same one on all that might be one: its place along axes."""
    op = site.op
    if len(op.results) != 1 or op.name in ("stablehlo.reshape", "stablehlo.convert", "stablehlo.partition_id"):
        return
    result = op.results[0]
    if not is_integral(result) or result.tensor.dtype.is_bool or result.tensor.size != 1:
        return
    current = _known(scene, result)
    if result.number not in scene.index_values or current is None or not _locates(scene, result):
        return
    if op.name == "stablehlo.constant" and current.any():
        return
    walk = scene.decision.device
    greatest = _greatest(scene, result)
    for table in tables(scene, _extents(scene), (), -1):
        if np.array_equal(table, current) or table.max(initial=0) > greatest:
            continue
        make = Maker(op)
        make.same(make.known(walk, table, result.tensor), result)
        facts = {"expected": _told(table), "found": _told(current)}
        yield Repair(op, Diagnosis(Cause.WRONG_OFFSET, facts), ((site, tuple(make.ops)),), make.given)


def _locates(scene: Scene, value: Value) -> bool:
    """Whether a number ends up as a start, an index or a factor, possibly reshaped and converted."""
    pending, seen = [value], set()
    while pending:
        current = pending.pop()
        for user, number in scene.users(current):
            if user.op.name in ("stablehlo.reshape", "stablehlo.convert", "stablehlo.broadcast_in_dim"):
                if user.op.results[0].number not in seen:
                    seen.add(user.op.results[0].number)
                    pending.append(user.op.results[0])
            elif _positional(user.op, number):
                return True
    return False


def _greatest(scene: Scene, value: Value) -> float:
    """The greatest number that is not clamped by any slice or update that starts there, possibly converted."""
    found = math.inf
    for user, number in scene.users(value):
        op = user.op
        if op.name in ("stablehlo.reshape", "stablehlo.convert"):
            found = min(found, _greatest(scene, op.results[0]))
        elif op.name == "stablehlo.dynamic_slice" and number > 0:
            found = min(found, op.operands[0].tensor.shape[number - 1] - op.results[0].tensor.shape[number - 1])
        elif op.name == "stablehlo.dynamic_update_slice" and number > 1:
            found = min(found, op.operands[0].tensor.shape[number - 2] - op.operands[1].tensor.shape[number - 2])
    return found


def _extents(scene: Scene) -> tuple[int, ...]:
    """Extents of the tensors a device holds: what blocks are as long as."""
    found = {1}
    for site in scene.sites:
        for value in (*site.op.operands, *site.op.results):
            if isinstance(value.type, TensorType) and not is_integral(value):
                found.update(value.tensor.shape)
    return tuple(sorted(found))[:_MAX_EXTENTS]


def tables(scene: Scene, extents: tuple[int, ...], near: tuple[Value, ...], limit: int) -> Iterator[np.ndarray]:
    """Offsets of devices that a program may well have: blocks along axes, zero, and the tables it has elsewhere."""
    seen: set[bytes] = set()
    options = [np.zeros(max(scene.mesh.num_devices, 1), np.int64)]
    options += [axes.coordinate * extent for extent in extents for axes in scene.ordered_axes]
    options += _known_tables(scene)
    options += [table + step for value in near for step in (-1, 1) if (table := _known(scene, value)) is not None]
    for option in options:
        if len(option) == max(scene.mesh.num_devices, 1):
            table = np.clip(option, 0, limit) if limit >= 0 else option
            if table.tobytes() not in seen:
                seen.add(table.tobytes())
                yield table


def _known_tables(scene: Scene) -> list[np.ndarray]:
    """Integers that a device computes from its number somewhere in the program."""
    found = []
    for value in scene.decision.device.env.values():
        if isinstance(value, Val) and value.known is not None and value.type.size == 1 and len(value.known) > 1:
            found.append(value.known.reshape(-1).astype(np.int64))
    return found


def _known(scene: Scene, value: Value) -> np.ndarray | None:
    """A scalar of each device [devices]."""
    found = scene.value(value)
    if found is None or found.known is None or found.type.size != 1:
        return None
    array = found.known.reshape(-1).astype(np.int64)
    return np.broadcast_to(array, (max(scene.mesh.num_devices, 1),))


def _told(table: np.ndarray) -> str:
    numbers = table.tolist()
    if len(set(numbers)) == 1:
        return f"{numbers[0]} on all devices"
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown}{', …' if len(numbers) > 8 else ''} on devices 0, 1, …"


def _origin(scene: Scene, value: Value, user: Op) -> Op:
    """The op that an offset comes from, behind reshapes and conversions; what uses it where it has no op."""
    site = scene.definitions.get(value.number)
    while site is not None and site.op.name in ("stablehlo.reshape", "stablehlo.convert"):
        inner = scene.definitions.get(site.op.operands[0].number)
        if inner is None:
            break
        site = inner
    return user if site is None else site.op


def offset_left_out(scene: Scene, site: Site) -> Iterator[Repair]:
    """The start of a device's shard is added to, or subtracted from, positions or indices."""
    op = site.op
    walk = scene.decision.device
    for number, operand in enumerate(op.operands):
        if not is_integral(operand) or operand.tensor.dtype.is_bool or not _positional(op, number):
            continue
        if operand.number in scene.device_values or scene.is_constant(operand):
            continue
        extents = {extent for extent in operand.tensor.shape if extent > 1} or set(_extents(scene))
        for table in tables(scene, tuple(sorted(extents)), (), -1):
            if not table.any():
                continue
            for name in ("add", "subtract"):
                make = Maker(op)
                offset = make.known(walk, table, operand.tensor)
                moved = make.emit(name, (operand, offset), operand.type)
                operands = (*op.operands[:number], moved, *op.operands[number + 1 :])
                facts = {"expected": _told(table), "found": "no offset"}
                yield Repair(
                    op,
                    Diagnosis(Cause.WRONG_OFFSET, facts),
                    ((site, (*make.ops, replace(op, operands=operands))),),
                    make.given,
                )


def positions_of_device_0(scene: Scene, site: Site) -> Iterator[Repair]:
    """The start of a device's shard is added to, or subtracted from, positions where they are made."""
    op = site.op
    if op.name not in ("stablehlo.iota", "stablehlo.constant") or not is_integral(op.results[0]):
        return
    result = op.results[0]
    kind = result.tensor
    if kind.dtype.is_bool or (op.name == "stablehlo.constant" and not _locates(scene, result)):
        return
    extents = {extent for extent in kind.shape if extent > 1} or set(_extents(scene))
    for table in tables(scene, tuple(sorted(extents)), (), -1):
        if not table.any():
            continue
        for name in ("add", "subtract"):
            make = Maker(op)
            own = make.before(op)
            make.emit(name, (own, make.known(scene.decision.device, table, kind)), kind, result)
            facts = {"expected": _told(table), "found": "no offset"}
            yield Repair(op, Diagnosis(Cause.WRONG_OFFSET, facts), ((site, tuple(make.ops)),), make.given)


def _positional(op: Op, number: int) -> bool:
    """Whether an operand says where, not what."""
    match op.name:
        case "stablehlo.compare":
            return True
        case "stablehlo.gather" | "stablehlo.dynamic_slice":
            return number > 0
        case "stablehlo.scatter":
            return number == len(op.operands) // 2
        case "stablehlo.dynamic_update_slice":
            return number > 1
        case (
            "stablehlo.convert"
            | "stablehlo.add"
            | "stablehlo.subtract"
            | "stablehlo.clamp"
            | "stablehlo.multiply"
            | "stablehlo.reduce"
            | "stablehlo.select"
        ):
            return True
        case _:
            return False


def positions_along(scene: Scene, site: Site) -> Iterator[Repair]:
    """Positions along another dimension."""
    op = site.op
    if op.name != "stablehlo.iota":
        return
    own = op.attributes["iota_dimension"]
    for dim in range(op.results[0].tensor.rank):
        if dim != own:
            other = replace(op, attributes={**op.attributes, "iota_dimension": dim})
            facts = {"expected": str(dim), "found": str(own)}
            yield Repair(op, Diagnosis(Cause.WRONG_DIMENSION, facts), ((site, (other,)),))


def other_bound(scene: Scene, site: Site) -> Iterator[Repair]:
    """A comparison in another direction, or with its bound included or left out."""
    op = site.op
    if op.name != "stablehlo.compare":
        return
    own = op.attributes["comparison_direction"]
    inside_condition = bool(site.path) and site.path[-1][0] == 0
    positional = is_integral(op.operands[0]) and not inside_condition
    for direction in Comparison:
        if direction is not own:
            other = replace(op, attributes={**op.attributes, "comparison_direction": direction})
            facts = {"expected": f"comparison {direction.value}", "found": own.value}
            cause = Diagnosis(Cause.WRONG_OFFSET, facts) if positional else None
            yield Repair(op, cause, ((site, (other,)),))


def slice_moved(scene: Scene, site: Site) -> Iterator[Repair]:
    """A slice of the same size from another start."""
    op = site.op
    if op.name != "stablehlo.slice":
        return
    starts, limits = op.attributes["start_indices"], op.attributes["limit_indices"]
    for dim, extent in enumerate(op.operands[0].tensor.shape):
        size = limits[dim] - starts[dim]
        others = sorted(range(extent - size + 1), key=lambda start: abs(start - starts[dim]))
        for start in others[1:_MAX_STARTS]:
            attributes = {
                **op.attributes,
                "start_indices": _with(starts, dim, start),
                "limit_indices": _with(limits, dim, start + size),
            }
            facts = {"expected": f"start {start} of dimension {dim}", "found": str(starts[dim])}
            yield Repair(op, Diagnosis(Cause.WRONG_OFFSET, facts), ((site, (replace(op, attributes=attributes),)),))


def _with(numbers: tuple[int, ...], position: int, number: int) -> tuple[int, ...]:
    return tuple(number if k == position else int(old) for k, old in enumerate(numbers))
