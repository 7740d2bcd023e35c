"""What XLA runs as replicas computes what the partitioned program means."""

from pathlib import Path

import numpy as np
import pytest

from shardproof.validator.confirm import run_apart
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.inputs import Profile, draw, extents
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read.program import read_pair, read_program
from shardproof.validator.read.runnable import NotRunnableError, runnable_module

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["mlp_train_named", "scan_mlp", "take_vocab", "uneven_max"])
def test_both_sides_of_a_real_pair_agree_on_xla(name: str):
    files = [DATA / f"{name}_{side}.hlo.txt" for side in ("before", "after")]
    before, after = read_pair(*files)
    layouts = layouts_of(before, after)
    inputs = draw(layouts.logical, Profile.SMALL_INTEGERS, np.random.default_rng(1), extents((before, after)))
    jobs = [
        (runnable_module(files[0].read_bytes(), "before", 1, 1), 1, layouts.to_before(inputs)),
        (
            runnable_module(files[1].read_bytes(), "after", after.num_replicas, after.num_partitions),
            after.num_devices,
            layouts.to_after(inputs, np.random.default_rng(2)),
        ),
    ]
    wanted, got = run_apart(jobs, 100.0)
    for (want, defined), have in zip(layouts.expected(wanted), got, strict=True):
        left, right = np.where(defined, have, 0), np.where(defined, want, 0)
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-5 * float(np.abs(right).max()))


GROUPS = """
module @groups attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 3 : i32} {
  func.func @main(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<ui32>, tensor<ui32>) {
    %a = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = stablehlo.add %l, %r : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    %b = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = stablehlo.add %l, %r : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    %c = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 4], [1, 5], [2, 3]]> : tensor<3x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = stablehlo.add %l, %r : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    %d = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<2xi32>) -> tensor<2xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.replica_id : tensor<ui32>
    return %a, %b, %c, %d, %p, %q : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<ui32>, tensor<ui32>
  }
}
"""  # noqa: E501


def test_every_mode_of_groups_and_both_device_numbers():
    program = read_program(GROUPS, name="groups")
    given = np.arange(12, dtype=np.int32).reshape(6, 2) ** 2
    want = Machine(program, Native()).run(program, [given])
    (got,) = run_apart([(runnable_module(GROUPS.encode(), "groups", 2, 3), 6, [given])], 100.0)
    for mine, theirs in zip(want, got, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("target", ["SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"])
def test_manual_regions_of_logical_tensors_are_not_runnable(target: str):
    text = f"""
    module @m {{
      func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
        %0 = stablehlo.custom_call @{target}(%x) : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }}
    }}"""
    with pytest.raises(NotRunnableError, match="manual regions"):
        runnable_module(text.encode(), "m", 1, 1)
