"""What the reference evaluator says of a pair: differs, the same on all inputs tried, or unknown."""

from __future__ import annotations

import enum
import time

import numpy as np

from shardproof.validator.evaluate.compare import Search
from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.evaluate.inputs import Profile, draw, extents
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.read.ir import Program

SECONDS = 10.0
ROUNDS = 5


class Label(enum.Enum):
    """What is known without any proof."""

    DIFFERS = "differs"
    SAME = "same"
    UNKNOWN = "unknown"


def label(before: Program, after: Program, seed: int = 0) -> tuple[Label, str]:
    """The label, and the inputs' profile that showed a difference or the reason for not knowing.

    Unlike the validator's own search it stops at the first difference and makes the inputs no simpler.
    """
    deadline = time.monotonic() + SECONDS
    try:
        search = Search(before, after, layouts_of(before, after))
        limits = extents((before, after))
        number = 0
        for _ in range(ROUNDS):
            for profile in Profile:
                inputs = draw(search.layouts.logical, profile, np.random.default_rng([seed, number]), limits)
                if search.differ(inputs, seed + number, deadline) is not None:
                    return Label.DIFFERS, f"{profile.value} {number}"
                number += 1
    except EvaluationError as error:
        return Label.UNKNOWN, f"{type(error).__name__}: {error}"
    return Label.SAME, f"{number} inputs"
