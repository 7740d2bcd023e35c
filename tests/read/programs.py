"""Paths of the test programs, and helpers that every test of the reader wants."""

import os
from collections.abc import Iterator
from pathlib import Path

from shardproof.validator.read.ir import Op, Program, Region

DATA = Path(__file__).parent / "data"
CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def every_op(program: Program) -> Iterator[Op]:
    """All operations, those of regions included."""
    pending: list[Region] = [program.body]
    while pending:
        for op in pending.pop().ops:
            yield op
            pending.extend(op.regions)


def ops_named(program: Program, name: str) -> list[Op]:
    return [op for op in every_op(program) if op.name == name]


def stablehlo(body: str, signature: str = "(%a: tensor<4xf32>) -> tensor<4xf32>", top: str = "") -> str:
    """A module around the lines of a function body."""
    return f"module @m {{\n{top}\nfunc.func @main{signature} {{\n{body}\n}}\n}}\n"
