"""Manual regions as XLA is given them: a call between two custom calls, in the module before any pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import pytest

import shardproof
from shardproof import Report, Verdict
from shardproof.validator.jax_compat import compile_apart
from shardproof.validator.read import find_pairs

from .manual_programs import Case, arguments, cases

CASES = cases()


def modules(function: Callable[..., Any], case: Case) -> tuple[bytes, bytes]:
    """What XLA is given, and what leaves its partitioner."""
    lowered = jax.jit(function).lower(*arguments(case))
    with tempfile.TemporaryDirectory() as folder:
        compile_apart(lowered, folder)
        (given,) = Path(folder).glob("*.jit_*.before_optimizations.hlo.pb")
        (pair,) = [pair for pair in find_pairs(folder) if pair.module in given.name]
        return given.read_bytes(), pair.after.read_bytes()


def compared(before: bytes, after: bytes) -> Report:
    return shardproof.validate_modules(before, after)


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_xla_is_given_is_what_its_partitioner_leaves(name: str):
    case = CASES[name]
    given, after = modules(case.sharded, case)
    assert b"xla.sdy.manual_computation_body" in given
    report = compared(given, after)
    assert report.verdict is Verdict.PROVED, str(report)


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.broken is not None))
def test_another_body_is_another_program(name: str):
    """A region without its sum, with another ring, in another order: both ways round."""
    case = CASES[name]
    assert case.broken is not None
    given, after = modules(case.sharded, case)
    broken_given, broken_after = modules(case.broken, case)
    for before, wrong in ((given, broken_after), (broken_given, after)):
        report = compared(before, wrong)
        assert report.verdict is Verdict.REFUTED, str(report)
