"""Damaged inputs of every kind: the commands answer with an exit code and a located message."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fuzz_inputs import case, summary
from benchmarks.fuzz_seeds import KINDS

ROOT = Path(__file__).parents[2]


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.fuzz_inputs", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_damaged_inputs_are_answered(tmp_path: Path):
    results = tmp_path / "rows"
    done = fuzz(str(results), "--cases", "20", "--seconds", "600")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {row["kind"] for row in rows} == set(KINDS)
    assert len(rows) == 20 * len(KINDS)
    assert {0, 2, 5} <= {row["code"] for row in rows}
    again = fuzz(str(results), "--cases", "20")
    assert (again.returncode, again.stdout) == (0, done.stdout)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("c")])
def test_the_same_number_is_the_same_case(kind: str):
    first, second = case(3, kind, 0), case(3, kind, 0)
    assert first == second
    assert case(4, kind, 0) != first


def test_a_finding_is_told():
    row = {"kind": "gzip", "case": 2, "made_of": "dump", "code": 70, "finding": "exit code 70", "said": "a\nlast words"}
    lines = list(summary([row, row | {"case": 3, "code": 5, "finding": ""}]))
    assert lines[0].endswith("2 cases: 1 exit 5, 1 exit 70; slowest 0.0 s; 1 findings")
    assert lines[1:] == ["gzip 2 of dump: exit code 70: last words"]
