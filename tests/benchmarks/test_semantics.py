"""A smaller run of `benchmarks.semantics`: no form of any module is evaluated to something else than XLA computes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.random_ops import FAMILIES, RandomOp, random_op
from benchmarks.semantics import FORMS, compare


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_the_evaluator_computes_what_xla_does(family: str) -> None:
    compared = 0
    for seed in range(1000, 1006):
        op = random_op(family, seed)
        if op is not None:
            assert set(compare(op).values()) <= {"same"}, op.text
            compared += 1
    assert compared


def test_what_is_computed_otherwise_is_seen() -> None:
    """XLA drops a start that is not neutral where one element is reduced, which the evaluator calls open."""
    text = """func.func @main(%x: tensor<1xi32>, %i: tensor<i32>) -> tensor<i32> {
      %r = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<1xi32>, tensor<i32>) -> tensor<i32>
      return %r : tensor<i32>
    }\n"""
    op = RandomOp(text, (np.array([1], np.int32), np.array(5, np.int32)), 0.0)
    assert compare(op) == dict(zip(FORMS, ("open", "open", "same"), strict=True))
