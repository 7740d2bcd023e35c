"""Dense constants as numpy arrays, splats as zero-stride views of one element."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

from ..compat import ir
from .ir import DType, TensorType

NUMPY_DTYPES: dict[DType, np.dtype] = {
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

_BUFFERED = frozenset(
    {DType.I1, DType.I8, DType.I16, DType.I32, DType.I64, DType.UI8, DType.UI16, DType.UI32, DType.UI64}
    | {DType.F16, DType.F32, DType.F64}
)
"""Element types that MLIR's Python bindings hand out as buffers."""


def constant_array(attribute: ir.Attribute, type_: TensorType) -> np.ndarray:
    """The value of a dense elements attribute, read-only."""
    if type_.dtype in _BUFFERED and isinstance(attribute, ir.DenseElementsAttr):
        if attribute.is_splat and type_.size > 1:
            return np.broadcast_to(np.asarray(attribute).reshape(-1)[:1].copy().reshape(()), type_.shape)
        array = np.array(attribute, dtype=NUMPY_DTYPES[type_.dtype]).reshape(type_.shape)
        array.setflags(write=False)
        return array
    return array_from_text(str(attribute), type_)


_DENSE = re.compile(r"dense<(.*)>\s*:\s*tensor<", re.S)
_ELEMENT = re.compile(r"0x[0-9A-Fa-f]+|true|false|[-+]?\d[\d.]*(?:[eE][-+]?\d+)?")


def array_from_text(text: str, type_: TensorType) -> np.ndarray:
    """The value of `dense<...> : tensor<...>` as MLIR prints it: one element, nested lists, or one hexadecimal string.

    MLIR prints floats with as many digits as it takes to read them back exactly, and NaN, infinities as bit patterns.
    """
    match = _DENSE.search(text)
    if match is None:
        raise ValueError(f"not a dense constant: '{text[:60]}'")
    body = match[1].strip()
    dtype = NUMPY_DTYPES[type_.dtype]
    if body.startswith('"0x'):
        flat = np.frombuffer(bytes.fromhex(body[3:-1]), dtype=dtype)
    else:
        part = np.dtype(f"f{dtype.itemsize // 2}") if type_.dtype.is_complex else dtype
        flat = np.array([_element(token, part, type_.dtype) for token in _ELEMENT.findall(body)], dtype=part)
        if type_.dtype.is_complex:
            flat = flat.view(dtype)
    if flat.size == type_.size:
        array = flat.reshape(type_.shape)
        array.setflags(write=False)
        return array
    if flat.size != 1:
        raise ValueError(f"{flat.size} elements for {type_}")
    return np.broadcast_to(flat.reshape(()), type_.shape)


def _element(token: str, dtype: np.dtype, element_type: DType) -> Any:
    """One element as a numpy scalar of `dtype`."""
    if token in ("true", "false"):
        return np.bool_(token == "true")
    if element_type.is_integer:
        return np.array(int(token, 0)).astype(dtype)[()]
    if token.startswith("0x"):
        return np.frombuffer(int(token, 16).to_bytes(dtype.itemsize, "little"), dtype=dtype)[0]
    return np.array(float(token), dtype=np.float64).astype(dtype)[()]
