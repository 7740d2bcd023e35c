"""Inputs that tell programs apart: seeded, never uniform, with the integers at which clamps and masks matter."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

import ml_dtypes
import numpy as np

from ..read.ir import DType, Program, Region, TensorType
from .floats import round_to
from .numbers import STORAGE


class Profile(enum.Enum):
    """A manner of drawing inputs; the value is what reports print."""

    GENERIC = "generic"
    """Floats of many magnitudes; integers small enough to be indices."""
    SMALL_INTEGERS = "small integers"
    """Distinct small whole numbers, which every float type of 8 bits of mantissa adds without rounding."""
    BOUNDARY = "boundary"
    """Integers at and beyond the ends of every dimension and of their type; floats with zeros and both signs."""
    NEGATIVE = "negative"
    """Floats all below zero, so that a zero that leaks in wins every maximum; integers that are often negative."""
    POSITIVE = "positive"
    """Floats above zero, so that roots and logarithms are numbers; square matrices have a dominant diagonal."""
    DUPLICATES = "duplicates"
    """Few different values, so that keys tie and indices collide."""
    SPARSE = "sparse"
    """One entry in a few differs from zero."""


def extents(programs: Iterable[Program]) -> tuple[int, ...]:
    """The dimension extents that occur anywhere in the programs, ascending: what indices are compared with."""
    found: set[int] = set()
    pending: list[Region] = []
    for program in programs:
        pending.append(program.body)
    while pending:
        region = pending.pop()
        values = [*region.arguments, *(result for op in region.ops for result in op.results)]
        for value in values:
            if isinstance(value.type, TensorType):
                found.update(value.type.shape)
        for op in region.ops:
            pending.extend(op.regions)
    return tuple(sorted(found - {0}))


def draw(
    types: Sequence[TensorType], profile: Profile, rng: np.random.Generator, limits: Sequence[int]
) -> list[np.ndarray]:
    """One array of plain numbers for each type, in the type's own storage and range."""
    # All integers of one draw are indices below the same bound more often than not; small bounds hit every operand.
    bound = max(2, int(rng.choice(np.asarray(limits or (2,)))))
    return [_draw_one(tensor, profile, rng, limits, bound) for tensor in types]


def _draw_one(
    tensor: TensorType, profile: Profile, rng: np.random.Generator, limits: Sequence[int], bound: int
) -> np.ndarray:
    dtype, shape = tensor.dtype, tensor.shape
    if dtype.is_bool:
        share = 0.2 if profile is Profile.SPARSE else 0.5
        return rng.random(shape) < share
    if dtype.is_integer:
        return _integers(tensor, profile, rng, limits, bound)
    if dtype.is_complex:
        return round_to(_floats(shape, profile, rng, 255) + 1j * _floats(shape, profile, rng, 255), dtype)
    values = _floats(shape, profile, rng, 255 if dtype.bits >= 16 else 15)
    if dtype is DType.F8E8M0FNU:
        values = np.where(values == 0, 1.0, np.abs(values))
    greatest = float(ml_dtypes.finfo(STORAGE[dtype]).max)
    return round_to(np.clip(values, -greatest, greatest), dtype)


def _floats(shape: tuple[int, ...], profile: Profile, rng: np.random.Generator, distinct: int) -> np.ndarray:
    """`distinct` is how many neighbouring whole numbers the type can tell apart."""
    size = int(np.prod(shape, dtype=np.int64))
    match profile:
        case Profile.GENERIC:
            values = rng.standard_normal(size) * np.exp2(rng.integers(-2, 3, size))
        case Profile.SMALL_INTEGERS:
            # As often ascending or descending as in no order.
            order = rng.choice(np.array([0, 1, 2]))
            places = rng.permutation(size) if order == 0 else np.arange(size)[:: 1 if order == 1 else -1]
            values = (places % distinct - distinct // 2 + rng.integers(0, 2)).astype(np.float64)
        case Profile.BOUNDARY:
            values = np.where(rng.random(size) < 0.3, 0.0, rng.standard_normal(size))
        case Profile.NEGATIVE:
            values = -np.abs(rng.standard_normal(size)) - 0.25
        case Profile.POSITIVE:
            values = np.exp2(rng.uniform(-3, 1, size))
            if len(shape) >= 2 and shape[-1] == shape[-2]:
                values = values.reshape(shape) + 2.0 * shape[-1] * np.eye(shape[-1])
        case Profile.DUPLICATES:
            values = rng.choice(np.array([-1.5, -1.0, 0.5, 2.0]), size)
        case Profile.SPARSE:
            values = np.where(rng.random(size) < 0.2, rng.standard_normal(size) + 2.0, 0.0)
    return values.reshape(shape)


def _integers(
    tensor: TensorType, profile: Profile, rng: np.random.Generator, limits: Sequence[int], bound: int
) -> np.ndarray:
    least, greatest = tensor.dtype.integer_range
    shape = tensor.shape
    within = rng.integers(0, min(bound, greatest + 1), shape)
    match profile:
        case Profile.GENERIC | Profile.SMALL_INTEGERS | Profile.POSITIVE:
            values = within
        case Profile.DUPLICATES:
            values = rng.choice(rng.choice(min(bound, greatest + 1), 2, replace=False), shape)
        case Profile.SPARSE:
            values = np.where(rng.random(shape) < 0.2, within, 0)
        case Profile.BOUNDARY | Profile.NEGATIVE:
            near = boundary_integers(tensor.dtype, limits)
            if profile is Profile.NEGATIVE:
                near = [n for n in near if n < 0] or near
            chosen = np.asarray(near, object)[rng.integers(0, len(near), shape)]
            values = np.where(rng.random(shape) < 0.6, chosen, within)
    clipped = np.clip(np.asarray(values, object), least, greatest)
    return np.asarray(clipped).astype(STORAGE[tensor.dtype]).reshape(shape)


def boundary_integers(dtype: DType, limits: Sequence[int]) -> list[int]:
    """Integers of the type at, just inside and just beyond the ends of dimensions of the given extents."""
    least, greatest = dtype.integer_range
    near = {0, 1, -1, -2, least, least + 1, greatest - 1, greatest}
    for extent in limits:
        near |= {extent - 2, extent - 1, extent, extent + 1, -extent, -extent - 1, extent // 2}
    return sorted(n for n in near if least <= n <= greatest)
