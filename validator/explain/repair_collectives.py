"""Repairs of collectives as they stand: other groups, another order, reducer, dimension or pairs, or none at all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..ops.monoid import Monoid, monoid_of_region
from ..read.attributes import DeviceGroups, DevicePairs
from ..read.ir import Op, TensorType, Value
from ..report.cause import Cause, Diagnosis
from .axis_names import GroupNames
from .edits import Repair
from .make import Maker
from .scene import Axes, Scene, Site

REDUCING = frozenset({"stablehlo.all_reduce", "stablehlo.reduce_scatter"})
PLACING = frozenset({"stablehlo.all_gather", "stablehlo.all_to_all", "stablehlo.reduce_scatter"})
COLLECTIVES = REDUCING | PLACING | {"stablehlo.collective_permute", "stablehlo.collective_broadcast"}


def left_out(scene: Scene, site: Site) -> Iterator[Repair]:
    """A collective whose results have its operands' types is left out."""
    op = site.op
    if op.name not in COLLECTIVES or [v.type for v in op.operands] != [v.type for v in op.results]:
        return
    make = Maker(op)
    for operand, result in zip(op.operands, op.results, strict=True):
        make.same(operand, result)
    table = groups_of(op)
    if op.name in REDUCING and table is not None:
        facts = {"axis": scene.names.of(table)}
        if monoid_of_region(op.regions[0]) is Monoid.ADD:
            facts["factor"] = str(table.shape[1])
        cause = Diagnosis(Cause.REDUCED_TWICE, facts)
    else:
        cause = Diagnosis(Cause.WRONG_PERMUTATION, {"expected": "no exchange", "found": said(scene.names, op)})
    yield Repair(op, cause, ((site, tuple(make.ops)),))


def regrouped(scene: Scene, site: Site) -> Iterator[Repair]:
    """A collective over other groups of devices, or over the same ones in another order."""
    op, table = site.op, groups_of(site.op)
    if table is None:
        return
    placing = op.name in PLACING
    for axes in scene.ordered_axes if placing else scene.axes:
        same_size = axes.size == table.shape[1]
        if (placing and not same_size) or same_groups(axes.table, table, placing):
            continue
        other = replace(op, attributes={**op.attributes, "replica_groups": DeviceGroups(axes.table)})
        yield Repair(op, regrouping(scene.names, axes.table, table), ((site, (other,)),))


def regrouping(names: GroupNames, expected: np.ndarray, found: np.ndarray) -> Diagnosis:
    """What is wrong with groups: who is in them, or only the order."""
    reordered = same_groups(expected, found, ordered=False)
    facts = {name: names.of(table, ordered=reordered) for name, table in (("expected", expected), ("found", found))}
    return Diagnosis(Cause.WRONG_PERMUTATION if reordered else Cause.WRONG_GROUPS, facts)


def other_reducer(scene: Scene, site: Site) -> Iterator[Repair]:
    """A reduction, across devices or within one, by another op."""
    op = site.op
    if op.name not in REDUCING | {"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter"}:
        return
    if len(op.results) != 1:
        return
    monoid = monoid_of_region(op.regions[0])
    found = monoid.value.partition(".")[2] if monoid is not None else "another one"
    dtype = op.results[0].tensor.dtype
    for other in _reducers(scene):
        if other is monoid or (dtype.is_float and other in (Monoid.AND, Monoid.OR, Monoid.XOR)):
            continue
        region = Maker(op).reducer(other.value, dtype)
        facts = {"expected": other.value.partition(".")[2], "found": found}
        yield Repair(
            op,
            Diagnosis(Cause.WRONG_REDUCER, facts),
            ((site, (replace(op, regions=(region, *op.regions[1:])),)),),
        )


def _reducers(scene: Scene) -> list[Monoid]:
    """Those of the original come first."""
    used = {monoid_of_region(op.regions[0]) for op in scene.before.body.ops if len(op.regions) == 1}
    return sorted(Monoid, key=lambda monoid: monoid not in used)


def other_dimension(scene: Scene, site: Site) -> Iterator[Repair]:
    """A collective that keeps its operand's type, along another dimension."""
    op = site.op
    if op.name != "stablehlo.all_to_all" or len(op.operands) != 1:
        return
    table = groups_of(op)
    assert table is not None
    split, concat = op.attributes["split_dimension"], op.attributes["concat_dimension"]
    shape, target = op.operands[0].tensor.shape, op.results[0].tensor.shape
    for one, two in itertools.product(range(len(shape)), repeat=2):
        if (one, two) == (split, concat) or exchanged(shape, one, two, table.shape[1]) != target:
            continue
        attributes = {**op.attributes, "split_dimension": one, "concat_dimension": two}
        facts = {"expected": f"{one} into {two}", "found": f"{split} into {concat}"}
        yield Repair(op, Diagnosis(Cause.WRONG_DIMENSION, facts), ((site, (replace(op, attributes=attributes),)),))


def exchanged(shape: tuple[int, ...], split: int, concat: int, count: int) -> tuple[int, ...] | None:
    """The shape an all-to-all gives; None where it does not divide."""
    if shape[split] % count:
        return None
    result = list(shape)
    result[split] //= count
    result[concat] *= count
    return tuple(result)


def other_pairs(scene: Scene, site: Site) -> Iterator[Repair]:
    """A collective-permute with other pairs: another direction, one more, another order of the mesh's digits."""
    op = site.op
    if op.name != "stablehlo.collective_permute":
        return
    found = op.attributes["source_target_pairs"].table
    for pairs in itertools.chain(_completions(found, scene.mesh.num_devices), natural_pairs(scene)):
        if sorted(pairs.tolist()) == sorted(found.tolist()):
            continue
        other = replace(op, attributes={**op.attributes, "source_target_pairs": DevicePairs(pairs)})
        facts = {"expected": pairs_text(pairs), "found": pairs_text(found)}
        yield Repair(op, Diagnosis(Cause.WRONG_PERMUTATION, facts), ((site, (other,)),))


def _completions(found: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """The pairs turned round; with all free devices paired up; with each device keeping its own."""
    yield np.ascontiguousarray(found[:, ::-1])
    sources = [device for device in range(count) if device not in found[:, 0]]
    targets = [device for device in range(count) if device not in found[:, 1]]
    if sources and len(sources) <= 3:
        for order in itertools.permutations(targets):
            yield np.concatenate([found, np.array(list(zip(sources, order, strict=True)), np.int64)])
    elif sources:
        both = [device for device in sources if device in targets]
        yield np.concatenate([found, np.array([(device, device) for device in both], np.int64).reshape(-1, 2)])
    for shift in range(1, len(found)):
        # each source sends to the target of another one
        yield np.stack([found[:, 0], np.roll(found[:, 1], shift)], axis=1)
    for source, target in itertools.product(sources[:4], targets[:4]):
        yield np.concatenate([found, np.array([(source, target)], np.int64)])


def natural_pairs(scene: Scene) -> Iterator[np.ndarray]:
    """Shifts along the mesh's axes, round and open, and exchanges of the mesh's digits."""
    for axes in scene.axes:
        for step in (1, -1):
            around = np.stack([axes.table, np.roll(axes.table, -step, axis=1)], axis=-1)
            yield around.reshape(-1, 2)
            yield (around[:, :-1] if step > 0 else around[:, 1:]).reshape(-1, 2)
    sizes = scene.mesh.sizes
    numbers = np.arange(scene.mesh.num_devices)
    if len(sizes) <= 4:
        for order in itertools.permutations(range(len(sizes))):
            moved = numbers.reshape(sizes).transpose(order).reshape(-1)
            if not np.array_equal(moved, numbers):
                yield np.stack([moved, numbers], axis=1)
                yield np.stack([numbers, moved], axis=1)


def pairs_text(pairs: np.ndarray) -> str:
    shown = ", ".join(f"{source}→{target}" for source, target in pairs[:8].tolist())
    return f"pairs {shown}" + (f",… ({len(pairs)} pairs)" if len(pairs) > 8 else "")


def said(names: GroupNames, op: Op) -> str:
    """A collective in a few words."""
    table = groups_of(op)
    if table is not None:
        return f"'{op.name.partition('.')[2]}' over {names.of(table)}"
    return f"'{op.name.partition('.')[2]}'"


def groups_of(op: Op) -> np.ndarray | None:
    groups = op.attributes.get("replica_groups")
    return groups.table if isinstance(groups, DeviceGroups) else None


def same_groups(left: np.ndarray, right: np.ndarray, ordered: bool) -> bool:
    """Whether two group tables mean the same; the order in a group matters where blocks are placed by it."""
    if left.shape != right.shape:
        return False
    if not ordered:
        left, right = np.sort(left), np.sort(right)
    return sorted(left.tolist()) == sorted(right.tolist())


def collective_between(scene: Scene, make: Maker, source: Value, into: Value) -> Iterator[tuple[str, Axes, str, Op]]:
    """Each collective that leads from one type to another: its name, axes, dimensions in words, and the op."""
    one, two = source.tensor, into.tensor
    if one.dtype is not two.dtype or one.rank != two.rank:
        return
    ratio = [(a, b) for a, b in zip(one.shape, two.shape, strict=True)]
    different = [k for k, (a, b) in enumerate(ratio) if a != b]
    for axes in scene.ordered_axes:
        made = Maker(make.ops[0] if make.ops else scene.sites[0].op)
        if len(different) == 1:
            dim = different[0]
            if one.shape[dim] * axes.size == two.shape[dim]:
                made.all_gather(source, axes.table, dim, into)
                yield "all_gather", axes, str(dim), made.ops[0]
            if one.shape[dim] == two.shape[dim] * axes.size:
                made = Maker(scene.sites[0].op)
                _reduce_scatter(made, source, axes.table, dim, into)
                yield "reduce_scatter", axes, str(dim), made.ops[0]
        for split, concat in itertools.product(range(one.rank), repeat=2):
            if exchanged(one.shape, split, concat, axes.size) == two.shape:
                made = Maker(scene.sites[0].op)
                made.all_to_all(source, axes.table, split, concat, into)
                yield "all_to_all", axes, f"{split} into {concat}", made.ops[0]


def _reduce_scatter(make: Maker, value: Value, table: np.ndarray, dimension: int, into: Value) -> None:
    kind = into.type
    assert isinstance(kind, TensorType)
    region = make.reducer("stablehlo.add", kind.dtype)
    groups = DeviceGroups(table)
    make.emit("reduce_scatter", (value,), kind, into, (region,), scatter_dimension=dimension, replica_groups=groups)
