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
    """At a manual boundary: each device's shard of its own copy of the whole tensor, padding zero."""
    tiling = _checked(sharding, copies.shape[0])
    if tiling is None:
        return copies
    shape = copies.shape[1:]
    shards = np.zeros((copies.shape[0], *shard_shape(shape, tiling)), copies.dtype)
    for devices, window, inner in _tiles(shape, tiling):
        shards[(devices, *inner)] = copies[(devices, *window)]
    return shards


def shards_to_full(shards: np.ndarray, sharding: Sharding, shape: tuple[int, ...]) -> np.ndarray:
    """At a manual boundary: the whole tensor as each device sees it.

    Where several devices hold a tile, a device takes the copy with its own copy number, its own shard included.
    """
    tiling = _checked(sharding, shards.shape[0])
    if tiling is None:
        return shards
    assert tiling.devices is not None
    copies = tiling.devices.reshape(-1, tiling.devices.size // max(1, int(np.prod(tiling.tiles, dtype=np.int64))))
    whole = np.empty((shards.shape[0], *shape), shards.dtype)
    for devices, window, inner in _tiles(shape, tiling):
        for number, device in enumerate(devices):
            whole[(copies[:, number], *window)] = shards[(device, *inner)]
    return whole
