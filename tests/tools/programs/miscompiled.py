"""Programs over windows that XLA's partitioner gets wrong; BUGLIST.md tells of each."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from ..entry import M2, Entry, MeshPlan, entry

_M4 = MeshPlan((("x", 4),))
_ROWS = P("x")
_FEATURES = P(None, None, "x")
_WRONG: dict[str, Any] = {"miscompiled_in": {"0.10.2": True, "0.12.0": True}}


def _convolve(x, kernel, stride=1, dilation=1, **groups):
    numbers = ("NHC", "HIO", "NHC")
    return lax.conv_general_dilated(
        x, kernel, (stride,), "VALID", rhs_dilation=(dilation,), dimension_numbers=numbers, **groups
    )


def _max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (3, 1), (1, 1), "SAME")


def _sum_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (2, 1), (3, 1), "VALID")


def _dilated_sum(x):
    return lax.reduce_window(x, 0.0, lax.add, (3, 1), (1, 1), ((0, 1), (0, 0)), (2, 1))


def _pullback(function):
    return lambda x, cotangent: jax.vjp(function, x)[1](cotangent)[0]


ENTRIES: tuple[Entry, ...] = (
    entry("max_pool_gradient", _pullback(_max_pool), [((16, 3), _ROWS)] * 2, _ROWS, _M4, **_WRONG),
    entry("sum_pool_gradient", _pullback(_sum_pool), [((6, 3), _ROWS), ((2, 3), P())], _ROWS, M2, **_WRONG),
    entry("dilated_window_sum", _dilated_sum, [((2, 3), P())], _ROWS, M2, **_WRONG),
    entry("pad_inside", lambda x: lax.pad(x, 0.0, [(0, -1, 1), (0, 0, 0)]), [((2, 3), P())], _ROWS, M2, **_WRONG),
    entry(
        "conv_feature_groups",
        lambda x, kernel: _convolve(x, kernel, feature_group_count=2),
        [((2, 3, 4), _FEATURES), ((1, 2, 4), _FEATURES)],
        _FEATURES,
        M2,
        **_WRONG,
    ),
    entry(
        "conv_batch_groups",
        lambda x, kernel: _convolve(x, kernel, batch_group_count=2),
        [((4, 3, 1), _ROWS), ((1, 1, 4), P())],
        P(),
        _M4,
        **_WRONG,
    ),
    entry(
        "conv_dilated_gradient",
        lambda x, kernel: jax.grad(lambda x: (_convolve(x, kernel, 2, 2) ** 2).sum())(x),
        [((1, 12, 1), P(None, "x")), ((4, 1, 1), P())],
        P(None, "x"),
        _M4,
        **_WRONG,
    ),
)
