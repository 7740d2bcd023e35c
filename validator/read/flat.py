"""MLIR modules that are a list of operations without operands, results and regions, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ReadError, ReadErrorKind

Line = tuple[str, Mapping[str, Any]]
"""An operation's name and its attributes: integers, strings, and lists of these."""


def read_flat(data: bytes, name: str) -> tuple[list[Line], str]:
    """The operations in order, and the text as MLIR prints it.

    Raises `ReadError` for what is no MLIR, and for operations of another kind.
    """
    from jaxlib.mlir import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(data.decode())
        except (ir.MLIRError, UnicodeDecodeError) as error:
            message = str(error).strip().splitlines()[0]
            raise ReadError(ReadErrorKind.SYNTAX, name, f"is no MLIR text: {message}") from None
        lines: list[Line] = []
        for view in module.body.operations:
            op = view.operation
            if len(op.regions) or len(op.operands) or len(op.results):
                raise ReadError(ReadErrorKind.SYNTAX, name, f"'{op.name}' has regions, operands or results")
            lines.append((op.name, {each: _plain(op.attributes[each], name) for each in op.attributes}))
        return lines, str(module.operation.get_asm(print_generic_op_form=True))


def _plain(attribute: Any, name: str) -> Any:
    from jaxlib.mlir import ir

    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(element, name) for element in attribute]
    if isinstance(attribute, ir.IntegerAttr | ir.StringAttr):
        return attribute.value
    raise ReadError(ReadErrorKind.SYNTAX, name, f"'{attribute}' is neither integer nor string nor a list of these")
