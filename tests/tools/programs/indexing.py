"""Look-ups, scatters and slices at run-time positions.

What XLA does to positions out of range differs between versions, so most of these say nothing of what to expect.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from ..entry import M2, M3, M8, M24, M24_PERMUTED, M222, Entry, Expectation, Stage, entry

_WHOLE = P()
_START = ((), P(), "int32")
_UNKNOWN: dict[str, Any] = {"expectation": Expectation.UNKNOWN}


def _cleaned_look_up(table, ids):
    """What sorting and searching make of floats: NaN and the signs of zero alike."""
    found = table[ids]
    return jnp.where(found != found, jnp.nan, jnp.where(found == 0, 0, found))


def _take(mode: str):
    return lambda table, ids: jnp.take(table, ids, axis=0, mode=mode)


def _dynamic_slice(size: int):
    return lambda x, start: jax.lax.dynamic_slice(x, (start, 0), (size, x.shape[1]))


def _update(x, update, start):
    return jax.lax.dynamic_update_slice(x, update, (start, 0))


def _update_columns(x, update, start):
    return jax.lax.dynamic_update_slice(x, update, (0, start))


def _table(name, function, spec, ids_spec=_WHOLE, result=_WHOLE, mesh=M24, shape=(16, 6)):
    return entry(name, function, [(shape, spec), ((6,), ids_spec, "int32")], result, mesh, **_UNKNOWN)


def _scatter(name, function, spec, updates=_WHOLE, result=_WHOLE, mesh=M24):
    arguments = [((16, 4), spec), ((6,), P(), "int32"), ((6, 4), updates)]
    return entry(name, function, arguments, result, mesh, **_UNKNOWN)


ENTRIES: tuple[Entry, ...] = (
    _table("take_rows_clip", _take("clip"), P("y")),
    _table("take_rows_fill", _take("fill"), P("y")),
    _table("take_rows_wrap", _take("wrap"), P("y")),
    _table("take_rows_joint", _take("clip"), P(("x", "y"))),
    _table("take_rows_swapped", _take("clip"), P(("y", "x"))),
    _table("take_columns_sharded", _take("clip"), P(None, "x"), result=P(None, "x")),
    _table("take_ids_sharded", _take("clip"), P(), P("x"), P("x")),
    _table("take_both_sharded", _take("clip"), P("y"), P("x"), P("x")),
    _table("take_unused_axis", _take("clip"), P("y"), mesh=M222),
    _table("take_permuted", _take("clip"), P("y"), mesh=M24_PERMUTED),
    _table("take_three", _take("clip"), P("x"), mesh=M3, shape=(9, 4)),
    _table("take_line", _take("clip"), P("x"), mesh=M8),
    _table(
        "take_gradient", jax.grad(lambda t, i: jnp.sum(jnp.take(t, i, axis=0, mode="clip") ** 2)), P("y"), result=P("y")
    ),
    entry(
        "take_along",
        lambda a, i: jnp.take_along_axis(a, i, axis=1, mode="clip"),
        [((8, 12), P("x", "y")), ((8, 3), P("x"), "int32")],
        P("x"),
        **_UNKNOWN,
    ),
    entry(
        "gather_two_indices",
        lambda a, i, j: a[i, j],
        [((8, 12), P("x", "y")), ((5,), P(), "int32"), ((5,), P(), "int32")],
        P(),
        **_UNKNOWN,
    ),
    _scatter("scatter_add_rows", lambda a, i, u: a.at[i].add(u), P("y"), result=P("y")),
    _scatter("scatter_add_columns", lambda a, i, u: a.at[i].add(u), P(None, "y"), P(None, "y"), P(None, "y")),
    _scatter("scatter_add_updates", lambda a, i, u: a.at[i].add(u), P(), P("x")),
    _scatter("scatter_set_rows", lambda a, i, u: a.at[i].set(u, unique_indices=True), P("y"), result=P("y")),
    _scatter("scatter_max_rows", lambda a, i, u: a.at[i].max(u), P("y"), result=P("y")),
    _scatter("scatter_mul_rows", lambda a, i, u: a.at[i].mul(u), P("y"), result=P("y")),
    _scatter("scatter_drop", lambda a, i, u: a.at[i].add(u, mode="drop"), P(("x", "y")), result=P(("x", "y"))),
    _scatter("scatter_add_permuted", lambda a, i, u: a.at[i].add(u), P("y"), result=P("y"), mesh=M24_PERMUTED),
    entry(
        "segment_sum_data",
        lambda d, s: jax.ops.segment_sum(d, s, 8),
        [((16, 4), P("y")), ((16,), P("y"), "int32")],
        P(),
        **_UNKNOWN,
    ),
    entry(
        "segment_sum_result",
        lambda d, s: jax.ops.segment_sum(d, s, 8),
        [((16, 4), P()), ((16,), P(), "int32")],
        P("y"),
        **_UNKNOWN,
    ),
    entry(
        "segment_max",
        lambda d, s: jax.ops.segment_max(d, s, 8),
        [((16, 4), P("y")), ((16,), P("y"), "int32")],
        P(),
        **_UNKNOWN,
    ),
    entry("bincount", lambda i: jnp.bincount(i, length=8), [((16,), P("y"), "int32")], P(), **_UNKNOWN),
    entry("upper_triangle", lambda a: a[jnp.triu_indices_from(a)], [((8, 8), P("x", "y"))], P(), **_UNKNOWN),
    entry("look_up_cleaned", _cleaned_look_up, [((8,), P("x")), ((8,), P("x"), "int32")], P("x"), **_UNKNOWN),
    entry("one_hot_classes", lambda i: jax.nn.one_hot(i, 16), [((6,), P("x"), "int32")], P("x", "y")),
    entry("one_hot_matmul", lambda i, t: jax.nn.one_hot(i, 16) @ t, [((6,), P(), "int32"), ((16, 4), P("y"))], P()),
    entry("dynamic_slice_other", _dynamic_slice(4), [((16, 6), P(None, "x")), _START], P(None, "x")),
    entry("dynamic_slice_sharded", _dynamic_slice(4), [((16, 6), P("y")), _START], P(), **_UNKNOWN),
    entry(
        "dynamic_slice_both",
        _dynamic_slice(8),
        [((16, 6), P("y")), _START],
        P("y"),
        miscompiled_in={"0.10.2": True, "0.12.0": False},
        stage=Stage.LATER,
        **_UNKNOWN,
    ),
    entry("dynamic_update_other", _update, [((16, 6), P(None, "x")), ((4, 6), P(None, "x")), _START], P(None, "x")),
    entry("dynamic_update_sharded", _update, [((16, 6), P("y")), ((4, 6), P()), _START], P("y"), **_UNKNOWN),
    entry(
        "dynamic_update_row",
        _update,
        [((16, 6), P("y")), ((1, 6), P()), _START],
        P("y"),
        miscompiled_in={"0.10.2": True, "0.12.0": True},
        **_UNKNOWN,
    ),
    entry(
        "dynamic_index",
        lambda a, i: jax.lax.dynamic_index_in_dim(a, i, 0),
        [((16, 6), P("y")), _START],
        P(),
        **_UNKNOWN,
    ),
    entry(
        "cache_append",
        lambda c, k, i: jax.lax.dynamic_update_slice(c, k, (0, i, 0, 0)),
        [((2, 8, 4, 6), P("x", None, "y")), ((2, 1, 4, 6), P("x", None, "y")), _START],
        P("x", None, "y"),
    ),
    entry(
        "live_update_vanishes",
        _update_columns,
        [((2, 2), P(None, "x"), "int32"), ((2, 1), P(), "int32"), _START],
        P(None, "x"),
        M2,
        miscompiled_in={"0.10.2": True, "0.12.0": True},
        **_UNKNOWN,
    ),
    entry(
        "live_slice_clamped_per_shard",
        lambda x, start: jax.lax.dynamic_slice(x, (start,), (6,)),
        [((8,), P("x")), _START],
        P("x"),
        M2,
        miscompiled_in={"0.10.2": True, "0.12.0": False},
        stage=Stage.LATER,
        **_UNKNOWN,
    ),
    entry(
        "live_shifted_set",
        lambda x: x.at[:-1].set(x[1:]).at[-1].set(7),
        [((4,), P("x"))],
        P("x"),
        M2,
        miscompiled_in={"0.10.2": True, "0.12.0": False},
        stage=Stage.LATER,
        **_UNKNOWN,
    ),
)
