"""Collectives against StableHLO's interpreter, which runs one function a process of a grid."""

from __future__ import annotations

import os

import numpy as np
import pytest
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.errors import DivergentCollective, UnsupportedOp
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import Program

ADD = """({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %sum = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %sum : tensor<i32>
    })"""
MAX_BY_SELECT = """({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %s = stablehlo.select %p, %a, %b : tensor<i1>, tensor<i32>
        stablehlo.return %s : tensor<i32>
    })"""
GROUPS = "replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>"
HANDLE = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"

CASES = {
    "all_gather": (f'"stablehlo.all_gather"(%x) {{all_gather_dim = 1 : i64, {GROUPS}, {HANDLE}}}', "2x8"),
    "all_reduce": (f'"stablehlo.all_reduce"(%x) {ADD} {{{GROUPS}, {HANDLE}}}', "2x4"),
    "all_reduce of a region": (f'"stablehlo.all_reduce"(%x) {MAX_BY_SELECT} {{{GROUPS}, {HANDLE}}}', "2x4"),
    "reduce_scatter": (
        f'"stablehlo.reduce_scatter"(%x) {ADD} {{scatter_dimension = 1 : i64, {GROUPS}, {HANDLE}}}',
        "2x2",
    ),
    "all_to_all": (
        '"stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, '
        f"{GROUPS}}}",
        "4x2",
    ),
    "all_to_all on one dimension": (
        '"stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, '
        f"{GROUPS}}}",
        "2x4",
    ),
    "collective_permute": (
        '"stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}',
        "2x4",
    ),
    "collective_broadcast": (f'"stablehlo.collective_broadcast"(%x) {{{GROUPS}}}', "2x4"),
}


def _interpret(body: str, result: str, inputs: np.ndarray) -> np.ndarray:
    """Run the op as two replicas in the interpreter, which has only as many processes as the machine has cores."""
    made = "\n".join(f"%c{d} = stablehlo.constant dense<{inputs[d].tolist()}> : tensor<2x4xi32>" for d in range(2))
    text = f"""
    module {{
      func.func @op(%x: tensor<2x4xi32>) -> tensor<{result}xi32> {{
        %0 = {body} : (tensor<2x4xi32>) -> tensor<{result}xi32>
        return %0 : tensor<{result}xi32>
      }}
      func.func @main() -> (tensor<{result}xi32>, tensor<{result}xi32>) {{
        {made}
        %r:2 = "interpreter.run_parallel"(%c0, %c1) {{programs=[[@op], [@op]]}}
          : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<{result}xi32>, tensor<{result}xi32>)
        return %r#0, %r#1 : tensor<{result}xi32>, tensor<{result}xi32>
      }}
    }}"""
    with jax_mlir.make_ir_context() as context:
        stablehlo.register_interpreter_dialect(context)
        module = ir.Module.parse(text)
        return np.stack([np.asarray(value) for value in stablehlo.eval_module(module, [])])


def _program(body: str, result: str, replicas: int = 2) -> Program:
    return read_program(f"""
    module @m attributes {{mhlo.num_replicas = {replicas} : i32, mhlo.num_partitions = 1 : i32}} {{
      func.func @main(%x: tensor<2x4xi32>) -> tensor<{result}xi32> {{
        %0 = {body} : (tensor<2x4xi32>) -> tensor<{result}xi32>
        return %0 : tensor<{result}xi32>
      }}
    }}
    """)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="the interpreter waits for one core a process")
@pytest.mark.parametrize("name", CASES)
def test_against_the_interpreter(name):
    body, result = CASES[name]
    inputs = np.random.default_rng(0).permutation(16).reshape(2, 2, 4).astype(np.int32)
    program = _program(body, result)
    (mine,) = Machine(program, Native()).run(program, [inputs])
    np.testing.assert_array_equal(mine, _interpret(body, result, inputs))


def test_groups_and_pairs_of_more_devices():
    x = np.arange(32, dtype=np.int32).reshape(4, 2, 4)
    groups = "replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>"
    gather = f'"stablehlo.all_gather"(%x) {{all_gather_dim = 0 : i64, {groups}}}'
    program = _program(gather, "4x4", 4)
    (gathered,) = Machine(program, Native()).run(program, [x])
    np.testing.assert_array_equal(gathered[0], np.concatenate([x[2], x[0]]))
    np.testing.assert_array_equal(gathered[2], gathered[0])
    np.testing.assert_array_equal(gathered[3], np.concatenate([x[1], x[3]]))
    pairs = '"stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 2], [2, 1]]> : tensor<2x2xi64>}'
    program = _program(pairs, "2x4", 4)
    (moved,) = Machine(program, Native()).run(program, [x])
    np.testing.assert_array_equal(moved, np.stack([0 * x[0], x[2], x[0], 0 * x[3]]))


def test_partition_and_replica_numbers():
    program = read_program("""
    module @m attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 3 : i32} {
      func.func @main() -> (tensor<ui32>, tensor<ui32>) {
        %0 = stablehlo.partition_id : tensor<ui32>
        %1 = stablehlo.replica_id : tensor<ui32>
        return %0, %1 : tensor<ui32>, tensor<ui32>
      }
    }
    """)
    partition, replica = Machine(program, Native()).run(program, [])
    assert partition.tolist() == [0, 1, 2, 0, 1, 2]
    assert replica.tolist() == [0, 0, 0, 1, 1, 1]


LOOP = """
module @m attributes {{mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32}} {{
  func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %s = %n) : tensor<i32>, tensor<i32>
      cond {{
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        {step}
        stablehlo.return %j, %t : tensor<i32>, tensor<i32>
      }}
    return %r#0, %r#1 : tensor<i32>, tensor<i32>
  }}
}}
"""


def test_loops_end_on_each_device_by_its_own_condition():
    program = read_program(LOOP.format(step="%t = stablehlo.multiply %s, %n : tensor<i32>"))
    trips, powers = Machine(program, Native()).run(program, [np.array([3, 0, -1, 2], np.int32)])
    assert trips.tolist() == [3, 0, 0, 2]
    assert powers.tolist() == [3**4, 0, -1, 2**3]


def test_a_collective_that_not_all_devices_reach_is_refused():
    groups = GROUPS.replace("[[1, 0]]", "[[0, 3], [1, 2]]").replace("1x2", "2x2")
    reduce = f'%t = "stablehlo.all_reduce"(%s) {ADD} {{{groups}, {HANDLE}}} : (tensor<i32>) -> tensor<i32>'
    program = read_program(LOOP.format(step=reduce))
    together = Machine(program, Native()).run(program, [np.full(4, 2, np.int32)])
    assert together[1].tolist() == [8, 8, 8, 8]
    with pytest.raises(DivergentCollective, match=r"stablehlo\.all_reduce"):
        Machine(program, Native()).run(program, [np.array([1, 2, 3, 4], np.int32)])


def test_branches_are_chosen_by_each_device():
    program = read_program("""
    module @m attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
      func.func @main(%i: tensor<i32>, %x: tensor<2xi32>) -> tensor<2xi32> {
        %r = "stablehlo.case"(%i) ({
            %0 = stablehlo.add %x, %x : tensor<2xi32>
            stablehlo.return %0 : tensor<2xi32>
          }, {
            %0 = stablehlo.negate %x : tensor<2xi32>
            stablehlo.return %0 : tensor<2xi32>
          }, {
            stablehlo.return %x : tensor<2xi32>
          }) : (tensor<i32>) -> tensor<2xi32>
        return %r : tensor<2xi32>
      }
    }
    """)
    x = np.arange(8, dtype=np.int32).reshape(4, 2)
    (result,) = Machine(program, Native()).run(program, [np.array([1, 0, -1, 9], np.int32), x])
    np.testing.assert_array_equal(result, np.stack([-x[0], 2 * x[1], x[2], x[3]]))


def test_groups_that_leave_devices_out_are_refused():
    program = _program(f'"stablehlo.all_reduce"(%x) {ADD} {{{GROUPS}}}', "2x4")
    with pytest.raises(UnsupportedOp, match="every device once"):
        Machine(4, Native(), num_partitions=1).run(program, [np.zeros((4, 2, 4), np.int32)])
