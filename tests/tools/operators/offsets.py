"""Mutations of index arithmetic: device offsets, clamps, masks and slice bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.ir import TensorType, Value

from ..context import Context, Edit, is_integral
from ..rewrite import Builder, Site, with_attributes, with_ops, without
from .reductions import result_location, with_result

_CLOSER = {
    Comparison.LT: Comparison.LE,
    Comparison.LE: Comparison.LT,
    Comparison.GT: Comparison.GE,
    Comparison.GE: Comparison.GT,
    Comparison.EQ: Comparison.NE,
    Comparison.NE: Comparison.EQ,
}
_RANDOM_WORDS = ("threefry", "random_bits", "shuffle", "_uniform", "_normal", "bernoulli", "rng")


def _makes_random_bits(site: Site) -> bool:
    return any(word in site.op.location.op_name for word in _RANDOM_WORDS)


def _offset_tables(context: Context) -> Iterator[tuple[Site, Site]]:
    """Constants looked up by a device number: the constant's site and the look-up's."""
    constants = {site.op.results[0]: site for site in context.named("constant")}
    for site in context.named("dynamic_slice", "gather"):
        table = constants.get(site.op.operands[0])
        if table is not None and any(value in context.device_values for value in site.op.operands[1:]):
            yield table, site


def offset_table(context: Context) -> Iterator[Edit]:
    """K13: the table of device offsets is rolled, reversed, or one entry is another's."""
    for table, lookup in _offset_tables(context):
        old = np.asarray(table.op.attributes["value"])
        changed = {"rolled by one device": np.roll(old, 1), "reversed": np.ascontiguousarray(old[::-1])}
        if old.size > 1:
            last = old.copy()
            last.flat[-1] = last.flat[0]
            changed["last device given the first one's offset"] = last
        for change, new in changed.items():
            if not np.array_equal(new, old):
                make = context.builder(lookup)
                (other,) = make.again(table.op, value=new)
                operands = (other, *lookup.op.operands[1:])
                ops = [*make.ops, replace(lookup.op, operands=operands)]
                yield Edit(str(lookup), f"offset table {change}", with_ops(context.program, lookup, ops))


def offset_multiplier(context: Context) -> Iterator[Edit]:
    """K13: the factor between a device number and its offset is another one."""
    for site in context.named("multiply", "divide", "remainder"):
        if not is_integral(site.op.results[0]):
            continue
        for number, value in enumerate(site.op.operands):
            other = site.op.operands[1 - number]
            if other in context.device_values and value in context.index_values and context.is_constant(value):
                make = context.builder(site)
                greater = make.elementwise("add", value, make.constant(1, value.tensor))
                operands = [greater if position == number else old for position, old in enumerate(site.op.operands)]
                make.again(site.op, operands, into=site.op.results)
                yield Edit(str(site), "factor greater by one", with_ops(context.program, site, make.ops))


def device_number(context: Context) -> Iterator[Edit]:
    """K13: the device takes itself for its neighbour, or for device 0."""
    count = context.program.num_partitions
    for site in context.named("partition_id"):
        make = context.builder(site)
        (own,) = make.again(site.op)
        moved = make.elementwise("add", own, make.constant(1, own.tensor))
        make.elementwise("remainder", moved, make.constant(count, own.tensor), into=site.op.results[0])
        yield Edit(str(site), "taken for its neighbour's", with_ops(context.program, site, make.ops))
        make = context.builder(site)
        make.emit("constant", (), site.op.results[0].type, into=site.op.results[0], value=np.zeros((), dtype=np.uint32))
        yield Edit(str(site), "taken for 0", with_ops(context.program, site, make.ops))


def clamp_missing(context: Context) -> Iterator[Edit]:
    """K14: an index is not clamped."""
    for site in context.named("clamp"):
        if is_integral(site.op.results[0]) and site.op.operands[1].type == site.op.results[0].type:
            yield Edit(str(site), "left out", without(context.program, site, (site.op.operands[1],)))
    for site in context.named("minimum", "maximum"):
        left, right = site.op.operands
        if not is_integral(site.op.results[0]):
            continue
        for kept, bound in ((left, right), (right, left)):
            if bound in context.index_values and kept not in context.index_values:
                yield Edit(str(site), "bound left out", without(context.program, site, (kept,)))
    for site in context.named("select"):
        predicate, chosen, other = site.op.operands
        index = is_integral(site.op.results[0]) and site.op.results[0].tensor.rank == 0
        if index and not context.is_constant(chosen) and predicate not in context.index_values:
            yield Edit(str(site), "wrap of a negative index left out", without(context.program, site, (other,)))


def clamped_per_shard(context: Context) -> Iterator[Edit]:
    """K14: a run-time start is clamped to the first half of its range."""
    for site in context.named("dynamic_slice", "dynamic_update_slice"):
        first = 1 if site.op.name == "stablehlo.dynamic_slice" else 2
        shape = site.op.operands[0].tensor.shape
        window = site.op.results[0].tensor.shape if first == 1 else site.op.operands[1].tensor.shape
        for number, start in enumerate(site.op.operands[first:]):
            room = shape[number] - window[number]
            if room < 1 or start in context.index_values:
                continue
            make = context.builder(site)
            kind = start.tensor
            limit = make.constant((room - 1) // 2, kind)
            lower = make.elementwise("minimum", start, limit)
            operands = list(site.op.operands)
            operands[first + number] = lower
            make.again(site.op, operands, into=site.op.results)
            yield Edit(
                str(site), f"start {number} clamped to half its range", with_ops(context.program, site, make.ops)
            )


def _feeds_scatter(context: Context, value: Value) -> bool:
    return any(user.op.name == "stablehlo.scatter" and number == 0 for user, number in context.uses_of(value))


def index_mask(context: Context) -> Iterator[Edit]:
    """K19: a select by an index mask, such as that of uneven padding, gives its data branch everywhere."""
    for site, kept in _masks(context, by_data=False):
        if not _feeds_scatter(context, site.op.results[0]):
            yield Edit(str(site), "mask removed", without(context.program, site, (kept,)))


def base_on_every_device(context: Context) -> Iterator[Edit]:
    """K29: the base of a scatter is not masked, so every device adds it."""
    for site, kept in _masks(context, by_data=False):
        if _feeds_scatter(context, site.op.results[0]):
            yield Edit(str(site), "base taken on every device", without(context.program, site, (kept,)))


def range_mask(context: Context) -> Iterator[Edit]:
    """K26: the mask of indices out of the shard's range is missing."""
    for site, kept in _masks(context, by_data=True):
        yield Edit(str(site), "range mask removed", without(context.program, site, (kept,)))
    for site in context.named("and"):
        for number in (0, 1):
            if site.op.results[0].tensor.dtype.is_bool and site.op.results[0] in context.device_values:
                kept = site.op.operands[number]
                yield Edit(str(site), f"only condition {number} kept", without(context.program, site, (kept,)))


def _masks(context: Context, by_data: bool) -> Iterator[tuple[Site, Value]]:
    """Selects whose mask knows the position or the device, with the branch that is not a constant."""
    for site in context.named("select"):
        predicate, chosen, other = site.op.operands
        positional = predicate in context.index_values and not context.is_constant(predicate)
        ranged = predicate in context.device_values and not positional
        if (by_data and not ranged) or (not by_data and not positional):
            continue
        if chosen.type != site.op.results[0].type:
            continue
        for kept in (chosen, other):
            if kept not in context.index_values:
                yield site, kept


def offset_missing(context: Context) -> Iterator[Edit]:
    """K20: the shard's offset is not added to positions, or not subtracted from indices."""
    for site, kept in _offset_additions(context):
        if not _makes_random_bits(site):
            yield Edit(str(site), "offset of the shard left out", without(context.program, site, (kept,)))


def same_bits_on_every_shard(context: Context) -> Iterator[Edit]:
    """K28: random bits are drawn for the same positions on every shard."""
    for site, kept in _offset_additions(context):
        if _makes_random_bits(site):
            yield Edit(str(site), "offset of the shard left out", without(context.program, site, (kept,)))
    random: set[Value] = set()
    for site in context.sites:
        op = site.op
        if op.name in {"stablehlo.rng_bit_generator", "stablehlo.rng"} or (
            op.name not in {"stablehlo.while", "stablehlo.custom_call"}
            and any(value in random for value in op.operands)
        ):
            random.update(op.results)
    for site in context.named("dynamic_slice"):
        starts = site.op.operands[1:]
        if site.op.operands[0] in random and any(start in context.device_values for start in starts):
            yield _first_block(context, site)


def _offset_additions(context: Context) -> Iterator[tuple[Site, Value]]:
    for site in context.named("add", "subtract"):
        left, right = site.op.operands
        if not is_integral(site.op.results[0]) or site.op.results[0] not in context.device_values:
            continue
        if right in context.device_values and right in context.index_values and left not in context.device_values:
            yield site, left
        elif (
            site.op.name == "stablehlo.add"
            and left in context.device_values
            and left in context.index_values
            and right not in context.device_values
        ):
            yield site, right


def mask_bound(context: Context) -> Iterator[Edit]:
    """K20: the bound of a position, mask or vocabulary range is off by one."""
    for site in context.named("compare"):
        if site.op.results[0] not in context.device_values and site.op.results[0] not in context.index_values:
            continue
        if is_integral(site.op.operands[0]):
            other = _CLOSER[site.op.attributes["comparison_direction"]]
            program = with_attributes(context.program, site, comparison_direction=other)
            yield Edit(str(site), f"{other.value} in its place", program)


def first_block_everywhere(context: Context) -> Iterator[Edit]:
    """K25: a replicated value is taken for a sharded one: every device takes the first block."""
    tables = {lookup.op.results[0] for _, lookup in _offset_tables(context)}
    for site in context.named("dynamic_slice"):
        if site.op.results[0] not in tables and any(start in context.device_values for start in site.op.operands[1:]):
            yield _first_block(context, site)


def _first_block(context: Context, site: Site) -> Edit:
    make = context.builder(site)
    operands = [site.op.operands[0]]
    for start in site.op.operands[1:]:
        operands.append(make.constant(0, start.tensor) if start in context.device_values else start)
    make.again(site.op, operands, into=site.op.results)
    return Edit(str(site), "first block on every device", with_ops(context.program, site, make.ops))


def replica_differs(context: Context) -> Iterator[Edit]:
    """K25: one device's copy of a result differs."""
    if not context.one_kind_of_device or context.program.num_devices == 1:
        return
    for number, result in enumerate(context.program.results):
        value = result.value
        if not isinstance(value.type, TensorType) or value.type.dtype.is_bool:
            continue
        make = Builder(context.program, result_location(context, value))
        other = make.elementwise("add", value, make.constant(1, value.type))
        chosen = make.on_device(context.program.num_devices - 1, other, value)
        yield Edit(f"result {number}", "one more on the last device", with_result(context, number, make.ops, chosen))


def slice_bounds(context: Context) -> Iterator[Edit]:
    """K31: a slice begins one element early or late."""
    for site in context.named("slice"):
        shape = site.op.operands[0].tensor.shape
        starts, limits = site.op.attributes["start_indices"], site.op.attributes["limit_indices"]
        for dim, extent in enumerate(shape):
            step = 1 if limits[dim] < extent else -1
            if starts[dim] + step < 0:
                continue
            program = with_attributes(
                context.program,
                site,
                start_indices=_moved(starts, dim, step),
                limit_indices=_moved(limits, dim, step),
            )
            yield Edit(str(site), f"moved by {step} on dimension {dim}", program)


def _moved(numbers, dim: int, step: int) -> tuple[int, ...]:
    return tuple(int(number) + (step if position == dim else 0) for position, number in enumerate(numbers))


def start_moved(context: Context) -> Iterator[Edit]:
    """K13: the start of a device's slice is one element late."""
    tables = {lookup.op.results[0] for _, lookup in _offset_tables(context)}
    for site in context.named("dynamic_slice", "dynamic_update_slice"):
        first = 1 if site.op.name == "stablehlo.dynamic_slice" else 2
        if site.op.results[0] in tables:
            continue
        for number, start in enumerate(site.op.operands[first:]):
            if start in context.device_values:
                make = context.builder(site)
                late = make.elementwise("add", start, make.constant(1, start.tensor))
                ops = [*make.ops, replace(site.op, operands=_with(site.op.operands, first + number, late))]
                yield Edit(str(site), f"start {number} one late", with_ops(context.program, site, ops))


def _with(operands: tuple[Value, ...], number: int, value: Value) -> tuple[Value, ...]:
    return (*operands[:number], value, *operands[number + 1 :])


def iota_dimension(context: Context) -> Iterator[Edit]:
    """K20: positions run along another dimension."""
    for site in context.named("iota"):
        kind = site.op.results[0].tensor
        own = site.op.attributes["iota_dimension"]
        for dim, extent in enumerate(kind.shape):
            if dim != own and (extent > 1 or kind.shape[own] > 1):
                program = with_attributes(context.program, site, iota_dimension=dim)
                yield Edit(str(site), f"along dimension {dim}", program)
