"""Mutations of who talks to whom: groups, pairs, dimensions and block order of collectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.attributes import DeviceGroups, DevicePairs
from shardproof.validator.read.ir import TensorType

from ..context import Context, Edit, combiner, groups_of
from ..rewrite import Site, with_attributes, with_ops, without
from .reductions import IDEMPOTENT

_GROUPED = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def same_groups(left: np.ndarray, right: np.ndarray, ordered: bool) -> bool:
    """Whether two group tables mean the same; order in a group matters only to collectives that place blocks."""
    if left.shape != right.shape:
        return False
    if not ordered:
        left, right = np.sort(left), np.sort(right)
    return sorted(left.tolist()) == sorted(right.tolist())


def _regrouped(context: Context, site: Site, table: np.ndarray, change: str) -> Iterator[Edit]:
    old = groups_of(site.op)
    if old is not None and not same_groups(old, table, site.op.name != "stablehlo.all_reduce"):
        program = with_attributes(context.program, site, replica_groups=DeviceGroups(table))
        yield Edit(str(site), change, program)


def wrong_groups(context: Context) -> Iterator[Edit]:
    """K7: all devices for the subgroup, the transposed mesh, the neighbour's groups."""
    count = context.program.num_devices
    for site in context.named(*_GROUPED):
        table = groups_of(site.op)
        if table is None:
            continue
        if site.op.name == "stablehlo.all_reduce":
            everyone = np.arange(count, dtype=np.int64)[None, :]
            yield from _regrouped(context, site, everyone, "over all devices")
        flat = table.ravel()
        transposed = np.ascontiguousarray(flat.reshape(table.shape[1], table.shape[0]).T)
        yield from _regrouped(context, site, transposed, "groups of the transposed mesh")
        yield from _regrouped(context, site, (table + 1) % count, "groups shifted by one device")


def wrong_dimension(context: Context) -> Iterator[Edit]:
    """K8: an all-gather or reduce-scatter works on another dimension, the result reshaped to fit."""
    for site in context.named("all_gather"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1:
            continue
        source = site.op.operands[0].tensor
        right = site.op.attributes["all_gather_dim"]
        for wrong in range(source.rank):
            if wrong == right or source.shape[right] == 1 == source.shape[wrong]:
                continue
            make = context.builder(site)
            shape = list(source.shape)
            shape[wrong] *= table.shape[1]
            wide = make.fresh(TensorType(tuple(shape), source.dtype))
            make.again(site.op, into=(wide,), all_gather_dim=wrong)
            make.reshape(wide, site.op.results[0].tensor.shape, into=site.op.results[0])
            yield Edit(str(site), f"on dimension {wrong}", with_ops(context.program, site, make.ops))
    for site in context.named("reduce_scatter"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1:
            continue
        source = site.op.operands[0].tensor
        for wrong in range(source.rank):
            if wrong == site.op.attributes["scatter_dimension"] or source.shape[wrong] % table.shape[1]:
                continue
            make = context.builder(site)
            shape = list(source.shape)
            shape[wrong] //= table.shape[1]
            narrow = make.fresh(TensorType(tuple(shape), source.dtype))
            make.again(site.op, into=(narrow,), scatter_dimension=wrong)
            make.reshape(narrow, site.op.results[0].tensor.shape, into=site.op.results[0])
            yield Edit(str(site), f"on dimension {wrong}", with_ops(context.program, site, make.ops))


def exchanged_dimension(context: Context) -> Iterator[Edit]:
    """K8: an all-to-all that splits and joins one dimension does so with another one."""
    for site in context.named("all_to_all"):
        table = groups_of(site.op)
        right = site.op.attributes["split_dimension"]
        if table is None or len(site.op.operands) != 1 or site.op.attributes["concat_dimension"] != right:
            continue
        for wrong, extent in enumerate(site.op.operands[0].tensor.shape):
            if wrong != right and extent % table.shape[1] == 0:
                program = with_attributes(context.program, site, split_dimension=wrong, concat_dimension=wrong)
                yield Edit(str(site), f"on dimension {wrong}", program)


def split_and_concat_swapped(context: Context) -> Iterator[Edit]:
    """K9: an all-to-all splits the dimension it should join and the reverse."""
    for site in context.named("all_to_all"):
        op = site.op
        table = groups_of(op)
        split, concat = op.attributes["split_dimension"], op.attributes["concat_dimension"]
        if table is None or len(op.operands) != 1 or split == concat:
            continue
        shape = list(op.operands[0].tensor.shape)
        if shape[concat] % table.shape[1]:
            continue
        shape[concat] //= table.shape[1]
        shape[split] *= table.shape[1]
        make = context.builder(site)
        swapped = make.fresh(TensorType(tuple(shape), op.results[0].tensor.dtype))
        make.again(op, into=(swapped,), split_dimension=concat, concat_dimension=split)
        make.reshape(swapped, op.results[0].tensor.shape, into=op.results[0])
        yield Edit(str(site), "split and concat swapped", with_ops(context.program, site, make.ops))


def block_order(context: Context) -> Iterator[Edit]:
    """K9: blocks come in reversed or rotated order."""
    for site in context.named("all_gather", "all_to_all", "reduce_scatter"):
        table = groups_of(site.op)
        if table is None:
            continue
        yield from _regrouped(context, site, np.ascontiguousarray(table[:, ::-1]), "blocks in reversed order")
        if table.shape[1] > 2:
            yield from _regrouped(context, site, np.roll(table, 1, axis=1), "blocks rotated")


def gathered_interleaved(context: Context) -> Iterator[Edit]:
    """K11: gathered blocks are interleaved, as if the minor factor of the dimension were sharded."""
    for site in context.named("all_gather"):
        table = groups_of(site.op)
        dimension = site.op.attributes["all_gather_dim"]
        if table is None or len(site.op.operands) != 1:
            continue
        source = site.op.operands[0].tensor
        block = source.shape[dimension]
        if block == 1 or table.shape[1] == 1:
            continue
        make = context.builder(site)
        (gathered,) = make.again(site.op)
        before, after = source.shape[:dimension], source.shape[dimension + 1 :]
        parts = make.reshape(gathered, (*before, table.shape[1], block, *after))
        order = list(range(source.rank + 1))
        order[dimension], order[dimension + 1] = dimension + 1, dimension
        woven = make.transpose(parts, order)
        make.reshape(woven, site.op.results[0].tensor.shape, into=site.op.results[0])
        yield Edit(str(site), "blocks interleaved", with_ops(context.program, site, make.ops))


def _repaired(context: Context, site: Site, table: np.ndarray, change: str) -> Iterator[Edit]:
    pairs = site.op.attributes["source_target_pairs"]
    if sorted(table.tolist()) != sorted(pairs.table.tolist()):
        program = with_attributes(context.program, site, source_target_pairs=DevicePairs(table))
        yield Edit(str(site), change, program)


def permute_pairs(context: Context) -> Iterator[Edit]:
    """K12: pairs reversed, one missing, shifted, or self pairs dropped."""
    for site in context.named("collective_permute"):
        table = site.op.attributes["source_target_pairs"].table
        yield from _repaired(context, site, np.ascontiguousarray(table[:, ::-1]), "pairs reversed")
        if len(table):
            for gone in sorted({0, len(table) - 1}):
                yield from _repaired(context, site, np.delete(table, gone, axis=0), f"pair {gone} missing")
            targets = np.stack([table[:, 0], np.roll(table[:, 1], 1)], axis=1)
            yield from _repaired(context, site, targets, "targets rotated")
        loops = table[:, 0] == table[:, 1]
        if loops.any():
            yield from _repaired(context, site, table[~loops], "self pairs dropped")


def own_copies_for_gather(context: Context) -> Iterator[Edit]:
    """K25: a sharded value is taken for a replicated one: the own block repeated stands for the gathered ones."""
    for site in context.named("all_gather"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1 or table.shape[1] == 1:
            continue
        make = context.builder(site)
        dimension = site.op.attributes["all_gather_dim"]
        make.concatenate([site.op.operands[0]] * table.shape[1], dimension, into=site.op.results[0])
        yield Edit(str(site), "own block repeated in its place", with_ops(context.program, site, make.ops))


def not_sent(context: Context) -> Iterator[Edit]:
    """K30: an all-to-all or permute is left out, so that what belongs to another shard stays."""
    for site in context.named("all_to_all", "collective_permute"):
        if [value.type for value in site.op.operands] == [value.type for value in site.op.results]:
            yield Edit(str(site), "left out", without(context.program, site, site.op.operands))
        elif len(site.op.operands) == 1:
            make = context.builder(site)
            make.reshape(site.op.operands[0], site.op.results[0].tensor.shape, into=site.op.results[0])
            yield Edit(str(site), "left out", with_ops(context.program, site, make.ops))


def reduce_groups_reordered(context: Context) -> Iterator[Edit]:
    """Benign: the order of groups, and of devices in them, says nothing to an all-reduce."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        if table is not None and table.size > 1:
            other = np.ascontiguousarray(table[::-1, ::-1])
            program = with_attributes(context.program, site, replica_groups=DeviceGroups(other))
            yield Edit(str(site), "groups reordered", program)


def idempotent_twice(context: Context) -> Iterator[Edit]:
    """Benign: a maximum, minimum, and, or over the same groups twice."""
    for site in context.named("all_reduce"):
        if combiner(site.op.regions[0]) in IDEMPOTENT:
            make = context.builder(site)
            once = make.again(site.op)
            make.again(site.op, once, into=site.op.results)
            yield Edit(str(site), "done twice", with_ops(context.program, site, make.ops))


def pairs_reordered(context: Context) -> Iterator[Edit]:
    """Benign: the order of permute pairs says nothing."""
    for site in context.named("collective_permute"):
        table = site.op.attributes["source_target_pairs"].table
        if len(table) > 1:
            op = replace(
                site.op, attributes={**site.op.attributes, "source_target_pairs": DevicePairs(table[::-1].copy())}
            )
            yield Edit(str(site), "pairs reordered", with_ops(context.program, site, [op]))
