"""Chains of sums and products in another grouping, which have no operand in common with the original's."""

from __future__ import annotations

import pytest

from shardproof import Verdict, validate_modules

FLOAT, INT = "tensor<4x6xf32>", "tensor<4x6xi32>"
WHOLE = "%a: {t}, %b: {t}, %c: {t}"
SPREAD = """
  %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4x{e}>) -> {t}
  %c = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<6x{e}>) -> {t}
"""


def module(kind: str, spread: bool, *lines: str) -> str:
    element = kind[-4:-1]
    arguments = f"%a: {kind}, %r: tensor<4x{element}>, %s: tensor<6x{element}>" if spread else WHOLE.format(t=kind)
    body = (SPREAD.format(t=kind, e=element) if spread else "") + "\n".join(f"  {line} : {kind}" for line in lines)
    return f"module @m {{\nfunc.func public @main({arguments}) -> {kind} {{\n{body}\n  return %1 : {kind}\n}}\n}}\n"


def verdict(kind: str, spread: bool, first: tuple[str, str], second: tuple[str, str]) -> tuple[Verdict, str]:
    report = validate_modules(module(kind, spread, *first), module(kind, spread, *second))
    return report.verdict, report.theory.value if report.theory is not None else ""


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize(("kind", "theory"), [(FLOAT, "reassociated"), (INT, "exact")])
@pytest.mark.parametrize("op", ["add", "multiply"])
def test_another_grouping(op: str, kind: str, theory: str, spread: bool) -> None:
    left = (f"%0 = stablehlo.{op} %a, %b", f"%1 = stablehlo.{op} %0, %c")
    right = (f"%0 = stablehlo.{op} %b, %c", f"%1 = stablehlo.{op} %a, %0")
    assert verdict(kind, spread, left, right) == (Verdict.PROVED, theory)


def test_a_difference_of_a_difference() -> None:
    left = ("%0 = stablehlo.subtract %a, %b", "%1 = stablehlo.subtract %0, %c")
    right = ("%0 = stablehlo.add %b, %c", "%1 = stablehlo.subtract %a, %0")
    wrong = ("%0 = stablehlo.subtract %b, %c", "%1 = stablehlo.subtract %a, %0")
    assert verdict(FLOAT, False, left, right) == (Verdict.PROVED, "reassociated")
    assert verdict(FLOAT, False, left, wrong)[0] is Verdict.REFUTED


@pytest.mark.parametrize("kind", [FLOAT, INT])
@pytest.mark.parametrize(
    "second",
    [
        ("%0 = stablehlo.add %b, %b", "%1 = stablehlo.add %a, %0"),
        ("%0 = stablehlo.add %b, %c", "%1 = stablehlo.multiply %a, %0"),
        ("%0 = stablehlo.multiply %b, %c", "%1 = stablehlo.add %a, %0"),
    ],
)
def test_not_the_same_sum(kind: str, second: tuple[str, str]) -> None:
    first = ("%0 = stablehlo.add %a, %b", "%1 = stablehlo.add %0, %c")
    assert verdict(kind, False, first, second)[0] is Verdict.REFUTED


def test_not_the_same_elements() -> None:
    """The same leaves, one of them read at other places: the guess that lays one term over the other must not count."""
    kind = "tensor<4x4xf32>"
    head = f"func.func public @main(%a: {kind}, %b: {kind}, %c: {kind}) -> {kind} {{"
    turn = f"%t = stablehlo.transpose %b, dims = [1, 0] : ({kind}) -> {kind}"
    left = f"%0 = stablehlo.add %a, %b : {kind}\n%1 = stablehlo.add %0, %c : {kind}"
    right = f"{turn}\n%0 = stablehlo.add %t, %c : {kind}\n%1 = stablehlo.add %a, %0 : {kind}"
    before, after = (f"module @m {{\n{head}\n{body}\nreturn %1 : {kind}\n}}\n}}\n" for body in (left, right))
    assert validate_modules(before, after).verdict is Verdict.REFUTED
