"""Which elements a reduction sums at each point: relations over whole dimensions or over windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op
from ..relation.build import Builder, affine, names

if TYPE_CHECKING:
    from ..relation.objects import Rel


def reduce_read(builder: Builder, op: Op) -> Rel:
    """{[d, i] -> [d, x]}: all elements of the reduced dimensions."""
    dims, shape = tuple(op.attributes["dimensions"]), op.operands[0].tensor.shape
    inner = names("x", len(shape))
    where = [f"0 <= x{k} < {shape[k]}" for k in dims]
    for position, k in enumerate(k for k in range(len(shape)) if k not in dims):
        inner[k] = f"i{position}"
    return builder.linked(op.results[0].tensor.shape, inner, where)


def window_read(builder: Builder, op: Op) -> Rel:
    """{[d, i] -> [d, x]}: all elements of the window."""
    inner, where, hidden = window(op)
    return builder.relation(op.results[0].tensor.shape, [*builder.device, *inner], where, exists=hidden)


def reduced_lines(builder: Builder, op: Op) -> tuple[list[int], Rel, int]:
    """(batch, {[d, batch, row] -> [d, x]}, rank of a row): what is reduced to one element, in order."""
    dims, shape = tuple(op.attributes["dimensions"]), op.operands[0].tensor.shape
    kept = [k for k in range(len(shape)) if k not in dims]
    batch, row = [shape[k] for k in kept], [shape[k] for k in sorted(dims)]
    outputs = [""] * len(shape)
    for position, k in enumerate([*kept, *sorted(dims)]):
        outputs[k] = f"i{position}"
    return batch, builder.moved([*batch, *row], outputs), len(row)


def window(op: Op) -> tuple[list[str], list[str], list[str]]:
    """Names x of the operand's index, constraints that tie them to the result's i and the window's k, and those k."""
    operand = op.operands[0].tensor
    rank = operand.rank
    sizes = op.attributes["window_dimensions"]
    strides = op.attributes.get("window_strides") or (1,) * rank
    dilations = op.attributes.get("window_dilations") or (1,) * rank
    base = op.attributes.get("base_dilations") or (1,) * rank
    padding = op.attributes.get("padding")
    low = [int(padding[k][0]) if padding is not None else 0 for k in range(rank)]
    inner, where, hidden = names("x", rank), [], []
    for k, extent in enumerate(operand.shape):
        where.append(f"0 <= x{k} < {extent}")
        if sizes[k] == 1:
            where.append(f"{affine([(base[k], f'x{k}')])} = {affine([(strides[k], f'i{k}')], -low[k])}")
            continue
        hidden.append(f"k{k}")
        where.append(f"0 <= k{k} < {sizes[k]}")
        terms = [(strides[k], f"i{k}"), (dilations[k], f"k{k}")]
        where.append(f"{affine([(base[k], f'x{k}')])} = {affine(terms, -low[k])}")
    return inner, where, hidden
