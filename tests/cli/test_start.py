"""A command line that is wrong, or only asks, loads nothing heavy."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from shardproof.validator import command_line

PAIR = [str(Path(__file__).resolve().parents[2] / "lit" / "cli" / "Inputs" / "two_ops.mlir")] * 2
HEAVY = {"jax", "jaxlib", "egglog", "islpy"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["a"], ["a", "b"], ["--theory", "no", "a", "b"]])
def test_nothing_heavy_is_loaded(arguments: list[str]):
    code = (
        "import sys\nfrom shardproof.validator import cli\n"
        f"try: cli.main({arguments!r})\n"
        "except SystemExit: pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1] == "[]"


def test_help_names_every_option():
    text = command_line.parser().format_help()
    for option in (
        "BEFORE AFTER --xla-dump --module --theory --assume-indices-in-bounds --timeout --seed --format -o --replay "
        "--stats -q -v --list-ops --list-rules --version"
    ).split():
        assert option in text


def test_a_small_pair_is_quick():
    """Processor time rather than time on the clock, so that a busy machine does not fail it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-P", "-m", "shardproof.validator.cli", *PAIR], env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.returncode == 0
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.5
