"""How collectives relate: each is a relation between points of different devices, composed or summed over.

With groups as a table [groups, places] and M(d, s) the device at place s of d's group:
all_gather reads place s of the group at offset s·n; all_to_all reads from place s the block of the reader's own place;
collective_permute reads the source device, and zeros where there is none; all_reduce and reduce_scatter sum over s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..read.attributes import DeviceGroups, DevicePairs
from ..read.ir import Op, TensorType
from ..relate.monoid import Monoid, monoid_of_region
from ..relate.moves import gathered, read_through
from ..relate.sums import sum_over
from ..relate.value import AnyVal, Val
from ..relation.build import affine, box_constraints, names
from ..relation.mesh import affine_fit
from ..relation.store import Rel

if TYPE_CHECKING:
    from ..relate.walk import Walk


def members(walk: Walk, op: Op) -> tuple[Rel, Rel, int] | None:
    """({[d, s] -> [M(d, s)]}, {[d] -> [place of d]}, group size), or None where the table is not modelled."""
    groups = op.attributes["replica_groups"]
    assert isinstance(groups, DeviceGroups)
    key = (members, groups.table.shape, groups.table.tobytes())
    if key not in walk.builder.memo:
        walk.builder.memo[key] = _members(walk, groups)
    return walk.builder.memo[key]


def _members(walk: Walk, groups: DeviceGroups) -> tuple[Rel, Rel, int] | None:
    table, count = groups.table, walk.mesh.num_devices
    if not np.array_equal(np.sort(table, axis=None), np.arange(count)):
        return None
    rows, places = np.empty(count, np.int64), np.empty(count, np.int64)
    rows[table] = np.arange(table.shape[0])[:, None]
    places[table] = np.arange(table.shape[1])
    place = walk.builder.table(places, [])
    if not walk.mesh.sizes and place is not None:
        return walk.store.rel("{[s] -> [] : s = 0}"), place, 1
    member = _affine_members(walk, rows, places, table.shape[1]) or _listed_members(walk, table[rows])
    if place is None or member is None:
        return None
    return member, place, table.shape[1]


def _affine_members(walk: Walk, rows: np.ndarray, places: np.ndarray, size: int) -> Rel | None:
    row, place = affine_fit(walk.mesh.grid(rows)), affine_fit(walk.mesh.grid(places))
    if row is None or place is None or not walk.mesh.sizes:
        return None
    device, other = walk.builder.device, names("e", len(walk.mesh.sizes))
    constraints = [
        *box_constraints(device, walk.mesh.sizes),
        *box_constraints(other, walk.mesh.sizes),
        f"0 <= s < {size}",
        f"{_value(row, device)} = {_value(row, other)}",
        f"s = {_value(place, other)}",
    ]
    return walk.store.rel(f"{{[{','.join([*device, 's'])}] -> [{','.join(other)}] : {' and '.join(constraints)}}}")


def _value(fit: tuple[int, tuple[int, ...]], variables: list[str]) -> str:
    return affine(list(zip(fit[1], variables, strict=True)), fit[0])


def _listed_members(walk: Walk, sources: np.ndarray) -> Rel | None:
    """M from a table [devices, places], one place after the other."""
    result: Rel | None = None
    for place in range(sources.shape[1]):
        rel = walk.builder.devices_related(sources[:, place])
        if rel is None:
            return None
        device = ",".join(walk.builder.device)
        at_place = walk.store.compose(walk.store.rel(f"{{[{device},s] -> [{device}] : s = {place}}}"), rel)
        result = at_place if result is None else walk.store.union(result, at_place)
    return result


def _refuse(walk: Walk, op: Op) -> list[AnyVal]:
    return [walk.not_modelled(result.type, f"'{op.name}' with these device groups") for result in op.results]


def _from_member(walk: Walk, member: Rel, shape: tuple[int, ...], local: list[str], where: list[str]) -> Rel:
    """{[d, i] -> [M(d, s), x]} with x given by expressions (empty: by the constraints alone) and s by constraints."""
    inner = names("x", len(local))
    chosen = walk.builder.linked(shape, ["s", *inner], [*where, *_equal(inner, local)])
    passing = walk.store.rel(f"{{[{','.join(inner)}] -> [{','.join(inner)}]}}")
    return walk.store.compose(chosen, walk.store.side_by_side(member, passing))


def _equal(names_: list[str], expressions: list[str]) -> list[str]:
    return [f"{name} = {expression}" for name, expression in zip(names_, expressions, strict=True) if expression]


def relate_all_gather(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    found = members(walk, op)
    if found is None:
        return _refuse(walk, op)
    member, _, size = found
    axis = int(op.attributes["all_gather_dim"])
    results: list[AnyVal] = []
    for value, result in zip(values, op.results, strict=True):
        shape, extent = result.tensor.shape, value.type.shape[axis]
        local = names("i", len(shape))
        local[axis] = ""
        where = [
            f"i{axis} = {affine([(extent, 's'), (1, f'x{axis}')])}",
            f"0 <= x{axis} < {extent}",
            f"0 <= s < {size}",
        ]
        rel = _from_member(walk, member, shape, local, where)
        results.append(read_through(walk, value, rel, result.tensor))
    return results


def relate_all_to_all(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    found = members(walk, op)
    split, concat = int(op.attributes["split_dimension"]), int(op.attributes["concat_dimension"])
    count = int(op.attributes["split_count"])
    if found is None or found[2] != count:
        return _refuse(walk, op)
    member, place, _ = found
    results: list[AnyVal] = []
    for value, result in zip(values, op.results, strict=True):
        source, shape = value.type.shape, result.tensor.shape
        block = source[split] // count
        blocks = tuple(block if k == split else extent for k, extent in enumerate(source))
        part = blocks[concat]
        # what the device at place s sends here: the block of the operand at the reader's own place
        local = names("i", len(shape))
        local[concat] = ""
        where = [
            f"i{concat} = {affine([(part, 's'), (1, f'x{concat}')])}",
            f"0 <= x{concat} < {part}",
            f"0 <= s < {count}",
        ]
        inner = names("x", len(shape))
        chosen = walk.builder.linked(shape, ["s", *inner], [*where, *_equal(inner, local)])
        block_read = names("i", len(shape))
        block_read[split] = affine([(1, f"i{split}"), (block, "w")])
        own_block = _with_place(walk, place, blocks, block_read)
        device = walk.builder.device
        place_first, place_last = ",".join([*device, "s", *inner]), ",".join([*device, *inner, "s"])
        order = walk.store.rel(f"{{[{place_first}] -> [{place_last}]}}")
        back = walk.store.rel(f"{{[{place_last}] -> [{place_first}]}}")
        passing = walk.store.rel("{[s] -> [s]}")
        placed = walk.store.compose(
            walk.store.compose(walk.store.compose(chosen, order), walk.store.side_by_side(own_block, passing)), back
        )
        keep = walk.store.rel(f"{{[{','.join(inner)}] -> [{','.join(inner)}]}}")
        rel = walk.store.compose(placed, walk.store.side_by_side(member, keep))
        results.append(read_through(walk, value, rel, result.tensor))
    return results


def relate_collective_permute(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    pairs = op.attributes["source_target_pairs"]
    assert isinstance(pairs, DevicePairs)
    sources = np.full(walk.mesh.num_devices, -1, np.int64)
    sources[pairs.table[:, 1]] = pairs.table[:, 0]
    if len(set(pairs.table[:, 1].tolist())) != len(pairs.table):
        return _refuse(walk, op)
    return [_from_sources(walk, op, value, sources) for value in values]


def relate_collective_broadcast(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    groups = op.attributes["replica_groups"]
    sources = np.full(walk.mesh.num_devices, -1, np.int64)
    for row in groups.table:
        sources[row] = row[0]
    return [_from_sources(walk, op, values[0], sources)]


def _from_sources(walk: Walk, op: Op, value: Val, sources: np.ndarray) -> AnyVal:
    """What each device reads from its source; zeros (of either sign of nothing: +0) where there is none."""
    store = walk.store
    type_: TensorType = value.type
    if not walk.mesh.sizes:
        return value if sources[0] == 0 else walk.not_modelled(type_, f"'{op.name}' on one device without a source")
    if (sources < 0).all():
        zero = walk.constant_piece(np.zeros((), np.int64), type_.dtype, walk.points(type_))
        return Val(type_, (zero,), walk.points(type_))
    devices = walk.builder.devices_related(sources)
    if devices is None:
        return walk.not_modelled(type_, f"'{op.name}' with this list of pairs")
    inner = ",".join(names("x", type_.rank))
    rel = store.side_by_side(devices, store.rel(f"{{[{inner}] -> [{inner}]}}"))
    rel = store.restrict(rel, walk.points(type_))
    moved = read_through(walk, value, rel, type_)
    missing = store.set_minus(walk.points(type_), store.domain(rel))
    if store.set_empty(missing):
        return moved
    domain = store.set_union(moved.domain, missing)
    if moved.monoid is Monoid.ADD:
        return Val(type_, moved.pieces, domain, moved.monoid, moved.levels, moved.theory)
    if moved.monoid is not None:
        moved = walk.close(moved, "partial result is sent to other devices")
    zero = walk.constant_piece(np.zeros((), np.int64), type_.dtype, missing)
    return Val(type_, gathered(store, (*moved.pieces, zero)), domain, theory=moved.theory)


def relate_all_reduce(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    found, monoid = members(walk, op), monoid_of_region(op.regions[0])
    if found is None:
        return _refuse(walk, op)
    if monoid is None:
        return [walk.not_modelled(result.type, f"reducer of '{op.name}'") for result in op.results]
    member, _, size = found
    results: list[AnyVal] = []
    for value, result in zip(values, op.results, strict=True):
        shape = result.tensor.shape
        rel = _from_member(walk, member, shape, names("i", len(shape)), [f"0 <= s < {size}"])
        results.append(sum_over(walk, value, rel, monoid, result.tensor, steps=2 if size > 1 else 0))
    return results


def relate_reduce_scatter(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    found, monoid = members(walk, op), monoid_of_region(op.regions[0])
    if found is None:
        return _refuse(walk, op)
    if monoid is None:
        return [walk.not_modelled(result.type, f"reducer of '{op.name}'") for result in op.results]
    member, place, size = found
    axis = int(op.attributes["scatter_dimension"])
    results: list[AnyVal] = []
    for value, result in zip(values, op.results, strict=True):
        shape = result.tensor.shape
        local = names("i", len(shape))
        gather = _from_member(walk, member, value.type.shape, local, [f"0 <= s < {size}"])
        local[axis] = affine([(1, f"i{axis}"), (shape[axis], "w")])
        block = _with_place(walk, place, shape, local)
        rel = walk.store.compose(block, gather)
        results.append(sum_over(walk, value, rel, monoid, result.tensor, steps=2 if size > 1 else 0))
    return results


def _with_place(walk: Walk, place: Rel, shape: tuple[int, ...], local: list[str]) -> Rel:
    """{[d, i] -> [d, local]} where the expressions may use w, the device's own place in its group."""
    store, device = walk.store, walk.builder.device
    count = len(shape)
    index = names("i", count)
    known = store.pair(
        store.rel(f"{{[{','.join(device)}] -> [{','.join(device)}]}}") if device else store.rel("{[] -> []}"), place
    )
    both = store.side_by_side(known, store.rel(f"{{[{','.join(index)}] -> [{','.join(index)}]}}"))
    box = " and ".join(box_constraints(index, shape)) or "1 = 1"
    read = store.rel(f"{{[{','.join([*device, 'w', *index])}] -> [{','.join([*device, *local])}] : {box}}}")
    return store.compose(both, read)


RELATIONS = {
    "stablehlo.all_gather": relate_all_gather,
    "stablehlo.all_to_all": relate_all_to_all,
    "stablehlo.collective_permute": relate_collective_permute,
    "stablehlo.collective_broadcast": relate_collective_broadcast,
    "stablehlo.all_reduce": relate_all_reduce,
    "stablehlo.reduce_scatter": relate_reduce_scatter,
}
