"""Sliding windows with strides, dilations and padding, shared by reductions and convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..read.ir import Op
from .regions import combine, run_elementwise

if TYPE_CHECKING:
    from .machine import Machine


@dataclass(frozen=True, slots=True)
class Window:
    """A window over every dimension of a tensor: five lists, one entry a dimension."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    window_dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    @staticmethod
    def of(op: Op) -> Window:
        """The window of a reduce_window or select_and_scatter; what the op leaves out has its default."""
        size = tuple(int(n) for n in op.attributes["window_dimensions"])

        def listed(name: str) -> tuple[int, ...]:
            given = op.attributes.get(name)
            return (1,) * len(size) if given is None else tuple(int(n) for n in given)

        strides, base, dilations = (listed(name) for name in ("window_strides", "base_dilations", "window_dilations"))
        return Window(size, strides, base, dilations, padding_pairs(op, len(size)))

    def positions(self, dimension: int, extent: int) -> tuple[np.ndarray, np.ndarray]:
        """Element index [outputs, window] along one dimension, and whether there is an element at all."""
        low, high = self.padding[dimension]
        base = self.base_dilations[dimension]
        dilated = 0 if extent == 0 else (extent - 1) * base + 1
        span = (self.size[dimension] - 1) * self.window_dilations[dimension] + 1
        total = low + dilated + high
        outputs = 0 if total < span else (total - span) // self.strides[dimension] + 1
        starts = np.arange(outputs) * self.strides[dimension] - low
        places = starts[:, None] + np.arange(self.size[dimension]) * self.window_dilations[dimension]
        present = (places >= 0) & (places < dilated) & (places % base == 0)
        return np.where(present, places // base, 0), present

    def reaches_out(self, shape: tuple[int, ...]) -> bool:
        """Whether some window over a tensor of this shape has a place without an element."""
        return not all(self.positions(k, extent)[1].all() for k, extent in enumerate(shape))


def padding_pairs(op: Op, rank: int) -> tuple[tuple[int, int], ...]:
    """The `padding` attribute as (low, high) pairs, zero where it is left out."""
    given = op.attributes.get("padding")
    if given is None:
        return ((0, 0),) * rank
    return tuple((int(low), int(high)) for low, high in np.asarray(given).reshape(rank, 2))


def windows_of(array: np.ndarray, fill: np.ndarray, window: Window) -> np.ndarray:
    """The elements of every window [lanes, *outputs, window size]; `fill` [lanes] stands where there is none."""
    rank = array.ndim - 1
    present = np.ones((1,) * (2 * rank), np.bool_)
    result = array
    # Dimension k becomes the pair (output, place in window); outputs gather in front, places behind.
    for k in range(rank):
        index, there = window.positions(k, array.shape[k + 1])
        if array.shape[k + 1] == 0:
            shape = list(result.shape)
            shape[k + 1 : k + 2] = index.shape
            lanes = fill.reshape(-1, *(1,) * (len(shape) - 1))
            result = np.broadcast_to(lanes, shape)
        else:
            result = np.take(result, index, axis=k + 1)
        result = np.moveaxis(result, k + 2, -1)
        shape = [1] * (2 * rank)
        shape[k], shape[rank + k] = there.shape
        present = present & there.reshape(shape)
    result = np.where(present[None], result, fill.reshape(-1, *(1,) * (2 * rank)))
    outputs = result.shape[1 : rank + 1]
    return result.reshape(result.shape[0], *outputs, int(np.prod(window.size, dtype=np.int64)))


def select_and_scatter(
    machine: Machine, op: Op, operand: np.ndarray, source: np.ndarray, initial: np.ndarray
) -> np.ndarray:
    """Pick in each window the element that `select` prefers, in row-major order, and scatter the source there."""
    select, scatter = op.regions
    window = Window.of(op)
    lanes, shape = operand.shape[0], operand.shape[1:]
    size = int(np.prod(shape, dtype=np.int64))
    numbers = np.broadcast_to(np.arange(size).reshape(1, *shape), operand.shape)
    places = windows_of(numbers, np.full(lanes, -1), window)
    values = windows_of(operand, np.zeros(lanes, operand.dtype), window)
    best_place, best_value = places[..., 0], values[..., 0]
    for k in range(1, places.shape[-1]):
        place, value = places[..., k], values[..., k]
        (keep,) = run_elementwise(machine, select, [best_value, value])
        # Padding is no candidate.
        take = (place >= 0) & ((best_place < 0) | ~keep)
        best_place, best_value = np.where(take, place, best_place), np.where(take, value, best_value)
    result = np.broadcast_to(initial.reshape(-1, 1), (lanes, size)).copy()
    dtypes = [op.operands[1].tensor.dtype]
    flat_place, flat_source = best_place.reshape(lanes, -1), source.reshape(lanes, -1)
    rows = np.arange(lanes)
    for j in range(flat_place.shape[1]):
        place = flat_place[:, j]
        # A window that lies in padding altogether selects nothing.
        there = rows[place >= 0]
        old = result[there, place[there]]
        (new,) = combine(machine, scatter, [old], [flat_source[there, j]], dtypes, there)
        result[there, place[there]] = new
    return result.reshape(operand.shape)
