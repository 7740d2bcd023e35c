"""Programs of the sweep that reduce, order, accumulate and contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .sweep_case import Case, cases, thinned

_ALL = "2 3 4 4p"
_CUTS = ["x.->.", "x.->x", ".x->.", ".x->x", "j.->.", "xy->y"]
_WHOLE_CUTS = ["x.->x.", "x.->..", ".x->.x", "..->x."]


def _reduces() -> Iterator[Case]:
    kinds: dict[str, tuple[Callable[..., Any], str]] = {
        "sum": (jnp.sum, "float32 int32 int8 bfloat16 complex64"),
        "prod": (jnp.prod, "float32 int32 complex64"),
        "max": (jnp.max, "float32 int32 uint8 bfloat16"),
        "min": (jnp.min, "float32 int32 uint8 bfloat16"),
        "all": (jnp.all, "bool int32"),
        "any": (jnp.any, "bool int32"),
        "and": (lambda x, d: lax.reduce_and(x, (d,)), "int32 bool"),
        "or": (lambda x, d: lax.reduce_or(x, (d,)), "int32 bool"),
        "xor": (lambda x, d: lax.reduce_xor(x, (d,)), "int32 bool"),
        "argmax": (jnp.argmax, "float32 int32 bfloat16"),
        "argmin": (jnp.argmin, "float32 uint8"),
        "mean": (jnp.mean, "float32"),
        "variance": (jnp.var, "float32"),
        "count": (jnp.count_nonzero, "int32"),
        "ptp": (lambda x, d: jnp.max(x, d) - jnp.min(x, d), "int32"),
        "logsumexp": (jax.nn.logsumexp, "float32"),
        "both_ends": (lambda x, d: (jnp.argmax(x, d), jnp.max(x, d)), "int32"),
    }
    for (kind, (function, types)), length in itertools.product(kinds.items(), (12, 10, 7)):
        for dtype in types.split():
            along = lambda x, function=function: function(x, 0)  # noqa: E731
            arguments = [((length, 4), dtype)]
            yield from cases(f"reduce/{kind}_{dtype}_n{length}", along, arguments, _CUTS, "2x2 2x3 2x4p")
            yield from cases(f"reduce/{kind}_{dtype}_n{length}", along, arguments, _CUTS[:4], _ALL)


def _orders() -> Iterator[Case]:
    functions: dict[str, Callable[..., Any]] = {
        "sort": lambda x: jnp.sort(x, 0),
        "sort_descending": lambda x: jnp.sort(x, 0, descending=True),
        "argsort": lambda x: jnp.argsort(x, 0),
        "sort_two": lambda x: lax.sort((x, x * 2 + 1), dimension=0, num_keys=1),
        "top_k": lambda x: lax.top_k(x.T, 3)[0],
        "top_k_indices": lambda x: lax.top_k(x.T, 3)[1],
        "top_k_last": lambda x: lax.top_k(x, 2)[1],
        "median": lambda x: jnp.median(x, 0),
        "cumsum": lambda x: jnp.cumsum(x, 0),
        "cumsum_reversed": lambda x: lax.cumsum(x, 0, reverse=True),
        "cumprod": lambda x: lax.cumprod(x, 0),
        "cummax": lambda x: lax.cummax(x, 0),
        "cummin_reversed": lambda x: lax.cummin(x, 0, reverse=True),
        "cumlogsumexp": lambda x: lax.cumlogsumexp(x.astype("float32"), 0),
        "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
        "scan_carry": lambda x: lax.scan(lambda c, r: (c + r, c * 2), x[0], x)[1],
        "scan_reversed": lambda x: lax.scan(lambda c, r: (c + r, c - r), x[0], x, reverse=True)[1],
        "softmax": lambda x: jax.nn.softmax(x.astype("float32"), 0),
        "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x[:, 0]), x[0]),
    }
    for (name, function), dtype, length in itertools.product(functions.items(), ("float32", "int32"), (12, 10)):
        yield from cases(f"order/{name}_{dtype}_n{length}", function, [((length, 4), dtype)], _WHOLE_CUTS, "2 3 4 4p")


def _dots() -> Iterator[Case]:
    cuts = [
        ".x,x.->..", ".x,x.->x.", ".x,..->..", "x.,..->x.", "..,.x->.x", "x.,.x->xy", ".x,.y->.y", "xy,yx->xx",
        "xy,y.->x.", ".j,j.->..", ".j,k.->..", "x.,.y->xy", "yx,..->..", "xy,xy->yx",
    ]  # fmt: skip
    cuts = [cut for cut in cuts if cut.split("->")[1] != "xx"]
    for dtype, length in itertools.product(("float32", "int32", "bfloat16", "complex64"), (12, 10, 7)):
        arguments = [((6, length), dtype), ((length, 8), dtype)]
        yield from cases(f"dot/plain_{dtype}_n{length}", jnp.matmul, arguments, cuts, "2x2 2x3 2x4 2x4p")
        batched = lambda a, b: jnp.einsum("bij,bjk->bik", a, b)  # noqa: E731
        arguments = [((length, 4, 6), dtype), ((length, 6, 2), dtype)]
        batch = ["x..,x..->x..", "x..,...->x..", "..x,.x.->...", "xy.,x..->xy.", "x.y,xy.->x..", "j..,j..->j.."]
        yield from cases(f"dot/batched_{dtype}_n{length}", batched, arguments, batch, "2x2 2x3")
        two = lambda a, b: jnp.einsum("ij,ijk->k", a, b)  # noqa: E731
        arguments = [((length, 4), dtype), ((length, 4, 2), dtype)]
        pair = ["xy,xy.->.", "x.,x..->.", ".x,.x.->x", "xy,yx.->."]
        yield from cases(f"dot/two_{dtype}_n{length}", two, arguments, pair, "2x2 2x3 2x4")


def _solvers() -> Iterator[Case]:
    lower = lambda a: jnp.tril(a) + 9 * jnp.eye(a.shape[0])  # noqa: E731
    functions: dict[str, Callable[..., Any]] = {
        "triangular_solve": lambda a: jax.scipy.linalg.solve_triangular(lower(a), a, lower=True),
        "cholesky": lambda a: jnp.linalg.cholesky(lower(a) @ lower(a).T),
        "fft": lambda a: jnp.fft.fft(a, axis=0),
        "rfft": lambda a: jnp.abs(jnp.fft.rfft(a, axis=0)),
        "ifft": lambda a: jnp.fft.ifft(a, axis=1),
        "fft2": jnp.fft.fft2,
    }
    for (name, function), length in itertools.product(functions.items(), (8, 6)):
        yield from cases(f"solver/{name}_n{length}", function, [(length, length)], [*_WHOLE_CUTS, "x.->.x"], "2 4")


def programs() -> Iterator[Case]:
    yield from thinned(_reduces(), 8)
    yield from thinned(_orders(), 4)
    yield from thinned(_dots(), 5)
    yield from thinned(_solvers(), 3)
