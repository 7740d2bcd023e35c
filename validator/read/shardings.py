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

    def within(self, parts: tuple[int, ...]) -> Sharding | None:
        """The sharding with only the `parts` major tiles of each dimension told apart, as inside manual regions.

        Along a dimension manual axes come before automatic ones, so the major tiles are the manual ones. Devices that
        differ in anything else, manual subgroups included, count as holding copies. None where the tiles do not fit.
        """
        if self.kind is ShardingKind.REPLICATED or self.kind is ShardingKind.MANUAL:
            return Sharding(ShardingKind.REPLICATED, self.text) if all(count == 1 for count in parts) else None
        subgroups = self.kind is ShardingKind.UNSUPPORTED and self.marked and set(self.marked) == {"manual"}
        if self.devices is None or not (self.kind is ShardingKind.TILED or subgroups):
            return None
        if len(self.tiles) != len(parts) or any(tiles % count for tiles, count in zip(self.tiles, parts, strict=True)):
            return None
        rank = len(parts)
        cut = [size for tiles, count in zip(self.tiles, parts, strict=True) for size in (count, tiles // count)]
        order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2), 2 * rank]
        devices = self.devices.reshape(*cut, -1).transpose(order).reshape(*parts, -1)
        return Sharding(ShardingKind.TILED, self.text, parts, devices)
