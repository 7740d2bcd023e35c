"""Relations written from shapes against numpy: affine text, boxes, reshapes, tables and device permutations."""

from __future__ import annotations

import itertools

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardproof.validator.relation.build import (
    Builder,
    affine,
    box_constraints,
    names,
    reshape_groups,
    strides_of,
)
from shardproof.validator.relation.mesh import MAX_BOXES, NO_DEVICES, Mesh, mesh_of
from shardproof.validator.relation.store import Store

from .finite import images, pairs_of, points_of

some = settings(max_examples=60, deadline=None)
MESHES = [NO_DEVICES, mesh_of((3,)), mesh_of((2, 3)), mesh_of((2, 2, 3))]


def _cells(mesh: Mesh, shape: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(device coordinates, local index) of all points."""
    devices = [tuple(map(int, row)) for row in mesh.coordinates]
    return [(d, i) for d in devices for i in np.ndindex(*shape)]


@given(st.lists(st.integers(-9, 9), max_size=3), st.integers(-12, 12))
@some
def test_affine_text_means_what_it_says(factors: list[int], constant: int) -> None:
    variables = names("v", len(factors))
    text = affine(list(zip(factors, variables, strict=True)), constant)
    relation = isl.Map(f"{{[{','.join(variables)}] -> [{text}]}}")
    for point in itertools.product((-3, 0, 2), repeat=len(factors)):
        fixed = relation.intersect_domain(isl.Set(f"{{[{','.join(map(str, point))}]}}"))
        value = fixed.range().dim_min_val(0).to_python()
        assert value == sum(f * x for f, x in zip(factors, point, strict=True)) + constant


def test_box_constraints() -> None:
    assert box_constraints(["a", "b"], [2, 3]) == ["0 <= a < 2", "0 <= b < 3"]
    assert names("x", 3) == ["x0", "x1", "x2"]
    assert strides_of("x", [0, 2], (5, 9, 4)) == [(4, "x0"), (1, "x2")]


@pytest.mark.parametrize("mesh", MESHES, ids=lambda mesh: str(mesh.sizes))
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0, 2)])
def test_points_and_identities(mesh: Mesh, shape: tuple[int, ...]) -> None:
    builder = Builder(Store(), mesh)
    cells = _cells(mesh, shape)
    assert points_of(builder.points(shape)) == {d + i for d, i in cells}
    assert pairs_of(builder.identity(shape)) == {(d + i, d + i) for d, i in cells}
    assert pairs_of(builder.local_identity(shape)) == {(d + i, i) for d, i in cells}
    if len(shape) == 2:
        assert points_of(builder.where(shape, ["i1 = 2 - i0"])) == {d + i for d, i in cells if i[1] == 2 - i[0]}
        turned = builder.moved(shape, ["i1", "i0 + 5"])
        assert pairs_of(turned) == {(d + i, (*d, i[1], i[0] + 5)) for d, i in cells}
        linked = builder.linked(shape, ["x"], ["i1 = 2*x + i0", "0 <= x < 2"])
        assert pairs_of(linked) == {(d + i, (*d, x)) for d, i in cells for x in range(2) if i[1] == 2 * x + i[0]}


def _factorisations(size: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of this many elements, with ones in between."""

    def shapes(rest: int, depth: int) -> list[tuple[int, ...]]:
        if depth == 0:
            return [(rest,)]
        return [(d, *more) for d in range(1, rest + 1) if rest % d == 0 for more in shapes(rest // d, depth - 1)]

    return st.sampled_from([shape for depth in range(4) for shape in shapes(size, depth)])


@given(st.sampled_from([1, 6, 12, 24]).flatmap(lambda n: st.tuples(_factorisations(n), _factorisations(n))))
@some
def test_reshape_keeps_the_row_major_position(case) -> None:
    shape, source = case
    builder = Builder(Store(), mesh_of((3,)))
    places = np.stack(np.unravel_index(np.arange(int(np.prod(source))), source), axis=-1).reshape(*shape, len(source))
    expected = {(d + i, (*d, *map(int, places[i]))) for d, i in _cells(builder.mesh, shape)}
    assert pairs_of(builder.reshape(shape, source)) == expected
    assert builder.reshape(shape, source) is builder.reshape(shape, source)


@given(st.sampled_from([1, 6, 12, 24]).flatmap(lambda n: st.tuples(_factorisations(n), _factorisations(n))))
@some
def test_reshape_groups_are_runs_of_equal_size(case) -> None:
    shape, source = case
    groups = reshape_groups(shape, source)
    assert [k for left, _ in groups for k in left] == list(range(len(shape)))
    assert [k for _, right in groups for k in right] == list(range(len(source)))
    for left, right in groups:
        assert np.prod([shape[k] for k in left]) == np.prod([source[k] for k in right])


@pytest.mark.parametrize(("shape", "source"), [((0, 3), (3, 0)), ((), (1, 1)), ((1,), ()), ((2, 0), (0,))])
def test_reshape_of_few_elements(shape: tuple[int, ...], source: tuple[int, ...]) -> None:
    builder = Builder(Store(), NO_DEVICES)
    expected = {(i, (0,) * len(source)) for i in np.ndindex(*shape)}
    assert pairs_of(builder.reshape(shape, source)) == expected


@given(st.sampled_from(MESHES), st.sampled_from([(), (4,), (2, 3)]), st.integers(0, 10_000), st.booleans())
@some
def test_tables(mesh: Mesh, shape: tuple[int, ...], seed: int, alike: bool) -> None:
    rng = np.random.default_rng(seed)
    count = 1 if alike else mesh.num_devices
    grid = rng.integers(-3, 3, (count, *shape))
    rel = Builder(Store(), mesh).table(grid, shape)
    if rel is None:
        # only a table of more numbers than boxes may be too much
        assert grid.size > MAX_BOXES
        return
    whole = np.broadcast_to(grid, (mesh.num_devices, *shape))
    numbers = {tuple(map(int, row)): k for k, row in enumerate(mesh.coordinates)}
    assert pairs_of(rel) == {(d + i, (int(whole[(numbers[d], *i)]),)) for d, i in _cells(mesh, shape)}


@given(st.sampled_from(MESHES[1:]), st.integers(0, 10_000), st.sampled_from(["any", "permuted", "shifted", "holes"]))
@some
def test_related_devices(mesh: Mesh, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    count = mesh.num_devices
    sources = {
        "any": rng.integers(-1, count, count),
        "permuted": rng.permutation(count),
        "shifted": np.roll(np.arange(count), int(rng.integers(count))),
        "holes": np.where(rng.integers(0, 2, count) == 1, rng.permutation(count), -1),
    }[kind]
    rel = Builder(Store(), mesh).devices_related(sources)
    coordinates = [tuple(map(int, row)) for row in mesh.coordinates]
    expected = {(coordinates[d], coordinates[s]) for d, s in enumerate(sources) if s >= 0}
    if rel is None:
        assert not expected
        return
    assert pairs_of(rel) == expected
    assert all(len(found) == 1 for found in images(pairs_of(rel)).values())


def test_no_devices_are_related_without_a_mesh() -> None:
    assert Builder(Store(), NO_DEVICES).devices_related(np.zeros(1, np.int64)) is None
