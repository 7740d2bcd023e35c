"""Fourier transforms whose dimensions are exchanged between devices."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from .hand_written import ROWS, Program, Struct

SQUARE = Struct((8, 12), "complex64")

_exchanged = partial(lax.all_to_all, axis_name="d", split_axis=1, concat_axis=0, tiled=True)
_back = partial(lax.all_to_all, axis_name="d", split_axis=0, concat_axis=1, tiled=True)


def _in_slabs(x: Any, *, broken: bool = False) -> Any:
    """Rows are transformed where they are, columns where they are whole."""
    rows = jnp.fft.fft(x, axis=1)
    return _back(jnp.fft.fft(_exchanged(x if broken else rows), axis=0))


def _inverse_in_slabs(x: Any, *, broken: bool = False) -> Any:
    columns = _back(jnp.fft.ifft(_exchanged(x), axis=0))
    return (jnp.fft.fft if broken else jnp.fft.ifft)(columns, axis=1)


PROGRAMS = {
    "in slabs": Program(jnp.fft.fft2, _in_slabs, ROWS, ROWS, (SQUARE,)),
    "inverse in slabs": Program(jnp.fft.ifft2, _inverse_in_slabs, ROWS, ROWS, (SQUARE,)),
}
