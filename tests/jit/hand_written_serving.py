"""Steps of inference, and products that overlap with what they wait for: caches, heads, experts, stages."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats, integers

COLUMNS = P(None, "d")
FORTH = [(d, (d + 1) % DEVICES) for d in range(DEVICES)]
BACK = [(b, a) for a, b in FORTH]
TICKS, STAGES = 5, DEVICES


def _product(x: Any, w: Any) -> Any:
    return x @ w


def _gathered_from_both_sides(x: Any, w: Any, *, broken: bool = False) -> Any:
    """Rows of x come around the ring both ways, each multiplied where it is."""
    me, count = lax.axis_index("d"), len(x)
    out = jnp.zeros((DEVICES * count, w.shape[1]))
    forth = back = x
    out = lax.dynamic_update_slice(out, x @ w, (me * count, 0))
    for k in range(1, DEVICES // 2 + 1):
        forth = lax.ppermute(forth, "d", FORTH)
        out = lax.dynamic_update_slice(out, forth @ w, ((me - k) % DEVICES * count, 0))
        if k < DEVICES // 2:
            back = lax.ppermute(back, "d", BACK)
            out = lax.dynamic_update_slice(out, back @ w, ((me + (0 if broken else k)) % DEVICES * count, 0))
    return out


def _scattered_on_the_way(x: Any, w: Any, *, broken: bool = False) -> Any:
    """Sums of parts of the product go around the ring, and each device adds its own."""
    me, count = lax.axis_index("d"), len(x) // DEVICES

    def part(k: Any) -> Any:
        return lax.dynamic_slice_in_dim(x, k % DEVICES * count, count) @ w

    def step(k: Any, total: Any) -> Any:
        return lax.ppermute(total, "d", FORTH) + part(me + k + 1 if broken else me - k - 1)

    return lax.fori_loop(1, DEVICES, step, part(me - 1))


def _written(cache: Any, new: Any, place: Any) -> Any:
    return lax.dynamic_update_slice_in_dim(cache, new[None], jnp.clip(place, 0, len(cache) - 1), 0)


def _written_by_the_owner(cache: Any, new: Any, place: Any, *, broken: bool = False) -> Any:
    """A cache that is cut along its positions: the new element is chosen where its position is."""
    place = jnp.clip(place, 0, DEVICES * len(cache) - 1)
    start = lax.axis_index("d") * (len(cache) - 1 if broken else len(cache))
    return jnp.where((start + jnp.arange(len(cache)) == place)[:, None], new, cache)


def _attended(x: Any, wq: Any, wk: Any, wo: Any, groups: int = 2, queries: int = 8) -> Any:
    """Attention in which several heads of queries share one of keys, which are the values too."""
    tokens, size = len(x), wq.shape[1] // queries
    q = (x @ wq).reshape(tokens, groups, queries // groups, size)
    k = (x @ wk).reshape(tokens, groups, size)
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), jnp.einsum("tghd,sgd->ghts", q, k), -1e9)
    return jnp.einsum("ghts,sgd->tghd", jax.nn.softmax(scores), k).reshape(tokens, -1) @ wo


def _attended_by_heads(x: Any, wq: Any, wk: Any, wo: Any, *, broken: bool = False) -> Any:
    """More devices than heads of keys: each takes the one that its heads of queries share."""
    group = lax.axis_index("d") % 2 if broken else lax.axis_index("d") // 2
    size = wk.shape[1] // 2
    return lax.psum(_attended(x, wq, lax.dynamic_slice_in_dim(wk, group * size, size, 1), wo, 1, 2), "d")


CAPACITY = 2


def _sent(x: Any, router: Any) -> Any:
    """By token, expert and place at the expert: whether it is sent there. What finds no place is dropped."""
    chosen = jax.nn.one_hot((x @ router).argmax(-1), DEVICES)
    place = (jnp.cumsum(chosen, 0) * chosen - 1).astype("int32")
    return chosen[..., None] * jax.nn.one_hot(place, CAPACITY)


def _experts(x: Any, router: Any, w: Any) -> Any:
    groups = x.reshape(DEVICES, -1, x.shape[1])
    sent = jax.vmap(_sent, (0, None))(groups, router)
    received = jnp.einsum("gtec,gtd->gecd", sent, groups)
    out = jnp.einsum("gtec,gecd->gtd", sent, jax.nn.relu(jnp.einsum("gecd,edf->gecf", received, w)))
    return out.reshape(len(x), -1)


def _experts_apart(x: Any, router: Any, w: Any, *, broken: bool = False) -> Any:
    sent = _sent(x, router)
    received = lax.all_to_all(jnp.einsum("tec,td->ecd", sent, x), "d", 0, 1, tiled=True)
    out = lax.all_to_all(jax.nn.relu(jnp.einsum("ecd,edf->ecf", received, w)), "d", 1, 0, tiled=True)
    return jnp.einsum("tec,ecd->td", sent, jnp.roll(out, 1, 0) if broken else out)


def _stages(w: Any, x: Any) -> Any:
    for k in range(STAGES):
        x = jnp.tanh(x @ w[k])
    return x


def _stages_in_a_loop(w: Any, x: Any, *, broken: bool = False) -> Any:
    """A pipeline in one loop, whose last stage writes what it has at the place of its micro-batch."""
    stage, last = lax.axis_index("d"), STAGES - 1

    def tick(carried: Any, time: Any) -> Any:
        received, out = carried
        done = jnp.tanh(jnp.where(stage == 0, x[jnp.minimum(time, TICKS - 1)], received) @ w[0])
        place = time - (last - 1 if broken else last)
        written = lax.dynamic_update_index_in_dim(out, done, jnp.clip(place, 0, TICKS - 1), 0)
        out = jnp.where((stage == last) & (place >= 0), written, out)
        return (lax.ppermute(done, "d", FORTH), out), None

    (_, out), _ = lax.scan(tick, (jnp.zeros_like(x[0]), jnp.zeros_like(x)), jnp.arange(TICKS + last))
    return lax.psum(jnp.where(stage == last, out, 0), "d")


def _cumulated(x: Any, *, broken: bool = False) -> Any:
    """Each device adds the totals of those before it."""
    own = jnp.cumsum(x)
    before = jnp.arange(DEVICES) < lax.axis_index("d") + (1 if broken else 0)
    return own + jnp.where(before, lax.all_gather(own[-1], "d"), 0).sum()


def _summed(x: Any) -> Any:
    return jnp.broadcast_to(x.sum(0), x.shape)


def _reduced_around(x: Any, *, broken: bool = False) -> Any:
    """A sum over devices in two rings: parts of sums first, then whole ones."""
    me, parts = lax.axis_index("d"), x[0].reshape(DEVICES, -1)
    total = lax.dynamic_index_in_dim(parts, me, 0, keepdims=False)
    for k in range(1, DEVICES):
        own = lax.dynamic_index_in_dim(parts, (me + k if broken else me - k) % DEVICES, 0, keepdims=False)
        total = lax.ppermute(total, "d", FORTH) + own
    out = jnp.zeros_like(parts)
    for k in range(DEVICES):
        out = lax.dynamic_update_index_in_dim(out, total, (me + 1 - k) % DEVICES, 0)
        total = lax.ppermute(total, "d", FORTH)
    return out.reshape(x.shape)


PROGRAMS = {
    "a product of rows from both sides": Program(
        _product, _gathered_from_both_sides, (ROWS, COLUMNS), COLUMNS, (floats(8, 6), floats(6, 8))
    ),
    "a product whose sums go around": Program(
        _product, _scattered_on_the_way, (COLUMNS, ROWS), ROWS, (floats(8, 12), floats(12, 5))
    ),
    "a cache written by its owner": Program(
        _written, _written_by_the_owner, (ROWS, WHOLE, WHOLE), ROWS, (floats(16, 3), floats(3), integers())
    ),
    "fewer heads of keys than devices": Program(
        _attended,
        _attended_by_heads,
        (WHOLE, COLUMNS, WHOLE, ROWS),
        WHOLE,
        (floats(5, 6), floats(6, 16), floats(6, 4), floats(16, 3)),
    ),
    "experts with a capacity": Program(
        _experts,
        _experts_apart,
        (ROWS, WHOLE, ROWS),
        ROWS,
        (floats(16, 5), floats(5, DEVICES), floats(DEVICES, 5, 3)),
    ),
    "a pipeline in a loop": Program(
        _stages, _stages_in_a_loop, (ROWS, WHOLE), WHOLE, (floats(STAGES, 4, 4), floats(TICKS, 2, 4))
    ),
    "a cumulative sum of integers": Program(jnp.cumsum, _cumulated, ROWS, ROWS, (integers(24),)),
    "a sum in two rings": Program(_summed, _reduced_around, ROWS, ROWS, (floats(DEVICES, 12),)),
}
