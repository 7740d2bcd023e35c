"""Damage to files, drawn from a random generator: bytes, tokens, and fields of protocol buffers.

Damage to bytes tries what a reader does before it understands anything. Damage to tokens and fields leaves a file's
frame whole, so that what is wrong is found late, or is no error at all.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from shardproof.validator.read import wire

_TOKENS = re.compile(
    rb'\s+|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[%@#!^]?[A-Za-z_][\w.$-]*|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|->|<=|.', re.S
)
_NUMBER = re.compile(rb"-?\d+")
_ODD_NUMBERS = (
    b"-1 0 1 2 3 7 8 64 127 255 1000 65536 2147483647 2147483648 4294967296 9223372036854775807 9223372036854775808 "
    b"-9223372036854775808 99999999999999999999 1e309 nan 0x7FC00000"
).split()
_ODD_TOKENS = (
    b'( ) [ ] { } < > , : = ? * -> "" "\\FF" % @ # dense<> dense<0> array<i64> unit true f32 i1 bf16 ui64 complex<f32> '
    b"f8E4M3FN token[] tensor<?xf32> tensor<0xf32> tensor<f32> tensor<1x1xi64> \xff \xc3\xa9"
).split()
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_ODD_CHARACTERS = (
    b"\\00 \\01 \\1B[31m \\FF \\0A \\0D \\09 \x01 \x1b[31m \xef\xbf\xbe \xed\xa0\x80 \xe2\x80\xa8 \xe2\x80\xae "
    b"\xf0\x9f\x92\xa5 ]]> --> </script> <b> &amp &#0; %s {0} \x7f \xc2\x85"
).split(b" ")
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<", b">"), (b"floor((", b")/3)"), (b"exists a : (", b")"))
_GROWN = 4_000_000
"""No more bytes than this are added."""
_EXTREMES = (0, 1, 2, 127, 128, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)

Damage = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def damage_bytes(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A few bytes cut, overwritten, doubled, taken from another file, or the end missing."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not data:
            return data
        at, size = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, rng.randrange(1, 64)))
        donor = rng.choice(others) or b"\0"
        start = rng.randrange(len(donor))
        data = rng.choice(
            (
                data[:at] + data[at + size :],
                data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
                data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
                data[:at] + rng.choice((b"\0", b"\xff", b"\x7f", b"\x01")) * size + data[at + size :],
                data[: at + size] + data[at:],
                data[:at] + donor[start : start + size] + data[at:],
                data[:at],
            )
        )
    return data


def damage_tokens(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Tokens left out, doubled, swapped, or replaced by other ones; lines moved; numbers changed."""
    tokens = _TOKENS.findall(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        solid = [number for number, token in enumerate(tokens) if not token.isspace()]
        if not solid:
            break
        at, other = rng.choice(solid), rng.choice(solid)
        numbers = [number for number in solid if _NUMBER.fullmatch(tokens[number])]
        what = rng.choice(("leave", "double", "swap", "take", "odd", "number", "number", "number", "line", "foreign"))
        if what == "number" and numbers:
            at = rng.choice(numbers)
            near = str(int(tokens[at]) + rng.choice((-1, 1))).encode()
            tokens[at] = rng.choice((near, near, rng.choice(_ODD_NUMBERS), tokens[rng.choice(numbers)]))
        elif what == "leave":
            del tokens[at]
        elif what == "double":
            tokens.insert(at, tokens[at])
        elif what == "swap":
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif what == "take":
            tokens[at] = tokens[other]
        elif what == "odd":
            tokens[at] = rng.choice(_ODD_TOKENS)
        elif what == "foreign":
            tokens[at] = rng.choice(_TOKENS.findall(rng.choice(others)) or [b""])
        else:
            lines = b"".join(tokens).splitlines(keepends=True)
            line = lines.pop(rng.randrange(len(lines)))
            for _ in range(rng.choice((0, 1, 2))):
                lines.insert(rng.randrange(len(lines) + 1), line)
            tokens = _TOKENS.findall(b"".join(lines))
    return b"".join(tokens)


def damage_strings(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """What stands between two quotes: tokens of it damaged, odd characters put in, or another string in its place."""
    found = [match.span(1) for match in _STRING.finditer(data)]
    if not found:
        return damage_tokens(rng, data, others)
    start, end = rng.choice(found)
    inner = data[start:end]
    others = [match[1] for other in others for match in _STRING.finditer(other)] or [b""]
    at = rng.randrange(len(inner) + 1)
    new = rng.choice((damage_tokens, damage_tokens, grow))(rng, inner, others) if rng.random() < 0.7 else inner
    if new == inner:
        new = rng.choice((inner[:at] + rng.choice(_ODD_CHARACTERS) + inner[at:], rng.choice(others)))
    return data[:start] + new + data[end:]


def grow(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A part repeated many times, one after the other or inside of brackets."""
    tokens = _TOKENS.findall(data)
    if not tokens:
        return data
    at = rng.randrange(len(tokens))
    end = at + rng.choice((1, 1, 2, 5, 20))
    times = rng.choice((10, 100, 1000, 10_000, 100_000))
    part = b"".join(tokens[at:end])
    if rng.random() < 0.4:
        opening, closing = rng.choice(_BRACKETS)
        new = opening * times + part + closing * times
    else:
        new = rng.choice((b"", b"", b" ", b", ", b" + ", b" and ", b" or ", b"; ", b"\n")).join([part] * times)
    return b"".join(tokens[:at]) + new[:_GROWN] + b"".join(tokens[end:])


def damage_fields(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """One field of a protocol buffer changed, left out, doubled or exchanged, at any depth, all lengths put right."""
    try:
        found = list(wire.fields(memoryview(data)))
    except wire.WireError:
        return damage_bytes(rng, data, others)
    if not found:
        return data
    number, kind, value, start, end = rng.choice(found)
    if isinstance(value, memoryview) and kind == wire.BYTES and rng.random() < 0.85 and len(value) > 1:
        inner = bytes(value)
        new = damage_fields(rng, inner, others) if _is_message(inner) else damage_bytes(rng, inner, others)
        return data[:start] + wire.field_bytes(number, new) + data[end:]
    if isinstance(value, int) and rng.random() < 0.8:
        changed = rng.choice((value + 1, max(value - 1, 0), *_EXTREMES))
        return data[:start] + wire.varint(number << 3 | wire.VARINT) + wire.varint(changed) + data[end:]
    _, _, _, left, right = rng.choice(found)
    return rng.choice(
        (data[:start] + data[end:], data[:end] + data[start:], data[:start] + data[left:right] + data[end:])
    )


def _is_message(data: bytes) -> bool:
    try:
        return bool(list(wire.fields(memoryview(data))))
    except wire.WireError:
        return False
