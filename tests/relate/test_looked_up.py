"""The place of an extreme, found among what devices found in their parts and looked up there: right and broken."""

import itertools

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.evaluate.regions import RegionCall
from shardproof.validator.ops.choosers import extreme_of
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, differs, program, proved
from .test_ordered import (
    ARGMAX,
    COPY,
    LAST_EQUAL,
    NOT_ASSOCIATIVE,
    OR_EQUAL,
    SPECIAL,
    constants,
    reduced,
    reducer,
    whole,
)

ARGMIN = ARGMAX.replace("compare GT, %v", "compare LT, %v")


def looked_up(
    rows: int,
    width: int,
    devices: int,
    dtype: str,
    *,
    step: int | None = None,
    first: int = 0,
    order: list[int] | None = None,
    region: str = ARGMAX,
    combined: str = ARGMAX,
    value: str = "largest",
    iota: int = 0,
) -> Program:
    """Each device's place in its part, moved by `step` a device, where the largest of all `value`s is."""
    local, index = Tensor((rows, width), dtype, f"{{devices=[1,{devices}]<=[{devices}]}}"), Tensor((rows, width), "i32")
    part, part_value = Tensor((rows,), "i32"), Tensor((rows,), dtype)
    every, every_index = Tensor((rows, devices), dtype), Tensor((rows, devices), "i32")
    one, one_index = Tensor((rows, 1), dtype), Tensor((rows, 1), "i32")
    starts = [first + d * (width if step is None else step) for d in range(devices)]

    def gathered(name: str, of: str, handle: int, before: Tensor, after: Tensor) -> str:
        groups = f"dense<[{order or list(range(devices))}]> : tensor<1x{devices}xi64>"
        return (
            f'%{name} = "stablehlo.all_gather"({of}) {{all_gather_dim = 1 : i64, replica_groups = {groups}, '
            f"channel_handle = #stablehlo.channel_handle<handle = {handle}, type = 1>, use_global_device_ids}} : "
            f"({before}) -> {after}\n"
        )

    body = constants(dtype) + (
        f"%table = stablehlo.constant dense<{starts}> : tensor<{devices}xi32>\n"
        "%id = stablehlo.partition_id : tensor<ui32>\n"
        "%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : "
        f"(tensor<{devices}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
        f"%start = stablehlo.broadcast_in_dim %at, dims = [0] : (tensor<1xi32>) -> {part}\n"
        f"%zeros = stablehlo.constant dense<{iota}> : {index}\n"
        f"%iota = stablehlo.iota dim = 1 : {index}\n"
        f"%r_v = {COPY} %a0 : {local}\n%r_i = stablehlo.add %iota, %zeros : {index}\n"
    )
    body += reduced("r", local, index, part, 1, region) + f"%mine = stablehlo.add %r#1, %start : {part}\n"
    body += (
        f"%largest = stablehlo.reduce(%a0 init: %low) applies stablehlo.maximum across dimensions = [1] : "
        f"({local}, tensor<{dtype}>) -> {part_value}\n%chosen = {COPY} %r#0 : {part_value}\n"
        f"%column = stablehlo.slice %a0 [0:{rows}, 0:1] : ({local}) -> {one}\n"
        f"%first = stablehlo.reshape %column : ({one}) -> {part_value}\n"
        f"%one = stablehlo.reshape %{value} : ({part_value}) -> {one}\n"
        f"%one_i = stablehlo.reshape %mine : ({part}) -> {one_index}\n"
    )
    body += gathered("s_v", "%one", 1, one, every) + gathered("places", "%one_i", 2, one_index, every_index)
    body += f"%s_i = stablehlo.iota dim = 1 : {every_index}\n" + reduced("s", every, every_index, part, 1, combined)
    body += f"%whose = stablehlo.reshape %s#1 : ({part}) -> {one_index}\n"
    body += (
        '%found = "stablehlo.gather"(%places, %whose) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = '
        "[1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], "
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : "
        f"({every_index}, {one_index}) -> {part}\n%out = {COPY} %found : {part}\n"
    )
    return program(body, [local], part, devices)


@pytest.mark.parametrize(("rows", "width", "devices"), [(2, 4, 3), (3, 2, 4), (1, 1, 6)])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_places_in_parts(rows: int, width: int, devices: int, dtype: str) -> None:
    before = whole(rows, width * devices, devices, dtype, ARGMAX, f"{{devices=[1,{devices}]<=[{devices}]}}")
    for value in ("largest", "chosen"):
        after = looked_up(rows, width, devices, dtype, value=value)
        assert proved(before, after, Theory.EXACT)
        assert not differs(before, after)


@pytest.mark.parametrize(
    "changes",
    [
        {"step": 5},
        {"step": 3},
        {"first": 1},
        {"value": "first"},
        {"region": LAST_EQUAL},
        {"combined": LAST_EQUAL},
        {"combined": ARGMIN},
        {"region": ARGMIN, "combined": ARGMIN},
        {"order": [1, 0, 2]},
        {"iota": 1, "first": -1},  # an extreme that equals the start value is at 0 then, one before the part
    ],
)
def test_other_places_are_not_proved(changes: dict[str, object]) -> None:
    before = whole(2, 12, 3, "f32", ARGMAX, "{devices=[1,3]<=[3]}")
    assert not proved(before, looked_up(2, 4, 3, "f32", **changes))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("region", [ARGMAX, ARGMIN, LAST_EQUAL, OR_EQUAL, NOT_ASSOCIATIVE])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_reducers_that_find_an_extreme_do_so_in_the_evaluator(region: str, dtype: str) -> None:
    """The place in growing places is that of a value that no comparison tells from the extreme."""
    values = SPECIAL if dtype == "f32" else [-(2**31), -1, 0, 1, 2**31 - 1]
    types = (np.float32 if dtype == "f32" else np.int32, np.int32)
    low = values[5] if dtype == "f32" else values[0]
    rows = np.array(list(itertools.product(values, repeat=3)), types[0])
    start = [np.full(len(rows), number, type_) for number, type_ in zip((low, 0), types, strict=True)]
    op, number = reducer(region, dtype), np.zeros(len(rows), np.int64)
    found = start
    for place in range(3):
        given = [rows[:, place], np.full(len(rows), place, np.int32)]
        found = Machine(1, Native()).call(RegionCall(op.regions[0], [*found, *given], number))
    monoid = extreme_of(op.regions[0], (low, 0))
    # without its start value, ARGMIN has no law; what is not associative loses the place of NaN
    finds = region in (ARGMAX, LAST_EQUAL, OR_EQUAL) or (region, dtype) == (NOT_ASSOCIATIVE, "i32")
    assert monoid is (Monoid.MAX if finds else None)
    if finds:
        there = np.take_along_axis(rows, found[1].astype(np.int64)[:, None], 1)[:, 0]
        assert np.array_equal(there, rows.max(1), equal_nan=True)
        assert np.array_equal(there, found[0], equal_nan=True)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("select %p, %i, %j", "select %p, %j, %i"),  # the other one's place
        ("select %o, %v, %w", "select %g, %w, %v"),  # the other one's value
        ("or %o, %a", "or %g, %a"),  # the place of something else than the value NaN
    ],
)
def test_reducers_that_find_something_else(right: str, wrong: str) -> None:
    region = ARGMAX.replace(right, wrong)
    assert region != ARGMAX
    assert extreme_of(reducer(region, "f32").regions[0], (-np.inf, 0)) is None


def test_values_and_places_are_kept_apart() -> None:
    """Of integers, where a place may be compared to a value."""
    region = ARGMAX.replace("compare LT, %i, %j", "compare LT, %i, %w")
    assert extreme_of(reducer(ARGMAX, "i32").regions[0], (-(2**31), 0)) is Monoid.MAX
    assert extreme_of(reducer(region, "i32").regions[0], (-(2**31), 0)) is None
