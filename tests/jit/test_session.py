"""`shardproof.validation` and the environment variable SHARDPROOF: everything that is compiled meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import compiler
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import NotEquivalentError, NotEquivalentWarning, Verdict
from shardproof.validator import jax_compat
from shardproof.validator.report.report import Obstacle, Report


@pytest.fixture
def split(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, P("x", "y"))


@pytest.fixture
def wrong() -> tuple[Any, ...]:
    """A program that XLA's partitioner gets wrong in every JAX that is known here, and its arguments."""
    mesh = Mesh(jax.devices()[:2], ("x",))
    into = tuple(NamedSharding(mesh, spec) for spec in (P(None, "x"), P(), P()))
    function = jax.jit(lambda x, u, s: lax.dynamic_update_slice(x, u, (0, s)), in_shardings=into)
    return function, np.zeros((2, 2), np.int32), np.ones((2, 1), np.int32), np.int32(2)


def test_each_program_once(split: NamedSharding):
    x = jax.device_put(np.arange(32.0, dtype=np.float32).reshape(4, 8), split)
    function = jax.jit(lambda x, y: jnp.tanh(x @ x.T).sum(0) * y, donate_argnums=1)
    once = jax.device_put(np.ones(4, np.float32))
    expected = jnp.tanh(np.asarray(x) @ np.asarray(x).T).sum(0)
    with shardproof.validation(timeout=None) as session:
        first, second = function(x, jnp.copy(once)), function(x, jnp.copy(once))
        jax.jit(lambda x: x + 1)(3.0)
    records = [record for record in session.records if record.name == "jit__lambda"]
    assert [record.report.verdict for record in records] == [Verdict.PROVED]
    assert session.skipped > 0
    assert 0 < records[0].seconds <= session.seconds
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    assert session.summary()[-1].startswith(f"{len(session.records)} partitioned programs: ")


def test_results_layouts_and_donation_stay_as_they_are(split: NamedSharding):
    def run() -> tuple[Any, ...]:
        function = jax.jit(lambda x: (x * 2, x @ x.T), donate_argnums=0)
        x = jax.device_put(np.arange(32.0, dtype=np.float32).reshape(4, 8), split)
        results = function(x)
        return *results, x

    plain = run()
    with shardproof.validation(timeout=None):
        watched = run()
    for one, other in zip(plain[:2], watched[:2], strict=True):
        assert one.sharding.is_equivalent_to(other.sharding, one.ndim)
        np.testing.assert_array_equal(one, other)
    assert plain[2].is_deleted() == watched[2].is_deleted()


def test_raise(wrong: tuple[Any, ...]):
    function, *arguments = wrong
    with shardproof.validation(timeout=None) as session:
        for _ in range(2):  # a program that was refused is not in JAX's cache
            with pytest.raises(NotEquivalentError, match="counterexample"):
                function(*arguments)
    assert [record.report.verdict for record in session.failures] == [Verdict.REFUTED] * 2


def test_warn_and_record(wrong: tuple[Any, ...]):
    function, *arguments = wrong
    with shardproof.validation("warn", timeout=None), pytest.warns(NotEquivalentWarning, match="REFUTED"):
        function(*arguments)
    jax.clear_caches()
    with warnings.catch_warnings(), shardproof.validation("record", timeout=None) as session:
        warnings.simplefilter("error")
        result = function(*arguments)
    assert [report.verdict for report in session.reports] == [Verdict.REFUTED]
    assert result.shape == (2, 2)


def test_accepted_verdicts(wrong: tuple[Any, ...]):
    function, *arguments = wrong
    with shardproof.validation(accept=["PROVED", Verdict.REFUTED], timeout=None) as session:
        function(*arguments)
    assert session.failures == []


def test_a_child_process_keeps_the_time_limit(split: NamedSharding):
    x = jax.ShapeDtypeStruct((4, 8), np.float32, sharding=split)
    with shardproof.validation("record", timeout=0.001) as session:
        jax.jit(lambda x: x @ x.T).lower(x).compile()
    assert [report.obstacle for report in session.reports] == [Obstacle.TIMEOUT]


def test_jax_is_its_own_again_afterwards(wrong: tuple[Any, ...]):
    known = compiler.compile_or_get_cached
    function, *arguments = wrong

    def run() -> None:
        with shardproof.validation(timeout=None):
            assert compiler.compile_or_get_cached is not known
            with shardproof.validation("record", timeout=None):
                pass
            assert compiler.compile_or_get_cached is not known
            function(*arguments)

    with pytest.raises(NotEquivalentError):
        run()
    assert compiler.compile_or_get_cached is known


def test_validate_inside_a_session_is_not_seen_by_it(split: NamedSharding):
    x = jax.ShapeDtypeStruct((4, 8), np.float32, sharding=split)
    with shardproof.validation(timeout=None) as session:
        assert shardproof.validate(lambda x: x @ x.T, x).verdict is Verdict.PROVED
    assert session.records == []


def test_a_fault_of_the_validator_does_not_end_the_run(split: NamedSharding, monkeypatch: pytest.MonkeyPatch):
    def fault(*_: Any) -> Report:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("shardproof.validator.session.validate_stages", fault)
    x = jax.device_put(np.ones((4, 8), np.float32), split)
    with shardproof.validation("record", timeout=None) as session:
        result = jax.jit(lambda x: x @ x.T)(x)
    assert result.shape == (4, 4)
    assert [(r.verdict, r.message) for r in session.reports] == [(Verdict.UNSUPPORTED, "RuntimeError: out of luck")]


def test_a_jax_that_is_not_known(split: NamedSharding, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jax_compat, "_STEP", "compile_by_magic")
    x = jax.device_put(np.ones((4, 8), np.float32), split)
    message = r"nothing is validated: jax .* \(no function 'compile_by_magic'\)"
    with pytest.warns(NotEquivalentWarning, match=message), shardproof.validation() as session:
        jax.jit(lambda x: x - 1)(x)
    assert session.records == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_failure": "panic"}, "unknown way to fail 'panic', expected one of 'raise', 'warn', 'record'"),
        ({"accept": ["GOOD"]}, "unknown verdict 'GOOD', expected one of 'PROVED'"),
        ({"stages": "some"}, "unknown stages 'some'"),
        ({"theory": "some"}, "unknown theory 'some'"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message), shardproof.validation(**settings):
        pass


_RUN = """
import shardproof, jax, numpy as np, sys
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices()[:2], ("x",))
into = tuple(NamedSharding(mesh, spec) for spec in (P(None, "x"), P(), P()))
f = jax.jit(lambda x, u, s: jax.lax.dynamic_update_slice(x, u, (0, s)), in_shardings=into)
try:
    print(f(np.zeros((2, 2), np.int32), np.ones((2, 1), np.int32), np.int32(2)).shape)
except shardproof.NotEquivalentError as error:
    print(error.report.verdict.name)
print("shardproof.validator" in sys.modules)
"""


@pytest.mark.parametrize(
    ("way", "accept", "printed"),
    [
        ("off", "PROVED", ["(2, 2)", "False"]),
        ("raise", "PROVED", ["REFUTED", "True"]),
        ("raise", "PROVED,REFUTED", ["(2, 2)", "True"]),
        ("warn", "PROVED", ["(2, 2)", "True"]),
    ],
)
def test_the_environment_variable(run_python: Callable[..., str], way: str, accept: str, printed: list[str]):
    assert run_python(_RUN, SHARDPROOF=way, SHARDPROOF_ACCEPT=accept).splitlines() == printed
