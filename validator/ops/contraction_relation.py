"""How contractions relate: sums of products over the pairs of operand elements that meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op
from ..relate.sums import contract
from ..relate.value import AnyVal, Val
from .contraction_maps import CONTRACTIONS, flavour

if TYPE_CHECKING:
    from ..relate.walk import Walk


def relate_contraction(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    lhs, rhs = values
    type_, reads = op.results[0].tensor, CONTRACTIONS[op.name](walk.builder, op)
    if reads is None:
        return [walk.not_modelled(type_, f"'{op.name}' with feature groups and batch groups")]
    return [contract(walk, lhs, rhs, reads, type_, flavour(op))]


RELATIONS = dict.fromkeys(CONTRACTIONS, relate_contraction)
