"""The command as users run it: on a folder that XLA has just written, and interrupted."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "tp_mlp" / "tp_mlp.py"
COMMAND = [sys.executable, "-P", "-m", "shardproof.validator.cli"]


@pytest.mark.slow
def test_a_folder_that_xla_wrote(tmp_path: Path):
    compile_it = f"import runpy; runpy.run_path({str(PROGRAM)!r})['dump']({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-P", "-c", compile_it], check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    run = subprocess.run([*COMMAND, "--xla-dump", str(tmp_path), "--module", "mlp"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (line,) = run.stdout.splitlines()
    assert line.startswith("PROVED (reassociated)  ")


def test_ctrl_c_ends_the_child_too(tmp_path: Path):
    pid_file = tmp_path / "pid"
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib, signal, time\n"
        "from shardproof.validator import run\n"
        # A shell starts background jobs with Ctrl-C ignored, and processes inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def validate_here(before, after, options, course):\n"
        f"    pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        "run.validate_here = validate_here\n"
    )
    pair = [str(ROOT / "lit" / "cli" / "Inputs" / "two_ops.mlir")] * 2
    process = subprocess.Popen(
        [*COMMAND, "--timeout", "50", *pair],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    try:
        limit = time.monotonic() + 30
        while not (pid_file.exists() and pid_file.read_text()):
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert out.startswith("NOT_PROVED  ")
    assert "error: no verdict: interrupted, stopped while starting" in err
    assert err.endswith("validate-hlo: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_the_broken_twin_lacks_exactly_the_all_reduce(monkeypatch: pytest.MonkeyPatch):
    for name in ("XLA_FLAGS", "JAX_PLATFORMS"):
        # The program sets them for its own process; here they must not outlive the test.
        monkeypatch.setenv(name, "")
    program = runpy.run_path(str(PROGRAM))
    after = (PROGRAM.parent / "after.hlo.txt").read_text()
    broken = (PROGRAM.parent / "broken.hlo.txt").read_text()
    assert program["without_all_reduce"](after) == broken
    assert "all-reduce" in after
    assert "all-reduce" not in broken
