"""`shardproof.validate`: one JAX function, from its StableHLO to what leaves the partitioner."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Theory, Verdict
from shardproof.validator import jax_compat
from shardproof.validator.report.report import Obstacle

from .partitioner import shardy


def struct(*shape: int, dtype: str = "float32", sharding: Any = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def layer(params: dict[str, Any], x: Any, power: int) -> dict[str, Any]:
    hidden = jnp.tanh(x @ params["w"]) ** power
    return {"hidden": hidden, "loss": hidden.sum(), "bias": params["b"]}


def layer_arguments() -> tuple[Any, ...]:
    return {"b": struct(3), "w": struct(8, 16)}, struct(4, 8), 3


@pytest.fixture
def jitted(mesh: Mesh) -> Any:
    def on(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, P(*spec))

    shardings = ({"b": on(), "w": on(None, "y")}, on("x", None))
    return jax.jit(layer, static_argnums=2, donate_argnums=1, in_shardings=shardings)


@pytest.mark.parametrize("partitioner", ["shardy", "gspmd"])
@pytest.mark.parametrize("stages", ["all", "partitioner", "passes"])
def test_pytrees_static_and_donated_arguments(jitted: Any, stages: Any, partitioner: str):
    with shardy(partitioner == "shardy"):
        report = shardproof.validate(jitted, *layer_arguments(), stages=stages)
    assert (report.verdict, report.theory) == (Verdict.PROVED, Theory.REASSOCIATED)
    assert [output.label for output in report.outputs] == ["result['bias']", "result['hidden']", "result['loss']"]
    assert report.after == "jit_layer after partitioning"


def test_arguments_are_named_by_their_path_in_the_tree(jitted: Any):
    from shardproof.validator.jax_stages import lower, stages_of_lowered

    stages = stages_of_lowered(lower(jitted, layer_arguments(), {}))
    assert stages.before is not None
    names = ["params['b']", "params['w']", "x"]
    assert [parameter.label for parameter in stages.written.parameters] == names
    assert [parameter.label for parameter in stages.before.parameters] == names


def test_lowered_programs_and_keywords(jitted: Any):
    lowered = jitted.lower(*layer_arguments())
    assert shardproof.validate(lowered).verdict is Verdict.PROVED
    assert shardproof.validate(lambda x, scale: x * scale, struct(4), scale=struct(4)).verdict is Verdict.PROVED
    with pytest.raises(TypeError, match="a lowered program takes no arguments"):
        shardproof.validate(lowered, struct(4))


def test_arrays_are_neither_used_nor_donated(jitted: Any):
    params, x, power = layer_arguments()
    arrays = jax.tree.map(lambda leaf: jnp.ones(leaf.shape, leaf.dtype), (params, x))
    assert shardproof.validate(jitted, *arrays, power).verdict is Verdict.PROVED
    assert not any(array.is_deleted() for array in jax.tree.leaves(arrays))


def test_explicit_axes():
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        function = jax.jit(lambda x, w: jnp.tanh(jnp.dot(x, w, out_sharding=P("x", None))))
        x = struct(4, 8, sharding=NamedSharding(mesh, P("x", "y")))
        w = struct(8, 4, sharding=NamedSharding(mesh, P("y", None)))
        assert shardproof.validate(function, x, w).verdict is Verdict.PROVED
        assert shardproof.compare(lambda x, w: jnp.tanh(x @ w), function, x, w).verdict is Verdict.PROVED


def test_layouts_that_the_compiler_chooses(mesh: Mesh):
    x = struct(8, 12, sharding=NamedSharding(mesh, P("x", "y")))
    assert shardproof.validate(jax.jit(lambda x, y: (x @ y.T, y.sum(0))), x, struct(6, 12)).verdict is Verdict.PROVED


def test_one_device_is_said_to_be_one_device():
    report = shardproof.validate(jnp.sin, struct(3))
    assert report.verdict is Verdict.PROVED
    assert tuple(map(str, report.notes)) == (
        "XLA did not partition this program, it runs on one device: it was compared with itself",
    )


def test_settings_reach_the_engine(jitted: Any):
    report = shardproof.validate(jitted, *layer_arguments(), theory="exact", assume=["indices-in-bounds"])
    assert (report.verdict, report.obstacle) == (Verdict.NOT_PROVED, Obstacle.THEORY)
    assert [assumption.value for assumption in report.assumptions] == ["indices-in-bounds"]


def test_time_limits(jitted: Any):
    assert shardproof.validate(jitted, *layer_arguments(), timeout=60).verdict is Verdict.PROVED
    report = shardproof.validate(jitted, *layer_arguments(), timeout=0.001)
    assert (report.verdict, report.obstacle) == (Verdict.NOT_PROVED, Obstacle.TIMEOUT)


def test_wrong_calls(jitted: Any):
    with pytest.raises(ValueError, match="unknown stages 'some', expected one of 'all', 'partitioner', 'passes'"):
        shardproof.validate(jitted, *layer_arguments(), stages="some")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a compiled program holds no StableHLO any more"):
        shardproof.validate(jitted.lower(*layer_arguments()).compile())
    with pytest.raises(TypeError, match="expected a function, a jitted function or a lowered program, not 'int'"):
        shardproof.validate(3)


def test_nothing_is_left_behind(jitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from jax._src import compiler

    known = compiler.compile_or_get_cached
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shardproof.validate(jitted, *layer_arguments(), stages="passes")
    assert list(tmp_path.iterdir()) == []
    assert compiler.compile_or_get_cached is known


def test_a_jax_that_is_not_known_is_dumped_in_the_public_way(jitted: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jax_compat, "_STEP", "compile_by_magic")
    assert shardproof.validate(jitted, *layer_arguments()).verdict is Verdict.PROVED


_CACHED = """
import os, jax, shardproof
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_compilation_cache_dir", os.environ["FOLDER"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
f = jax.jit(lambda x: x.sum(0), in_shardings=NamedSharding(Mesh(jax.devices(), "x"), P("x")))
x = jax.ShapeDtypeStruct((8, 3), "float32")
def entries():
    return sorted(name for name in os.listdir(os.environ["FOLDER"]) if name.endswith("-cache"))
f.lower(x).compile()
before = entries()
print(len(before) > 0, shardproof.validate(f, x).verdict.name, shardproof.validate(f, x).verdict.name)
print(entries() == before)
jax.clear_caches()
with shardproof.validation("record", timeout=None) as session:
    f(jax.numpy.ones((8, 3)))
print([record.report.verdict.name for record in session.records if "lambda" in record.name], session.seconds > 0)
print(set(before) <= set(entries()))
"""


def test_the_persistent_cache_neither_hides_nor_gets_a_program(run_python: Callable[..., str], tmp_path: Path):
    out = run_python(_CACHED, FOLDER=str(tmp_path)).splitlines()
    assert out == ["True PROVED PROVED", "True", "['PROVED'] True", "True"]


def test_a_result_that_is_still_to_be_summed():
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        function = jax.jit(lambda x, w: jnp.dot(x, w, out_sharding=P("x", None, unreduced=frozenset({"y"}))))
        x = struct(4, 8, sharding=NamedSharding(mesh, P("x", "y")))
        w = struct(8, 4, sharding=NamedSharding(mesh, P("y", None)))
        report = shardproof.validate(function, x, w)
    # A sum that is still to be taken is no replicated result: each device holds its summand.
    assert report.verdict is Verdict.PROVED, str(report)


def test_manual_regions(mesh: Mesh):
    shard = jax.shard_map(lambda x: jax.lax.psum(x.sum(0), "y"), mesh=mesh, in_specs=P("y"), out_specs=P())
    function = jax.jit(lambda x: jnp.tanh(shard(x * 2)))
    for partitioner in (True, False):
        with shardy(partitioner):
            assert shardproof.validate(function, struct(8, 3)).verdict is Verdict.PROVED


def test_ordered_effects_are_refused():
    from jax.experimental import io_callback

    def function(x: Any) -> Any:
        io_callback(lambda value: np.float32(0), jax.ShapeDtypeStruct((), "float32"), x.sum(), ordered=True)
        return x + 1

    mesh = Mesh(jax.devices()[:1], ("x",))
    report = shardproof.validate(jax.jit(function, in_shardings=NamedSharding(mesh, P("x"))), struct(8))
    assert report.verdict is Verdict.UNSUPPORTED
    assert "token" in report.message or "custom_call" in report.message


def test_scalars_that_xla_folds_are_rounded_alike(mesh: Mesh):
    function = jax.jit(
        lambda q, k: jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1])), in_shardings=NamedSharding(mesh, P("x"))
    )
    assert shardproof.validate(function, struct(8, 6), struct(8, 6)).verdict is Verdict.PROVED


def test_a_gap_before_the_partitioner_is_told(jitted: Any):
    from shardproof.validator.jax_stages import stages_of_lowered
    from shardproof.validator.jit import validate_stages
    from shardproof.validator.options import Options
    from shardproof.validator.report.report import Report

    def engine(before: Any, after: Any, options: Options) -> Report:
        if before.source.endswith("before partitioning"):
            return Report(before.source, after.source, Verdict.PROVED, Theory.EXACT)
        return Report(before.source, after.source, Verdict.NOT_PROVED)

    stages = stages_of_lowered(jitted.lower(*layer_arguments()))
    report = validate_stages(stages, "all", Options(), engine)
    assert report.verdict is Verdict.NOT_PROVED
    assert "the partitioner alone is proved" in str(report.notes[0])
    assert validate_stages(stages, "partitioner", Options(), engine).verdict is Verdict.PROVED


SPECIAL = ["acos", "acosh", "asinh", "bessel_i1e", "cosh", "digamma", "erf", "erfc", "erf_inv", "lgamma", "sinh"]


@pytest.mark.parametrize("name", SPECIAL)
def test_functions_that_hlo_lacks(mesh: Mesh, name: str):
    function = getattr(jax.lax, name)
    rows = NamedSharding(mesh, P("x"))
    jitted = jax.jit(function, in_shardings=rows, out_shardings=rows)
    assert shardproof.validate(jitted, struct(8, 6)).theory is Theory.EXACT
    shifted = jax.shard_map(
        lambda x: function(x + jax.lax.axis_index("x")), mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )
    report = shardproof.compare(function, shifted, struct(8, 6))
    assert report.verdict in (Verdict.REFUTED, Verdict.NOT_PROVED), str(report)


def test_normal_numbers_of_one_key_on_every_device(mesh: Mesh):
    def noisy(x: Any, key: Any) -> Any:
        return x + jax.random.normal(jax.random.wrap_key_data(key), x.shape)

    mapped = jax.shard_map(noisy, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
    report = shardproof.validate(jax.jit(mapped), struct(8, 6), struct(2, dtype="uint32"))
    assert report.verdict is Verdict.PROVED, str(report)
