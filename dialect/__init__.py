"""The `shardproof` MLIR dialect: problems, relations and certificates as files for MLIR tools (see docs/dialect.md)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build import canonical, printed, problem_text, relations_text
    from .definition import definition, definition_text
    from .entries import AffinePiece, Entry, EntryError, Pieces, Repeat, Replicated, Shard, Unstated, Written
    from .verify import RULES, Finding, verify

__all__ = [
    "RULES",
    "AffinePiece",
    "Entry",
    "EntryError",
    "Finding",
    "Pieces",
    "Repeat",
    "Replicated",
    "Shard",
    "Unstated",
    "Written",
    "canonical",
    "definition",
    "definition_text",
    "printed",
    "problem_text",
    "relations_text",
    "verify",
]

_HOME = {
    **dict.fromkeys(("canonical", "printed", "problem_text", "relations_text"), "build"),
    **dict.fromkeys(("definition", "definition_text"), "definition"),
    **dict.fromkeys(("RULES", "Finding", "verify"), "verify"),
}


def __getattr__(name: str) -> Any:
    """Imports on first use: the readers need part of this package, and all of it needs the readers."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_HOME.get(name, 'entries')}", __name__), name)
