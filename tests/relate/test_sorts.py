"""Sorts: what two comparators have in common, ties by place, and operands that no comparator looks at."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.ops.comparators import comparator_of
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Op
from shardproof.validator.read.program import read_program

from .modules import module, theory_of

X, Y = ("x", "3x7xf32", ""), ("y", "3x7xi32", "")
TOTAL = "%p = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>"


def bits(name: str) -> str:
    """The integer that compares as a float does in the total order, as XLA for TPUs writes it."""
    return f"""
      %{name}b = stablehlo.bitcast_convert %{name} : (tensor<f32>) -> tensor<i32>
      %{name}n = stablehlo.compare LT, %{name}b, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %{name}x = stablehlo.xor %most, %{name}b : tensor<i32>
      %{name}i = stablehlo.select %{name}n, %{name}x, %{name}b : tensor<i1>, tensor<i32>"""


def by_bits(direction: str, most: int = 2147483647) -> str:
    return f"""%zero = stablehlo.constant dense<0> : tensor<i32>
      %most = stablehlo.constant dense<{most}> : tensor<i32> {bits("l")} {bits("r")}
      %p = stablehlo.compare {direction}, %li, %ri, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>"""


def one(comparator: str, *, stable: bool = True) -> str:
    body = f"""%o = "stablehlo.sort"(%x) <{{dimension = 1 : i64, is_stable = {str(stable).lower()}}}> ({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>): {comparator} stablehlo.return %p : tensor<i1>
      }}) : (tensor<3x7xf32>) -> tensor<3x7xf32> return %o : tensor<3x7xf32>"""
    return module([X], "3x7xf32", body)


def pairs(comparator: str, numbers: str, *, stable: bool, result: int = 1) -> str:
    """Sorted x, y and numbers along; the comparator has %l, %r of x, %i, %j of the numbers."""
    t, u = "tensor<3x7xf32>", "tensor<3x7xi32>"
    body = f"""%n = {numbers}
      %o:3 = "stablehlo.sort"(%x, %y, %n) <{{dimension = 1 : i64, is_stable = {str(stable).lower()}}}> ({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>, %k: tensor<i32>, %m: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
      {comparator} stablehlo.return %p : tensor<i1>
      }}) : ({t}, {u}, {u}) -> ({t}, {u}, {u}) return %o#{result} : {u}"""
    return module([X, Y], "3x7xi32", body)


IOTA = "stablehlo.iota dim = 1 : tensor<3x7xi32>"


def broken_ties(first: str = "%i", second: str = "%j", mirrored: str = "%r, %l") -> str:
    return f"""{TOTAL.replace("%p", "%a")}
      %b = stablehlo.compare LT, {mirrored}, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %c = stablehlo.compare EQ, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %d = stablehlo.compare LT, {first}, {second} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %p = stablehlo.select %c, %d, %a : tensor<i1>, tensor<i1>"""


def test_the_total_order_is_that_of_the_bits() -> None:
    assert theory_of(one(TOTAL), one(by_bits("LT"))) is Theory.EXACT
    assert theory_of(one(by_bits("LT")), one(TOTAL)) is Theory.EXACT
    flipped = TOTAL.replace("LT, %l, %r", "GT, %r, %l")
    assert theory_of(one(TOTAL), one(flipped)) is Theory.EXACT


@pytest.mark.parametrize(
    "other", [by_bits("GT"), by_bits("LT", 1), TOTAL.replace(", TOTALORDER", ""), TOTAL.replace("LT", "LE")]
)
def test_another_comparator_is_another_order(other: str) -> None:
    assert theory_of(one(TOTAL), one(other)) is None


def test_a_sort_that_may_take_ties_as_it_likes_is_another_function() -> None:
    assert theory_of(one(TOTAL), one(TOTAL, stable=False)) is None
    assert theory_of(one(TOTAL, stable=False), one(TOTAL, stable=False)) is Theory.EXACT


@pytest.mark.parametrize("stable", [False, True])
def test_ties_by_place(stable: bool) -> None:
    plain = pairs(TOTAL, IOTA, stable=True)
    assert theory_of(plain, pairs(broken_ties(), IOTA, stable=stable)) is Theory.EXACT
    # the places themselves, which is where each element comes from
    before = pairs(TOTAL, IOTA, stable=True, result=2)
    assert theory_of(before, pairs(broken_ties(), IOTA, stable=stable, result=2)) is Theory.EXACT


@pytest.mark.parametrize(
    ("comparator", "numbers"),
    [
        (broken_ties(), "stablehlo.iota dim = 0 : tensor<3x7xi32>"),  # alike along the row
        (broken_ties(), "stablehlo.reverse %y, dims = [1] : tensor<3x7xi32>"),  # not known
        (broken_ties("%j", "%i"), IOTA),
        (broken_ties("%k", "%m"), IOTA),  # of another operand
        (broken_ties("%i", "%i"), IOTA),
        (broken_ties(mirrored="%l, %r"), IOTA),  # not the other way
    ],
)
def test_ties_by_something_else(comparator: str, numbers: str) -> None:
    assert theory_of(pairs(TOTAL, IOTA, stable=True), pairs(comparator, numbers, stable=False)) is None


KEYS = """%eq = stablehlo.compare EQ, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %lt = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %gt = stablehlo.compare LT, %r, %l, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %below = stablehlo.compare LT, %k, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %above = stablehlo.compare LT, %m, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>"""
ONE_WAY = {
    "or": """%s = stablehlo.and %eq, %below : tensor<i1> %p = stablehlo.or %lt, %s : tensor<i1>""",
    "select": "%p = stablehlo.select %eq, %below, %lt : tensor<i1>, tensor<i1>",
    "loose": "%p = stablehlo.compare LE, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "two": "%p = stablehlo.or %lt, %below : tensor<i1>",
}
OTHER_WAY = {
    "or": """%s2 = stablehlo.and %eq, %above : tensor<i1> %p2 = stablehlo.or %gt, %s2 : tensor<i1>""",
    "select": "%p2 = stablehlo.select %eq, %above, %gt : tensor<i1>, tensor<i1>",
    "loose": "%p2 = stablehlo.compare LE, %r, %l, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "two": "%p2 = stablehlo.or %gt, %above : tensor<i1>",
}


@pytest.mark.parametrize("form", ONE_WAY)
def test_ties_of_several_keys(form: str) -> None:
    """Not where two elements come before each other: what a stable sort makes of them is not known."""
    plain = pairs(f"{KEYS} {ONE_WAY[form]}", IOTA, stable=True)
    broken = f"""{KEYS} {ONE_WAY[form].replace("%p =", "%p1 =")} {OTHER_WAY[form]}
      %c = stablehlo.compare EQ, %p1, %p2 : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %d = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %p = stablehlo.select %c, %d, %p1 : tensor<i1>, tensor<i1>"""
    expected = Theory.EXACT if form in ("or", "select") else None
    assert theory_of(plain, pairs(broken, IOTA, stable=False)) is expected


PARTIAL = "%{0} = stablehlo.compare LT, {1}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>"
NO_WEAK_ORDERS = {  # NaN is no less than 1 and 2, nor they than NaN; (1, 2) than (2, 1), nor (3, 0) than (1, 2); …
    "partial": (PARTIAL.format("p1", "%l, %r"), PARTIAL.format("p2", "%r, %l")),
    "and": ("%p1 = stablehlo.and %lt, %below : tensor<i1>", "%p2 = stablehlo.and %gt, %above : tensor<i1>"),
    "choice": (
        """%both = stablehlo.and %k, %m : tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %test = stablehlo.compare EQ, %both, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %p1 = stablehlo.select %test, %lt, %below : tensor<i1>, tensor<i1>""",
        "%p2 = stablehlo.select %test, %gt, %above : tensor<i1>, tensor<i1>",
    ),
    "sides": (
        """%km = stablehlo.subtract %k, %m : tensor<i32> %mk = stablehlo.subtract %m, %k : tensor<i32>
        %p1 = stablehlo.compare LT, %km, %mk, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>""",
        "%p2 = stablehlo.compare LT, %mk, %km, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
    ),
}


@pytest.mark.parametrize("form", NO_WEAK_ORDERS)
def test_ties_of_what_is_no_weak_order(form: str) -> None:
    """What a sort makes of it goes by how it sorts: stable and unstable sorts of XLA differ then."""
    one_way, other_way = NO_WEAK_ORDERS[form]
    plain = pairs(f"{KEYS} {one_way.replace('%p1 =', '%p =')}", IOTA, stable=True)
    broken = f"""{KEYS} {one_way} {other_way}
      %c = stablehlo.compare EQ, %p1, %p2 : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %d = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %p = stablehlo.select %c, %d, %p1 : tensor<i1>, tensor<i1>"""
    assert theory_of(plain, pairs(broken, IOTA, stable=False)) is None


def test_a_comparator_that_asks_for_the_device_is_not_known() -> None:
    own = f"""%id = stablehlo.partition_id : tensor<ui32> %zero = stablehlo.constant dense<0> : tensor<ui32>
      %first = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      {TOTAL.replace("%p", "%a")} {TOTAL.replace("%p", "%b").replace("%l, %r", "%r, %l")}
      %p = stablehlo.select %first, %a, %b : tensor<i1>, tensor<i1>"""
    assert theory_of(one(own), one(own)) is None


def test_an_operand_that_is_not_looked_at_is_left_out() -> None:
    """Each operand comes in the order of the keys, whatever is moved with it."""
    t, u = "tensor<3x7xf32>", "tensor<3x7xi32>"
    alone = f"""%o:2 = "stablehlo.sort"(%x, %y) <{{dimension = 1 : i64, is_stable = true}}> ({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>, %k: tensor<i32>, %m: tensor<i32>): {TOTAL} stablehlo.return %p : tensor<i1>
      }}) : ({t}, {u}) -> ({t}, {u}) return %o#1 : {u}"""
    before = module([X, Y], "3x7xi32", alone)
    assert theory_of(before, pairs(TOTAL, IOTA, stable=True)) is Theory.EXACT
    assert theory_of(before, pairs(TOTAL, IOTA, stable=False)) is None


FLOATS = np.array([0x7FC00000, 0xFFC00001, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x3F800000], np.uint32)


def test_the_bits_compare_as_the_evaluator_does() -> None:
    """Every pair of infinities, zeros, NaN, denormals and others."""
    left, right = (array.ravel().view(np.float32) for array in np.meshgrid(FLOATS, FLOATS))
    answers = []
    for text in (TOTAL, by_bits("LT")):
        wide = re.sub(r"tensor<(f32|i32|i1)>", rf"tensor<{left.size}x\1>", text)
        given = [(name, f"{left.size}xf32", "") for name in "lr"]
        program = read_program(module(given, f"{left.size}xi1", f"{wide} return %p : tensor<{left.size}xi1>").encode())
        answers.append(Machine(1, Native()).run(program, [left[None], right[None]])[0])
    assert np.array_equal(*answers)


def test_what_a_comparator_is_made_of() -> None:
    def read(text: str) -> Op:
        return next(op for op in read_program(text.encode()).body.ops if op.name == "stablehlo.sort")

    comparator = comparator_of(read(pairs(broken_ties(), IOTA, stable=False)).regions[0])
    assert comparator is not None
    assert comparator.operands() == (0, 2)
    found = comparator.by_number()
    assert found is not None
    assert found[1] == 2
    assert found[0].operands() == (0,)
    plain = comparator_of(read(one(TOTAL)).regions[0])
    assert plain is not None
    assert plain.by_number() is None
    assert found[0].name((0,)) == plain.name((0,))


@pytest.mark.parametrize("seed", range(4))
def test_ties_by_place_as_the_evaluator_sorts(seed: int) -> None:
    """Rows of few values, with zeros of both signs and NaN."""
    draw = np.random.default_rng(seed)
    x = draw.choice(np.array([0.0, -0.0, 1.0, np.nan, -np.inf], np.float32), (2, 3, 7))
    y = draw.integers(0, 9, (2, 3, 7), np.int32)
    results = []
    for text in (pairs(TOTAL, IOTA, stable=True), pairs(broken_ties(), IOTA, stable=False)):
        for backwards in (False, True):
            machine = Machine(2, Native(), backwards=backwards)
            results.append(machine.run(read_program(text.encode()), [x, y])[0])
    assert all(np.array_equal(result, results[0]) for result in results)
