"""A report as JSON, schema 1.

Keys are never left out: what is absent is null or empty, so that a reader needs no guards. New keys may come within
schema 1; a key that goes away or changes its meaning makes schema 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..read.ir import UNKNOWN_LOCATION, Location
from .cause import Diagnosis
from .frontier import Frontier, NearValue
from .note import Note
from .report import OutputReport, Report, Stats
from .witness import witness_to_json

SCHEMA = 1
SCHEMA_FILE = Path(__file__).with_name("report.schema.json")
"""The schema as JSON Schema."""


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as dictionaries, lists, strings, numbers and None."""
    return {
        "schema": SCHEMA,
        "before": report.before,
        "after": report.after,
        "verdict": report.verdict.name,
        "theory": None if report.theory is None else report.theory.value,
        "assumptions": sorted(assumption.value for assumption in report.assumptions),
        "obstacle": None if report.obstacle is None else report.obstacle.value,
        "message": report.message,
        "rule": None if report.rule is None else report.rule.id,
        "cause": None if report.cause is None else _cause(report.cause),
        "outputs": [_output(output) for output in report.outputs],
        "frontier": None if report.frontier is None else _frontier(report.frontier),
        "counterexample": _witness(report),
        "notes": [_note(note) for note in report.notes],
        "stats": _stats(report.stats),
    }


def json_line(report: Report) -> str:
    """The report as one line of strict JSON."""
    return json.dumps(report_to_json(report), ensure_ascii=False, allow_nan=False)


def _witness(report: Report) -> dict[str, Any] | None:
    return None if report.counterexample is None else witness_to_json(report.counterexample, report.confirmation)


def _output(output: OutputReport) -> dict[str, Any]:
    return {
        "index": output.index,
        "label": output.label,
        "verdict": output.verdict.name,
        "theory": None if output.theory is None else output.theory.value,
        "location": _location(output.location),
        "message": output.message,
    }


def _frontier(frontier: Frontier) -> dict[str, Any]:
    return {
        "op": frontier.op,
        "value": frontier.value,
        "type": frontier.type,
        "location": _location(frontier.location),
        "reason": frontier.reason,
        "operands": [{"name": operand.name, "relation": operand.relation} for operand in frontier.operands],
        "before": [_near(value) for value in frontier.before],
        "after": [_near(value) for value in frontier.after],
    }


def _near(value: NearValue) -> dict[str, Any]:
    return {
        "name": value.name,
        "op": value.op,
        "type": value.type,
        "layout": value.layout,
        "relation": value.relation,
        "operands": list(value.operands),
        "counterpart": value.counterpart,
        "location": _location(value.location),
    }


def _cause(cause: Diagnosis) -> dict[str, Any]:
    return {
        "name": cause.cause.value,
        "rule": cause.rule.id,
        "message": cause.message,
        "facts": dict(sorted(cause.facts.items())),
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind.value,
        "rule": None if note.rule is None else note.rule.id,
        "text": note.text,
        "location": _location(note.location),
    }


def _location(location: Location) -> dict[str, Any] | None:
    if location == UNKNOWN_LOCATION:
        return None
    return {
        "op_name": location.op_name,
        "frames": [
            {"file": frame.file, "line": frame.line, "column": frame.column, "function": frame.function}
            for frame in location.frames
        ],
    }


def _stats(stats: Stats) -> dict[str, Any]:
    return {
        "seconds": round(stats.seconds, 6),
        "ops": {"before": stats.ops_before, "after": stats.ops_after},
        "relations": stats.relations,
        "memo_hits": stats.memo_hits,
        "rules": dict(sorted(stats.rules.items())),
        "lemmas": sorted(stats.lemmas),
        "egraph_stop": stats.egraph_stop,
        "isl_seconds": round(stats.isl_seconds, 6),
        "egraph_seconds": round(stats.egraph_seconds, 6),
        "memo": {name: {"hits": hits, "computed": computed} for name, (hits, computed) in stats.memo.items()},
    }
