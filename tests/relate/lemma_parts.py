"""What the examples of lemmas are made of: pairs of programs, and lines of StableHLO that many of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, program

N = 3
TILES = f"{{devices=[{N}]<=[{N}]}}"
ROWS = f"{{devices=[{N},1]<=[{N}]}}"
WHOLE, PART, ONE = Tensor((6,), "f32", TILES), Tensor((2,), "f32", TILES), Tensor((), "f32")
INDEX = Tensor((), "i32")


@dataclass(frozen=True)
class Example:
    """An original, a program of devices that is equal by the lemma, and one that is not equal."""

    before: Callable[[], Program]
    after: Callable[[], Program]
    broken: Callable[[], Program]
    assume_in_bounds: bool = False
    accepted: Theory = Theory.REASSOCIATED


def reducer(op: str, dtype: str = "f32") -> str:
    return (
        f"({{\n^bb0(%l: tensor<{dtype}>, %r: tensor<{dtype}>):\n%q = stablehlo.{op} %l, %r : tensor<{dtype}>\n"
        f"stablehlo.return %q : tensor<{dtype}>\n}})"
    )


def all_reduce(name: str, of: str, type_: Tensor, groups: str = "[[0, 1, 2]]", by: str = "add") -> str:
    shape = f"{groups.count('], [') + 1}x{len(groups.split('], [', maxsplit=1)[0].split(','))}"
    return (
        f'%{name} = "stablehlo.all_reduce"({of}) <{{replica_groups = dense<{groups}> : tensor<{shape}xi64>, '
        f"channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> "
        f"{reducer(by)} : ({type_}) -> {type_}\n"
    )


def total(name: str, of: str, type_: Tensor, result: Tensor, dims: str = "0") -> str:
    return (
        f"%{name}_zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"%{name} = stablehlo.reduce({of} init: %{name}_zero) applies stablehlo.add across dimensions = [{dims}] : "
        f"({type_}, tensor<f32>) -> {result}\n"
    )


def own_start(width: int) -> str:
    """%start: the device's number times a width, from a table."""
    starts = [d * width for d in range(N)]
    return (
        f"%table = stablehlo.constant dense<{starts}> : tensor<{N}xi32>\n%id = stablehlo.partition_id : tensor<ui32>\n"
        f"%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : (tensor<{N}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
        "%start = stablehlo.reshape %at : (tensor<1xi32>) -> tensor<i32>\n"
    )


def made(
    parameters: list[Tensor], result: Tensor, before: str, local: list[Tensor], part: Tensor, after: str, broken: str
) -> Example:
    return Example(
        lambda: program(before, parameters, result, N),
        lambda: program(after, local, part, N),
        lambda: program(broken, local, part, N),
    )


def elementwise(before: str, after: str, broken: str, count: int = 1) -> Example:
    """Bodies with {0} for the type, on whole tensors and on shards."""
    types = [WHOLE] * count, [PART] * count
    return made(types[0], WHOLE, before.format(WHOLE), types[1], PART, after.format(PART), broken.format(PART))
