"""MLIR files that hold more than one program: parsed, and where MLIR's own parser says that something is."""

from __future__ import annotations

import re
from typing import Any

from ..compat import bytecode_of, ir, new_context, parse_module
from .aide import in_aide
from .bytecode import check_bytecode, is_bytecode
from .errors import ReadError, ReadErrorKind
from .files import check_nesting, check_strings

MESSAGE_LIMIT = 400
"""MLIR repeats the offending text in some messages; the start is enough."""

_POSITION = re.compile(r'loc\("-":([1-9]\d*):(\d+)\)')


def parse_file(data: bytes | str, name: str) -> ir.Module:
    """MLIR text or bytecode with operations of any dialect; raises `ReadError`."""
    source: bytes | str = data
    if isinstance(data, bytes) and is_bytecode(data):
        check_bytecode(data, name)
    else:
        source = data if isinstance(data, str) else text_of(data, name)
        plain = source.encode()
        check_nesting(plain, name)
        check_strings(plain, name)
    return read_back(in_aide(name, _bytecode, source, name), name)


def read_back(code: bytes, name: str) -> ir.Module:
    """The module of bytecode that MLIR wrote itself: it holds affine maps as text, not all of which it reads again."""
    try:
        return parse_module(code, new_context(allow_unregistered=True))
    except ir.MLIRError as error:
        raise ReadError(ReadErrorKind.SYNTAX, name, syntax_error(error, name).message) from None


def _bytecode(source: bytes | str, name: str) -> bytes:
    try:
        return bytecode_of(parse_module(source, new_context(allow_unregistered=True)))
    except ir.MLIRError as error:
        raise syntax_error(error, name) from None


def text_of(data: bytes, name: str) -> str:
    """The text that bytes hold; raises `ReadError` where they hold none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ReadError(ReadErrorKind.FORMAT, name, "is no text")
    return text


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
