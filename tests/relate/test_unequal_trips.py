"""Loops between two stages on devices: values that move to another device run as often as that device's loop does.

So do devices that exchange values inside: a collective that some of them do not reach any more has no meaning.
"""

from __future__ import annotations

import pytest

from shardproof.validator.certify.terms import InexpressibleError
from shardproof.validator.certify.write import certificate
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.relate import loops
from shardproof.validator.relate.decide import decide
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

from .pairs import Tensor, differs, exchanged, program, proved

PART = Tensor((2,), "f32")
OWN = "%p = stablehlo.partition_id : tensor<ui32>\n%n = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>\n"
SAME = "%n = stablehlo.constant dense<3> : tensor<i32>\n"


PAIRED = OWN.replace("%n =", "%q =") + (
    "%two = stablehlo.constant dense<2> : tensor<i32>\n%n = stablehlo.divide %q, %two : tensor<i32>\n"
)
"""Devices 0 and 1 go on alike, and so do 2 and 3."""


def _loop(source: str, trips: str, inside: str = "") -> str:
    """Squares a value, `%v` where ops `inside` make it from `%x`, as often as `trips` says."""
    of = "%v" if inside else "%x"
    return (
        f"{trips}%z = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%w:3 = stablehlo.while(%i = %z, %x = {source}, %m = %n) : tensor<i32>, {PART}, tensor<i32> cond {{\n"
        "%t = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %t : tensor<i1>\n} do {\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%j = stablehlo.add %i, %one : tensor<i32>\n{inside}%y = stablehlo.multiply {of}, {of} : {PART}\n"
        f"stablehlo.return %j, %y, %m : tensor<i32>, {PART}, tensor<i32>\n}}\n"
    )


def _pair(trips: str) -> tuple[Program, Program]:
    """The loop, and the loop on what the other device has."""
    plain = _loop("%a0", trips) + f"%out = stablehlo.reshape %w#1 : ({PART}) -> {PART}\n"
    moved = exchanged("s", "%a0", 1, 2, PART) + _loop("%s", trips) + exchanged("out", "%w#1", 2, 2, PART)
    return program(plain, [PART], PART, 2), program(moved, [PART], PART, 2)


def test_devices_that_run_their_loops_equally_often_may_exchange_values():
    assert proved(*_pair(SAME))


def test_devices_that_run_their_own_number_of_trips_may_not():
    before, after = _pair(OWN)
    assert differs(before, after)
    assert not proved(before, after)
    assert validate_programs(before, after, Options()).verdict is Verdict.REFUTED
    assert proved(before, before)


def test_the_checker_sees_it_by_itself(monkeypatch: pytest.MonkeyPatch):
    """The certificate of a prover that does not ask is not accepted."""
    monkeypatch.setattr(loops, "_go_on_alike", lambda *_: Theory.EXACT)
    for trips in (SAME, OWN):
        before, after = map(fold_scalars, _pair(trips))
        decision = decide(before, after, deadline=None, assume_in_bounds=False, traced=True)
        assert all(comparison is not None and comparison.proved for comparison in decision.comparisons)
        if trips == SAME:
            assert certificate(before, after, decision)
            continue
        with pytest.raises(InexpressibleError, match=r"'stablehlo\.while': holds other elements"):
            certificate(before, after, decision)


def _inside(trips: str, devices: int = 4) -> tuple[Program, Program]:
    """The loop, and one whose devices exchange the value inside, there and back."""
    types = [PART], PART, devices
    last = f"%out = stablehlo.reshape %w#1 : ({PART}) -> {PART}\n"
    there_and_back = exchanged("t", "%x", 1, devices, PART) + exchanged("v", "%t", 2, devices, PART)
    plain, moved = (_loop("%a0", trips, inside) + last for inside in ("", there_and_back))
    return program(plain, *types), program(moved, *types)


@pytest.mark.parametrize("trips", [SAME, PAIRED])
def test_devices_that_exchange_values_in_a_loop_and_end_together(trips: str):
    assert proved(*_inside(trips))


def test_devices_that_exchange_values_in_a_loop_and_do_not_end_together():
    before, after = _inside(OWN)
    assert proved(before, before)
    report = validate_programs(before, after, Options())
    assert report.verdict is Verdict.NOT_PROVED
    assert report.frontier is not None
    assert (report.frontier.op, report.frontier.reason) == ("stablehlo.while", loops.UNEQUAL_TRIPS)
    assert "no counterexample was looked for" in str(report.notes)


def test_one_pair_of_devices_that_does_not_end_together_is_enough():
    assert not proved(*_inside(PAIRED.replace("dense<2>", "dense<3>")))  # device 3 alone has one trip


def test_the_checker_sees_exchanges_by_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loops, "_go_on_alike", lambda *_: Theory.EXACT)
    for trips in (SAME, PAIRED, OWN):
        before, after = map(fold_scalars, _inside(trips))
        decision = decide(before, after, deadline=None, assume_in_bounds=False, traced=True)
        assert all(comparison is not None and comparison.proved for comparison in decision.comparisons)
        if trips != OWN:
            assert certificate(before, after, decision)
            continue
        with pytest.raises(InexpressibleError, match=r"'stablehlo\.while': holds other elements"):
            certificate(before, after, decision)
