"""Mutations of sums and other reductions across devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shardproof.validator.read.attributes import Comparison, DeviceGroups
from shardproof.validator.read.ir import DType, Op, Program, Region, TensorType, Value

from ..context import LINEAR, MOVES, Context, Edit, combiner, groups_of, is_float, is_number
from ..rewrite import Builder, Site, with_ops, without

IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})
NONLINEAR = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "cbrt", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic",
        "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tanh",
    )
)  # fmt: skip
_OTHER_REDUCER = {
    "add": "maximum", "maximum": "add", "minimum": "maximum", "multiply": "add", "and": "or", "or": "and", "xor": "or",
}  # fmt: skip


def single_sum(op: Op, reducer: str = "add") -> bool:
    """Whether an operation reduces one tensor by the named operation."""
    return len(op.operands) == 1 and bool(op.regions) and combiner(op.regions[0]) == reducer


def missing(context: Context) -> Iterator[Edit]:
    """K1: each all-reduce in turn is left out."""
    for site in context.named("all_reduce"):
        if "transpose(" not in site.op.location.op_name:
            yield Edit(str(site), "left out", without(context.program, site, site.op.operands))


def missing_in_gradient(context: Context) -> Iterator[Edit]:
    """K2: each all-reduce of the backward pass in turn is left out."""
    for site in context.named("all_reduce"):
        if "transpose(" in site.op.location.op_name:
            yield Edit(str(site), "left out of the backward pass", without(context.program, site, site.op.operands))


def twice(context: Context) -> Iterator[Edit]:
    """K3: each all-reduce in turn is done twice."""
    for site in context.named("all_reduce"):
        if combiner(site.op.regions[0]) in IDEMPOTENT:
            continue
        make = context.builder(site)
        once = make.again(site.op)
        make.again(site.op, once, into=site.op.results)
        yield Edit(str(site), "done twice", with_ops(context.program, site, make.ops))


def on_result(context: Context) -> Iterator[Edit]:
    """K3: a result is summed over all devices once more."""
    for number, result in enumerate(context.program.results):
        value = result.value
        if not isinstance(value.type, TensorType) or value.type.dtype.is_bool:
            continue
        make = Builder(context.program, result_location(context, value))
        groups = DeviceGroups(np.arange(context.program.num_devices, dtype=np.int64)[None, :])
        summed = make.emit(
            "all_reduce", (value,), value.type, replica_groups=groups, regions=(make.reducer("add", value.type.dtype),)
        )
        yield Edit(f"result {number}", "summed over all devices", with_result(context, number, make.ops, summed))


def result_location(context: Context, value: Value):
    """The location of the operation that makes a value, or that of its parameter."""
    definition = context.definitions.get(value)
    if definition is not None:
        return definition.location
    return next(parameter.location for parameter in context.program.parameters if parameter.value is value)


def with_result(context: Context, number: int, ops: list[Op], value: Value):
    """The program with operations added at its end and one result exchanged."""
    program = context.program
    results = [result.value for result in program.results]
    results[number] = value
    body = replace(program.body, ops=(*program.body.ops, *ops), results=tuple(results))
    rows = tuple(replace(row, value=new) for row, new in zip(program.results, results, strict=True))
    return replace(program, body=body, results=rows)


def gather_for_reduce(context: Context) -> Iterator[Edit]:
    """K4: an all-gather, of which the first block is kept, stands for an all-reduce."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        if len(site.op.operands) != 1 or table is None or site.op.operands[0].tensor.rank == 0:
            continue
        source = site.op.operands[0]
        make = context.builder(site)
        shape = source.tensor.shape
        wide = TensorType((shape[0] * table.shape[1], *shape[1:]), source.tensor.dtype)
        gathered = make.emit(
            "all_gather", (source,), wide, all_gather_dim=0, replica_groups=site.op.attributes["replica_groups"]
        )
        make.slice(gathered, (0,) * len(shape), shape, into=site.op.results[0])
        yield Edit(str(site), "all-gather in its place", with_ops(context.program, site, make.ops))


def reduce_for_gather(context: Context) -> Iterator[Edit]:
    """K4: an all-reduce, its result repeated, stands for an all-gather."""
    for site in context.named("all_gather"):
        table = groups_of(site.op)
        if len(site.op.operands) != 1 or table is None:
            continue
        source = site.op.operands[0]
        make = context.builder(site)
        name = "or" if source.tensor.dtype.is_bool else "add"
        summed = make.emit(
            "all_reduce",
            (source,),
            source.type,
            replica_groups=site.op.attributes["replica_groups"],
            regions=(make.reducer(name, source.tensor.dtype),),
        )
        make.concatenate([summed] * table.shape[1], site.op.attributes["all_gather_dim"], into=site.op.results[0])
        yield Edit(str(site), "all-reduce in its place", with_ops(context.program, site, make.ops))


def mean_for_sum(context: Context) -> Iterator[Edit]:
    """K5: a float sum across devices is divided by the number of its parts."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        if table is None or not single_sum(site.op) or site.op.operands[0].tensor.dtype.is_integer:
            continue
        make = context.builder(site)
        (summed,) = make.again(site.op)
        factor = make.constant(1 / table.shape[1], summed.tensor)
        make.elementwise("multiply", summed, factor, into=site.op.results[0])
        yield Edit(str(site), "mean in the place of the sum", with_ops(context.program, site, make.ops))


def scale(context: Context) -> Iterator[Edit]:
    """K5: a constant factor is left out, or applied twice."""
    for site in context.named("multiply", "divide"):
        left, right = site.op.operands
        if is_number(right) and context.is_constant(right) and not context.is_constant(left):
            kept = left
        elif site.op.name == "stablehlo.multiply" and context.is_constant(left) and not context.is_constant(right):
            kept = right
        else:
            continue
        if kept.tensor.dtype.is_integer:
            continue
        yield Edit(str(site), "constant factor left out", without(context.program, site, (kept,)))
        make = context.builder(site)
        once = make.again(site.op)[0]
        make.again(site.op, [once if value is kept else value for value in site.op.operands], into=site.op.results)
        yield Edit(str(site), "constant factor applied twice", with_ops(context.program, site, make.ops))


def other_reducer(context: Context) -> Iterator[Edit]:
    """K6: the reducer of a reduction is another one."""
    for site in context.named("all_reduce", "reduce_scatter", "reduce", "reduce_window"):
        region = site.op.regions[0]
        for number, inner in enumerate(region.ops):
            name = inner.name.removeprefix("stablehlo.")
            if name in _OTHER_REDUCER and combiner(region) is not None:
                other = _OTHER_REDUCER[name]
                if inner.operands[0].tensor.dtype.is_complex:
                    other = "multiply" if name == "add" else "add"
                changed = replace(inner, name=f"stablehlo.{other}")
                change = f"{other} for {name}"
            elif name == "compare":
                flipped = _FLIP.get(inner.attributes["comparison_direction"])
                if flipped is None:
                    continue
                changed = replace(inner, attributes={**inner.attributes, "comparison_direction": flipped})
                change = "comparison turned round"
            else:
                continue
            fresh = Region(region.arguments, (*region.ops[:number], changed, *region.ops[number + 1 :]), region.results)
            op = replace(site.op, regions=(fresh, *site.op.regions[1:]))
            yield Edit(str(site), change, with_ops(context.program, site, [op]))


_FLIP = {
    Comparison.GT: Comparison.LT,
    Comparison.LT: Comparison.GT,
    Comparison.GE: Comparison.LE,
    Comparison.LE: Comparison.GE,
}


def nonlinear_before(context: Context) -> Iterator[Edit]:
    """K16: a non-linear operation, with the linear ones that lead to it, is applied to the partial sum."""
    for site in context.named("all_reduce"):
        if not single_sum(site.op):
            continue
        for user in context.sites:
            if user.path == site.path and _is_nonlinear(user.op):
                chain = context.chain(site.op.results[0], user.op.operands[0], LINEAR)
                if chain is not None:
                    program = _summed_after(context, site, user, [*chain, user.op])
                    yield Edit(str(user), "applied before the sum", program)


def _is_nonlinear(op: Op) -> bool:
    if op.name == "stablehlo.multiply":
        return op.operands[0] is op.operands[1]
    return op.name in NONLINEAR and is_float(op.results[0])


def _summed_after(context: Context, site: Site, user: Site, chain: list[Op]) -> Program:
    """The program in which a chain from a sum across devices runs on the parts, and its last value is summed."""
    make = context.builder(user)
    partial = make.rerun(chain, site.op.results[0], site.op.operands[0])
    make.again(site.op, (partial,), into=user.op.results)
    return with_ops(context.program, user, make.ops)


def added_before(context: Context) -> Iterator[Edit]:
    """K17: what is added to a sum across devices is added on every device before it."""
    for site in context.named("all_reduce"):
        if not single_sum(site.op):
            continue
        for user in context.named("add", "subtract"):
            if user.path != site.path:
                continue
            for number, operand in enumerate(user.op.operands):
                chain = context.chain(site.op.results[0], operand, MOVES)
                other = context.chain(site.op.results[0], user.op.operands[1 - number], LINEAR)
                if chain is not None and other is None:
                    program = _summed_after(context, site, user, [*chain, user.op])
                    yield Edit(str(user), "added on every device before the sum", program)


def local_statistic(context: Context) -> Iterator[Edit]:
    """K18: one of several users of a reduced value takes the device's own part of it."""
    for site in context.named("all_reduce"):
        if len(site.op.operands) != 1:
            continue
        for value, uses in context.uses.items():
            if len(uses) < 2:
                continue
            chain = context.chain(site.op.results[0], value, LINEAR)
            if chain is None:
                continue
            for user, number in uses:
                make = context.builder(user)
                own = make.rerun(chain, site.op.results[0], site.op.operands[0])
                operands = (*user.op.operands[:number], own, *user.op.operands[number + 1 :])
                program = with_ops(context.program, user, [*make.ops, replace(user.op, operands=operands)])
                yield Edit(str(user), f"local part of {value.name} taken", program)


def half_groups(context: Context) -> Iterator[Edit]:
    """K18: a reduction covers only half of each of its groups."""
    for site in context.named("all_reduce"):
        table = groups_of(site.op)
        if table is None or table.shape[1] < 4 or table.shape[1] % 2:
            continue
        groups = DeviceGroups(table.reshape(-1, table.shape[1] // 2))
        op = replace(site.op, attributes={**site.op.attributes, "replica_groups": groups})
        yield Edit(str(site), "over half of each group", with_ops(context.program, site, [op]))


def narrowed_before(context: Context) -> Iterator[Edit]:
    """K27: parts are narrowed to a smaller float before they are summed."""
    for site in context.named("all_reduce", "reduce_scatter"):
        if not single_sum(site.op) or site.op.operands[0].tensor.dtype not in {DType.F32, DType.F64}:
            continue
        make = context.builder(site)
        part = make.convert(site.op.operands[0], DType.BF16)
        kind = TensorType(site.op.results[0].tensor.shape, DType.BF16)
        short = site.op.name.removeprefix("stablehlo.")
        summed = make.emit(short, (part,), kind, regions=(make.reducer("add", DType.BF16),), **dict(site.op.attributes))
        make.convert(summed, site.op.results[0].tensor.dtype, into=site.op.results[0])
        yield Edit(str(site), "narrowed to bf16 before the sum", with_ops(context.program, site, make.ops))


def sliced_before(context: Context) -> Iterator[Edit]:
    """K15: each device takes its own slice before the sum instead of after it."""
    for site in context.named("all_reduce"):
        if len(site.op.operands) != 1:
            continue
        for user, number in context.uses_of(site.op.results[0]):
            starts = user.op.operands[1:]
            if user.op.name != "stablehlo.dynamic_slice" or number != 0 or user.path != site.path:
                continue
            if any(start in context.device_values for start in starts):
                make = context.builder(user)
                (part,) = make.again(user.op, (site.op.operands[0], *starts))
                make.again(site.op, (part,), into=user.op.results)
                yield Edit(str(user), "sliced before the sum", with_ops(context.program, user, make.ops))
    yield from _scattered_before(context)


def _scattered_before(context: Context) -> Iterator[Edit]:
    if not context.one_kind_of_device:
        return
    for site in context.named("reduce_scatter"):
        table = groups_of(site.op)
        if table is None or len(site.op.operands) != 1:
            continue
        make = context.builder(site)
        (part,) = own_block(make, context, site, table, site.op.operands[0], site.op.attributes["scatter_dimension"])
        make.emit(
            "all_reduce",
            (part,),
            part.type,
            into=site.op.results[0],
            replica_groups=site.op.attributes["replica_groups"],
            regions=(make.copy_region(site.op.regions[0]),),
        )
        yield Edit(str(site), "sliced before the sum", with_ops(context.program, site, make.ops))


def own_block(
    make: Builder, context: Context, site: Site, table: np.ndarray, value: Value, dimension: int
) -> tuple[Value]:
    """The block of `value` that is the device's by its place in its group."""
    kind = site.op.results[0].tensor
    place = np.zeros(context.program.num_devices, dtype=np.int64)
    place[table] = np.arange(table.shape[1])[None, :] * kind.shape[dimension]
    zero = make.constant(0, TensorType((), DType.I32))
    start = make.per_device(place.tolist(), DType.I32)
    starts = [start if dim == dimension else zero for dim in range(kind.rank)]
    return (make.emit("dynamic_slice", (value, *starts), kind, slice_sizes=kind.shape),)
