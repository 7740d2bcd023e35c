"""Each lit test is a pytest test, so that one command runs and counts everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIT = Path(__file__).resolve().parents[1] / "lit"
TESTS = sorted(
    path.relative_to(LIT)
    for suffix in ("test", "hlo", "mlir")
    for path in LIT.rglob(f"*.{suffix}")
    if "Inputs" not in path.parts
)


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS, ids=str)
def test_lit(test: Path, tmp_path: Path):
    command = [sys.executable, "-P", "-c", "from lit.main import main; main()", "-v", str(LIT / test)]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    if "UNSUPPORTED: " in run.stdout:
        pytest.skip("needs a tool that is not installed")
    assert run.returncode == 0 and "PASS: " in run.stdout, run.stdout + run.stderr
