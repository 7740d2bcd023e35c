"""Certificates of kinds of proofs, each by a small pair that is right, and wrong ones that it must not prove."""

from __future__ import annotations

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.validate import validate_programs
from tests.relate.pairs import Tensor, program

from .pairs import about

CUT = "{devices=[2]<=[2]}"


def written(before: Program, after: Program) -> str:
    """The certificate of a pair that is proved."""
    report = validate_programs(before, after, Options(certificate=True))
    assert report.certificate is not None, [note.text for note in report.notes]
    check(report.certificate.encode(), "certificate", before, after)
    return report.certificate


def holds_for_no_other(before: Program, right: Program, *wrong: Program) -> str:
    """The certificate of a right pair, which is one of nothing else even for a forger who changes fingerprints."""
    text = written(before, right)
    for other in wrong:
        with pytest.raises(Rejection):
            check(about(text, right, other).encode(), "certificate", before, other)
    return text


def _scaled(width: int, number: str) -> Program:
    """x · floor(0.5 · 5): a constant that is made of whole numbers and is none that index arithmetic knows."""
    type_ = Tensor((width,), "f32", CUT)
    body = (
        f"%c = stablehlo.constant dense<5.0> : tensor<f32>\n%h = stablehlo.constant dense<{number}> : tensor<f32>\n"
        f"%d = stablehlo.divide %c, %h : tensor<f32>\n%f = stablehlo.floor %d : tensor<f32>\n"
        f"%s = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {type_}\n"
        f"%out = stablehlo.multiply %a0, %s : {type_}\n"
    )
    return program(body, [type_], type_, 2)


def test_constants_that_are_functions_of_whole_numbers():
    holds_for_no_other(_scaled(8, "2.0"), _scaled(4, "2.0"), _scaled(4, "3.0"))


def _mixed(width: int, number: int) -> Program:
    """x + (5 ^ n): two programs that fold the constant, or not."""
    type_ = Tensor((width,), "ui32", CUT)
    body = (
        f"%c = stablehlo.constant dense<5> : tensor<ui32>\n%n = stablehlo.constant dense<{number}> : tensor<ui32>\n"
        "%x = stablehlo.xor %c, %n : tensor<ui32>\n"
        f"%s = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<ui32>) -> {type_}\n"
        f"%out = stablehlo.add %a0, %s : {type_}\n"
    )
    return program(body, [type_], type_, 2)


def test_bits_of_constants():
    holds_for_no_other(_mixed(8, 466688986), _mixed(4, 466688986), _mixed(4, 3))
