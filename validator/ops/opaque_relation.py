"""How custom calls relate: a contract per target; without one, equal on wholly equal operands and nothing more."""

from __future__ import annotations

import enum
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..read.ir import Op, TensorType
from ..relation.build import names
from .engine import Engine, RowOperand
from .keys import frozen, frozen_attributes
from .manual_relation import enter, is_nested, leave
from .values import TokenVal, is_tensor


class Contract(enum.Enum):
    """What is known of a custom call beyond being a function of its operands and attributes."""

    IDENTITY = "its first operand"
    MATRICES = "each matrix of the two last dimensions by itself"
    LAST_ROWS = "each row of the last dimension by itself"
    NORM = "each line along the dimension of backend_config by itself, with one scale for all"
    MANUAL = "a boundary between logical and device values"


@dataclass(frozen=True, slots=True)
class RowContract:
    """Every tensor's leading dimensions are a batch, and the last `row_rank` dimensions of the first operand a row."""

    row_rank: int


CONTRACTS: dict[str, Contract | RowContract] = {
    **dict.fromkeys(
        (
            "AwsNeuronTransferWithStaticRing",
            "LayoutConstraint",
            "MoveToDevice",
            "MoveToHost",
            "Sharding",
            "xla.sdy.FuncResultSharding",  # Shardy's way of telling XLA the sharding of a function's result
            "annotate_device_placement",
        ),
        Contract.IDENTITY,
    ),
    "AwsNeuronRmsNorm": Contract.NORM,
    "SPMDFullToShardShape": Contract.MANUAL,
    "SPMDShardToFullShape": Contract.MANUAL,
    "TopK": Contract.LAST_ROWS,
    **{
        f"lapack_{kind}{name}_ffi": Contract.MATRICES
        for kind in "sdcz"
        for name in ("potrf", "trsm", "getrf", "geqrf", "gesdd", "gees", "geev", "gehrd")
    },
    **{f"lapack_{kind}{name}_ffi": Contract.MATRICES for kind in "sd" for name in ("orgqr", "syevd", "sytrd")},
    **{f"lapack_{kind}{name}_ffi": Contract.MATRICES for kind in "cz" for name in ("ungqr", "heevd", "hetrd")},
    # XLA's own for TPUs
    **dict.fromkeys(
        (
            "Cholesky",
            "CompactWyHelper",
            "EighTpu",
            "InvertDiagBlocksLowerTriangular",
            "InvertDiagBlocksUpperTriangular",
            "LuRealDecompositionBlock",
            "QrDecompositionBlock",
        ),
        Contract.MATRICES,
    ),
    **dict.fromkeys(("X64Combine", "X64SplitHigh", "X64SplitLow"), RowContract(0)),  # of what is no complex number
}


def register_custom_call(target: str, *, identity: bool = False, row_rank: int | None = None) -> None:
    """Tell what a custom call is known to do, beyond being a function of its operands and attributes.

    `identity`: it returns its operands as they are. `row_rank`: it treats the leading dimensions that all operands and
    results share as a batch, each member by itself; the first operand's last `row_rank` dimensions are one member's.
    A contract is trusted: it is part of what a PROVED rests on. Raises `ValueError` for a target that has one already,
    or for a contract that says both or neither.
    """
    if target in CONTRACTS:
        raise ValueError(f"custom call '{target}' has a contract already")
    if identity == (row_rank is not None):
        raise ValueError(f"custom call '{target}': give either 'identity' or 'row_rank'")
    if row_rank is not None and row_rank < 0:
        raise ValueError(f"custom call '{target}': 'row_rank' is negative")
    CONTRACTS[target] = Contract.IDENTITY if row_rank is None else RowContract(row_rank)


def relate_custom_call(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    target = str(op.attributes.get("call_target_name", ""))
    contract = CONTRACTS.get(target)
    types = _flat_types(op)
    tensors = [value for value in values if is_tensor(value)]
    if contract is Contract.IDENTITY and [v.type for v in op.operands] == [r.type for r in op.results]:
        return values
    if contract is Contract.MANUAL and engine.is_original and len(tensors) == 1 == len(op.results):
        type_ = op.results[0].tensor
        if target == "SPMDFullToShardShape":
            return [enter(engine, tensors[0], engine.shardings.get(op.operands[0].number), type_)]
        boundary = op.shardings[0] if op.shardings else None
        return [leave(engine, tensors[0], boundary, type_, nested=is_nested(boundary))]
    effect = bool(op.attributes.get("has_side_effect", False))
    if contract is Contract.MANUAL or effect or types is None or len(tensors) != len(values):
        return engine.refuse(op, f"custom call '{target}'")
    if contract is None and op.attributes.get("called_computations"):
        return engine.refuse(op, f"custom call '{target}' of other computations")
    # one attribute of two spellings: the converter's and JAX's own
    config = op.attributes.get("mhlo.backend_config", op.attributes.get("backend_config"))
    if _COLLECTIVE.fullmatch(target.replace("-", "_")) or _COMMUNICATES.search(str(config)):
        return engine.refuse(op, f"custom call '{target}', which exchanges data between devices")
    key = (op.name, frozen_attributes(op.attributes, _MEANING), frozen(config), _told(op))
    if contract is Contract.NORM:
        axis = _normalised(op)
        if axis is None:
            return engine.refuse(op, f"custom call '{target}' in this form")
        flat = _norm(engine, axis, tensors, types, key)
    else:
        flat = _rows(engine, tensors, types, key, _row_rank(contract, tensors))
    return flat


_MEANING = frozenset({"call_target_name", "operand_layouts", "result_layouts"})

_COLLECTIVE = re.compile(
    r"(ragged_)?(all_gather|all_reduce|all_to_all|collective_broadcast|collective_permute|reduce_scatter|recv|send)(_start)?"
)
"""Collectives that are written as calls: HLO's `ragged-all-to-all`, and what JAX starts asynchronously."""

_COMMUNICATES = re.compile(r'"has_communication"\s*:\s*true')
"""What a Pallas kernel for TPUs tells of itself if it sends to other devices."""


def _told(op: Op) -> Hashable:
    """What the front end says of a call: a part of its meaning, for all that is known, but for shardings."""
    told = op.attributes.get("mhlo.frontend_attributes", {})
    if not isinstance(told, dict):
        return frozen(told)
    return frozen({name: value for name, value in told.items() if not name.startswith("xla.sdy.")})


def _flat_types(op: Op) -> list[TensorType] | None:
    """The tensors a call returns; None where it returns nothing, or anything else."""
    types = [result.type for result in op.results if isinstance(result.type, TensorType)]
    return types if types and len(types) == len(op.results) else None


def _row_rank(contract: Contract | RowContract | None, values: Sequence[Any]) -> int | None:
    """How many dimensions of the first operand make a row; None for all."""
    if isinstance(contract, RowContract):
        return contract.row_rank if values and values[0].type.rank >= contract.row_rank else None
    if contract is Contract.MATRICES and values and values[0].type.rank >= 2:
        return 2
    return 1 if contract is Contract.LAST_ROWS and values and values[0].type.rank else None


def _rows(
    engine: Engine, values: Sequence[Any], types: Sequence[TensorType], key: object, row_rank: int | None
) -> list[Any]:
    batch: tuple[int, ...] = ()
    if row_rank is not None:
        batch = values[0].type.shape[: values[0].type.rank - row_rank]
        shaped = [*(value.type for value in values), *types]
        if any(type_.shape[: len(batch)] != batch for type_ in shaped):
            batch = ()
    operands = []
    for value in values:
        read = engine.builder.moved(value.type.shape, names("i", value.type.rank))
        operands.append(RowOperand(value, read, value.type.rank - len(batch)))
    reads = [engine.builder.moved(type_.shape, names("i", type_.rank)) for type_ in types]
    shapes = tuple(value.type.shape[len(batch) :] for value in values)
    return engine.rows((key, shapes), operands, batch, types, reads)


def _normalised(op: Op) -> int | None:
    """The dimension along which a call normalises; None for one of another form: nothing verifies calls."""
    config = str(op.attributes.get("backend_config"))
    types = [value.type for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    if len(op.operands) != 3 or len(types) != 4 or not config.isdecimal() or len(config) > 3:
        return None
    operand, scale, epsilon, result = types
    axis, shape = int(config), operand.shape
    fits = axis < len(shape) and scale.shape == (shape[axis],) and epsilon.size == 1 and result.shape == shape
    return axis if fits else None


def _norm(engine: Engine, axis: int, values: Sequence[Any], types: Sequence[TensorType], key: object) -> list[Any]:
    """A normalisation along one dimension: its lines are rows, the scale and the epsilon belong to every row."""
    operand, *shared = values
    rank = operand.type.rank
    batch = [n for k, n in enumerate(operand.type.shape) if k != axis]
    outputs = names("i", rank - 1)
    outputs.insert(axis, f"i{rank - 1}")
    operands = [RowOperand(operand, engine.builder.moved([*batch, operand.type.shape[axis]], outputs), 1)]
    for value in shared:
        shape = [*batch, *value.type.shape]
        inner = [f"i{len(batch) + k}" for k in range(value.type.rank)]
        operands.append(RowOperand(value, engine.builder.moved(shape, inner), value.type.rank))
    line = [f"i{k}" for k in range(rank) if k != axis]
    reads = [engine.builder.moved(types[0].shape, [*line, f"i{axis}"])]
    return engine.rows((key, operand.type.shape[axis]), operands, batch, types, reads)


def relate_token(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    return [TokenVal()]


RELATIONS = {
    "stablehlo.custom_call": relate_custom_call,
    "stablehlo.after_all": relate_token,
    "stablehlo.create_token": relate_token,
}
