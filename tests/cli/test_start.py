"""A command line that is wrong, or only asks, loads nothing heavy."""

import subprocess
import sys

import pytest

from shardproof.validator import cli

HEAVY = {"jax", "jaxlib", "egglog", "islpy", "numpy"}


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
    text = cli.parser().format_help()
    for option in (
        "BEFORE AFTER --xla-dump --module --theory --assume-indices-in-bounds --timeout --seed --format -o --replay "
        "--stats -q -v --list-ops --list-rules --version"
    ).split():
        assert option in text
