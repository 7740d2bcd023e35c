"""Pairs of programs that were once proved equal over the real numbers and are not, with right ones beside them."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory

from .modules import module, theory_of

ROWS = [("a", "4xf32", ""), ("x", "4xf32", "")]
FIRST_TWO = """%mask = stablehlo.constant dense<[true, true, false, false]> : tensor<4xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>"""
AS_NUMBERS = "%ones = stablehlo.constant dense<[1.0, 1.0, 0.0, 0.0]> : tensor<4xf32>"


@pytest.mark.parametrize(
    ("guarded", "exposed"),
    [
        (
            "%d = stablehlo.divide %a, %x : tensor<4xf32>",
            "%d = stablehlo.divide %a, %x : tensor<4xf32> %o = stablehlo.multiply %d, %ones : tensor<4xf32>",
        ),
        (
            "%d = stablehlo.divide %a, %x : tensor<4xf32>",
            "%d = stablehlo.divide %ones, %x : tensor<4xf32> %o = stablehlo.multiply %d, %a : tensor<4xf32>",
        ),
        (
            "%d = stablehlo.log %x : tensor<4xf32>",
            "%d = stablehlo.log %x : tensor<4xf32> %o = stablehlo.multiply %d, %ones : tensor<4xf32>",
        ),
    ],
    ids=["quotient times mask", "mask over divisor", "logarithm times mask"],
)
def test_a_choice_by_position_leaves_out_what_is_no_number(guarded: str, exposed: str) -> None:
    select = "%o = stablehlo.select %mask, %d, %zero : tensor<4xi1>, tensor<4xf32>"
    before = module(ROWS, "4xf32", f"{FIRST_TWO} {guarded} {select} return %o : tensor<4xf32>")
    after = module(ROWS, "4xf32", f"{AS_NUMBERS} {exposed} return %o : tensor<4xf32>")
    assert theory_of(before, after, Theory.REAL) is None
    assert theory_of(before, before, Theory.REAL) is not None


def test_a_choice_by_position_keeps_what_is_needed_elsewhere() -> None:
    quotient = "%d = stablehlo.divide %a, %x : tensor<4xf32>"
    chosen = "%c = stablehlo.select %mask, %d, %zero : tensor<4xi1>, tensor<4xf32>"
    before = f"{FIRST_TWO} {quotient} {chosen} %o = stablehlo.add %c, %d : tensor<4xf32> return %o : tensor<4xf32>"
    masked = "%c = stablehlo.multiply %d, %ones : tensor<4xf32>"
    after = f"{AS_NUMBERS} {quotient} {masked} %o = stablehlo.add %c, %d : tensor<4xf32> return %o : tensor<4xf32>"
    assert theory_of(module(ROWS, "4xf32", before), module(ROWS, "4xf32", after), Theory.REAL) is Theory.REAL


def test_a_logarithm_of_zero_has_no_form() -> None:
    body = """%d = stablehlo.subtract %a, %a : tensor<4xf32> %o = stablehlo.log %d : tensor<4xf32>
      return %o : tensor<4xf32>"""
    other = "%o = stablehlo.abs %a : tensor<4xf32> return %o : tensor<4xf32>"
    assert theory_of(module(ROWS, "4xf32", other), module(ROWS, "4xf32", body), Theory.REAL) is None
    assert theory_of(module(ROWS, "4xf32", body), module(ROWS, "4xf32", body), Theory.REAL) is not None


def test_a_scalar_beside_a_tensor_over_the_reals() -> None:
    arguments = [("a", "4xf32", ""), ("s", "f32", "")]
    spread = "%b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>"
    before = f"""{spread} %t = stablehlo.add %a, %b : tensor<4xf32> %o = stablehlo.exponential %t : tensor<4xf32>
      return %o : tensor<4xf32>"""
    after = f"""{spread} %e = stablehlo.exponential %a : tensor<4xf32> %f = stablehlo.exponential %b : tensor<4xf32>
      %o = stablehlo.{{}} %e, %f : tensor<4xf32> return %o : tensor<4xf32>"""
    original = module(arguments, "4xf32", before)
    assert theory_of(original, module(arguments, "4xf32", after.format("multiply")), Theory.REAL) is Theory.REAL
    assert theory_of(original, module(arguments, "4xf32", after.format("divide")), Theory.REAL) is None


@pytest.mark.parametrize(
    "cancelled",
    [
        "%d = stablehlo.divide %a, %x : tensor<4xf32> %m = stablehlo.multiply %d, %x : tensor<4xf32>",
        "%d = stablehlo.divide %a, %x : tensor<4xf32> %m = stablehlo.subtract %d, %d : tensor<4xf32>",
    ],
    ids=["to a factor", "to zero"],
)
@pytest.mark.parametrize("predicate", ["%p", "%mask"])
def test_a_division_that_cancels_within_a_choice_is_still_left_out(cancelled: str, predicate: str) -> None:
    chosen = f"""{FIRST_TWO} {cancelled} %c = stablehlo.select {predicate}, %m, %zero : tensor<4xi1>, tensor<4xf32>
      %e = stablehlo.exponential %a : tensor<4xf32>"""
    before = f"{chosen} %o = stablehlo.add %c, %e : tensor<4xf32> return %o : tensor<4xf32>"
    after = f"""{chosen} %f = stablehlo.multiply %e, %x : tensor<4xf32> %g = stablehlo.divide %f, %x : tensor<4xf32>
      %o = stablehlo.add %c, %g : tensor<4xf32> return %o : tensor<4xf32>"""
    arguments = [*ROWS, ("p", "4xi1", "")]
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL) is None
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", before), Theory.REAL) is not None


def test_a_branch_computes_nothing_for_all_inputs_returned_or_not() -> None:
    branch = """%s = "stablehlo.if"(%p) ({
        %one = stablehlo.constant dense<1.0> : tensor<4xf32>
        %i = stablehlo.divide %one, %x : tensor<4xf32>
        stablehlo.return %one : tensor<4xf32>
      }, { stablehlo.return %a : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
      %e = stablehlo.exponential %a : tensor<4xf32>"""
    before = f"{branch} %o = stablehlo.add %e, %s : tensor<4xf32> return %o : tensor<4xf32>"
    after = f"""{branch} %f = stablehlo.multiply %e, %x : tensor<4xf32> %g = stablehlo.divide %f, %x : tensor<4xf32>
      %o = stablehlo.add %g, %s : tensor<4xf32> return %o : tensor<4xf32>"""
    arguments = [*ROWS, ("p", "i1", "")]
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL) is None


def test_a_division_by_zero_of_the_partitioned_program_is_not_asked_about_over_the_reals() -> None:
    arguments = [(name, "4xf32", "") for name in "abc"]
    root = """%m = stablehlo.maximum %c, %b : tensor<4xf32> %y = stablehlo.sqrt %m : tensor<4xf32>
      %p = stablehlo.multiply %c, %b : tensor<4xf32>"""
    before = f"{root} %o = stablehlo.subtract %p, %y : tensor<4xf32> return %o : tensor<4xf32>"
    after = f"""{root} %z = stablehlo.subtract %b, %b : tensor<4xf32> %q = stablehlo.divide %y, %z : tensor<4xf32>
      %t = stablehlo.multiply %q, %z : tensor<4xf32> %o = stablehlo.subtract %p, %t : tensor<4xf32>
      return %o : tensor<4xf32>"""
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL) is None
