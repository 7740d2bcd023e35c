"""Groups of devices by the mesh axes that a program names: the axes in whose coordinates alone their members differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..read.ir import Program
from ..read.relations import NO_RELATIONS, Relations
from ..read.tiling import AxisRef, Mesh

_MAX_DIGITS = 10
"""Axes and sub-axes of a mesh of which all subsets are looked at."""
_MAX_ORDERS = 720


@dataclass(frozen=True, slots=True)
class _Digit:
    """A factor of an axis' coordinate, and the axis' whole size."""

    axis: str
    pre: int
    size: int
    whole: int


class GroupNames:
    """What reports call groups of devices: by the axes of a mesh that the inputs name, else by the devices' numbers."""

    def __init__(self, before: Program, after: Program, relations: Relations = NO_RELATIONS) -> None:
        every = list(range(after.num_devices))
        meshes = (*relations.meshes, *after.meshes, *before.meshes)
        self._meshes = [_digits(mesh) for mesh in meshes if mesh.axes and sorted(mesh.order.tolist()) == every]
        self._known: dict[tuple[bytes, tuple[int, ...], bool], str] = {}

    def of(self, table: np.ndarray, *, ordered: bool = False) -> str:
        """A table [groups, devices] in few words; of several names that of the first mesh, and of fewest axes there.

        Where the order counts, the first of several axes is the major one.
        """
        key = (np.ascontiguousarray(table, np.int64).tobytes(), table.shape, ordered)
        if key not in self._known:
            self._known[key] = next(self._axes(table, ordered), "") or _devices(table)
        return self._known[key]

    def _axes(self, table: np.ndarray, ordered: bool) -> Iterator[str]:
        count = sum(grid.size for grid, _ in self._meshes[:1])
        if table.ndim != 2 or not table.size or sorted(table.reshape(-1).tolist()) != list(range(count)):
            return
        wanted = np.empty(count, np.int64)
        wanted[table] = table.min(axis=1, keepdims=True)
        for grid, digits in self._meshes:
            for chosen in _subsets(digits, table.shape[1]):
                found = np.empty(count, np.int64)
                found[grid] = grid.min(axis=chosen, keepdims=True)
                if np.array_equal(found, wanted):
                    yield from (
                        _in_order(grid, digits, chosen, table) if ordered else [_told([digits[k] for k in chosen])]
                    )


def _subsets(digits: Sequence[_Digit], size: int) -> Iterator[tuple[int, ...]]:
    """Choices of digits that make groups of a size."""
    for count in range(1, len(digits) + 1):
        for chosen in itertools.combinations(range(len(digits)), count):
            if math.prod(digits[k].size for k in chosen) == size:
                yield chosen


def _in_order(grid: np.ndarray, digits: Sequence[_Digit], chosen: tuple[int, ...], table: np.ndarray) -> Iterator[str]:
    """The digits in the order in which they give the table's, where one does."""
    wanted = sorted(table.tolist())
    rest = [k for k in range(len(digits)) if k not in chosen]
    for order in itertools.islice(itertools.permutations(chosen), _MAX_ORDERS):
        if sorted(grid.transpose([*rest, *order]).reshape(-1, table.shape[1]).tolist()) == wanted:
            yield _told([digits[k] for k in order])


def _devices(table: np.ndarray) -> str:
    """Groups by the numbers of their devices, the first ones only."""
    rows = [f"{{{','.join(map(str, _shortened(row.tolist())))}}}" for row in table[:2]]
    more = f",… ({len(table)} groups)" if len(table) > 2 else ""
    return "devices " + ",".join(rows) + more


def _shortened(row: list[int]) -> list[object]:
    return [*row[:4], "…", row[-1]] if len(row) > 8 else list(row)


def _digits(mesh: Mesh) -> tuple[np.ndarray, list[_Digit]]:
    """The devices by digits, major first: prime factors of the axes, or whole axes where these are too many."""
    axes = [(name, size) for name, size in mesh.axes if size > 1]
    digits = [digit for name, size in axes for digit in _factors(name, size)]
    if len(digits) > _MAX_DIGITS:
        digits = [_Digit(name, 1, size, size) for name, size in axes]
    if len(digits) > _MAX_DIGITS:
        return mesh.order, []
    return mesh.order.reshape([digit.size for digit in digits]), digits


def _factors(name: str, size: int) -> Iterator[_Digit]:
    pre, rest = 1, size
    for divisor in range(2, size + 1):
        while rest % divisor == 0:
            yield _Digit(name, pre, divisor, size)
            pre, rest = pre * divisor, rest // divisor


def _told(digits: Sequence[_Digit]) -> str:
    """Axes by name; digits of one axis that follow each other are one sub-axis, or the axis if they are all of it."""
    joined: list[_Digit] = []
    for digit in digits:
        last = joined[-1] if joined else None
        if last is not None and last.axis == digit.axis and last.pre * last.size == digit.pre:
            joined[-1] = _Digit(digit.axis, last.pre, last.size * digit.size, digit.whole)
        else:
            joined.append(digit)
    names = [_name(digit) for digit in joined]
    return f"mesh axis {names[0]}" if len(names) == 1 else f"mesh axes {', '.join(names[:-1])} and {names[-1]}"


def _name(digit: _Digit) -> str:
    ref = AxisRef(digit.axis, digit.pre, None if digit.size == digit.whole else digit.size)
    return str(ref).replace('"', "'")
