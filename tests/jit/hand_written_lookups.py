"""Tables whose rows are cut, and what looks rows up in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats, integers

WORDS = 12


def _rows(table: Any, words: Any) -> Any:
    return jnp.take(table, words, axis=0, mode="clip")


def _masked_rows(table: Any, words: Any, *, broken: bool = False) -> Any:
    """Every device looks up what it has, and something else in the place of what it has not."""
    count = len(table)
    mine = jnp.clip(words, 0, DEVICES * count - 1) - lax.axis_index("d") * count
    there = (mine >= 0) & (mine < count)
    rows = table[jnp.clip(mine, 0, count - 1)]
    return lax.psum(rows if broken else jnp.where(there[:, None], rows, 0), "d")


def _plain_rows(table: Any, words: Any) -> Any:
    return table[words]


def _rows_of_parts(table: Any, words: Any, *, broken: bool = False) -> Any:
    """The same without a thought of words that there are not."""
    count = len(table)
    mine = words - lax.axis_index("d") * count
    there = (mine >= 0) & ((mine <= count) if broken else (mine < count))
    return lax.psum(jnp.where(there[:, None], table[jnp.clip(mine, 0, count - 1)], 0), "d")


def _products(table: Any, words: Any) -> Any:
    return jax.nn.one_hot(jnp.clip(words, 0, WORDS - 1), WORDS) @ table


def _products_of_parts(table: Any, words: Any, *, broken: bool = False) -> Any:
    count = len(table)
    first = 0 if broken else lax.axis_index("d") * count
    return lax.psum(jax.nn.one_hot(jnp.clip(words, 0, DEVICES * count - 1) - first, count) @ table, "d")


def _language_model(table: Any, words: Any) -> Any:
    return jax.nn.log_softmax(jnp.tanh(_rows(table, words)) @ table.T)


def _language_model_of_parts(table: Any, words: Any, *, broken: bool = False) -> Any:
    scores = jnp.tanh(_masked_rows(table, words)) @ table.T
    top = lax.pmax(lax.stop_gradient(scores).max(-1, keepdims=True), "d")
    total = jnp.exp(scores - top).sum(-1, keepdims=True)
    return scores - top - jnp.log(total if broken else lax.psum(total, "d"))


def _added(table: Any, words: Any, kinds: Any, values: Any) -> Any:
    return table.at[words].add(jnp.where(kinds < 5, values, 0), mode="drop")


def _added_to_parts(table: Any, words: Any, kinds: Any, values: Any, *, broken: bool = False) -> Any:
    """What is no device's row and what is of another kind are two masks, one around the other."""
    count = len(table)
    mine = jnp.where(words < 0, words + WORDS, words) - lax.axis_index("d") * count
    there = (mine >= 0) & ((mine <= count) if broken else (mine < count))
    values = jnp.where(there, jnp.where(kinds < 5, values, 0), 0)
    return table.at[jnp.clip(mine, 0, count - 1)].add(values)


def _chosen_twice(table: Any, words: Any, kinds: Any) -> Any:
    values = table[jnp.clip(words, 0, WORDS - 1)]
    return jnp.where(kinds > 0, values, 0), jnp.exp(values)


def _chosen_twice_of_parts(table: Any, words: Any, kinds: Any, *, broken: bool = False) -> Any:
    """A look-up under a mask, and the same one in something else."""
    values = _masked_rows(table[:, None], words)[:, 0]
    return jnp.where(kinds >= 0 if broken else kinds > 0, values, 0), jnp.exp(values)


_TABLE = (floats(WORDS, 3), integers(7))
_MASKED = Program(_rows, _masked_rows, (ROWS, WHOLE), WHOLE, _TABLE)
_PLAIN = Program(_plain_rows, _rows_of_parts, (ROWS, WHOLE), WHOLE, _TABLE, assume=("indices-in-bounds",))

PROGRAMS = {
    "masked rows": _MASKED,
    "masked rows, gradients": replace(_MASKED, gradients=(0,)),
    "plain rows": _PLAIN,
    "plain rows, gradients": replace(_PLAIN, gradients=(0,)),
    "masked values added to rows": Program(
        _added,
        _added_to_parts,
        (ROWS, WHOLE, WHOLE, WHOLE),
        ROWS,
        (floats(WORDS), integers(7), integers(7), floats(7)),
    ),
    "rows chosen and used": Program(
        _chosen_twice,
        _chosen_twice_of_parts,
        (ROWS, WHOLE, WHOLE),
        (WHOLE, WHOLE),
        (floats(WORDS), integers(7), integers(7)),
    ),
    "products with one-hot rows": Program(_products, _products_of_parts, (ROWS, WHOLE), WHOLE, _TABLE),
    "a language model": Program(
        _language_model, _language_model_of_parts, (ROWS, WHOLE), jax.sharding.PartitionSpec(None, "d"), _TABLE, "real"
    ),
}
