"""The definition: what is read from the IRDL file is what MLIR reads from it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from dialect.mlir_tools import DEFINITION, tool
from shardproof.dialect.definition import AnyOf, Constraint, definition, definition_text, parse_definition
from shardproof.validator.compat import ir, new_context, parse_module
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.mesh_ops import OWN_MESH
from shardproof.validator.report.verdict import Verdict


def test_the_enumerations_are_those_of_the_validator():
    problem = definition().operations["problem"]
    for name, kind in (("theory", [t.value for t in Theory]), ("expect", [v.name for v in Verdict])):
        constraint = problem.required[name]
        assert isinstance(constraint, AnyOf)
        assert sorted(str(part).strip('"') for part in constraint.parts) == sorted(kind)


def test_everything_has_a_sentence():
    found = definition()
    for each in (*found.attributes.values(), *found.operations.values()):
        assert each.summary.endswith(".") and each.summary[0].isupper(), each.name


def test_the_mesh_that_is_read_is_the_one_defined():
    assert OWN_MESH.removeprefix("shardproof.") in definition().operations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("irdl.dialect @other {}", "line 1: '@other' instead of '@shardproof'"),
        ("irdl.dialect @shardproof { irdl.type @t {} }", "'irdl.type' in a dialect definition"),
        ("irdl.dialect @shardproof { irdl.operation @o { irdl.regions() } }", "'irdl.regions' in a definition"),
        (
            "irdl.dialect @shardproof { irdl.operation @o { %a = irdl.c_pred } }",
            "constraint 'irdl.c_pred' in a definition",
        ),
        (
            'irdl.dialect @shardproof { irdl.operation @o attributes {note = "x"} {} }',
            "unknown in the definition of 'o': note",
        ),
        ("irdl.dialect @shardproof {\n // nothing\n ~ }", "line 1: no token of a definition"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, message: str):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_definition(text)


@pytest.mark.skipif(tool("mlir-opt") is None, reason="no mlir-opt")
def test_mlir_reads_the_same():
    run = subprocess.run(
        [str(tool("mlir-opt")), str(DEFINITION), "--mlir-print-op-generic"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    module = parse_module(run.stdout, new_context(allow_unregistered=True))
    (dialect,) = module.body.operations
    ours = definition()
    seen: set[str] = set()
    for view in dialect.regions[0].blocks[0]:
        name, body = _told(view.operation)
        seen.add(name)
        if view.operation.name == "irdl.attribute":
            assert body.get("irdl.parameters", []) == _told_by_us(ours.attributes[name].parameters)
        else:
            operation = ours.operations[name]
            assert body.get("irdl.attributes", []) == _told_by_us(operation.required)
            assert [n for n, _ in body.get("irdl.operands", [])] == [group.name for group in operation.operands]
            assert [n for n, _ in body.get("irdl.results", [])] == [group.name for group in operation.results]
    assert seen == {*ours.attributes, *ours.operations}
    assert definition_text() == DEFINITION.read_text(encoding="utf-8")


def _told(op: Any) -> tuple[str, dict[str, list[tuple[str, str]]]]:
    """The name of a definition in generic form, and its declarations as names with the texts of constraints."""
    known: dict[Any, str] = {}
    body: dict[str, list[tuple[str, str]]] = {}
    for view in op.regions[0].blocks[0]:
        inner = view.operation
        match inner.name:
            case "irdl.is":
                known[inner.results[0]] = str(inner.attributes["expected"])
            case "irdl.base":
                key = "base_name" if "base_name" in inner.attributes else "base_ref"
                known[inner.results[0]] = str(inner.attributes[key]).strip('"')
            case "irdl.any":
                known[inner.results[0]] = "anything"
            case "irdl.any_of":
                known[inner.results[0]] = " or ".join(known[operand] for operand in inner.operands)
            case other:
                key = "attributeValueNames" if other == "irdl.attributes" else "names"
                names = [ir.StringAttr(each).value for each in inner.attributes[key]]
                body[other] = list(zip(names, [known[operand] for operand in inner.operands], strict=True))
    return ir.StringAttr(op.attributes["sym_name"]).value, body


def _told_by_us(constraints: Mapping[str, Constraint]) -> list[tuple[str, str]]:
    return [(name, str(constraint)) for name, constraint in constraints.items()]
