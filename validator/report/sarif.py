"""Reports as SARIF 2.1.0, for code scanning.

Results are the failing and unknown pairs only, one for each output without a proof: consumers that do not know SARIF's
`kind` would show a proof as a finding. What is proved stands in the properties of the run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..listing import package_version
from ..read.ir import UNKNOWN_LOCATION, Frame, Location
from .cause import DIFFERS, NO_RELATION, OTHER_RULES, RULES, Cause, Rule
from .excerpt import column, excerpt
from .report import OutputReport, Report
from .verdict import Verdict
from .witness import witness_to_json

if TYPE_CHECKING:
    from .output import Failure

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
_KINDS = {
    Verdict.REFUTED: ("fail", "error"),
    Verdict.NOT_PROVED: ("open", "none"),
    Verdict.UNSUPPORTED: ("review", "none"),
}
"""SARIF's kind and level; every kind but `fail` must have level `none`."""

_NAMES = {rule.id: cause.value for cause, rule in RULES.items()}
_RULES: tuple[Rule, ...] = (*RULES.values(), *OTHER_RULES)
_INDEX = {rule.id: number for number, rule in enumerate(_RULES)}
_NUMBERED = re.compile(r"^module_\d+\.")
"""XLA numbers the modules it compiles; the next run numbers the same module otherwise."""


def sarif_log(reports: Sequence[Report], failures: Sequence[Failure] = ()) -> dict[str, Any]:
    """The log of one run as plain data."""
    run = {
        "tool": {"driver": {"name": "shardproof", "version": package_version(), "rules": [_rule(r) for r in _RULES]}},
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": [_notification(failure) for failure in failures],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(report, output)
            for report in reports
            for output in report.outputs or (None,)
            if (report if output is None else output).verdict is not Verdict.PROVED
        ],
        "properties": {
            "proved": [_proved(report) for report in reports if report.verdict is Verdict.PROVED],
            "notes": [f"{report.after}: {note}" for report in reports for note in report.notes],
        },
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    described = {
        "id": rule.id,
        "shortDescription": {"text": rule.message},
        "fullDescription": {"text": rule.help},
        "help": {"text": f"{rule.message[0].upper()}{rule.message[1:]}. {rule.help}"},
        "defaultConfiguration": {"level": "error"},
    }
    if rule.id in _NAMES:
        described["name"] = "".join(word.capitalize() for word in _NAMES[rule.id].split("-"))
    return described


def _result(report: Report, output: OutputReport | None) -> dict[str, Any]:
    """One finding: an output without a proof, or with None a pair that has no outputs to speak of."""
    verdict = report.verdict if output is None else output.verdict
    kind, level = _KINDS[verdict]
    # A report tells the cause of one output, the first that fails; the others are filed by their verdict.
    told = output is None or output is report.failing
    rule = report.rule if told and report.rule is not None else _general(verdict)
    message = (report.message if output is None else output.message) or rule.message
    label = "" if output is None else f"{output.title}: "
    location = report.location if told or output is None else output.location
    properties: dict[str, Any] = {"verdict": verdict.name, "before": report.before, "after": report.after}
    if output is not None:
        properties["output"] = output.index
    witness = report.counterexample
    if witness is not None and output is not None and witness.result == output.index:
        properties["counterexample"] = witness_to_json(witness, report.confirmation)
        place = f"device {witness.device}, element {list(witness.index)}"
        values = f"expected {properties['counterexample']['expected']}, got {properties['counterexample']['actual']}"
        message = f"{message} ({place}: {values})"
    result: dict[str, Any] = {
        "ruleId": rule.id,
        "ruleIndex": _INDEX[rule.id],
        "kind": kind,
        "level": level,
        "message": {"text": label + message},
        "locations": [_location(location, report.after)],
        "partialFingerprints": {"shardproof/v1": _fingerprint(report, output, rule, location)},
        "properties": properties,
    }
    if told and (related := _other_side(report)):
        result["relatedLocations"] = related
    if len(location.frames) > 1:
        result["stacks"] = [{"frames": [{"location": _at(frame, report.after)} for frame in location.frames]}]
    return result


def _general(verdict: Verdict) -> Rule:
    if verdict is Verdict.REFUTED:
        return DIFFERS
    return Cause.UNSUPPORTED.rule if verdict is Verdict.UNSUPPORTED else NO_RELATION


def _fingerprint(report: Report, output: OutputReport | None, rule: Rule, location: Location) -> str:
    """What stays the same as long as the finding does: no line numbers, no numbers of modules, no folders."""
    op = report.frontier.op if report.frontier is not None else ""
    parts = (
        _NUMBERED.sub("", PurePath(report.after).name),
        "" if output is None else f"{output.index} {output.label}",
        rule.id,
        location.op_name,
        op,
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _other_side(report: Report) -> list[dict[str, Any]]:
    """The before program's part of the neighbourhood."""
    if report.frontier is None:
        return []
    related = []
    for number, value in enumerate(report.frontier.before):
        place = _location(value.location, report.before)
        text = f"before partitioning: '{value.name}' : {value.signature} = {value.op}"
        related.append({"id": number, **place, "message": {"text": text}})
    return related


def _location(location: Location, file: str) -> dict[str, Any]:
    place: dict[str, Any]
    if location.frames:
        place = _at(location.frames[0], file)
    else:
        # consumers want a line; the first one stands for the file
        place = {"physicalLocation": {"artifactLocation": _artifact(file), "region": {"startLine": 1}}}
    if location != UNKNOWN_LOCATION and location.op_name:
        place["logicalLocations"] = [{"fullyQualifiedName": location.op_name}]
    return place


def _at(frame: Frame, beside: str) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(1, frame.line)}
    if (at := column(frame)) is not None:
        region["startColumn"] = at
    if (found := excerpt(frame, beside)) is not None:
        region["snippet"] = {"text": found.marked}
    return {"physicalLocation": {"artifactLocation": _artifact(frame.file), "region": region}}


def _artifact(file: str) -> dict[str, str]:
    path = PurePath(file)
    encoded = file.encode("utf-8", "surrogateescape")
    if path.is_absolute():
        return {"uri": "file://" + quote(encoded)}
    return {"uri": quote(encoded), "uriBaseId": "%SRCROOT%"}


def _notification(failure: Failure) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": "internal-error" if failure.internal else "unreadable-input"},
        "message": {"text": f"{failure.where}: {failure.message}"},
    }


def _proved(report: Report) -> dict[str, Any]:
    assert report.theory is not None
    return {
        "before": report.before,
        "after": report.after,
        "theory": report.theory.value,
        "assumptions": sorted(assumption.value for assumption in report.assumptions),
        "outputs": len(report.outputs),
    }
