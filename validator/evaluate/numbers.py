"""How element types are held in numpy, and how their bits are read and written."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..read.ir import DType
from .errors import UnsupportedOp

STORAGE: dict[DType, np.dtype] = {
    DType.I1: np.dtype(np.bool_),
    DType.I2: np.dtype(np.int8),
    DType.I4: np.dtype(np.int8),
    DType.I8: np.dtype(np.int8),
    DType.I16: np.dtype(np.int16),
    DType.I32: np.dtype(np.int32),
    DType.I64: np.dtype(np.int64),
    DType.UI2: np.dtype(np.uint8),
    DType.UI4: np.dtype(np.uint8),
    DType.UI8: np.dtype(np.uint8),
    DType.UI16: np.dtype(np.uint16),
    DType.UI32: np.dtype(np.uint32),
    DType.UI64: np.dtype(np.uint64),
    DType.F4E2M1FN: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.F8E3M4: np.dtype(ml_dtypes.float8_e3m4),
    DType.F8E4M3: np.dtype(ml_dtypes.float8_e4m3),
    DType.F8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.F8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    DType.F8E4M3B11FNUZ: np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    DType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.F8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    DType.F8E8M0FNU: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F16: np.dtype(np.float16),
    DType.F32: np.dtype(np.float32),
    DType.F64: np.dtype(np.float64),
    DType.C64: np.dtype(np.complex64),
    DType.C128: np.dtype(np.complex128),
}
"""The numpy type that holds a StableHLO type exactly; 2- and 4-bit integers live in one byte, always in range."""

_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def wrap(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Bring the result of machine arithmetic in the storage type back into the range of a 2- or 4-bit integer."""
    if dtype.bits >= 8 or dtype.is_bool:
        return array
    if dtype.is_signed:
        shift = 8 - dtype.bits
        return (array.astype(np.int8) << shift) >> shift
    return array.astype(np.uint8) & np.uint8((1 << dtype.bits) - 1)


def to_bits(array: np.ndarray, dtype: DType) -> np.ndarray:
    """The bits of natively held elements, each as a uint64."""
    if dtype.is_bool:
        return array.astype(np.uint64)
    if dtype.bits > 64:
        raise UnsupportedOp("stablehlo.bitcast_convert", f"type '{dtype.value}'")
    width = max(8, dtype.bits)
    bits = np.ascontiguousarray(array, dtype=STORAGE[dtype]).view(_UNSIGNED[width]).astype(np.uint64)
    return bits & np.uint64((1 << dtype.bits) - 1) if dtype.bits < 8 else bits


def from_bits(bits: np.ndarray, dtype: DType) -> np.ndarray:
    """Natively held elements from their bits."""
    if dtype.is_bool:
        return (bits & np.uint64(1)).astype(np.bool_)
    if dtype.bits > 64:
        raise UnsupportedOp("stablehlo.bitcast_convert", f"type '{dtype.value}'")
    width = max(8, dtype.bits)
    storage = np.ascontiguousarray(bits.astype(_UNSIGNED[width])).view(STORAGE[dtype])
    return wrap(storage, dtype) if dtype.is_integer else storage


def regroup_bits(bits: np.ndarray, source: DType, target: DType) -> np.ndarray:
    """Split the last dimension's elements into narrower ones, or join them into wider ones, least significant first."""
    if source.bits == target.bits:
        return bits
    if source.bits > target.bits:
        ratio = source.bits // target.bits
        shifts = np.arange(ratio, dtype=np.uint64) * np.uint64(target.bits)
        return (bits[..., None] >> shifts) & np.uint64((1 << target.bits) - 1)
    ratio = target.bits // source.bits
    shifts = np.arange(ratio, dtype=np.uint64) * np.uint64(source.bits)
    return np.bitwise_or.reduce(bits.reshape(*bits.shape[:-1], ratio) << shifts, axis=-1)
