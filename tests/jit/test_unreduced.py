"""Unreduced axes of explicit sharding: tensors that devices hold in summands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import shardproof
from shardproof import Verdict

P: Any = PartitionSpec
SUMS = P("x", None, unreduced={"y"})
ROWS = P("x", None)


@pytest.fixture(scope="module")
def mesh() -> Iterator[jax.sharding.Mesh]:
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        yield mesh


def given(mesh: jax.sharding.Mesh, *specs: PartitionSpec) -> list[jax.ShapeDtypeStruct]:
    shapes = {SUMS: (8, 4), ROWS: (8, 4), P("x", "y"): (8, 16), P("y", None): (16, 4), P(): (4,)}
    return [
        jax.ShapeDtypeStruct(shapes.get(spec, (8, 4)), np.float32, sharding=NamedSharding(mesh, spec)) for spec in specs
    ]


def dot(x: Any, w: Any) -> Any:
    return jnp.einsum("ij,jk->ik", x, w, out_sharding=SUMS)


def region(function: Callable[..., Any], out: Any = ROWS, into: Any = SUMS) -> Callable[..., Any]:
    return jax.shard_map(function, in_specs=into, out_specs=out, check_vma=False)


def loss(w: Any, x: Any) -> Any:
    return (jnp.sin(x @ w) ** 2).sum()


BOTH = P(None, None, unreduced={"x", "y"})
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[PartitionSpec, ...]]] = {
    "as it is": (lambda u: u, (SUMS,)),
    "summed": (lambda u: jax.sharding.reshard(u, ROWS), (SUMS,)),
    "summed and scattered": (lambda u: jax.sharding.reshard(u, P("x", "y")), (SUMS,)),
    "summed and gathered": (lambda u: jax.sharding.reshard(u, P()), (SUMS,)),
    "over both axes": (lambda u: jax.sharding.reshard(u, P()), (BOTH,)),
    "over both axes, as it is": (lambda u: u, (BOTH,)),
    "linear": (lambda u, v: jax.sharding.reshard((u + v).T, P()), (SUMS, SUMS)),
    "twice": (lambda u: u + u, (SUMS,)),
    "a product": (dot, (P("x", "y"), P("y", None))),
    "a product, summed": (lambda x, w: jax.sharding.reshard(dot(x, w), ROWS), (P("x", "y"), P("y", None))),
    "products": (lambda x, w: jax.sharding.reshard(dot(x, w) + dot(x, w), ROWS), (P("x", "y"), P("y", None))),
    "region": (region(lambda u: lax.psum(u, "y")), (SUMS,)),
    "region, scattered": (
        region(lambda u: lax.psum_scatter(u, "y", scatter_dimension=1, tiled=True), P("x", "y")),
        (SUMS,),
    ),
    "region, linear": (region(lambda u: lax.psum(u + u, "y")), (SUMS,)),
    "region, result": (region(lambda x: x.sum(1, keepdims=True), SUMS, P("x", "y")), (P("x", "y"),)),
    "region, both": (region(lambda u: u + u, SUMS), (SUMS,)),
    "region on a product": (
        lambda x, w: region(lambda u: lax.psum(u + u, "y"))(dot(x, w)),
        (P("x", "y"), P("y", None)),
    ),
    "gradient": (jax.grad(loss), (P(None, None, reduced={"y"}), P("y", None))),
    "gradient, summed": (
        lambda w, x: jax.sharding.reshard(jax.grad(loss)(w, x), P()),
        (P(None, None, reduced={"y"}), P("y", None)),
    ),
}


def arguments(mesh: jax.sharding.Mesh, name: str) -> list[jax.ShapeDtypeStruct]:
    if not name.startswith("gradient"):
        return given(mesh, *PROGRAMS[name][1])
    weights, batch = (NamedSharding(mesh, spec) for spec in PROGRAMS[name][1])
    return [
        jax.ShapeDtypeStruct((16, 4), np.float32, sharding=weights),
        jax.ShapeDtypeStruct((8, 16), np.float32, sharding=batch),
    ]


@pytest.mark.parametrize("stages", ["all", "partitioner"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_xla_makes_of_summands_is_proved(mesh: jax.sharding.Mesh, name: str, stages: Any):
    report = shardproof.validate(jax.jit(PROGRAMS[name][0]), *arguments(mesh, name), stages=stages)
    assert report.verdict is Verdict.PROVED, str(report)


WRONG: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[PartitionSpec, ...]]] = {
    "psum forgotten": (lambda u: u, region(lambda u: u), (SUMS,)),
    "psum twice": (lambda u: u, region(lambda u: lax.psum(lax.psum(u, "y"), "y")), (SUMS,)),
    "psum over the other axis": (lambda u: u, region(lambda u: lax.psum(u, "x")), (SUMS,)),
    "mean for a sum": (lambda u: u, region(lambda u: lax.pmean(u, "y")), (SUMS,)),
    "one summand for all": (lambda u: u, region(lambda u: lax.all_gather(u, "y")[0]), (SUMS,)),
    "maximum for a sum": (lambda u: u, region(lambda u: lax.pmax(u, "y")), (SUMS,)),
    "not linear": (jnp.sin, region(lambda u: lax.psum(jnp.sin(u), "y")), (SUMS,)),
    "a bias on each device": (
        lambda u, b: u + b,
        region(lambda u, b: lax.psum(u + b, "y"), into=(SUMS, P())),
        (SUMS, P()),
    ),
    "result summed already": (lambda u: u, region(lambda u: lax.psum(u, "y"), SUMS), (SUMS,)),
    "one summand doubled": (
        lambda u: u,
        region(lambda u: jnp.where(lax.axis_index("y") == 2, 2 * u, u), SUMS),
        (SUMS,),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_on_summands_are_refuted(mesh: jax.sharding.Mesh, name: str):
    reference, candidate, specs = WRONG[name]
    report = shardproof.compare(reference, jax.jit(candidate), *given(mesh, *specs))
    assert report.verdict is Verdict.REFUTED, str(report)
    assert report.counterexample is not None
    assert report.counterexample.inputs[0].shape == (4, 8, 4)
    assert any("is held in 4 summands" in str(note) for note in report.notes)


RIGHT: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[PartitionSpec, ...]]] = {
    "a bias on one device": (
        lambda u, b: u + b,
        region(lambda u, b: lax.psum(u + jnp.where(lax.axis_index("y") == 1, b, 0), "y"), into=(SUMS, P())),
        (SUMS, P()),
    ),
    "all summands moved to one device": (
        lambda u: u,
        region(lambda u: jnp.where(lax.axis_index("y") == 3, lax.psum(u, "y"), 0), SUMS),
        (SUMS,),
    ),
    "summands of the neighbours": (
        lambda u: u,
        region(lambda u: lax.ppermute(u, "y", [(d, (d + 1) % 4) for d in range(4)]), SUMS),
        (SUMS,),
    ),
    "result summed once more": (
        lambda u: u + u + u + u,
        region(lambda u: lax.psum(u, "y"), SUMS),
        (SUMS,),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_odd_programs_on_summands_are_not_refuted(mesh: jax.sharding.Mesh, name: str):
    reference, candidate, specs = RIGHT[name]
    report = shardproof.compare(reference, jax.jit(candidate), *given(mesh, *specs), theory="real")
    assert report.verdict is Verdict.PROVED, str(report)


OPEN: dict[str, Callable[..., Any]] = {
    "not linear": region(lambda u: lax.psum(jnp.sin(u), "y")),
    "a factor of each device's own": region(lambda u: lax.psum(u * lax.axis_index("y"), "y")),
    "not summed": region(lambda u: u),
    "summed over another axis": region(lambda u: lax.psum(u, "x")),
    "squared": region(lambda u: lax.psum(u * u, "y")),
    "one of the summands": region(lambda u: lax.all_gather(u, "y")[0]),
    "chosen by itself": region(lambda u: lax.psum(jnp.where(u > 0, u, 0), "y")),
    "rounded": region(lambda u: lax.psum(u.astype(jnp.bfloat16), "y").astype(jnp.float32)),
}


@pytest.mark.parametrize("stages", ["all", "partitioner"])
@pytest.mark.parametrize("name", OPEN)
def test_regions_that_depend_on_single_summands_have_no_meaning(mesh: jax.sharding.Mesh, name: str, stages: Any):
    report = shardproof.validate(jax.jit(OPEN[name]), *given(mesh, SUMS), stages=stages)
    assert report.verdict is Verdict.UNSUPPORTED, str(report)
    assert "unreduced" in str(report)


def test_maxima_and_minima_over_axes(mesh: jax.sharding.Mesh):
    kinds = getattr(jax.sharding, "UnreducedKind", None)
    if kinds is None:
        pytest.skip("this jax knows sums only")
    for kind, combine in ((kinds.max, lax.pmax), (kinds.min, lax.pmin)):
        spec = P("x", None, unreduced={"y"}, unreduced_kind=kind)
        argument = given(mesh, spec)
        for program in (lambda u: u, lambda u: jax.sharding.reshard(u, ROWS)):
            for stages in ("all", "partitioner"):
                report = shardproof.validate(jax.jit(program), *argument, stages=stages)
                assert report.verdict is Verdict.PROVED, str(report)
        right, wrong = region(lambda u, c=combine: c(u, "y"), into=spec), region(lambda u: lax.psum(u, "y"), into=spec)
        assert shardproof.compare(lambda u: u, jax.jit(right), *argument).verdict is Verdict.PROVED
        assert shardproof.compare(lambda u: u, jax.jit(wrong), *argument).verdict is Verdict.REFUTED
