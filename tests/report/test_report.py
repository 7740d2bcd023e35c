"""A report cannot contradict itself."""

import dataclasses
import pickle

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.report.report import OutputReport, Report
from shardproof.validator.report.verdict import Verdict


def test_verdict_and_theory_follow_from_the_outputs(proved: Report, refuted: Report):
    assert (proved.verdict, proved.theory) == (Verdict.PROVED, Theory.REASSOCIATED)
    assert (refuted.verdict, refuted.theory) == (Verdict.REFUTED, None)


def test_a_program_without_results_is_proved_exactly():
    assert Report.over("a", "b", []).theory is Theory.EXACT


@pytest.mark.parametrize("verdict", [Verdict.PROVED, Verdict.NOT_PROVED, Verdict.UNSUPPORTED])
def test_a_report_is_never_better_than_an_output(refuted: Report, verdict: Verdict):
    theory = Theory.EXACT if verdict is Verdict.PROVED else None
    with pytest.raises(ValueError, match=f"cannot be {verdict.name} when one of its outputs is worse"):
        dataclasses.replace(refuted, verdict=verdict, theory=theory)


def test_a_report_may_be_worse_than_its_outputs(proved: Report):
    worse = dataclasses.replace(proved, verdict=Verdict.NOT_PROVED, theory=None)
    assert worse.verdict is Verdict.NOT_PROVED


def test_only_a_proof_has_a_theory(proved: Report):
    with pytest.raises(ValueError, match="exactly when it is proved"):
        dataclasses.replace(proved, theory=None)
    with pytest.raises(ValueError, match="exactly when it is proved"):
        OutputReport(0, "x", Verdict.NOT_PROVED, Theory.REAL)
    with pytest.raises(ValueError, match="weakest of its outputs' theories"):
        dataclasses.replace(proved, theory=Theory.EXACT)


def test_only_a_refutation_has_a_counterexample(refuted: Report, proved: Report):
    with pytest.raises(ValueError, match="with a counterexample is REFUTED"):
        dataclasses.replace(proved, counterexample=refuted.counterexample)


def test_a_report_crosses_a_process_boundary(proved: Report):
    assert pickle.loads(pickle.dumps(proved)) == proved
