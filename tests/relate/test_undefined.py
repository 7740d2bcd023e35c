"""What is no real number for some inputs cancels nowhere that the partitioned program may meet these inputs."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory

from .modules import module, theory_of
from .pairs import Tensor, program, proved
from .test_false_proofs_over_reals import FIRST_TWO, ROWS

_CANCELLING = {
    "to a factor": ("%m = stablehlo.multiply %x, %x : {t} %q = stablehlo.divide %m, %x : {t}", "%x"),
    "to one": ("%m = stablehlo.divide %x, %x : {t} %q = stablehlo.multiply %m, %a : {t}", "%a"),
    "to zero": ("%m = stablehlo.divide %a, %x : {t} %q = stablehlo.subtract %m, %m : {t}", "%zeros"),
    "logarithm": ("%m = stablehlo.log %x : {t} %q = stablehlo.exponential %m : {t}", "%x"),
}


@pytest.mark.parametrize("name", _CANCELLING)
@pytest.mark.parametrize("left_out", ["%p", "%mask"])
@pytest.mark.parametrize("chosen", ["%n", "everywhere"])
def test_what_cancels_where_it_is_left_out_is_nothing_else_elsewhere(name: str, left_out: str, chosen: str) -> None:
    """select(p, x · x / x, a) + select(¬p, x, a) takes x for nothing that is 0 / 0; so does its own quotient."""
    made, same = _CANCELLING[name]
    t = "tensor<4xf32>"
    lines = f"""{FIRST_TWO} %zeros = stablehlo.subtract %a, %a : {t} %n = stablehlo.not %p : tensor<4xi1>
      {made.format(t=t)} %c = stablehlo.select {left_out}, %q, %a : tensor<4xi1>, {t}"""

    def total(other: str) -> str:
        kept = f"%d = stablehlo.select {chosen}, {other}, %a : tensor<4xi1>, {t}"
        if chosen == "everywhere":
            kept = f"%d = stablehlo.add {other}, %a : {t}"
        return f"{lines} {kept} %o = stablehlo.add %c, %d : {t} return %o : {t}"

    before, wrong = (module([*ROWS, ("p", "4xi1", "")], "4xf32", total(other)) for other in (same, "%q"))
    assert theory_of(before, wrong, Theory.REAL) is None
    assert theory_of(wrong, wrong, Theory.REAL) is not None


def test_a_choice_of_what_is_left_out_elsewhere_is_no_number() -> None:
    """0 · select(¬p, a / x, x) is not 0, where select(p, a / x, x) is all that the original computes."""
    t = "tensor<4xf32>"
    root = f"""%q = stablehlo.divide %a, %x : {t} %c = stablehlo.select %p, %q, %x : tensor<4xi1>, {t}
      %n = stablehlo.not %p : tensor<4xi1> %d = stablehlo.select %n, %q, %x : tensor<4xi1>, {t}"""
    arguments = [*ROWS, ("p", "4xi1", "")]
    before = module(arguments, "4xf32", f"{root.partition(' %n')[0]} return %c : {t}")
    after = f"{root} %e = stablehlo.subtract %d, %d : {t} %o = stablehlo.add %c, %e : {t} return %o : {t}"
    assert theory_of(before, module(arguments, "4xf32", after), Theory.REAL) is None


@pytest.mark.parametrize("divisor", ["%y", "%e"])
@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("i1", "%r = stablehlo.compare GT, {0}, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>"),
        (
            "i32",
            "%u = stablehlo.convert {0} : (tensor<8xf32>) -> tensor<8xi32> "
            "%v = stablehlo.convert %w : (tensor<8xf32>) -> tensor<8xi32> %r = stablehlo.add %u, %v : tensor<8xi32>",
        ),
        (
            "f32",
            "%p = stablehlo.compare GT, {0}, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1> "
            "%r = stablehlo.select %p, %x, %w : tensor<8xi1>, tensor<8xf32>",
        ),
    ],
)
def test_a_division_by_zero_does_not_cancel_under_a_test(kind: str, use: str, divisor: str) -> None:
    """(x · y) / y > 2y is false where y is 0, and is x > 2y where y is known to be positive."""
    same = "%e = stablehlo.exponential %y : tensor<8xf32> %w = stablehlo.add %y, %y : tensor<8xf32>"
    there = f"%a = stablehlo.multiply %x, {divisor} : tensor<8xf32> %q = stablehlo.divide %a, {divisor} : tensor<8xf32>"
    back = f"return %r : tensor<8x{kind}>"
    arguments = [("x", "8xf32", ""), ("y", "8xf32", "")]
    before = module(arguments, f"8x{kind}", f"{same} {use.format('%x')} {back}")
    after = module(arguments, f"8x{kind}", f"{same} {there} {use.format('%q')} {back}")
    assert theory_of(before, after, Theory.REAL) is (Theory.REAL if divisor == "%e" else None)


def test_powers_of_two_have_no_zero_and_no_negative_numbers() -> None:
    """In float8_e8m0fnu 0 is converted to the least power of two, and x + (−y) is no number."""
    scale, test = Tensor((4,), "f8E8M0FNU"), Tensor((4,), "i1")
    zero = "%z = stablehlo.constant dense<0> : tensor<4xi32>"
    converted = f"{zero} %s = stablehlo.convert %z : (tensor<4xi32>) -> {scale}"
    before = f"{converted} %out = stablehlo.convert %s : ({scale}) -> {test}"
    after = f"%out = stablehlo.constant dense<false> : {test}"
    assert not proved(program(before, [scale, scale], test, 1), program(after, [scale, scale], test, 2))
    before = f"%out = stablehlo.subtract %a0, %a1 : {scale}"
    after = f"%n = stablehlo.negate %a1 : {scale} %out = stablehlo.add %a0, %n : {scale}"
    assert not proved(program(before, [scale, scale], scale, 1), program(after, [scale, scale], scale, 2))
    assert proved(program(after, [scale, scale], scale, 1), program(after, [scale, scale], scale, 2))


@pytest.mark.parametrize("source", ["%x", "%e"])
def test_a_power_of_two_stands_for_positive_numbers_alone(source: str) -> None:
    """A negative number is not rounded to a float8_e8m0fnu, it becomes NaN; an exponential is rounded."""
    t, scale = "tensor<8xf32>", "tensor<8xf8E8M0FNU>"
    made = f"%e = stablehlo.exponential %x : {t}"
    narrowed = f"""%s = stablehlo.convert {source} : ({t}) -> {scale}
      %w = stablehlo.convert %s : ({scale}) -> {t}"""
    arguments = [("x", "8xf32", ""), ("y", "8xf32", "")]
    plain = f"{made} %r = stablehlo.multiply {source}, %y : {t} return %r : {t}"
    rounded = f"{made} {narrowed} %r = stablehlo.multiply %w, %y : {t} return %r : {t}"
    before, after = (module(arguments, "8xf32", body) for body in (plain, rounded))
    assert theory_of(before, after, Theory.REAL) is (Theory.REAL if source == "%e" else None)
    assert theory_of(after, before, Theory.REAL) is Theory.REAL
    assert theory_of(after, after, Theory.REAL) is not None


@pytest.mark.parametrize("op", ["add", "multiply", "maximum"])
def test_chains_of_powers_of_two_are_not_regrouped(op: str) -> None:
    scale = Tensor((4,), "f8E8M0FNU")
    bodies = [
        f"%m = stablehlo.{op} %a{a}, %a{b} : {scale} %out = stablehlo.{op} {x}, {y} : {scale}"
        for a, b, x, y in ((0, 1, "%m", "%a2"), (1, 2, "%a0", "%m"))
    ]
    before, after = (program(body, [scale] * 3, scale, devices) for devices, body in enumerate(bodies, 1))
    assert not proved(before, after)
    assert proved(before, program(bodies[0], [scale] * 3, scale, 2))


def test_the_greatest_numbers_of_64_bits_are_numbers() -> None:
    unsigned = Tensor((4,), "ui64")
    body = f"%c = stablehlo.constant dense<9007199254741117> : {unsigned} %out = stablehlo.minimum %a0, %c : {unsigned}"
    assert proved(program(body, [unsigned], unsigned, 1), program(body, [unsigned], unsigned, 2))


_QUOTIENTS = """%d = stablehlo.divide %a, %x : {t} %e = stablehlo.exponential %a : {t}
  %q = stablehlo.divide %e, %x : {t} %s = stablehlo.add %a, %e : {t} %k = stablehlo.divide %s, %x : {t}
  %u = stablehlo.add %d, %q : {t} %m = stablehlo.multiply %d, %x : {t} %r = stablehlo.add %m, %e : {t}
  %j = stablehlo.multiply %u, %k : {t} %h = stablehlo.add %j, %r : {t}"""


@pytest.mark.parametrize(("one", "other"), [("%k", "%u"), ("%s", "%r")], ids=["no numbers both", "a number and none"])
@pytest.mark.parametrize("chosen", [True, False])
def test_what_a_choice_may_leave_out_is_not_tested_in_the_place_of_a_number(one: str, other: str, chosen: bool) -> None:
    """(a + e) / x > z is a / x + e / x > z, and a + e > z is a / x · x + e > z, where x is not 0."""
    t, test = "tensor<4xf32>", "tensor<4xi1>"
    shared = f"{_QUOTIENTS.format(t=t)} %z = stablehlo.tanh %a : {t}"
    shared += f" %c = stablehlo.select %p, %h, %a : {test}, {t}" if chosen else f" %c = stablehlo.add %h, %a : {t}"
    numbers = " ".join(
        f"%{name} = stablehlo.compare GT, {value}, %z : ({t}, {t}) -> {test} "
        f"%{name}n = stablehlo.convert %{name} : ({test}) -> {t}"
        for name, value in (("f", one), ("g", other))
    )
    before = f"{shared} return %c : {t}"
    after = f"{shared} {numbers} %n = stablehlo.subtract %fn, %gn : {t} %o = stablehlo.add %c, %n : {t} return %o : {t}"
    arguments = [*ROWS, ("p", "4xi1", "")]
    found = theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL)
    assert found is (None if chosen else Theory.REAL)
