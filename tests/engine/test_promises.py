"""A gather of the partitioned program may not promise what the original does not."""

from __future__ import annotations

import pytest

from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MODULE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%t: tensor<8x3xf32>, %i: tensor<4x1xi32>) -> tensor<4x3xf32> {
    %r = "stablehlo.gather"(%t, %i) {
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 3>, indices_are_sorted = SORTED}
      : (tensor<8x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
    return %r : tensor<4x3xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("false", "false", Verdict.PROVED),
        ("true", "true", Verdict.PROVED),
        ("true", "false", Verdict.PROVED),
        ("false", "true", Verdict.UNSUPPORTED),
    ],
)
def test_a_promise_of_sorted_indices_must_be_the_originals(before, after, verdict):
    spec, implementation = (read_program(MODULE.replace("SORTED", sorted_)) for sorted_ in (before, after))
    assert validate_programs(spec, implementation, Options()).verdict is verdict
