"""Devices of TPUs that are not there, to compile for: XLA's compiler for TPUs comes with `libtpu` and asks for none."""

from __future__ import annotations

import functools
import os
from typing import Any


class NoCompilerError(Exception):
    """There is no compiler for TPUs, or it knows no such topology."""


@functools.cache
def devices(topology: str) -> list[Any]:
    """The devices of a topology such as `v5e:2x4`; JAX must not have been used before."""
    for name, value in (
        ("TPU_SKIP_MDS_QUERY", "1"),
        ("TPU_WORKER_HOSTNAMES", "localhost"),
        ("TPU_ACCELERATOR_TYPE", "v5litepod-8"),
        ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1"),
        ("JAX_PLATFORMS", "cpu"),
    ):
        # what libtpu would ask the machine for
        os.environ.setdefault(name, value)
    from jax.experimental import topologies

    try:
        return list(topologies.get_topology_desc(topology, platform="tpu").devices)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        raise NoCompilerError(f"no compiler for '{topology}' ('pip install libtpu'): {error}".splitlines()[0]) from None
