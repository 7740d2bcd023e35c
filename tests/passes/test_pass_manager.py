"""Passes and validation inside jaxlib's own PassManager."""

from __future__ import annotations

from typing import Any

import pytest
from jaxlib.mlir.passmanager import PassManager
from read.programs import stablehlo

from shardproof.passes import InlineCalls, StripDeadValues, UnrollLoops, ValidateSpmd
from shardproof.validator.compat import ir, new_context, parse_module
from shardproof.validator.report.verdict import Verdict

TEXT = stablehlo("%0 = stablehlo.add %a, %a : tensor<4xf32>\nreturn %0 : tensor<4xf32>")


def nothing(op: ir.Operation, handle: Any) -> None:
    """A pass of somebody else that changes nothing."""


def doubling_becomes_squaring(op: ir.Operation, handle: Any) -> None:
    """A pass of somebody else that is wrong, and right for x = 0 and x = 2."""
    (function,) = op.regions[0].blocks[0]
    add = function.operation.regions[0].blocks[0].operations[0]
    with op.context, add.location:
        multiply = ir.Operation.create(
            "stablehlo.multiply", results=[add.results[0].type], operands=list(add.operands), ip=ir.InsertionPoint(add)
        )
    add.results[0].replace_all_uses_with(multiply.results[0])
    add.operation.erase()


def managed(*passes: Any) -> tuple[ir.Module, PassManager]:
    module = parse_module(TEXT, new_context())
    with module.context:
        manager = PassManager("builtin.module")
        for one in passes:
            manager.add(one)
    return module, manager


def test_a_right_pipeline_runs_to_its_end():
    check = ValidateSpmd(theory="exact")
    module, manager = managed(check.remember, InlineCalls(), "cse", nothing, StripDeadValues(), check)
    assert check.report is None
    manager.run(module.operation)
    assert check.report is not None
    assert check.report.verdict is Verdict.PROVED


def test_a_wrong_pass_fails_the_pass_manager_and_leaves_the_report():
    check = ValidateSpmd()
    ran: list[str] = []
    module, manager = managed(check.remember, doubling_becomes_squaring, check, lambda op, handle: ran.append("later"))
    with pytest.raises(ir.MLIRError) as caught:
        manager.run(module.operation)
    assert check.report is not None
    assert check.report.verdict is Verdict.REFUTED
    assert check.report.counterexample is not None
    assert "REFUTED" in caught.value.error_diagnostics[0].message
    assert ran == []


def test_the_module_before_can_be_given():
    module, manager = managed(check := ValidateSpmd(before=TEXT))
    manager.run(module.operation)
    assert check.report is not None
    assert check.report.verdict is Verdict.PROVED


def test_each_run_has_its_own_report():
    check = ValidateSpmd()
    module, manager = managed(check.remember, check)
    manager.run(module.operation)
    first = check.report
    manager.run(module.operation)
    assert check.report is not first


def test_nothing_to_compare_with_is_an_error():
    module, manager = managed(ValidateSpmd())
    with pytest.raises(ir.MLIRError, match="nothing to compare with: add 'remember' as a pass, or give 'before'"):
        manager.run(module.operation)


def test_programs_that_do_not_belong_together_are_an_error():
    other = stablehlo(
        "return %a, %a : tensor<4xf32>, tensor<4xf32>", "(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"
    )
    module, manager = managed(ValidateSpmd(before=other))
    with pytest.raises(ir.MLIRError, match="1 results, but '<before>' has 2"):
        manager.run(module.operation)


def test_settings_are_checked_at_once():
    with pytest.raises(ValueError, match="unknown theory 'bitwise'"):
        ValidateSpmd(theory="bitwise")


def test_a_pass_that_cannot_go_on_fails_the_pass_manager():
    recursive = stablehlo("%0 = func.call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>")
    module = parse_module(recursive, new_context())
    with module.context:
        manager = PassManager("builtin.module")
        manager.add(InlineCalls())
    with pytest.raises(ir.MLIRError, match="recursive call of '@main'"):
        manager.run(module.operation)


def test_options_are_part_of_the_text():
    assert str(UnrollLoops()) == "unroll-loops"
    assert str(UnrollLoops(max_trips=3)) == "unroll-loops{max-trips=3}"
    assert UnrollLoops.with_options({"max-trips": "3"}) == UnrollLoops(max_trips=3)
