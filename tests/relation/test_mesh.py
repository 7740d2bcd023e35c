"""Device coordinates, affine fits and boxes on random vectors, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardproof.validator.relation.mesh import (
    MAX_BOXES,
    NO_DEVICES,
    affine_fit,
    boxes,
    coarsest_mesh,
    mesh_of,
)

some = settings(max_examples=80, deadline=None)
SHAPES = [(3,), (6,), (12,), (2, 3), (3, 2), (2, 2, 3), (2, 3, 2), (4, 3), (2, 4), (2, 2, 2), (3, 5), (256,), (16, 16)]


def test_coordinates_are_the_digits_of_device_numbers() -> None:
    for shape in SHAPES:
        mesh = mesh_of(shape)
        assert mesh.num_devices == np.prod(shape)
        assert np.array_equal(mesh.coordinates.T, np.unravel_index(np.arange(mesh.num_devices), shape))
        vector = np.random.default_rng(0).integers(0, 99, mesh.num_devices)
        assert np.array_equal(mesh.grid(vector)[tuple(mesh.coordinates.T)], vector)
    assert NO_DEVICES.num_devices == 1 and NO_DEVICES.coordinates.shape == (1, 0)


grids = st.sampled_from(SHAPES).flatmap(
    lambda shape: st.tuples(
        st.just(shape),
        st.integers(-50, 50),
        st.tuples(*[st.integers(-7, 7)] * len(shape)),
        st.one_of(st.none(), st.tuples(st.integers(0, int(np.prod(shape)) - 1), st.sampled_from([-1, 1, 12]))),
    )
)


@given(grids)
@some
def test_affine_fit_looks_at_every_element(case) -> None:
    shape, constant, coefficients, change = case
    grid = constant + sum(c * axis for c, axis in zip(coefficients, np.indices(shape), strict=True))
    if change is None:
        found = affine_fit(grid)
        assert found is not None
        assert found[0] == constant
        assert all(a == b for a, b, extent in zip(found[1], coefficients, shape, strict=True) if extent > 1)
        return
    grid.reshape(-1)[change[0]] += change[1]
    found = affine_fit(grid)
    if found is not None:
        again = found[0] + sum(c * axis for c, axis in zip(found[1], np.indices(shape), strict=True))
        assert np.array_equal(again, grid)
    else:
        # no affine function passes through a grid with three elements on some axis and one of them moved
        assert max(shape) > 2 or len(shape) > 1


@pytest.mark.parametrize("value", [1 << 62, -(1 << 62), np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_affine_fit_does_not_wrap_around(value: int) -> None:
    assert affine_fit(np.array([0, value, 2 * value & 0xFFFF], np.int64)) is None
    step = 1 << 63
    wrapped = np.array([(k * step + (1 << 62)) % (1 << 64) - (1 << 63) for k in range(4)], np.int64)
    assert affine_fit(wrapped) is None


def _filled(shape: tuple[int, ...], found) -> np.ndarray:
    """The grid that boxes describe; every element in exactly one of them."""
    values, seen = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for box in found:
        where = tuple(slice(*bound) for bound in box.bounds)
        axes = np.indices(shape)
        whole = box.constant + sum(c * axis for c, axis in zip(box.coefficients, axes, strict=True))
        values[where] = np.broadcast_to(whole, shape)[where]
        seen[where] += 1
    assert (seen == 1).all()
    return values


@given(
    st.sampled_from([(3,), (6,), (12,), (2, 3), (4, 3), (2, 2, 3), (5, 7), (24,)]),
    st.integers(0, 10_000),
    st.booleans(),
)
@some
def test_boxes_are_a_partition(shape: tuple[int, ...], seed: int, permuted: bool) -> None:
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    grid = (rng.permutation(count) if permuted else rng.integers(-2, 2, count)).reshape(shape)
    found = boxes(grid)
    assert found is not None, "no more boxes than elements"
    assert np.array_equal(_filled(shape, found), grid)
    assert len(found) <= count


@pytest.mark.parametrize(
    ("grid", "most"),
    [
        (np.arange(12).reshape(3, 4), 1),
        (np.roll(np.arange(12), 5), 2),
        (np.roll(np.arange(12).reshape(3, 4), 1, axis=1), 2),
        (np.where(np.arange(256) < 7, -1, np.arange(256) - 7), 2),
        (np.minimum(np.arange(2048) * 16, 30_000), 2),
        (np.array([0, 2, 4, 1, 3, 5]), 2),
    ],
)
def test_few_boxes_are_enough(grid: np.ndarray, most: int) -> None:
    found = boxes(grid)
    assert found is not None and len(found) <= most
    assert np.array_equal(_filled(grid.shape, found), grid)


def test_what_takes_too_many_boxes_is_refused() -> None:
    irregular = np.random.default_rng(1).permutation(4 * MAX_BOXES)
    assert boxes(irregular) is None


def _ways_to_read(mesh, vector: np.ndarray) -> bool:
    return affine_fit(mesh.grid(vector)) is not None


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if np.prod(shape) <= 24], ids=lambda shape: "x".join(map(str, shape))
)
def test_axes_of_any_mesh_stay_affine(shape: tuple[int, ...]) -> None:
    """Each axis of a mesh, and each joint axis, is affine in the digits; no digits are finer than needed."""
    count = int(np.prod(shape))
    numbers = np.arange(count)
    vectors = []
    for axes in itertools.chain(*(itertools.permutations(range(len(shape)), k) for k in (1, 2))):
        digits = np.unravel_index(numbers, shape)
        value = np.zeros(count, np.int64)
        for axis in axes:
            value = value * shape[axis] + digits[axis]
        vectors.append(value)
    mesh = coarsest_mesh(count, vectors, [shape])
    assert mesh.num_devices == count
    assert all(_ways_to_read(mesh, vector) for vector in vectors)
    assert len(mesh.sizes) <= len(shape)


@given(st.sampled_from([3, 6, 8, 12, 24]), st.integers(0, 10_000))
@some
def test_a_mesh_is_right_for_permuted_devices_or_leaves_them_to_boxes(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = [rng.permutation(count), rng.permutation(count) // 3, np.arange(count) % 3, np.arange(count)[::-1]]
    mesh = coarsest_mesh(count, vectors, [])
    assert mesh.num_devices == count
    assert all(size > 1 for size in mesh.sizes)
    for vector in vectors:
        found = boxes(mesh.grid(vector))
        assert found is not None
        assert np.array_equal(_filled(mesh.sizes, found).reshape(-1), vector)
    assert _ways_to_read(mesh, vectors[3])


def test_digits_are_joined_where_nothing_tells_them_apart() -> None:
    assert coarsest_mesh(2048, [np.arange(2048), np.arange(2048) // 8], [(256, 8)]).sizes == (256, 8)
    assert coarsest_mesh(12, [np.arange(12)], [(3, 4), (2, 6)]).sizes == (12,)
    assert coarsest_mesh(6, [np.arange(6) % 3], [(2, 3)]).sizes == (2, 3)
    assert coarsest_mesh(1, [], []) is NO_DEVICES
