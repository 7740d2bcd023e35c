"""The numpy type of each element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from shardproof.validator.read.ir import DType

_NUMPY: dict[DType, np.dtype] = {
    DType.I1: np.dtype(np.bool_),
    DType.I2: np.dtype(ml_dtypes.int2),
    DType.I4: np.dtype(ml_dtypes.int4),
    DType.I8: np.dtype(np.int8),
    DType.I16: np.dtype(np.int16),
    DType.I32: np.dtype(np.int32),
    DType.I64: np.dtype(np.int64),
    DType.UI2: np.dtype(ml_dtypes.uint2),
    DType.UI4: np.dtype(ml_dtypes.uint4),
    DType.UI8: np.dtype(np.uint8),
    DType.UI16: np.dtype(np.uint16),
    DType.UI32: np.dtype(np.uint32),
    DType.UI64: np.dtype(np.uint64),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F16: np.dtype(np.float16),
    DType.F32: np.dtype(np.float32),
    DType.F64: np.dtype(np.float64),
    DType.C64: np.dtype(np.complex64),
    DType.C128: np.dtype(np.complex128),
    DType.F8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
}


def numpy_dtype(dtype: DType) -> np.dtype:
    """The numpy type; a type no mutation meets raises KeyError."""
    return _NUMPY[dtype]
