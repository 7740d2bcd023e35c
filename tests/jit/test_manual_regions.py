"""Manual regions in the program before partitioning: as JAX writes them and as they enter XLA's partitioner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict
from shardproof.validator.jax_stages import stages_of_lowered
from shardproof.validator.jit import passes_for, validate_stages
from shardproof.validator.options import Options

from .manual_programs import arguments, cases
from .partitioner import shardy

CASES = cases()
CRASHING = {"nested_columns"}
"""XLA's GSPMD partitioner ends the process with a failed assertion on these."""
MESH = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))


def check(name: str, stages: Any, *, on: bool) -> None:
    case = CASES[name]
    with shardy(on):
        report = shardproof.validate(jax.jit(case.sharded), *arguments(case), stages=stages)
    assert report.verdict is Verdict.PROVED, str(report)


@pytest.mark.parametrize("stages", ["all", "partitioner"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_regions_of_shardy(name: str, stages: Any):
    check(name, stages, on=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*GSPMD")
@pytest.mark.parametrize("stages", ["all", "partitioner"])
@pytest.mark.parametrize("name", sorted(CASES.keys() - CRASHING))
def test_regions_of_gspmd(name: str, stages: Any):
    check(name, stages, on=False)


@pytest.mark.slow
@pytest.mark.parametrize("stages", ["all", "partitioner"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_regions_have_certificates(name: str, stages: Any):
    case = CASES[name]
    with shardy(True):
        lowered = jax.jit(case.sharded).lower(*arguments(case))
        report = validate_stages(stages_of_lowered(lowered, passes_for(stages)), stages, Options(certificate=True))
    assert report.certificate is not None, [note.text for note in report.notes]


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.broken is not None))
def test_wrong_programs_do_not_pass_for_what_a_region_says(name: str):
    """The right program with its regions is the specification here."""
    case = CASES[name]
    report = shardproof.compare(jax.jit(case.sharded), case.broken, *arguments(case), theory=case.theory)
    assert report.verdict is Verdict.REFUTED, str(report)


def loop(step: Callable[[Any], Any]) -> Callable[..., Any]:
    """A counted loop in a manual region over y, from a replicated start, whose result is said to be replicated."""

    def body(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, carry: step(carry), x)

    return jax.jit(jax.shard_map(body, mesh=MESH, in_specs=P(), out_specs=P(), check_vma=False))


def test_what_a_loop_makes_different_on_each_device_has_no_logical_value():
    x = jax.ShapeDtypeStruct((6,), "float32")
    same = loop(lambda carry: jnp.sin(carry) + 1)
    assert shardproof.validate(same, x).verdict is Verdict.PROVED
    different = loop(lambda carry: jnp.sin(carry) + lax.axis_index("y").astype("float32"))
    report = shardproof.validate(different, x)
    assert report.verdict is Verdict.UNSUPPORTED
    assert "a manual region whose copies of one shard may differ" in str(report)
    later = loop(lambda carry: jnp.where(lax.axis_index("x") == 0, carry, jnp.roll(carry, 1)))
    assert shardproof.validate(later, x).verdict is Verdict.UNSUPPORTED


def test_loops_that_end_at_different_times_share_nothing():
    def body(x: Any) -> Any:
        start = (jnp.int32(0), x)
        return lax.while_loop(lambda c: c[0] < lax.axis_index("y") + 1, lambda c: (c[0] + 1, jnp.sin(c[1])), start)[1]

    program = jax.jit(jax.shard_map(body, mesh=MESH, in_specs=P(), out_specs=P(), check_vma=False))
    assert shardproof.validate(program, jax.ShapeDtypeStruct((6,), "float32")).verdict is Verdict.UNSUPPORTED


def _pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID").sum()


AXIS_NOT_USED: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: jnp.argmax(x, axis=1),
    "argmin": lambda x: x - jnp.argmin(x, axis=1, keepdims=True),
    "chosen row": lambda x: x[jnp.argmax(x[:, 0])] + x,
    "sort": lambda x: jnp.sort(x, axis=1),
    "gradient of a maximum over windows": lambda x: jax.grad(_pooled)(x.astype("float32")),
}


@pytest.mark.parametrize("name", AXIS_NOT_USED)
def test_an_axis_that_a_region_does_not_use_makes_no_copies_differ(name: str):
    program = jax.shard_map(AXIS_NOT_USED[name], mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    for dtype in ("float32", "int32"):
        report = shardproof.validate(jax.jit(program), jax.ShapeDtypeStruct((8, 6), dtype))
        assert report.verdict is Verdict.PROVED, str(report)


def test_rows_that_are_set_at_places_known_at_run_time_on_an_axis_that_is_not_used():
    def body(x: Any, rows: Any) -> Any:
        return x.at[rows].set(7.0)

    program = jax.shard_map(body, mesh=MESH, in_specs=(P("x"), P()), out_specs=P("x"))
    arguments = jax.ShapeDtypeStruct((8, 6), "float32"), jax.ShapeDtypeStruct((3,), "int32")
    report = shardproof.validate(jax.jit(program), *arguments)
    assert report.verdict is Verdict.PROVED, str(report)


def test_what_is_known_of_a_region_enters_another_one():
    """The gradient keeps which device took what: booleans that leave one region and enter the next."""
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    masked = jax.shard_map(
        lambda v: jnp.where(lax.axis_index("x") == 0, v, 0),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        check_vma=False,
    )
    step = jax.jit(jax.grad(lambda a: jnp.sum(masked(a) ** 2)), in_shardings=jax.sharding.NamedSharding(mesh, P()))
    assert shardproof.validate(step, jnp.ones(12), stages="partitioner").verdict is Verdict.PROVED
