"""Tensors cut into per-device shards and put together again, as a `Sharding` says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..read.shardings import Sharding, ShardingKind
from .errors import UnsupportedOp


def shard_shape(shape: tuple[int, ...], sharding: Sharding | None) -> tuple[int, ...]:
    """The shape every device holds, padding included."""
    if sharding is None or sharding.kind is not ShardingKind.TILED:
        return shape
    return tuple(-(-extent // tiles) for extent, tiles in zip(shape, sharding.tiles, strict=True))


def _checked(sharding: Sharding | None, num_devices: int) -> Sharding | None:
    """None for a tensor whole on every device, else a tiling; other markings are refused."""
    if sharding is None or sharding.kind is ShardingKind.REPLICATED:
        return None
    if sharding.kind is not ShardingKind.TILED or sharding.devices is None:
        raise UnsupportedOp("sharding", f"'{sharding.text}' has no layout that can be evaluated")
    if not np.array_equal(np.sort(sharding.devices, axis=None), np.arange(num_devices)):
        raise UnsupportedOp("sharding", f"'{sharding.text}' does not place every one of {num_devices} devices once")
    return sharding


def _tiles(
    shape: tuple[int, ...], sharding: Sharding
) -> Iterator[tuple[np.ndarray, tuple[slice, ...], tuple[slice, ...]]]:
    """For every tile its devices, its window in the whole tensor, and where that window lies in the shard."""
    assert sharding.devices is not None
    local = shard_shape(shape, sharding)
    for tile in np.ndindex(*sharding.tiles):
        starts = [min(index * size, extent) for index, size, extent in zip(tile, local, shape, strict=True)]
        stops = [min(start + size, extent) for start, size, extent in zip(starts, local, shape, strict=True)]
        window = tuple(slice(start, stop) for start, stop in zip(starts, stops, strict=True))
        inner = tuple(slice(0, stop - start) for start, stop in zip(starts, stops, strict=True))
        yield sharding.devices[tile].reshape(-1), window, inner


def shard(
    array: np.ndarray, sharding: Sharding | None, num_devices: int, padding: np.ndarray | None = None
) -> np.ndarray:
    """The shards [devices, *local shape] of a whole tensor.

    `padding` is an array of that shape whose elements stand where a shard reaches beyond the tensor; give it garbage
    that differs from run to run, so that a program that reads padding shows it. Without it padding is zero.
    """
    tiling = _checked(sharding, num_devices)
    if tiling is None:
        return np.broadcast_to(array, (num_devices, *array.shape))
    local = (num_devices, *shard_shape(array.shape, tiling))
    shards = np.zeros(local, array.dtype) if padding is None else np.array(padding)
    for devices, window, inner in _tiles(array.shape, tiling):
        shards[(devices, *inner)] = array[window]
    return shards


def defined_elements(shape: tuple[int, ...], sharding: Sharding | None, num_devices: int) -> np.ndarray:
    """Which elements [devices, *local shape] of the shards lie inside the tensor."""
    return shard(np.ones(shape, np.bool_), sharding, num_devices)


def expected_shards(result: np.ndarray, sharding: Sharding | None, num_devices: int) -> tuple[np.ndarray, np.ndarray]:
    """What every device must hold of a result, and a mask of the elements that are defined."""
    return shard(result, sharding, num_devices), defined_elements(result.shape, sharding, num_devices)


def unshard(shards: np.ndarray, sharding: Sharding | None, shape: tuple[int, ...]) -> np.ndarray:
    """The whole tensor, each tile from the first device that holds it."""
    tiling = _checked(sharding, shards.shape[0])
    if tiling is None:
        return shards[0]
    whole = np.empty(shape, shards.dtype)
    for devices, window, inner in _tiles(shape, tiling):
        whole[window] = shards[(devices[0], *inner)]
    return whole


def full_to_shards(copies: np.ndarray, sharding: Sharding | None) -> np.ndarray:
    """Each device's shard of its own copy of the whole tensor, padding zero."""
    tiling = _checked(sharding, copies.shape[0])
    if tiling is None:
        return copies
    shape = copies.shape[1:]
    shards = np.zeros((copies.shape[0], *shard_shape(shape, tiling)), copies.dtype)
    for devices, window, inner in _tiles(shape, tiling):
        shards[(devices, *inner)] = copies[(devices, *window)]
    return shards


def _places(sharding: Sharding, num_devices: int, split: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Every device's coordinates [devices, 2 * rank + 1], and the device at each coordinate.

    Along dimension k a device has the number of its manual shard, of which there are `split[k]`, and that of its tile
    inside the shard; the last coordinate numbers the devices that hold the same tile, manual subgroups included.
    """
    assert sharding.devices is not None
    shape = [extent for tiles, parts in zip(sharding.tiles, split, strict=True) for extent in (parts, tiles // parts)]
    table = sharding.devices.reshape(*shape, -1)
    coordinates = np.empty((num_devices, table.ndim), np.int64)
    coordinates[table.reshape(-1)] = np.stack(np.unravel_index(np.arange(table.size), table.shape), axis=1)
    return coordinates, table


def _manual_split(whole: tuple[int, ...], part: tuple[int, ...], sharding: Sharding, name: str) -> tuple[int, ...]:
    """Into how many manual shards each dimension is cut."""
    split = tuple(extent // local if local else 1 for extent, local in zip(whole, part, strict=True))
    even = all(parts * local == extent for parts, local, extent in zip(split, part, whole, strict=True))
    tiles = sharding.tiles if sharding.devices is not None else ()
    fits = len(tiles) == len(split) and all(n % parts == 0 for n, parts in zip(tiles, split, strict=True))
    if not even or not fits:
        raise UnsupportedOp(name, f"of {list(whole)} and {list(part)} with sharding '{sharding.text}'")
    return split


def full_to_manual(copies: np.ndarray, sharding: Sharding, shape: tuple[int, ...]) -> np.ndarray:
    """Each device's manual shard, of the given shape, of its own copy of the whole tensor.

    Tiles inside a manual shard belong to axes that stay automatic: every device still holds all of them.
    """
    if copies.shape[1:] == shape:
        return copies
    split = _manual_split(copies.shape[1:], shape, sharding, "SPMDFullToShardShape")
    coordinates, _ = _places(sharding, copies.shape[0], split)
    shards = np.empty((copies.shape[0], *shape), copies.dtype)
    for device, place in enumerate(coordinates):
        window = (slice(part * size, (part + 1) * size) for part, size in zip(place[:-1:2], shape, strict=True))
        shards[device] = copies[(device, *window)]
    return shards


def manual_to_full(shards: np.ndarray, sharding: Sharding, shape: tuple[int, ...]) -> np.ndarray:
    """The whole tensor as each device sees it: manual shards of the devices that differ from it in nothing else."""
    if shards.shape[1:] == shape:
        return shards
    local = shards.shape[1:]
    split = _manual_split(shape, local, sharding, "SPMDShardToFullShape")
    coordinates, table = _places(sharding, shards.shape[0], split)
    whole = np.empty((shards.shape[0], *shape), shards.dtype)
    for part in np.ndindex(*split):
        window = tuple(slice(number * size, (number + 1) * size) for number, size in zip(part, local, strict=True))
        there = coordinates.copy()
        there[:, :-1:2] = part
        whole[(slice(None), *window)] = shards[table[tuple(there.T)]]
    return whole
