"""Hashable keys of attributes and regions: equal keys mean the same operation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

from ..read.ir import Region


def frozen_attributes(attributes: Mapping[str, Any], wanted: Collection[str]) -> tuple[tuple[str, Hashable], ...]:
    """The wanted attributes as sorted hashable items."""
    return tuple((name, frozen(attributes[name])) for name in sorted(attributes) if name in wanted)


def frozen(value: Any) -> Hashable:
    """A hashable stand-in for an attribute value; arrays by shape, type and bytes."""
    if isinstance(value, np.ndarray):
        return (value.shape, str(value.dtype), np.ascontiguousarray(value).tobytes())
    table = getattr(value, "table", None)
    if isinstance(table, np.ndarray):
        return (table.shape, table.tobytes())
    if isinstance(value, (list, tuple)):
        return tuple(frozen(element) for element in value)
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(element)) for key, element in value.items()))
    return value


def region_key(region: Region, ignored: Collection[str]) -> Hashable | None:
    """What a region computes from its arguments, whatever the order and the names of its ops.

    None where it reads outer values, nests regions or calls something opaque. Equal expressions are numbered once, in
    the order in which the results reach them.
    """
    makers = {result.number: op for op in region.ops for result in op.results}
    numbering: dict[int, int] = {argument.number: k for k, argument in enumerate(region.arguments)}
    parts: list[Hashable] = [tuple(argument.type for argument in region.arguments)]
    known: dict[Hashable, int] = {}
    stack = [result.number for result in reversed(region.results)]
    while stack:
        number = stack[-1]
        if number in numbering:
            stack.pop()
            continue
        op = makers.get(number)
        if op is None or op.regions or op.name == "stablehlo.custom_call":
            return None
        waiting = [operand.number for operand in op.operands if operand.number not in numbering]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        wanted = [name for name in op.attributes if name not in ignored]
        attributes = tuple(item for item in frozen_attributes(op.attributes, wanted) if not implied(op.name, item))
        operands = tuple(numbering[operand.number] for operand in op.operands)
        for position, result in enumerate(op.results):
            part = (op.name, operands, position, tuple(r.type for r in op.results), attributes)
            if part not in known:
                known[part] = len(region.arguments) + len(known)
                parts.append(part)
            numbering[result.number] = known[part]
    parts.append(tuple(numbering[result.number] for result in region.results))
    return tuple(parts)


def implied(name: str, item: tuple[str, Hashable]) -> bool:
    """A comparison's type says nothing beyond the operands' type, unless it asks for the total order."""
    return name == "stablehlo.compare" and item[0] == "compare_type" and str(item[1]).upper() != "TOTALORDER"


def spelled(key: Hashable) -> str:
    """A key of an operation as text; equal texts are equal keys."""
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str):
        return f"{key[0]} {key[1]!r}" if key[1] != () else key[0]
    return repr(key)
