"""The pass `outline-layers`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..validator.compat import ir
from .base import ModulePass
from .rewriting import build_function, clone_op, functions, is_private, nested, read_from_outside

_NO_MEANING = frozenset({"channel_handle"})
"""A collective's channel number tells collectives apart; that there is one tells the mode, and is compared."""

_MAX_GROUPS = 16
_MAX_STARTS = 64
"""Groups of layers in one function, and places tried for where the first layer starts."""

Form = tuple[Any, ...]


@dataclass(frozen=True)
class OutlineLayers(ModulePass):
    """Makes one function of operations that repeat one after the other, and calls of it.

    Layers are equal where they apply the same operations with the same attributes to each other's results in the same
    way; what they read from outside becomes arguments. The numbers of channels may differ. Only layers of at least
    `min-ops` operations that follow each other at least `min-repeats` times are outlined. `inline-calls` is the way
    back.

    ```mlir
    %0 = stablehlo.add %x, %a : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.add %1, %b : tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    // becomes, with min-ops=2
    %0 = call @layer(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = call @layer(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name: ClassVar[str] = "outline-layers"
    min_ops: int = 4
    min_repeats: int = 2

    def __post_init__(self) -> None:
        if self.min_ops < 1 or self.min_repeats < 2:
            raise ValueError("'min-ops' is at least 1 and 'min-repeats' at least 2")

    def apply(self, module: ir.Operation) -> None:
        for function in list(functions(module).values()):
            if is_private(function) or len(function.regions[0].blocks) != 1:
                continue
            for _ in range(_MAX_GROUPS):
                layers = self._find([view.operation for view in function.regions[0].blocks[0]][:-1])
                if layers is None:
                    break
                _outline(module, function, layers)

    def _find(self, ops: Sequence[ir.Operation]) -> list[list[ir.Operation]] | None:
        """The layers that save the most operations, or None."""
        numbers: dict[Form, int] = {}
        keys = np.array([numbers.setdefault(_key(op), len(numbers)) for op in ops], dtype=np.int64)
        found: list[tuple[int, int, int, int]] = []
        for period in range(self.min_ops, len(ops) // self.min_repeats + 1):
            for start, length in _runs(keys[:-period] == keys[period:]):
                repeats = length // period + 1
                if repeats >= self.min_repeats:
                    found.append((-(repeats - 1) * period, period, start, length))
        for _, period, start, length in sorted(found):
            best: tuple[int, list[list[ir.Operation]]] | None = None
            repeats = length // period + 1
            for first in range(start, min(start + length % period, start + _MAX_STARTS) + 1):
                cut = [list(ops[first + k * period : first + (k + 1) * period]) for k in range(repeats)]
                if len({_form(layer) for layer in cut}) == 1:
                    width = len(list(read_from_outside(cut[0]))) + len(_outputs(cut))
                    if best is None or width < best[0]:
                        best = (width, cut)
            if best is not None:
                return best[1]
        return None


def _runs(same: np.ndarray) -> Iterator[tuple[int, int]]:
    """Start and length of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield int(start), int(stop - start)


def _key(op: ir.Operation) -> Form:
    """What an operation is, whatever it is applied to."""
    told = tuple((key, op.attributes[key]) for key in sorted(op.attributes) if key not in _NO_MEANING)
    types = (tuple(operand.type for operand in op.operands), tuple(result.type for result in op.results))
    channels = tuple(_channel(op.attributes[key]) for key in _NO_MEANING if key in op.attributes)
    inner = tuple(_key(part) for part in nested(op))
    return (op.name, told, channels, types, inner)


def _channel(attribute: ir.Attribute) -> str:
    """A channel without its number, unless that is 0, which means none."""
    handle, _, rest = str(attribute).partition(",")
    return handle + rest if handle.endswith("= 0") else rest


def _form(layer: Sequence[ir.Operation]) -> Form:
    """A layer with its values numbered in order: those from outside, and those from inside."""
    outside = {value: ("outside", k) for k, value in enumerate(read_from_outside(layer))}
    inside: dict[ir.Value, tuple[str, int]] = {}
    form: list[Form] = []
    for op in layer:
        for part in (op, *nested(op)):
            for value in itertools.chain(
                part.results, *(block.arguments for region in part.regions for block in region.blocks)
            ):
                inside[value] = ("inside", len(inside))
    for op in layer:
        for part in (op, *nested(op)):
            form.append((_key(part), tuple(inside.get(operand) or outside[operand] for operand in part.operands)))
    return tuple(form)


def _outputs(layers: Sequence[Sequence[ir.Operation]]) -> list[tuple[int, int]]:
    """Which results (operation, result) something outside of its layer uses, in any of the layers."""
    used: set[tuple[int, int]] = set()
    for layer in layers:
        mine = set(layer)
        for position, op in enumerate(layer):
            for k, result in enumerate(op.results):
                if any(not mine & set(_around(use.owner)) for use in result.uses):
                    used.add((position, k))
    return sorted(used)


def _around(op: Any) -> Iterator[ir.Operation]:
    """An operation and those that hold it."""
    current = op.operation
    while current is not None and current.name != "builtin.module":
        yield current
        current = current.parent.operation if current.parent is not None else None


def _outline(module: ir.Operation, function: ir.Operation, layers: Sequence[Sequence[ir.Operation]]) -> None:
    outputs = _outputs(layers)
    first = layers[0]
    given = list(read_from_outside(first))
    types = [first[position].results[k].type for position, k in outputs]
    taken = functions(module)
    name = next(n for n in itertools.chain(["layer"], (f"layer_{k}" for k in itertools.count(1))) if n not in taken)
    end = ir.InsertionPoint(module.regions[0].blocks[0])
    callee = build_function(name, [value.type for value in given], types, end, first[0].location, private=True)
    block = callee.regions[0].blocks[0]
    mapping = dict(zip(given, block.arguments, strict=True))
    point = ir.InsertionPoint(block)
    copies = [clone_op(op, mapping, point) for op in first]
    returned = [copies[position].results[k] for position, k in outputs]
    ir.Operation.create("func.return", operands=returned, ip=point, loc=first[0].location)
    for layer in layers:
        call = ir.Operation.create(
            "func.call",
            results=types,
            operands=list(read_from_outside(layer)),
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            ip=ir.InsertionPoint(layer[0]),
            loc=layer[0].location,
        )
        for (position, k), result in zip(outputs, call.results, strict=True):
            layer[position].results[k].replace_all_uses_with(result)
        for op in reversed(layer):
            op.erase()
