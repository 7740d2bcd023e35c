"""Mutations of data movement, operand order and constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.ir import TensorType

from ..context import Context, Edit
from ..rewrite import with_ops, with_region

_ORDERED = (
    "subtract", "divide", "remainder", "power", "atan2", "complex", "shift_left", "shift_right_logical",
    "shift_right_arithmetic",
)  # fmt: skip


def reshape_for_transpose(context: Context) -> Iterator[Edit]:
    """K10: a reshape stands for a transpose."""
    for site in context.named("transpose"):
        shape = site.op.operands[0].tensor.shape
        moved = [dim for dim in site.op.attributes["permutation"] if shape[dim] != 1]
        if moved != sorted(moved):
            make = context.builder(site)
            make.reshape(site.op.operands[0], site.op.results[0].tensor.shape, into=site.op.results[0])
            yield Edit(str(site), "reshape in its place", with_ops(context.program, site, make.ops))


def minor_for_major(context: Context) -> Iterator[Edit]:
    """K11: a dimension is split or merged with its factors in the other order."""
    for site in context.named("reshape"):
        source, target = site.op.operands[0].tensor.shape, site.op.results[0].tensor.shape
        split = _factored(source, target)
        if split is not None:
            make = context.builder(site)
            other = list(target)
            other[split], other[split + 1] = other[split + 1], other[split]
            order = list(range(len(target)))
            order[split], order[split + 1] = split + 1, split
            make.transpose(make.reshape(site.op.operands[0], tuple(other)), order, into=site.op.results[0])
            yield Edit(str(site), f"dimension {split} split minor first", with_ops(context.program, site, make.ops))
        merged = _factored(target, source)
        if merged is not None:
            make = context.builder(site)
            order = list(range(len(source)))
            order[merged], order[merged + 1] = merged + 1, merged
            make.reshape(make.transpose(site.op.operands[0], order), target, into=site.op.results[0])
            yield Edit(str(site), f"dimension {merged} merged minor first", with_ops(context.program, site, make.ops))


def _factored(whole: tuple[int, ...], parts: tuple[int, ...]) -> int | None:
    """The first dimension of `whole` that `parts` has as two factors, both greater than 1."""
    if len(parts) != len(whole) + 1:
        return None
    for dim, extent in enumerate(whole):
        around = parts[:dim] == whole[:dim] and parts[dim + 2 :] == whole[dim + 1 :]
        if around and extent == parts[dim] * parts[dim + 1] and parts[dim] > 1 and parts[dim + 1] > 1:
            return dim
    return None


def operands_swapped(context: Context) -> Iterator[Edit]:
    """K21: operands of an ordered operation swapped."""
    for site in context.named(*_ORDERED):
        left, right = site.op.operands
        if left is not right and left.type == right.type:
            op = replace(site.op, operands=(right, left))
            yield Edit(str(site), "operands swapped", with_ops(context.program, site, [op]))
    for site in context.named("select"):
        predicate, chosen, other = site.op.operands
        if chosen is not other:
            op = replace(site.op, operands=(predicate, other, chosen))
            yield Edit(str(site), "branches swapped", with_ops(context.program, site, [op]))
    for site in context.named("concatenate"):
        operands = site.op.operands
        if len({value.number for value in operands}) > 1:
            op = replace(site.op, operands=(*operands[1:], operands[0]))
            yield Edit(str(site), "operands rotated", with_ops(context.program, site, [op]))
    for site in context.named("dot_general", "dot", "add", "multiply"):
        # The same value twice: one operand lost.
        left, right = site.op.operands
        if left is not right and left.type == right.type:
            op = replace(site.op, operands=(left, left))
            yield Edit(str(site), "first operand taken twice", with_ops(context.program, site, [op]))


def results_swapped(context: Context) -> Iterator[Edit]:
    """K21: two results of one type swapped."""
    program = context.program
    for left in range(len(program.results)):
        for right in range(left + 1, len(program.results)):
            one, two = program.results[left].value, program.results[right].value
            if one is two or one.type != two.type:
                continue
            values = [result.value for result in program.results]
            values[left], values[right] = two, one
            rows = tuple(replace(row, value=new) for row, new in zip(program.results, values, strict=True))
            body = replace(program.body, results=tuple(values))
            yield Edit(f"result {left}", f"swapped with result {right}", replace(program, body=body, results=rows))
            break


def carries_swapped(context: Context) -> Iterator[Edit]:
    """K21: a loop hands on two carries of one type swapped."""
    for site in context.named("while"):
        body = site.op.regions[1]
        path = (*site.path, (site.index, 1))
        for left in range(len(body.results) - 1):
            one, two = body.results[left], body.results[left + 1]
            if one is not two and one.type == two.type:
                results = (*body.results[:left], two, one, *body.results[left + 2 :])
                program = with_region(context.program, path, replace(body, results=results))
                yield Edit(str(site), f"carry {left} swapped with the next", program)


def constant_changed(context: Context) -> Iterator[Edit]:
    """K22: a constant is another one, on all devices or on the last one."""
    for site in context.named("constant"):
        kind = site.op.results[0].type
        if not isinstance(kind, TensorType) or kind.size == 0:
            continue
        old = np.asarray(site.op.attributes["value"])
        new = changed_array(old)
        op = replace(site.op, attributes={**site.op.attributes, "value": new})
        yield Edit(str(site), "last element changed", with_ops(context.program, site, [op]))
        if old.size > 1 and bool((old == old.flat[0]).all()):
            whole = np.full(old.shape, new.flat[-1], dtype=old.dtype)
            op = replace(site.op, attributes={**site.op.attributes, "value": whole})
            yield Edit(str(site), "changed throughout", with_ops(context.program, site, [op]))
        if context.one_kind_of_device and context.program.num_devices > 1:
            make = context.builder(site)
            (right,) = make.again(site.op)
            (wrong,) = make.again(site.op, value=new)
            make.on_device(context.program.num_devices - 1, wrong, right, into=site.op.results[0])
            yield Edit(str(site), "last element changed on the last device", with_ops(context.program, site, make.ops))


def changed_array(old: np.ndarray) -> np.ndarray:
    """The array with its last element another one."""
    new = old.copy()
    last = old.flat[-1]
    if old.dtype == np.bool_:
        new.flat[-1] = not last
    elif old.dtype.kind in "iu":
        # Towards zero: the greatest of a table of offsets would only be clamped back if it grew.
        new.flat[-1] = last - 1 if last > 0 else last + 1
    else:
        finite = bool(np.isfinite(np.asarray(last).astype(np.complex128)))
        new.flat[-1] = np.asarray(last) + np.asarray(1, dtype=old.dtype) if finite else 0
    return new
