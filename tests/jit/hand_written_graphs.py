"""Message passing over a graph whose edges, or whose nodes, are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .hand_written import ROWS, WHOLE, Program, floats, integers

NODES, EDGES, FEATURES = 8, 12, 3


def _messages(x: Any, senders: Any, receivers: Any, w: Any) -> Any:
    return jnp.zeros((NODES, FEATURES)).at[receivers].add((x @ w)[senders])


def _edges_cut(x: Any, senders: Any, receivers: Any, w: Any, *, broken: bool = False) -> Any:
    received = _messages(x, senders, receivers, w)
    return received if broken else lax.psum(received, "d")


def _nodes_cut(x: Any, senders: Any, receivers: Any, w: Any, *, broken: bool = False) -> Any:
    sent = lax.all_gather(x @ w, "d", tiled=True)[senders]
    count = len(x)
    mine = receivers - (0 if broken else lax.axis_index("d") * count)
    there = (mine >= 0) & (mine < count)
    return jnp.zeros((count, FEATURES)).at[jnp.where(there, mine, count)].add(sent, mode="drop")


def _dropped(x: Any, senders: Any, receivers: Any, w: Any) -> Any:
    """The same with indices below zero left out, which NumPy takes from the end."""
    return _messages(x, senders, jnp.where(receivers < 0, NODES, receivers), w)


def _by_degree(x: Any, senders: Any, receivers: Any, w: Any, total: Any = lambda x: x) -> Any:
    degree = total(jnp.zeros(NODES).at[receivers].add(1.0))
    sent = (x @ w)[senders] / jnp.maximum(degree, 1)[senders][:, None]
    return degree, sent


def _normalised(x: Any, senders: Any, receivers: Any, w: Any) -> Any:
    _, sent = _by_degree(x, senders, receivers, w)
    return jax.nn.relu(jax.ops.segment_sum(sent, receivers, NODES))


def _normalised_edges_cut(x: Any, senders: Any, receivers: Any, w: Any, *, broken: bool = False) -> Any:
    def total(x: Any) -> Any:
        return lax.psum(x, "d")

    _, sent = _by_degree(x, senders, receivers, w, (lambda x: x) if broken else total)
    return jax.nn.relu(total(jax.ops.segment_sum(sent, receivers, NODES)))


_GRAPH = (floats(NODES, 5), integers(EDGES), integers(EDGES), floats(5, FEATURES))
_EDGES_CUT = Program(_messages, _edges_cut, (WHOLE, ROWS, ROWS, WHOLE), WHOLE, _GRAPH)

PROGRAMS = {
    "edges cut": _EDGES_CUT,
    "edges cut, gradients": replace(_EDGES_CUT, gradients=(0, 3)),
    "nodes cut": Program(_dropped, _nodes_cut, (ROWS, WHOLE, WHOLE, WHOLE), ROWS, _GRAPH),
    "edges cut, by degree": Program(_normalised, _normalised_edges_cut, (WHOLE, ROWS, ROWS, WHOLE), WHOLE, _GRAPH),
}
