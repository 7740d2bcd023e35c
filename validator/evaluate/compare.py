"""The search for inputs on which two programs differ.

A difference counts when the exact arithmetic sees it, so that no rounding is mistaken for one, and the wide arithmetic
sees it at the same element beyond what rounding can explain, so that no law the exact arithmetic lacks is mistaken for
one. Elements of the implementation's results that no layout defines are never looked at.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..read.dependencies import has_loops
from ..read.ir import Program
from .arithmetic import Arithmetic, Native, Wide, seems_rounded
from .errors import OutOfTime, UnsupportedInExact
from .exact import Exact
from .field import special
from .inputs import Profile, draw, extents
from .jittered import Jittered
from .layouts import Layouts, layouts_of
from .machine import Machine
from .minimise import Difference, minimised

_RELATIVE = 1e-6
"""Least relative difference, against the greater of the two elements and a thousandth of the result's greatest."""
_PERTURBATION = 1e-12
_NOISE_FACTOR = 100.0
_ROUNDING_FACTOR = 8.0
"""A difference must stand out by this much from what the programs' own rounding changes."""
_TRIAL_SHARE = 0.25
"""Greatest part of the budget that one trial of programs with loops may take; inputs on which one does not end are
given up. Without loops a trial takes as long as any other, and only a finished one tells anything."""
_MAX_SECONDS_WITHIN_BOUNDS = 2.0
"""Time that is spent on inputs without indices out of bounds once others are found on which the programs differ."""
_MIN_SECONDS_TO_MINIMISE = 1.0
_MAX_SECONDS_TO_MINIMISE = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """Logical inputs on which an element of a device's result is not what it must be.

    `inputs` are the original program's, one array each; `expected` and `actual` are in the wide arithmetic.
    `seed` also draws what stands in the padding of uneven shards.
    """

    inputs: tuple[np.ndarray, ...]
    result: int
    device: int
    index: tuple[int, ...]
    expected: Any
    actual: Any
    seed: int
    profile: str
    out_of_bounds: tuple[str, ...] = ()
    """Ops of the original, with their places, that meet an index out of bounds; no inputs without were found."""

    @property
    def matter(self) -> tuple[int, ...]:
        """Numbers of the inputs that are not zero throughout: the others may be zero and the programs differ still."""
        return tuple(number for number, value in enumerate(self.inputs) if np.any(value))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One run of both programs: what each device must hold, where that is defined, and what it holds."""

    expected: list[np.ndarray]
    defined: list[np.ndarray]
    actual: list[np.ndarray]
    telling: bool
    """False where the specification leaves open what these inputs give, or an assumption excludes them."""
    unordered: bool
    """Whether the implementation may choose an order that shows in its results."""


@dataclass(frozen=True, slots=True)
class Search:
    """Two programs, how their values correspond, and what inputs are assumed away.

    Over the reals, those are for which the original computes what is no real number (`reals.py`).
    """

    before: Program
    after: Program
    layouts: Layouts
    assume_indices_in_bounds: bool = False
    over_reals: bool = False

    def run(
        self,
        inputs: Sequence[np.ndarray],
        arithmetic: Arithmetic,
        seed: int,
        deadline: float | None,
        backwards: bool = False,
    ) -> _Outcome:
        """Run both programs on logical inputs, the implementation `backwards` where the specification lets it."""
        spec, wanted = self._original(inputs, arithmetic, deadline)
        poison = np.random.default_rng([seed, 0xBAD])
        implementation = Machine(self.after, arithmetic, deadline=deadline, backwards=backwards)
        given = implementation.run(self.after, self.layouts.to_after(inputs, poison))
        telling = not (spec.undefined or spec.unordered or implementation.undefined)
        if self.assume_indices_in_bounds and spec.out_of_bounds:
            telling = False
        expected, defined, actual = [], [], []
        for (want, mask), got, result in zip(self.layouts.expected(wanted), given, self.after.results, strict=True):
            dtype = result.value.tensor.dtype
            expected.append(arithmetic.unload(np.asarray(want), dtype))
            actual.append(arithmetic.unload(got, dtype))
            defined.append(mask)
        return _Outcome(expected, defined, actual, telling, bool(implementation.unordered))

    def _original(
        self, inputs: Sequence[np.ndarray], arithmetic: Arithmetic, deadline: float | None
    ) -> tuple[Machine, list[np.ndarray]]:
        """The machine that has run the original on logical inputs, and the results."""
        devices = self.layouts.before_devices
        partitions = self.after.num_partitions if devices == self.after.num_devices else None
        # the flags of floats tell of real numbers in the wide arithmetic only: the others round, or hash
        of_reals = self.over_reals and isinstance(arithmetic, Wide)
        spec = Machine(devices, arithmetic, deadline=deadline, num_partitions=partitions, of_reals=of_reals)
        return spec, spec.run(self.before, self.layouts.to_before(inputs))

    def out_of_bounds(self, inputs: Sequence[np.ndarray]) -> tuple[str, ...]:
        """What meets an index out of bounds in the original, on inputs on which it was run before, and so ends."""
        return tuple(sorted(self._original(inputs, Wide(), None)[0].out_of_bounds))

    def differ(self, inputs: Sequence[np.ndarray], seed: int, deadline: float | None = None) -> Difference | None:
        """The first difference that counts: result, device, index, expected and actual element."""
        exact = Exact(seed)
        seen: list[np.ndarray] | None = None
        infinite: list[np.ndarray] = []
        try:
            outcome = self.run(inputs, exact, seed, deadline)
        except UnsupportedInExact:
            pass
        else:
            if not outcome.telling:
                return None
            seen = []
            for want, mask, got, result in zip(
                outcome.expected, outcome.defined, outcome.actual, self.after.results, strict=True
            ):
                seen.append(mask & (want != got))
                is_float = result.value.tensor.dtype.is_float
                infinite.append(special(want) != special(got) if is_float else np.zeros(want.shape, np.bool_))
            if not any(mask.any() for mask in seen):
                return None
        outcome = self.run(inputs, Wide(), seed, deadline)
        if not outcome.telling:
            return None
        if seen is None:
            seen, faithful = outcome.defined, False
            infinite = [np.zeros(mask.shape, np.bool_) for mask in seen]
        else:
            faithful = not exact.hashed
        candidates = [
            mask & _apart(want, got, defined, unbounded)
            for mask, want, got, defined, unbounded in zip(
                seen, outcome.expected, outcome.actual, outcome.defined, infinite, strict=True
            )
        ]
        if not any(mask.any() for mask in candidates):
            return None
        if outcome.unordered:
            # What differs whichever of two opposite orders is taken is not taken to be the order's doing.
            other = self.run(inputs, Wide(), seed, deadline, backwards=True)
            for k, unbounded in enumerate(infinite):
                candidates[k] &= _apart(other.expected[k], other.actual[k], other.defined[k], unbounded)
        if not faithful:
            noise = self._noise(inputs, outcome, seed, deadline)
            for k, level in enumerate(noise):
                difference = _distance(outcome.expected[k], outcome.actual[k], level.dtype)
                candidates[k] &= ~np.isfinite(difference) | (difference > _NOISE_FACTOR * level)
        for levels_of in (self._rounding, self._rounded_constants):
            for k, level in enumerate(levels_of(inputs, outcome, seed, deadline) if _any(candidates) else ()):
                difference = _distance(outcome.expected[k], outcome.actual[k], level.dtype)
                candidates[k] &= ~np.isfinite(difference) | (difference > _ROUNDING_FACTOR * level)
        for number, mask in enumerate(candidates):
            if mask.any():
                device, *index = (int(k) for k in np.argwhere(mask)[0])
                place = (device, *index)
                return number, device, tuple(index), outcome.expected[number][place], outcome.actual[number][place]
        return None

    def _rounding(
        self, inputs: Sequence[np.ndarray], outcome: _Outcome, seed: int, deadline: float | None
    ) -> list[np.ndarray]:
        """How far each element moves, in either program, when it is computed in its own types instead of wide ones.

        A compiler may compute a part of a program more or less precisely (a folded constant is rounded once): what it
        changes thereby is of this size, and is no error.
        """
        own = self.run(inputs, Native(), seed, deadline)
        levels = []
        for k, want in enumerate(outcome.expected):
            level = np.zeros(want.shape, _difference_type(want))
            for wide, native in ((want, own.expected[k]), (outcome.actual[k], own.actual[k])):
                change = _distance(native, wide, level.dtype)
                # what underflows or overflows to no number at all tells nothing of what the wide one comes to
                lost = np.where(np.isfinite(wide), np.inf, 0)
                np.maximum(level, np.where(np.isnan(change), lost, change), out=level)
            levels.append(level)
        return levels

    def _rounded_constants(
        self, inputs: Sequence[np.ndarray], outcome: _Outcome, seed: int, deadline: float | None
    ) -> list[np.ndarray]:
        """How far each element moves, in either program, when rounded constants move by half of their last digit.

        A compiler that makes a Fourier transform a product with cosines has π rounded: what should be 0 then is not.
        """
        if not (has_rounded_constants(self.before) or has_rounded_constants(self.after)):
            return []
        moved = Wide(moved=np.random.default_rng([seed, 0xC057]))
        other = self.run(inputs, moved, seed, deadline)
        levels = []
        for k, want in enumerate(outcome.expected):
            level = np.zeros(want.shape, _difference_type(want))
            for old, new in ((want, other.expected[k]), (outcome.actual[k], other.actual[k])):
                change = _distance(new, old, level.dtype)
                np.maximum(level, np.where(np.isfinite(change), change, 0), out=level)
            levels.append(level)
        return levels

    def _noise(
        self, inputs: Sequence[np.ndarray], outcome: _Outcome, seed: int, deadline: float | None
    ) -> list[np.ndarray]:
        """How far each element moves, in either program, when float inputs move by a hair, or each rounding does.

        Rounding mostly acts like a still smaller motion of the inputs, so a difference far above this is none of its.
        """
        levels = [np.zeros(want.shape, _difference_type(want)) for want in outcome.expected]
        for trial in range(2):
            rng = np.random.default_rng([seed, 0x105E, trial])
            moved = [_perturbed(array, rng) for array in inputs]
            others = [
                self.run(moved, Wide(), seed, deadline),
                self.run(inputs, Jittered(2 * seed + trial), seed, deadline),
            ]
            for other, (k, level) in itertools.product(others, enumerate(levels)):
                for old, new in ((outcome.expected[k], other.expected[k]), (outcome.actual[k], other.actual[k])):
                    change = _distance(new, old, level.dtype)
                    np.maximum(level, np.where(np.isfinite(change), change, 0), out=level)
        return levels


def _any(masks: Sequence[np.ndarray]) -> bool:
    return any(mask.any() for mask in masks)


def _distance(left: np.ndarray, right: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """How far apart elements are; NaN where both are the same infinity or either is NaN."""
    with np.errstate(invalid="ignore"):
        return np.abs(np.subtract(left, right, dtype=dtype))


def _difference_type(array: np.ndarray) -> np.dtype:
    return array.dtype if array.dtype.kind in "fc" else np.dtype(np.float64)


def _perturbed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind in "iub":
        return array
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return wide * (1 + _PERTURBATION * rng.uniform(-1, 1, array.shape))


def _apart(want: np.ndarray, got: np.ndarray, defined: np.ndarray, unbounded: np.ndarray) -> np.ndarray:
    """Where two results of the wide arithmetic differ by more than rounding ever makes up.

    A finite and an infinite element differ only where `unbounded` says the exact arithmetic, which cannot overflow,
    saw the same; two that are the same infinity or both no number never do.
    """
    if want.dtype.kind in "iub":
        return want != got
    finite = np.isfinite(want) & np.isfinite(got)
    left, right = np.where(finite, want, 0), np.where(finite, got, 0)
    size = np.maximum(np.abs(left), np.abs(right))
    greatest = np.max(np.where(defined, size, 0), initial=0.0)
    same = (want == got) | (np.isnan(want) & np.isnan(got))
    return np.where(finite, np.abs(left - right) > _RELATIVE * np.maximum(size, 1e-3 * greatest), unbounded & ~same)


def has_rounded_constants(program: Program) -> bool:
    """Whether a program has a float constant that is likely to be a rounded number."""
    regions = [program.body]
    while regions:
        for op in regions.pop().ops:
            regions += op.regions
            if op.name == "stablehlo.constant":
                dtype = op.results[0].tensor.dtype
                if seems_rounded(np.asarray(op.attributes["value"]), dtype).any():
                    return True
    return False


def search_counterexample(
    before: Program,
    after: Program,
    *,
    seed: int = 0,
    budget_seconds: float = 10.0,
    max_rounds: int = 8,
    assume_indices_in_bounds: bool = False,
    over_reals: bool = False,
    layouts: Layouts | None = None,
) -> Counterexample | None:
    """Try inputs of every profile until one tells the programs apart, the rounds are done or time is up.

    Raises `EvaluationError` for programs that cannot be evaluated. `layouts` says how values correspond where the
    programs' own shardings do not.
    """
    deadline = time.monotonic() + budget_seconds
    search = Search(before, after, layouts or layouts_of(before, after), assume_indices_in_bounds, over_reals)
    within = replace(search, assume_indices_in_bounds=True)
    judged, outside = search, None
    limits = extents((before, after))
    share = _TRIAL_SHARE if has_loops(before) or has_loops(after) else 1.0
    for number, profile in _schedule(max_rounds):
        rng = np.random.default_rng([seed, number])
        inputs = draw(search.layouts.logical, profile, rng, limits)
        trial = _Trial(tuple(inputs), seed + number, profile)
        trial_deadline = min(deadline, time.monotonic() + budget_seconds * share)
        try:
            found = judged.differ(inputs, trial.seed, trial_deadline)
        except OutOfTime:
            found = None
        if found is not None:
            if judged.assume_indices_in_bounds or not judged.out_of_bounds(inputs):
                return _minimal(within, trial, found, deadline)
            # who reads it asks at once whether the programs differ for indices within bounds as well
            judged, outside = within, (trial, found)
            deadline = min(deadline, time.monotonic() + _MAX_SECONDS_WITHIN_BOUNDS)
        if time.monotonic() > deadline:
            break
    return None if outside is None else _minimal(search, *outside, deadline)


class _Trial(NamedTuple):
    """Inputs that were tried, and how they were drawn."""

    inputs: tuple[np.ndarray, ...]
    seed: int
    profile: Profile


def _minimal(search: Search, trial: _Trial, found: Difference, deadline: float) -> Counterexample:
    """The smallest inputs that show the difference, after at most the time that there is for that."""
    now = time.monotonic()
    until = max(min(deadline, now + _MAX_SECONDS_TO_MINIMISE), now + _MIN_SECONDS_TO_MINIMISE)
    differ = partial(search.differ, seed=trial.seed, deadline=until)
    small, (result, device, index, expected, actual) = minimised(differ, trial.inputs, found, until)
    outside = () if search.assume_indices_in_bounds else search.out_of_bounds(small)
    return Counterexample(small, result, device, index, expected, actual, trial.seed, trial.profile.value, outside)


def _schedule(max_rounds: int) -> Iterator[tuple[int, Profile]]:
    """Boundary inputs take every second turn after the first round: they have the most cases to hit."""
    number = itertools.count()
    for turn in range(max_rounds):
        for profile in Profile:
            yield next(number), profile
            if turn and profile is not Profile.BOUNDARY:
                yield next(number), Profile.BOUNDARY


def replay(
    counterexample: Counterexample, before: Program, after: Program, layouts: Layouts | None = None
) -> tuple[Any, Any]:
    """The expected and the actual element of a counterexample, evaluated anew."""
    search = Search(before, after, layouts or layouts_of(before, after))
    outcome = search.run(counterexample.inputs, Wide(), counterexample.seed, None)
    place = (counterexample.device, *counterexample.index)
    return outcome.expected[counterexample.result][place], outcome.actual[counterexample.result][place]
