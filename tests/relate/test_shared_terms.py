"""Terms that use others twice, which use others twice: as trees they are two to the power of their depth."""

from __future__ import annotations

import time

from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

from .pairs import Tensor, program

PART = Tensor((4,), "f32")
DEPTH = 60


def test_doubling_over_the_reals():
    chain = "".join(f"%{k} = stablehlo.add %{k - 1}, %{k - 1} : {PART}\n" for k in range(1, DEPTH))
    chain += f"%out = stablehlo.add %{DEPTH - 1}, %{DEPTH - 1} : {PART}"
    starts = (
        f"%0 = stablehlo.add %a0, %a0 : {PART}\n",
        f"%two = stablehlo.constant dense<2.0> : {PART}\n%0 = stablehlo.multiply %a0, %two : {PART}\n",
    )
    before, after = (program(start + chain, [PART], PART, 1) for start in starts)
    start = time.process_time()
    report = validate_programs(before, after, Options(theory=Theory.REAL))
    assert report.verdict is Verdict.PROVED
    assert time.process_time() - start < 30
