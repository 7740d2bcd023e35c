"""Custom calls that stand for an operation.

XLA for TPUs holds complex numbers as two parts, and takes them apart and puts them together by calls. An opcode that
StableHLO has no operation for is a call of its name until it is read.
"""

from __future__ import annotations

from dataclasses import replace

from .ir import Op, TensorType

CALLED: dict[bytes, str] = {b"mulhi": "chlo.mulhi"}
"""HLO opcodes of which the conversion to StableHLO makes what MLIR then refuses, and what stands for them."""

_OF_COMPLEX = {
    "X64Combine": "stablehlo.complex",
    "X64SplitHigh": "stablehlo.imag",
    "X64SplitLow": "stablehlo.real",
}
"""What takes integers of 64 bits apart has the same names."""


def meant(op: Op) -> Op:
    """The operation that a custom call stands for, or the call."""
    target = str(op.attributes.get("call_target_name"))
    if any(op.attributes.get(name) for name in ("backend_config", "called_computations", "has_side_effect")):
        return op
    types = [value.type for value in (*op.operands, *op.results)]
    tensors = [type_ for type_ in types if isinstance(type_, TensorType)]
    if len(tensors) != len(types) or len(op.results) != 1 or len({type_.shape for type_ in tensors}) != 1:
        return op
    *operands, result = (type_.dtype for type_ in tensors)
    name = None
    if target in _OF_COMPLEX and len(operands) == 1 + (target == "X64Combine"):
        whole, parts = (result, operands) if len(operands) == 2 else (operands[0], [result])
        if whole.is_complex and all(part.is_float and 2 * part.bits == whole.bits for part in parts):
            name = _OF_COMPLEX[target]
    elif target in CALLED.values() and operands == [result, result] and result.is_integer:
        name = target
    return op if name is None else replace(op, name=name, attributes={})
