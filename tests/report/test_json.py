"""Schema 1 of the JSON report."""

import json
from typing import Any

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Assumption
from shardproof.validator.report.json_format import SCHEMA_FILE, json_line
from shardproof.validator.report.report import Obstacle, Report
from shardproof.validator.report.verdict import Verdict

KEYS = (
    "schema before after verdict theory assumptions obstacle message rule cause "
    "outputs frontier counterexample notes stats"
).split()


@pytest.mark.parametrize("name", ["proved", "refuted", "not_proved", "unsupported"])
def test_every_key_is_always_there(name: str, request: pytest.FixtureRequest):
    report: Report = request.getfixturevalue(name)
    line = json_line(report)
    assert "\n" not in line
    data = json.loads(line, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
    assert list(data) == KEYS
    assert data == report.to_json()
    assert data["schema"] == 1


def test_a_proof(proved: Report):
    data = proved.to_json()
    assert (data["verdict"], data["theory"], data["assumptions"]) == ("PROVED", "reassociated", [])
    assert data["outputs"][1] == {
        "index": 1,
        "label": "grad",
        "verdict": "PROVED",
        "theory": "exact",
        "location": None,
        "message": "",
    }
    assert data["stats"] == {
        "seconds": 0.4149,
        "ops": {"before": 20, "after": 24},
        "relations": 311,
        "memo_hits": 1200,
        "rules": {"completion": 3, "sum-of-sums": 2},
        "lemmas": ["completion"],
        "egraph_stop": None,
        "isl_seconds": 0.25,
        "egraph_seconds": 0.0,
        "memo": {"compose": {"hits": 1200, "computed": 311}},
    }


def test_a_refutation(refuted: Report):
    data = refuted.to_json()
    assert data["theory"] is None
    assert data["assumptions"] == ["indices-in-bounds"]
    assert data["frontier"]["value"] == "%23"
    assert data["frontier"]["location"]["frames"][0] == {
        "file": "mlp.py",
        "line": 30,
        "column": 11,
        "function": "mlp",
    }
    assert data["frontier"]["operands"][0] == {"name": "%14", "relation": "Σ over 16 of 64"}
    assert data["counterexample"] == {
        "output": 1,
        "device": 3,
        "element": [0, 2],
        "expected": 2.0,
        "actual": "inf",
        "evaluators": ["reference"],
        "unconfirmed": None,
        "profile": "small integers",
        "seed": 7,
        "matter": [0, 1],
        "out_of_bounds": [],
        "inputs": [
            {"shape": [1, 2], "dtype": "float64", "values": [1.0, "nan"]},
            {"shape": [100], "dtype": "int64", "values": None},
        ],
    }


def _closed(schema: Any) -> Any:
    """The schema with every object held to the keys it tells of, which readers of later versions must not do."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if "properties" in schema:
        closed["additionalProperties"] = False
    return closed


@pytest.mark.parametrize("name", ["proved", "refuted", "not_proved", "unsupported", "broken_example"])
def test_reports_fit_the_schema(name: str, request: pytest.FixtureRequest):
    jsonschema = pytest.importorskip("jsonschema", reason="part of the extra 'test'")
    validator = jsonschema.Draft202012Validator(_closed(json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))))
    report: Report = request.getfixturevalue(name)
    data = json.loads(json_line(report))
    validator.validate(data)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**data, "unheard_of": 1})


def test_the_schema_lists_the_closed_sets():
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    keys = schema["properties"]
    assert keys["verdict"]["enum"] == [verdict.name for verdict in (Verdict.PROVED, Verdict.REFUTED, *_OTHERS)]
    assert keys["theory"]["enum"] == [*(theory.value for theory in Theory), None]
    assert keys["obstacle"]["enum"] == [*(obstacle.value for obstacle in Obstacle), None]
    assert keys["assumptions"]["items"]["enum"] == [assumption.value for assumption in Assumption]


_OTHERS = (Verdict.NOT_PROVED, Verdict.UNSUPPORTED)
