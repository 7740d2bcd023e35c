"""Sharding texts against XLA's own reading of them, and what each marking becomes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardproof.validator.read.hlo_sharding import parse_hlo_sharding
from shardproof.validator.read.sdy_sharding import parse_sdy_mesh, parse_sdy_sharding
from shardproof.validator.read.shardings import Sharding, ShardingKind
from shardproof.validator.read.tiling import Mesh


def single(text: str) -> Sharding:
    sharding = parse_hlo_sharding(text)
    assert isinstance(sharding, Sharding)
    return sharding


def by_xla(text: str):
    """XLA's tile assignment: tile counts with subgroup dimensions, and devices in that shape."""
    from jaxlib import _hlo  # pyright: ignore[reportAttributeAccessIssue]

    sharding = _hlo.HloSharding.from_string(text)
    if "mesh" in text:
        sharding = _hlo.HloSharding.v3_to_v2_sharding(sharding)
    if sharding.is_replicated():
        return None
    dims = tuple(sharding.tile_assignment_dimensions())
    return np.array(sharding.tile_assignment_devices()).reshape(dims)


@st.composite
def iota_shardings(draw: st.DrawFn) -> tuple[str, int]:
    """A V2 sharding and how many of its dimensions are tiles."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    perm = draw(st.permutations(range(len(factors))))
    total = int(np.prod(factors))
    tiles: list[int] = []
    rest = total
    for _ in range(draw(st.integers(1, 3))):
        tile = draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
        tiles.append(tile)
        rest //= tile
    tiles.append(rest)
    spelled = ",".join(map(str, factors))
    transposed = f"T({','.join(map(str, perm))})" if len(factors) > 1 else ""
    text = f"{{devices=[{','.join(map(str, tiles))}]<=[{spelled}]{transposed} last_tile_dim_replicate}}"
    return text, len(tiles) - 1


@settings(max_examples=150, deadline=None)
@given(iota_shardings())
def test_tile_assignment_is_xlas(case: tuple[str, int]):
    text, rank = case
    expected = by_xla(text)
    found = single(text)
    if expected is None or all(count == 1 for count in expected.shape[:rank]):
        assert found.kind is ShardingKind.REPLICATED or found.tiles == (1,) * rank
        return
    assert found.kind is ShardingKind.TILED
    assert found.devices is not None
    assert found.tiles == expected.shape[:rank]
    # XLA sorts the copies of a tile, whose order bears no meaning, and drops a last dimension of one copy.
    assert np.array_equal(np.sort(found.devices, -1), np.sort(expected.reshape(found.devices.shape), -1))


def spell_axis(name: str, pre: int, size: int, total: int, quote: str) -> str:
    return f"{quote}{name}{quote}" if size == total else f"{quote}{name}{quote}:({pre}){size}"


@st.composite
def named_shardings(draw: st.DrawFn) -> tuple[str, str, str]:
    """The same sharding as XLA's named text and as Shardy's text, with the mesh's text for Shardy."""
    sizes = draw(st.lists(st.sampled_from([2, 3, 4, 6, 8]), min_size=1, max_size=3))
    names = "xyz"[: len(sizes)]
    count = int(np.prod(sizes))
    order = draw(st.one_of(st.none(), st.permutations(range(count))))
    if order is not None and list(order) == list(range(count)):
        order = None
    pieces: list[tuple[str, int, int, int]] = []
    for name, total in zip(names, sizes, strict=True):
        size = draw(st.sampled_from([n for n in range(2, total + 1) if total % n == 0]))
        pieces.append((name, 1, size, total))
        if size < total and draw(st.booleans()):
            pieces.append((name, size, total // size, total))
    chosen = draw(st.permutations(pieces))[: draw(st.integers(0, len(pieces)))]
    dims: list[list[tuple[str, int, int, int]]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for piece in chosen:
        dims[draw(st.integers(0, len(dims) - 1))].append(piece)
    for dim in dims:
        # Two neighbouring halves of one axis would be that axis.
        for first, second in pairwise(list(dim)):
            if first[0] == second[0] and first[1] * first[2] == second[1] and second in dim:
                dim.remove(second)

    def spell(quote: str) -> str:
        return ", ".join("{" + ", ".join(spell_axis(*piece, quote) for piece in dim) + "}" for dim in dims)

    axes = [f"{name}{{}}={size}" for name, size in zip(names, sizes, strict=True)]
    listed = "" if order is None else f", device_ids=({','.join(map(str, order))})"
    hlo_mesh = ",".join("'" + axis.format("'") for axis in axes)
    sdy_mesh = ", ".join('"' + axis.format('"') for axis in axes)
    sdy_order = "" if order is None else f", device_ids=[{', '.join(map(str, order))}]"
    return (
        f"{{mesh[{hlo_mesh}]{listed}, [{spell(chr(39))}]}}",
        f"#sdy.sharding<@mesh, [{spell(chr(34))}]>",
        f"#sdy.mesh<[{sdy_mesh}]{sdy_order}>",
    )


@settings(max_examples=150, deadline=None)
@given(named_shardings())
def test_named_sharding_is_xlas_and_shardys(case: tuple[str, str, str]):
    hlo, sdy, mesh = case
    found = single(hlo)
    again = parse_sdy_sharding(sdy, {"mesh": parse_sdy_mesh(mesh)})
    assert isinstance(again, Sharding)
    assert (again.kind, again.tiles) == (found.kind, found.tiles)
    expected = by_xla(hlo)
    if found.kind is ShardingKind.REPLICATED:
        assert expected is None or all(count == 1 for count in expected.shape[: hlo.count("{") - 1])
        return
    assert expected is not None
    assert found.devices is not None
    assert again.devices is not None
    assert np.array_equal(found.devices, again.devices)
    rank = len(found.tiles)
    assert found.tiles == expected.shape[:rank]
    # The order of copies bears no meaning.
    assert np.array_equal(np.sort(found.devices, -1), np.sort(expected.reshape(found.devices.shape), -1))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{replicated}", ShardingKind.REPLICATED),
        ("{mesh[], replicated}", ShardingKind.REPLICATED),
        ("{mesh['x'=2,'y'=4], replicated}", ShardingKind.REPLICATED),
        ("{mesh['x'=2,'y'=4], [{}, {?}]}", ShardingKind.REPLICATED),
        ("{manual}", ShardingKind.MANUAL),
        ("{mesh['x'=2,'y'=4], manual}", ShardingKind.MANUAL),
        ("{devices=[1,1,8]<=[8] last_tile_dims={manual}}", ShardingKind.MANUAL),
        ("{unknown}", ShardingKind.UNSUPPORTED),
        ("{unreduced}", ShardingKind.UNSUPPORTED),
        ("{mesh['x'=2,'y'=4], unreduced}", ShardingKind.UNSUPPORTED),
        ("{replicated shard_as 3}", ShardingKind.UNSUPPORTED),
        ("{devices=[2,1]<=[2] shard_like 3}", ShardingKind.UNSUPPORTED),
        ("{devices=[2,2,2]<=[8] last_tile_dims={unreduced, replicated}}", ShardingKind.UNSUPPORTED),
        ("{mesh['x'=2,'y'=4], [{'x'}], unreduced={'y'}}", ShardingKind.UNSUPPORTED),
        ("{mesh['x'=2,'y'=4], [{'x'}], manual={'y'}}", ShardingKind.UNSUPPORTED),
        ("{devices=[2,1]<=[2]}", ShardingKind.TILED),
        ('{devices=[2,1]<=[2] metadata={op_name="a{b"}}', ShardingKind.TILED),
        ("{mesh['x'=2,'y'=4], [{'x'}], replicated={'y'}}", ShardingKind.TILED),
        ("{maximal device=3}", ShardingKind.MAXIMAL),
        ("{maximal_mesh[device_id=3]}", ShardingKind.MAXIMAL),
        ("{single_device[device_id=3]}", ShardingKind.MAXIMAL),
    ],
)
def test_kind(text: str, kind: ShardingKind):
    assert single(text).kind is kind
    assert single(text).text == text


def test_subgroups_keep_their_structure():
    sharding = single("{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}")
    assert sharding.marked == ("manual",)
    assert sharding.tiles == (2,)
    assert sharding.devices is not None
    assert sharding.devices.tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    swapped = single("{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}")
    assert swapped.devices is not None
    assert swapped.devices.tolist() == [[[0, 2], [1, 3]], [[4, 6], [5, 7]]]


def test_a_listed_order_is_kept():
    sharding = single("{devices=[2,1,2]3,1,0,2 last_tile_dim_replicate}")
    assert sharding.devices is not None
    assert sharding.devices.tolist() == [[[3, 1]], [[0, 2]]]


def test_tuple_sharding_with_comments():
    leaves = parse_hlo_sharding(
        "{{replicated}, {devices=[2,1]<=[2]}, {manual}, {replicated}, {replicated}, "
        "/*index=5*/{mesh['x'=2], [{'x'}, {}]}}"
    )
    assert isinstance(leaves, tuple)
    assert [leaf.kind.name for leaf in leaves] == "REPLICATED TILED MANUAL REPLICATED REPLICATED TILED".split()
    assert leaves[5].text == "{mesh['x'=2], [{'x'}, {}]}"
    assert parse_hlo_sharding("{}") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{devices=[2,2]<=[8]}", "4 tiles but 8 devices"),
        ("{devices=[2,2]0,1,2,2}", "stands twice"),
        ("{devices=[0]<=[1]}", "bad tile counts"),
        ("{devices=[2,2]<=[2,2]T(0,0)}", "bad permutation"),
        ("{devices=[2,2]<=[4]", "end of text"),
        ("{maximal device=-1}", "negative device"),
        ("{mesh[], manual}", "needs a mesh"),
        ("{mesh['x'=2,'x'=4], [{'x'}]}", "names repeat"),
        ("{mesh['x'=2], [{'z'}]}", "unknown mesh axis 'z'"),
        ("{mesh['x'=2], [{'x','x'}]}", "used twice"),
        ("{mesh['y'=4], [{'y':(1)2,'y':(2)2}]}", "are one sub-axis"),
        ("{mesh['y'=4], [{'y':(1)4}]}", "bad sub-axis"),
        ("{mesh['y'=4], [{'y':(1)3}]}", "does not divide"),
        ("{mesh['y'=8], [{'y':(1)4}, {'y':(2)2}]}", "used twice"),
        ("{mesh['x'=2,'y'=4], [{}], replicated={'y','x'}}", "not in mesh order"),
        ("{mesh['x'=2], device_ids=(0,1), [{'x'}]}", "plain order"),
        ("{mesh['x'=2], device_ids=(1,1), [{'x'}]}", "twice"),
        ("{mesh['x'=4000000000,'y'=4000000000], [{'x'}]}", "beyond the limit"),
        ("{nonsense}", "unknown sharding"),
    ],
)
def test_refused(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_hlo_sharding(text)


MESHES = {
    "mesh": Mesh.of([("x", 2), ("y", 4)]),
    "turned": Mesh.of([("x", 2), ("y", 2)], [3, 2, 1, 0]),
    "one": parse_sdy_mesh("#sdy.mesh<[], device_ids=[3]>"),
    "empty": parse_sdy_mesh("#sdy.mesh<[]>"),
}


@pytest.mark.parametrize(
    ("text", "kind", "devices"),
    [
        ('#sdy.sharding<@mesh, [{"x"}p0, {?}p1]>', "TILED", [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]),
        (
            '#sdy.sharding<@mesh, [{"y":(1)2, "x", ?}], replicated={"y":(2)2}>',
            "TILED",
            [[0, 1], [4, 5], [2, 3], [6, 7]],
        ),
        ('#sdy.sharding<@turned, [{"y"}]>', "TILED", [[3, 1], [2, 0]]),
        ('#sdy.sharding<mesh<["a"=2], device_ids=[1, 0]>, [{"a"}]>', "TILED", [[1], [0]]),
        ('#sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>', "UNSUPPORTED", [[[0], [1], [2], [3]], [[4], [5], [6], [7]]]),
        ("#sdy.sharding<@mesh, []>", "REPLICATED", None),
        ("#sdy.sharding<@one, []>", "MAXIMAL", [3]),
        ("#sdy.sharding<@empty, [{}]>", "REPLICATED", None),
    ],
)
def test_shardy(text: str, kind: str, devices: list | None):
    sharding = parse_sdy_sharding(text, MESHES)
    assert isinstance(sharding, Sharding)
    assert sharding.kind.name == kind
    assert devices == (None if sharding.devices is None else sharding.devices.tolist())


def test_shardy_per_value():
    shardings = parse_sdy_sharding('#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>', MESHES)
    assert isinstance(shardings, tuple)
    assert [sharding.kind.name for sharding in shardings] == ["TILED", "REPLICATED"]


@pytest.mark.parametrize("text", ['#sdy.sharding<@lost, [{"x"}]>', '#sdy.sharding<@mesh, [{"x"}], summed={"y"}>'])
def test_shardy_refused(text: str):
    with pytest.raises(ValueError, match="unknown"):
        parse_sdy_sharding(text, MESHES)
