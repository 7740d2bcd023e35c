"""What XLA's partitioner for TPUs writes otherwise than that for CPUs: programs are proved, their broken twins not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardproof import Theory
from shardproof.validator.compat import jaxlib_version
from shardproof.validator.options import Options
from shardproof.validator.read.program import read_pair
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

FOLDER = Path(__file__).parent / "tpu"

pytestmark = pytest.mark.skipif(
    tuple(map(int, jaxlib_version.split(".")[:2])) < (0, 12), reason="this jaxlib does not read named meshes"
)

PROGRAMS = {
    # a matrix product whose blocks travel around the devices both ways while they are added up
    "adam_zero": (Theory.REASSOCIATED, "u32[] constant(5)", "u32[] constant(6)"),
    "cholesky_batch": (Theory.REASSOCIATED, "direction=GE", "direction=GT"),
    # complex numbers as two parts
    "complex_abs": (Theory.REASSOCIATED, "X64SplitLow", "X64SplitHigh"),
    "complex_matmul": (Theory.REASSOCIATED, "X64SplitLow", "X64SplitHigh"),
    # groups of features as zeros in the kernel, which each device builds from a table
    "conv_grouped": (Theory.EXACT, "constant({0, 0, 1, 1, 2, 2, 3, 3})", "constant({0, 0, 1, 1, 2, 2, 3, 0})"),
    # calls of whole matrices, triangles of which are constants
    "inverse": (Theory.EXACT, "direction=GE", "direction=GT"),
    # the upper half of a product
    "rng_uniform_sharded": (Theory.EXACT, "mulhi(", "multiply("),
}
"""The theory, and an edit of the after program that makes it wrong."""


WRITTEN = {
    # a stable sort as one that breaks ties by place, and the total order as that of the bits
    "argsort_rows": (Theory.EXACT, "compare(%sort.8, %sort.9)", "compare(%sort.9, %sort.8)"),
    # the greatest elements as a sort
    "top_k_rows": (Theory.EXACT, "slice={[0:4], [0:3]}", "slice={[0:4], [1:4]}"),
    # a small matrix product as a multiplication and a sum
    "matvec": (Theory.REASSOCIATED, "multiply(%param, %dot_general.5)", "add(%param, %dot_general.5)"),
    # rows of booleans that are multiplied as they are
    "one_hot_matmul": (Theory.REASSOCIATED, "direction=EQ", "direction=NE"),
}
"""The same of what JAX wrote against what left the partitioner: what XLA's simplifier makes of it before."""

EVERY = {**PROGRAMS, **WRITTEN}


def _verdict(name: str, after: str) -> tuple[Verdict, Theory | None]:
    before = FOLDER / (f"{name}_written.mlir" if name in WRITTEN else f"{name}_before.hlo.txt")
    spec, implementation = read_pair(before.read_text(), after, names=("before", "after"))
    report = validate_programs(spec, implementation, Options())
    return report.verdict, report.theory


@pytest.mark.parametrize("name", EVERY)
def test_programs_for_tpus_are_proved(name: str) -> None:
    after = (FOLDER / f"{name}_after.hlo.txt").read_text()
    assert _verdict(name, after) == (Verdict.PROVED, EVERY[name][0])


@pytest.mark.parametrize("name", EVERY)
def test_their_broken_twins_are_not(name: str) -> None:
    after, (_, old, new) = (FOLDER / f"{name}_after.hlo.txt").read_text(), EVERY[name]
    assert old in after
    # what a factorisation by XLA for TPUs computes is not known, so it cannot be shown to be another one
    expected = Verdict.NOT_PROVED if name == "inverse" else Verdict.REFUTED
    assert _verdict(name, after.replace(old, new, 1))[0] is expected
