"""Bytes of an input and what kind of program they hold, judged by content and never by suffix."""

from __future__ import annotations

import enum
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .bytecode import is_bytecode
from .errors import ReadError, ReadErrorKind

SIZE_LIMIT = 2 << 30
"""More bytes than this, packed or unpacked, are refused."""


NAME_LIMIT = 200
"""No more of a name that is no file's is repeated."""


PAIR_NAMES = ("before", "after")
"""Modules of these names in one file make a problem without an operation that says so."""


class Format(enum.Enum):
    """The formats a program can come in."""

    MLIR_TEXT = "MLIR text"
    MLIR_BYTECODE = "MLIR bytecode"
    HLO_TEXT = "HLO text"
    HLO_PROTO = "HLO proto"


@dataclass(frozen=True, slots=True)
class Input:
    """The unpacked bytes of one input, their format, and the name used in messages."""

    name: str
    format: Format
    data: bytes


def load(path: str | Path) -> bytes:
    """The bytes of a file, or of standard input for '-'."""
    if str(path) == "-":
        return sys.stdin.buffer.read(SIZE_LIMIT + 1)
    file = Path(path)
    try:
        if file.is_dir():
            raise ReadError(ReadErrorKind.FORMAT, str(path), "is a folder, not a program")
        if file.stat().st_size > SIZE_LIMIT:
            raise ReadError(ReadErrorKind.LIMIT, str(path), f"larger than {SIZE_LIMIT >> 20} MiB")
        return file.read_bytes()
    except OSError as error:
        message = (error.strerror or str(error)).lower()
        raise ReadError(ReadErrorKind.MISSING, str(path)[:NAME_LIMIT], message) from None
    except ValueError as error:
        raise ReadError(ReadErrorKind.MISSING, repr(str(path)[:NAME_LIMIT]), str(error)) from None


def check_holds_problems(data: bytes, name: str) -> None:
    """Refuses, before anything is loaded that could read it, an input that is certainly no problem file."""
    named = all(re.search(rb'(?:@|sym_name = ")' + side.encode() + rb"\b", data) for side in PAIR_NAMES)
    if not named and b"shardproof.problem" not in data:
        message = "holds no 'shardproof.problem'; two programs are given as BEFORE AFTER"
        raise ReadError(ReadErrorKind.FORMAT, name, message)


def identify(data: bytes, name: str) -> Input:
    """Unpacks gzip and tells the format."""
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, name)
    if len(data) > SIZE_LIMIT:
        raise ReadError(ReadErrorKind.LIMIT, name, f"larger than {SIZE_LIMIT >> 20} MiB")
    if not data.strip():
        raise ReadError(ReadErrorKind.FORMAT, name, "is empty")
    if is_bytecode(data):
        return Input(name, Format.MLIR_BYTECODE, data)
    if b"\x00" in data[:4096] or not _is_text(data):
        return Input(name, Format.HLO_PROTO, data)
    check_nesting(data, name)
    text = data.lstrip()
    while text.startswith((b"//", b"/*")):
        end = text.find(b"\n" if text.startswith(b"//") else b"*/")
        if end < 0:
            break
        text = text[end + 2 :].lstrip() if text.startswith(b"/*") else text[end + 1 :].lstrip()
    if text.startswith(b"HloModule"):
        return Input(name, Format.HLO_TEXT, data)
    if text.startswith((b"module", b"#", b"!", b'"builtin.module"', b"func.func", b"builtin.module", b"sdy.mesh")):
        check_strings(data, name)
        return Input(name, Format.MLIR_TEXT, data)
    raise ReadError(
        ReadErrorKind.FORMAT, name, "is neither an HLO module (text or proto) nor an MLIR module (text or bytecode)"
    )


_HIGH_BYTE = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.S)
_STRING = re.compile(rb'(backend_config"?\s*=\s*)?"((?:[^"\\\n]|\\.)*+)"')


def check_strings(data: bytes, name: str) -> None:
    """Refuses MLIR text with a string whose escapes make up no UTF-8, except for what a custom call is configured with.

    The bindings of MLIR end the process where such a string is the name of an op or a location.
    """
    if _HIGH_BYTE.search(data) is None:
        return
    for match in _STRING.finditer(data):
        if match[1] is not None or _HIGH_BYTE.search(match[2]) is None:
            continue
        try:
            _ESCAPE.sub(_byte, match[2]).decode()
        except UnicodeDecodeError:
            line, start = data.count(b"\n", 0, match.start(2)) + 1, data.rfind(b"\n", 0, match.start(2))
            where = f"{name}:{line}:{match.start(2) - start - 1}"
            raise ReadError(ReadErrorKind.UNSUPPORTED, where, "a string that is not UTF-8") from None


def _byte(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode()) if len(escape[1]) == 2 else escape[1]


NESTING_LIMIT = 1000
ANGLE_LIMIT = 200
"""Deeper nesting of brackets, or of `<...>`, would overflow the stack of MLIR's and XLA's recursive parsers."""


def check_nesting(data: bytes, name: str) -> None:
    """Refuses text whose brackets are nested deeper than the limits."""
    for opening, closing, limit in ((b"([{", b")]}", NESTING_LIMIT), (b"<", b">", ANGLE_LIMIT)):
        # Strings and arrows can only make the first, cheap count too high.
        if nesting(data, opening, closing) <= limit:
            continue
        if nesting(_NOT_BRACKETS.sub(b"", data), opening, closing) > limit:
            raise ReadError(ReadErrorKind.LIMIT, name, f"brackets are nested more than {limit} deep")


_NOT_BRACKETS = re.compile(rb'"(?:[^"\\\n]|\\.)*+"|//[^\n]*|->|[<>=]=|=>')


def nesting(data: bytes, opening: bytes = b"([{", closing: bytes = b")]}") -> int:
    """How deep brackets are nested: the greatest excess of opening over closing ones in any part of the text."""
    if sum(data.count(bytes([bracket])) for bracket in opening) == 0:
        return 0
    step = np.zeros(256, dtype=np.int8)
    step[list(opening)] = 1
    step[list(closing)] = -1
    open_ = np.cumsum(step[np.frombuffer(data, dtype=np.uint8)], dtype=np.int32)
    return int((open_ - np.minimum.accumulate(np.minimum(open_, 0))).max(initial=0))


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in data


def _gunzip(data: bytes, name: str) -> bytes:
    """Unpacks all members, never more than the limit."""
    parts: list[bytes] = []
    total = 0
    rest = data
    while rest:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            part = unpacker.decompress(rest, SIZE_LIMIT + 1 - total)
        except zlib.error as error:
            raise ReadError(ReadErrorKind.FORMAT, name, f"is not valid gzip: {error}") from None
        parts.append(part)
        total += len(part)
        if total > SIZE_LIMIT or unpacker.unconsumed_tail:
            raise ReadError(ReadErrorKind.LIMIT, name, f"unpacks to more than {SIZE_LIMIT >> 20} MiB")
        if not unpacker.eof:
            raise ReadError(ReadErrorKind.TRUNCATED, name, "is a truncated gzip file")
        rest = unpacker.unused_data.lstrip(b"\x00")
    return b"".join(parts)
