"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import jax, numpy as np, pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices()[:2], ("x",))

def product(x):
    return x @ x.T

def test_right():
    jax.jit(product, in_shardings=NamedSharding(mesh, P("x")))(np.ones((4, 2), np.float32))

def update(x, u, s):
    return jax.lax.dynamic_update_slice(x, u, (0, s))

def test_wrong():
    into = tuple(NamedSharding(mesh, spec) for spec in (P(None, "x"), P(), P()))
    jax.jit(update, in_shardings=into)(np.zeros((2, 2), np.int32), np.ones((2, 1), np.int32), np.int32(2))
"""

_FIXTURE = _TESTS.replace("():", "(shardproof_validation):")


def _pytest(folder: Path, tests: str, *options: str) -> tuple[str, int]:
    (folder / "test_programs.py").write_text(tests)
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-q", *options, str(folder)]
    # The plugin stands in the environment that shardproof is installed in; a second -p of it would be one too many.
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    return done.stdout + done.stderr, done.returncode


def test_off_by_default(tmp_path: Path):
    out, code = _pytest(tmp_path, _TESTS)
    assert code == 0, out
    assert "2 passed" in out
    assert "PROVED" not in out


def test_verdicts_are_listed(tmp_path: Path):
    out, code = _pytest(tmp_path, _TESTS, "--shardproof")
    assert code == 0, out
    assert "PROVED (exact)  jit_product" in out
    assert "REFUTED  jit_update" in out
    assert "2 partitioned programs: 1 PROVED, 1 REFUTED; " in out


def test_the_test_that_compiled_it_fails(tmp_path: Path):
    out, code = _pytest(tmp_path, _TESTS, "--shardproof", "--shardproof-on-failure=raise")
    assert code == 1
    assert "FAILED test_programs.py::test_wrong" in out
    assert "1 failed, 1 passed" in out


@pytest.mark.slow
def test_the_fixture(tmp_path: Path):
    out, code = _pytest(tmp_path, _FIXTURE)
    assert code == 1
    assert "FAILED test_programs.py::test_wrong" in out
    assert "1 failed, 1 passed" in out


@pytest.mark.slow
def test_several_processes(tmp_path: Path):
    out, code = _pytest(tmp_path, _TESTS, "--shardproof", "-n", "2")
    assert code == 0, out
    assert "PROVED (exact)  jit_product" in out
    assert "REFUTED  jit_update" in out
