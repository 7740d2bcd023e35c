"""Several pairs at a time: the same output as one after the other, and no fault that spreads."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-P", "-m", "shardproof.validator.cli"]
EXAMPLE = ROOT / "examples" / "tp_mlp"


def dump(folder: Path, *afters: str) -> None:
    """A dump folder with a pair for each name of an after program of the example, or for the text in its place."""
    for number, after in enumerate(afters):
        text = (EXAMPLE / after).read_text() if after.endswith(".txt") else after
        name = f"module_{number:04}.jit_{number}.0001.spmd."
        (folder / f"{name}after_x.before_spmd-partitioning.txt").write_text((EXAMPLE / "before.hlo.txt").read_text())
        (folder / f"{name}after_spmd-partitioning.before_next.txt").write_text(text)


def verdicts(out: str) -> list[str]:
    return [json.loads(line)["verdict"] for line in out.splitlines()]


def run(folder: Path, *arguments: str, patch: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(patch)
    return subprocess.run(
        [*COMMAND, "--xla-dump", str(folder), "--format", "json", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"},
    )


def test_the_output_is_in_the_order_of_the_pairs(tmp_path: Path):
    dump(tmp_path, "after.hlo.txt", "broken.hlo.txt", "torn", "after.hlo.txt", "broken.hlo.txt")
    # the first pair ends last
    slow = (
        "import time\nfrom shardproof.validator import run\nold = run.validate_here\n"
        "def validate_here(before, after, options, course):\n"
        "    time.sleep(6 * ('module_0000' in before.name))\n"
        "    return old(before, after, options, course)\n"
        "run.validate_here = validate_here\n"
    )
    several = run(tmp_path, "--jobs", "2", patch=slow)
    assert several.returncode == 1
    assert verdicts(several.stdout) == ["PROVED", "REFUTED", "PROVED", "REFUTED"]
    names = [json.loads(line)["after"] for line in several.stdout.splitlines()]
    assert names == sorted(names)
    assert several.stderr.endswith("5 pairs: 2 proved, 2 refuted, 1 unreadable\n")


def test_a_process_that_dies_is_one_internal_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the bundle
    dump(tmp_path, "after.hlo.txt", "after.hlo.txt", "broken.hlo.txt", "after.hlo.txt")
    crash = (
        "import os\nfrom shardproof.validator import run\nold = run.validate_here\n"
        "def validate_here(before, after, options, course):\n"
        "    if 'module_0001' in before.name: os.abort()\n"
        "    return old(before, after, options, course)\n"
        "run.validate_here = validate_here\n"
    )
    several = run(tmp_path, "--jobs", "2", patch=crash)
    assert several.returncode == 70
    assert verdicts(several.stdout) == ["PROVED", "REFUTED", "PROVED"]
    assert "internal error: the validating process died of SIGABRT" in several.stderr


def test_ctrl_c_ends_every_process(tmp_path: Path):
    dump(tmp_path, *["after.hlo.txt"] * 4)
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib, signal, time\nfrom shardproof.validator import run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def validate_here(before, after, options, course):\n"
        f"    pathlib.Path({str(tmp_path)!r}, f'pid{{os.getpid()}}').touch()\n"
        "    time.sleep(60)\n"
        "run.validate_here = validate_here\n"
    )
    process = subprocess.Popen(
        [*COMMAND, "--xla-dump", str(tmp_path), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    try:
        limit = time.monotonic() + 60
        while len(pids := list(tmp_path.glob("pid*"))) < 2:
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert out.startswith("NOT_PROVED  ")
    assert err.endswith("validate-hlo: interrupted\n")
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.name.removeprefix("pid")), 0)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="part of the extra 'ray'")
def test_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("TMPDIR", "/tmp")  # the sockets of Ray must have short names
    dump(tmp_path, "after.hlo.txt", "broken.hlo.txt", "torn", "after.hlo.txt")
    cluster = run(tmp_path, "--ray", "--jobs", "2")
    assert cluster.returncode == 1, cluster.stderr
    assert verdicts(cluster.stdout) == ["PROVED", "REFUTED", "PROVED"]
    assert cluster.stderr.endswith("4 pairs: 2 proved, 1 refuted, 1 unreadable\n")


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_without_ray(tmp_path: Path):
    dump(tmp_path, "after.hlo.txt")
    cluster = run(tmp_path, "--ray")
    assert cluster.returncode == 2
    assert "--ray needs the package 'ray', which is not installed" in cluster.stderr
