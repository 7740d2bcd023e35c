"""The part of two programs that some results depend on, for programs that are too large to be evaluated whole.

What is left out has no influence on these results, so a difference there is a difference of the whole programs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..read.dependencies import dependencies, largest_behind
from ..read.ir import Op, Program, Region, TensorType
from ..read.relations import Relations
from ..read.unreduced import with_sums_written_out
from .compare import Counterexample, replay, search_counterexample
from .errors import TooLarge
from .given import given_layouts
from .layouts import PerDeviceLayouts
from .numbers import STORAGE
from .reals import may_be_partial

MAX_ELEMENTS = 1 << 26
"""No tensor of more elements, on all devices together, is evaluated."""


@dataclass(frozen=True, slots=True)
class Cone:
    """Two programs cut down to some of their results, and the numbers that parameters and results had before."""

    before: Program
    after: Program
    relations: Relations
    parameters: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def largest(self) -> int:
        """Elements of the largest tensor, on all devices together."""
        return max(max(_sizes(self.before), default=0), self.after.num_devices * max(_sizes(self.after), default=0))


def cone(before: Program, after: Program, relations: Relations, results: Sequence[int]) -> Cone:
    """Both programs cut down to the given results; a parameter stays where either program needs it."""
    needed = [dependencies(program, results) for program in (before, after)]
    parameters = tuple(
        number
        for number, both in enumerate(zip(before.parameters, after.parameters, strict=True))
        if any(parameter.value.number in live for parameter, (live, _) in zip(both, needed, strict=True))
    )
    (_, before_ops), (_, after_ops) = needed
    given = replace(
        relations,
        parameters={k: relations.parameters[n] for k, n in enumerate(parameters) if n in relations.parameters},
        results={k: relations.results[n] for k, n in enumerate(results) if n in relations.results},
    )
    return Cone(
        _restricted(before, parameters, results, before_ops),
        _restricted(after, parameters, results, after_ops),
        given,
        parameters,
        tuple(results),
    )


def search(
    before: Program,
    after: Program,
    relations: Relations,
    unproved: Sequence[int],
    *,
    seed: int,
    budget_seconds: float,
    cut_seconds: float,
    assume_indices_in_bounds: bool,
    over_reals: bool,
) -> Counterexample | None:
    """Looks for inputs on which the programs differ; programs that are too large, one result after the other.

    These have `cut_seconds` if that is less than the budget. Over the reals inputs are judged by all that the original
    computes, so that a part without one of its divisions tells nothing. Raises `EvaluationError` where nothing could be
    looked at.
    """
    start = time.monotonic()
    deadline = start + budget_seconds
    nothing, why = True, f"every result needs a tensor of more than {MAX_ELEMENTS} elements"
    for part in _parts(before, after, relations, unproved):
        if over_reals and may_be_partial(part.before) < may_be_partial(before):
            why = "the programs are too large, and no part of them shows whether all that is computed are real numbers"
            continue
        nothing = False
        if part.before is not before:
            deadline = min(deadline, start + cut_seconds)
            if time.monotonic() > deadline:
                break
        found = search_counterexample(
            part.before,
            part.after,
            seed=seed,
            budget_seconds=deadline - time.monotonic(),
            assume_indices_in_bounds=assume_indices_in_bounds,
            over_reals=over_reals,
            layouts=given_layouts(part.before, part.after, part.relations),
        )
        if found is not None:
            return _restored(found, part, before)
        if time.monotonic() > deadline:
            break
    if nothing:
        raise TooLarge(why)
    return None


def replay_result(witness: Counterexample, before: Program, after: Program, relations: Relations) -> tuple[Any, Any]:
    """The expected and the actual element of a counterexample, from what its result depends on."""
    before, after = with_sums_written_out(before, after, (relations.parameters, relations.results))
    for part in _parts(before, after, relations, [witness.result]):
        inputs = tuple(witness.inputs[number] for number in part.parameters)
        layouts = given_layouts(part.before, part.after, part.relations)
        own = replace(witness, inputs=inputs, result=part.results.index(witness.result))
        return replay(own, part.before, part.after, layouts)
    raise TooLarge(f"result {witness.result} needs a tensor of more than {MAX_ELEMENTS} elements")


def _parts(before: Program, after: Program, relations: Relations, unproved: Sequence[int]) -> Iterator[Cone]:
    """Both programs whole if they are small enough, else those cones of one result each that are, the smaller first.

    A cone is made when it is asked for, since that goes through the whole program.
    """
    whole = Cone(before, after, relations, tuple(range(len(before.parameters))), tuple(range(len(before.results))))
    if whole.largest <= MAX_ELEMENTS:
        yield whole
        return
    if isinstance(given_layouts(before, after, relations), PerDeviceLayouts):
        # Whether values are logical shows in the whole program only.
        return
    expected, actual = largest_behind(before), largest_behind(after)
    needed = {number: max(expected[number], after.num_devices * actual[number]) for number in unproved}
    for number in sorted(needed, key=needed.__getitem__):
        if needed[number] > MAX_ELEMENTS:
            break
        part = cone(before, after, relations, [number])
        # a parameter that one program needs is taken for both
        if part.largest <= MAX_ELEMENTS:
            yield part


def _restored(found: Counterexample, part: Cone, before: Program) -> Counterexample:
    """The counterexample for the whole programs; parameters that do not matter are zero, in no memory."""
    inputs = [
        np.broadcast_to(np.zeros((), STORAGE[parameter.value.tensor.dtype]), parameter.value.tensor.shape)
        for parameter in before.parameters
    ]
    for number, array in zip(part.parameters, found.inputs, strict=True):
        inputs[number] = array
    return replace(found, inputs=tuple(inputs), result=part.results[found.result])


def _restricted(program: Program, parameters: Collection[int], results: Sequence[int], ops: Sequence[Op]) -> Program:
    kept = tuple(program.parameters[number] for number in parameters)
    returned = tuple(program.results[number] for number in results)
    body = Region(tuple(parameter.value for parameter in kept), tuple(ops), tuple(result.value for result in returned))
    return replace(program, parameters=kept, body=body, results=returned)


def _sizes(program: Program) -> list[int]:
    values = [*program.body.arguments, *(result for op in program.body.ops for result in op.results)]
    return [value.type.size for value in values if isinstance(value.type, TensorType)]
