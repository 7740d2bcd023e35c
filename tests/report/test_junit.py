"""JUnit XML, against the schema of Jenkins."""

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shardproof.validator.report.junit import junit_xml
from shardproof.validator.report.output import Failure
from shardproof.validator.report.report import Report

SCHEMA = Path(__file__).parent / "schemas" / "junit-10.xsd"


@pytest.fixture(scope="module")
def check():
    xmlschema = pytest.importorskip("xmlschema", reason="part of the extra 'test'")
    return xmlschema.XMLSchema(str(SCHEMA)).validate


def test_the_schema_refuses_what_is_wrong(check, refuted: Report):
    xmlschema = pytest.importorskip("xmlschema", reason="part of the extra 'test'")
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        check(junit_xml([refuted], []).replace("<failure", "<wrong").replace("</failure", "</wrong"))


def test_every_verdict_fits_the_schema(check, request: pytest.FixtureRequest):
    reports = [request.getfixturevalue(name) for name in ("proved", "refuted", "not_proved", "unsupported")]
    check(junit_xml(reports, [Failure("torn.pb", "is cut off")]))
    check(junit_xml([request.getfixturevalue("broken_example")], []))
    check(junit_xml([], []))


def test_a_case_for_each_module_and_output(proved: Report, refuted: Report, unsupported: Report):
    root = ElementTree.fromstring(junit_xml([proved, refuted, unsupported], [Failure("a", "b", internal=True)]))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "2", "1")
    suites = list(root)
    assert [suite.get("name") for suite in suites[:2]] == ["before.mlir → after.mlir"] * 2
    cases = [(case.get("classname"), case.get("name")) for case in suites[1].iter("testcase")]
    assert cases == [("after.mlir", "output 0 'loss'"), ("after.mlir", "output 1 'grad'")]
    failures = [failure.get("type") for failure in root.iter("failure")]
    assert failures == ["REFUTED", "UNSUPPORTED"]
    (error,) = root.iter("error")
    assert (error.get("type"), error.get("message")) == ("INTERNAL", "b")


def test_the_verdict_is_never_lost(not_proved: Report):
    root = ElementTree.fromstring(junit_xml([not_proved], []))
    assert [failure.get("type") for failure in root.iter("failure")] == ["NOT_PROVED"] * 11


def test_hostile_names(check, refuted: Report):
    name = "]]><!--&\0\x1b\ud800\uffff"
    outputs = (refuted.outputs[0], dataclasses.replace(refuted.outputs[1], label=name, message=name))
    text = junit_xml([dataclasses.replace(refuted, after=name, message=name, outputs=outputs)], [Failure(name, name)])
    check(text)
    assert "]]><!--&" in (ElementTree.fromstring(text)[0].findall("testcase")[1].get("name") or "")
