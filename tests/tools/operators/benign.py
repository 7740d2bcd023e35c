"""Rewrites that change how a program is written and not what it computes; each must stay proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.attributes import DeviceGroups
from shardproof.validator.read.ir import DType, Op, TensorType

from ..context import Context, Edit, combiner, groups_of
from ..rewrite import with_ops
from .groups import same_groups
from .reductions import own_block, single_sum

_COMMUTATIVE = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def operands_commuted(context: Context) -> Iterator[Edit]:
    """Exact: operands of a commutative operation swapped."""
    for site in context.named(*_COMMUTATIVE):
        left, right = site.op.operands
        if left is not right:
            op = replace(site.op, operands=(right, left))
            yield Edit(str(site), "operands commuted", with_ops(context.program, site, [op]))


def operands_reassociated(context: Context) -> Iterator[Edit]:
    """Reassociated: (a + b) + c becomes a + (b + c), and so for other associative operations."""
    for site in context.named(*_COMMUTATIVE):
        for place, inner in enumerate(site.op.operands):
            first = context.definitions.get(inner)
            if first is None or first.name != site.op.name:
                continue
            outer = site.op.operands[1 - place]
            left, right = first.operands
            make = context.builder(site)
            if place == 0:
                make.elementwise(
                    _short(site.op), left, make.elementwise(_short(site.op), right, outer), into=site.op.results[0]
                )
            else:
                make.elementwise(
                    _short(site.op), make.elementwise(_short(site.op), outer, left), right, into=site.op.results[0]
                )
            yield Edit(str(site), "operands re-associated", with_ops(context.program, site, make.ops))
            break


def _short(op: Op) -> str:
    return op.name.removeprefix("stablehlo.")


def reversed_twice(context: Context) -> Iterator[Edit]:
    """Exact: a collective's result is reversed twice."""
    for site in context.named("all_reduce", "all_gather", "dot", "dot_general", "collective_permute"):
        kind = site.op.results[0].tensor
        if kind.rank and len(site.op.results) == 1:
            dimensions = tuple(range(kind.rank))
            make = context.builder(site)
            (value,) = make.again(site.op)
            once = make.emit("reverse", (value,), kind, dimensions=dimensions)
            make.emit("reverse", (once,), kind, into=site.op.results[0], dimensions=dimensions)
            yield Edit(str(site), "reversed twice", with_ops(context.program, site, make.ops))


def dead_code(context: Context) -> Iterator[Edit]:
    """Exact: a result's double is computed and never used, with a collective on it."""
    for site in context.named("all_reduce", "all_gather"):
        make = context.builder(site)
        results = make.again(site.op)
        make.elementwise("negate" if not results[0].tensor.dtype.is_bool else "not", results[0])
        yield Edit(str(site), "unused double", with_ops(context.program, site, [*make.ops, site.op]))


def moved_through_transpose(context: Context) -> Iterator[Edit]:
    """Exact: a collective's operand is transposed before it and back after it."""
    for site in context.named("all_reduce", "collective_permute"):
        if len(site.op.operands) != 1 or site.op.operands[0].tensor.rank < 2:
            continue
        make = context.builder(site)
        order = tuple(reversed(range(site.op.operands[0].tensor.rank)))
        turned = make.transpose(site.op.operands[0], order)
        (result,) = make.again(site.op, (turned,), into=(make.fresh(turned.type),))
        make.transpose(result, order, into=site.op.results[0])
        yield Edit(str(site), "transposed around", with_ops(context.program, site, make.ops))


def scatter_and_gather(context: Context) -> Iterator[Edit]:
    """Exact: a reduce-scatter and an all-gather stand for an all-reduce."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1 or table.size != context.program.num_devices:
            continue
        kind = site.op.operands[0].tensor
        for dim, extent in enumerate(kind.shape):
            if extent % table.shape[1]:
                continue
            shape = (*kind.shape[:dim], extent // table.shape[1], *kind.shape[dim + 1 :])
            groups = site.op.attributes["replica_groups"]
            make = context.builder(site)
            part = make.emit(
                "reduce_scatter",
                site.op.operands,
                TensorType(shape, kind.dtype),
                scatter_dimension=dim,
                replica_groups=groups,
                regions=(make.copy_region(site.op.regions[0]),),
            )
            make.emit("all_gather", (part,), kind, into=site.op.results[0], all_gather_dim=dim, replica_groups=groups)
            yield Edit(str(site), "reduce-scatter and all-gather", with_ops(context.program, site, make.ops))
            break


def all_reduce_and_slice(context: Context) -> Iterator[Edit]:
    """Exact: an all-reduce and the device's own slice stand for a reduce-scatter."""
    if not context.one_kind_of_device:
        return
    for site in context.named("reduce_scatter"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1:
            continue
        make = context.builder(site)
        summed = make.emit(
            "all_reduce",
            site.op.operands,
            site.op.operands[0].type,
            replica_groups=site.op.attributes["replica_groups"],
            regions=(make.copy_region(site.op.regions[0]),),
        )
        (block,) = own_block(make, context, site, table, summed, site.op.attributes["scatter_dimension"])
        make.reshape(block, block.tensor.shape, into=site.op.results[0])
        yield Edit(str(site), "all-reduce and slice", with_ops(context.program, site, make.ops))


def update_and_all_reduce(context: Context) -> Iterator[Edit]:
    """Reassociated: blocks written into zeros and summed stand for an all-gather."""
    if not context.one_kind_of_device:
        return
    for site in context.named("all_gather"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1 or site.op.operands[0].tensor.dtype.is_bool:
            continue
        if table.size != context.program.num_devices:
            continue
        source, kind = site.op.operands[0], site.op.results[0].tensor
        dimension = site.op.attributes["all_gather_dim"]
        make = context.builder(site)
        place = np.zeros(context.program.num_devices, dtype=np.int64)
        place[table] = np.arange(table.shape[1])[None, :] * source.tensor.shape[dimension]
        scalar = make.constant(0, TensorType((), DType.I32))
        start = make.per_device(place.tolist(), DType.I32)
        starts = [start if dim == dimension else scalar for dim in range(kind.rank)]
        blank = make.constant(0, kind)
        written = make.emit("dynamic_update_slice", (blank, source, *starts), kind)
        make.emit(
            "all_reduce",
            (written,),
            kind,
            into=site.op.results[0],
            replica_groups=site.op.attributes["replica_groups"],
            regions=(make.reducer("add", kind.dtype),),
        )
        yield Edit(str(site), "written into zeros and summed", with_ops(context.program, site, make.ops))


def scaled_and_back(context: Context) -> Iterator[Edit]:
    """Real: a float sum's parts are doubled and the sum is halved."""
    for site in context.named("all_reduce"):
        if not single_sum(site.op) or not site.op.operands[0].tensor.dtype.is_float:
            continue
        make = context.builder(site)
        source = site.op.operands[0]
        doubled = make.elementwise("multiply", source, make.constant(2, source.tensor))
        (summed,) = make.again(site.op, (doubled,))
        make.elementwise("multiply", summed, make.constant(0.5, source.tensor), into=site.op.results[0])
        yield Edit(str(site), "parts doubled, sum halved", with_ops(context.program, site, make.ops))


def sum_in_two_steps(context: Context) -> Iterator[Edit]:
    """Reassociated: a sum over groups of an even size is done over halves and then across them."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        reducer = combiner(site.op.regions[0])
        if table is None or reducer is None or len(site.op.operands) != 1:
            continue
        size = table.shape[1]
        if size < 4 or size % 2:
            continue
        halves = table.reshape(-1, size // 2)
        across = np.concatenate([row.reshape(2, -1).T for row in table])
        if same_groups(halves, across, ordered=False):
            continue
        make = context.builder(site)
        (part,) = make.again(site.op, replica_groups=DeviceGroups(halves))
        make.again(site.op, (part,), into=site.op.results, replica_groups=DeviceGroups(across))
        yield Edit(str(site), "in two steps", with_ops(context.program, site, make.ops))
