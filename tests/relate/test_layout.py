"""Layouts as relations against the evaluator's shards, for random shardings: uneven, permuted, with copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardproof.validator.evaluate.layout import defined_elements, shard, shard_shape
from shardproof.validator.read.shardings import Sharding, ShardingKind
from shardproof.validator.relation.build import Builder
from shardproof.validator.relation.layout import layout, local_shape, mesh_for, tile_vectors
from shardproof.validator.relation.mesh import NO_DEVICES, coarsest_mesh, mesh_of
from shardproof.validator.relation.store import Store
from tests.tools.points import enumerate_set

from .pairs import Tensor, program

some = settings(max_examples=120, deadline=None)


@st.composite
def shardings(draw: st.DrawFn) -> tuple[tuple[int, ...], Sharding]:
    """A shape and a sharding of it over 2 to 24 devices, the devices in any order."""
    rank = draw(st.integers(1, 3))
    tiles = draw(st.tuples(*[st.sampled_from([1, 1, 2, 3, 4])] * rank))
    copies = draw(st.sampled_from([1, 1, 2, 3]))
    count = int(np.prod(tiles)) * copies
    shape = draw(st.tuples(*[st.integers(0, 9)] * rank))
    numbers = np.arange(count)
    order = draw(st.sampled_from(["straight", "turned", "shuffled"]))
    if order == "turned" and rank > 1:
        numbers = numbers.reshape(*tiles[::-1], copies).transpose(*range(rank)[::-1], rank)
    if order == "shuffled":
        numbers = np.asarray(draw(st.permutations(list(range(count)))), np.int64)
    devices = np.ascontiguousarray(numbers).reshape(*tiles, copies).astype(np.int64)
    return shape, Sharding(ShardingKind.TILED, f"tiles {tiles}, {copies} copies, {order}", tiles, devices)


def as_shards(builder: Builder, shape: tuple[int, ...], sharding: Sharding | None) -> np.ndarray:
    """What every device holds of a tensor that holds its own positions, by the layout's relation; -1 for padding."""
    local = local_shape(shape, sharding)
    rel = layout(builder, shape, sharding, local)
    assert not isinstance(rel, str), rel
    mesh = builder.mesh
    result = np.full((mesh.num_devices, *local), -1, np.int64)
    pairs = enumerate_set(rel.map.wrap().flatten()).astype(np.int64)
    digits = len(mesh.sizes)
    device = np.ravel_multi_index(pairs[:, :digits].T, mesh.sizes) if digits else np.zeros(len(pairs), np.int64)
    places = (device, *pairs[:, digits : digits + len(local)].T)
    assert len(set(zip(*(axis.tolist() for axis in places), strict=True))) == len(pairs), "one element a point"
    result[places] = np.ravel_multi_index(pairs[:, digits + len(local) :].T, shape) if shape else 0
    return result


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape))).reshape(shape)


@given(shardings())
@some
def test_layouts_are_the_evaluators_shards(case: tuple[tuple[int, ...], Sharding]) -> None:
    shape, sharding = case
    assert sharding.devices is not None
    count = sharding.devices.size
    assert local_shape(shape, sharding) == shard_shape(shape, sharding)
    wanted = np.where(
        defined_elements(shape, sharding, count), shard(numbered(shape), sharding, count) if min(shape) else -1, -1
    )
    for mesh in (coarsest_mesh(count, tile_vectors(sharding), []), mesh_of((count,)) if count > 1 else NO_DEVICES):
        assert np.array_equal(as_shards(Builder(Store(), mesh), shape, sharding), wanted)


@pytest.mark.parametrize("shape", [(), (4,), (3, 0, 2)])
def test_a_tensor_without_a_sharding_is_whole_everywhere(shape: tuple[int, ...]) -> None:
    replicated = Sharding(ShardingKind.REPLICATED, "{replicated}")
    for sharding in (None, replicated):
        found = as_shards(Builder(Store(), mesh_of((2, 3))), shape, sharding)
        assert np.array_equal(found, np.broadcast_to(numbered(shape), (6, *shape)))


def test_what_is_not_modelled_is_refused() -> None:
    builder = Builder(Store(), mesh_of((4,)))
    tiled = Sharding(ShardingKind.TILED, "tiled", (4,), np.arange(4).reshape(4, 1))
    assert isinstance(layout(builder, (8,), tiled, (8,)), str), "shards of another shape"
    twice = Sharding(ShardingKind.TILED, "twice", (4,), np.array([[0], [1], [2], [2]]))
    assert isinstance(layout(builder, (8,), twice, (2,)), str), "a device twice"
    fewer = Sharding(ShardingKind.TILED, "fewer", (2,), np.array([[0], [1]]))
    assert isinstance(layout(builder, (8,), fewer, (4,)), str), "devices left out"
    for kind in (ShardingKind.MAXIMAL, ShardingKind.MANUAL, ShardingKind.UNSUPPORTED):
        assert isinstance(layout(builder, (8,), Sharding(kind, kind.value, devices=np.zeros(1, np.int64)), (8,)), str)


@pytest.mark.parametrize(
    ("sharding", "sizes"),
    [
        ("{devices=[6]<=[6]}", (6,)),
        ("{devices=[2,1,3]<=[6] last_tile_dim_replicate}", (2, 3)),
        ("{devices=[3,1,2]<=[2,3]T(1,0) last_tile_dim_replicate}", (2, 3)),
        ("{devices=[3,2]<=[6]}", (3, 2)),
        ("{devices=[2,3]<=[3,2]T(1,0)}", (3, 2)),
    ],
)
def test_the_mesh_of_a_program_follows_its_shardings(sharding: str, sizes: tuple[int, ...]) -> None:
    tensor = Tensor((12, 12), "f32", sharding) if sharding.count(",") else Tensor((12,), "f32", sharding)
    spec = program(f"%out = stablehlo.negate %a0 : {tensor}", [tensor], tensor, 6)
    assert mesh_for(spec, spec).sizes == sizes
