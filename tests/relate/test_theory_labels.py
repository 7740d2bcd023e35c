"""Which arithmetic the e-graph's equalities are proved in: *exact* keeps every bit, *reassociated* is exact arithmetic.

Most of these pairs were once proved by a stronger claim than holds of them, or proved and not equal.
"""

from __future__ import annotations

import math
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.relate.atoms import Atom, AtomKind
from shardproof.validator.relate.bridge import Bridge, _Graph
from shardproof.validator.relate.context import Context
from shardproof.validator.relate.decide import decide
from shardproof.validator.relate.value import Piece

from .pairs import Tensor, program

LABELS = (Theory.EXACT, Theory.REASSOCIATED)
F32 = Tensor((5,), "f32")


def label(before: str, after: str, parameters: list[Tensor], result: Tensor) -> Theory | None:
    """The theory of the proof; where there is one, nothing stronger that is asked for proves it either."""
    first, second = (program(body, parameters, result, 1) for body in (before, after))
    found: list[Theory | None] = []
    for accepted in LABELS:
        decision = decide(first, second, deadline=time.monotonic() + 60, assume_in_bounds=False, accepted=accepted)
        (comparison,) = decision.comparisons
        found.append(comparison.theory if comparison is not None and comparison.proved else None)
    assert found[0] is (Theory.EXACT if found[1] is Theory.EXACT else None)
    return found[1]


def values(body: str, parameters: list[Tensor], result: Tensor, *inputs: Any) -> np.ndarray:
    """What the reference evaluator makes of the program, each float in its own type."""
    whole = program(body, parameters, result, 1)
    return Machine(1, Native()).run(whole, [np.asarray(each)[None] for each in inputs])[0][0]


# sums and products ----------------------------------------------------------------------------------------------------

DOT_AND_SUM = """%z = stablehlo.constant dense<{zero}> : tensor<{t}>
%a = stablehlo.add %a0, %a1 : tensor<5x3x{t}>
%b = stablehlo.add %a2, %a3 : tensor<3x{t}>
%dot = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x3x{t}>, tensor<3x{t}>) -> tensor<5x{t}>
%u = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<5x3x{t}>) -> tensor<5x3x3x{t}>
%v = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<3x{t}>) -> tensor<5x3x3x{t}>
%all = stablehlo.multiply %u, %v : tensor<5x3x3x{t}>
%flat = stablehlo.reshape %all : (tensor<5x3x3x{t}>) -> tensor<5x9x{t}>
%pairs = stablehlo.slice %flat [0:5, 0:9:4] : (tensor<5x9x{t}>) -> tensor<5x3x{t}>
%sum = stablehlo.reduce(%pairs init: %z) applies stablehlo.add across dimensions = [1]
  : (tensor<5x3x{t}>, tensor<{t}>) -> tensor<5x{t}>
"""


@pytest.mark.parametrize(
    ("element", "expected"), [("f32", Theory.REASSOCIATED), ("bf16", Theory.REASSOCIATED), ("i32", Theory.EXACT)]
)
def test_a_dot_is_no_sum_of_products_at_exact(element: str, expected: Theory) -> None:
    """Its products may be wider than its type, and are then rounded only once."""
    parameters = [Tensor(shape, element) for shape in ((5, 3), (5, 3), (3,), (3,))]
    body = DOT_AND_SUM.format(t=element, zero="0" if element == "i32" else "0.0")
    result = Tensor((5,), element)
    before, after = (
        f"{body}%out = stablehlo.subtract %{x}, %{y} : {result}" for x, y in (("sum", "dot"), ("dot", "sum"))
    )
    assert label(before, after, parameters, result) is expected


def named(context: Context, atom: Atom, rel: str, monoid: Monoid, levels: int) -> Atom:
    """A name for a sum of elements of one term."""
    piece = Piece(atom, context.store.rel(rel))
    term = context.atoms.fresh(AtomKind.NAMED, atom.dtype, 1, (atom,), data=(piece,))
    context.define(term, (piece,), monoid, levels, original=True)
    return term


@pytest.mark.parametrize(
    ("dtype", "monoid", "expected"),
    [
        (DType.F32, Monoid.ADD, [False, True]),
        (DType.BF16, Monoid.MUL, [False, True]),
        (DType.C64, Monoid.ADD, [False, True]),
        (DType.F32, Monoid.MAX, [True, True]),
        (DType.I32, Monoid.ADD, [True, True]),
    ],
)
def test_sums_that_are_rounded_another_number_of_times(dtype: DType, monoid: Monoid, expected: list[bool]) -> None:
    """Two names of one sum: programs have no such, since the walk finds the first one again when it meets the second,
    and says *reassociated*. The graph does not rely on that."""
    context = Context()
    context.bridge = Bridge(context, Theory.REASSOCIATED)
    parameter = context.atoms.make(AtomKind.PARAMETER, dtype, 2, (0, (5, 3)))
    rel = "{[i] -> [i, k] : 0 <= i < 5 and 0 <= k < 3}"
    once, twice = (named(context, parameter, rel, monoid, levels) for levels in (1, 2))
    for theory, same in zip(LABELS, expected, strict=True):
        graph = _Graph(context, theory, None)
        terms = graph.term(once), graph.term(twice)
        graph.terms.saturate(theory)
        assert graph.terms.same(*terms) is same


# constants ------------------------------------------------------------------------------------------------------------

CONSTANTS = f"""%c = stablehlo.constant dense<1.0e8> : {F32}
%d = stablehlo.constant dense<13.0> : {F32}
%e = stablehlo.constant dense<100000016.0> : {F32}
%t = stablehlo.add %c, %d : {F32}
%m = stablehlo.maximum %a0, %t : {F32}
"""


def test_a_rounded_constant_is_no_sum_of_others() -> None:
    """1e8 + 13 is rounded to 100000016: once that was known of one expression, x + 1e8 + 13 was x + 100000016."""
    before = f"""{CONSTANTS} %p = stablehlo.add %a1, %a2 : {F32}
      %q = stablehlo.add %p, %m : {F32}
      %r = stablehlo.add %a3, %e : {F32}
      %out = stablehlo.atan2 %q, %r : {F32}"""
    after = f"""{CONSTANTS} %p = stablehlo.add %a2, %m : {F32}
      %q = stablehlo.add %a1, %p : {F32}
      %s = stablehlo.add %a3, %c : {F32}
      %r = stablehlo.add %s, %d : {F32}
      %out = stablehlo.atan2 %q, %r : {F32}"""
    assert label(before, after, [F32] * 4, F32) is None
    inputs = [np.full(5, number, np.float32) for number in (0, -1e8, 0, -1e8)]
    left, right = (values(body, [F32] * 4, F32, *inputs) for body in (before, after))
    assert (left[0], right[0]) == (np.arctan2(16, 16, dtype=np.float32), np.arctan2(16, 13, dtype=np.float32))


def test_constants_are_folded_as_the_op_rounds_them_at_exact() -> None:
    """And only there: above, constants go into sums and products by what they come to exactly."""
    before = f"{CONSTANTS} %p = stablehlo.add %a1, %t : {F32} %out = stablehlo.subtract %p, %a2 : {F32}"
    after = f"{CONSTANTS} %p = stablehlo.add %a1, %e : {F32} %out = stablehlo.subtract %p, %a2 : {F32}"
    moved = f"""{CONSTANTS} %s = stablehlo.subtract %a1, %a2 : {F32}
      %p = stablehlo.add %s, %c : {F32} %out = stablehlo.add %p, %d : {F32}"""
    assert label(before, after, [F32] * 3, F32) is Theory.EXACT
    assert label(before, moved, [F32] * 3, F32) is Theory.REASSOCIATED
    assert label(after, moved, [F32] * 3, F32) is None


# the sign of zero -----------------------------------------------------------------------------------------------------

SIGNS = {
    "divide": lambda x: 1 / x,
    "atan2": lambda x: np.arctan2(x, np.float32(-1)),
    "bitcast_convert": lambda x: x.view(np.int32),
}
"""Functions that tell one zero from the other."""


def observed(op: str, operand: str) -> str:
    number = f"%k = stablehlo.constant dense<{1.0 if op == 'divide' else -1.0}> : {F32}\n"
    if op == "bitcast_convert":
        return f"%out = stablehlo.bitcast_convert {operand} : ({F32}) -> tensor<5xi32>"
    return number + f"%out = stablehlo.{op} {'%k, ' + operand if op == 'divide' else operand + ', %k'} : {F32}"


@pytest.mark.parametrize("op", SIGNS)
@pytest.mark.parametrize(
    ("change", "zero", "expected"),
    [
        ("add", "0.0", Theory.REASSOCIATED),
        ("subtract", "0.0", Theory.EXACT),
        ("add", "-0.0", Theory.EXACT),
        ("subtract", "-0.0", Theory.REASSOCIATED),
    ],
)
def test_a_zero_that_is_added(op: str, change: str, zero: str, expected: Theory) -> None:
    result = Tensor((5,), "i32") if op == "bitcast_convert" else F32
    before = f"%t = stablehlo.tanh %a0 : {F32}\n{observed(op, '%t')}"
    after = f"""%t = stablehlo.tanh %a0 : {F32}
      %z = stablehlo.constant dense<{zero}> : {F32}
      %u = stablehlo.{change} %t, %z : {F32}
      {observed(op, "%u")}"""
    assert label(before, after, [F32], result) is expected
    with np.errstate(divide="ignore"):
        minus = np.full(5, -0.0, np.float32)
        left, right = (values(body, [F32], result, minus) for body in (before, after))
        assert np.array_equal(left, SIGNS[op](minus))
        assert np.array_equal(left, right) is (expected is Theory.EXACT)


ZEROS = f"""%z = stablehlo.constant dense<0.0> : {F32}
%n = stablehlo.constant dense<-0.0> : {F32}
%s = stablehlo.add %z, %n : {F32}
%m = stablehlo.maximum %a0, %s : {F32}
"""


@pytest.mark.parametrize("op", ["divide", "atan2", "multiply"])
def test_constants_of_zero_are_told_apart(op: str) -> None:
    """Also where a program adds both: then x + 0 = x would have made them one, and 1/0 all that 1/-0 is."""
    before = f"""{ZEROS} %p = stablehlo.add %a1, %a2 : {F32}
      %q = stablehlo.add %p, %m : {F32}
      %e = stablehlo.exponential %a1 : {F32}
      %f = stablehlo.{op} %e, %z : {F32}
      %out = stablehlo.atan2 %q, %f : {F32}"""
    after = f"""{ZEROS} %p = stablehlo.add %a2, %m : {F32}
      %q = stablehlo.add %a1, %p : {F32}
      %e = stablehlo.exponential %a1 : {F32}
      %f = stablehlo.{op} %e, %n : {F32}
      %out = stablehlo.atan2 %q, %f : {F32}"""
    assert label(before, after, [F32] * 3, F32) is None


# types that lack numbers ----------------------------------------------------------------------------------------------


def test_a_type_without_signs_has_no_negative_numbers() -> None:
    """4 - 2 is 2, but 4 + (-2) is 4 + NaN."""
    kind = Tensor((5,), "f8E8M0FNU")
    before = f"%p = stablehlo.subtract %a0, %a1 : {kind} %out = stablehlo.multiply %p, %a2 : {kind}"
    after = f"""%n = stablehlo.negate %a1 : {kind} %p = stablehlo.add %a0, %n : {kind}
      %out = stablehlo.multiply %p, %a2 : {kind}"""
    assert label(before, after, [kind] * 3, kind) is None
    numbers = [np.full(5, number, ml_dtypes.float8_e8m0fnu) for number in (4, 2, 1)]
    left, right = (values(body, [kind] * 3, kind, *numbers).astype(float) for body in (before, after))
    assert (left[0], math.isnan(right[0])) == (2.0, True)


@pytest.mark.parametrize(
    ("element", "one", "expected"), [("f32", "1.0", Theory.EXACT), ("complex<f32>", "(1.0, 0.0)", None)]
)
def test_one_is_neutral_for_real_numbers(element: str, one: str, expected: Theory | None) -> None:
    """(inf + 0i) · (1 + 0i) is inf + NaN i."""
    kind = Tensor((5,), element)
    before = f"%out = stablehlo.add %a0, %a1 : {kind}"
    after = f"""%k = stablehlo.constant dense<{one}> : {kind}
      %p = stablehlo.multiply %a0, %k : {kind}
      %out = stablehlo.add %p, %a1 : {kind}"""
    assert label(before, after, [kind] * 2, kind) is expected
    numbers = [np.full(5, number, np.complex64 if expected is None else np.float32) for number in (np.inf, 0)]
    left, right = (values(body, [kind] * 2, kind, *numbers) for body in (before, after))
    assert np.array_equal(left, right, equal_nan=True) is (expected is not None)


EXTREMES = {
    "f32": np.array([np.nan, np.inf, -0.0, 0.0, 1e-45], np.float32),
    "bf16": np.array([np.nan, -np.inf, -0.0, 0.0, 3.0], ml_dtypes.bfloat16),
    "f8E8M0FNU": np.array([np.nan, 1, 2, 0.5, 2.0**127], ml_dtypes.float8_e8m0fnu),
    "i32": np.array([-(2**31), 2**31 - 1, -1, 0, 7], np.int32),
    "ui8": np.array([255, 128, 1, 0, 7], np.uint8),
}


@pytest.mark.parametrize(
    ("op", "element", "constant"),
    [
        *(("divide", element, "1" if "i" in element else "1.0") for element in EXTREMES),
        ("subtract", "f32", "0.0"),
        ("subtract", "bf16", "0.0"),
        ("subtract", "i32", "0"),
        *((shift, "i32", "0") for shift in ("shift_left", "shift_right_arithmetic", "shift_right_logical")),
        ("shift_right_logical", "ui8", "0"),
    ],
)
def test_what_leaves_the_first_operand_leaves_its_bits(op: str, element: str, constant: str) -> None:
    kind = Tensor((5,), element)
    c = f"%c = stablehlo.constant dense<{constant}> : {kind}"
    applied = f"{c} %out = stablehlo.{op} %a0, %c : {kind}"
    unchanged = f"%out = stablehlo.optimization_barrier %a0 : {kind}"
    assert label(applied, unchanged, [kind], kind) is Theory.EXACT
    left, right = (values(body, [kind], kind, EXTREMES[element]) for body in (applied, unchanged))
    same = left.view(np.uint8) == right.view(np.uint8)
    assert (same | np.isnan(right.astype(np.float64)).repeat(left.itemsize)).all()


@pytest.mark.parametrize(
    ("applied", "element"),
    [
        ("divide %c, %a0 : {0}", "f32"),
        ("subtract %c, %a0 : {0}", "i32"),
        ("shift_left %c, %a0 : {0}", "i32"),
        ("divide %a0, %c : {0}", "complex<f32>"),
    ],
)
def test_what_leaves_a_first_operand_leaves_no_second_one(applied: str, element: str) -> None:
    kind = Tensor((5,), element)
    constant = {"f32": "1.0", "i32": "0", "complex<f32>": "(1.0, 0.0)"}[element]
    before = f"%c = stablehlo.constant dense<{constant}> : {kind} %out = stablehlo.{applied.format(kind)}"
    assert label(before, f"%out = stablehlo.optimization_barrier %a0 : {kind}", [kind], kind) is None


def test_a_negative_zero_taken_away_is_no_neutral_element() -> None:
    """-0 - (-0) is 0."""
    before = f"%c = stablehlo.constant dense<-0.0> : {F32} %out = stablehlo.subtract %a0, %c : {F32}"
    unchanged = f"%out = stablehlo.optimization_barrier %a0 : {F32}"
    assert label(before, unchanged, [F32], F32) is not Theory.EXACT
    zero = values(before, [F32], F32, EXTREMES["f32"])[2]
    assert zero == 0 and not np.signbit(zero)


@pytest.mark.parametrize(("element", "proved"), [("f32", True), ("f8E8M0FNU", False)])
@pytest.mark.parametrize("late", [False, True])
def test_partial_sums_without_signs_are_not_negated(element: str, proved: bool, late: bool) -> None:
    """Twice negated they are themselves, before the sum over devices or around it; or else they are NaN."""
    result = Tensor((5,), element)
    whole, parts = ([Tensor((5,), element), *_halves(element, size)] for size in (6, 3))
    dot = "%dot = stablehlo.dot_general %a1, %a2, contracting_dims = [1] x [0] : ({0}, {1}) -> {2}"
    before = f"{dot.format(*whole[1:], result)} %out = stablehlo.multiply %a0, %dot : {result}"
    after = f"""{dot.format(*parts[1:], result)}
      %n = stablehlo.negate %dot : {result}
      %p = stablehlo.negate %n : {result}
      %all = "stablehlo.all_reduce"({"%n" if late else "%p"}) <{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
      ^bb0(%l: tensor<{element}>, %r: tensor<{element}>):
        %s = stablehlo.add %l, %r : tensor<{element}>
        stablehlo.return %s : tensor<{element}>
      }}) : ({result}) -> {result}
      %m = stablehlo.negate %all : {result}
      %out = stablehlo.multiply %a0, {"%m" if late else "%all"} : {result}"""
    first, second = program(before, whole, result, 2), program(after, parts, result, 2)
    decision = decide(first, second, deadline=time.monotonic() + 60, assume_in_bounds=False)
    (comparison,) = decision.comparisons
    assert comparison is not None
    assert comparison.proved is proved


def _halves(element: str, size: int) -> list[Tensor]:
    return [Tensor((5, size), element, "{devices=[1,2]<=[2]}"), Tensor((size,), element, "{devices=[2]<=[2]}")]
