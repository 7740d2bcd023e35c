"""Precedence of verdicts and of exit codes."""

import itertools

import pytest

from shardproof.validator.report.verdict import ExitCode, Verdict

WORST_FIRST = [Verdict.REFUTED, Verdict.UNSUPPORTED, Verdict.NOT_PROVED, Verdict.PROVED]


@pytest.mark.parametrize(("worse", "better"), list(itertools.combinations(WORST_FIRST, 2)))
def test_the_worse_verdict_wins_in_any_order(worse: Verdict, better: Verdict):
    assert Verdict.of([better, worse]) is worse
    assert Verdict.of([worse, better, better]) is worse


def test_every_verdict_has_a_place_and_a_code():
    assert set(WORST_FIRST) == set(Verdict)
    assert [int(ExitCode.of(verdict)) for verdict in WORST_FIRST] == [1, 4, 3, 0]


def test_exit_code_precedence():
    order = [70, 1, 5, 4, 3, 0]
    for worse, better in itertools.combinations(order, 2):
        assert ExitCode.worst([ExitCode(better), ExitCode(worse)]) == worse
    assert ExitCode.worst(ExitCode) == 70
