"""What can be wrong with an input: one family of located errors."""

from __future__ import annotations

import enum


class ReadErrorKind(enum.Enum):
    """Why an input was refused. `UNSUPPORTED` is a program that is well formed but beyond the validator."""

    MISSING = "missing"
    FORMAT = "format"
    SYNTAX = "syntax"
    TRUNCATED = "truncated"
    ELIDED = "elided"
    LIMIT = "limit"
    MISMATCH = "mismatch"
    UNSUPPORTED = "unsupported"


MESSAGE_LIMIT = 1000
"""No more of a message is kept: many repeat what is wrong, which may be megabytes."""


class ReadError(Exception):
    """An input that was refused: its text starts with `file:line:col:` or `file:`."""

    def __init__(self, kind: ReadErrorKind, where: str, message: str) -> None:
        if len(message) > MESSAGE_LIMIT:
            message = f"{message[:MESSAGE_LIMIT]}…"
        super().__init__(f"{where}: {message}")
        self.kind = kind
        self.where = where
        self.message = message
