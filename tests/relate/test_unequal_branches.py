"""Branches with collectives: the devices that exchange values have to take the same one."""

from __future__ import annotations

import pytest

from shardproof.validator.certify.write import certificate
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.relate.decide import decide
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

from .pairs import Tensor, exchanged, program

PART = Tensor((2,), "f32")
DEVICES = 4


def _pair(first: int) -> tuple[Program, Program]:
    """The `first` devices square a value and the others double it, and the same with an exchange there and back."""
    programs = []
    for inside in ("", exchanged("t", "%a0", 1, DEVICES, PART) + exchanged("v", "%t", 2, DEVICES, PART)):
        of = "%v" if inside else "%a0"
        body = (
            f"%p = stablehlo.partition_id : tensor<ui32>\n%n = stablehlo.constant dense<{first}> : tensor<ui32>\n"
            "%c = stablehlo.compare LT, %p, %n : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
            f'%out = "stablehlo.if"(%c) ({{\n{inside}%s = stablehlo.multiply {of}, {of} : {PART}\n'
            f"stablehlo.return %s : {PART}\n}}, {{\n%d = stablehlo.add %a0, %a0 : {PART}\n"
            f"stablehlo.return %d : {PART}\n}}) : (tensor<i1>) -> {PART}\n"
        )
        programs.append(fold_scalars(program(body, [PART], PART, DEVICES)))
    return programs[0], programs[1]


@pytest.mark.parametrize("first", [2, 4])
def test_devices_that_exchange_values_and_choose_alike(first: int):
    before, after = _pair(first)
    decision = decide(before, after, deadline=None, assume_in_bounds=False, traced=True)
    assert all(comparison is not None and comparison.proved for comparison in decision.comparisons)
    assert certificate(before, after, decision)


@pytest.mark.parametrize("first", [1, 3])
def test_devices_that_exchange_values_and_choose_apart(first: int):
    before, after = _pair(first)
    assert validate_programs(before, before, Options()).verdict is Verdict.PROVED
    report = validate_programs(before, after, Options())
    assert report.verdict is Verdict.UNSUPPORTED
    assert "'stablehlo.if' with collectives, not chosen alike by all that take part is not modelled" in str(report)
