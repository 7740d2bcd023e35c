"""Custom calls that stand for an operation, and what the conversion of HLO would stumble over."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.evaluate.integers import binary
from shardproof.validator.evaluate.numbers import STORAGE
from shardproof.validator.read.ir import DType
from shardproof.validator.read.program import read_program

INTEGERS = [dtype for dtype in DType if dtype.is_integer]


def _ops(root: str, *parameters: str) -> list[str]:
    lines = [f"  p{k} = {type_} parameter({k})" for k, type_ in enumerate(parameters)]
    text = "\n".join(["HloModule m", "", "ENTRY main {", *lines, f"  ROOT r = {root}", "}", ""])
    return [op.name for op in read_program(text).body.ops]


@pytest.mark.parametrize(
    ("target", "result", "operands", "meant"),
    [
        ("X64SplitLow", "f32[4]", ["c64[4]"], "stablehlo.real"),
        ("X64SplitHigh", "f64[4]", ["c128[4]"], "stablehlo.imag"),
        ("X64Combine", "c64[4]", ["f32[4]", "f32[4]"], "stablehlo.complex"),
        ("X64SplitLow", "u32[4]", ["u64[4]"], "stablehlo.custom_call"),
        ("X64Combine", "s64[4]", ["u32[4]", "s32[4]"], "stablehlo.custom_call"),
        ("X64SplitLow", "f32[4]", ["f64[4]"], "stablehlo.custom_call"),
        ("X64SplitLow", "f32[2]", ["c64[4]"], "stablehlo.custom_call"),
        ("X64SplitLow", "s32[4]", ["c64[4]"], "stablehlo.custom_call"),
        ("X64Combine", "c64[4]", ["f32[4]"], "stablehlo.custom_call"),
        ("X64SplitLow", "f32[4]", [], "stablehlo.custom_call"),
        ("X64Combine", "c64[4]", [], "stablehlo.custom_call"),
        ("chlo.mulhi", "s32[4]", ["s32[4]", "s32[4]"], "chlo.mulhi"),
        ("chlo.mulhi", "f32[4]", ["f32[4]", "f32[4]"], "stablehlo.custom_call"),
        ("chlo.mulhi", "s32[4]", ["s32[4]"], "stablehlo.custom_call"),
        ("X64Something", "f32[4]", ["c64[4]"], "stablehlo.custom_call"),
    ],
)
def test_a_call_that_stands_for_an_operation(target: str, result: str, operands: list[str], meant: str) -> None:
    given = ", ".join(f"p{k}" for k in range(len(operands)))
    assert _ops(f'{result} custom-call({given}), custom_call_target="{target}"', *operands) == [meant]


@pytest.mark.parametrize("told", ['backend_config="x"', "custom_call_has_side_effect=true"])
def test_a_call_that_says_more_stays_one(told: str) -> None:
    root = f'f32[4] custom-call(p0), custom_call_target="X64SplitLow", {told}'
    assert _ops(root, "c64[4]") == ["stablehlo.custom_call"]


@pytest.mark.parametrize("type_", ["s32", "u32", "u64"])
def test_the_upper_half_of_a_product_is_an_operation(type_: str) -> None:
    assert _ops(f"{type_}[4] mulhi(p0, p1)", f"{type_}[4]", f"{type_}[4]") == ["chlo.mulhi"]


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.value)
def test_the_upper_half_is_that_of_whole_numbers(dtype: DType) -> None:
    low, high = dtype.integer_range
    wanted = {low, low + 1, low // 2, -1, 0, 1, 2, 3, high // 3, high - 1, high}
    values = sorted(value for value in wanted if low <= value <= high)
    pairs = [(x, y) for x in values for y in values]
    x, y = (np.array(column, STORAGE[dtype]) for column in zip(*pairs, strict=True))
    assert binary("mulhi", x, y, dtype).tolist() == [a * b >> dtype.bits for a, b in pairs]


def test_annotations_of_a_tuple_do_not_end_the_conversion() -> None:
    text = """HloModule m

body {
  t = (s32[], f32[4]) parameter(0), frontend_attributes={a="b"}
  i = s32[] get-tuple-element(t), index=0
  x = f32[4] get-tuple-element(t), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] add(x, x)
  ROOT r = (s32[], f32[4]) tuple(j, y)
}

condition {
  t = (s32[], f32[4]) parameter(0), frontend_attributes={a="b"}
  i = s32[] get-tuple-element(t), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}

ENTRY main {
  x = f32[4] parameter(0), frontend_attributes={a="b"}
  zero = s32[] constant(0)
  t = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(t), condition=condition, body=body
  ROOT r = f32[4] get-tuple-element(w), index=1
}
"""
    assert "stablehlo.while" in [op.name for op in read_program(text).body.ops]
