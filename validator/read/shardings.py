"""How one tensor is laid out over devices, in one normal form for every spelling JAX and XLA use."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np


class ShardingKind(enum.Enum):
    """What a sharding says; `UNSUPPORTED` holds a marking that is understood but not modelled, never ignored."""

    REPLICATED = "replicated"
    MAXIMAL = "maximal"
    TILED = "tiled"
    MANUAL = "manual"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, eq=False)
class Sharding:
    """A sharding of a tensor of rank `len(tiles)`.

    `tiles[k]` is the number of tiles along dimension k, and `devices` is an int64 array [*tiles, copies]: the devices
    that hold each tile. Tile t of a dimension of extent n holds indices t*ceil(n/tiles) up to the next tile's start;
    what lies beyond n is padding. For REPLICATED both are empty; for MAXIMAL `devices` holds the one device.
    `text` is the spelling in the file. An UNSUPPORTED sharding keeps its structure where it has one: each of `marked`
    ("manual", "unreduced") is one more dimension of `devices`, between the tiles and the copies.
    """

    kind: ShardingKind
    text: str
    tiles: tuple[int, ...] = ()
    devices: np.ndarray | None = None
    marked: tuple[str, ...] = ()
