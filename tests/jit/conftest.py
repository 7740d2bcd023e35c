"""What the tests of the JAX front door need: eight devices, which must be asked for before JAX's backend starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

_FLAG = "--xla_force_host_platform_device_count"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}=8".strip()

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

from shardproof.validator import jit  # noqa: E402
from shardproof.validator.read.ir import Program  # noqa: E402


@pytest.fixture
def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs a program in a process of its own, with eight devices, and gives what it prints."""

    def run(code: str, **environment: str) -> str:
        env = {**os.environ, **environment}
        done = subprocess.run([sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


Capture = Callable[[Callable[[], Any]], tuple[Program, Program]]


class _CapturedError(Exception):
    pass


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> Capture:
    """The programs that a comparison is about."""

    def capture(compare: Callable[[], Any]) -> tuple[Program, Program]:
        found: list[Program] = []

        def prove(before: Program, after: Program, *_: Any) -> Any:
            found.extend((before, after))
            raise _CapturedError

        monkeypatch.setattr(jit, "prove", prove)
        with pytest.raises(_CapturedError):
            compare()
        before, after = found
        return before, after

    return capture
