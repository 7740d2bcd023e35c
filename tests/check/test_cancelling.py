"""Certificates that claim what holds of finite numbers only."""

from __future__ import annotations

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.ops.digest import digest
from shardproof.validator.read.certificates import VERSION
from shardproof.validator.read.ir import Program
from shardproof.validator.read.scalars import fold_scalars
from tests.relate.pairs import Tensor, program

from .pairs import sealed

ONE = Tensor((), "f32")
SHARDS = Tensor((4,), "f32", "{devices=[2]<=[2]}")

TOTAL = """%zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [0]
    : ({}, tensor<f32>) -> tensor<f32>
"""

PARTS = """%zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %sum = "stablehlo.all_reduce"(%part) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %q = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
"""


def bare(before: Program, after: Program) -> str:
    """A certificate without a claim: what follows by itself."""
    head = (
        f'after = "{digest(fold_scalars(after))}", assumptions = [], before = "{digest(fold_scalars(before))}", '
        f'mesh = [2], results = ["reassociated"], seal = "", theory = "reassociated", version = {VERSION} : i64'
    )
    program_ = '"shardproof.program"() : () -> ()'
    return sealed(f'"builtin.module"() ({{\n  "shardproof.certificate"() {{{head}}} : () -> ()\n'
                  f"  {program_}\n  {program_}\n}}) : () -> ()\n")  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%out = stablehlo.constant dense<0.0> : tensor<f32>", "%out = stablehlo.subtract %sum, %sum : tensor<f32>"),
        (
            TOTAL.format("tensor<4xf32>") + "%out = stablehlo.add %sum, %zero : tensor<f32>",
            "%two = stablehlo.add %sum, %sum : tensor<f32>\n%out = stablehlo.subtract %two, %sum : tensor<f32>",
        ),
    ],
    ids=["x - x", "x + x - x"],
)
def test_what_may_be_infinite_does_not_cancel(before: str, after: str):
    pair = program(before, [SHARDS], ONE, 2), program(PARTS + after, [Tensor((2,), "f32")], ONE, 2)
    with pytest.raises(Rejection, match=r"used as if it were complete|cancel"):
        check(bare(*pair).encode(), "forged", *pair)
