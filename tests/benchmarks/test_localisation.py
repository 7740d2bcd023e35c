"""The benchmark of places and causes knows what was planted, and counts by kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.localisation import Outcome, main, table
from benchmarks.pairs import load
from benchmarks.planted import planted, tidied
from tests.tools.mutate import mutants

_OUTCOME = Outcome(
    "pair", "K1", "missing", 0, label="differs", place="user", cause="unreduced-partial-sum",
    truth=("unreduced-partial-sum",),
)  # fmt: skip


def test_the_table_counts_places_and_causes() -> None:
    elsewhere = replace(_OUTCOME, place="elsewhere", cause="swapped")
    unknown = replace(_OUTCOME, place="index", cause="")
    not_wrong = replace(_OUTCOME, label="same")
    lines = table([_OUTCOME, elsewhere, unknown, not_wrong]).splitlines()
    assert lines[1].split() == ["K1", "3", "0", "1", "0", "1", "1", "33", "%", "2", "50", "%"]
    assert lines[2].split()[1:] == lines[1].split()[1:]


def test_what_is_planted_is_known() -> None:
    after = load("examples/tp_mlp").after
    for mutant in mutants(after, ["K1", "K3", "K7", "K21"], 1):
        found = planted(after, mutant.program)
        assert found.planted or found.users
        names = {value.number for op in mutant.program.body.ops for value in op.results}
        assert found.planted | found.users <= names
        if mutant.kind == "K1":
            # between the dot, which fed the all-reduce, and the addition, which read it
            assert not found.planted and len(found.users) == 1 and len(found.producers) == 1
    assert planted(after, after).place(after.body.ops[0].results[0].number) == "elsewhere"


def test_what_nothing_uses_is_taken_out() -> None:
    after = load("examples/tp_mlp").after
    (mutant,) = list(mutants(after, ["K21"], 1))[:1]
    left = tidied(mutant.program)
    kept = {op.results[0].number for op in left.body.ops}
    gone = [op for op in mutant.program.body.ops if op.results[0].number not in kept]
    assert gone and all(op in mutant.program.body.ops for op in left.body.ops)
    read = {operand.number for op in left.body.ops for operand in op.operands}
    assert not read & {op.results[0].number for op in gone}
    assert left.results == mutant.program.results
    assert tidied(left).body.ops == left.body.ops


def test_a_run_finds_places_and_causes(tmp_path: Path, capsys) -> None:
    arguments = ["tp_mlp", "--kinds", "K1,K7", "--each", "1", "--out", str(tmp_path / "log.jsonl")]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    total = next(line.split() for line in lines if line.split()[:1] == ["all"])
    assert total[1] == "2" and total[-5:] == ["100", "%", "2", "100", "%"]
    assert main([*arguments, "--again"]) == 0
    assert next(line.split() for line in capsys.readouterr().out.splitlines() if "all" in line.split()) == total
