"""A stand-in for the engine: what these tests look at is the command line around it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardproof.validator import cli, run
from shardproof.validator.options import Options
from shardproof.validator.report.report import Report

Answer = Callable[[run.Source, run.Source, Options], Report]


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """Two readable files whose content the stand-in does not look at."""
    paths = [tmp_path / "before.mlir", tmp_path / "after.mlir"]
    for path in paths:
        path.write_text(f"module @{path.stem}")
    return [str(path) for path in paths]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    """Sets what the engine answers."""

    def answer_with(answer: Answer) -> None:
        monkeypatch.setattr(run, "validate_sources", lambda before, after, options, _: answer(before, after, options))

    return answer_with


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[str], list[str]]]:
    """Runs the command: exit code, lines of stdout, lines of stderr."""

    def call(*arguments: Any) -> tuple[int, list[str], list[str]]:
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return call
