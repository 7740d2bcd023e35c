"""Replica groups and permute pairs: every notation and mode against its definition, device by device."""

import gzip
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from read.programs import CORPUS, DATA, ops_named, stablehlo
from shardproof.validator.read import ReadError, read_program
from shardproof.validator.read.attributes import DeviceGroups
from shardproof.validator.read.groups import GroupMode, device_groups, group_mode, mesh_groups
from shardproof.validator.read.tiling import AxisRef, Mesh

HLO = """HloModule m, replica_count={replicas}, num_partitions={partitions}
add {{
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT a = f32[] add(x, y)
}}
ENTRY e {{
  p = f32[8] parameter(0)
  ROOT r = f32[8] {op}
}}
"""


def groups_of(op: str, replicas: int = 1, partitions: int = 8) -> list[list[int]]:
    program = read_program(HLO.format(op=op, replicas=replicas, partitions=partitions))
    (op_,) = [op for op in program.body.ops if op.regions or "collective" in op.name or "all_" in op.name]
    attribute = op_.attributes.get("replica_groups", op_.attributes.get("source_target_pairs"))
    assert attribute is not None
    return attribute.table.tolist()


FLAT = "all-reduce(p), channel_id=1, use_global_device_ids=true, to_apply=add, replica_groups="


@pytest.mark.parametrize(
    ("spelling", "groups"),
    [
        ("{{0,1,2,3},{4,5,6,7}}", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("{{7,0},{1,6},{5,2},{3,4}}", [[7, 0], [1, 6], [5, 2], [3, 4]]),
        ("[2,4]<=[8]", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("[4,2]<=[2,4]T(1,0)", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("[4,2]<=[2,2,2]T(0,2,1)", [[0, 2], [1, 3], [4, 6], [5, 7]]),
        ("mesh['x'=2,'y'=4] {'y'}", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mesh['x'=2,'y'=4] {'x'}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['x'=2,'y'=4] {'y','x'}", [[0, 4, 1, 5, 2, 6, 3, 7]]),
        ("mesh['x'=2,'y'=4] {'y':(1)2}", [[0, 2], [1, 3], [4, 6], [5, 7]]),
        ("mesh['x'=2,'y'=4] {'y':(2)2,'x'}", [[0, 4, 1, 5], [2, 6, 3, 7]]),
        ("mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x'}", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'y'}", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['x'=2,'y'=4], device_ids=(7,6,5,4,3,2,1,0) {'x'}", [[7, 3], [6, 2], [5, 1], [4, 0]]),
    ],
)
def test_notation(spelling: str, groups: list[list[int]]):
    assert groups_of(FLAT + spelling) == groups


@pytest.mark.parametrize(
    ("op", "groups"),
    [
        ("all-reduce(p), to_apply=add, replica_groups={}", [[0, 3], [1, 4], [2, 5]]),
        ("all-reduce(p), to_apply=add, replica_groups={{1,0}}", [[3, 0], [4, 1], [5, 2]]),
        ("all-reduce(p), channel_id=1, to_apply=add, replica_groups={}", [[0, 1, 2, 3, 4, 5]]),
        ("all-reduce(p), channel_id=1, to_apply=add, replica_groups={{0},{1}}", [[0, 1, 2], [3, 4, 5]]),
        (FLAT + "{{0,5},{1,4},{2,3}}", [[0, 5], [1, 4], [2, 3]]),
        ("all-to-all(p), channel_id=1, dimensions={0}, replica_groups={{2},{0},{1}}", [[2], [0], [1], [5], [3], [4]]),
        ("all-to-all(p), dimensions={0}, replica_groups={{1,0}}", [[3, 0], [4, 1], [5, 2]]),
        ("collective-permute(p), channel_id=1, source_target_pairs={{0,2},{2,1}}", [[0, 2], [2, 1], [3, 5], [5, 4]]),
        ("collective-permute(p), source_target_pairs={{0,1}}", [[0, 3], [1, 4], [2, 5]]),
    ],
)
def test_mode_with_replicas_and_partitions(op: str, groups: list[list[int]]):
    assert groups_of(op, replicas=2, partitions=3) == groups


@pytest.mark.parametrize(
    ("name", "channel", "flat", "mode"),
    [
        ("stablehlo.all_gather", 0, False, GroupMode.CROSS_REPLICA),
        ("stablehlo.reduce_scatter", 2, False, GroupMode.CROSS_REPLICA_AND_PARTITION),
        ("stablehlo.all_reduce", 2, True, GroupMode.FLATTENED_IDS),
        ("stablehlo.all_to_all", 0, False, GroupMode.CROSS_REPLICA),
        ("stablehlo.collective_permute", 2, False, GroupMode.CROSS_PARTITION),
        ("stablehlo.collective_broadcast", 2, False, GroupMode.CROSS_PARTITION),
    ],
)
def test_modes(name: str, channel: int, flat: bool, mode: GroupMode):
    assert group_mode(name, channel, flat) is mode


def test_flattened_ids_need_a_channel():
    with pytest.raises(ValueError, match="needs a channel"):
        group_mode("stablehlo.all_reduce", 0, True)


@st.composite
def meshes_and_axes(draw: st.DrawFn) -> tuple[list[tuple[str, int]], list[int], list[tuple[str, int, int]]]:
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3))
    axes = list(zip("xyz", sizes, strict=False))
    order = draw(st.permutations(range(int(np.prod(sizes)))))
    chosen: list[tuple[str, int, int]] = []
    for name, total in draw(st.permutations(axes)):
        size = draw(st.sampled_from([n for n in range(1, total + 1) if total % n == 0]))
        pre = draw(st.sampled_from([n for n in range(1, total // size + 1) if (total // size) % n == 0]))
        if draw(st.booleans()) and (size > 1 or total == 1):
            chosen.append((name, pre, size))
    return axes, list(order), chosen


@settings(max_examples=200, deadline=None)
@given(meshes_and_axes())
def test_mesh_groups_by_definition(case: tuple[list[tuple[str, int]], list[int], list[tuple[str, int, int]]]):
    """Two devices share a group if they differ only in the digits of the listed axes; those digits give the order."""
    axes, order, chosen = case
    sizes = [size for _, size in axes]
    keys: dict[tuple, list[tuple[tuple, int]]] = {}
    for device, place in zip(order, product(*map(range, sizes)), strict=True):
        coordinate = dict(zip([name for name, _ in axes], place, strict=True))
        total = dict(axes)
        digits, rest = [], dict(coordinate)
        for name, pre, size in chosen:
            minor = total[name] // (pre * size)
            digit = coordinate[name] // minor % size
            digits.append(digit)
            rest[name] -= digit * minor
        keys.setdefault(tuple(rest.values()), []).append((tuple(digits), device))
    expected = {tuple(device for _, device in sorted(members)) for members in keys.values()}
    refs = [AxisRef(name, pre, size) for name, pre, size in chosen]
    found = mesh_groups(Mesh.of(axes, order), refs)
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected)


MESH_GROUPS = """  %0 = "stablehlo.all_reduce"(%a) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [{axes}]>, use_global_device_ids}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>"""


@pytest.mark.parametrize(
    ("axes", "groups"),
    [
        ('#stablehlo.axis_ref<name = "y">', [[7, 6, 5, 4], [3, 2, 1, 0]]),
        (
            '#stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>, #stablehlo.axis_ref<name = "x">',
            [[7, 3, 6, 2], [5, 1, 4, 0]],
        ),
    ],
)
def test_mesh_groups_in_stablehlo(axes: str, groups: list[list[int]]):
    mesh = 'sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>'
    program = read_program(stablehlo(MESH_GROUPS.format(axes=axes), top=mesh))
    (op,) = ops_named(program, "stablehlo.all_reduce")
    assert op.attributes["replica_groups"].table.tolist() == groups
    assert program.num_partitions == 8
    assert program.notes == ("device counts inferred from shardings and groups: 1 replicas, 8 partitions",)


def test_real_mesh_with_device_order():
    """XLA's own dump groups by `{'axis_0'}` of a transposed mesh; the conversion to StableHLO would lose the order."""
    path = DATA / "take_vocab_after.hlo.txt"
    assert "device_ids=([2,4]T(1,0)) {'axis_0'}" in path.read_text()
    (op,) = ops_named(read_program(path), "stablehlo.all_reduce")
    assert op.attributes["replica_groups"].table.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_text_and_proto_agree_on_mesh_groups():
    from shardproof.validator import compat

    text = (DATA / "uneven_max_after.hlo.txt").read_text()
    assert "device_ids=" in text
    proto = gzip.compress(compat.hlo_text_to_proto(text))
    (one,) = ops_named(read_program(text), "stablehlo.all_reduce")
    (two,) = ops_named(read_program(proto), "stablehlo.all_reduce")
    assert one.attributes["replica_groups"].table.tolist() == two.attributes["replica_groups"].table.tolist()
    assert one.attributes["replica_groups"].table.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (FLAT + "{}", "the replica groups cannot be empty"),
        (FLAT + "{{0,1},{2,3}}", "do not cover exactly the 8 participants of mode flattened_ids"),
        (FLAT + "{{0,1,2},{3,4,5,6,7}}", "replica groups of different sizes are not supported"),
        ("collective-permute(p), channel_id=1, source_target_pairs={{0,9}}", "beyond the 8 participants"),
    ],
)
def test_refused(op: str, message: str):
    with pytest.raises(ReadError, match=message):
        groups_of(op)


def test_a_device_twice():
    with pytest.raises(ValueError, match="stands twice"):
        device_groups(np.array([[0, 0]]), GroupMode.FLATTENED_IDS, 1, 2)


@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus")
def test_llama_groups_are_replicas():
    program = read_program(CORPUS / "aws_llama" / "tp2_layer1.hlo.pb.gz")
    for op in ops_named(program, "stablehlo.all_reduce"):
        assert isinstance(op.attributes["replica_groups"], DeviceGroups)
        assert op.attributes["replica_groups"].table.tolist() == [[0, 1]]
