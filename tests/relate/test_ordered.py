"""Reductions that keep an order: argmax in stages, right and broken, and the laws of reducers."""

import itertools

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.evaluate.regions import RegionCall
from shardproof.validator.ops.choosers import Laws, absorbs, choices_of, laws_of
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Op, Program

from .pairs import Tensor, differs, program, proved

ARGMAX = """
  reducer(%v: tensor<T>, %w: tensor<T>) (%i: tensor<i32>, %j: tensor<i32>) {
    %g = stablehlo.compare GT, %v, %w : (tensor<T>, tensor<T>) -> tensor<i1>
    %n = stablehlo.compare NE, %v, %v : (tensor<T>, tensor<T>) -> tensor<i1>
    %o = stablehlo.or %g, %n : tensor<i1>
    %x = stablehlo.select %o, %v, %w : tensor<i1>, tensor<T>
    %e = stablehlo.compare EQ, %v, %w : (tensor<T>, tensor<T>) -> tensor<i1>
    %l = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %a = stablehlo.and %e, %l : tensor<i1>
    %p = stablehlo.or %o, %a : tensor<i1>
    %y = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %x, %y : tensor<T>, tensor<i32>
  }"""
COPY = "stablehlo.optimization_barrier"
LAST_EQUAL = ARGMAX.replace("compare LT, %i", "compare GT, %i")
NOT_ASSOCIATIVE = ARGMAX.replace("or %o, %a", "or %g, %a")


def reduced(name: str, value: Tensor, index: Tensor, result: Tensor, axis: int, region: str) -> str:
    out = f"tensor<{''.join(f'{n}x' for n in result.shape)}{value.dtype}>"
    return (
        f"%{name}:2 = stablehlo.reduce(%{name}_v init: %low), (%{name}_i init: %zero) across dimensions = [{axis}] : "
        f"({value}, {index}, tensor<{value.dtype}>, tensor<i32>) -> ({out}, {result})"
        f"{region.replace('tensor<T>', f'tensor<{value.dtype}>')}\n"
    )


def constants(dtype: str) -> str:
    low = "0xFF800000" if dtype == "f32" else "-2147483648"
    return (
        f"%low = stablehlo.constant dense<{low}> : tensor<{dtype}>\n%zero = stablehlo.constant dense<0> : tensor<i32>\n"
    )


def whole(rows: int, columns: int, devices: int, dtype: str, region: str, sharding: str) -> Program:
    x, index, out = Tensor((rows, columns), dtype, sharding), Tensor((rows, columns), "i32"), Tensor((rows,), "i32")
    body = (
        constants(dtype)
        + f"%r_i = stablehlo.iota dim = 1 : {index}\n%r_v = {COPY} %a0 : {x}\n"
        + reduced("r", x, index, out, 1, region)
        + f"%out = {COPY} %r#1 : {out}\n"
    )
    return program(body, [x], out, devices)


def in_stages(
    rows: int,
    columns: int,
    devices: int,
    dtype: str,
    region: str,
    sharding: str,
    *,
    offset: int = 0,
    masked: bool = True,
    order: list[int] | None = None,
    combined: str | None = None,
) -> Program:
    """A reduction of each device's columns, a gather of both components, a reduction of those."""
    width = -(-columns // devices)
    local, index = Tensor((rows, width), dtype, sharding), Tensor((rows, width), "i32")
    mask, part = Tensor((rows, width), "i1"), Tensor((rows,), "i32")
    every, every_index = Tensor((rows, devices), dtype), Tensor((rows, devices), "i32")
    one, one_index = Tensor((rows, 1), dtype), Tensor((rows, 1), "i32")
    groups = f"dense<[{order or list(range(devices))}]> : tensor<1x{devices}xi64>"
    gather = (
        f"{{all_gather_dim = 1 : i64, replica_groups = {groups}, "
        "channel_handle = #stablehlo.channel_handle<handle = N, type = 1>, use_global_device_ids}"
    )
    starts = f"dense<{[d * width + offset for d in range(devices)]}> : tensor<{devices}xi32>"
    body = constants(dtype) + (
        f"%table = stablehlo.constant {starts}\n%id = stablehlo.partition_id : tensor<ui32>\n"
        f"%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : "
        f"(tensor<{devices}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
        f"%start = stablehlo.broadcast_in_dim %at, dims = [1] : (tensor<1xi32>) -> {index}\n"
        + f"%iota = stablehlo.iota dim = 1 : {index}\n%position = stablehlo.add %iota, %start : {index}\n"
        + f"%end = stablehlo.constant dense<{columns}> : {index}\n"
        + f"%inside = stablehlo.compare LT, %position, %end : ({index}, {index}) -> {mask}\n"
        + f"%lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<{dtype}>) -> {local}\n"
        + f"%zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<i32>) -> {index}\n"
        + (
            f"%r_v = stablehlo.select %inside, %a0, %lows : {mask}, {local}\n"
            f"%r_i = stablehlo.select %inside, %position, %zeros : {mask}, {index}\n"
            if masked
            else f"%r_v = {COPY} %a0 : {local}\n%r_i = {COPY} %position : {index}\n"
        )
        + reduced("r", local, index, part, 1, region)
        + f"%one = stablehlo.reshape %r#0 : (tensor<{rows}x{dtype}>) -> {one}\n"
        + f"%one_i = stablehlo.reshape %r#1 : ({part}) -> {one_index}\n"
        + f'%s_v = "stablehlo.all_gather"(%one) {gather.replace("N", "1")} : ({one}) -> {every}\n'
        + f'%s_i = "stablehlo.all_gather"(%one_i) {gather.replace("N", "2")} : ({one_index}) -> {every_index}\n'
        + reduced("s", every, every_index, part, 1, combined or region)
        + f"%out = {COPY} %s#1 : {part}\n"
    )
    return program(body, [local], part, devices)


@pytest.mark.parametrize(("rows", "columns", "devices"), [(2, 12, 3), (3, 8, 4), (1, 10, 4), (2, 7, 3), (2, 9, 6)])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_argmax_in_stages(rows: int, columns: int, devices: int, dtype: str):
    sharding = f"{{devices=[1,{devices}]<=[{devices}]}}"
    before = whole(rows, columns, devices, dtype, ARGMAX, sharding)
    # a column beyond the end is the start value, which counts for nothing
    right = in_stages(rows, columns, devices, dtype, ARGMAX, sharding)
    assert proved(before, right, Theory.EXACT)
    assert not differs(before, right)
    assert not proved(before, in_stages(rows, columns, devices, dtype, ARGMAX, sharding, offset=1))
    assert not proved(before, in_stages(rows, columns, devices, dtype, ARGMAX, sharding, combined=LAST_EQUAL))
    assert not proved(before, in_stages(rows, columns, devices, dtype, LAST_EQUAL, sharding))
    if columns % devices:
        assert not proved(before, in_stages(rows, columns, devices, dtype, ARGMAX, sharding, masked=False))


def test_the_order_of_devices_matters_to_nan_only():
    sharding, order = "{devices=[1,3]<=[3]}", [1, 0, 2]
    for dtype, commutes in (("f32", False), ("i32", True)):
        before = whole(2, 12, 3, dtype, ARGMAX, sharding)
        after = in_stages(2, 12, 3, dtype, ARGMAX, sharding, order=order)
        assert proved(before, after) == commutes
        assert not commutes or not differs(before, after)


def test_order_follows_the_sharding():
    sharding, order = "{devices=[1,3]2,0,1}", [2, 0, 1]
    before = whole(2, 12, 3, "f32", ARGMAX, sharding)
    table = in_stages(2, 12, 3, "f32", ARGMAX, sharding, order=order)
    assert not proved(before, table), "the positions are still those of the devices' numbers"


def test_a_reducer_that_is_not_associative_is_no_ordered_reduction():
    sharding = "{devices=[1,3]<=[3]}"
    before = whole(2, 12, 3, "f32", NOT_ASSOCIATIVE, sharding)
    assert not proved(before, in_stages(2, 12, 3, "f32", NOT_ASSOCIATIVE, sharding))


def reducer(region: str, dtype: str) -> Op:
    made = whole(1, 2, 1, dtype, region, "{replicated}")
    return next(op for op in made.body.ops if op.name == "stablehlo.reduce")


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("region", [ARGMAX, LAST_EQUAL, NOT_ASSOCIATIVE])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_laws_are_those_of_the_evaluator(region: str, dtype: str):
    op = reducer(region, dtype)
    values = SPECIAL if dtype == "f32" else [-(2**31), -1, 0, 1, 2**31 - 1]
    tuples = list(itertools.product(values, [-1, 0, 1]))
    triples = list(itertools.product(tuples, repeat=3))
    types = (np.float32 if dtype == "f32" else np.int32, np.int32)
    columns = [[np.array([t[k][c] for t in triples], types[c]) for c in range(2)] for k in range(3)]

    def apply(left: list[np.ndarray], right: list[np.ndarray]) -> list[np.ndarray]:
        return Machine(1, Native()).call(RegionCall(op.regions[0], [*left, *right], np.zeros(len(triples), np.int64)))

    def same(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
        return all(np.array_equal(a.view(np.int32), b.view(np.int32)) for a, b in zip(left, right, strict=True))

    x, y, z = columns
    found = laws_of(op.regions[0])
    assert found == Laws(
        same(apply(apply(x, y), z), apply(x, apply(y, z))),
        # a NaN is some NaN: which one is chosen does not show in the evaluator's bits, but first and last index do
        same(apply(x, y), apply(y, x)),
        same(apply(x, x), x),
    )


@pytest.mark.parametrize(
    ("start", "expected"), [((-np.inf, 0), True), ((0.0, 0), False), ((-np.inf, 5), True), ((np.inf, 0), True)]
)
def test_start_values(start: tuple[float, int], expected: bool):
    # inf wins over everything wherever it stands; 0 stands for -0 or not, depending on its place
    assert absorbs(reducer(ARGMAX, "f32").regions[0], start) == expected


def test_a_reducer_that_computes_is_refused():
    adding = ARGMAX.replace("stablehlo.select %o, %v, %w : tensor<i1>, tensor<T>", "stablehlo.add %v, %w : tensor<T>")
    region = reducer(adding, "f32").regions[0]
    assert laws_of(region) is None
    assert not absorbs(region, (-np.inf, 0))


WITHOUT_NAN = ARGMAX.replace("stablehlo.or %g, %n", "stablehlo.or %g, %g").replace("or %o, %a", "or %a, %o")
OR_EQUAL = ARGMAX.replace("compare GT, %v", "compare GE, %v")


def test_what_a_reducer_chooses_tells_which_function_it_is():
    """However it is written; that an integer is not itself is never so, of a float it may be."""

    def chosen(text: str, dtype: str) -> str | None:
        return choices_of(reducer(text, dtype).regions[0])

    assert chosen(ARGMAX, "i32") == chosen(WITHOUT_NAN, "i32") is not None
    assert chosen(ARGMAX, "f32") != chosen(WITHOUT_NAN, "f32")
    for other in (LAST_EQUAL, NOT_ASSOCIATIVE):
        assert chosen(ARGMAX, "f32") != chosen(other, "f32")
    assert chosen(ARGMAX, "i32") != chosen(LAST_EQUAL, "i32")
    assert chosen(ARGMAX, "f32") != chosen(OR_EQUAL, "f32")
    assert chosen(ARGMAX, "i32") != chosen(ARGMAX, "i64")
    adding = ARGMAX.replace("stablehlo.select %o, %v, %w : tensor<i1>, tensor<T>", "stablehlo.add %v, %w : tensor<T>")
    assert chosen(adding, "f32") is None
