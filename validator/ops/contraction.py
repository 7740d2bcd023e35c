"""Sums of products, and the dense linear algebra built from them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.convolution import convolve
from ..evaluate.errors import UnsupportedOp
from ..evaluate.linear_algebra import cholesky, triangular_solve
from ..read.attributes import DotDims
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_dot_general(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    dims = op.attributes["dot_dimension_numbers"]
    assert isinstance(dims, DotDims)
    left, right = op.operands[0].tensor, op.operands[1].tensor
    rows = [d for d in range(left.rank) if d not in dims.lhs_batch + dims.lhs_contracting]
    columns = [d for d in range(right.rank) if d not in dims.rhs_batch + dims.rhs_contracting]
    batch = [left.shape[d] for d in dims.lhs_batch]

    def arranged(array: np.ndarray, *groups: tuple[int, ...] | list[int]) -> np.ndarray:
        order = [d for group in groups for d in group]
        moved = array.transpose(0, *(d + 1 for d in order))
        sizes = [int(np.prod([array.shape[d + 1] for d in group], dtype=np.int64)) for group in groups]
        return moved.reshape(array.shape[0], *sizes)

    product = machine.arithmetic.matmul(
        arranged(operands[0], dims.lhs_batch, rows, dims.lhs_contracting),
        arranged(operands[1], dims.rhs_batch, dims.rhs_contracting, columns),
        left.dtype,
        right.dtype,
        op.results[0].tensor.dtype,
    )
    free = [left.shape[d] for d in rows] + [right.shape[d] for d in columns]
    return [product.reshape(machine.lanes, *batch, *free)]


def evaluate_convolution(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    return [convolve(machine.arithmetic, op, *operands)]


def evaluate_fft(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    (operand,) = operands
    lengths = [int(n) for n in op.attributes["fft_length"]]
    axes = tuple(range(operand.ndim - len(lengths), operand.ndim))
    result = op.results[0].tensor
    # Loading the plain zero refuses arithmetics without complex numbers, whichever side of the transform is real.
    for value in (op.operands[0], op.results[0]):
        machine.arithmetic.full((), 0, value.tensor.dtype)
    match str(op.attributes["fft_type"]):
        case "FFT":
            transformed = np.fft.fftn(operand, axes=axes)
        case "IFFT":
            transformed = np.fft.ifftn(operand, axes=axes)
        case "RFFT":
            transformed = np.fft.rfftn(operand, s=lengths, axes=axes)
        case "IRFFT":
            transformed = np.fft.irfftn(operand, s=lengths, axes=axes)
        case kind:
            raise UnsupportedOp(op.name, f"of type '{kind}'")
    return [machine.arithmetic.load(transformed, result.dtype)]


def evaluate_cholesky(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    lower = bool(op.attributes.get("lower", False))
    dtype = op.operands[0].tensor.dtype
    factor, info = cholesky(machine.arithmetic, operands[0], dtype, lower)
    if info.any() or (dtype.is_complex and np.imag(_diagonal(operands[0])).any()):
        machine.undefined.add(f"'{op.name}' of a matrix that is not positive definite")
    return [factor]


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def evaluate_triangular_solve(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    attributes, dtype = op.attributes, op.operands[0].tensor.dtype
    zero = machine.arithmetic.full((), 0, dtype)
    if not attributes["unit_diagonal"] and (_diagonal(operands[0]) == zero).any():
        machine.undefined.add(f"'{op.name}' of a singular matrix")
    return [
        triangular_solve(
            machine.arithmetic,
            operands[0],
            operands[1],
            dtype,
            left_side=bool(attributes["left_side"]),
            lower=bool(attributes["lower"]),
            unit_diagonal=bool(attributes["unit_diagonal"]),
            transpose=str(attributes["transpose_a"]),
        )
    ]


_PRECISION = frozenset({"algorithm", "precision_config"})
"""How many bits the products are computed with; rounding is the theory's business, not the relation's."""


_record = partial(family_record, Family.CONTRACTION, ignored=_PRECISION)

RECORDS: tuple[OpRecord, ...] = (
    _record(
        "stablehlo.dot_general",
        "products summed over the contracting dimensions",
        evaluate_dot_general,
        "dot_dimension_numbers",
    ),
    _record(
        "stablehlo.convolution",
        "products of windows and a kernel, summed",
        evaluate_convolution,
        "batch_group_count",
        "dimension_numbers",
        "feature_group_count",
        "lhs_dilation",
        "padding",
        "rhs_dilation",
        "window_reversal",
        "window_strides",
    ),
    _record(
        "stablehlo.fft", "discrete Fourier transform of the last dimensions", evaluate_fft, "fft_length", "fft_type"
    ),
    _record("stablehlo.cholesky", "Cholesky factor of each matrix of a batch", evaluate_cholesky, "lower"),
    _record(
        "stablehlo.triangular_solve",
        "solution of a triangular system for each matrix of a batch",
        evaluate_triangular_solve,
        "left_side",
        "lower",
        "transpose_a",
        "unit_diagonal",
    ),
)
