"""Chains of sums and products in another grouping, which have no operand in common with the original's."""

from __future__ import annotations

import random

import pytest

from shardproof import Verdict, validate_modules
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from . import modules as scalars
from .pairs import Tensor, differs, program, proved

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


CHAINED = [
    *(("f32", op) for op in ("add", "multiply", "maximum", "minimum")),
    *(("i32", op) for op in ("add", "and", "maximum")),
    *(("ui8", op) for op in ("multiply", "or")),
    *((element, "xor") for element in ("ui32", "i1")),
]
CONSTANTS = {
    "f32": ("3.0", "0.25"),
    "i32": ("-5", "-12"),
    "ui8": ("7", "200"),
    "ui32": ("5", "466688986"),
    "i1": ("true",),
}


def chain(rng: random.Random, op: str, kind: Tensor, leaves: list[str]) -> str:
    """The leaves, combined in a random order and grouping, as %out."""
    lines, left = [], rng.sample(leaves, len(leaves))
    while len(left) > 1:
        first, second = (left.pop(rng.randrange(len(left))) for _ in range(2))
        name = f"%t{len(lines)}" if left else "%out"
        lines.append(f"{name} = stablehlo.{op} {first}, {second} : {kind}")
        left.append(name)
    return "\n".join(lines)


def leaves_of(element: str, rows: int) -> tuple[str, list[str]]:
    """What a chain combines: a matrix, that rotated, a row, a column, a scalar, constants: lines and their names."""
    kind = f"tensor<{rows}x6x{element}>"
    lines = [
        f"%r = stablehlo.broadcast_in_dim %a1, dims = [1] : (tensor<6x{element}>) -> {kind}",
        f"%c = stablehlo.broadcast_in_dim %a2, dims = [0] : (tensor<{rows}x{element}>) -> {kind}",
        f"%s = stablehlo.broadcast_in_dim %a3, dims = [] : (tensor<{element}>) -> {kind}",
        f"%head = stablehlo.slice %a0 [0:{rows}, 0:1] : ({kind}) -> tensor<{rows}x1x{element}>",
        f"%tail = stablehlo.slice %a0 [0:{rows}, 1:6] : ({kind}) -> tensor<{rows}x5x{element}>",
        "%b = stablehlo.concatenate %tail, %head, dim = 1 : "
        f"(tensor<{rows}x5x{element}>, tensor<{rows}x1x{element}>) -> {kind}",
    ]
    lines += [f"%k{n} = stablehlo.constant dense<{value}> : {kind}" for n, value in enumerate(CONSTANTS[element])]
    return "\n".join(lines) + "\n", ["%a0", "%r", "%c", "%s", "%b", *(f"%k{n}" for n in range(len(CONSTANTS[element])))]


@pytest.mark.parametrize(("element", "op"), CHAINED)
@pytest.mark.parametrize("seed", range(3))
def test_random_groupings_on_devices(element: str, op: str, seed: int) -> None:
    """Equal for any grouping, on shards of rows; with one operand in another's place it is not proved."""
    rng, devices, rows = random.Random(f"{op}{element}{seed}"), 2, 4
    tiles, line = "{devices=[2,1]<=[2]}", "{devices=[2]<=[2]}"

    def made(cut: int, text: str) -> Program:
        matrix, column = Tensor((cut, 6), element, tiles), Tensor((cut,), element, line)
        whole = [matrix, Tensor((6,), element), column, Tensor((), element)]
        return program(text, whole, matrix, devices)

    def written(cut: int, replaced: dict[str, str]) -> Program:
        lines, names = leaves_of(element, cut)
        kind = Tensor((cut, 6), element)
        return made(cut, lines + chain(rng, op, kind, [replaced.get(name, name) for name in names]))

    theory = Theory.REASSOCIATED if element == "f32" and op in ("add", "multiply") else Theory.EXACT
    before = written(rows, {})
    assert proved(before, written(rows // devices, {}), theory)
    lost = rng.choice(["%a0", "%r", "%c", "%s", "%b"])
    wrong = written(rows // devices, {lost: rng.choice([name for name in ("%a0", "%r", "%c", "%s") if name != lost])})
    assert not proved(before, wrong)
    assert differs(before, wrong, rounds=6)


def by(op: str, constant: float) -> str:
    """A number that is divided by another, or multiplied."""
    body = f"%c = stablehlo.constant dense<{constant}> : tensor<f32> %o = stablehlo.{op} %x, %c : tensor<f32>"
    return scalars.module([("x", "f32", "")], "f32", f"{body} return %o : tensor<f32>")


def test_terms_without_indices_are_asked_about() -> None:
    """A mean over everything, say, which is divided by a number or multiplied by its reciprocal."""
    assert scalars.theory_of(by("divide", 8.0), by("multiply", 0.125)) is Theory.EXACT
    assert scalars.theory_of(by("divide", 8.0), by("multiply", 0.25)) is None
    third = by("divide", 3.0), by("multiply", 0.333333343)
    assert scalars.theory_of(*third) is None
    assert scalars.theory_of(*third, Theory.REAL) is Theory.REAL
