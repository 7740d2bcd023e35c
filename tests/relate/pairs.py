"""Pairs of programs written as StableHLO text, and what the prover and the evaluator say of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardproof.validator.evaluate.compare import Search
from shardproof.validator.evaluate.inputs import Profile, draw, extents
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.relate.decide import Decision, decide


@dataclass(frozen=True)
class Tensor:
    """A type and a sharding, as a parameter or a result of both programs has them."""

    shape: tuple[int, ...]
    dtype: str
    sharding: str = "{replicated}"

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.dtype}>"


def module(body: str, parameters: Sequence[Tensor], result: Tensor, devices: int) -> str:
    """A module of one function whose arguments are %a0, %a1, … and whose body returns %out."""
    arguments = ", ".join(f'%a{k}: {t} {{mhlo.sharding = "{t.sharding}"}}' for k, t in enumerate(parameters))
    return (
        f"module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{\n"
        f'func.func public @main({arguments}) -> ({result} {{mhlo.sharding = "{result.sharding}"}}) {{\n'
        f"{body}\nreturn %out : {result}\n}}\n}}\n"
    )


def program(body: str, parameters: Sequence[Tensor], result: Tensor, devices: int) -> Program:
    """The program of a `module`."""
    return read_program(module(body, parameters, result, devices))


def verdict(before: Program, after: Program, assume_in_bounds: bool = False) -> Decision:
    return decide(before, after, deadline=time.monotonic() + 60, assume_in_bounds=assume_in_bounds)


def proved(before: Program, after: Program, theory: Theory | None = None) -> bool:
    """Whether every result is proved, and if a theory is given, by that one."""
    comparisons = verdict(before, after).comparisons
    done = all(c is not None and c.proved for c in comparisons)
    if done and theory is not None:
        assert {c.theory for c in comparisons if c is not None} == {theory}
    return done


def differs(before: Program, after: Program, rounds: int = 1) -> bool:
    """Whether the reference evaluator finds inputs on which they differ."""
    search = Search(before, after, layouts_of(before, after))
    limits = extents((before, after))
    for number in range(rounds):
        for profile in Profile:
            inputs = draw(search.layouts.logical, profile, np.random.default_rng([7, number]), limits)
            if search.differ(inputs, number, time.monotonic() + 20) is not None:
                return True
    return False


def exchanged(name: str, of: str, channel: int, devices: int, type_: Tensor) -> str:
    """What the other one of devices 0 and 1 has, or of 2 and 3."""
    pairs = [[device, device ^ 1] for device in range(devices)]
    return (
        f'%{name} = "stablehlo.collective_permute"({of}) <{{source_target_pairs = dense<{pairs}> : '
        f"tensor<{devices}x2xi64>, channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>}}> : "
        f"({type_}) -> {type_}\n"
    )
