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


REDUCERS = {
    "unreduced": "stablehlo.add",
    "unreduced max": "stablehlo.maximum",
    "unreduced min": "stablehlo.minimum",
}
"""Markings of axes along which devices hold what is still to be combined, and by what."""


def unreduced_marking(kind: str) -> str:
    """The marking for the reduction that a file names (`sum`, `max`, `min`, or nothing); ValueError for any other."""
    marking = "unreduced" if kind in ("", "sum") else f"unreduced {kind}"
    if marking not in REDUCERS:
        raise ValueError(f"unknown reduction '{kind}' of unreduced axes")
    return marking


@dataclass(frozen=True, slots=True, eq=False)
class Sharding:
    """A sharding of a tensor of rank `len(tiles)`.

    `tiles[k]` is the number of tiles along dimension k, and `devices` is an int64 array [*tiles, copies]: the devices
    that hold each tile. Tile t of a dimension of extent n holds indices t*ceil(n/tiles) up to the next tile's start;
    what lies beyond n is padding. For REPLICATED both are empty; for MAXIMAL `devices` holds the one device.
    `text` is the spelling in the file. An UNSUPPORTED sharding keeps its structure where it has one: each of `marked`
    ("manual", and those of `REDUCERS`) is one more dimension of `devices`, between the tiles and the copies; without
    `devices` a marking of `REDUCERS` is about all devices of the program.
    """

    kind: ShardingKind
    text: str
    tiles: tuple[int, ...] = ()
    devices: np.ndarray | None = None
    marked: tuple[str, ...] = ()
    open: tuple[bool, ...] = ()
    """Which dimensions the file leaves open for more tiles (`?`), if it leaves any."""

    def allows(self, other: Sharding) -> bool:
        """Whether the other sharding is this one with open dimensions cut further, or not cut any further."""
        kinds = (ShardingKind.REPLICATED, ShardingKind.TILED)
        if self.kind not in kinds or other.kind not in kinds:
            return False
        tiles, more = (each.tiles or (1,) * len(self.open) for each in (self, other))
        if not len(tiles) == len(more) == len(self.open):
            return False
        if any(n % m or (n != m and not free) for m, n, free in zip(tiles, more, self.open, strict=True)):
            return False
        major = other.within(tiles)
        if self.devices is None or major is None or major.devices is None:
            return self.devices is None
        return np.array_equal(np.sort(self.devices), np.sort(major.devices))

    def of_rank(self, rank: int, num_devices: int) -> Sharding:
        """A sharding that sums over all devices, and names none, with its devices; any other one as it is."""
        if self.devices is not None or len(self.marked) != 1 or self.marked[0] not in REDUCERS:
            return self
        devices = np.arange(num_devices, dtype=np.int64).reshape(*(1,) * rank, num_devices, 1)
        return Sharding(self.kind, self.text, (1,) * rank, devices, self.marked)

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
