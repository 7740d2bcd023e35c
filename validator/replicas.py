"""A counterexample as XLA can run it: both modules for real devices, what each device is given, and where to look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .evaluate.compare import Counterexample
from .evaluate.given import given_layouts
from .evaluate.numbers import STORAGE
from .options import Options
from .read.ir import DType, Program, Region
from .read.program import read_pair
from .read.runnable import NotRunnableError, runnable_module
from .read.simplified import simplified
from .run import Source
from .validate import relations_of


@dataclass(frozen=True, slots=True)
class Limits:
    """What an evaluator runs by the way: devices, elements of all inputs and results on all of them, and ops."""

    devices: int
    elements: int
    ops: int


XLA_LIMITS = Limits(devices=64, elements=1 << 22, ops=2_000)
"""XLA's compile time goes with the ops."""

_BELOW_A_BYTE = frozenset({DType.I2, DType.I4, DType.UI2, DType.UI4})


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One program: StableHLO, how many replicas, their inputs [replicas, *shape], and the element (replica, *index)."""

    module: bytes
    replicas: int
    inputs: tuple[np.ndarray, ...]
    place: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaRun:
    """Both sides of a counterexample; the two elements are of result number `result` and must be equal."""

    before: Side
    after: Side
    result: int

    @property
    def devices(self) -> int:
        return max(self.before.replicas, self.after.replicas)


def replica_run(
    witness: Counterexample, before: Source, after: Source, options: Options, limits: Limits = XLA_LIMITS
) -> ReplicaRun:
    """What to run so that another evaluator shows the difference.

    Raises `NotRunnableError` for programs that cannot be run in this way, or that are too large to run by the way.
    """
    spec, implementation = read_pair(before.data, after.data, names=(before.name, after.name))
    _check_size(spec, implementation, limits)
    relations, _ = relations_of(simplified(spec), simplified(implementation), options)
    layouts = given_layouts(spec, implementation, relations)
    poison = np.random.default_rng([witness.seed, 0xBAD])
    counts = (spec.num_replicas, spec.num_partitions) if layouts.before_devices > 1 else (1, 1)
    # every element of the logical results is its own number, so that the layout tells which one is looked at
    shapes = [(layouts.before_devices, *result.value.tensor.shape) for result in spec.results]
    numbers = [np.arange(np.prod(shape, dtype=np.int64)).reshape(shape) for shape in shapes]
    wanted, _ = layouts.expected(numbers)[witness.result]
    number = int(wanted[(witness.device, *witness.index)])
    place = tuple(int(k) for k in np.unravel_index(number, shapes[witness.result]))
    return ReplicaRun(
        Side(
            runnable_module(before.data, before.name, *counts),
            layouts.before_devices,
            _typed(layouts.to_before(witness.inputs), spec),
            place,
        ),
        Side(
            runnable_module(after.data, after.name, implementation.num_replicas, implementation.num_partitions),
            implementation.num_devices,
            _typed(layouts.to_after(witness.inputs, poison), implementation),
            (witness.device, *witness.index),
        ),
        witness.result,
    )


def _typed(inputs: list[np.ndarray], program: Program) -> tuple[np.ndarray, ...]:
    return tuple(
        np.ascontiguousarray(array, STORAGE[parameter.value.tensor.dtype])
        for array, parameter in zip(inputs, program.parameters, strict=True)
    )


def _check_size(before: Program, after: Program, limits: Limits) -> None:
    if after.num_devices > limits.devices:
        raise NotRunnableError(f"more than {limits.devices} devices")
    for program, copies in ((before, 1), (after, after.num_devices)):
        values = [entry.value.tensor for entry in (*program.parameters, *program.results)]
        if any(value.dtype in _BELOW_A_BYTE for value in values):
            raise NotRunnableError("an element type of less than a byte")
        if copies * sum(value.size for value in values) > limits.elements:
            raise NotRunnableError(f"inputs and results of more than {limits.elements} elements")
        if _ops(program.body) > limits.ops:
            raise NotRunnableError(f"more than {limits.ops} ops")


def _ops(body: Region) -> int:
    count, pending = 0, [body]
    while pending:
        region = pending.pop()
        count += len(region.ops)
        for op in region.ops:
            pending.extend(op.regions)
    return count
