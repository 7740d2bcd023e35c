"""Whole dump folders: every pair gets its verdict, and the worst one is the exit code."""

import json
from pathlib import Path

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.errors import ReadError, ReadErrorKind
from shardproof.validator.report.report import OutputReport, Report
from shardproof.validator.report.verdict import Verdict


def dump(folder: Path, *modules: str) -> None:
    for number, module in enumerate(modules):
        for side in ("before_spmd-partitioning", "after_spmd-partitioning.before_next"):
            name = f"module_{number:04}.{module}.0001.spmd.{'' if side.startswith('after') else 'after_x.'}{side}.txt"
            (folder / name).write_text(f"HloModule {module}")


@pytest.fixture
def by_module(engine):
    """What the module's text names decides: `good` is proved, `bad` refuted, `torn` unreadable."""

    def answer(before, after, options):
        if b"torn" in before.data:
            raise ReadError(ReadErrorKind.TRUNCATED, before.name, "is cut off")
        good = b"good" in before.data
        output = OutputReport(0, "", Verdict.PROVED if good else Verdict.REFUTED, Theory.EXACT if good else None)
        return Report.over(before.name, after.name, [output])

    engine(answer)


def test_every_pair_has_a_line(by_module, command, tmp_path: Path):
    dump(tmp_path, "jit_good", "jit_bad", "jit_torn", "jit_good")
    code, out, err = command("--xla-dump", tmp_path, "--format", "json")
    assert code == 1
    assert [json.loads(line)["verdict"] for line in out] == ["PROVED", "REFUTED", "PROVED"]
    assert err[-1] == "4 pairs: 2 proved, 1 refuted, 1 unreadable"
    assert any(line.endswith("is cut off") for line in err)


def test_module_pattern(by_module, command, tmp_path: Path):
    dump(tmp_path, "jit_good", "jit_bad")
    assert command("--xla-dump", tmp_path, "--module", "^jit_g")[0] == 0
    assert command("--xla-dump", tmp_path, "--module", "_b")[0] == 1
    code, _, err = command("--xla-dump", tmp_path, "--module", "other")
    assert (code, len(err)) == (5, 1)
    assert err[0].startswith(f"{tmp_path}: error: no spmd-partitioning dumps of a module matching 'other'")


def test_no_folder(command, tmp_path: Path):
    assert command("--xla-dump", tmp_path / "none") == (5, [], [f"{tmp_path / 'none'}: error: no such folder"])
