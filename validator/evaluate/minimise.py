"""Making a counterexample small: the same shapes, few elements that are not zero, small whole numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .errors import OutOfTime

Difference = tuple[int, int, tuple[int, ...], Any, Any]
"""Result, device, index, expected and actual element."""

Differ = Callable[[Sequence[np.ndarray]], Difference | None]

MAX_TRIALS = 400
"""Simpler inputs that are tried in all."""

_MAX_VALUES = 24
"""Elements that are not zero, up to which each one's number is made simpler by itself."""


def minimised(
    differ: Differ, inputs: Sequence[np.ndarray], found: Difference, deadline: float
) -> tuple[tuple[np.ndarray, ...], Difference]:
    """Inputs on which the programs still differ, as simple as can be found until the deadline, and the difference.

    Inputs that do not matter become zero; of the others, whole numbers take the place of fractions, then as many
    elements as possible become zero, and then each of those that are left the smallest number that shows a difference.
    """
    state = _Minimising(differ, list(inputs), found, deadline)
    for k in range(len(state.inputs)):
        state.try_input(k, np.zeros_like(state.inputs[k]))
    for step in (_rounded, _thinned, _lowered):
        for k in range(len(state.inputs)):
            if state.inputs[k].any():
                step(state, k)
    return tuple(state.inputs), state.found


class _Minimising:
    """The simplest inputs so far."""

    def __init__(self, differ: Differ, inputs: list[np.ndarray], found: Difference, deadline: float) -> None:
        self.inputs = inputs
        self.found = found
        self._differ = differ
        self._deadline = deadline
        self._left = MAX_TRIALS

    def try_input(self, k: int, candidate: np.ndarray) -> bool:
        """Take a candidate for input k if the programs still differ; False without a trial where time is up."""
        if self._left <= 0 or time.monotonic() > self._deadline:
            return False
        self._left -= 1
        trial = [*self.inputs[:k], candidate, *self.inputs[k + 1 :]]
        try:
            difference = self._differ(trial)
        except OutOfTime:
            return False
        if difference is None:
            return False
        self.inputs[k], self.found = candidate, difference
        return True

    @property
    def over(self) -> bool:
        return self._left <= 0 or time.monotonic() > self._deadline


def _rounded(state: _Minimising, k: int) -> None:
    """Whole numbers in place of fractions, ones in place of whole numbers."""
    array = state.inputs[k]
    if array.dtype.kind in "b":
        return
    ones = (array != 0).astype(array.dtype)
    if np.array_equal(array, ones) or state.try_input(k, ones):
        return
    if array.dtype.kind not in "iuc":
        state.try_input(k, (np.rint(array.astype(np.float64)) + 0.0).astype(array.dtype))


def _thinned(state: _Minimising, k: int) -> None:
    """Zeros in place of ever smaller parts of the elements, until no one of those left can be spared."""
    parts = 2
    while not state.over:
        places = np.flatnonzero(state.inputs[k])
        if len(places) < 2:
            if len(places):
                state.try_input(k, _without(state.inputs[k], places))
            return
        parts = min(parts, len(places))
        chunks = np.array_split(places, parts)
        # one part alone first: what matters is often in one place
        alone = parts > 1 and any(
            state.try_input(k, _without(state.inputs[k], np.setdiff1d(places, chunk))) for chunk in chunks
        )
        if alone:
            parts = 2
            continue
        spared = [state.try_input(k, _without(state.inputs[k], chunk)) for chunk in chunks]
        if any(spared):
            parts = max(parts - sum(spared), 2)
        elif parts == len(places):
            return
        else:
            parts *= 2


def _without(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    flat = np.array(array).reshape(-1)
    flat[places] = 0
    return flat.reshape(array.shape)


def _lowered(state: _Minimising, k: int) -> None:
    """The smallest of a few numbers in place of each element that is left."""
    places = np.flatnonzero(state.inputs[k])
    if len(places) > _MAX_VALUES:
        return
    for place in places:
        for number in _lower(state.inputs[k].reshape(-1)[place]):
            flat = np.array(state.inputs[k]).reshape(-1)
            flat[place] = number
            if state.try_input(k, flat.reshape(state.inputs[k].shape)):
                break


def _lower(value: Any) -> Iterator[Any]:
    """Numbers that are simpler than a value, simplest first."""
    if value.dtype.kind in "bc":
        return
    number = float(value)
    if not np.isfinite(number):
        return
    for other in (1, -1, 2, -2, 3, -3):
        if abs(other) >= abs(number) and not (abs(other) == abs(number) and other > 0 > number):
            return
        if other > 0 or value.dtype.kind != "u":
            yield value.dtype.type(other)
    whole = np.rint(number)
    if whole != number:
        yield value.dtype.type(whole)
