"""Custom calls: those whose meaning is known, by target. Every other target is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..evaluate.layout import full_to_manual, manual_to_full
from ..evaluate.linear_algebra import cholesky, triangular_solve
from ..evaluate.sorting import top_k_rows
from ..read.ir import Op, TensorType
from ..read.shardings import Sharding, ShardingKind
from .annotations import ANNOTATIONS
from .movement import evaluate_identity
from .record import Family, OpRecord

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_custom_call(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    target = str(op.attributes["call_target_name"])
    evaluate = TARGETS.get(target)
    if evaluate is None:
        raise UnsupportedOp(op.name, f"of target '{target}'")
    try:
        results = evaluate(machine, op, operands)
        for value, result in zip(op.results, results, strict=True):
            if isinstance(value.type, TensorType) and result.shape[1:] != value.type.shape:
                raise ValueError(f"{result.shape[1:]} instead of {value.type.shape}")
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        # nothing verifies calls: one of this target may have any operands, attributes and results
        raise UnsupportedOp(op.name, f"of target '{target}' in this form") from error
    return results


def _manual_sharding(machine: Machine, op: Op, given: Sharding | None) -> Sharding:
    """The sharding a manual boundary cuts by; it may have manual subgroups already, but nothing else out of the way."""
    target = str(op.attributes["call_target_name"])
    machine.require_together(target)
    if given is None:
        return Sharding(ShardingKind.REPLICATED, "none")
    manual = given.kind is ShardingKind.UNSUPPORTED and set(given.marked) == {"manual"}
    if given.kind not in (ShardingKind.TILED, ShardingKind.REPLICATED, ShardingKind.MANUAL) and not manual:
        raise UnsupportedOp(target, f"with sharding '{given.text}'")
    return given


def evaluate_full_to_shard(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    sharding = _manual_sharding(machine, op, machine.shardings.get(op.operands[0].number))
    return [full_to_manual(operands[0], sharding, op.results[0].tensor.shape)]


def evaluate_shard_to_full(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    sharding = _manual_sharding(machine, op, op.shardings[0] if op.shardings else None)
    return [manual_to_full(operands[0], sharding, op.results[0].tensor.shape)]


def _column_major(op: Op) -> None:
    """LAPACK calls mean what they say of matrices held by columns; another layout would transpose them."""
    for layouts in (op.attributes.get("operand_layouts"), op.attributes.get("result_layouts")):
        for layout in layouts or ():
            rank = len(layout)
            if rank >= 2 and tuple(layout) != (rank - 2, rank - 1, *range(rank - 3, -1, -1)):
                raise UnsupportedOp(str(op.attributes["call_target_name"]), f"with layout {tuple(layout)}")


def _letters(op: Op) -> dict[str, str]:
    """LAPACK's one-letter options; the attribute has another name before the conversion to HLO."""
    config = op.attributes.get("mhlo.backend_config") or op.attributes.get("backend_config")
    return {name: chr(value) for name, value in config.items()} if isinstance(config, dict) else {}


def evaluate_potrf(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """The factor in its triangle, the operand in the other, and the info."""
    _column_major(op)
    lower = _letters(op)["uplo"] == "L"
    factor, info = cholesky(machine.arithmetic, operands[0], op.operands[0].tensor.dtype, lower)
    inside = np.tri(factor.shape[-1], dtype=np.bool_)
    return [np.where(inside if lower else inside.T, factor, operands[0]), info]


def evaluate_cholesky(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """The lower factor; XLA for TPUs masks what stands above the diagonal."""
    return [cholesky(machine.arithmetic, operands[0], op.operands[0].tensor.dtype, lower=True)[0]]


def evaluate_trsm(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    _column_major(op)
    config = _letters(op)
    solution = triangular_solve(
        machine.arithmetic,
        operands[0],
        operands[1],
        op.operands[0].tensor.dtype,
        left_side=config["side"] == "L",
        lower=config["uplo"] == "L",
        unit_diagonal=config["diag"] == "U",
        transpose={"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[config["trans_x"]],
    )
    return [solution]


def evaluate_handed_on(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """The operands; a call is not verified, so it may claim to make another type of one."""
    if [operand.type for operand in op.operands] != [result.type for result in op.results]:
        raise UnsupportedOp(str(op.attributes["call_target_name"]), "whose results are not of its operands' types")
    return operands


def evaluate_top_k(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    values = op.results[0].type
    assert isinstance(values, TensorType) and values.rank
    results, _ = top_k_rows(machine.arithmetic, operands[0], op.operands[0].tensor.dtype, values.shape[-1])
    return results


def evaluate_rms_norm(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """x * rsqrt(mean(x * x) + epsilon) * scale, the mean over the dimension that backend_config names."""
    x, scale, epsilon = operands
    arithmetic, dtype = machine.arithmetic, op.operands[0].tensor.dtype
    axis = int(op.attributes["backend_config"]) + 1

    def spread(array: np.ndarray) -> np.ndarray:
        return np.broadcast_to(array, x.shape)

    total = np.expand_dims(arithmetic.reduce("add", arithmetic.binary("multiply", x, x, dtype), axis, dtype), axis)
    mean = arithmetic.binary("divide", total, arithmetic.full(total.shape, x.shape[axis], dtype), dtype)
    offset = np.broadcast_to(epsilon.reshape(-1, *(1,) * (x.ndim - 1)), mean.shape)
    root = arithmetic.unary("rsqrt", arithmetic.binary("add", mean, offset, dtype), dtype)
    shape = [len(scale)] + [1] * (x.ndim - 1)
    shape[axis] = scale.shape[1]
    scaled = arithmetic.binary(
        "multiply", arithmetic.binary("multiply", x, spread(root), dtype), spread(scale.reshape(shape)), dtype
    )
    return [arithmetic.convert(scaled, dtype, op.results[0].tensor.dtype)]


TARGETS: Mapping[str, Callable[[Machine, Op, list[Any]], list[Any]]] = {
    "AwsNeuronRmsNorm": evaluate_rms_norm,
    "AwsNeuronTransferWithStaticRing": evaluate_handed_on,
    "Cholesky": evaluate_cholesky,
    "LayoutConstraint": evaluate_handed_on,
    "MoveToDevice": evaluate_handed_on,
    "MoveToHost": evaluate_handed_on,
    "SPMDFullToShardShape": evaluate_full_to_shard,
    "SPMDShardToFullShape": evaluate_shard_to_full,
    "Sharding": evaluate_handed_on,
    "TopK": evaluate_top_k,
    "annotate_device_placement": evaluate_handed_on,
    "xla.sdy.FuncResultSharding": evaluate_handed_on,
    **{f"lapack_{letter}potrf_ffi": evaluate_potrf for letter in "sdcz"},
    **{f"lapack_{letter}trsm_ffi": evaluate_trsm for letter in "sdcz"},
}
"""Custom calls by target. An evaluation returns the elements of a tuple result as a list."""


RECORDS: tuple[OpRecord, ...] = (
    OpRecord(
        name="stablehlo.custom_call",
        family=Family.OPAQUE,
        doc="a call known by its target's name",
        evaluate=evaluate_custom_call,
        attributes=frozenset(
            {
                "backend_config",
                "call_target_name",
                "has_side_effect",
                "mhlo.backend_config",
                "operand_layouts",
                "result_layouts",
            }
        ),
        ignored=(ANNOTATIONS - {"operand_layouts", "result_layouts"})
        | {
            "api_version",
            "called_computations",
            "custom_call_schedule",
            "output_operand_aliases",
            "sdy.sharding_rule",
        },
    ),
    OpRecord(
        name="sdy.sharding_constraint",
        family=Family.OPAQUE,
        doc="the operand, with a wish for its layout",
        evaluate=evaluate_identity,
        ignored=ANNOTATIONS | {"sharding"},
    ),
    OpRecord(
        name="sdy.reshard",
        family=Family.OPAQUE,
        doc="the operand, in another layout",
        evaluate=evaluate_identity,
        ignored=ANNOTATIONS | {"sharding"},
    ),
)
