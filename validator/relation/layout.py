"""From shardings to relations: how a device's tensor relates to the logical one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..read.attributes import DeviceGroups, DevicePairs
from ..read.dependencies import regions
from ..read.ir import Program
from ..read.shardings import Sharding, ShardingKind
from .build import Builder, affine, names
from .mesh import Mesh, coarsest_mesh

if TYPE_CHECKING:
    from .objects import Rel


def tile_vectors(sharding: Sharding) -> list[np.ndarray]:
    """For each dimension, every device's tile number; copies share their tile."""
    assert sharding.devices is not None
    vectors = []
    for axis in range(len(sharding.tiles)):
        shape = [1] * sharding.devices.ndim
        shape[axis] = sharding.tiles[axis]
        tile = np.broadcast_to(np.arange(sharding.tiles[axis]).reshape(shape), sharding.devices.shape)
        vector = np.zeros(sharding.devices.size, np.int64)
        vector[sharding.devices.reshape(-1)] = tile.reshape(-1)
        vectors.append(vector)
    return vectors


def layout(builder: Builder, shape: tuple[int, ...], sharding: Sharding | None, local: tuple[int, ...]) -> Rel | str:
    """{[d, i] -> [x]} on the defined part of each device's tensor, or what about the sharding is not modelled.

    A tensor without a sharding is replicated, which is how XLA reads it. `local` is the device tensor's shape.
    """
    key = (layout, shape, sharding, local)
    known = builder.memo.get(key)
    if known is None:
        known = builder.memo[key] = _layout(builder, shape, sharding, local)
    return known


def _layout(builder: Builder, shape: tuple[int, ...], sharding: Sharding | None, local: tuple[int, ...]) -> Rel | str:
    if local_shape(shape, sharding) != local:
        return f"sharding '{sharding.text if sharding else '{replicated}'}' that gives shards of another shape"
    if sharding is None or sharding.kind is ShardingKind.REPLICATED or not builder.mesh.sizes:
        return builder.local_identity(shape)
    if sharding.kind is not ShardingKind.TILED or sharding.devices is None:
        return f"sharding '{sharding.text}'"
    if np.sort(sharding.devices, axis=None).tolist() != list(range(builder.mesh.num_devices)):
        return f"sharding '{sharding.text}' that does not hold every device once"
    store = builder.store
    device = builder.device
    known = store.rel(f"{{[{','.join(device)}] -> [{','.join(device)}]}}")
    for vector in tile_vectors(sharding):
        tile = builder.table(vector, [])
        if tile is None:
            return f"sharding '{sharding.text}' with an irregular device order"
        known = store.pair(known, tile)
    tiles, index = names("t", len(shape)), names("i", len(shape))
    outputs = [affine([(local[k], f"t{k}"), (1, f"i{k}")]) for k in range(len(shape))]
    where = [f"0 <= i{k} < {local[k]} and {outputs[k]} < {shape[k]}" for k in range(len(shape))]
    read = store.rel(
        f"{{[{','.join([*device, *tiles, *index])}] -> [{','.join(outputs)}] : {' and '.join(where) or '1 = 1'}}}"
    )
    passing = store.rel(f"{{[{','.join(index)}] -> [{','.join(index)}]}}")
    return store.compose(store.side_by_side(known, passing), read)


def local_shape(shape: tuple[int, ...], sharding: Sharding | None) -> tuple[int, ...]:
    """The shape of one device's tensor, padding included."""
    if sharding is None or sharding.kind is not ShardingKind.TILED:
        return shape
    return tuple(-(-extent // tiles) for extent, tiles in zip(shape, sharding.tiles, strict=True))


def mesh_for(
    before: Program, after: Program, shardings: Sequence[Sharding] = (), vectors: Sequence[np.ndarray] = ()
) -> Mesh:
    """The coarsest device coordinates in which shardings, groups and offset tables are affine.

    `shardings` and `vectors` over the devices are taken into account besides those of the programs.
    """
    count = after.num_devices
    found = [*_vectors(before, after, count, shardings), *vectors]
    vectors = list({vector.tobytes(): vector for vector in found}.values())
    return coarsest_mesh(count, vectors, [_cuts(vector, count) for vector in vectors])


def _vectors(before: Program, after: Program, count: int, further: Sequence[Sharding]) -> Iterator[np.ndarray]:
    for program in (before, after):
        shardings = [*further, *(p.sharding for p in program.parameters), *(r.sharding for r in program.results)]
        for region in regions(program.body):
            for op in region.ops:
                shardings.extend(op.shardings)
                shardings.extend(op.attributes.get("in_shardings", ()))
                shardings.extend(op.attributes.get("out_shardings", ()))
        seen: set[str] = set()
        for sharding in shardings:
            if sharding is None or sharding.devices is None or sharding.text in seen or sharding.devices.size != count:
                continue
            seen.add(sharding.text)
            if sharding.kind is ShardingKind.TILED or "manual" in sharding.marked:
                yield from tile_vectors(sharding)
    known: set[DeviceGroups] = set()
    for region in (*regions(before.body), *regions(after.body)):
        for op in region.ops:
            groups = op.attributes.get("replica_groups")
            if isinstance(groups, DeviceGroups) and groups.table.size == count and groups not in known:
                known.add(groups)
                rows, places = np.empty(count, np.int64), np.empty(count, np.int64)
                rows[groups.table] = np.arange(groups.table.shape[0])[:, None]
                places[groups.table] = np.arange(groups.table.shape[1])
                yield from (rows, places)
            pairs = op.attributes.get("source_target_pairs")
            if isinstance(pairs, DevicePairs) and len(pairs.table) == count:
                sources = np.zeros(count, np.int64)
                sources[pairs.table[:, 1]] = pairs.table[:, 0]
                yield sources
            if op.name == "stablehlo.constant":
                value = np.asarray(op.attributes["value"])
                if value.shape == (count,) and value.dtype.kind in "iu":
                    yield value.astype(np.int64)


def _cuts(vector: np.ndarray, count: int) -> list[int]:
    """[repeats, period / run, run] of a vector: where its digits would have to be cut."""
    divisors = [d for d in range(1, count + 1) if count % d == 0]
    run = max(d for d in divisors if (vector.reshape(-1, d) == vector.reshape(-1, d)[:, :1]).all())
    period = min(d for d in divisors if (vector.reshape(-1, d) == vector[:d]).all())
    return [count // period, period // run, run] if period % run == 0 and period >= run else [count]
