"""Loops of manual regions: a certificate says which elements that a loop carries are one on all devices."""

from __future__ import annotations

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from tests.relate.pairs import Tensor, program

from .pairs import about, sealed
from .test_kinds import written

CUT = '<@mesh, [{"x"}]>'
PART, FLAT = Tensor((4,), "f32", "{devices=[2]<=[2]}"), Tensor((8,), "f32", "{devices=[2]<=[2]}")
CONSTANTS = "".join(f"%c{n} = stablehlo.constant dense<{n}> : tensor<i32>\n" for n in (0, 1, 3))
NUMBER = "%p = stablehlo.partition_id : tensor<ui32>\n%d = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>\n"
LATE = "%e = stablehlo.add %d, %c3 : tensor<i32>\n"


def loop(name: str, value: str, start: str = "%c0", step: str = "%c1", limit: str = "%c3", then: str = "%c1") -> str:
    """Adds a value to itself as often as a counter goes from start to limit, and carries 0, and then another one."""
    return (
        f"{CONSTANTS}{NUMBER}{LATE}%loop:3 = stablehlo.while(%i = {start}, %v = {value}, %u = %c0) "
        f": tensor<i32>, {PART}, tensor<i32> cond {{\n"
        f"%go = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %go : tensor<i1>\n} do {\n"
        f"%n = stablehlo.add %i, {step} : tensor<i32>\n%w = stablehlo.add %v, %v : {PART}\n"
        f"stablehlo.return %n, %w, {then} : tensor<i32>, {PART}, tensor<i32>\n}}\n"
        f"%{name} = stablehlo.negate %loop#1 : {PART}\n"
    )


def region(text: str) -> Program:
    return read_program(
        'module @m attributes {mhlo.num_partitions = 2 : i32} {\nsdy.mesh @mesh = <["x"=2]>\n'
        f"func.func public @main(%a0: {FLAT} {{sdy.sharding = #sdy.sharding{CUT}}}) -> "
        f"({FLAT} {{sdy.sharding = #sdy.sharding{CUT}}}) {{\n%out = sdy.manual_computation(%a0) in_shardings=[{CUT}] "
        f'out_shardings=[{CUT}] manual_axes={{"x"}} (%x: {PART}) {{\n{text}sdy.return %y : {PART}\n}} : ({FLAT}) -> '
        f"{FLAT}\nreturn %out : {FLAT}\n}}\n}}\n"
    )


def pair(**changes: str) -> tuple[Program, Program]:
    return region(loop("y", "%x", **changes)), program(loop("out", "%a0", **changes), [PART], PART, 2)


def test_a_counter_is_the_same_on_all_devices():
    text = written(*pair())
    assert text.count("shardproof.loop") == 2, "one of each program"


def test_another_program_has_another_certificate():
    before, after = pair()
    text = written(before, after)
    for changes in ({"start": "%c1"}, {"step": "%c3"}, {"limit": "%e"}, {"start": "%d"}, {"then": "%d"}):
        _, other = pair(**changes)
        with pytest.raises(Rejection):
            check(about(text, after, other).encode(), "certificate", before, other)


@pytest.mark.parametrize("changes", [{"start": "%d"}, {"then": "%d"}])
def test_what_differs_between_devices_is_not_the_same(changes: dict[str, str]):
    """Both programs are changed alike, and the certificate says that the counter is one on all devices."""
    right, other = pair(), pair(**changes)
    text = about(about(written(*right), right[0], other[0]), right[1], other[1])
    with pytest.raises(Rejection, match=r"^before, .* 'stablehlo\.while': "):
        check(text.encode(), "certificate", *other)


def once(name: str, value: str) -> str:
    """Only device 0 makes one trip, in which it carries 1 in place of 0."""
    return (
        f"{CONSTANTS}{NUMBER}%q = stablehlo.compare LT, %d, %c1 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"%loop:3 = stablehlo.while(%g = %q, %u = %c0, %v = {value}) : tensor<i1>, tensor<i32>, {PART} cond {{\n"
        "stablehlo.return %g : tensor<i1>\n} do {\n%f = stablehlo.constant dense<false> : tensor<i1>\n"
        f"%w = stablehlo.add %v, %v : {PART}\nstablehlo.return %f, %c1, %w : tensor<i1>, tensor<i32>, {PART}\n}}\n"
        f"%{name} = stablehlo.negate %loop#2 : {PART}\n"
    )


@pytest.mark.parametrize("together", [False, True])
def test_devices_that_go_on_unequally_carry_nothing_in_common(together: bool):
    """What is carried besides is one number at the start, and one at the end of a trip."""
    before, after = region(once("y", "%x")), program(once("out", "%a0"), [PART], PART, 2)
    lines = written(before, after).splitlines()
    tables = sum("shardproof.relation" in line for line in lines)
    first, step = (next(k for k, line in enumerate(lines) if what in line) for what in ("relation", "stablehlo.while"))
    made = [
        f'  "shardproof.relation"() {{text = "{{ {text} and 0 <= d <= 1 }}"}} : () -> ()'
        for text in ("[d] -> [d] : true", f"[d] -> [{0 if together else 'd'}] : true", "[d, i] -> [d, i] : 0 <= i <= 3")
    ]
    numbers = list(range(tables, tables + 3))
    note = f'  "shardproof.loop"() {{pair = -1 : i64, relations = {numbers}}} : () -> ()'
    end = first + tables
    text = sealed("\n".join([*lines[:end], *made, *lines[end : step + 1], note, *lines[step + 1 :]]) + "\n").encode()
    if not together:
        check(text, "certificate", before, after)
        return
    with pytest.raises(Rejection, match=r"^before, .* 'stablehlo\.while': holds other elements"):
        check(text, "certificate", before, after)
