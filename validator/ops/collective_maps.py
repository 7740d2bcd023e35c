"""Which elements a collective reads, from which devices: relations between points of different devices.

With groups as a table [groups, places] and M(d, s) the device at place s of d's group:
all_gather reads place s of the group at offset s·n; all_to_all reads from place s the block of the reader's own place;
collective_permute reads the source device; all_reduce and reduce_scatter read all places s, to sum over them.
`None` stands for groups or pairs that are not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..read.attributes import DeviceGroups, DevicePairs
from ..read.ir import Op
from ..relation.build import Builder, affine, box_constraints, names, passing
from ..relation.mesh import affine_fit

if TYPE_CHECKING:
    from ..relation.objects import Rel


def members(builder: Builder, op: Op) -> tuple[Rel, Rel, int] | None:
    """({[d, s] -> [M(d, s)]}, {[d] -> [place of d]}, group size), or None where the table is not modelled."""
    groups = op.attributes["replica_groups"]
    assert isinstance(groups, DeviceGroups)
    key = (members, groups.table.shape, groups.table.tobytes())
    if key not in builder.memo:
        builder.memo[key] = _members(builder, groups)
    return builder.memo[key]


def _members(builder: Builder, groups: DeviceGroups) -> tuple[Rel, Rel, int] | None:
    table, count = groups.table, builder.mesh.num_devices
    if not np.array_equal(np.sort(table, axis=None), np.arange(count)):
        return None
    rows, places = np.empty(count, np.int64), np.empty(count, np.int64)
    rows[table] = np.arange(table.shape[0])[:, None]
    places[table] = np.arange(table.shape[1])
    place = builder.table(places, [])
    if not builder.mesh.sizes and place is not None:
        return builder.store.rel("{[s] -> [] : s = 0}"), place, 1
    member = _affine_members(builder, rows, places, table.shape[1]) or _listed_members(builder, table[rows])
    if place is None or member is None:
        return None
    return member, place, table.shape[1]


def _affine_members(builder: Builder, rows: np.ndarray, places: np.ndarray, size: int) -> Rel | None:
    row, place = affine_fit(builder.mesh.grid(rows)), affine_fit(builder.mesh.grid(places))
    if row is None or place is None or not builder.mesh.sizes:
        return None
    device, other = builder.device, names("e", len(builder.mesh.sizes))
    constraints = [
        *box_constraints(device, builder.mesh.sizes),
        *box_constraints(other, builder.mesh.sizes),
        f"0 <= s < {size}",
        f"{_value(row, device)} = {_value(row, other)}",
        f"s = {_value(place, other)}",
    ]
    return builder.store.rel(f"{{[{','.join([*device, 's'])}] -> [{','.join(other)}] : {' and '.join(constraints)}}}")


def _value(fit: tuple[int, tuple[int, ...]], variables: list[str]) -> str:
    return affine(list(zip(fit[1], variables, strict=True)), fit[0])


def _listed_members(builder: Builder, sources: np.ndarray) -> Rel | None:
    """M from a table [devices, places], one place after the other."""
    result: Rel | None = None
    for place in range(sources.shape[1]):
        rel = builder.devices_related(sources[:, place])
        if rel is None:
            return None
        device = ",".join(builder.device)
        at_place = builder.store.compose(builder.store.rel(f"{{[{device},s] -> [{device}] : s = {place}}}"), rel)
        result = at_place if result is None else builder.store.union(result, at_place)
    return result


def _from_member(builder: Builder, member: Rel, shape: tuple[int, ...], local: list[str], where: list[str]) -> Rel:
    """{[d, i] -> [M(d, s), x]} with x given by expressions (empty: by the constraints alone) and s by constraints."""
    inner = names("x", len(local))
    chosen = builder.linked(shape, ["s", *inner], [*where, *_equal(inner, local)])
    passing = builder.store.rel(f"{{[{','.join(inner)}] -> [{','.join(inner)}]}}")
    return builder.store.compose(chosen, builder.store.side_by_side(member, passing))


def _equal(names_: list[str], expressions: list[str]) -> list[str]:
    return [f"{name} = {expression}" for name, expression in zip(names_, expressions, strict=True) if expression]


def gather_read(builder: Builder, op: Op, number: int) -> Rel | None:
    """all_gather: where result `number` reads its operand."""
    found = members(builder, op)
    if found is None:
        return None
    member, _, size = found
    axis = int(op.attributes["all_gather_dim"])
    shape, extent = op.results[number].tensor.shape, op.operands[number].tensor.shape[axis]
    local = names("i", len(shape))
    local[axis] = ""
    where = [
        f"i{axis} = {affine([(extent, 's'), (1, f'x{axis}')])}",
        f"0 <= x{axis} < {extent}",
        f"0 <= s < {size}",
    ]
    return _from_member(builder, member, shape, local, where)


def exchange_read(builder: Builder, op: Op, number: int) -> Rel | None:
    """all_to_all: what the device at place s sends, the block of its operand at the reader's own place."""
    found = members(builder, op)
    split, concat = int(op.attributes["split_dimension"]), int(op.attributes["concat_dimension"])
    count = int(op.attributes["split_count"])
    if found is None or found[2] != count:
        return None
    member, place, _ = found
    store = builder.store
    source, shape = op.operands[number].tensor.shape, op.results[number].tensor.shape
    block = source[split] // count
    blocks = tuple(block if k == split else extent for k, extent in enumerate(source))
    part = blocks[concat]
    local = names("i", len(shape))
    local[concat] = ""
    where = [
        f"i{concat} = {affine([(part, 's'), (1, f'x{concat}')])}",
        f"0 <= x{concat} < {part}",
        f"0 <= s < {count}",
    ]
    inner = names("x", len(shape))
    chosen = builder.linked(shape, ["s", *inner], [*where, *_equal(inner, local)])
    block_read = names("i", len(shape))
    block_read[split] = affine([(1, f"i{split}"), (block, "w")])
    own_block = _with_place(builder, place, blocks, block_read)
    device = builder.device
    place_first, place_last = ",".join([*device, "s", *inner]), ",".join([*device, *inner, "s"])
    order = store.rel(f"{{[{place_first}] -> [{place_last}]}}")
    back = store.rel(f"{{[{place_last}] -> [{place_first}]}}")
    passing = store.rel("{[s] -> [s]}")
    placed = store.compose(store.compose(store.compose(chosen, order), store.side_by_side(own_block, passing)), back)
    keep = store.rel(f"{{[{','.join(inner)}] -> [{','.join(inner)}]}}")
    return store.compose(placed, store.side_by_side(member, keep))


def reduced_read(builder: Builder, op: Op, number: int) -> tuple[Rel, int] | None:
    """all_reduce and reduce_scatter: the elements that are summed at each point, and the size of a group."""
    found = members(builder, op)
    if found is None:
        return None
    member, place, size = found
    shape = op.results[number].tensor.shape
    local = names("i", len(shape))
    whole = op.operands[number].tensor.shape
    gather = _from_member(builder, member, whole, local, [f"0 <= s < {size}"])
    if op.name == "stablehlo.all_reduce":
        return gather, size
    axis = int(op.attributes["scatter_dimension"])
    local[axis] = affine([(1, f"i{axis}"), (shape[axis], "w")])
    return builder.store.compose(_with_place(builder, place, shape, local), gather), size


def sources(op: Op, count: int) -> np.ndarray | None:
    """collective_permute and collective_broadcast: the device that each of `count` devices reads, -1 for none."""
    found = np.full(count, -1, np.int64)
    if op.name == "stablehlo.collective_broadcast":
        for row in op.attributes["replica_groups"].table:
            found[row] = row[0]
        return found
    pairs = op.attributes["source_target_pairs"]
    assert isinstance(pairs, DevicePairs)
    if len(set(pairs.table[:, 1].tolist())) != len(pairs.table):
        return None
    found[pairs.table[:, 1]] = pairs.table[:, 0]
    return found


def source_read(builder: Builder, op: Op, number: int, vector: np.ndarray) -> Rel | None:
    """Where a device that has a source reads it; there must be such a device and more than one device."""
    devices = builder.devices_related(vector)
    if devices is None:
        return None
    shape = op.results[number].tensor.shape
    rel = builder.store.side_by_side(devices, passing(builder.store, len(shape)))
    return builder.store.restrict(rel, builder.points(shape))


def _with_place(builder: Builder, place: Rel, shape: tuple[int, ...], local: list[str]) -> Rel:
    """{[d, i] -> [d, local]} where the expressions may use w, the device's own place in its group."""
    store, device = builder.store, builder.device
    count = len(shape)
    index = names("i", count)
    known = store.pair(passing(store, len(device)), place)
    both = store.side_by_side(known, passing(store, count))
    box = " and ".join(box_constraints(index, shape)) or "1 = 1"
    read = store.rel(f"{{[{','.join([*device, 'w', *index])}] -> [{','.join([*device, *local])}] : {box}}}")
    return store.compose(both, read)
