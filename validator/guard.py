"""A second opinion on every PROVED: both programs are run on a few inputs by the reference evaluator.

The evaluator shares nothing with the prover but the programs. Where it shows a difference in a result that was proved,
one of the two is wrong, and that is a fault of this tool, never a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Container, Mapping

import numpy as np

from .evaluate.compare import Search
from .evaluate.cone import given_layouts
from .evaluate.errors import EvaluationError
from .evaluate.inputs import Profile, draw, extents
from .ops.record import Theory
from .options import Assumption, Options
from .read.dependencies import regions
from .read.ir import Program, TensorType
from .read.relations import Relations

MAX_ELEMENTS = 400_000
"""Programs whose values hold more elements than this, on all devices together, are not run for a second opinion."""

MAX_SECONDS = 0.5
"""Time that a second opinion may take."""

PROFILES = (Profile.GENERIC, Profile.BOUNDARY)


class ContradictionError(Exception):
    """The evaluator shows a difference in a result that the relations prove: a fault of the validator itself."""


def check_proofs(
    before: Program, after: Program, relations: Relations, proved: Mapping[int, Theory], options: Options
) -> None:
    """Raises `ContradictionError` if a few inputs show a difference in a proved result; silent where it cannot run.

    `proved` gives the theory of every result that is proved.
    """
    if not proved or _elements(before) + _elements(after) * after.num_devices > MAX_ELEMENTS:
        return
    in_bounds = Assumption.INDICES_IN_BOUNDS in options.assumptions
    deadline = time.monotonic() + MAX_SECONDS
    try:
        layouts = given_layouts(before, after, relations)
        for over_reals in (False, True):
            results = {result for result, theory in proved.items() if (theory is Theory.REAL) is over_reals}
            if results:
                _contradict(Search(before, after, layouts, in_bounds, over_reals), results, options.seed, deadline)
    except (EvaluationError, MemoryError):
        return


def _contradict(search: Search, results: Container[int], seed: int, deadline: float) -> None:
    limits = extents((search.before, search.after))
    for number, profile in enumerate(PROFILES):
        inputs = draw(search.layouts.logical, profile, np.random.default_rng([seed, number]), limits)
        found = search.differ(inputs, seed + number, deadline)
        if found is not None and found[0] in results:
            result, device, index, expected, actual = found
            raise ContradictionError(
                f"result {result} is proved, yet device {device} computes {actual} instead of {expected} at {index}"
            )


def _elements(program: Program) -> int:
    """Elements of all values of a program, regions once."""
    results = (result for region in regions(program.body) for op in region.ops for result in op.results)
    return sum(result.type.size for result in results if isinstance(result.type, TensorType))
