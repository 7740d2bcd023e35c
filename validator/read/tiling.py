"""Device orders and meshes as arrays: what every spelling of shardings and replica groups comes down to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def iota(dims: Sequence[int], perm: Sequence[int] | None = None) -> np.ndarray:
    """The device order XLA writes `<=[dims]T(perm)`, flat: 0, 1, ... laid out as `dims`, then transposed."""
    order = np.arange(int(np.prod(dims, dtype=np.int64)), dtype=np.int64).reshape(tuple(dims))
    return order.transpose(tuple(perm)).reshape(-1) if perm is not None else order.reshape(-1)


@dataclass(frozen=True, slots=True)
class AxisRef:
    """A mesh axis, or of an axis of size n the sub-axis `(pre)size`: digits after a major factor `pre`."""

    name: str
    pre: int = 1
    size: int | None = None

    def __str__(self) -> str:
        return f'"{self.name}"' if self.size is None else f'"{self.name}":({self.pre}){self.size}'


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Named axes from major to minor over a flat device order; without axes, the devices of a maximal mesh."""

    axes: tuple[tuple[str, int], ...]
    order: np.ndarray

    @staticmethod
    def of(axes: Sequence[tuple[str, int]], order: Sequence[int] | np.ndarray | None = None) -> Mesh:
        """Checks what XLA and Shardy promise: distinct names, positive sizes, one device a place, none twice."""
        names = [name for name, _ in axes]
        if len(set(names)) != len(names):
            raise ValueError("mesh axis names repeat")
        if any(size < 1 for _, size in axes):
            raise ValueError("mesh axis sizes must be positive")
        count = 1
        for _, size in axes:
            count *= size
        if count > MAX_DEVICES:
            raise ValueError(f"mesh of {count} devices is beyond the limit of {MAX_DEVICES}")
        devices = np.arange(count, dtype=np.int64) if order is None else np.asarray(order, dtype=np.int64).reshape(-1)
        if axes and devices.size != count:
            raise ValueError(f"mesh of {count} places lists {devices.size} devices")
        if np.unique(devices).size != devices.size or (devices < 0).any():
            raise ValueError("mesh lists a device twice")
        return Mesh(tuple((name, int(size)) for name, size in axes), devices)

    def split(self, groups: Sequence[Sequence[AxisRef]]) -> tuple[tuple[int, ...], np.ndarray]:
        """Devices arranged as [product of each group's axes..., the rest]: tile counts and the array.

        A group's first axis is its major one. Axes in no group come last, in mesh order: they hold copies.
        """
        sizes = dict(self.axes)
        cuts: dict[str, list[tuple[int, int]]] = {name: [] for name in sizes}
        for group in groups:
            for ref in group:
                if ref.name not in sizes:
                    raise ValueError(f"unknown mesh axis '{ref.name}'")
                total = sizes[ref.name]
                size = total if ref.size is None else ref.size
                if ref.pre < 1 or size < 1 or total % (ref.pre * size):
                    raise ValueError(f"sub-axis {ref} does not divide its axis of size {total}")
                cuts[ref.name].append((ref.pre, size))
        # Cut every axis at the pieces named, so that each piece is one dimension of the array.
        place: dict[tuple[str, int, int], int] = {}
        shape: list[int] = []
        for name, total in self.axes:
            at = 1
            for pre, size in sorted(cuts[name]):
                if pre < at or (at > 1 and pre % at):
                    raise ValueError(f"mesh axis '{name}' is used twice")
                if pre > at:
                    if pre % at:
                        raise ValueError(f"sub-axes of '{name}' overlap")
                    place[name, at, pre // at] = len(shape)
                    shape.append(pre // at)
                place[name, pre, size] = len(shape)
                shape.append(size)
                at = pre * size
            if at < total:
                place[name, at, total // at] = len(shape)
                shape.append(total // at)
        used: list[int] = []
        tiles: list[int] = []
        for group in groups:
            count = 1
            for ref in group:
                size = sizes[ref.name] if ref.size is None else ref.size
                used.append(place[ref.name, ref.pre, size])
                count *= size
            tiles.append(count)
        rest = [k for k in range(len(shape)) if k not in used]
        array = self.order.reshape(shape).transpose(used + rest).reshape(*tiles, -1)
        return tuple(tiles), array


MAX_DEVICES = 1 << 20
"""More devices than this in one mesh is taken for a damaged or hostile file."""
