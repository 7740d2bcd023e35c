"""The bar: on a terminal, for work that takes its time, and never in what is printed otherwise."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAIR = [str(ROOT / "lit" / "cli" / "Inputs" / "two_ops.mlir")] * 2
COMMAND = [sys.executable, "-P", "-m", "shardproof.validator.cli"]


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """An environment in which reading the after program takes longer than the bar waits."""
    (tmp_path / "sitecustomize.py").write_text(
        "import time\n"
        "from shardproof.validator.read import program\n"
        "read, turn = program._read, []\n"
        "def slowly(*arguments):\n"
        "    turn.append(0)\n"
        "    time.sleep(4 if len(turn) == 2 else 0)\n"
        "    return read(*arguments)\n"
        "program._read = slowly\n"
    )
    return {**os.environ, "PYTHONPATH": str(tmp_path), "TERM": "xterm", "COLUMNS": "100"}


def on_terminal(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, stdout, and what a terminal gets as stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux tells so that the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read().decode()
    return process.returncode, out, shown.decode()


@pytest.mark.parametrize("limits", [[], ["--timeout", "100"]])
def test_a_slow_validation_shows_its_phase(slow: dict[str, str], limits: list[str]):
    code, out, shown = on_terminal([*COMMAND, *limits, *PAIR], slow)
    assert code == 0
    assert "reading the after program" in shown
    assert out.startswith("PROVED")
    assert len(out.splitlines()) == 1


def test_not_when_quiet(slow: dict[str, str]):
    code, out, shown = on_terminal([*COMMAND, "-q", *PAIR], slow)
    assert (code, shown) == (0, "")
    assert out.startswith("PROVED")


def test_not_for_quick_work(slow: dict[str, str]):
    # what is quick depends on the machine, so the bar waits longer instead
    with (Path(slow["PYTHONPATH"]) / "sitecustomize.py").open("a") as start:
        start.write("from shardproof.validator import progress\nprogress.DELAY = 100\n")
    code, _, shown = on_terminal([*COMMAND, *PAIR], slow)
    assert (code, shown) == (0, "")


def test_not_without_a_terminal(slow: dict[str, str]):
    run = subprocess.run([*COMMAND, *PAIR], capture_output=True, env=slow)
    assert (run.returncode, run.stderr) == (0, b"")
