"""Modules written as StableHLO text with one result, and the theory that proves two of them equal."""

from __future__ import annotations

import time

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.program import read_pair
from shardproof.validator.relate.decide import decide


def module(arguments: list[tuple[str, str, str]], result: str, body: str, devices: int = 2) -> str:
    """A module over (name, type, sharding) with one result, unsharded."""
    listed = ", ".join(
        f"%{name}: tensor<{kind}>" + (f' {{mhlo.sharding = "{sharding}"}}' if sharding else "")
        for name, kind, sharding in arguments
    )
    head = f"module @m attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}}"
    return f"{head} {{ func.func public @main({listed}) -> tensor<{result}> {{ {body} }} }}"


def theory_of(before: str, after: str, accepted: Theory = Theory.REASSOCIATED) -> Theory | None:
    """What proves the only result, None where nothing does."""
    spec, implementation = read_pair(before.encode(), after.encode(), names=("before.mlir", "after.mlir"))
    deadline = time.monotonic() + 30
    decision = decide(spec, implementation, deadline=deadline, assume_in_bounds=False, accepted=accepted)
    (comparison,) = decision.comparisons
    return comparison.theory if comparison is not None and comparison.proved else None
