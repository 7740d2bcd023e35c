"""Causes, notes and the rules they are filed under."""

import re

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.report.cause import OTHER_RULES, RULES, Cause, Diagnosis
from shardproof.validator.report.note import LINTS, Note, NoteKind
from shardproof.validator.report.report import Obstacle, OutputReport, Report
from shardproof.validator.report.verdict import Verdict

ALL_RULES = [*RULES.values(), *OTHER_RULES, *LINTS.values()]


def test_every_cause_and_every_lint_has_a_rule():
    assert set(RULES) == set(Cause)
    assert set(LINTS) == set(NoteKind) - {NoteKind.INFORMATION}
    assert Note.information("x").rule is None


def test_ids_are_of_one_form_and_no_two_are_the_same():
    ids = [rule.id for rule in ALL_RULES]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SP0\d\d", each) for each in ids)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_messages_are_lower_case_and_help_is_a_paragraph(rule):
    assert rule.message[0].islower() and not rule.message.endswith(".")
    assert rule.help.endswith(".") and "\n" not in rule.help and len(rule.help) > len(rule.message)
    told = rule.say(dict.fromkeys(rule.facts, "@"))
    assert "{" not in told and ("@" in told) == bool(rule.facts)


def test_a_message_tells_what_is_known():
    assert Diagnosis(Cause.REDUCED_TWICE).message == "a value is summed across devices that already hold all of it"
    told = Diagnosis(Cause.REDUCED_TWICE, {"factor": "4"}).message
    assert told == "a value is summed across devices that already hold all of it: it comes out 4 times as large"
    with pytest.raises(ValueError, match="tells nothing of 'colour'"):
        Diagnosis(Cause.REDUCED_TWICE, {"colour": "red"})


def test_the_rule_of_a_report(proved: Report, refuted: Report, not_proved: Report, unsupported: Report):
    assert proved.rule is None
    assert (refuted.rule, not_proved.rule, unsupported.rule) != (None, None, None)
    assert [r.rule.id for r in (refuted, not_proved, unsupported) if r.rule] == ["SP020", "SP022", "SP013"]
    outputs = [OutputReport(0, "", Verdict.NOT_PROVED)]
    for obstacle, rule in ((None, "SP021"), (Obstacle.LIMIT, "SP023"), (Obstacle.TIMEOUT, "SP024")):
        report = Report.over("a", "b", outputs, obstacle=obstacle)
        assert report.rule is not None and report.rule.id == rule
    known = Report.over("a", "b", outputs, cause=Diagnosis(Cause.UNREDUCED, {"axis": "x"}))
    assert known.rule is RULES[Cause.UNREDUCED]
    assert known.to_json()["cause"] == {
        "name": "unreduced-partial-sum",
        "rule": "SP001",
        "message": "a partial result is never combined across x",
        "facts": {"axis": "x"},
    }


def test_a_proof_has_no_cause():
    outputs = [OutputReport(0, "", Verdict.PROVED, Theory.EXACT)]
    with pytest.raises(ValueError, match="no cause"):
        Report.over("a", "b", outputs, cause=Diagnosis(Cause.SWAPPED))
