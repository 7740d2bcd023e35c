"""Loops between two stages on devices: values that move to another device run as often as that device's loop does."""

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

from .pairs import Tensor, differs, program, proved

PART = Tensor((2,), "f32")
OWN = "%p = stablehlo.partition_id : tensor<ui32>\n%n = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>\n"
SAME = "%n = stablehlo.constant dense<3> : tensor<i32>\n"


def _loop(source: str, trips: str) -> str:
    """Squares a value as often as `trips` says."""
    return (
        f"{trips}%z = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%w:3 = stablehlo.while(%i = %z, %x = {source}, %m = %n) : tensor<i32>, {PART}, tensor<i32> cond {{\n"
        "%t = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %t : tensor<i1>\n} do {\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%j = stablehlo.add %i, %one : tensor<i32>\n%y = stablehlo.multiply %x, %x : {PART}\n"
        f"stablehlo.return %j, %y, %m : tensor<i32>, {PART}, tensor<i32>\n}}\n"
    )


def _exchanged(name: str, of: str, channel: int) -> str:
    return (
        f'%{name} = "stablehlo.collective_permute"({of}) <{{source_target_pairs = dense<[[0, 1], [1, 0]]> : '
        f"tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>}}> : "
        f"({PART}) -> {PART}\n"
    )


def _pair(trips: str) -> tuple[Program, Program]:
    """The loop, and the loop on what the other device has."""
    plain = _loop("%a0", trips) + f"%out = stablehlo.reshape %w#1 : ({PART}) -> {PART}\n"
    moved = _exchanged("s", "%a0", 1) + _loop("%s", trips) + _exchanged("out", "%w#1", 2)
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
