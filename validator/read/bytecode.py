"""MLIR bytecode: its frame is checked before MLIR sees it.

A diagnostic of MLIR's that quotes bytes which are not UTF-8 ends the process inside the Python bindings, so damaged
headers, sections and strings are refused here.
"""

from __future__ import annotations

from .errors import ReadError, ReadErrorKind

_STRINGS = 0


def is_bytecode(data: bytes) -> bool:
    """Whether the bytes start like MLIR bytecode."""
    return data[:4] == b"ML\xefR"


def check_bytecode(data: bytes, name: str) -> None:
    """Checks the producer, the extent of every section, and the strings."""
    try:
        _, at = _varint(data, 4)
        end = data.find(b"\0", at)
        if end < 0:
            raise EOFError
        data[at:end].decode()
        at = end + 1
        while at < len(data):
            section = data[at]
            size, at = _varint(data, at + 1)
            if section & 0x80:
                alignment, at = _varint(data, at)
                if not 0 < alignment <= len(data):
                    raise EOFError
                at += -at % alignment
            if at + size > len(data):
                raise EOFError
            if section & 0x7F == _STRINGS:
                _check_strings(data[at : at + size], name)
            at += size
    except (EOFError, IndexError):
        raise ReadError(ReadErrorKind.TRUNCATED, name, "is damaged or truncated MLIR bytecode") from None
    except UnicodeDecodeError:
        raise ReadError(ReadErrorKind.FORMAT, name, "is damaged MLIR bytecode: its producer is not UTF-8") from None


def _check_strings(section: bytes, name: str) -> None:
    """A count, the sizes from last to first, then the strings with their terminators."""
    count, at = _varint(section, 0)
    sizes: list[int] = []
    for _ in range(count):
        size, at = _varint(section, at)
        sizes.append(size)
    if at + sum(sizes) != len(section):
        raise EOFError
    for size in reversed(sizes):
        try:
            section[at : at + size].decode()
        except UnicodeDecodeError:
            message = f"holds a string that is not UTF-8: {section[at : at + min(size, 40)]!r}"
            raise ReadError(ReadErrorKind.UNSUPPORTED, name, message) from None
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """MLIR's prefix varint: the zeros below the first one bit count the bytes that follow."""
    first = data[at]
    if first & 1:
        return first >> 1, at + 1
    if first == 0:
        if at + 9 > len(data):
            raise EOFError
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    more = (first & -first).bit_length() - 1
    if at + more >= len(data):
        raise EOFError
    return int.from_bytes(data[at : at + more + 1], "little") >> (more + 1), at + more + 1
