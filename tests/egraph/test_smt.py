"""Rewrite rules proved by an SMT solver, for all values and, where relations occur, for all relations on two points.

With the property tests of `test_rules.py` each rule that SMT can express is checked twice. Needs the extra `z3`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("z3", reason="needs the extra 'z3'")

from egraph.smt import INTEGERS, answers, is_expressible
from egraph.test_rules import REWRITES, WRONG
from shardproof.validator.rules.rule import Rule

EXPRESSIBLE = [rule for rule in REWRITES if is_expressible(rule)]
BUDGET = 2_000_000
"""The solver's own count of steps, which does not depend on the machine."""


EXHAUSTED = {"total-max-of-scaled", "total-min-of-scaled"}
"""Rules about products with any constant, which are decided for all values of a small type below."""


@pytest.mark.parametrize("rule", EXPRESSIBLE, ids=lambda rule: rule.name)
def test_no_values_tell_the_sides_apart(rule: Rule) -> None:
    proved, undecided = set(), set()
    for env, answer in answers(rule, BUDGET):
        assert answer != "sat", env
        # products of wide numbers are beyond the solver: then a narrower type of the kind has to be proved
        kinds = tuple(sorted((name, _kind(value)) for name, value in env.items()))
        (proved if answer == "unsat" else undecided).add(kinds)
    assert proved
    if rule.name not in EXHAUSTED:
        assert undecided <= proved


def _kind(value: object) -> str:
    text = str(value)
    return "integer" if text in INTEGERS else "float" if text.startswith("f") and text[1:2].isdigit() else text


def test_scaling_keeps_the_order_of_all_small_floats() -> None:
    every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3)
    ordered = sorted((x for x in every if x == x), key=_place)
    for factor in (x for x in ordered if x > 0 and np.isfinite(x)):
        places = [_place(x * factor) for x in ordered]
        assert places == sorted(places)


def _place(x: Any) -> tuple[float, bool]:
    return float(x), not np.signbit(x)


@pytest.mark.parametrize("rule", [rule for rule in WRONG if is_expressible(rule)], ids=lambda rule: rule.name)
def test_the_solver_rejects_wrong_rules(rule: Rule) -> None:
    assert "sat" in {answer for _, answer in answers(rule, BUDGET)}
