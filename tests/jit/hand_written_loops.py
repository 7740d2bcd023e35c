"""Loops on both sides: solvers, recurrences, micro-batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats

COLUMNS = P(None, "d")
TRIPS = 100
"""More than are repeated one by one: such loops have to be paired."""


def _gathered(x: Any) -> Any:
    return lax.all_gather(x, "d", tiled=True)


def _conjugate_gradient(product: Any, dot: Any, b: Any) -> Any:
    def step(_: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, rest, direction, square = state
        turned = product(direction)
        length = square / dot(direction, turned)
        left = rest - length * turned
        new = dot(left, left)
        return x + length * direction, left, left + (new / square) * direction, new

    return lax.fori_loop(0, TRIPS, step, (jnp.zeros_like(b), b, b, dot(b, b)))[0]


def _solve(a: Any, b: Any) -> Any:
    return _conjugate_gradient(lambda x: a @ x, jnp.dot, b)


def _solve_rows(a: Any, b: Any, *, broken: bool = False) -> Any:
    def dot(x: Any, y: Any) -> Any:
        return x @ y if broken else lax.psum(x @ y, "d")

    return _conjugate_gradient(lambda x: a @ _gathered(x), dot, b)


def _power(a: Any, v: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        w = a @ v
        return w / jnp.sqrt((w * w).sum()) + i

    return lax.fori_loop(0, TRIPS, step, v)


def _power_rows(a: Any, v: Any, *, broken: bool = False) -> Any:
    def step(i: Any, v: Any) -> Any:
        w = a @ _gathered(v)
        square = (w * w).sum()
        return w / jnp.sqrt(square if broken else lax.psum(square, "d")) + i

    return lax.fori_loop(0, TRIPS, step, v)


def _heat(u: Any) -> Any:
    return lax.fori_loop(0, TRIPS, lambda _, u: u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u), u)


def _heat_rows(u: Any, *, broken: bool = False) -> Any:
    ring = [(d, (d + 1) % DEVICES) for d in range(DEVICES)]

    def step(_: Any, u: Any) -> Any:
        before = lax.ppermute(u[-1:], "d", ring)
        after = lax.ppermute(u[:1], "d", ring if broken else [(b, a) for a, b in ring])
        wide = jnp.concatenate([before, u, after])
        return u + 0.1 * (wide[:-2] + wide[2:] - 2 * u)

    return lax.fori_loop(0, TRIPS, step, u)


def _recurrent(x: Any, state: Any, w: Any, u: Any, whole: Any = lambda state: state) -> Any:
    def step(state: Any, x: Any) -> Any:
        state = jnp.tanh(x @ w + whole(state) @ u)
        return state, state

    return lax.scan(step, state, x)[1]


def _recurrent_columns(x: Any, state: Any, w: Any, u: Any, *, broken: bool = False) -> Any:
    def whole(state: Any) -> Any:
        copies = jnp.concatenate([state] * DEVICES, axis=-1)
        return copies if broken else lax.all_gather(state, "d", axis=-1, tiled=True)

    return _recurrent(x, state, w, u, whole)


def _gradient(w: Any, x: Any, y: Any) -> Any:
    return jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)


def _accumulated(w: Any, x: Any, y: Any) -> Any:
    """The mean over micro-batches, each divided as it comes."""

    def step(total: Any, batch: Any) -> Any:
        return total + _gradient(w, *batch) / len(x), None

    return lax.scan(step, jnp.zeros_like(w), (x, y))[0]


def _accumulated_batches(w: Any, x: Any, y: Any, *, broken: bool = False) -> Any:
    """The mean over micro-batches and devices, divided once."""

    def step(total: Any, batch: Any) -> Any:
        return total + _gradient(w, *batch), None

    total = lax.pmean(lax.scan(step, jnp.zeros_like(w), (x, y))[0], "d")
    return total / (len(x) + 1 if broken else len(x))


def _layers(w: Any, x: Any) -> Any:
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0]


def _layers_written_out(w: Any, x: Any, *, broken: bool = False) -> Any:
    for k in range(len(w)):
        x = jnp.tanh(lax.all_gather(x, "d", axis=1, tiled=True) @ w[0 if broken else k])
    return x


def _around(x: Any, *, broken: bool = False) -> Any:
    """The sum over all devices, in a ring."""
    ring = [(d, (d + 1) % DEVICES) for d in range(DEVICES)]
    trips = DEVICES - 2 if broken else DEVICES - 1
    return lax.fori_loop(0, trips, lambda _, total: lax.ppermute(total, "d", ring) + x, x)


def _summed_around(x: Any, *, broken: bool = False) -> Any:
    return _around(x.sum(0), broken=broken)


def _multiplied_around(x: Any, y: Any, *, broken: bool = False) -> Any:
    return _around(jnp.zeros((3, 5)) + x.T @ y, broken=broken)


def _state_space(a: Any, b: Any) -> Any:
    def step(state: Any, given: tuple[Any, Any]) -> tuple[Any, Any]:
        state = given[0] * state + given[1]
        return state, state

    return lax.scan(step, jnp.zeros(a.shape[1]), (a, b))[1]


def _state_space_in_chunks(a: Any, b: Any, *, broken: bool = False) -> Any:
    """Each device goes through its chunk from zero, and adds what the chunks before it leave over."""

    def step(carried: tuple[Any, Any], given: tuple[Any, Any]) -> tuple[Any, Any]:
        decay, state = carried[0] * given[0], given[0] * carried[1] + given[1]
        return (decay, state), (decay, state)

    count = a.shape[1]
    _, (decay, state) = lax.scan(step, (jnp.ones(count), jnp.zeros(count)), (a, b))
    decays, states = (lax.all_gather(each[-1], "d") for each in (decay, state))
    before = [jnp.zeros(count)]
    for k in range(DEVICES - 1):
        before.append((1 if broken else decays[k]) * before[-1] + states[k])
    return state + decay * jnp.stack(before)[lax.axis_index("d")]


_RECURRENT = Program(
    _recurrent,
    _recurrent_columns,
    (WHOLE, COLUMNS, COLUMNS, COLUMNS),
    P(None, None, "d"),
    (floats(5, 2, 3), floats(2, 8), floats(3, 8), floats(8, 8)),
)

PROGRAMS = {
    "conjugate gradients": Program(_solve, _solve_rows, (ROWS, ROWS), ROWS, (floats(8, 8), floats(8))),
    "power iteration": Program(_power, _power_rows, (ROWS, ROWS), ROWS, (floats(8, 8), floats(8))),
    "heat": Program(_heat, _heat_rows, ROWS, ROWS, (floats(12, 3),)),
    "a recurrent network": _RECURRENT,
    "a recurrent network, gradients": replace(_RECURRENT, gradients=(2, 3)),
    "micro-batches divided one by one": Program(
        _accumulated,
        _accumulated_batches,
        (WHOLE, COLUMNS, COLUMNS),
        WHOLE,
        (floats(5, 4), floats(3, 8, 5), floats(3, 8, 4)),
        "real",
    ),
    "a state space model in chunks": Program(
        _state_space, _state_space_in_chunks, (ROWS, ROWS), ROWS, (floats(8, 3), floats(8, 3)), "real"
    ),
    "a sum of one row a device, in a ring": Program(
        lambda x: x.sum(0), _summed_around, ROWS, WHOLE, (floats(DEVICES, 3),)
    ),
    "a product over one row a device, in a ring": Program(
        lambda x, y: x.T @ y, _multiplied_around, (ROWS, ROWS), WHOLE, (floats(DEVICES, 3), floats(DEVICES, 5))
    ),
    "layers in a loop": Program(
        _layers, _layers_written_out, (P(None, None, "d"), COLUMNS), COLUMNS, (floats(3, 8, 8), floats(2, 8))
    ),
}
