"""Audits of random chains: both walks against the evaluator, and how much of what they say is more than 'unknown'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest

from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.evaluate.inputs import Profile
from shardproof.validator.ops.record import OpRecord
from shardproof.validator.ops.registry import RECORDS
from shardproof.validator.ops.values import read_through
from shardproof.validator.read.ir import DType, Op, Program, TensorType
from shardproof.validator.relate.decide import decide
from shardproof.validator.relate.value import Val
from shardproof.validator.relate.walk import Walk
from tests.tools.audit import audit_pair

from .chain import Chain, Given, random_sharding
from .chains import grow

DEVICES = (2, 3, 4, 6, 8, 12)
PROFILES = tuple(Profile)


@dataclass(slots=True)
class Seen:
    """What the audits of one test saw, by op."""

    ops: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    """Results of which the walk says nothing."""
    values: int = 0
    refused: int = 0
    """Chains that the evaluator does not run."""


def parameters(rng: np.random.Generator, devices: int) -> list[Given]:
    """Two tensors of numbers, a vector and a scalar of integers, a mask."""
    shapes = [tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 4)))) for _ in range(3)]
    types = [
        TensorType(shapes[0], DType.F32),
        TensorType(shapes[1][:2], DType.F32),
        TensorType((), DType.F32),
        TensorType((int(rng.integers(1, 5)),), DType.I32),
        TensorType((), DType.I32),
        TensorType(shapes[2][:2], DType.I1),
    ]
    return [(type_, random_sharding(rng, type_.shape, devices) if type_.rank else None) for type_ in types]


def pair(seed: int, before: Sequence[str], after: Sequence[str], steps: int) -> tuple[Program, Program]:
    """A chain on logical tensors and another one on their shards."""
    rng = np.random.default_rng(seed)
    devices = int(rng.choice(DEVICES))
    given = parameters(rng, devices)
    spec = Chain(rng, given, 1, local=False)
    grow(spec, before, steps)
    implementation = Chain(rng, given, devices, local=True)
    grow(implementation, after, steps)
    return spec.program(), implementation.program()


def audit(seeds: Sequence[int], before: Sequence[str], after: Sequence[str], *, steps: int = 7) -> Seen:
    """Audits one pair a seed; fails at the first relation that the evaluator contradicts."""
    seen = Seen()
    for seed in seeds:
        spec, implementation = pair(seed, before, after, steps)
        try:
            found = audit_pair(spec, implementation, seed=seed, profile=PROFILES[seed % len(PROFILES)])
        except EvaluationError:
            seen.refused += 1
            continue
        assert not found.mismatches, f"seed {seed}: " + "; ".join(map(str, found.mismatches[:3]))
        seen.values += found.values
        decision = decide(spec, implementation, deadline=None, assume_in_bounds=False)
        for walk, program in ((decision.original, spec), (decision.device, implementation)):
            for op in program.body.ops:
                value = walk.env[op.results[0].number]
                seen.ops[op.name] += 1
                if isinstance(value, Val):
                    origins = [walk.origins.get(piece.atom.number) for piece in value.pieces]
                    seen.unknown[op.name] += any(origin is not None and bool(origin.reason) for origin in origins)
    return seen


def sees_a_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether audits notice that results of this op are read backwards along their last dimension."""
    record = RECORDS[f"stablehlo.{name}"]
    right = record.relate
    assert right is not None

    def wrong(walk: Walk, op: Op, values: list[Any]) -> list[Any]:
        results = right(walk, op, values)
        if not isinstance(results[0], Val) or not op.results[0].tensor.rank:
            return results
        type_ = op.results[0].tensor
        outputs = [*(f"i{k}" for k in range(type_.rank - 1)), f"{type_.shape[-1] - 1} - i{type_.rank - 1}"]
        turned = read_through(walk, results[0], walk.builder.moved(type_.shape, outputs), type_)
        return [turned, *results[1:]]

    monkeypatch.setitem(cast(dict[str, OpRecord], RECORDS), record.name, replace(record, relate=wrong))
    for seed in range(20):
        spec, implementation = pair(seed, ("reshape",), (name, "reshape", name, "transpose", name), 9)
        try:
            if audit_pair(spec, implementation, seed=seed).mismatches:
                return True
        except EvaluationError:
            continue
    return False
