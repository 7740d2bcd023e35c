"""Branches whose index is a constant: the one that it chooses, of an index without a branch the last one."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program

from .pairs import Tensor, differs, program, proved

X = Tensor((4,), "f32")
OPS = ("negate", "exponential", "tanh")


def _chosen(index: int, count: int = 3) -> Program:
    branches = ", ".join(
        f"{{\n%b{number} = stablehlo.{op} %a0 : {X}\nstablehlo.return %b{number} : {X}\n}}"
        for number, op in enumerate(OPS[:count])
    )
    body = f'%i = stablehlo.constant dense<{index}> : tensor<i32>\n%out = "stablehlo.case"(%i) ({branches}) : '
    return program(body + f"(tensor<i32>) -> {X}", [X], X, 1)


def _test(holds: bool) -> Program:
    branches = ", ".join(f"{{\n%b{k} = stablehlo.{OPS[k]} %a0 : {X}\nstablehlo.return %b{k} : {X}\n}}" for k in (0, 1))
    body = (
        f'%p = stablehlo.constant dense<{str(holds).lower()}> : tensor<i1>\n%out = "stablehlo.if"(%p) ({branches}) : '
    )
    return program(body + f"(tensor<i1>) -> {X}", [X], X, 1)


def _alone(op: str) -> Program:
    return program(f"%out = stablehlo.{op} %a0 : {X}", [X], X, 1)


@pytest.mark.parametrize(("index", "op"), [(0, 0), (1, 1), (2, 2), (3, 2), (-1, 2), (-(2**31), 2)])
def test_a_known_index(index: int, op: int):
    for number, name in enumerate(OPS):
        assert proved(_alone(name), _chosen(index), Theory.EXACT) is (number == op)
        assert differs(_alone(name), _chosen(index)) is (number != op)


@pytest.mark.parametrize("holds", [True, False])
def test_a_known_condition(holds: bool):
    for number, name in enumerate(OPS[:2]):
        assert proved(_alone(name), _test(holds), Theory.EXACT) is ((number == 0) is holds)
        assert differs(_alone(name), _test(holds)) is ((number == 0) is not holds)


def _in_a_region(test: str) -> Program:
    """A manual region with a branch whose index is the same on all devices, and whose values are those of each."""
    axis = '<@mesh, [{"x"}]>'
    sharding = f"{{sdy.sharding = #sdy.sharding{axis}}}"
    branches = ", ".join(f"{{\n%b{k} = stablehlo.{OPS[k]} %x : {X}\nstablehlo.return %b{k} : {X}\n}}" for k in (0, 1))
    return read_program(
        'module @m attributes {mhlo.num_partitions = 2 : i32} {\nsdy.mesh @mesh = <["x"=2]>\n'
        f"func.func public @main(%a0: tensor<8xf32> {sharding}) -> (tensor<8xf32> {sharding}) {{\n"
        f"%out = sdy.manual_computation(%a0) in_shardings=[{axis}] out_shardings=[{axis}] "
        f'manual_axes={{"x"}} (%x: {X}) {{\n%p = {test}\n%y = "stablehlo.if"(%p) ({branches}) : (tensor<i1>) -> {X}\n'
        f"sdy.return %y : {X}\n}} : (tensor<8xf32>) -> tensor<8xf32>\nreturn %out : tensor<8xf32>\n}}\n}}\n"
    )


@pytest.mark.parametrize("holds", [True, False])
def test_a_known_condition_in_a_manual_region(holds: bool):
    before = _in_a_region(f"stablehlo.constant dense<{str(holds).lower()}> : tensor<i1>")
    for number, name in enumerate(OPS[:2]):
        after = program(f"%out = stablehlo.{name} %a0 : {X}", [X], X, 2)
        assert proved(before, after, Theory.EXACT) is ((number == 0) is holds)
