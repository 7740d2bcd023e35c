"""Dense constants as numpy arrays, splats as zero-stride views of one element."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..compat import ir
from .dtypes import NUMPY_DTYPES
from .ir import DType, TensorType

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
