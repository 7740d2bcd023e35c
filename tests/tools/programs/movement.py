"""Data movement: reshapes, transposes, shifts, pads, slices and resharding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from ..entry import M3, M6, M8, M23, M24, M24_PERMUTED, M42, M42_PERMUTED, M222, Entry, MeshPlan, entry

_RESHARDS: tuple[tuple[str, MeshPlan, P, P], ...] = (
    ("swap", M24, P("x", "y"), P("y", "x")),
    ("deepen", M24, P("x"), P(("x", "y"))),
    ("deepen_minor", M24, P("y"), P(("x", "y"))),
    ("order", M24, P(("x", "y")), P(("y", "x"))),
    ("all_to_all", M24, P("y"), P(None, "y")),
    ("all_to_all_joint", M24, P(("x", "y")), P(None, ("x", "y"))),
    ("other_axis", M24, P("x"), P("y")),
    ("drop_major", M24, P(("x", "y")), P("y")),
    ("replicate", M24, P("x", "y"), P()),
    ("rotate", M222, P("x", "y", "z"), P("y", "z", "x")),
    ("unused_axis", M222, P("x", None, "y"), P("y", None, "x")),
    ("permuted", M24_PERMUTED, P("x", "y"), P("y", "x")),
    ("permuted_gather", M24_PERMUTED, P(("y", "x")), P()),
    ("permuted_tall", M42_PERMUTED, P("x", "y"), P(("y", "x"))),
    ("line", M8, P("x"), P(None, "x")),
    ("three", M3, P("x"), P(None, "x")),
    ("six", M6, P("x"), P(None, "x")),
    ("two_by_three", M23, P("x", "y"), P("y", "x")),
)


def _shape(mesh: MeshPlan) -> tuple[int, ...]:
    return {3: (6, 9, 2), 6: (12, 6, 2)}.get(mesh.size, (8, 16, 4))


def _move(name, function, shape, spec, result=None, mesh=M24):
    return entry(name, function, [(shape, spec)], result, mesh)


_XY = P("x", "y")
ENTRIES: tuple[Entry, ...] = (
    *(
        _move(f"reshard_{name}", lambda a: a * 2, _shape(mesh), spec, result, mesh)
        for name, mesh, spec, result in _RESHARDS
    ),
    _move("merge_major", lambda a: a.reshape(32, 6), (8, 4, 6), P("x"), P("x")),
    _move("merge_both", lambda a: a.reshape(32, 6), (8, 4, 6), _XY, P(("x", "y"))),
    _move("merge_minor", lambda a: a.reshape(8, 24), (8, 4, 6), P(None, "y"), P(None, "y")),
    _move("merge_inner_sharded", lambda a: a.reshape(32, 6), (8, 4, 6), P(None, "y"), P("y")),
    _move("split_major", lambda a: a.reshape(8, 4, 6), (32, 6), P("y"), P("y")),
    _move("split_joint", lambda a: a.reshape(2, 16, 6), (32, 6), P(("x", "y")), P("x", "y")),
    _move("split_minor", lambda a: a.reshape(16, 2, 6), (32, 6), P("y"), P("y", "x")),
    _move("split_merge", lambda a: a.reshape(4, 48), (8, 24), P("x", "y"), None),
    _move("flatten", lambda a: a.ravel(), (8, 24), P("x", "y"), P("x")),
    _move("flatten_minor", lambda a: a.ravel(), (8, 24), P(None, "y"), P("y")),
    _move("unflatten", lambda a: a.reshape(6, 32), (192,), P(("x", "y")), P(None, "y")),
    _move("transpose", lambda a: a.T, (8, 24), P("x", "y"), P("x", "y")),
    _move("transpose_three", lambda a: a.transpose(2, 0, 1), (8, 4, 12), P("x", None, "y"), P("y", "x")),
    _move("heads", lambda a: a.reshape(4, 6, 8, 3).swapaxes(1, 2), (4, 6, 24), P("x", None, "y"), P("x", "y")),
    _move("roll_one", lambda a: jnp.roll(a, 1, 0), (16, 6), P("y"), P("y")),
    _move("roll_many", lambda a: jnp.roll(a, -5, 0), (16, 6), P("y"), P("y")),
    _move("roll_both", lambda a: jnp.roll(a, (3, -2), (0, 1)), (16, 12), P("y", "x"), P("y", "x")),
    _move("roll_three", lambda a: jnp.roll(a, 2, 0), (9, 4), P("x"), P("x"), M3),
    _move("roll_line", lambda a: jnp.roll(a, 3, 0), (16, 4), P("x"), P("x"), M8),
    _move("pad_edges", lambda a: jnp.pad(a, ((3, 1), (0, 2))), (12, 6), P("y", "x"), P("y", "x")),
    _move("pad_negative", lambda a: jax.lax.pad(a, 0.0, ((-2, 6, 0), (0, 0, 0))), (12, 6), P("y"), P("y")),
    _move("pad_interior", lambda a: jax.lax.pad(a, 1.5, ((0, 1, 1), (0, 0, 0))), (8, 6), P("y"), P("y")),
    _move("pad_reflect", lambda a: jnp.pad(a, ((2, 2), (0, 0)), mode="reflect"), (12, 6), P("y")),
    _move("pad_wrap", lambda a: jnp.pad(a, ((2, 2), (0, 0)), mode="wrap"), (12, 6), P("y"), P("y")),
    _move("concat_sharded", lambda a: jnp.concatenate([a, -a]), (8, 6), P("y"), P("y")),
    _move("concat_other", lambda a: jnp.concatenate([a, a * 2, a], 1), (8, 6), P("y", "x"), P("y")),
    entry("concat_unequal", lambda a, b: jnp.concatenate([a, b]), [((12, 6), P("y")), ((4, 6), P("y"))], P("y")),
    _move("stack", lambda a: jnp.stack([a, a + 1, a * 2]), (8, 6), P("y"), P(None, "y")),
    _move("slice_rows", lambda a: a[3:11], (16, 6), P("y"), P("y")),
    _move("slice_rows_free", lambda a: a[3:11], (16, 6), P("y")),
    _move("slice_strided", lambda a: a[1::2], (16, 6), P("y"), P("y")),
    _move("slice_one", lambda a: a[5], (16, 6), P("y", "x"), P("x")),
    _move("slice_last", lambda a: a[-1:], (16, 6), P("y"), P()),
    _move("shift_difference", lambda a: a[1:] - a[:-1], (17, 6), P()),
    _move("shift_difference_sharded", lambda a: a[1:] - a[:-1], (16, 6), P("y")),
    _move("reverse_rows", lambda a: a[::-1], (16, 6), P("y"), P("y")),
    _move("reverse_both", lambda a: a[::-1, ::-1], (16, 8), P("y", "x"), P("y", "x")),
    _move("reverse_three", lambda a: a[::-1], (9, 4), P("x"), P("x"), M3),
    _move("tile_rows", lambda a: jnp.tile(a, (3, 1)), (8, 6), P("y"), P("y")),
    _move("repeat_rows", lambda a: jnp.repeat(a, 3, axis=0), (8, 6), P("y"), P("y")),
    _move("broadcast_rows", lambda a: jnp.broadcast_to(a[:, None], (8, 4, 6)), (8, 6), P("x"), P(None, "y", "x")),
    _move("expand", lambda a: a[:, None, :] + a[None, :, :], (8, 6), P("y"), P("y")),
    _move("triangle", jnp.tril, (16, 16), P("y", "x"), P("y", "x")),
    _move("diagonal", jnp.diagonal, (8, 8), P("y"), P()),
    _move("trace", jnp.trace, (8, 8), P("y", "x"), P()),
    _move("eye_added", lambda a: a + jnp.eye(8), (8, 8), P("y", "x"), P("y", "x")),
    _move("positions", lambda a: a + jnp.arange(16.0)[:, None], (16, 6), P("y"), P("y")),
    _move("positions_joint", lambda a: a * jnp.arange(16.0)[:, None], (16, 6), P(("y", "x")), P(("y", "x"))),
    _move(
        "checkerboard",
        lambda a: jnp.where((jnp.arange(16)[:, None] + jnp.arange(8)) % 2 == 0, a, -a),
        (16, 8),
        _XY,
        _XY,
    ),
    _move("uneven_slice_square", lambda a: (a[:10] ** 2).sum(0), (16, 6), P("y"), P()),
    _move("uneven_slice_max", lambda a: a[:13].max(0), (16, 6), P("y"), P()),
    _move("uneven_slice_prod", lambda a: a[:7].prod(0), (16, 6), P("y"), P()),
    _move("uneven_slice_mean", lambda a: a[2:13].mean(0), (16, 6), P("y"), P()),
    _move("uneven_slice_sort", lambda a: jnp.sort(a[:13], 0)[::-1], (16, 6), P("y"), P()),
    _move("uneven_slice_argsort", lambda a: jnp.argsort(a[:, :5], 0), (6, 16), P(None, "y"), P()),
    _move("uneven_slice_argmax", lambda a: a[:13].argmax(0), (16, 6), P("y"), P()),
    _move("uneven_reshape", lambda a: a[:15].reshape(5, 3, 6), (16, 6), P("y"), P()),
    _move("uneven_concat", lambda a: jnp.concatenate([a[:5], a[:6]]), (8, 6), P("y"), P()),
    _move("uneven_reverse", lambda a: a[:13][::-1] * 1, (16, 6), P("y"), P()),
    _move("uneven_cumsum", lambda a: jnp.cumsum(a[:13], 0), (16, 6), P("y"), P()),
    entry("uneven_matmul", lambda a, b: a[:, :13] @ b[:13], [((8, 16), P(None, "y")), ((16, 6), P("y"))], P()),
    _move("split_sum", lambda a: sum(part * scale for scale, part in enumerate(jnp.split(a, 4))), (16, 6), P("y"), P()),
    _move("windows", lambda a: jnp.stack([a[i : i + 12] for i in range(4)]).sum(0), (16, 6), P("y"), P("y")),
    _move("two_results", lambda a: (a.T, a[::-1], a.sum()), (8, 16), P("x", "y"), (P("y"), P("x"), P())),
    _move("bitcast", lambda a: jax.lax.bitcast_convert_type(a, jnp.int32) & 255, (8, 16), P("x", "y"), P("y")),
    _move("tall_mesh", lambda a: a.reshape(4, 2, 16)[:, ::-1].reshape(8, 16), (8, 16), P("x", "y"), P("y", "x"), M42),
)
