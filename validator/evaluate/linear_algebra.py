"""Triangular solution and Cholesky factors from an arithmetic's own operations, so that they mean the same in each."""

from __future__ import annotations

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import DType
from .arithmetic import Arithmetic


def _product(arithmetic: Arithmetic, x: np.ndarray, y: np.ndarray, dtype: DType) -> np.ndarray:
    return arithmetic.matmul(x, y, dtype, dtype, dtype)


def triangular_solve(
    arithmetic: Arithmetic,
    a: np.ndarray,
    b: np.ndarray,
    dtype: DType,
    *,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose: str,
) -> np.ndarray:
    """Solve op(a) x = b, or x op(a) = b, by substitution, reading one triangle of `a` only."""
    if transpose == "ADJOINT" and dtype.is_complex:
        a = np.conj(a)
    if transpose in ("TRANSPOSE", "ADJOINT"):
        a, lower = a.swapaxes(-1, -2), not lower
    if not left_side:
        a, lower, b = a.swapaxes(-1, -2), not lower, b.swapaxes(-1, -2)
    extent = a.shape[-1]
    x = np.array(b)
    for step in range(extent):
        row = step if lower else extent - 1 - step
        known = slice(0, row) if lower else slice(row + 1, extent)
        value = x[..., row : row + 1, :]
        if step:
            done = _product(arithmetic, a[..., row : row + 1, known], x[..., known, :], dtype)
            value = arithmetic.binary("subtract", value, done, dtype)
        if not unit_diagonal:
            pivot = np.broadcast_to(a[..., row : row + 1, row : row + 1], value.shape)
            value = arithmetic.binary("divide", value, pivot, dtype)
        x[..., row : row + 1, :] = value
    return x if left_side else x.swapaxes(-1, -2)


def cholesky(arithmetic: Arithmetic, a: np.ndarray, dtype: DType, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """The triangular factor, zeros in the other triangle, and LAPACK's info: 0, or the order of the first bad minor.

    Only the chosen triangle of `a` is read. A matrix with a minor that is not positive has a factor of NaN.
    """
    if not lower:
        a = a.swapaxes(-1, -2)
    if dtype.is_complex and not lower:
        a = np.conj(a)
    extent = a.shape[-1]
    factor = np.array(arithmetic.full(a.shape, 0, dtype))
    info = np.zeros(a.shape[:-2], np.int32)
    part = {DType.C64: DType.F32, DType.C128: DType.F64}.get(dtype, dtype)
    for k in range(extent):
        column = a[..., k:, k : k + 1]
        if k:
            done = _product(arithmetic, factor[..., k:, :k], _adjoint(factor[..., k : k + 1, :k], dtype), dtype)
            column = arithmetic.binary("subtract", column, done, dtype)
        pivot = np.real(column[..., 0, 0]) if dtype.is_complex else column[..., 0, 0]
        root = arithmetic.unary("sqrt", pivot, part)
        # A residue has no sign to speak of, but no root that is zero or NaN either.
        bad = arithmetic.compare(Comparison.NE, root, root, part) | (root == arithmetic.full((), 0, part))
        info = np.where((info == 0) & bad, np.int32(k + 1), info)
        root = root.astype(column.dtype)[..., None, None]
        factor[..., k:, k : k + 1] = arithmetic.binary("divide", column, np.broadcast_to(root, column.shape), dtype)
        factor[..., k, k] = root[..., 0, 0]
    inside = np.tri(extent, dtype=np.bool_)
    factor = np.where((info != 0)[..., None, None] & inside, arithmetic.full((), np.nan, dtype), factor)
    return factor if lower else _adjoint(factor, dtype), info


def _adjoint(x: np.ndarray, dtype: DType) -> np.ndarray:
    return (np.conj(x) if dtype.is_complex else x).swapaxes(-1, -2)
