"""Zeros that compilers drop: x + 0.0 is x but for the sign of zero, in a proof that does not keep it."""

from __future__ import annotations

import itertools

import pytest

from shardproof import Report, Verdict, validate_modules

ROW, ONE = "tensor<4xf32>", "tensor<f32>"


def module(type_: str, *lines: str) -> str:
    """The last line's value %r, of %x, of %w: tensor<4x3xf32> and of zeros."""
    body = "\n".join(f"  {line}" for line in lines)
    result = "tensor<3xf32>" if "dot_general" in lines[-1] else type_
    return (
        f"func.func @main(%x: {type_}, %w: tensor<4x3xf32>) -> {result} {{\n"
        f"  %zero = stablehlo.constant dense<0.0> : {type_}\n  %minus = stablehlo.constant dense<-0.0> : {type_}\n"
        f"  %one = stablehlo.constant dense<1.0> : {type_}\n{body}\n  return %r : {result}\n}}\n"
    )


def proof(type_: str, before: list[str], after: list[str], theory: str = "reassociated") -> tuple[Report, str]:
    """The report, with a certificate of what is proved, and the theory."""
    report = validate_modules(module(type_, *before), module(type_, *after), theory=theory, certificate=True)
    assert (report.certificate is not None) is (report.verdict is Verdict.PROVED), report.notes
    return report, "" if report.theory is None else report.theory.value


def line(name: str, op: str, first: str, second: str, type_: str) -> str:
    return f"%{name} = stablehlo.{op} %{first}, %{second} : {type_}"


SUMS = {
    "x + 0": ("add", "x", "zero", "reassociated"),
    "0 + x": ("add", "zero", "x", "reassociated"),
    "x - -0": ("subtract", "x", "minus", "reassociated"),
    "x + -0": ("add", "x", "minus", "exact"),
    "-0 + x": ("add", "minus", "x", "exact"),
    "x - 0": ("subtract", "x", "zero", "exact"),
}
USES = {  # a scalar has no dimension to contract
    "result": "%r = stablehlo.reshape {} : ({t}) -> {t}",
    "sqrt": "%r = stablehlo.sqrt {} : {t}",
    "dot": "%r = stablehlo.dot_general {}, %w, contracting_dims = [0] x [0] : ({t}, tensor<4x3xf32>) -> tensor<3xf32>",
}


@pytest.mark.parametrize(("use", "type_"), [(use, type_) for use in USES for type_ in (ROW, ONE)][:-1])
@pytest.mark.parametrize("name", SUMS)
def test_zero_is_dropped(name: str, use: str, type_: str) -> None:
    op, first, second, theory = SUMS[name]
    summed = [line("s", op, first, second, type_), USES[use].format("%s", t=type_)]
    plain = [USES[use].format("%x", t=type_)]
    for before, after in ((summed, plain), (plain, summed)):
        report, found = proof(type_, before, after)
        assert (report.verdict, found) == (Verdict.PROVED, theory), str(report)


@pytest.mark.parametrize(("op", "first", "second"), [("subtract", "zero", "x"), ("add", "x", "one"), ("add", "x", "x")])
def test_what_is_no_sum_with_zero_is_refuted(op: str, first: str, second: str) -> None:
    report, _ = proof(ROW, [line("r", op, first, second, ROW)], [USES["result"].format("%x", t=ROW)])
    assert report.verdict is Verdict.REFUTED, str(report)


def test_the_sign_of_zero_counts_at_theory_exact() -> None:
    summed, plain = [line("r", "add", "x", "zero", ROW)], [USES["result"].format("%x", t=ROW)]
    for before, after in itertools.permutations((summed, plain)):
        assert proof(ROW, before, after, "exact")[0].verdict is not Verdict.PROVED


def test_programs_that_both_add_zero_have_the_same_bits() -> None:
    before = [line("s", "add", "x", "zero", ROW), "%r = stablehlo.sqrt %s : " + ROW]
    after = [line("s", "add", "zero", "x", ROW), "%r = stablehlo.sqrt %s : " + ROW]
    report, theory = proof(ROW, before, after)
    assert (report.verdict, theory) == (Verdict.PROVED, "exact")


CONSTANTS = {
    "1 / 512": ("divide", "1.0", "512.0", "0.001953125", "0.001953"),
    "0 * 0": ("multiply", "0.0", "0.0", "0.0", "1.0"),
    "1/4 + 1/2": ("add", "0.25", "0.5", "0.75", "0.25"),
    "1/4 - 1/2": ("subtract", "0.25", "0.5", "-0.25", "0.25"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_is_computed_from_constants_without_rounding_is_the_number(name: str) -> None:
    op, first, second, right, wrong = CONSTANTS[name]

    def scaled(*lines: str) -> list[str]:
        spread = f"%k = stablehlo.broadcast_in_dim %c, dims = [] : ({ONE}) -> {ROW}"
        scale = f"%s = stablehlo.multiply %x, %k : {ROW}"
        return [*lines, spread, scale, USES["dot"].format("%s", t=ROW)]

    before = scaled(
        f"%a = stablehlo.constant dense<{first}> : {ONE}",
        f"%b = stablehlo.constant dense<{second}> : {ONE}",
        f"%c = stablehlo.{op} %a, %b : {ONE}",
    )
    report, theory = proof(ROW, before, scaled(f"%c = stablehlo.constant dense<{right}> : {ONE}"))
    assert (report.verdict, theory) == (Verdict.PROVED, "exact"), str(report)
    report, _ = proof(ROW, before, scaled(f"%c = stablehlo.constant dense<{wrong}> : {ONE}"))
    assert report.verdict is Verdict.REFUTED


@pytest.mark.parametrize(("value", "root"), [("4.0", "2.0"), ("0.25", "0.5"), ("1.0", "1.0")])
def test_the_root_of_a_square(value: str, root: str) -> None:
    squared = [f"%c = stablehlo.constant dense<{value}> : {ROW}", f"%k = stablehlo.sqrt %c : {ROW}"]
    rooted = [f"%k = stablehlo.constant dense<{root}> : {ROW}"]
    use = f"%r = stablehlo.multiply %x, %k : {ROW}"
    report, theory = proof(ROW, [*squared, use], [*rooted, use])
    assert (report.verdict, theory) == (Verdict.PROVED, "exact")


def test_what_is_rounded_is_no_number_that_sums_may_be_regrouped_with() -> None:
    """1e8 + 13 is rounded to 100000016, and x + (1e8 + 13) is (x + 1e8) + 13 with nothing rounded."""
    great = [f"%a = stablehlo.constant dense<1.0e8> : {ROW}", f"%b = stablehlo.constant dense<13.0> : {ROW}"]
    regrouped = [*great, line("s", "add", "x", "a", ROW), line("r", "add", "s", "b", ROW)]
    rounded = [f"%c = stablehlo.constant dense<100000016.0> : {ROW}", line("r", "add", "x", "c", ROW)]
    assert proof(ROW, regrouped, rounded)[0].verdict is not Verdict.PROVED
