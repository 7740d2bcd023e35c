"""Broken twins of the examples, one kind of error each: refuted, and at the right line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shardproof
from shardproof import Report, Theory, Verdict

from .twins import TWINS, Twin

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "parallel"


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"twin_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def broken_text(twin: Twin) -> tuple[str, int]:
    """The example with the edit, and the line to which a report has to point, from 1."""
    text = (FOLDER / f"{twin.example}.py").read_text(encoding="utf-8")
    assert text.count(twin.old) == 1, f"{text.count(twin.old)} places for the edit"
    line = text[: text.index(twin.old)].count("\n") + 1
    text = text.replace(twin.old, twin.new)
    if twin.at:
        lines = [number for number, each in enumerate(text.splitlines(), 1) if twin.at in each]
        assert len(lines) == 1, f"'{twin.at}' stands in lines {lines}"
        (line,) = lines
    # without it JAX itself refuses some of these programs
    return text if "check_vma" in text else text.replace("mesh=mesh,", "mesh=mesh, check_vma=False,"), line


def test_most_kinds_of_errors_are_there():
    assert len({twin.kind for twin in TWINS}) >= 25


def compared(twin: Twin, path: Path, text: str, **settings: Any) -> Report:
    """What is said of the example with the edit, which is written to the path."""
    path.write_text(text, encoding="utf-8")
    right, wrong = module_of(FOLDER / f"{twin.example}.py"), module_of(path)
    settings = getattr(right, "settings", {}) | settings
    return shardproof.compare(right.reference, getattr(wrong, twin.function), *right.arguments, **settings)


def lines(report: Report, path: Path) -> list[int]:
    """Where a report points in a file: a function that is called from a line counts as the line."""
    return [frame.line for frame in report.location.frames if frame.file == str(path)]


def name_of(twin: Twin) -> str:
    return f"{twin.kind}-{twin.example}"


@pytest.mark.parametrize("twin", [twin for twin in TWINS if not twin.theory], ids=name_of)
def test_a_twin_is_refuted_at_its_line(twin: Twin, tmp_path: Path):
    text, line = broken_text(twin)
    path = tmp_path / f"{twin.example}.py"
    report = compared(twin, path, text)
    assert report.verdict is Verdict.REFUTED, str(report)
    assert report.counterexample is not None
    assert line in lines(report, path), str(report)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [twin for twin in TWINS if twin.theory], ids=name_of)
def test_an_error_of_precision_is_shown_at_its_line_and_named_by_its_theory(twin: Twin, tmp_path: Path):
    """Rounding refutes nothing: the programs are the same over the reals, and it takes that theory to prove it."""
    text, line = broken_text(twin)
    path = tmp_path / f"{twin.example}.py"
    report = compared(twin, path, text)
    assert report.verdict is Verdict.NOT_PROVED, str(report)
    assert line in lines(report, path), str(report)
    assert compared(twin, path, text, theory=twin.theory).theory is Theory(twin.theory)
