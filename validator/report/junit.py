"""Reports as JUnit XML: a suite for each pair of modules, a case for each of its outputs.

An output that is not proved is a failure whose type is its verdict, whatever that is: a build that asks for proofs must
not go green on an output that nobody decided. An input that cannot be read and an internal error are errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from .report import OutputReport, Report
from .text import diagnostics, verdict_line
from .verdict import Verdict

if TYPE_CHECKING:
    from .output import Failure

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold in any spelling."""


def junit_xml(reports: Sequence[Report], failures: Sequence[Failure]) -> str:
    """The document as text, with its declaration."""
    suites = [_suite(report) for report in reports] + [_broken_suite(failure) for failure in failures]
    root = ElementTree.Element("testsuites", {"name": "shardproof", **_totals(suites)})
    root.extend(suites)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _totals(suites: Sequence[ElementTree.Element]) -> dict[str, str]:
    return {key: str(sum(int(suite.get(key, "0")) for suite in suites)) for key in ("tests", "failures", "errors")}


def _suite(report: Report) -> ElementTree.Element:
    # A mismatch of signatures and what cannot be read in full have no outputs; the pair itself is the case then.
    cases = [_case(report, output) for output in report.outputs] or [_whole(report)]
    failed = sum(case.find("failure") is not None for case in cases)
    seconds = f"{report.stats.seconds:.3f}"
    suite = _element(
        "testsuite",
        name=f"{report.before} → {report.after}",
        tests=str(len(cases)),
        failures=str(failed),
        errors="0",
        time=seconds,
    )
    properties = ElementTree.SubElement(suite, "properties")
    facts = {
        "verdict": report.verdict.name,
        "theory": report.theory.value if report.theory is not None else "",
        "rule": report.rule.id if report.rule is not None else "",
        "assumptions": ",".join(sorted(assumption.value for assumption in report.assumptions)),
    }
    properties.extend(_element("property", name=name, value=value) for name, value in facts.items() if value)
    suite.extend(cases)
    if report.verdict is not Verdict.PROVED or report.notes:
        out = ElementTree.SubElement(suite, "system-out")
        out.text = _clean("\n".join([verdict_line(report), *diagnostics(report)]))
    return suite


def _case(report: Report, output: OutputReport) -> ElementTree.Element:
    case = _element("testcase", classname=report.after, name=output.title)
    if output.verdict is not Verdict.PROVED:
        message = output.message or report.message or output.verdict.name
        case.append(_failure(report, output.verdict, message, str(output.location)))
    return case


def _whole(report: Report) -> ElementTree.Element:
    case = _element("testcase", classname=report.after, name="all outputs")
    if report.verdict is not Verdict.PROVED:
        case.append(_failure(report, report.verdict, report.message or report.verdict.name, str(report.location)))
    return case


def _failure(report: Report, verdict: Verdict, message: str, where: str) -> ElementTree.Element:
    failure = _element("failure", type=verdict.name, message=message)
    rule = f"{report.rule.id}: {report.rule.message}\n" if report.rule is not None else ""
    failure.text = _clean(f"{rule}{where}: {message}")
    return failure


def _broken_suite(failure: Failure) -> ElementTree.Element:
    suite = _element("testsuite", name=failure.where, tests="1", failures="0", errors="1", time="0.000")
    case = ElementTree.SubElement(suite, "testcase", {"classname": _clean(failure.where), "name": "all outputs"})
    kind = "INTERNAL" if failure.internal else "UNREADABLE"
    case.append(_element("error", type=kind, message=failure.message))
    return suite


def _element(tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(tag, {key: _clean(value) for key, value in attributes.items()})


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
