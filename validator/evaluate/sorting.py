"""Sorting of many rows at once by a comparator region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..read.ir import DType, Region
from .arithmetic import Arithmetic
from .regions import run_elementwise

if TYPE_CHECKING:
    from .machine import Machine


def sort_rows(
    machine: Machine, comparator: Region, rows: list[np.ndarray], *, last_first: bool = False
) -> tuple[list[np.ndarray], bool]:
    """Sort the last axis of all operands together; also whether any keys are equal but their elements are not.

    Equal elements stay in order, or come in the opposite order if `last_first` is set. A bitonic network over
    (element, original place): every stage compares all its pairs in one run of the region.
    """
    extent = rows[0].shape[-1]
    size = 1 << max(extent - 1, 0).bit_length()
    if last_first:
        rows = [row[..., ::-1] for row in rows]
    places = np.broadcast_to(np.arange(size), (*rows[0].shape[:-1], size)).copy()
    # Rows are filled up with elements that come last, whatever the comparator says of their values.
    padded = [np.concatenate([row] + [row[..., :1]] * (size - extent), axis=-1) if extent else row for row in rows]
    block = 2
    while block <= size:
        distance = block // 2
        while distance:
            low = np.array([i for i in range(size) if not i & distance], np.int64)
            high, ascending = low | distance, (low & block) == 0
            later = _precedes(machine, comparator, padded, places, high, low, extent)
            swap = np.where(ascending, later, ~later)
            for array in (*padded, places):
                left, right = array[..., low], array[..., high]
                array[..., low], array[..., high] = np.where(swap, right, left), np.where(swap, left, right)
            distance //= 2
        block *= 2
    result = [row[..., :extent] for row in padded]
    return result, _ties(machine, comparator, result)


def _compare(machine: Machine, comparator: Region, left: list[np.ndarray], right: list[np.ndarray]) -> np.ndarray:
    arguments = [array for pair in zip(left, right, strict=True) for array in pair]
    return run_elementwise(machine, comparator, arguments)[0]


def _precedes(
    machine: Machine,
    comparator: Region,
    rows: list[np.ndarray],
    places: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    extent: int,
) -> np.ndarray:
    """Whether the elements at `first` come strictly before those at `second` in the stable order."""
    left, right = [row[..., first] for row in rows], [row[..., second] for row in rows]
    before = _compare(machine, comparator, left, right)
    after = _compare(machine, comparator, right, left)
    mine, other = places[..., first], places[..., second]
    present = before | (~after & (mine < other))
    return np.where((mine >= extent) | (other >= extent), mine < other, present)


def _ties(machine: Machine, comparator: Region, rows: list[np.ndarray]) -> bool:
    if rows[0].shape[-1] < 2:
        return False
    left, right = [row[..., :-1] for row in rows], [row[..., 1:] for row in rows]
    different = np.zeros(left[0].shape, np.bool_)
    for one, other in zip(left, right, strict=True):
        different |= one != other
    return bool((different & ~_compare(machine, comparator, left, right)).any())


def top_k_rows(
    arithmetic: Arithmetic, x: np.ndarray, dtype: DType, k: int, *, last_first: bool = False
) -> tuple[list[np.ndarray], bool]:
    """The greatest `k` elements of the last axis, greatest first in the total order, and their int32 places.

    Of equal elements the one at the lower place comes first, or at the higher place if `last_first` is set. The second
    result tells whether that mattered.
    """
    keys = arithmetic.sort_keys(x, dtype)
    if last_first:
        places = np.argsort(keys, axis=-1, kind="stable")[..., ::-1]
    else:
        places = (x.shape[-1] - 1 - np.argsort(keys[..., ::-1], axis=-1, kind="stable"))[..., ::-1]
    reached = np.take_along_axis(keys, places[..., : k + 1], axis=-1)
    tied = bool((reached[..., 1:] == reached[..., :-1]).any())
    places = places[..., :k]
    return [np.take_along_axis(x, places, axis=-1), places.astype(np.int32)], tied
