"""The sweep's list is fixed, its judgement sees a miscompile, and a run is taken up where it ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRONG = "pool_gradient/max_gradient_w3_s1_valid_b1_i1_n10/x.,x.->../4"
UNEVEN = "reduce/max_int32_n7/x.->./3"


@pytest.fixture
def sweep() -> Callable[..., str]:
    """Runs the sweep in a process of its own, since it asks for devices."""

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "benchmarks.sweep", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run


def test_the_list_is_the_same_each_time(sweep: Callable[..., str], tmp_path: Path) -> None:
    names = sweep(str(tmp_path / "rows"), "--list").split()
    assert names == sweep(str(tmp_path / "rows"), "--list").split()
    assert len(names) == len(set(names)) > 4000
    assert {WRONG, UNEVEN} <= set(names)


def test_a_miscompile_is_seen_and_nothing_is_done_twice(sweep: Callable[..., str], tmp_path: Path) -> None:
    results = tmp_path / "rows"
    sweep(str(results), WRONG)
    said = sweep(str(results), WRONG, UNEVEN)
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())}
    assert len(results.read_text().splitlines()) == len(rows) == 2
    assert (rows[WRONG]["verdict"], rows[WRONG]["differs"] > 0) == ("REFUTED", True)
    assert (rows[UNEVEN]["verdict"], rows[UNEVEN]["differs"]) == ("PROVED", 0)
    assert f"REFUTED    ran wrong  {WRONG}" in said
