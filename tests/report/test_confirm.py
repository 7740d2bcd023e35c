"""A counterexample is believed only if XLA, where it can run the programs, sees the difference too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shardproof.validator import confirm, replica_runner
from shardproof.validator.confirm import confirmed, differ
from shardproof.validator.evaluate.compare import Counterexample
from shardproof.validator.options import Options
from shardproof.validator.report.report import Confirmation, Evaluator, Report
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import Source, validate_here

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tp_mlp"
BEFORE, AFTER, BROKEN = (Source.of_file(str(EXAMPLE / f"{name}.hlo.txt")) for name in ("before", "after", "broken"))
ASK = Options(confirm=True)
PATIENCE = 300.0
"""Seconds for XLA: the machine may be busy."""


@pytest.fixture(scope="module")
def refuted_example() -> Report:
    return validate_here(BEFORE, BROKEN, Options())


def test_both_evaluators_see_a_real_difference(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE, Evaluator.XLA))
    assert report.to_json()["counterexample"]["evaluators"] == ["reference", "xla"]
    assert "note: seen by the reference evaluator and by XLA" in str(report)


def test_a_difference_that_xla_does_not_see_refutes_nothing(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, AFTER, ASK, PATIENCE)
    assert report.verdict is Verdict.NOT_PROVED
    assert report.counterexample is None
    assert report.message == "the two evaluators disagree on a counterexample"
    assert "but XLA, on the same inputs, does not (expected" in str(report.notes[-1])
    assert report.outputs[0].verdict is Verdict.NOT_PROVED


def test_without_an_answer_the_reference_evaluator_stands_alone(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, seconds=0.0)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), "XLA took more than 0 s")
    assert report.to_json()["counterexample"]["unconfirmed"] == "XLA took more than 0 s"
    assert "note: seen by the reference evaluator alone: XLA took more than 0 s" in str(report)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "XLA's process ended with code -6"),
        ("import sys; sys.exit(3)", "XLA's process ended with code 3"),
        ("print('noise')", "XLA's process ended with code 0"),
    ],
)
def test_a_crash_of_xla_is_none_of_ours(
    refuted_example: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
):
    (tmp_path / "runner.py").write_text(code)
    monkeypatch.setattr(replica_runner, "__file__", str(tmp_path / "runner.py"))
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), reason)


def test_what_xla_refuses_is_told(refuted_example: Report):
    unknown = BROKEN.data.replace(b"maximum(%add.22, %max.6)", b'custom-call(%add.22, %max.6), custom_call_target="no"')
    report = confirmed(refuted_example, BEFORE, Source(BROKEN.name, unknown), ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation is not None
    assert report.confirmation.evaluators == (Evaluator.REFERENCE,)
    assert report.confirmation.reason.startswith("XLA does not run it: ")


def test_large_programs_are_not_run_by_the_way(refuted_example: Report, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shardproof.validator.replicas.MAX_OPS", 3)
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), "more than 3 ops")


def test_xla_is_asked_only_for_counterexamples(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(confirm, "confirmed", lambda *_: pytest.fail("asked"))
    assert validate_here(BEFORE, AFTER, ASK).verdict is Verdict.PROVED
    assert validate_here(BEFORE, BROKEN, replace(ASK, confirm=False)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("told", "seen", "different"),
    [
        ((1.0, 2.0), (1.0, 2.0), True),
        ((1.0, 2.0), (1.0, 1.0), False),
        ((1.0, 2.0), (1.0, 1.0000001), False),
        ((3, 5), (np.int32(3), np.int32(5)), True),
        ((3, 5), (np.int32(4), np.int32(4)), False),
        ((1.0, np.inf), (np.float32(1), np.float32(np.inf)), True),
        ((1.0, np.nan), (np.float32(1), np.float32(1)), False),
        ((np.nan, 1.0), (np.float32(np.nan), np.float32(np.nan)), False),
        ((1e300, 1.0), (np.float32(np.inf), np.float32(1)), True),
        ((1j, 2.0), (np.complex64(1j), np.complex64(2)), True),
        ((True, False), (np.bool_(True), np.bool_(True)), False),
    ],
)
def test_what_counts_as_a_difference(told: tuple, seen: tuple, different: bool):
    assert differ(Counterexample((), 0, 0, (), told[0], told[1], 0, "generic"), *seen) is different
