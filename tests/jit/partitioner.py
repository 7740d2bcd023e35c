"""Which of XLA's two partitioners a test compiles with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def shardy(on: bool) -> Iterator[None]:
    """Shardy, or GSPMD, inside the block."""
    before = jax.config.jax_use_shardy_partitioner  # type: ignore[attr-defined]
    jax.config.update("jax_use_shardy_partitioner", on)
    try:
        yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)
