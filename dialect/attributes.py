"""Attributes of the dialect, which jaxlib holds as uninterpreted text, and the kinds of all others."""

from __future__ import annotations

import re
from typing import Any

from ..validator.compat import ir
from .definition import DIALECT, AnyOf, Anything, Base, Constraint, Is, definition

_KINDS = {
    "#builtin.affine_map": (ir.AffineMapAttr,),
    "#builtin.array": (ir.ArrayAttr,),
    "#builtin.dense_array": (
        ir.DenseBoolArrayAttr,
        ir.DenseI8ArrayAttr,
        ir.DenseI16ArrayAttr,
        ir.DenseI32ArrayAttr,
        ir.DenseI64ArrayAttr,
        ir.DenseF32ArrayAttr,
        ir.DenseF64ArrayAttr,
    ),
    "#builtin.dictionary": (ir.DictAttr,),
    "#builtin.float": (ir.FloatAttr,),
    "#builtin.integer": (ir.IntegerAttr, ir.BoolAttr),
    "#builtin.integer_set": (ir.IntegerSetAttr,),
    "#builtin.string": (ir.StringAttr,),
    "#builtin.symbol_ref": (ir.SymbolRefAttr, ir.FlatSymbolRefAttr),
    "#builtin.type": (ir.TypeAttr,),
    "#builtin.unit": (ir.UnitAttr,),
}

_OWN = re.compile(rf"#{DIALECT}\.(\w+)(?:<(.*)>)?", re.DOTALL)


def is_own(attribute: Any) -> bool:
    """Whether the attribute belongs to the dialect."""
    return str(attribute).startswith(f"#{DIALECT}.")


def parameters_of(attribute: Any) -> tuple[str, tuple[Any, ...]]:
    """The name and the parameters of one of the dialect's attributes; raises ValueError for one that is malformed."""
    text = str(attribute)
    match = _OWN.fullmatch(text)
    found = definition().attributes.get(match[1]) if match else None
    if match is None or found is None:
        raise ValueError(f"'{text}' is no attribute of the dialect")
    try:
        parameters = tuple(ir.ArrayAttr(ir.Attribute.parse(f"[{match[2] or ''}]", attribute.context)))
    except ir.MLIRError:
        raise ValueError(f"'{text}' has malformed parameters") from None
    expected = found.parameters
    if len(parameters) != len(expected):
        raise ValueError(f"'{text}' has {len(parameters)} parameters instead of {len(expected)}")
    for (name, constraint), parameter in zip(expected.items(), parameters, strict=True):
        if not satisfies(parameter, constraint):
            raise ValueError(f"'{text}': {name} is no '{constraint}'")
    return found.name, parameters


def satisfies(attribute: Any, constraint: Constraint) -> bool:
    """Whether an attribute meets a constraint of the definition."""
    match constraint:
        case Anything():
            return True
        case Is(text):
            return str(attribute) == text
        case AnyOf(parts):
            return any(satisfies(attribute, part) for part in parts)
        case Base(name):
            kinds = _KINDS.get(name)
            if kinds is None:
                return re.match(rf"{re.escape(name)}(?!\w)", str(attribute)) is not None
            return isinstance(attribute, kinds)
