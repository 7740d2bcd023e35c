"""One report of each verdict, as the engine would build them."""

from pathlib import Path

import numpy as np
import pytest

from shardproof.validator.evaluate.compare import Counterexample
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Assumption, Options
from shardproof.validator.read.ir import Frame, Location
from shardproof.validator.report.frontier import Frontier, OperandRelation
from shardproof.validator.report.note import Note, NoteKind
from shardproof.validator.report.report import Obstacle, OutputReport, Report, Stats
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import Source, validate_here

MATMUL = Location("jit(mlp)/dot_general", (Frame("mlp.py", 30, 11, "mlp"), Frame("train.py", 9, 4, "main")))

FRONTIER = Frontier(
    op="stablehlo.add %14, %22",
    value="%23",
    type="f32[8,24]",
    location=MATMUL,
    reason="the operands are partial sums over different devices",
    operands=(OperandRelation("%14", "Σ over 16 of 64"), OperandRelation("%22", "a view of 'b_out'")),
)


def _witness() -> Counterexample:
    return Counterexample(
        inputs=(np.array([[1.0, float("nan")]]), np.arange(100)),
        result=1,
        device=3,
        index=(0, 2),
        expected=np.float32(2.0),
        actual=np.float32("inf"),
        profile="small integers",
        seed=7,
    )


@pytest.fixture
def proved() -> Report:
    outputs = [
        OutputReport(0, "loss", Verdict.PROVED, Theory.REASSOCIATED),
        OutputReport(1, "grad", Verdict.PROVED, Theory.EXACT),
    ]
    return Report.over(
        "before.mlir",
        "after.mlir",
        outputs,
        notes=(Note(NoteKind.REDUNDANT_COLLECTIVE, "all_reduce %7 is redundant"),),
        stats=Stats(
            0.4149,
            20,
            24,
            relations=311,
            memo_hits=1200,
            rules={"sum-of-sums": 2, "completion": 3},
            lemmas=frozenset({"completion"}),
            isl_seconds=0.25,
            memo={"compose": (1200, 311)},
        ),
    )


@pytest.fixture
def refuted() -> Report:
    outputs = [
        OutputReport(0, "loss", Verdict.PROVED, Theory.EXACT),
        OutputReport(1, "grad", Verdict.REFUTED, location=MATMUL, message="differs on device 3"),
    ]
    return Report.over(
        "before.mlir",
        "after.mlir",
        outputs,
        message="'after.mlir' lacks a sum over 'model'",
        frontier=FRONTIER,
        counterexample=_witness(),
        assumptions=(Assumption.INDICES_IN_BOUNDS,),
        stats=Stats(1.0, 20, 23),
    )


@pytest.fixture
def not_proved() -> Report:
    outputs = [OutputReport(index, "", Verdict.NOT_PROVED) for index in range(11)]
    return Report.over("before.mlir", "after.mlir", outputs, obstacle=Obstacle.THEORY)


@pytest.fixture
def unsupported() -> Report:
    return Report(
        "before.mlir",
        "after.mlir",
        Verdict.UNSUPPORTED,
        obstacle=Obstacle.UNSUPPORTED,
        message="'stablehlo.fft' is not modelled",
    )


@pytest.fixture(scope="session")
def broken_example() -> Report:
    """The report on a real program that lacks an all-reduce."""
    example = Path(__file__).resolve().parents[2] / "examples" / "tp_mlp"
    before, after = (Source.of_file(str(example / f"{name}.hlo.txt")) for name in ("before", "broken"))
    return validate_here(before, after, Options())
