"""SARIF 2.1.0, against the official schema."""

import copy
import dataclasses
import json
from pathlib import Path

import pytest

from shardproof.validator.read.ir import Frame, Location
from shardproof.validator.report.cause import Cause, Diagnosis
from shardproof.validator.report.frontier import NearValue
from shardproof.validator.report.output import Failure
from shardproof.validator.report.report import Report
from shardproof.validator.report.sarif import sarif_log

SCHEMA = Path(__file__).parent / "schemas" / "sarif-2.1.0.json"


@pytest.fixture(scope="module")
def check():
    jsonschema = pytest.importorskip("jsonschema", reason="part of the extra 'test'")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    return lambda log: validator.validate(json.loads(json.dumps(log, allow_nan=False)))


def test_the_schema_refuses_what_is_wrong(check, refuted: Report):
    jsonschema = pytest.importorskip("jsonschema", reason="part of the extra 'test'")
    log = sarif_log([refuted])
    log["runs"][0]["results"][0]["kind"] = "wrong"
    with pytest.raises(jsonschema.ValidationError):
        check(log)


def test_every_verdict_fits_the_schema(check, request: pytest.FixtureRequest):
    reports = [request.getfixturevalue(name) for name in ("proved", "refuted", "not_proved", "unsupported")]
    check(sarif_log(reports, [Failure("torn.pb", "is cut off"), Failure("a.pb", "ValueError", internal=True)]))
    check(sarif_log([]))


def test_results_are_what_is_not_proved(proved: Report, refuted: Report, not_proved: Report, unsupported: Report):
    run = sarif_log([proved, refuted, not_proved, unsupported])["runs"][0]
    kinds = [(result["kind"], result["level"]) for result in run["results"]]
    assert kinds == [("fail", "error"), *[("open", "none")] * 11, ("review", "none")]
    assert [entry["after"] for entry in run["properties"]["proved"]] == ["after.mlir"]
    assert run["invocations"][0]["executionSuccessful"]


def test_a_pair_without_verdict_is_a_notification(proved: Report):
    run = sarif_log([proved], [Failure("torn.pb", "is cut off")])["runs"][0]
    assert run["results"] == []
    assert not run["invocations"][0]["executionSuccessful"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "torn.pb: is cut off"


def test_a_cause_gives_the_rule(check, refuted: Report):
    report = dataclasses.replace(refuted, cause=Diagnosis(Cause.UNREDUCED, {"axis": "'model'"}))
    log = sarif_log([report])
    check(log)
    run = log["runs"][0]
    (result,) = run["results"]
    assert result["ruleId"] == "SP001"
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["name"]) == ("SP001", "UnreducedPartialSum")
    assert "psum" in rule["help"]["text"]


def test_every_rule_has_one_id_and_help(refuted: Report):
    rules = sarif_log([refuted])["runs"][0]["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)


def test_both_sides_have_a_place(check, refuted: Report):
    assert refuted.frontier is not None
    near = NearValue("%7", "stablehlo.add", "f32[16,24]", location=Location("jit(mlp)/add", (Frame("mlp.py", 31, 4),)))
    report = dataclasses.replace(refuted, frontier=dataclasses.replace(refuted.frontier, before=(near,)))
    log = sarif_log([report])
    check(log)
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "mlp.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 30, "startColumn": 12}
    other = result["relatedLocations"][0]
    assert other["physicalLocation"]["region"]["startLine"] == 31
    assert "'%7' : f32[16,24] = stablehlo.add" in other["message"]["text"]


def test_fingerprints_stay_when_lines_and_numbers_move(refuted: Report):
    def fingerprint(report: Report) -> str:
        return sarif_log([report])["runs"][0]["results"][0]["partialFingerprints"]["shardproof/v1"]

    first = dataclasses.replace(refuted, after="/tmp/a/module_0003.jit_f.after.pb")
    moved_frames = (Frame("mlp.py", 99, 0),)
    outputs = tuple(
        dataclasses.replace(output, location=Location(output.location.op_name, moved_frames))
        for output in refuted.outputs
    )
    assert refuted.frontier is not None
    frontier = dataclasses.replace(refuted.frontier, location=Location("jit(mlp)/dot_general", moved_frames))
    moved = dataclasses.replace(refuted, after="other/module_0012.jit_f.after.pb", outputs=outputs, frontier=frontier)
    assert fingerprint(first) == fingerprint(moved)
    other = copy.copy(refuted.outputs[1])
    renamed = dataclasses.replace(moved, outputs=(refuted.outputs[0], dataclasses.replace(other, label="other")))
    assert fingerprint(renamed) != fingerprint(first)


def test_a_real_report(check, broken_example: Report):
    log = sarif_log([broken_example])
    check(log)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("SP001", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 30
    assert result["locations"][0]["physicalLocation"]["region"]["snippet"]["text"].strip() == (
        "return hidden @ w_out + b_out"
    )
    assert len(result["stacks"][0]["frames"]) == 4
    assert result["relatedLocations"]


def test_hostile_names(check, refuted: Report):
    name = 'a b%20"<>\udc80\u202e.py'
    location = Location("x" * 10, (Frame(name, 0, 0),))
    report = dataclasses.replace(refuted, after=name, frontier=None)
    outputs = (report.outputs[0], dataclasses.replace(report.outputs[1], location=location))
    log = sarif_log([dataclasses.replace(report, outputs=outputs)])
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%2520%22%3C%3E%80%E2%80%AE.py"
    assert place["region"] == {"startLine": 1}
    check(log)
