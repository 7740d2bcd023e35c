"""Where MLIR's own parser says that something is."""

from __future__ import annotations

import re
from typing import Any

from ..compat import ir
from .errors import ReadError, ReadErrorKind

MESSAGE_LIMIT = 400
"""MLIR repeats the offending text in some messages; the start is enough."""

_POSITION = re.compile(r'loc\("-":([1-9]\d*):(\d+)\)')


def position(location: Any) -> tuple[int, int] | None:
    """Line and column of a location in the parsed text itself, None for any other."""
    match = _POSITION.fullmatch(str(location))
    return (int(match[1]), int(match[2])) if match else None


def place_of(op: Any, name: str) -> str:
    """`file:line:col` of an operation of the file of this name, or the file where it has no position in it."""
    found = position(op.location)
    return f"{name}:{found[0]}:{found[1]}" if found else name


def syntax_error(error: ir.MLIRError, name: str) -> ReadError:
    """What MLIR's parser says of a text of the file of this name."""
    diagnostics = error.error_diagnostics
    message = diagnostics[0].message if diagnostics else str(error).strip().partition("\n")[0]
    found = position(diagnostics[0].location) if diagnostics else None
    where = f"{name}:{found[0]}:{found[1]}" if found else name
    return ReadError(ReadErrorKind.SYNTAX, where, message.strip()[:MESSAGE_LIMIT])
