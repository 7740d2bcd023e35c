"""Sorting and selection by rank."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..evaluate.sorting import sort_rows, top_k_rows
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_sort(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    axis = int(op.attributes.get("dimension", -1)) % op.operands[0].tensor.rank + 1
    rows = [np.moveaxis(operand, axis, -1) for operand in operands]
    stable = bool(op.attributes.get("is_stable", False))
    ordered, tied = sort_rows(machine, op.regions[0], rows, last_first=machine.backwards and not stable)
    if tied and not stable:
        machine.unordered.add(f"'{op.name}'")
    return [np.moveaxis(row, -1, axis) for row in ordered]


def evaluate_top_k(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    if not op.attributes.get("largest", True):
        raise UnsupportedOp(op.name, "of the least elements")
    dtype = op.operands[0].tensor.dtype
    stable = bool(op.attributes.get("is_stable", True))
    results, tied = top_k_rows(
        machine.arithmetic, operands[0], dtype, int(op.attributes["k"]), last_first=machine.backwards and not stable
    )
    if tied and not stable:
        machine.unordered.add(f"'{op.name}'")
    return results


_record = partial(family_record, Family.ORDER)

RECORDS: tuple[OpRecord, ...] = (
    _record(
        "stablehlo.sort",
        "rows of several operands ordered together by a comparator",
        evaluate_sort,
        "dimension",
        "is_stable",
    ),
    _record("chlo.top_k", "the greatest k elements of each row and their places", evaluate_top_k, "is_stable", "k"),
    _record("mhlo.topk", "the greatest k elements of each row and their places", evaluate_top_k, "k", "largest"),
)
