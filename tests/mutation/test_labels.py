"""What mutants compute: the reference evaluator tells errors from benign rewrites on a real partitioned program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools.mutate import benign_rewrites, mutants

from shardproof.validator.evaluate.compare import Search
from shardproof.validator.evaluate.inputs import Profile, draw, extents
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program

FOLDER = Path(__file__).parents[2] / "examples" / "tp_mlp"
ROUNDS = 2


@pytest.fixture(scope="module")
def pair() -> tuple[Program, Program]:
    return read_program(FOLDER / "before.hlo.txt"), read_program(FOLDER / "after.hlo.txt")


def _differ(before: Program, after: Program) -> bool:
    search = Search(before, after, layouts_of(before, after))
    limits = extents((before, after))
    for seed in range(ROUNDS):
        for number, profile in enumerate(Profile):
            inputs = draw(search.layouts.logical, profile, np.random.default_rng([seed, number]), limits)
            if search.differ(inputs, seed) is not None:
                return True
    return False


def test_errors_show(pair: tuple[Program, Program]) -> None:
    before, after = pair
    assert not _differ(before, after)
    shown = set()
    for mutant in mutants(after):
        # A lowered precision shows in no arithmetic that ignores rounding.
        assert _differ(before, mutant.program) == (mutant.kind != "K27"), f"{mutant.operator} at {mutant.site}"
        shown.add(mutant.kind)
    assert shown >= {"K1", "K3", "K4", "K5", "K6", "K7", "K17", "K18", "K21", "K22", "K25", "K27"}


def test_benign_rewrites_do_not_show(pair: tuple[Program, Program]) -> None:
    before, after = pair
    rewrites = list(benign_rewrites(after))
    assert {one.operator for one in rewrites} >= {"reduce_groups_reordered", "scatter_and_gather", "sum_in_two_steps"}
    for one in rewrites:
        assert not _differ(before, one.program), f"{one.operator} at {one.site}"
