"""Pairs of programs that were once proved equal over the real numbers and are not, with right ones beside them."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory

from .modules import module, theory_of
from .test_ordered import ARGMAX

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


@pytest.mark.parametrize(("used", "proved"), [("%x", False), ("%d", True)])
def test_what_no_result_depends_on_tells_nothing_of_its_divisor(used: str, proved: bool) -> None:
    before = f"""%d = stablehlo.divide %a, %x : tensor<4xf32> %o = stablehlo.subtract %a, {used} : tensor<4xf32>
      return %o : tensor<4xf32>"""
    after = f"""%d = stablehlo.divide %a, %x : tensor<4xf32> %m = stablehlo.multiply %d, %x : tensor<4xf32>
      %o = stablehlo.subtract %m, {used} : tensor<4xf32> return %o : tensor<4xf32>"""
    found = theory_of(module(ROWS, "4xf32", before), module(ROWS, "4xf32", after), Theory.REAL)
    assert found is (Theory.REAL if proved else None)


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


QUOTIENT = "%d = stablehlo.divide %a, %x : tensor<4xf32>"
TRIPS = [*ROWS, ("p", "i1", ""), ("n", "i32", "")]


def repeated(first: str, trip: str, last: str) -> str:
    """A loop of %n trips that carries %v, from `first` on, with `last` at the end of each trip; its result is %w#1."""
    return f"""%start = stablehlo.constant dense<0> : tensor<i32>
      %w:2 = stablehlo.while(%i = %start, %v = {first}) : tensor<i32>, tensor<4xf32> cond {{
        %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      }} do {{
        %step = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %step : tensor<i32>
        {trip} stablehlo.return %j, {last} : tensor<i32>, tensor<4xf32>
      }}"""


TANH = "%u = stablehlo.tanh %v : tensor<4xf32>"


@pytest.mark.parametrize(
    ("loop", "divides"),
    [
        (repeated("%d", TANH, "%u"), True),
        (repeated("%a", "", "%d"), False),
        (repeated("%a", "%u = stablehlo.add %v, %d : tensor<4xf32>", "%u"), False),
        (repeated("%d", "%u = stablehlo.tanh %a : tensor<4xf32>", "%u"), False),
        (repeated("%d", "%u = stablehlo.reverse %v, dims = [0] : tensor<4xf32>", "%u"), True),
        (repeated("%d", f"{FIRST_TWO} %u = stablehlo.select %mask, %v, %a : tensor<4xi1>, tensor<4xf32>", "%u"), False),
    ],
    ids=[
        "goes on from it",
        "in every trip",
        "with every trip",
        "before the first trip",
        "turned",
        "goes on from a part",
    ],
)
def test_a_loop_may_leave_out_what_is_divided(loop: str, divides: bool) -> None:
    """Without a trip only what is carried at first counts, with one only what that goes into."""
    shared = f"{QUOTIENT} {loop} %e = stablehlo.exponential %a : tensor<4xf32>"
    before = f"{shared} %o = stablehlo.add %w#1, %e : tensor<4xf32> return %o : tensor<4xf32>"
    after = f"""{shared} %f = stablehlo.multiply %e, %x : tensor<4xf32> %g = stablehlo.divide %f, %x : tensor<4xf32>
      %o = stablehlo.add %w#1, %g : tensor<4xf32> return %o : tensor<4xf32>"""
    found = theory_of(module(TRIPS, "4xf32", before), module(TRIPS, "4xf32", after), Theory.REAL)
    assert found is (Theory.REAL if divides else None)


@pytest.mark.parametrize(
    "left_out",
    [
        f"""%r = "stablehlo.if"(%p) ({{ {repeated("%d", TANH, "%u")} stablehlo.return %w#1 : tensor<4xf32> }},
          {{ stablehlo.return %a : tensor<4xf32> }}) : (tensor<i1>) -> tensor<4xf32>""",
        f"{repeated('%d', TANH, '%u')} %r = stablehlo.select %p, %w#1, %a : tensor<i1>, tensor<4xf32>",
    ],
    ids=["in a branch", "in a choice"],
)
def test_what_a_loop_carries_that_is_left_out_itself_is_needed_by_nothing(left_out: str) -> None:
    shared = f"{FIRST_TWO} {AS_NUMBERS} {QUOTIENT} {left_out}"
    before = f"{shared} %c = stablehlo.select %mask, %d, %zero : tensor<4xi1>, tensor<4xf32>"
    after = f"{shared} %c = stablehlo.multiply %d, %ones : tensor<4xf32>"
    end = "%o = stablehlo.add %c, %r : tensor<4xf32> return %o : tensor<4xf32>"
    programs = [module(TRIPS, "4xf32", f"{each} {end}") for each in (before, after)]
    assert theory_of(programs[0], programs[1], Theory.REAL) is None
    assert theory_of(programs[0], programs[0], Theory.REAL) is not None


@pytest.mark.parametrize("scale", ["0.0", "1.0"])
def test_what_is_multiplied_by_zero_is_divided_only_where_that_is_chosen(scale: str) -> None:
    """select(p, 0 · (a / x), a): a sum of products drops what is times zero, and x may be zero all the same."""
    t = "tensor<4xf32>"
    shared = f"""%w = stablehlo.constant dense<{scale}> : {t} {QUOTIENT}
      %s = stablehlo.dot_general %w, %d, contracting_dims = [0] x [0] : ({t}, {t}) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {t}
      %c = stablehlo.select %p, %b, %a : tensor<4xi1>, {t} %e = stablehlo.exponential %a : {t}"""
    before = f"{shared} %o = stablehlo.add %c, %e : {t} return %o : {t}"
    after = f"""{shared} %f = stablehlo.multiply %e, %x : {t} %g = stablehlo.divide %f, %x : {t}
      %o = stablehlo.add %c, %g : {t} return %o : {t}"""
    arguments = [*ROWS, ("p", "4xi1", "")]
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL) is None


def test_a_number_is_not_taken_for_a_simpler_one_near_it() -> None:
    """((exp a + exp a · c) / exp a − 1) · 10^8 is 10^8 · c, though float32 rounds 1 + c to 1."""
    t = "tensor<4xf32>"
    numbers = {"c": "3.0e-8", "one": "1.0", "many": "1.0e8", "all": "3.0"}
    constants = " ".join(f"%{name} = stablehlo.constant dense<{value}> : {t}" for name, value in numbers.items())
    after = f"""{constants} %e = stablehlo.exponential %a : {t} %m = stablehlo.multiply %e, %c : {t}
      %s = stablehlo.add %e, %m : {t} %k = stablehlo.divide %s, %e : {t} %r = stablehlo.subtract %k, %one : {t}
      %q = stablehlo.multiply %r, %many : {t} %o = stablehlo.add %x, %q : {t} return %o : {t}"""
    right = f"{constants} %o = stablehlo.add %x, %all : {t} return %o : {t}"
    programs = [module(ROWS, "4xf32", body) for body in (after, right, f"return %x : {t}")]
    assert theory_of(programs[1], programs[0], Theory.REAL) is Theory.REAL
    assert theory_of(programs[2], programs[0], Theory.REAL) is None


@pytest.mark.parametrize("limit", ["4", "3"])
def test_what_bounds_decide_is_divided_only_where_that_is_chosen(limit: str) -> None:
    """clamp(0, a / x, 3) < 4 holds whatever x is, and is left out where p does not hold."""
    t, whole = "tensor<4xf32>", "tensor<4xi32>"
    numbers = {"low": "0", "high": "3", "limit": limit}
    shared = " ".join(f"%{name} = stablehlo.constant dense<{value}> : {whole}" for name, value in numbers.items())
    shared += f""" {QUOTIENT} %i = stablehlo.convert %d : ({t}) -> {whole}
      %j = stablehlo.clamp %low, %i, %high : {whole}
      %less = stablehlo.compare LT, %j, %limit : ({whole}, {whole}) -> tensor<4xi1>
      %b = stablehlo.convert %less : (tensor<4xi1>) -> {t} %c = stablehlo.select %p, %b, %a : tensor<4xi1>, {t}
      %e = stablehlo.exponential %a : {t}"""
    before = f"{shared} %o = stablehlo.add %c, %e : {t} return %o : {t}"
    after = f"""{shared} %f = stablehlo.multiply %e, %x : {t} %g = stablehlo.divide %f, %x : {t}
      %o = stablehlo.add %c, %g : {t} return %o : {t}"""
    arguments = [*ROWS, ("p", "4xi1", "")]
    assert theory_of(module(arguments, "4xf32", before), module(arguments, "4xf32", after), Theory.REAL) is None


@pytest.mark.parametrize(("element", "proved"), [("tanh %x", True), ("log %x", False), ("divide %a, %x", False)])
def test_a_maximum_that_is_not_a_number_is_attained_nowhere(element: str, proved: bool) -> None:
    """As many elements as equal their maximum are none, and may not be divided by, if one of them is NaN."""
    t = "tensor<4xf32>"
    reduced = f"across dimensions = [0] : ({t}, tensor<f32>) -> tensor<f32>"
    spread = f"dims = [] : (tensor<f32>) -> {t}"
    after = f"""%none = stablehlo.constant dense<0xFF800000> : tensor<f32> %u = stablehlo.{element} : {t}
      %m = stablehlo.reduce(%u init: %none) applies stablehlo.maximum {reduced}
      %most = stablehlo.broadcast_in_dim %m, {spread}
      %same = stablehlo.compare EQ, %u, %most : ({t}, {t}) -> tensor<4xi1>
      %one = stablehlo.convert %same : (tensor<4xi1>) -> {t} %z = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.reduce(%one init: %z) applies stablehlo.add {reduced}
      %count = stablehlo.broadcast_in_dim %n, {spread}
      %e = stablehlo.exponential %a : {t} %f = stablehlo.multiply %e, %count : {t}
      %o = stablehlo.divide %f, %count : {t} return %o : {t}"""
    before = module(ROWS, "4xf32", f"%o = stablehlo.exponential %a : {t} return %o : {t}")
    assert theory_of(before, module(ROWS, "4xf32", after), Theory.REAL) is (Theory.REAL if proved else None)


@pytest.mark.parametrize(("condition", "divides"), [("true", False), ("false", True)])
def test_a_branch_that_a_constant_leaves_out_divides_by_nothing(condition: str, divides: bool) -> None:
    t = "tensor<4xf32>"
    shared = f"""{QUOTIENT} %q = stablehlo.constant dense<{condition}> : tensor<i1>
      %r = "stablehlo.if"(%q) ({{ stablehlo.return %a : {t} }}, {{ stablehlo.return %d : {t} }}) : (tensor<i1>) -> {t}
      %e = stablehlo.exponential %a : {t}"""
    before = f"{shared} %o = stablehlo.add %r, %e : {t} return %o : {t}"
    after = f"""{shared} %f = stablehlo.multiply %e, %x : {t} %g = stablehlo.divide %f, %x : {t}
      %o = stablehlo.add %r, %g : {t} return %o : {t}"""
    found = theory_of(module(ROWS, "4xf32", before), module(ROWS, "4xf32", after), Theory.REAL)
    assert found is (Theory.REAL if divides else None)


def test_quotients_of_a_table_that_is_cut_between_devices_are_written_out() -> None:
    """exp(log(c / s)) is c / s only where that is positive, and to find out ends in no error."""
    t = "tensor<3xf32>"
    shared = f"""%v = stablehlo.select %p, %x, %a : tensor<3xi1>, {t} %s = stablehlo.add %a, %v : {t}
      %c = stablehlo.constant dense<[0.0, 1.0, 1.0, 2.0, 1.0, 2.0]> : tensor<6xf32>
      %n = stablehlo.partition_id : tensor<ui32> %i = stablehlo.convert %n : (tensor<ui32>) -> tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32> %j = stablehlo.multiply %i, %three : tensor<i32>
      %k = stablehlo.dynamic_slice %c, %j, sizes = [3] : (tensor<6xf32>, tensor<i32>) -> {t}
      %d = stablehlo.divide %k, %s : {t}"""
    end = f"""%m = stablehlo.multiply %v, %s : {t} %w = stablehlo.add %m, %v : {t} %o = stablehlo.add %w, {{}} : {t}
      return %o : {t}"""
    arguments = [("a", "3xf32", ""), ("x", "3xf32", ""), ("p", "3xi1", "")]
    before = module(arguments, "3xf32", f"{shared} {end.format('%d')}")
    cancelled = f"%log = stablehlo.log %d : {t} %e = stablehlo.exponential %log : {t}"
    after = module(arguments, "3xf32", f"{shared} {cancelled} {end.format('%e')}")
    assert theory_of(before, after, Theory.REAL) is None


_DECIDED = {
    "a branch": (
        "%out = stablehlo.negate %rows : tensor<4xf32>",
        """%out = "stablehlo.if"(%same) ({
            %negated = stablehlo.negate %rows : tensor<4xf32> stablehlo.return %negated : tensor<4xf32>
          }, { stablehlo.return %rows : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>""",
    ),
    "the start of a sum": (
        "%total = stablehlo.reduce(%rows init: %none) applies stablehlo.add across dimensions = [0] "
        ": (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
        "%total = stablehlo.reduce(%rows init: %diff) applies stablehlo.add across dimensions = [0] "
        ": (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
    ),
    "the start of a reduction in order": tuple(
        "%index = stablehlo.iota dim = 0 : tensor<4xi32> %zero = stablehlo.constant dense<0> : tensor<i32> "
        f"%low = stablehlo.constant dense<0xFF800000> : tensor<f32> {start} "
        "%w:2 = stablehlo.reduce(%rows init: %start), (%index init: %zero) across dimensions = [0] "
        ": (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)"
        f"{ARGMAX.replace('tensor<T>', 'tensor<f32>')} %total = stablehlo.convert %w#1 : (tensor<i32>) -> tensor<f32>"
        for start in (
            "%start = stablehlo.optimization_barrier %low : tensor<f32>",
            "%start = stablehlo.select %same, %low, %diff : tensor<i1>, tensor<f32>",
        )
    ),
}


@pytest.mark.parametrize("name", _DECIDED)
def test_what_is_constant_over_the_reals_only_decides_over_the_reals_only(name: str) -> None:
    """x − x is 0, and so equal to itself, unless x is infinite."""
    shared = """%diff = stablehlo.subtract %one, %one : tensor<f32> %none = stablehlo.constant dense<0.0> : tensor<f32>
      %same = stablehlo.compare EQ, %diff, %diff : (tensor<f32>, tensor<f32>) -> tensor<i1>"""
    spread = "%out = stablehlo.broadcast_in_dim %total, dims = [] : (tensor<f32>) -> tensor<4xf32>"
    before, after = (
        module(
            [("rows", "4xf32", ""), ("one", "f32", "")],
            "4xf32",
            f"{shared} {text} {spread if '%total =' in text else ''} return %out : tensor<4xf32>",
        )
        for text in _DECIDED[name]
    )
    assert theory_of(before, after) is None
    assert theory_of(before, after, Theory.REAL) is Theory.REAL
