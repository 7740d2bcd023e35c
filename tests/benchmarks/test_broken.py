"""Faults in large programs: each is planted where it says, and is seen."""

from pathlib import Path

import pytest

from benchmarks.broken import broken
from shardproof.validator.options import Options
from shardproof.validator.read.program import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tp_mlp"


def test_a_planted_fault_is_refuted():
    before, after = (read_program(EXAMPLE / f"{side}.hlo.txt") for side in ("before", "after"))
    edit = broken(after, "all-reduce")
    assert edit.site.startswith("stablehlo.all_reduce ")
    assert len(edit.program.body.ops) == len(after.body.ops) - 1
    assert validate_programs(before, edit.program, Options()).verdict is Verdict.REFUTED


def test_a_program_without_a_place_for_the_fault():
    with pytest.raises(ValueError, match="no place for the fault 'gathered'"):
        broken(read_program(EXAMPLE / "after.hlo.txt"), "gathered")
