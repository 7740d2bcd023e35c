"""How element types are held in numpy, and how their bits are read and written."""

from __future__ import annotations

import numpy as np

from ..read.dtypes import NUMPY_DTYPES
from ..read.ir import DType
from .errors import UnsupportedOp

STORAGE: dict[DType, np.dtype] = NUMPY_DTYPES | {
    DType.I2: np.dtype(np.int8),
    DType.I4: np.dtype(np.int8),
    DType.UI2: np.dtype(np.uint8),
    DType.UI4: np.dtype(np.uint8),
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
