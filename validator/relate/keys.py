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
    """What a region computes, up to the names of its values; None where it reads outer values or nests regions."""
    numbering: dict[int, int] = {argument.number: k for k, argument in enumerate(region.arguments)}
    parts: list[Hashable] = [tuple(argument.type for argument in region.arguments)]
    for op in region.ops:
        if op.regions or any(operand.number not in numbering for operand in op.operands):
            return None
        operands = tuple(numbering[operand.number] for operand in op.operands)
        for result in op.results:
            numbering[result.number] = len(numbering)
        wanted = [name for name in op.attributes if name not in ignored]
        parts.append((op.name, operands, tuple(r.type for r in op.results), frozen_attributes(op.attributes, wanted)))
    if any(result.number not in numbering for result in region.results):
        return None
    parts.append(tuple(numbering[result.number] for result in region.results))
    return tuple(parts)
