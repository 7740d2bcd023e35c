"""Groups of devices told by the names of mesh axes, wherever the program declares a mesh."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh as JaxMesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof.validator import validate
from shardproof.validator.explain.axis_names import GroupNames
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program, Region
from shardproof.validator.read.program import read_program
from shardproof.validator.read.tiling import Mesh
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import Source

FOLDER = Path(__file__).parents[2] / "examples" / "tp_mlp"


def _names(*meshes: Mesh, devices: int) -> GroupNames:
    nothing = Program("m", "m", (), Region((), (), ()), (), num_partitions=devices)
    return GroupNames(nothing, Program("m", "m", (), Region((), (), ()), (), num_partitions=devices, meshes=meshes))


def _table(sizes: tuple[int, ...], axes: tuple[int, ...], order: np.ndarray | None = None) -> np.ndarray:
    grid = (np.arange(np.prod(sizes)) if order is None else order).reshape(sizes)
    rest = [k for k in range(len(sizes)) if k not in axes]
    return grid.transpose([*rest, *axes]).reshape(-1, int(np.prod([sizes[k] for k in axes])))


CUBE = Mesh.of([("data", 2), ("one", 1), ("tensor", 4), ("pipe", 3)])
SIZES = (2, 1, 4, 3)


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ((0,), "mesh axis 'data'"),
        ((2,), "mesh axis 'tensor'"),
        ((0, 2), "mesh axes 'data' and 'tensor'"),
        ((0, 2, 3), "mesh axes 'data', 'tensor' and 'pipe'"),
    ],
)
def test_axes(axes: tuple[int, ...], said: str) -> None:
    names = _names(CUBE, devices=24)
    table = _table(SIZES, axes)
    assert names.of(table) == names.of(table, ordered=True) == said
    assert names.of(table[::-1, ::-1]) == said


def test_the_order_tells_the_major_axis_first() -> None:
    names = _names(CUBE, devices=24)
    assert names.of(_table(SIZES, (2, 0)), ordered=True) == "mesh axes 'tensor' and 'data'"
    assert names.of(_table(SIZES, (2, 0))) == "mesh axes 'data' and 'tensor'"
    assert names.of(_table(SIZES, (0,))[:, ::-1], ordered=True) == "devices {12,0},{13,1},… (12 groups)"


def test_a_part_of_an_axis() -> None:
    names = _names(Mesh.of([("x", 4), ("y", 2)]), devices=8)
    assert names.of(_table((2, 2, 2), (0,))) == "mesh axis 'x':(1)2"
    assert names.of(_table((2, 2, 2), (1,))) == "mesh axis 'x':(2)2"
    assert names.of(_table((2, 2, 2), (1, 2))) == "mesh axes 'x':(2)2 and 'y'"


def test_devices_in_another_order() -> None:
    order = np.array([3, 1, 2, 0, 7, 5, 6, 4])
    names = _names(Mesh.of([("x", 2), ("y", 4)], order), devices=8)
    assert names.of(_table((2, 4), (0,), order)) == "mesh axis 'x'"
    assert names.of(np.array([[0, 1], [2, 3], [4, 5], [6, 7]])) == "mesh axis 'y':(1)2"
    assert names.of(np.array([[0, 5], [1, 4], [2, 7], [3, 6]])) == "devices {0,5},{1,4},… (4 groups)"


def test_without_a_mesh_that_fits_devices_are_numbered() -> None:
    table = np.arange(8).reshape(2, 4)
    assert _names(devices=8).of(table) == "devices {0,1,2,3},{4,5,6,7}"
    assert _names(Mesh.of([("x", 2), ("y", 2)]), devices=8).of(table) == "devices {0,1,2,3},{4,5,6,7}"
    assert _names(Mesh.of([("x", 2), ("y", 4)]), devices=8).of(table[:1]) == "devices {0,1,2,3}"


def test_the_first_mesh_and_the_fewest_axes_name_it() -> None:
    two = (Mesh.of([("a", 2), ("b", 2), ("c", 2)]), Mesh.of([("d", 2), ("e", 4)]))
    assert _names(*two, devices=8).of(np.arange(8).reshape(2, 4)) == "mesh axes 'b' and 'c'"
    assert _names(*two[::-1], devices=8).of(np.arange(8).reshape(2, 4)) == "mesh axis 'e'"


def _read(name: str) -> Program:
    return read_program(FOLDER / f"{name}.hlo.txt")


def test_a_mesh_in_front_end_attributes_of_hlo() -> None:
    text = (FOLDER / "broken.hlo.txt").read_text()
    first, _, rest = text.partition("\n")
    meshes = 'frontend_attributes={xla.sdy.meshes="{mesh = #sdy.mesh<[\\"data\\"=2, \\"tensor\\"=4]>}"}'
    named = read_program(f"{first}, {meshes}\n{rest}", name="broken")
    assert [mesh.axes for mesh in named.meshes] == [(("data", 2), ("tensor", 4))]
    report = validate.validate_programs(_read("before"), named, Options())
    assert report.message == "a partial result is never combined across mesh axis 'tensor'"
    assert report.frontier is not None
    assert any(value.layout.endswith("partial add over mesh axis 'tensor'") for value in report.frontier.after)


def test_a_mesh_in_the_shardings_of_hlo() -> None:
    text = """HloModule m, num_partitions=8

ENTRY main {
  x = f32[8,4] parameter(0), sharding={mesh['data'=2,'tensor'=4], [{'data'}, {}]}
  ROOT y = f32[8,4] negate(x), sharding={mesh['data'=2,'tensor'=4], [{'data'}, {}]}
}
"""
    assert [mesh.axes for mesh in read_program(text).meshes] == [(("data", 2), ("tensor", 4))]
    assert read_program(text.replace("'data'", "'axis_0'").replace("'tensor'", "'axis_1'")).meshes == ()


def test_a_mesh_of_a_relation_file() -> None:
    before, broken = _read("before"), _read("broken")
    given = 'sdy.mesh @m = <["data"=2, "tensor"=4]>\n"shardproof.relations"() : () -> ()\n'
    options = Options(relations=Source("relations.mlir", given.encode()))
    report = validate.validate_programs(before, broken, options)
    assert report.message == "a partial result is never combined across mesh axis 'tensor'"


def test_the_mesh_that_jax_lowers_to(mesh: JaxMesh) -> None:
    """A shard_map without its psum, of a program with a named mesh."""

    def reference(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w)

    def wrong(x: jax.Array, w: jax.Array) -> jax.Array:
        def body(x: jax.Array, w: jax.Array) -> jax.Array:
            return jnp.tanh(x @ w)

        return jax.shard_map(body, mesh=mesh, in_specs=(P(None, "b"), P("b")), out_specs=P(), check_vma=False)(x, w)

    x, w = jnp.ones((4, 8)), jnp.ones((8, 6))
    report = shardproof.compare(reference, wrong, x, w)
    assert report.verdict is Verdict.REFUTED
    assert report.message == "a partial result is never combined across mesh axis 'b'"


def test_the_mesh_of_what_is_given_to_validate(mesh: JaxMesh) -> None:
    first, second = NamedSharding(mesh, P(None, "b")), NamedSharding(mesh, P("b", None))
    product = jax.jit(jnp.matmul, in_shardings=(first, second), out_shardings=NamedSharding(mesh, P()))
    from shardproof.validator.jax_stages import stages_of_lowered

    stages = stages_of_lowered(product.lower(jnp.ones((4, 8)), jnp.ones((8, 6))))
    assert stages.before is not None and stages.after is not None
    assert (("a", 2), ("b", 4)) in [mesh.axes for mesh in stages.before.meshes]
    names = GroupNames(stages.before, stages.after)
    reduce = next(op for op in stages.after.body.ops if op.name == "stablehlo.all_reduce")
    assert names.of(reduce.attributes["replica_groups"].table) == "mesh axis 'b'"
