"""Loops, branches, sorting, random numbers, complex numbers and other single cases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from ..entry import M3, M8, M222, Entry, entry

_XY = P("x", "y")


def _scan_layers(x, weights):
    return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, weights)[0]


def _scan_outputs(x, rows):
    return lax.scan(lambda total, row: (total + row @ x, total.sum()), jnp.zeros(6), rows)


def _accumulate(w, batches):
    def body(total, batch):
        return total + jax.grad(lambda w: jnp.mean((batch @ w) ** 2))(w), None

    return lax.scan(body, jnp.zeros_like(w), batches)[0]


def _power(a):
    return lax.fori_loop(0, 3, lambda _, h: h @ a / 8, a)


def _fori_index(a):
    return lax.fori_loop(0, 4, lambda i, h: h + a * i, a)


def _while_norm(x):
    return lax.while_loop(lambda h: jnp.sum(h * h) > 1.0, lambda h: h * 0.5, x)


def _while_count(x, limit):
    return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, jnp.tanh(s[1]) + s[1].mean()), (0, x))[1]


def _cond(x, flag):
    return lax.cond(flag > 0, lambda h: h.sum(0), lambda h: h.max(0), x)


def _switch(x, which):
    return lax.switch(which, [lambda h: h * 2, lambda h: h[::-1], jnp.tanh], x)


def _uniform(x):
    return x + jax.random.uniform(jax.random.key(0), x.shape)


def _dropout(x, key):
    return jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(key), 0.5, x.shape), x * 2, 0)


def _recurrent(x, w, u):
    def body(h, row):
        new = jnp.tanh(row @ w + h @ u)
        return new, new

    return lax.scan(body, jnp.zeros((4, 8)), x)[1]


def _scan_rows(a):
    return lax.scan(lambda c, r: (c + r, c * r), a[0], a)


def _prefix_sums(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.cumsum(jnp.stack([a, jnp.sin(a), a * a], -1), -1), jnp.cumsum(jnp.concatenate([a, jnp.sin(a)], 1), 1)


def _piecewise(a: jax.Array) -> jax.Array:
    return jnp.piecewise(a, [a > 2, a > 1, a > 0], [jnp.sin, jnp.cos, lambda x: x + 1, lambda x: x * 0.5])


def _twice(row: jax.Array) -> jax.Array:
    return row * 2 + 1


def _gram(a: jax.Array) -> jax.Array:
    return a.T @ a + 12 * jnp.eye(a.shape[1])


def _power_iteration(a, v):
    return lax.fori_loop(0, 4, lambda _, u: (a @ u) / jnp.linalg.norm(a @ u), v)


_SCAN_GRADIENT = jax.grad(lambda w, x: jnp.sum(_scan_layers(x, w) ** 2))
_REMAT_GRADIENT = jax.grad(lambda w, x: jnp.sum(jax.checkpoint(lambda h: jnp.tanh(h @ w))(x)))

ENTRIES: tuple[Entry, ...] = (
    entry("scan_layers", _scan_layers, [((8, 16), P("x")), ((3, 16, 16), P(None, None, "y"))], P("x")),
    entry("scan_layers_inner", _scan_layers, [((8, 16), P("x")), ((3, 16, 16), P(None, "y"))], P("x")),
    entry(
        "scan_layers_gradient",
        _SCAN_GRADIENT,
        [((3, 16, 16), P(None, None, "y")), ((8, 16), P("x"))],
        P(None, None, "y"),
    ),
    entry("scan_outputs", _scan_outputs, [((16, 6), P("y")), ((5, 16), P(None, "y"))], (P(), P())),
    entry("scan_rows_sharded", _scan_rows, [((8, 6), P("y"))], (P(), P("y"))),
    entry("scan_micro_batches", _accumulate, [((16, 4), P()), ((4, 8, 16), P(None, "x"))], P()),
    entry(
        "scan_recurrent",
        _recurrent,
        [((5, 4, 6), P(None, "x")), ((6, 8), P(None, "y")), ((8, 8), P(None, "y"))],
        P(None, "x"),
    ),
    entry("fori_power", _power, [((16, 16), _XY)], _XY),
    entry("fori_power_line", _power, [((16, 16), P("x"))], P("x"), M8),
    entry("fori_index", _fori_index, [((16, 6), P("y"))], P("y")),
    entry("while_norm", _while_norm, [((16, 8), _XY)], _XY),
    entry("while_norm_unused_axis", _while_norm, [((16, 6), P("y"))], P("y"), M222),
    entry("while_count", _while_count, [((16, 6), P("y")), ((), P(), "int32")], P("y")),
    entry("cond_reduce", _cond, [((16, 6), P("y")), ((), P(), "int32")], P()),
    entry("switch_three", _switch, [((16, 6), P("y")), ((), P(), "int32")], P("y")),
    entry("sort_sharded_rows", lambda a: jnp.sort(a, axis=0), [((16, 6), P("y"))], P("y")),
    entry("sort_other", lambda a: jnp.sort(a, axis=1), [((16, 6), P("y"))], P("y")),
    entry(
        "sort_pairs",
        lambda k, v: lax.sort((k, v), num_keys=1),
        [((16, 6), P("y")), ((16, 6), P("y"))],
        (P("y"), P("y")),
    ),
    entry("argsort_rows", lambda a: jnp.argsort(a, axis=0), [((16, 6), P("y", "x"))], P("y", "x")),
    entry("top_k_rows", lambda a: tuple(lax.top_k(a, 3)), [((8, 16), P("x"))], (P("x"), P("x"))),
    entry("top_k_sharded", lambda a: tuple(lax.top_k(a, 3)), [((8, 16), _XY)], (P("x"), P("x"))),
    entry("rng_uniform_sharded", _uniform, [((16, 8), _XY)], _XY),
    entry("rng_uniform_joint", _uniform, [((16, 6), P(("y", "x")))], P(("y", "x"))),
    entry("rng_dropout", _dropout, [((16, 8), P("y")), ((2,), P(), "uint32")], P("y")),
    entry("rng_permutation", lambda a: jax.random.permutation(jax.random.key(1), a), [((16,), P("y"))], P("y")),
    entry("complex_matmul", lambda a, b: a @ b, [((8, 16), _XY, "complex64"), ((16, 6), P("y"), "complex64")], P("x")),
    entry("complex_abs", lambda a: jnp.abs(a * 1j + a.conj()).sum(0), [((8, 16), _XY, "complex64")], P()),
    entry("fft_rows", lambda a: jnp.fft.fft(a, axis=1).real, [((8, 16), P("x"))], P("x")),
    entry(
        "int_arithmetic",
        lambda a, b: (a // 3 + b % 5) ^ (a << 2),
        [((8, 16), _XY, "int32"), ((8, 16), P("y"), "int32")],
        _XY,
    ),
    entry("int8_sum", lambda a: a.astype(jnp.int8).sum(0, dtype=jnp.int8), [((8, 16), _XY, "int32")], P()),
    entry("uint_product", lambda a: jnp.prod(a, 0), [((8, 16), _XY, "uint32")], P()),
    entry("bool_parity", lambda a: jnp.sum(a > 0, 0) % 2, [((8, 16), _XY)], P()),
    entry("bf16_mean", lambda a: jnp.mean(a, 0), [((8, 16), _XY, "bfloat16")], P()),
    entry("half_softmax", jax.nn.softmax, [((8, 16), _XY, "float16")], _XY),
    entry("cholesky_batch", jnp.linalg.cholesky, [((8, 4, 4), P("x"))], P("x")),
    entry("prefix_sums_of_parts", _prefix_sums, [((8, 4), P("x", "y"))], P("x")),
    entry("piecewise", _piecewise, [((8, 4), _XY)], _XY),
    entry("gradient", jnp.gradient, [((8,), P("x"))], P("x")),
    entry("cholesky_of_rows", lambda a: jnp.linalg.cholesky(_gram(lax.map(_twice, a))), [((3, 4), P(None, "y"))], P()),
    entry("associative_scan", lambda a: lax.associative_scan(jnp.multiply, a), [((16, 4), P("y"))], P("y")),
    entry("polynomial", lambda a: jnp.polyval(jnp.arange(4.0), a), [((16, 8), _XY)], _XY),
    entry("clip_where", lambda a: jnp.where(a > 0.5, jnp.clip(a, -1, 1), a * 0.1), [((16, 8), _XY)], P("y", "x")),
    entry(
        "power_iteration",
        _power_iteration,
        [((12, 12), P("x")), ((12,), P("x"))],
        P("x"),
        M3,
    ),
    entry("vmap_dot", jax.vmap(jnp.dot), [((8, 16), P("x")), ((8, 16), _XY)], P("x")),
    entry(
        "remat_mlp",
        _REMAT_GRADIENT,
        [((16, 8), P(None, "y")), ((8, 16), P("x"))],
        P(None, "y"),
    ),
)
