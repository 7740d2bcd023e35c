"""The campaign's log is taken up again, and its counts tell false proofs from true ones."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.mutants import ORIGINAL_DIFFERS, Outcome, _read_done, all_mutants, main, table
from benchmarks.pairs import compiled, load
from shardproof.validator.relate.decide import decide

_OUTCOME = Outcome("key", "pair", "K1", "missing", "site", "left out", "", oracle="differs", verdict="REFUTED")


def test_a_false_proof_is_wrong_whatever_its_theory() -> None:
    assert not _OUTCOME.wrongly_proved
    assert replace(_OUTCOME, verdict="PROVED", theory="exact").wrongly_proved
    assert not replace(_OUTCOME, verdict="PROVED", theory="exact", oracle="same").wrongly_proved


def test_a_lowered_precision_may_be_proved_only_ignoring_rounding() -> None:
    narrowed = replace(_OUTCOME, kind="K27", oracle="same", verdict="PROVED")
    assert replace(narrowed, theory="reassociated").wrongly_proved
    assert not replace(narrowed, theory="real").wrongly_proved


def test_a_benign_rewrite_is_missed_only_in_a_theory_that_covers_it() -> None:
    benign = replace(_OUTCOME, kind="benign", oracle="same", verdict="NOT_PROVED", theory_needed="exact")
    assert benign.missed
    assert replace(benign, theory_needed="real").missed
    assert not replace(benign, theory_needed="real", theory="real").missed
    assert replace(benign, theory="real").missed
    assert replace(benign, theory="real", oracle="differs").wrongly_proved
    assert not replace(benign, verdict="PROVED").missed


def test_a_benign_rewrite_is_refuted_rightly_only_with_its_program() -> None:
    benign = replace(_OUTCOME, kind="benign", verdict="REFUTED")
    assert benign.wrongly_refuted
    assert not replace(benign, message=ORIGINAL_DIFFERS).wrongly_refuted
    assert not replace(benign, kind="K1").wrongly_refuted
    assert not replace(benign, verdict="NOT_PROVED").wrongly_refuted


def test_the_table_counts_by_kind() -> None:
    lines = table([_OUTCOME, replace(_OUTCOME, key="other", verdict="PROVED", theory="exact")]).splitlines()
    assert [line.split()[:7] for line in lines[1:]] == [
        ["K1", "2", "2", "0", "0", "1", "0"],
        ["all", "2", "2", "0", "0", "1", "0"],
    ]


def test_later_lines_add_to_earlier_ones(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    labelled, proved = replace(_OUTCOME, verdict=""), replace(_OUTCOME, oracle="")
    log.write_text("".join(json.dumps(asdict(one)) + "\n" for one in (labelled, proved)))
    assert _read_done(log) == {"key": _OUTCOME}


def test_a_campaign_goes_on_where_it_ended(tmp_path: Path, capsys) -> None:
    arguments = ["tp_mlp", "--kinds", "K1,K3", "--limit", "1", "--out", str(tmp_path / "log.jsonl")]
    assert main(arguments) == 0
    first = capsys.readouterr()
    assert "3 mutants to do, 0 done before" in first.err
    assert main(arguments) == 0
    second = capsys.readouterr()
    assert "0 mutants to do, 3 done before" in second.err
    assert first.out == second.out


@pytest.mark.slow
def test_sets_that_isl_writes_in_two_ways_are_no_fault_of_the_e_graph() -> None:
    """A device's last element is another constant: the random bits made of it are read on sets that are cut up."""
    name = "zoo/rng_dropout"
    compiled(name)
    before = load(name).before
    mutants = [mutant for _, mutant in all_mutants(name, ("K22",), 2) if "last device" in mutant.change]
    assert mutants
    for mutant in mutants:
        comparisons = decide(before, mutant.program, deadline=None, assume_in_bounds=False).comparisons
        assert not all(comparison is not None and comparison.proved for comparison in comparisons)
