"""The normal form of shardings, from tile assignments and from mesh axes.

A marking that is understood but not modelled gives an UNSUPPORTED sharding with its structure kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .shardings import Sharding, ShardingKind
from .tiling import AxisRef, Mesh


def maximal(device: int, text: str) -> Sharding:
    if device < 0:
        raise ValueError(f"negative device in '{text}'")
    return Sharding(ShardingKind.MAXIMAL, text, (), np.array([device], dtype=np.int64))


def tiled(dims: Sequence[int], devices: np.ndarray, kinds: Sequence[str], text: str) -> Sharding:
    """A tile assignment: `dims` with one trailing dimension for each of the subgroup `kinds`."""
    if not dims or any(size < 1 for size in dims) or len(kinds) > len(dims):
        raise ValueError(f"bad tile counts in '{text}'")
    places = 1
    for size in dims:
        places *= size
    if places != devices.size:
        raise ValueError(f"{places} tiles but {devices.size} devices in '{text}'")
    if np.unique(devices).size != devices.size or devices.min() < 0:
        raise ValueError(f"a device stands twice in '{text}'")
    array = devices.reshape(tuple(dims))
    rank = len(dims) - len(kinds)
    marked = [(kind, rank + k) for k, kind in enumerate(kinds) if kind != "replicated" and dims[rank + k] > 1]
    copies = [rank + k for k in range(len(kinds)) if all(place != rank + k for _, place in marked)]
    order = [*range(rank), *(place for _, place in marked), *copies]
    array = array.transpose(order).reshape(*dims[:rank], *(dims[place] for _, place in marked), -1)
    return normal_form(tuple(dims[:rank]), array, tuple(kind for kind, _ in marked), text)


def named(
    mesh: Mesh,
    dims: Sequence[Sequence[AxisRef]],
    marked: Sequence[tuple[str, Sequence[AxisRef]]],
    text: str,
    opened: Sequence[bool] = (),
) -> Sharding:
    """A sharding by mesh axes; `marked` lists `replicated`, `manual` and the words of `REDUCERS` with their axes.

    `opened` are the dimensions that may be cut further. Where axes have to be replicated, none counts as open: which
    axes a dimension is cut by later is not followed.
    """
    if not mesh.axes:
        if mesh.order.size == 1 and not dims:
            return maximal(int(mesh.order[0]), text)
        if any(dims):
            raise ValueError(f"axes of an empty mesh in '{text}'")
        return Sharding(ShardingKind.REPLICATED, text)
    special = [(word, refs) for word, refs in marked if word != "replicated" and refs]
    copies = [ref for word, refs in marked if word == "replicated" for ref in refs]
    counts, array = mesh.split([*dims, *(refs for _, refs in special), copies])
    tiles = counts[: len(dims)]
    array = array.reshape(*counts[: len(dims) + len(special)], -1)
    found = normal_form(tiles, array, tuple(word for word, refs in special), text)
    return replace(found, open=tuple(opened)) if any(opened) and not copies else found


def normal_form(tiles: tuple[int, ...], array: np.ndarray, marked: tuple[str, ...], text: str) -> Sharding:
    """A sharding by devices [*tiles, marked axes…, copies]."""
    if marked:
        if all(word == "manual" for word in marked) and array.shape[-1] == 1 and all(count == 1 for count in tiles):
            return Sharding(ShardingKind.MANUAL, text)
        return Sharding(ShardingKind.UNSUPPORTED, text, tiles, array, marked)
    if all(count == 1 for count in tiles) and array.size > 1:
        return Sharding(ShardingKind.REPLICATED, text)
    return Sharding(ShardingKind.TILED, text, tiles, array)
