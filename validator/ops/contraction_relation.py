"""How contractions relate: sums of products over the pairs of operand elements that meet."""

from __future__ import annotations

from typing import Any

from ..read.ir import Op
from .contraction_maps import CONTRACTIONS, flavour
from .engine import Engine


def relate_contraction(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    lhs, rhs = values
    type_, reads = op.results[0].tensor, CONTRACTIONS[op.name](engine.builder, op)
    if reads is None:
        return engine.refuse(op, f"'{op.name}' with feature groups and batch groups")
    return [engine.contract(lhs, rhs, reads, type_, flavour(op))]


RELATIONS = dict.fromkeys(CONTRACTIONS, relate_contraction)
