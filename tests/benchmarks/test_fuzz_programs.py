"""Random programs: prover, evaluator, XLA and StableHLO's interpreter tell the same, and a disagreement is noticed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_programs import Task, _finding, _lost, draw, judge
from benchmarks.random_programs import KINDS, RandomProgram
from benchmarks.watched import Failure

ROOT = Path(__file__).parents[2]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
SETTINGS = settings(derandomize=True, deadline=None, database=None, max_examples=8, suppress_health_check=SLOW)


@pytest.mark.parametrize("kind", KINDS)
@SETTINGS
@given(rng=st.randoms(use_true_random=False))
def test_all_tell_the_same(kind: str, rng: random.Random):
    row = judge(draw(rng, kind))
    assert row["finding"] == "", row
    assert row["verdict"] in ("PROVED", "NOT_PROVED", "NOT_PARTITIONED", "NOT_MADE"), row


def test_the_same_seed_is_the_same_program():
    for kind in KINDS:
        first, second, other = (draw(random.Random(seed), kind) for seed in (5, 5, 6))
        assert first == second != other


def test_a_program_that_runs_wrong_is_refuted():
    """An update of one element whose start must be clamped: XLA loses it, whichever version is installed."""
    function = "def f(a, b):\n    return (lax.dynamic_update_slice_in_dim(a, a[:1] * 0 + 9, b, 0),)"
    arguments = (((2,), "int32"), ((), "int32"))
    row = judge(RandomProgram("jit", function, arguments, ("P('x')", "P()"), ("P('x')",), (("x", 2),), (0, 1)))
    assert (row["verdict"], row["evaluator"], row["devices"], row["alone"]) == ("REFUTED", "differs", "differ", "same")
    assert row["finding"] == ""


@pytest.mark.parametrize(
    ("verdict", "evaluator", "devices", "alone", "finding"),
    [
        ("PROVED", "same", "same", "same", ""),
        ("PROVED", "differs", "same", "same", "false proof"),
        ("PROVED", "same", "differ", "same", "proved, but runs wrong"),
        ("REFUTED", "differs", "same", "same", "false alarm"),
        ("REFUTED", "differs", "differ", "same", ""),
        ("NOT_PROVED", "differs", "differ", "same", "wrong, but not refuted"),
        ("NOT_PROVED", "same", "differ", "", "wrong, but not refuted"),
        ("UNSUPPORTED", "unknown", "same", "", ""),
        ("PROVED", "same", "same", "the interpreter", "evaluator against the interpreter"),
    ],
)
def test_who_contradicts_whom(verdict: str, evaluator: str, devices: str, alone: str, finding: str):
    row = {"verdict": verdict, "evaluator": evaluator, "devices": devices, "alone": alone}
    assert _finding(row) == finding


@pytest.mark.slow
def test_a_run_is_taken_up_where_it_ended(tmp_path: Path):
    results = tmp_path / "rows"

    def fuzz(*arguments: str) -> str:
        command = [sys.executable, "-m", "benchmarks.fuzz_programs", str(results), "shard_map", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    fuzz("--cases", "1", "--seconds", "300")
    said = fuzz("--cases", "2", "--seconds", "300")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["number"] for row in rows] == [0, 1]
    assert fuzz("--cases", "2") == said


@pytest.mark.parametrize(
    ("failure", "verdict", "finding"),
    [
        (Failure("KeyError: 3", "Traceback"), "ERROR", "internal error"),
        (Failure("the process running it ended with code -11"), "DIED", ""),
        (Failure("not done in 60 s"), "TIMEOUT", ""),
    ],
)
def test_an_exception_is_a_finding(failure: Failure, verdict: str, finding: str):
    """XLA may end the process, and time may run out; nothing of ours may fail."""
    row = _lost(Task(0, "jit", 1), failure)
    assert (row["verdict"], row["finding"]) == (verdict, finding)
