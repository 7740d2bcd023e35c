"""Faults of the validator itself: no traceback on the terminal, everything a report needs in a folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shardproof.validator import cli, run

COMMAND = [sys.executable, "-P", "-m", "shardproof.validator.cli"]
SAME = [str(Path(__file__).resolve().parents[2] / "lit" / "cli" / "Inputs" / "two_ops.mlir")] * 2


@pytest.fixture(autouse=True)
def temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def _bundle(line: str) -> Path:
    match = re.search(r"inputs and details are in '(.*)'$", line)
    assert match is not None, line
    return Path(match[1])


def test_an_unexpected_exception_leaves_a_bundle(engine, command, pair):
    def stumble(before, after, options):
        raise KeyError("no such atom")

    engine(stumble)
    code, out, err = command(*pair)
    assert (code, out, len(err)) == (70, [], 1)
    assert err[0].startswith(f"{pair[1]}: internal error: KeyError: 'no such atom'")
    folder = _bundle(err[0])
    assert {file.name for file in folder.iterdir()} == {"before-before.mlir", "after-after.mlir", "details.txt"}
    assert (folder / "before-before.mlir").read_text() == "module @before"
    details = (folder / "details.txt").read_text()
    assert details.startswith("shardproof ")
    assert f"validate-hlo {pair[0]} {pair[1]}" in details
    assert "in stumble" in details


def test_a_fault_in_a_child_keeps_its_traceback(engine, command, pair):
    def stumble(before, after, options):
        raise run.InternalError("IndexError: 3", "Traceback of the child")

    engine(stumble)
    code, _, err = command(*pair)
    assert code == 70
    assert "internal error: IndexError: 3;" in err[0]
    assert "Traceback of the child" in (_bundle(err[0]) / "details.txt").read_text()


def test_interrupt(engine, command, pair):
    def interrupted(before, after, options):
        raise KeyboardInterrupt

    engine(interrupted)
    assert command(*pair) == (130, [], ["validate-hlo: interrupted"])


def test_a_fault_outside_of_a_pair_is_no_refutation(monkeypatch: pytest.MonkeyPatch, command, pair):
    def stumble(*arguments):
        raise RuntimeError("lost")

    monkeypatch.setattr(cli, "_pairs", stumble)
    code, _, err = command(*pair)
    assert code == 70
    assert err[0] == "validate-hlo: internal error:"
    assert err[-2] == "RuntimeError: lost"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["--list-rules"], ["-o", "/dev/full", *SAME], SAME])
def test_output_that_cannot_be_written(arguments: list[str]):
    with open("/dev/full", "w") as full:
        run = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 70
    assert run.stderr == "validate-hlo: error: cannot write the output: no space left on device\n"


@pytest.mark.parametrize("path", ["", ".", "no/such/folder/out.html"])
def test_what_is_no_file_to_write_is_a_usage_error(path: str):
    run = subprocess.run([*COMMAND, *SAME, f"--html={path}"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines()[-1] == f"validate-hlo: error: cannot write '{path}'"


def test_a_reader_that_goes_away():
    with subprocess.Popen([*COMMAND, "--list-rules"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_any_encoding_and_any_file_name(tmp_path: Path):
    name = os.fsdecode(bytes(tmp_path) + b"/\xff.mlir")
    shutil.copy(SAME[0], name)
    for extra in ([], ["--format", "json"]):
        run = subprocess.run(
            [*COMMAND, *extra, name, SAME[1]],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        )
        assert (run.returncode, run.stderr) == (0, b"")
        assert b"\\udcff.mlir" in run.stdout


def test_usage_errors_do_not_validate(engine, pair, capsys):
    def never(before, after, options):
        raise AssertionError("the engine was called")

    engine(never)
    wrong = [
        ["--xla-dump", ".", *pair],
        ["--module", "x", *pair],
        ["--jobs", "2", *pair],
        ["--ray", *pair],
        ["--xla-dump", ".", "--jobs", "0"],
        ["--xla-dump", ".", "--bisect", "--jobs", "2"],
        ["--memory-limit", "x", *pair],
        ["--node-limit", "-1", *pair],
        ["--xla-dump", ".", "--replay", "r.py"],
        ["-q", "-v", *pair],
        ["--seed", "x", *pair],
        ["--timeout", "nan", *pair],
        ["--replay", "/no/such/folder/r.py", *pair],
        ["--format", "yaml", *pair],
        ["--theor", "real", *pair],
    ]
    for arguments in wrong:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(arguments)
        assert exit_info.value.code == 2, arguments
    assert "validate-hlo: error: " in capsys.readouterr().err
