"""Which programs a benchmark is asked for."""

from __future__ import annotations

from collections.abc import Sequence


def is_meant(name: str, words: Sequence[str]) -> bool:
    """Whether a program's name contains one of these words; without words all are meant."""
    return not words or any(word in name for word in words)
