"""`shardproof.compare`: a function for one device against a sharded one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict

from .manual_programs import arguments, cases

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_right_programs_are_proved(name: str):
    case = CASES[name]
    report = shardproof.compare(case.reference, case.sharded, *arguments(case), theory=case.theory)
    assert report.verdict is Verdict.PROVED, str(report)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.broken is not None])
def test_wrong_programs_are_refuted(name: str):
    case = CASES[name]
    report = shardproof.compare(case.reference, case.broken, *arguments(case), theory=case.theory)
    assert report.verdict is Verdict.REFUTED, str(report)
    assert report.counterexample is not None


def struct(*shape: int, sharding: Any = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


@pytest.fixture
def total(mesh: Mesh) -> Any:
    """The sum over a split dimension, and twice what is not split."""

    def function(params: dict[str, Any], unused: Any) -> dict[str, Any]:
        return {"sum": lax.psum(params["a"].sum(0), "y"), "twice": params["b"] * 2}

    return jax.shard_map(function, mesh=mesh, in_specs=({"a": P("y"), "b": P()}, P()), out_specs=P())


def reference(params: dict[str, Any], unused: Any) -> dict[str, Any]:
    return {"sum": params["a"].sum(0), "twice": params["b"] * 2}


TREE = ({"a": struct(8, 3), "b": struct(5)}, struct(2))


def test_trees_and_unused_arguments(total: Any):
    report = shardproof.compare(reference, total, *TREE)
    assert report.verdict is Verdict.PROVED
    assert [output.label for output in report.outputs] == ["result['sum']", "result['twice']"]
    # A jitted function drops what it does not use; each side may drop something else.
    assert shardproof.compare(reference, jax.jit(total), *TREE).verdict is Verdict.PROVED
    assert shardproof.compare(jax.jit(reference), total, *TREE).verdict is Verdict.PROVED
    zero = jax.jit(lambda params, unused: {"sum": params["a"].sum(0) + 0 * unused[0], "twice": params["b"] * 2})
    assert shardproof.compare(zero, jax.jit(total), *TREE).verdict is not Verdict.REFUTED


def test_a_candidate_without_an_argument_that_matters_is_refuted(mesh: Mesh):
    shard = jax.shard_map(lambda x, y: x * 2, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
    report = shardproof.compare(lambda x, y: x + y, jax.jit(shard), struct(6), struct(6))
    assert report.verdict is Verdict.REFUTED
    assert report.counterexample is not None
    assert len(report.counterexample.inputs) == 2


def test_layouts_of_arguments_are_the_candidates(mesh: Mesh):
    def on(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, P(*spec))

    candidate = jax.jit(lambda x, w: x @ w, out_shardings=on("y", "x"))
    arrays = jnp.ones((8, 8)), jnp.ones((8, 12))
    sharded = jax.device_put(arrays[0], on("x", "y")), jax.device_put(arrays[1], on("y", None))
    assert shardproof.compare(lambda x, w: x @ w, candidate, *sharded).verdict is Verdict.PROVED
    assert shardproof.compare(lambda x, w: x @ w, jax.jit(lambda x, w: (x @ w) * 1.0001), *sharded).verdict is (
        Verdict.REFUTED
    )


def test_a_candidate_for_one_device():
    assert shardproof.compare(lambda x: x + x, lambda x: x + x, struct(3)).verdict is Verdict.PROVED
    assert shardproof.compare(lambda x: x + x, lambda x: x + 1, struct(3)).verdict is Verdict.REFUTED


def test_lowered_programs(total: Any):
    whole, sharded = jax.jit(reference).lower(*TREE), jax.jit(total).lower(*TREE)
    assert shardproof.compare(whole, sharded).verdict is Verdict.PROVED


def test_different_trees_and_shapes_are_errors(total: Any):
    with pytest.raises(ValueError, match=r"the reference returns PyTreeDef.* and the candidate PyTreeDef"):
        shardproof.compare(lambda params, unused: params["b"], total, *TREE)
    with pytest.raises(ValueError, match=r"result 'result\[0\]' is f32\[3\] in the reference and f32\[1,3\] in the"):
        shardproof.compare(lambda x: (x, x), lambda x: (x[None], x), struct(3))


def test_assert_equivalent(total: Any):
    assert shardproof.assert_equivalent(reference, total, *TREE).verdict is Verdict.PROVED
    with pytest.raises(shardproof.NotEquivalentError, match="REFUTED") as caught:
        shardproof.assert_equivalent(lambda p, u: {"sum": p["a"].sum(0) / 2, "twice": p["b"]}, total, *TREE)
    assert caught.value.report.counterexample is not None
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(shardproof.NotEquivalentError, match="'exact' is asked for"):
        shardproof.assert_equivalent(reference, total, *TREE, theory="exact")
