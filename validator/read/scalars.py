"""Scalars that are known when a program is written: `sqrt(6.0)` is the number that its own type makes of it.

XLA folds such scalars early, so one stage of a program has the operation and the next one its rounded result. Only
operations that IEEE 754 rounds correctly are folded here; their result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .ir import DType, Op, Program, Region, TensorType

_FLOATS: dict[DType, type[np.floating[Any]]] = {DType.F32: np.float32, DType.F64: np.float64}

_ROUNDED: dict[str, Callable[..., Any]] = {
    "stablehlo.add": np.add,
    "stablehlo.divide": np.divide,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.subtract": np.subtract,
}


def fold_scalars(program: Program) -> Program:
    """The program with float scalars of constants computed, each operation in its own type."""
    return replace(program, body=_fold(program.body, {}))


def _fold(region: Region, known: dict[int, np.ndarray]) -> Region:
    """The region folded; `known` has the scalars around it, by the number of their value."""
    return replace(region, ops=tuple(_folded_op(op, known) for op in region.ops))


def _folded_op(op: Op, known: dict[int, np.ndarray]) -> Op:
    scalar = _scalar(op, known)
    if scalar is not None:
        known[op.results[0].number] = scalar
        return Op("stablehlo.constant", (), op.results, {"value": scalar}, (), op.location, op.shardings)
    return replace(op, regions=tuple(_fold(inner, known) for inner in op.regions)) if op.regions else op


def _scalar(op: Op, known: dict[int, np.ndarray]) -> np.ndarray | None:
    """The scalar that an operation gives, where it is known and finite."""
    if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType) or op.results[0].type.shape:
        return None
    kind = _FLOATS.get(op.results[0].type.dtype)
    if op.name == "stablehlo.constant":
        value = np.asarray(op.attributes["value"])
        if value.dtype.kind in "iu" or (kind is not None and value.dtype == kind):
            known[op.results[0].number] = value.reshape(())
        return None
    operands = [known.get(operand.number) for operand in op.operands]
    if kind is None or not operands or any(operand is None for operand in operands):
        return None
    with np.errstate(all="ignore"):
        if op.name == "stablehlo.convert":
            result = np.asarray(operands[0], kind)
        elif op.name in _ROUNDED and all(operand is not None and operand.dtype == kind for operand in operands):
            result = np.asarray(_ROUNDED[op.name](*operands), kind)
        else:
            return None
    return result.reshape(()) if np.isfinite(result) else None
