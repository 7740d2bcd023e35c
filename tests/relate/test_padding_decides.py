"""A value that is known where it is defined and padding elsewhere decides nothing there: neither branch nor start."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .audits import audit
from .chains import COLLECTIVES, ELEMENTS, MOVEMENT, PARTS
from .lemma_parts import reducer
from .pairs import Tensor, differs, program, proved

Y = Tensor((4,), "f32")
WINDOWS = Tensor((3,), "f32")


def _known_on_the_first(kind: str, number: str, other: str) -> str:
    """%v: a number on the first device, on the second one `other`, whose last element of three is padding."""
    return (
        "%id = stablehlo.partition_id : tensor<ui32>\n%first = stablehlo.constant dense<0> : tensor<ui32>\n"
        "%is = stablehlo.compare EQ, %id, %first : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
        f"%last = stablehlo.slice %a0 [1:2] : (tensor<2x{kind}>) -> tensor<1x{kind}>\n"
        f"%padding = stablehlo.reshape %last : (tensor<1x{kind}>) -> tensor<{kind}>\n"
        f"%number = stablehlo.constant dense<{number}> : tensor<{kind}>\n"
        f"%v = stablehlo.select %is, %number, {other} : tensor<i1>, tensor<{kind}>\n"
    )


def _branch(op: str, kind: str) -> str:
    branches = ", ".join(
        f"{{\n%b{k} = stablehlo.{name} %a1 : {Y}\nstablehlo.return %b{k} : {Y}\n}}"
        for k, name in enumerate(("negate", "tanh"))
    )
    return f'%out = "stablehlo.{op}"(%v) ({branches}) : (tensor<{kind}>) -> {Y}'


def _total(start: str) -> str:
    return (
        f"%s = stablehlo.reduce(%a1 init: {start}) applies stablehlo.maximum across dimensions = [0] : "
        f"({Y}, tensor<f32>) -> tensor<f32>\n%out = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {Y}"
    )


def _windows(start: str) -> str:
    return (
        f'%out = "stablehlo.reduce_window"(%a1, {start}) <{{window_dimensions = array<i64: 2>}}> '
        f"{reducer('maximum')} : ({Y}, tensor<f32>) -> {WINDOWS}"
    )


NEGATED = f"%out = stablehlo.negate %a1 : {Y}"
LEAST = "%c = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
CASES = {
    "if": ("i1", "true", NEGATED, _branch("if", "i1"), Y),
    "case": ("i32", "0", NEGATED, _branch("case", "i32"), Y),
    "reduce": ("f32", "0xFF800000", LEAST + _total("%c"), _total("%v"), Y),
    "reduce_window": ("f32", "0xFF800000", LEAST + _windows("%c"), _windows("%v"), WINDOWS),
}


def _programs(name: str, other: str) -> tuple[Program, Program]:
    kind, number, before, after, result = CASES[name]
    whole, part = Tensor((3,), kind, "{devices=[2]<=[2]}"), Tensor((2,), kind)
    spec = program(before, [whole, Y], result, 2)
    return spec, program(_known_on_the_first(kind, number, other) + after, [part, Y], result, 2)


@pytest.mark.parametrize("name", CASES)
def test_padding_decides_nothing(name: str):
    before, after = _programs(name, "%padding")
    assert not proved(before, after)
    assert differs(before, after, rounds=3)


def test_what_a_branch_returns_is_not_known_where_its_index_is_padding():
    """Not even what is computed of it, if that is a constant: another constant would have been computed."""
    number = Tensor((), "i32")
    branches = ", ".join(
        f"{{\n%b{k} = stablehlo.constant dense<{k}> : {number}\nstablehlo.return %b{k} : {number}\n}}" for k in (5, 7)
    )
    after = f'%w = "stablehlo.if"(%v) ({branches}) : (tensor<i1>) -> {number}\n%out = stablehlo.add %w, %w : {number}'
    parameters = [Tensor((3,), "i1", "{devices=[2]<=[2]}")], [Tensor((2,), "i1")]
    before = program(f"%out = stablehlo.constant dense<10> : {number}", parameters[0], number, 2)
    for other, holds in (("%padding", False), ("%number", True)):
        text = _known_on_the_first("i1", "true", other) + after
        assert proved(before, program(text, parameters[1], number, 2)) is holds


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_on_every_device_decides(name: str):
    before, after = _programs(name, "%number")
    assert proved(before, after, Theory.EXACT)


def test_scalars_that_are_known_on_some_devices():
    """Against the evaluator, in random chains."""
    seen = audit(range(24), ("iota", "reshape"), (*PARTS, "known_in_part", "elementwise", "convert", "select"), steps=6)
    assert {"stablehlo.if", "stablehlo.case", "stablehlo.reduce"} <= set(seen.ops)
    assert seen.refused <= 6 and seen.values >= 240


@pytest.mark.slow
def test_many_scalars_that_are_known_on_some_devices():
    after = (*PARTS, *PARTS, *MOVEMENT, *ELEMENTS, *COLLECTIVES)
    assert audit(range(1000, 1150), MOVEMENT, after, steps=12).values > 1000
