"""Short, readable text of operations and programs, for reports and debugging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .attributes import Comparison, DeviceGroups, DevicePairs
from .ir import Op, Program, Region, Value
from .shardings import Sharding
from .tiling import Mesh

_MAX_ELEMENTS = 8
_QUIET = frozenset(
    {"precision_config", "channel_handle", "use_global_device_ids", "mhlo.frontend_attributes", "algorithm"}
)
"""Attributes that a reader of a report does not want to see in a line."""


def show_op(op: Op) -> str:
    """One operation in a line: `'stablehlo.add' %3: f32[4,8]`."""
    results = ", ".join(f"{value.name}: {value.type}" for value in op.results)
    return f"'{op.name}' {results}" if results else f"'{op.name}'"


def show_op_in_full(op: Op) -> str:
    """One operation with operands and attributes: `%3: f32[4,8] = stablehlo.dot_general %1, %2 {...}`."""
    results = ", ".join(f"{value.name}: {value.type}" for value in op.results)
    parts = [op.name]
    if op.operands:
        parts.append(", ".join(value.name for value in op.operands))
    attributes = _show_attributes(op.attributes)
    if attributes:
        parts.append(attributes)
    line = " ".join(parts)
    return f"{results} = {line}" if results else line


def show_program(program: Program) -> str:
    """The whole program, one operation a line, regions indented."""
    lines = [f"program {program.name} on {program.num_replicas}x{program.num_partitions} devices"]
    for parameter in program.parameters:
        sharding = f" {parameter.sharding.text}" if parameter.sharding else ""
        lines.append(f"  {parameter.value.name}: {parameter.value.type} = parameter '{parameter.label}'{sharding}")
    lines.extend(_show_region(program.body))
    for result in program.results:
        sharding = f" {result.sharding.text}" if result.sharding else ""
        lines.append(f"  return {result.value.name} as '{result.label}'{sharding}")
    return "\n".join(lines)


def _show_region(body: Region) -> Iterator[str]:
    """Lines of a region and, by an explicit stack, of everything inside it."""
    stack: list[Iterator[tuple[str, Region | None]]] = [_show_ops(body, 1)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            continue
        line, inner = step
        if inner is None:
            yield line
        else:
            yield line
            stack.append(_show_ops(inner, len(stack) * 2 + 1))


def _show_ops(region: Region, depth: int) -> Iterator[tuple[str, Region | None]]:
    indent = "  " * depth
    for op in region.ops:
        yield f"{indent}{show_op_in_full(op)}", None
        for inner in op.regions:
            yield f"{indent}  ({_names(inner.arguments)}):", inner
            yield f"{indent}    return {_names(inner.results)}", None


def _names(values: tuple[Value, ...]) -> str:
    return ", ".join(value.name for value in values)


def _show_attributes(attributes: Mapping[str, Any]) -> str:
    shown = [f"{name} = {_show_value(value)}" for name, value in attributes.items() if name not in _QUIET]
    return f"{{{', '.join(shown)}}}" if shown else ""


def _show_value(value: Any) -> str:
    if isinstance(value, (DeviceGroups, DevicePairs)):
        return _show_rows(value.table)
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)[: _MAX_ELEMENTS + 1].tolist()
        if value.size > 1 and not any(value.strides):
            return f"{flat[0]} everywhere"
        more = ", ..." if value.size > _MAX_ELEMENTS else ""
        return f"[{', '.join(map(str, flat[:_MAX_ELEMENTS]))}{more}]" if value.ndim else str(flat[0])
    if isinstance(value, Comparison):
        return value.value
    if isinstance(value, Sharding):
        return value.text
    if isinstance(value, Mesh):
        return f"[{', '.join(f'{name}={size}' for name, size in value.axes)}]"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_show_value, value))}]"
    return str(value)


def _show_rows(table: np.ndarray) -> str:
    rows = ["{" + ",".join(map(str, row)) + "}" for row in table[:_MAX_ELEMENTS].tolist()]
    return "{" + ",".join(rows) + (",..." if len(table) > _MAX_ELEMENTS else "") + "}"
