"""Mutations of loops and of scatter's combination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.attributes import Comparison, DeviceGroups
from shardproof.validator.read.ir import Region, TensorType, Value

from ..context import Context, Edit, combiner, is_integral
from ..rewrite import Builder, Path, region_at, with_attributes, with_ops, with_region, without
from .reductions import single_sum


def _reaches(region: Region, start: Value) -> set[Value]:
    """What depends on a value inside its region."""
    known = {start}
    for op in region.ops:
        if any(value in known for value in op.operands):
            known.update(op.results)
    return known


def moved_out(context: Context) -> Iterator[Edit]:
    """K23: an all-reduce in a loop's body is done once, on what the loop returns."""
    for site in context.named("all_reduce"):
        if not site.path or len(site.op.operands) != 1:
            continue
        *outer, (index, number) = site.path
        loop_path: Path = tuple(outer)
        holder = region_at(context.program, loop_path).ops[index]
        if holder.name != "stablehlo.while" or number != 1:
            continue
        body = holder.regions[1]
        reached = _reaches(body, site.op.results[0])
        for carry, returned in enumerate(body.results):
            if returned not in reached or not isinstance(returned.type, TensorType) or is_integral(returned):
                continue
            make = context.builder(site)
            raw = make.fresh(returned.type)
            make.emit(
                "all_reduce",
                (raw,),
                returned.type,
                into=holder.results[carry],
                replica_groups=site.op.attributes["replica_groups"],
                regions=(make.reducer("add", returned.type.dtype),),
            )
            program = without(context.program, site, site.op.operands)
            region = region_at(program, loop_path)
            loop = region.ops[index]
            results = (*loop.results[:carry], raw, *loop.results[carry + 1 :])
            ops = (*region.ops[:index], replace(loop, results=results), *make.ops, *region.ops[index + 1 :])
            yield Edit(
                str(site),
                f"done after the loop on carry {carry}",
                with_region(program, loop_path, replace(region, ops=ops)),
            )


def moved_in(context: Context) -> Iterator[Edit]:
    """K23: a float carry is summed over all devices in each trip."""
    groups = DeviceGroups(np.arange(context.program.num_devices, dtype=np.int64)[None, :])
    for site in context.named("while"):
        body = site.op.regions[1]
        path = (*site.path, (site.index, 1))
        for carry, returned in enumerate(body.results):
            if not isinstance(returned.type, TensorType) or is_integral(returned) or returned in body.arguments:
                continue
            make = Builder(context.program, site.op.location)
            reducer = make.reducer("add", returned.type.dtype)
            summed = make.emit("all_reduce", (returned,), returned.type, replica_groups=groups, regions=(reducer,))
            results = (*body.results[:carry], summed, *body.results[carry + 1 :])
            region = replace(body, ops=(*body.ops, *make.ops), results=results)
            yield Edit(str(site), f"carry {carry} summed in each trip", with_region(context.program, path, region))


def accumulated_sum(context: Context) -> Iterator[Edit]:
    """K24: a loop sums the accumulated value across devices in place of each trip's part."""
    for site in context.named("all_reduce"):
        if not site.path or not single_sum(site.op):
            continue
        arguments = region_at(context.program, site.path).arguments
        for user, number in context.uses_of(site.op.results[0]):
            other = user.op.operands[1 - number] if len(user.op.operands) == 2 else None
            if user.op.name == "stablehlo.add" and user.path == site.path and other in arguments:
                make = context.builder(user)
                operands = [site.op.operands[0] if value is site.op.results[0] else value for value in user.op.operands]
                (partial,) = make.again(user.op, operands)
                make.again(site.op, (partial,), into=user.op.results)
                yield Edit(str(user), "accumulated before the sum", with_ops(context.program, user, make.ops))


def accumulated_once(context: Context) -> Iterator[Edit]:
    """K24: only the last trip's part is kept, or nothing is added."""
    for site in context.named("add"):
        if not site.path or is_integral(site.op.results[0]):
            continue
        region = region_at(context.program, site.path)
        left, right = site.op.operands
        for carried, part in ((left, right), (right, left)):
            if carried in region.arguments and part not in region.arguments:
                yield Edit(str(site), "only this trip's part kept", without(context.program, site, (part,)))
                yield Edit(str(site), "nothing added", without(context.program, site, (carried,)))


def trip_count(context: Context) -> Iterator[Edit]:
    """K24: a loop makes one trip more."""
    one_more = {Comparison.LT: Comparison.LE, Comparison.GT: Comparison.GE}
    for site in context.named("compare"):
        inside = bool(site.path) and site.path[-1][1] == 0
        if not inside or region_at(context.program, site.path[:-1]).ops[site.path[-1][0]].name != "stablehlo.while":
            continue
        other = one_more.get(site.op.attributes["comparison_direction"])
        if other is not None and is_integral(site.op.operands[0]):
            yield Edit(str(site), "one trip more", with_attributes(context.program, site, comparison_direction=other))


def scatter_sets(context: Context) -> Iterator[Edit]:
    """K29: updates of one element overwrite each other instead of being combined."""
    for site in context.named("scatter"):
        region = site.op.regions[0]
        if combiner(region) is None:
            continue
        op = replace(site.op, regions=(replace(region, ops=(), results=region.arguments[1:]),))
        yield Edit(str(site), "updates overwrite", with_ops(context.program, site, [op]))
