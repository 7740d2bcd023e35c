"""Programs that some version of XLA compiles wrongly, found by `validate` and shown to be wrong by running them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict

OLD = jax.__version__.startswith("0.10.")


@dataclass(frozen=True, slots=True)
class Miscompile:
    """A function of integers on two devices, its layouts, inputs on which it goes wrong, and where and when it does."""

    function: Callable[..., Any]
    into: tuple[P, ...]
    out: P | None
    inputs: tuple[Any, ...]
    stages: str
    wrong: bool
    """In the JAX that is installed."""
    where: str


PROGRAMS = {
    "dynamic_update_slice": Miscompile(
        lambda x, u, s: lax.dynamic_update_slice(x, u, (0, s)),
        (P(None, "x"), P(), P()),
        None,
        (np.arange(4).reshape(2, 2), np.full((2, 1), 9), 2),
        "all",
        True,
        "after partitioning",
    ),
    "dynamic_slice": Miscompile(
        lambda x, s: lax.dynamic_slice(x, (s,), (6,)),
        (P("x"), P()),
        P("x"),
        (np.arange(8), 7),
        "passes",
        OLD,
        "algsimp",
    ),
    "shift_and_set": Miscompile(
        lambda x: x.at[:-1].set(x[1:]).at[-1].set(7), (P("x"),), None, (np.arange(4),), "passes", OLD, "algsimp"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_miscompile_is_refuted_where_it_happens(name: str):
    program = PROGRAMS[name]
    mesh = Mesh(jax.devices()[:2], ("x",))
    into = tuple(NamedSharding(mesh, spec) for spec in program.into)
    out: dict[str, Any] = {} if program.out is None else {"out_shardings": NamedSharding(mesh, program.out)}
    function = jax.jit(program.function, in_shardings=into, **out)
    inputs = [np.asarray(value, np.int32) for value in program.inputs]
    expected = jax.jit(program.function)(*inputs)
    assert np.array_equal(function(*inputs), expected) is not program.wrong
    report = shardproof.validate(function, *inputs, stages=program.stages)  # type: ignore[arg-type]
    if not program.wrong:
        assert report.verdict is Verdict.PROVED
        return
    assert report.verdict is Verdict.REFUTED
    assert report.counterexample is not None
    assert program.where in report.after
