"""Device coordinates: the coarsest digits in which everything that splits the devices is affine.

Devices are numbered 0 … N-1. Each sharding, group table or offset table is a vector over the devices. Written in mixed
radix digits (most significant first) most of them are affine, so relations stay small however many devices there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

_LARGEST_FITTED = 1 << 40
"""Tables with greater numbers are taken element by element."""

MAX_BOXES = 96
"""A table that needs more boxes than this is not turned into a relation."""

_MAX_LOOKS = 4000
"""Parts of one table that are looked at: with many axes there are more ways to cut it than can be tried."""


@dataclass(frozen=True)
class Mesh:
    """Digits of a device number. `sizes` is empty for a program without devices."""

    sizes: tuple[int, ...]
    coordinates: np.ndarray = field(compare=False, repr=False)
    """int64 [devices, digits]."""

    @property
    def num_devices(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64)) if self.sizes else 1

    def grid(self, vector: np.ndarray) -> np.ndarray:
        """A vector over devices [devices, ...] as an array over the digits [*sizes, ...]."""
        return np.asarray(vector).reshape((*self.sizes, *np.shape(vector)[1:]))


NO_DEVICES = Mesh((), np.zeros((1, 0), np.int64))


def mesh_of(sizes: Sequence[int]) -> Mesh:
    sizes = tuple(sizes)
    count = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
    numbers = np.arange(count, dtype=np.int64)
    columns = []
    for size in reversed(sizes):
        columns.append(numbers % size)
        numbers = numbers // size
    stacked = np.stack(columns[::-1], axis=1) if columns else np.zeros((1, 0), np.int64)
    return Mesh(sizes, stacked)


def _prime_factors(number: int) -> list[int]:
    factors, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return factors


def _digit_orders(count: int, hints: Iterable[Sequence[int]]) -> list[int]:
    """Prime digits of `count`, most significant first, that refine every hinted shape whose cuts form a chain."""
    cuts = {1, count}
    for shape in hints:
        stride = 1
        for extent in reversed(shape):
            stride *= extent
            if count % stride:
                break
            if all(stride % cut == 0 or cut % stride == 0 for cut in cuts):
                cuts.add(stride)
    chain = sorted(cuts)
    digits: list[int] = []
    for low, high in itertools.pairwise(chain):
        digits.extend(_prime_factors(high // low))
    return digits[::-1]


def affine_fit(grid: np.ndarray) -> tuple[int, tuple[int, ...]] | None:
    """(constant, coefficient of each axis) where the array is affine in its axes, else None; every entry is checked."""
    grid = np.asarray(grid, dtype=np.int64)
    if grid.size > 1 and (grid.max() > _LARGEST_FITTED or grid.min() < -_LARGEST_FITTED):
        # differences and multiples of these might wrap around, which relations do not
        return None
    origin = (0,) * grid.ndim
    constant = int(grid[origin])
    coefficients = []
    expected = np.full(grid.shape, constant, dtype=np.int64)
    for axis, extent in enumerate(grid.shape):
        step = 0
        if extent > 1:
            step = int(grid[tuple(1 if k == axis else 0 for k in range(grid.ndim))]) - constant
            ramp = np.arange(extent, dtype=np.int64) * step
            expected = expected + ramp.reshape([-1 if k == axis else 1 for k in range(grid.ndim)])
        coefficients.append(step)
    return (constant, tuple(coefficients)) if np.array_equal(expected, grid) else None


def coarsest_mesh(count: int, vectors: Iterable[np.ndarray], hints: Iterable[Sequence[int]]) -> Mesh:
    """The coarsest digits in which every vector that is affine in prime digits stays affine.

    `vectors` are int arrays [devices]; `hints` are shapes of device arrays that say where to cut.
    """
    if count == 1:
        return NO_DEVICES
    digits = _digit_orders(count, hints)
    fits = []
    for vector in vectors:
        fit = affine_fit(np.asarray(vector).reshape(digits))
        if fit is not None:
            fits.append(list(fit[1]))
    axis = 0
    while axis + 1 < len(digits):
        low = digits[axis + 1]
        if all(fit[axis] == low * fit[axis + 1] for fit in fits):
            digits[axis : axis + 2] = [digits[axis] * low]
            for fit in fits:
                fit[axis : axis + 2] = [fit[axis + 1]]
        else:
            axis += 1
    return mesh_of(digits)


@dataclass(frozen=True)
class Box:
    """An affine function on a box of an integer grid: start and stop of each axis, constant, coefficients."""

    bounds: tuple[tuple[int, int], ...]
    constant: int
    coefficients: tuple[int, ...]


def boxes(grid: np.ndarray) -> tuple[Box, ...] | None:
    """A partition of the grid into boxes with an affine function each, or None where it takes more than `MAX_BOXES`."""
    grid = np.asarray(grid, dtype=np.int64)
    found = _Cutting().boxes(grid, tuple((0, extent) for extent in grid.shape), MAX_BOXES)
    return tuple(found) if found is not None else None


class _Cutting:
    """One search for boxes, which is given up when it has looked at too many parts."""

    def __init__(self) -> None:
        self._looks = 0

    def boxes(self, grid: np.ndarray, bounds: tuple[tuple[int, int], ...], budget: int) -> list[Box] | None:
        self._looks += 1
        if budget <= 0 or self._looks > _MAX_LOOKS:
            return None
        fit = affine_fit(grid)
        if fit is not None:
            constant = fit[0] - sum(c * low for c, (low, _) in zip(fit[1], bounds, strict=True))
            return [Box(bounds, constant, fit[1])]
        best: list[Box] | None = None
        for axis, extent in enumerate(grid.shape):
            if extent < 2:
                continue
            parts: list[Box] = []
            start = 0
            while start < extent and len(parts) < budget:
                stop = _longest_affine_run(grid, axis, start)
                index = tuple(slice(start, stop) if k == axis else slice(None) for k in range(grid.ndim))
                low = bounds[axis][0]
                inner = tuple((low + start, low + stop) if k == axis else b for k, b in enumerate(bounds))
                below = self.boxes(grid[index], inner, budget - len(parts)) if stop - start < extent else None
                if below is None:
                    parts = []
                    break
                parts.extend(below)
                start = stop
            if parts and start >= extent and (best is None or len(parts) < len(best)):
                best, budget = parts, min(budget, len(parts))
        return best


def _longest_affine_run(grid: np.ndarray, axis: int, start: int) -> int:
    """The end of the longest run of slices along an axis that is affine as a whole; one slice where none is."""
    moved = np.moveaxis(grid, axis, 0)[start:]
    if len(moved) < 2 or affine_fit(moved[:2]) is None:
        return start + 1
    steps = np.diff(moved, axis=0).reshape(len(moved) - 1, -1)
    same = np.all(steps == steps[0], axis=1)
    run = len(same) if same.all() else int(np.argmin(same))
    return start + run + 1
