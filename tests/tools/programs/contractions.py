"""Matrix products, einsums and convolutions under many shardings."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from ..entry import M3, M6, M8, M23, M24, M24_PERMUTED, M42, M42_PERMUTED, M222, Entry, MeshPlan, entry


def _matmul(a, b):
    return a @ b


def _block_diagonal(a, w):
    return a @ jnp.where(jnp.arange(16)[:, None] // 4 == jnp.arange(8) // 2, w, 0)


_PRODUCTS: tuple[tuple[str, MeshPlan, P, P, P | None], ...] = (
    ("rows", M24, P("x"), P(), P("x")),
    ("columns", M24, P(), P(None, "y"), P(None, "y")),
    ("both", M24, P("x"), P(None, "y"), P("x", "y")),
    ("inner", M24, P(None, "y"), P("y"), P()),
    ("inner_scattered", M24, P(None, "y"), P("y"), P("y")),
    ("inner_scattered_columns", M24, P("x", "y"), P("y"), P("x", "y")),
    ("inner_mismatched", M24, P("x", "y"), P("x", "y"), P("x", "y")),
    ("inner_both_axes", M24, P(None, ("x", "y")), P(("x", "y")), P()),
    ("inner_both_axes_swapped", M24, P(None, ("y", "x")), P(("y", "x")), P("x")),
    ("inner_orders_differ", M24, P(None, ("x", "y")), P(("y", "x")), P()),
    ("rows_both_axes", M24, P(("x", "y")), P(), P(("y", "x"))),
    ("gathered", M24, P("x", "y"), P("y", "x"), P()),
    ("transposed_result", M24, P("x", "y"), P("y"), P("y", "x")),
    ("free_result", M24, P("x", "y"), P("y"), None),
    ("unused_axis", M222, P("x", "y"), P("y"), P("x")),
    ("unused_axis_free", M222, P(None, "y"), P("y", "z"), None),
    ("three_axes", M222, P("x", "y"), P("y", "z"), P("x", "z")),
    ("three_axes_inner", M222, P(None, ("x", "z")), P(("x", "z"), "y"), P("z", "y")),
    ("line", M8, P(None, "x"), P("x"), P("x")),
    ("line_all", M8, P("x"), P("x"), P("x")),
    ("tall", M42, P("x", "y"), P("y", "x"), P("x", "y")),
    ("permuted", M24_PERMUTED, P("x", "y"), P("y"), P("x", "y")),
    ("permuted_tall", M42_PERMUTED, P(None, "x"), P("x", "y"), P("x", "y")),
    ("permuted_both_axes", M24_PERMUTED, P(None, ("y", "x")), P(("y", "x")), P("y")),
)
_UNEVEN: tuple[tuple[str, MeshPlan, P, P, P | None], ...] = (
    ("three", M3, P(None, "x"), P("x"), P()),
    ("three_scattered", M3, P(None, "x"), P("x"), P("x")),
    ("six", M6, P(None, "x"), P("x"), P()),
    ("two_by_three", M23, P("x", "y"), P("y"), P("x", "y")),
    ("two_by_three_joint", M23, P(None, ("x", "y")), P(("x", "y")), P("y")),
)


def _matmuls() -> list[Entry]:
    entries = [
        entry(f"matmul_{name}", _matmul, [((16, 32), left), ((32, 24), right)], result, mesh)
        for name, mesh, left, right, result in _PRODUCTS
    ]
    entries += [
        entry(f"matmul_{name}", _matmul, [((6, 12), left), ((12, 18), right)], result, mesh)
        for name, mesh, left, right, result in _UNEVEN
    ]
    return entries


def _einsum(text: str):
    return lambda *operands: jnp.einsum(text, *operands)


def _conv(**options):
    def apply(image, kernel):
        return jax.lax.conv_general_dilated(image, kernel, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)

    return apply


_ONES = (1, 1)
_IMAGE, _KERNEL = (4, 16, 12, 4), (3, 3, 4, 8)
_SPATIAL = P(None, "y")

ENTRIES: tuple[Entry, ...] = (
    *_matmuls(),
    entry("matmul_bf16", _matmul, [((16, 32), P("x", "y"), "bfloat16"), ((32, 24), P("y"), "bfloat16")], P("x")),
    entry("matmul_int", _matmul, [((16, 32), P("x", "y"), "int32"), ((32, 24), P("y"), "int32")], P("x")),
    entry(
        "matmul_bf16_to_f32",
        lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32),
        [((16, 32), P("x", "y"), "bfloat16"), ((32, 24), P("y"), "bfloat16")],
        P("x"),
    ),
    entry(
        "matmul_chain", lambda a, b, c: (a @ b) @ c, [((8, 16), P("x")), ((16, 32), P(None, "y")), ((32, 4), P("y"))]
    ),
    entry("matmul_gram", lambda a: a.T @ a, [((32, 12), P(("x", "y")))], P("x", "y")),
    entry("matmul_block_diagonal", _block_diagonal, [((8, 16), P("x")), ((16, 8), P(None, "y"))], P("x", "y")),
    entry("matvec", lambda a, v: a @ v, [((16, 32), P("x", "y")), ((32,), P("y"))], P("x")),
    entry("vector_dot", lambda a, b: a @ b, [((32,), P("y")), ((32,), P(("x", "y")))], P()),
    entry("outer", jnp.outer, [((16,), P("x")), ((24,), P("y"))], P("y", "x")),
    entry(
        "batched_inner", _einsum("bij,bjk->bik"), [((4, 8, 16), P("x", None, "y")), ((4, 16, 6), P("x", "y"))], P("x")
    ),
    entry("batched_moved", _einsum("bij,bjk->bik"), [((4, 8, 16), P("y")), ((4, 16, 6), P("x"))], P(None, "y")),
    entry("einsum_two_inner", _einsum("aij,ijb->ab"), [((6, 8, 4), P(None, "x", "y")), ((8, 4, 10), P("x", "y"))], P()),
    entry("einsum_trace", _einsum("ij,ij->"), [((16, 8), P("x", "y")), ((16, 8), P("y", "x"))], P()),
    entry(
        "conv_batch_sharded", _conv(window_strides=_ONES, padding="SAME"), [(_IMAGE, P("y")), (_KERNEL, P())], P("y")
    ),
    entry("conv_rows", _conv(window_strides=_ONES, padding="SAME"), [(_IMAGE, _SPATIAL), (_KERNEL, P())], _SPATIAL),
    entry("conv_rows_valid", _conv(window_strides=_ONES, padding="VALID"), [(_IMAGE, _SPATIAL), (_KERNEL, P())]),
    entry("conv_both", _conv(window_strides=_ONES, padding="SAME"), [(_IMAGE, P(None, "y", "x")), (_KERNEL, P())]),
    entry("conv_strided", _conv(window_strides=(2, 1), padding="SAME"), [(_IMAGE, _SPATIAL), (_KERNEL, P())], _SPATIAL),
    entry(
        "conv_dilated",
        _conv(window_strides=_ONES, padding=((2, 2), (2, 2)), rhs_dilation=(2, 2)),
        [(_IMAGE, _SPATIAL), (_KERNEL, P())],
        _SPATIAL,
    ),
    entry(
        "conv_transposed",
        _conv(window_strides=_ONES, padding=((1, 2), (1, 1)), lhs_dilation=(2, 1)),
        [(_IMAGE, _SPATIAL), (_KERNEL, P())],
        _SPATIAL,
    ),
    entry(
        "conv_features_in",
        _conv(window_strides=_ONES, padding="SAME"),
        [(_IMAGE, P(None, None, None, "y")), (_KERNEL, P(None, None, "y"))],
        P(),
    ),
    entry(
        "conv_features_out",
        _conv(window_strides=_ONES, padding="SAME"),
        [(_IMAGE, P("x")), (_KERNEL, P(None, None, None, "y"))],
        P("x", None, None, "y"),
    ),
    entry(
        "conv_grouped",
        _conv(window_strides=_ONES, padding="SAME", feature_group_count=4),
        [(_IMAGE, P(None, None, None, "y")), ((3, 3, 1, 8), P(None, None, None, "y"))],
        P(None, None, None, "y"),
    ),
    entry(
        "conv_kernel_gradient",
        jax.grad(lambda k, x: jnp.sum(_conv(window_strides=_ONES, padding="SAME")(x, k) ** 2)),
        [(_KERNEL, P()), (_IMAGE, P("y"))],
        P(),
    ),
    entry(
        "conv_rows_three",
        _conv(window_strides=_ONES, padding="SAME"),
        [((2, 9, 6, 2), P(None, "x")), ((3, 3, 2, 4), P())],
        P(None, "x"),
        M3,
    ),
    entry(
        "average_pool",
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        [(_IMAGE, _SPATIAL)],
    ),
)
