"""Just enough of the protobuf wire format to look into an HloModuleProto and to replace parts of it.

Unknown fields are kept byte for byte, so a rewritten message differs only where it was meant to.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes that are not a protobuf message; `truncated` when the data ends inside a field."""

    def __init__(self, message: str, *, truncated: bool = False) -> None:
        super().__init__(message)
        self.truncated = truncated


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    end = len(data)
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise WireError("varint of more than ten bytes")
    raise WireError("data ends inside a number", truncated=True)


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview, int, int]]:
    """(field number, wire type, value, start, end) of each field; start and end span tag and value."""
    at, end = 0, len(data)
    while at < end:
        start = at
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise WireError("field number 0")
        value: int | memoryview
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire == BYTES:
            size, at = read_varint(data, at)
            if at + size > end:
                raise WireError("data ends inside a field", truncated=True)
            value = data[at : at + size]
            at += size
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            if at + size > end:
                raise WireError("data ends inside a field", truncated=True)
            value = data[at : at + size]
            at += size
        else:
            raise WireError(f"wire type {wire}")
        yield number, wire, value, start, at


def submessage(data: memoryview, number: int) -> memoryview | None:
    """The last occurrence of a length-delimited field, as protobuf resolves repetition of a single string."""
    found = None
    for field, wire, value, _, _ in fields(data):
        if field == number and wire == BYTES:
            assert isinstance(value, memoryview)
            found = value
    return found


def integer(data: memoryview, number: int, default: int = 0) -> int:
    found = default
    for field, wire, value, _, _ in fields(data):
        if field == number and wire == VARINT:
            assert isinstance(value, int)
            found = value
    return found


def integers(data: memoryview, number: int) -> list[int]:
    """A repeated integer field, packed or not, as signed 64-bit numbers."""
    found: list[int] = []
    for field, wire, value, _, _ in fields(data):
        if field != number:
            continue
        if isinstance(value, int):
            found.append(value)
        elif wire == BYTES:
            at = 0
            while at < len(value):
                element, at = read_varint(value, at)
                found.append(element)
    return [value - (1 << 64) if value >= 1 << 63 else value for value in found]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_bytes(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def packed(number: int, values: Iterator[int] | list[int]) -> bytes:
    return field_bytes(number, b"".join(map(varint, values)))
