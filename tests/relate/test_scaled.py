"""Constants that leave products, choices and sums: a proof meets where both programs have them outside."""

from __future__ import annotations

import pytest

from shardproof import Verdict, validate_modules
from shardproof.validator.read.program import read_program
from shardproof.validator.relate.decide import decide

T, V, ONE, P = "tensor<4x4xf32>", "tensor<4xf32>", "tensor<f32>", "tensor<4x4xi1>"


def module(result: str, lines: str, dtype: str = "f32") -> str:
    """`lines` end with %r; {c} is a constant tensor of 0.25, {n} of -2, {z} of zeros, {b} of 0.3."""
    constants = {"c": "0.25", "n": "-2.0", "z": "0.0", "b": "0.3"}
    body = [f"%{name} = stablehlo.constant dense<{number}> : {T}" for name, number in constants.items()]
    body.append(
        "%v = stablehlo.constant dense<0.25> : tensor<4xf32>\n%zero = stablehlo.constant dense<0.0> : tensor<f32>"
    )
    for line in lines.strip().splitlines():
        name, _, text = line.strip().partition(" = ")
        op, *operands = text.split()
        of = ", ".join(f"%{operand}" for operand in operands)
        body.append(f"%{name} = " + _FORMS.get(op, f"stablehlo.{op} {{of}} : {T}").format(of=of))
    text = (
        f"func.func @main(%x: {T}, %y: {T}, %p: {P}) -> {result} {{\n" + "\n".join(body) + f"\nreturn %r : {result}\n}}"
    )
    return text.replace("f32", dtype)


_FORMS = {
    "select": f"stablehlo.select {{of}} : {P}, {T}",
    "dot": f"stablehlo.dot_general {{of}}, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}",
    "sum": f"stablehlo.reduce({{of}} init: %zero) applies stablehlo.add across dimensions = [1] : ({T}, {ONE}) -> {V}",
    "scale": f"stablehlo.multiply {{of}}, %v : {V}",
}

LAWS = {
    "a product": (T, "s = multiply x c\nr = multiply s y", "s = multiply x y\nr = multiply s c", "r = multiply x y"),
    "both factors": (
        T,
        "s = multiply x c\nt = multiply n y\nr = multiply s t",
        "s = multiply x y\nt = multiply s c\nr = multiply t n",
        "s = multiply x y\nt = multiply s c\nr = multiply t c",
    ),
    "a quotient": (
        T,
        "s = multiply x c\nr = divide s y",
        "s = divide x y\nr = multiply s c",
        "s = multiply y c\nr = divide x s",
    ),
    "a division by a constant": (
        T,
        "s = divide x n\nr = multiply s y",
        "s = multiply x y\nr = divide s n",
        "s = multiply x y\nr = multiply s n",
    ),
    "a sign": (
        T,
        "s = negate x\nt = divide s y\nr = multiply t c",
        "s = multiply x c\nt = divide s y\nr = negate t",
        "s = multiply x c\nr = divide s y",
    ),
    "a sum of two": (
        T,
        "s = multiply x c\nt = multiply y c\nr = add s t",
        "s = add x y\nr = multiply s c",
        "s = multiply x c\nr = add s y",
    ),
    "opposite signs": (
        T,
        "s = multiply x n\nm = negate n\nt = multiply y m\nr = add s t",
        "s = subtract x y\nr = multiply s n",
        "s = add x y\nr = multiply s n",
    ),
    "a choice": (
        T,
        "s = multiply x n\nt = multiply y n\nr = select p s t",
        "s = select p x y\nr = multiply s n",
        "s = multiply x n\nr = select p s y",
    ),
    "a choice of nothing": (
        T,
        "s = multiply x n\nr = select p s z",
        "s = select p x z\nr = multiply s n",
        "s = select p z x\nr = multiply s n",
    ),
    "a choice of nothing or a sign": (
        T,
        "s = negate x\nt = select p z s\nr = multiply t y",
        "s = select p z x\nt = multiply s y\nr = negate t",
        "s = select p z x\nr = multiply s y",
    ),
    "a factor of a contraction": (
        T,
        "s = multiply x c\nr = dot s y",
        "s = multiply y c\nr = dot x s",
        "s = multiply x c\nt = multiply y c\nr = dot s t",
    ),
    "a contraction": (
        T,
        "s = multiply c x\nr = dot s y",
        "s = dot x y\nr = multiply s c",
        "s = dot x y\nr = multiply s n",
    ),
    "a constant and its reciprocal": (
        T,
        "s = divide x n\nt = dot s y\nr = multiply t n",
        "r = dot x y",
        "s = divide x n\nr = dot s y",
    ),
    "a sum": (V, "s = multiply x c\nr = sum s", "s = sum x\nr = scale s", "r = sum x"),
    "a sum of products": (
        V,
        "s = multiply x c\nt = multiply s y\nr = sum t",
        "s = multiply x y\nt = sum s\nr = scale t",
        "s = multiply x x\nt = sum s\nr = scale t",
    ),
    "down a chain": (
        V,
        "s = multiply x c\nt = dot s y\nu = select p t z\nv1 = divide u y\nr = sum v1",
        "t = dot x y\nu = select p t z\nv1 = divide u y\ns = sum v1\nr = scale s",
        "t = dot x y\nu = select p z t\nv1 = divide u y\ns = sum v1\nr = scale s",
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_constant_is_moved_out(name: str) -> None:
    result, inside, outside, other = LAWS[name]
    for before, after in ((inside, outside), (outside, inside)):
        report = validate_modules(module(result, before), module(result, after), certificate=True)
        assert report.verdict is Verdict.PROVED, str(report)
        assert report.theory is not None and report.theory.value in ("exact", "reassociated")
        assert report.certificate is not None, report.notes
    assert validate_modules(module(result, inside), module(result, other)).verdict is Verdict.REFUTED


@pytest.mark.parametrize("name", ["a factor of a contraction", "a contraction", "a sum"])
def test_sums_are_scaled_in_exact_arithmetic_only(name: str) -> None:
    result, inside, outside, _ = LAWS[name]
    report = validate_modules(module(result, inside), module(result, outside), theory="exact")
    assert report.verdict is Verdict.NOT_PROVED, str(report)


@pytest.mark.parametrize("theory", ["exact", "reassociated"])
def test_a_result_keeps_the_label_that_it_has_without(theory: str) -> None:
    """One result needs a constant moved out; the other one has the same constant inside in both programs."""
    scaled, types = (
        f"%s = stablehlo.multiply %x, %c : {T}\n%a = stablehlo.multiply %s, %y : {T}\n",
        f"({T}, {T}) -> {T}",
    )
    dot = f"stablehlo.dot_general {{}}, %y, contracting_dims = [1] x [0] : {types}"
    inside = f"%b = {dot.format('%s')}"
    outside = f"%t = {dot.format('%x')}\n%b = stablehlo.multiply %t, %c : {T}"
    before, after = (
        f"func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{\n%c = stablehlo.constant dense<0.25> : {T}\n"
        f"{scaled}{lines}\nreturn %a, %b : {T}, {T}\n}}"
        for lines in (inside, outside)
    )
    report = validate_modules(before, after, theory=theory)
    alike, moved = report.outputs
    assert (alike.verdict, alike.theory and alike.theory.value) == (Verdict.PROVED, "exact")
    assert moved.verdict is (Verdict.NOT_PROVED if theory == "exact" else Verdict.PROVED)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
def test_other_types_of_floats(dtype: str) -> None:
    result, inside, outside, other = LAWS["down a chain"]
    report = validate_modules(module(result, inside, dtype), module(result, outside, dtype))
    assert report.verdict is Verdict.PROVED, str(report)
    assert validate_modules(module(result, inside, dtype), module(result, other, dtype)).verdict is not Verdict.PROVED


OTHER_CONSTANTS = {
    "a contraction": (
        T,
        "s = multiply x b\nr = dot s y",
        "s = dot x y\nr = multiply s b",
        "s = dot x y\nr = divide s b",
    ),
    "a quotient": (
        T,
        "s = divide x b\nr = divide s y",
        "s = divide x y\nr = divide s b",
        "s = divide x y\nr = multiply s b",
    ),
    "a quotient of quotients": (
        V,
        "s = divide x b\nt = divide s n\nr = sum t",
        "s = divide x n\nt = divide s b\nr = sum t",
        "s = divide x n\nt = multiply s b\nr = sum t",
    ),
    "a sum": (
        V,
        "s = divide x b\nt = multiply s c\nr = sum t",
        "s = divide x b\nt = sum s\nr = scale t",
        "s = sum x\nr = scale s",
    ),
}


@pytest.mark.parametrize("name", OTHER_CONSTANTS)
def test_other_constants_leave_products_and_sums(name: str) -> None:
    result, inside, outside, other = OTHER_CONSTANTS[name]
    for before, after in ((inside, outside), (outside, inside)):
        report = validate_modules(module(result, before), module(result, after), certificate=True)
        assert report.verdict is Verdict.PROVED, str(report)
        assert report.theory is not None and report.theory.value == "reassociated"
        assert report.certificate is not None, report.notes
    assert validate_modules(module(result, inside), module(result, other)).verdict is Verdict.REFUTED


def test_of_sums_of_two_only_powers_of_two_are_factors() -> None:
    before, after = "s = multiply x b\nt = multiply y b\nr = add s t", "s = add x y\nr = multiply s b"
    assert validate_modules(module(T, before), module(T, after)).verdict is Verdict.NOT_PROVED
    report = validate_modules(module(T, before), module(T, after), theory="real")
    assert report.theory is not None and report.theory.value == "real"


def test_the_weakest_theory_is_told_where_reals_are_accepted() -> None:
    result, inside, outside, _ = LAWS["down a chain"]
    report = validate_modules(module(result, inside), module(result, outside), theory="real")
    assert report.theory is not None and report.theory.value == "reassociated"


@pytest.mark.parametrize(("op", "number"), [("multiply", "2.0"), ("multiply", "3.0e38"), ("divide", "1.0e-38")])
def test_long_chains_of_constants(op: str, number: str) -> None:
    """What comes to no number of the type stays as it is, and takes no time."""
    lines = [f"%k = stablehlo.constant dense<{number}> : {ONE}", f"%s0 = stablehlo.negate %x : {ONE}"]
    lines += [f"%s{n + 1} = stablehlo.{op} %s{n}, %k : {ONE}" for n in range(1_500)]
    text = "\n".join([f"func.func @main(%x: {ONE}) -> {ONE} {{", *lines, f"return %s1500 : {ONE}", "}"])
    program = read_program(text)
    decision = decide(program, program, deadline=None, assume_in_bounds=False, simplifies=True)
    (comparison,) = decision.comparisons
    assert comparison is not None and comparison.proved
