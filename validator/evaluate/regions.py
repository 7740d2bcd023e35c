"""Regions as evaluations use them: calls, lanes, and reducers recognised as one commutative operation."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..read.ir import DType, Region, hands_on

if TYPE_CHECKING:
    from .machine import Machine


@dataclass(frozen=True, slots=True)
class RegionCall:
    """A region to run: its arguments, and each lane's lane outside; None where the lanes are those of the caller."""

    region: Region
    arguments: Sequence[Any]
    lanes: np.ndarray | None = None


Evaluation = Generator[RegionCall, list[Any], list[Any]]
"""A control-flow evaluation: it yields the regions it wants run and is sent their results."""


def select_lanes(value: Any, lanes: np.ndarray) -> Any:
    """The given lanes of a tensor; a token (None) has none."""
    return None if value is None else value[lanes]


def merge_lanes(old: Any, new: Any, lanes: np.ndarray) -> Any:
    """`old` with the given lanes replaced by `new`."""
    if old is None:
        return None
    merged = np.array(old)
    merged[lanes] = new
    return merged


_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})


def commutative_op(region: Region) -> str | None:
    """The name of the one commutative operation a two-argument reducer applies, or None."""
    if not region.ops or len(region.arguments) != 2 or len(region.results) != 1:
        return None
    op, *rest = region.ops
    returned = op.results[0]
    for copy in rest:
        if not hands_on(copy) or copy.operands != (returned,):
            return None
        returned = copy.results[0]
    name = op.name.removeprefix("stablehlo.")
    if name not in _COMMUTATIVE or returned is not region.results[0] or set(op.operands) != set(region.arguments):
        return None
    return name


def run_elementwise(machine: Machine, region: Region, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a region of scalars on whole arrays of one shape, element by element."""
    shape = arguments[0].shape
    per_lane = arguments[0].size // shape[0] if shape[0] else 0
    lanes = np.repeat(np.arange(shape[0]), per_lane)
    flat = [argument.reshape(-1) for argument in arguments]
    return [result.reshape(shape) for result in machine.call(RegionCall(region, flat, lanes))]


def fold(machine: Machine, region: Region, arrays: Sequence[np.ndarray], dtypes: Sequence[DType]) -> list[np.ndarray]:
    """Combine the last axis, which must not be empty, of all arrays together by a reducer, in order.

    The reducer is taken to be associative, as the specification demands; a tree keeps the number of runs small.
    """
    name = commutative_op(region)
    if name is not None:
        return [machine.arithmetic.reduce(name, arrays[0], -1, dtypes[0])]
    arrays = list(arrays)
    while (extent := arrays[0].shape[-1]) > 1:
        even = extent - extent % 2
        pairs = [array[..., 0:even:2] for array in arrays] + [array[..., 1:even:2] for array in arrays]
        combined = run_elementwise(machine, region, pairs)
        if extent % 2:
            rest = [array[..., even:] for array in arrays]
            combined = [np.concatenate(pair, axis=-1) for pair in zip(combined, rest, strict=True)]
        arrays = combined
    return [array[..., 0] for array in arrays]


def combine(
    machine: Machine,
    region: Region,
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
    dtypes: Sequence[DType],
    lanes: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Apply a reducer once, element by element, to two groups of arrays of one shape.

    With `lanes` the arrays hold one scalar for each of those lanes only.
    """
    name = commutative_op(region)
    if name is not None:
        return [machine.arithmetic.binary(name, left[0], right[0], dtypes[0])]
    if lanes is not None:
        return machine.call(RegionCall(region, [*left, *right], lanes))
    return run_elementwise(machine, region, np.broadcast_arrays(*left, *right))
