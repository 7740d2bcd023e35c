"""Counters that another one equals, or that nothing reads, are left out of loops; the programs compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read.counters import merge_counters
from shardproof.validator.read.ir import Op, Program
from shardproof.validator.read.program import read_program

ONE = "%one = stablehlo.constant dense<1> : tensor<i32>"
BOTH = "%next = stablehlo.add %i, %one : tensor<i32> %then = stablehlo.add %one, %j : tensor<i32>"
LAST = "%sum = stablehlo.add %x, %j : tensor<i32>"


def loop(
    body: str = f"{ONE} {BOTH} {LAST}",
    carried: str = "%next, %then, %sum",
    starts: str = "%zero, %nil, %a0",
    test: str = "%i",
    result: str = "%r#2",
    nil: str = "0",
) -> Program:
    """Counts to five; by default each trip adds the second counter, which equals the first one."""
    first, second, third = starts.split(", ")
    return read_program(
        "module @m {\n func.func @main(%a0: tensor<i32>) -> tensor<i32> { %zero = stablehlo.constant dense<0> : "
        f"tensor<i32> %nil = stablehlo.constant dense<{nil}> : tensor<i32> %r:3 = stablehlo.while(%i = "
        f"{first}, %j = {second}, %x = {third}) : tensor<i32>, "
        "tensor<i32>, tensor<i32> cond { %five = stablehlo.constant dense<5> : tensor<i32> %t = stablehlo.compare LT, "
        f"{test}, %five : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %t : tensor<i1> }} do {{ {body} "
        f"stablehlo.return {carried} : tensor<i32>, tensor<i32>, tensor<i32> }} return {result} : tensor<i32> }}\n}}"
    )


def the_loop(program: Program) -> Op:
    (found,) = [op for op in program.body.ops if op.name == "stablehlo.while"]
    return found


@pytest.mark.parametrize(
    ("program", "left"),
    [
        pytest.param(loop(), 2, id="equal"),
        pytest.param(loop(test="%j"), 2, id="the second one is tested"),
        pytest.param(loop(result="%r#1"), 2, id="the second one is the result"),
        pytest.param(loop(body=f"{ONE} {BOTH} %sum = stablehlo.add %x, %x : tensor<i32>"), 2, id="read by neither"),
        pytest.param(
            loop(body=f"{ONE} {BOTH} %sum = stablehlo.add %x, %x : tensor<i32>", nil="7"), 2, id="read by nothing"
        ),
        pytest.param(loop(nil="1"), 3, id="another start"),
        pytest.param(loop(body=f"{ONE} {BOTH.replace('%one, %j', '%j, %j')} {LAST}"), 3, id="another step"),
        pytest.param(loop(body=f"{ONE} {BOTH.replace('%one, %j', '%one, %x')} {LAST}"), 3, id="another summand"),
        pytest.param(loop(starts="%zero, %a0, %a0"), 3, id="a start that is not known"),
        pytest.param(loop(carried="%next, %sum, %then"), 3, id="exchanged"),
        pytest.param(
            loop(body=f"{ONE} {BOTH} %sum = stablehlo.add %x, %x : tensor<i32>", nil="7", result="%r#1"),
            3,
            id="read behind the loop",
        ),
        pytest.param(
            loop(body=f"{ONE} {BOTH} %sum = stablehlo.add %x, %then : tensor<i32>", nil="7"),
            3,
            id="its next value is read",
        ),
        pytest.param(loop(nil="7", test="%j"), 2, id="the first one is read by nothing"),
    ],
)
def test_what_is_left_of_a_loop(program: Program, left: int) -> None:
    merged = merge_counters(program)
    assert len(the_loop(program).operands) == 3
    found = the_loop(merged)
    assert [len(found.operands), len(found.results), *(len(region.arguments) for region in found.regions)] == [left] * 4
    for number in (0, -3, 4):
        inputs = [np.array([number], np.int32)]
        one, other = (Machine(1, Native()).run(each, inputs)[0] for each in (program, merged))
        assert np.array_equal(one, other)


def test_loops_in_loops() -> None:
    """The inner loop starts anew in every trip, from the counter of the outer one: its start is not known."""
    inner = (
        "%s:3 = stablehlo.while(%k = %i, %l = %j, %y = %x) : tensor<i32>, tensor<i32>, tensor<i32> cond { %six = "
        "stablehlo.constant dense<6> : tensor<i32> %u = stablehlo.compare LT, %k, %six : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1> stablehlo.return %u : tensor<i1> } do { %unit = stablehlo.constant dense<1> : tensor<i32> %k1 = "
        "stablehlo.add %k, %unit : tensor<i32> %l1 = stablehlo.add %l, %unit : tensor<i32> %y1 = stablehlo.add %y, %l "
        ": tensor<i32> stablehlo.return %k1, %l1, %y1 : tensor<i32>, tensor<i32>, tensor<i32> } "
    )
    program = loop(body=f"{ONE} {BOTH} {inner} %sum = stablehlo.add %s#2, %j : tensor<i32>")
    merged = merge_counters(program)
    assert len(the_loop(merged).operands) == 2
    (nested,) = [op for op in the_loop(merged).regions[1].ops if op.name == "stablehlo.while"]
    assert len(nested.operands) == 3
    for number in (0, 5):
        inputs = [np.array([number], np.int32)]
        one, other = (Machine(1, Native()).run(each, inputs)[0] for each in (program, merged))
        assert np.array_equal(one, other)
