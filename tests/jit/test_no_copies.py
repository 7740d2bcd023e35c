"""A process that uses JAX is not copied to read what its own XLA has written."""

import os
from typing import Literal

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import shardproof


@pytest.mark.parametrize("stages", ["all", "passes"])
def test_validation_makes_no_copy_of_a_users_process(stages: Literal["all", "passes"], monkeypatch: pytest.MonkeyPatch):
    mesh = jax.make_mesh((8,), ("x",))
    sharded = jax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec("x")))
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a copy was made"))
    report = shardproof.validate(jax.jit(lambda x: x.sum(0)), sharded, stages=stages)
    assert report.verdict is shardproof.Verdict.PROVED
