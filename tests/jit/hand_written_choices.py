"""Greedy choices over a vocabulary that is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats, integers

WORDS = 12
COLUMNS = P(None, "d")


def _largest(logits: Any) -> Any:
    return logits.argmax(-1)


def _of_candidates(logits: Any, *, broken: bool = False) -> Any:
    """Every device tells its largest value and where it is; the first device that has the largest of these decides."""
    word = logits.argmax(-1) + (0 if broken else lax.axis_index("d") * logits.shape[-1])
    values, words = (lax.all_gather(x, "d") for x in (logits.max(-1), word))
    return jnp.take_along_axis(words, values.argmax(0)[None], 0)[0]


def _of_values_at_places(logits: Any, *, broken: bool = False) -> Any:
    """The same along the last axis, with values that are looked up; the broken twin has parts as wide as a device."""
    place = logits.argmax(-1, keepdims=True)
    word = place + lax.axis_index("d") * (DEVICES if broken else logits.shape[-1])
    value = jnp.take_along_axis(logits, place, -1)
    values, words = (lax.all_gather(x, "d", axis=1, tiled=True) for x in (value, word))
    return jnp.take_along_axis(words, values.argmax(-1, keepdims=True), -1)[:, 0]


def _nearest(points: Any, codes: Any) -> Any:
    return ((points[:, None] - codes[None]) ** 2).sum(-1).argmin(-1)


def _nearest_of_parts(points: Any, codes: Any, *, broken: bool = False) -> Any:
    """Vector quantisation with codes that are cut."""
    distances = ((points[:, None] - codes[None]) ** 2).sum(-1)
    code = distances.argmin(-1) + lax.axis_index("d") * len(codes)
    values, codes_found = lax.all_gather(distances.min(-1), "d"), lax.all_gather(code, "d")
    who = values.argmax(0) if broken else values.argmin(0)
    return jnp.take_along_axis(codes_found, who[None], 0)[0]


def _next_embedding(logits: Any, table: Any, choose: Callable[[Any], Any] = _largest) -> Any:
    return table[choose(logits)]


def _next_embedding_of_parts(logits: Any, table: Any, *, broken: bool = False) -> Any:
    """What a greedy step feeds back: rows of a table that is cut as the vocabulary is."""
    mine = _of_candidates(logits) - lax.axis_index("d") * len(table)
    there = (mine >= 0) & ((mine <= len(table)) if broken else (mine < len(table)))
    return lax.psum(jnp.where(there[:, None], table[jnp.clip(mine, 0, len(table) - 1)], 0), "d")


PROGRAMS = {
    "largest of candidates": Program(_largest, _of_candidates, (COLUMNS,), WHOLE, (floats(6, WORDS),)),
    "largest of integers": Program(_largest, _of_candidates, (COLUMNS,), WHOLE, (integers(6, WORDS),)),
    "largest of values at places": Program(_largest, _of_values_at_places, (COLUMNS,), WHOLE, (floats(6, WORDS),)),
    "nearest code": Program(_nearest, _nearest_of_parts, (WHOLE, ROWS), WHOLE, (floats(6, 3), floats(WORDS, 3))),
    "next embedding": Program(
        _next_embedding, _next_embedding_of_parts, (COLUMNS, ROWS), WHOLE, (floats(6, WORDS), floats(WORDS, 3))
    ),
}
