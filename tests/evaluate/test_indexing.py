"""Dynamic indices, order and random bits against XLA on CPU."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from evaluate.oracles import agrees_with_xla, interpret, run_text
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program

X = np.arange(40, dtype=np.float32).reshape(5, 8)
STARTS = [-(2**31), -3, -1, 0, 1, 3, 4, 5, 6, 100, 2**31 - 1]


@pytest.mark.parametrize("start", STARTS)
def test_starts_of_dynamic_windows_are_clamped(start):
    at = np.int32(start)
    agrees_with_xla(lambda x, s: lax.dynamic_slice(x, (s, s), (2, 3)), X, at)
    agrees_with_xla(lambda x, s: lax.dynamic_update_slice(x, -x[:2, :3], (s, 1)), X, at)
    if start >= 0:
        agrees_with_xla(lambda x, s: lax.dynamic_slice(x, (s, s), (2, 3)), X, np.uint32(start))


GATHERS = [
    (lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 8), (6, 1)),
    (lax.GatherDimensionNumbers((0, 2), (), (1, 0)), (2, 3), (7, 2)),
    (lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1), (3, 4, 2)),
    (lax.GatherDimensionNumbers((0,), (1,), (1,)), (3, 1), (6, 1)),
]


@pytest.mark.parametrize(("dims", "sizes", "shape"), GATHERS)
def test_gather_clamps(dims, sizes, shape):
    rng = np.random.default_rng(0)
    indices = rng.integers(-4, 12, shape).astype(np.int32)
    agrees_with_xla(lambda x, i: lax.gather(x, i, dims, sizes, mode="clip"), X, indices)
    agrees_with_xla(
        lambda x, i: lax.gather(x, i, dims, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS), X, indices
    )


def test_gather_with_batching_dimensions():
    indices = np.array([[0, 3, -1], [9, 2, 2], [1, 1, 7], [4, 0, 6], [5, 5, 5]], np.int32)
    agrees_with_xla(lambda x, i: jnp.take_along_axis(x, i, 1, mode="clip"), X, indices)
    agrees_with_xla(jax.vmap(lambda x, i: lax.dynamic_slice(x, (i[0],), (3,))), X, indices)


SCATTERS = [
    (lax.ScatterDimensionNumbers((1,), (0,), (0,)), (6, 1), (6, 8)),
    (lax.ScatterDimensionNumbers((1,), (0,), (0,)), (6, 1), (6, 3)),
    (lax.ScatterDimensionNumbers((), (0, 1), (0, 1)), (9, 2), (9,)),
    (lax.ScatterDimensionNumbers((0, 2), (), (1, 0)), (4, 2), (2, 4, 3)),
]


@pytest.mark.parametrize(("dims", "indices", "updates"), SCATTERS)
@pytest.mark.parametrize("kind", [lax.scatter_add, lax.scatter_max, lax.scatter_mul, lax.scatter])
def test_scatter_drops_windows_that_do_not_fit(dims, indices, updates, kind):
    rng = np.random.default_rng(1)
    where = rng.integers(-3, 9, indices).astype(np.int32)
    new = rng.normal(size=updates).astype(np.float32)
    agrees_with_xla(lambda x, i, u: kind(x, i, u, dims, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS), X, where, new)


def test_scatter_with_batching_dimensions():
    indices = np.array([[0, 3], [9, 2], [1, 1], [4, 0], [5, 5]], np.int32)
    updates = np.ones((5, 2), np.float32)
    agrees_with_xla(jax.vmap(lambda x, i, u: x.at[i].add(u)), X, indices, updates)


def test_segment_sums():
    segments = np.array([0, 2, 2, 7, -1], np.int32)
    agrees_with_xla(lambda x, s: jax.ops.segment_sum(x, s, 4), X, segments)


def test_sorting():
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 4, (4, 13)).astype(np.float32)
    x[0, 3], x[1, 5], x[2, 2] = np.nan, -0.0, -np.inf
    y = np.arange(52, dtype=np.int32).reshape(4, 13)
    agrees_with_xla(lambda x, y: [lax.sort((x, y), dimension=1, num_keys=1), lax.sort(x, dimension=0)], x, y)
    agrees_with_xla(lambda x, y: lax.sort((-y % 5, x, y), dimension=1, num_keys=2), np.abs(np.nan_to_num(x)), y)
    agrees_with_xla(lambda x, y: [jnp.argsort(x, 1), jnp.argsort(x, 0, descending=True)], x, y)


def test_top_k_takes_the_first_of_equals():
    x = np.array([[1, 3, 3, 2, 3, -1], [0, 0, 0, 0, 0, 5]], np.float32)
    agrees_with_xla(lambda x: lax.top_k(x, 4), x)
    agrees_with_xla(lambda x: lax.top_k(x, 3), x.astype(np.int32))


@pytest.mark.parametrize("shape", [(), (5,), (8,), (3, 4), (3, 5), (7, 3, 2)])
@pytest.mark.parametrize("algorithm", ["RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX"])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint8, np.uint16])
def test_random_bits(shape, algorithm, dtype):
    key = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
    kind = getattr(lax.RandomAlgorithm, algorithm)
    agrees_with_xla(lambda k: lax.rng_bit_generator(k, shape, dtype, algorithm=kind), key)


def test_wide_random_bits():
    with jax.enable_x64(True):
        key = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
        dtype: Any = np.uint64
        for kind in (lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY):
            agrees_with_xla(lambda k, kind=kind: lax.rng_bit_generator(k, (3, 5), dtype, algorithm=kind), key)


def test_keys_of_jax():
    agrees_with_xla(lambda k: [jax.random.split(k), jax.random.normal(k, (3,))], jax.random.PRNGKey(3))
    agrees_with_xla(lambda k: jax.random.permutation(k, 10), jax.random.PRNGKey(4))


def test_control_flow():
    x = np.arange(6, dtype=np.float32)
    agrees_with_xla(lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.float32(0), x), x)
    agrees_with_xla(lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, x)), x)
    for index in (-1, 0, 1, 2, 7):
        agrees_with_xla(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda v: v + x[0]], x), np.int32(index), x)
        agrees_with_xla(lambda i, x: lax.cond(i > 0, lambda: x, lambda: -x), np.int32(index), x)
    agrees_with_xla(lambda x: lax.map(lambda v: lax.fori_loop(0, 3, lambda i, a: a + v * i, v), x), x)
    agrees_with_xla(lambda x: lax.associative_scan(jnp.maximum, x[::-1]), x)


def _sorted_gather(shape: str, dims: str, sizes: str, indices: str, result: str) -> str:
    return f"""func.func @main(%x: tensor<{shape}xi32>, %i: tensor<{indices}xi32>) -> tensor<{result}xi32> {{
      %r = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{dims}>,
        slice_sizes = array<i64: {sizes}>, indices_are_sorted = true}}>
        : (tensor<{shape}xi32>, tensor<{indices}xi32>) -> tensor<{result}xi32>
      return %r : tensor<{result}xi32>
    }}\n"""


def _promise_holds(text: str, *inputs: np.ndarray) -> bool:
    program, machine = read_program(text), Machine(1, Native())
    machine.run(program, [np.asarray(array, np.int32)[None] for array in inputs])
    return not machine.undefined


def test_indices_are_sorted_as_starts_in_the_operand():
    """By the operand's dimensions, whatever the order of an index vector's components, and by its batches first."""
    x = np.arange(12).reshape(3, 4)
    swapped = _sorted_gather("3x4", "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1",
                             "1, 1", "2x2", "2")  # fmt: skip
    assert _promise_holds(swapped, x, np.array([[3, 0], [1, 2]]))
    assert not _promise_holds(swapped, x, np.array([[1, 2], [3, 0]]))
    batched = _sorted_gather(
        "3x4",
        "collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 2",
        "1, 1",
        "3x2x1",
        "3x2",
    )
    assert _promise_holds(batched, x, np.array([[2, 3], [0, 1], [0, 3]])[..., None])
    assert not _promise_holds(batched, x, np.array([[2, 3], [1, 0], [0, 3]])[..., None])


@pytest.mark.parametrize(("indices", "result"), [("3x0", "3"), ("0x1", "0")])
def test_no_indices_are_sorted(indices: str, result: str):
    mapped = "0" if indices.endswith("1") else ""
    dims = f"collapsed_slice_dims = [0], start_index_map = [{mapped}], index_vector_dim = 1"
    text = _sorted_gather("4", dims, "1", indices, result)
    assert _promise_holds(text, np.arange(4), np.zeros([int(n) for n in indices.split("x")]))


def test_a_scatter_without_index_components_goes_to_the_first_window():
    """XLA adds elementwise where operand and updates have one shape (see BUGLIST.md)."""
    text = """func.func @main(%x: tensor<3xi32>, %i: tensor<3x0xi32>, %u: tensor<3xi32>) -> tensor<3xi32> {
      %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<3xi32>, tensor<3x0xi32>, tensor<3xi32>) -> tensor<3xi32>
      return %r : tensor<3xi32>
    }"""
    inputs = np.array([1, 2, 3], np.int32), np.zeros((3, 0), np.int32), np.array([10, 20, 30], np.int32)
    assert run_text(text, *inputs)[0].tolist() == interpret(text, *inputs)[0].tolist() == [61, 2, 3]
