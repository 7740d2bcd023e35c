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


def _loop(width: int, trips: int, added: str = "%scaled") -> Program:
    """x + Σ over trips i of (i + 1) · x, or of x."""
    type_ = Tensor((width,), "f32", CUT)
    body = f"""%start = stablehlo.constant dense<0> : tensor<i32>
    %out, %end = stablehlo.while(%v = %a0, %i = %start) : {type_}, tensor<i32>
    cond {{
      %trips = stablehlo.constant dense<{trips}> : tensor<i32>
      %on = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %on : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %float = stablehlo.convert %next : (tensor<i32>) -> tensor<f32>
      %spread = stablehlo.broadcast_in_dim %float, dims = [] : (tensor<f32>) -> {type_}
      %scaled = stablehlo.multiply %a0, %spread : {type_}
      %sum = stablehlo.add %v, {added} : {type_}
      stablehlo.return %sum, %next : {type_}, tensor<i32>
    }}
    """
    return program(body, [type_], type_, 2)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_of_few_trips(trips: int):
    holds_for_no_other(_loop(8, trips), _loop(4, trips), _loop(4, trips + 1))


def test_a_loop_without_trips_is_no_matter_of_its_body():
    holds_for_no_other(_loop(8, 0), _loop(4, 0, "%a0"), _loop(4, 1, "%a0"))
