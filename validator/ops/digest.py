"""A fingerprint of what a program means: ops, operands, attributes, shardings; not the names of its values."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator

from ..read.ir import Program, Region
from ..read.shardings import Sharding
from .keys import frozen


def digest(program: Program) -> str:
    """SHA-256 over all that the meaning of a program as read depends on, in hexadecimal."""
    known = hashlib.sha256()
    for part in _program(program):
        known.update(part.encode())
        known.update(b"\n")
    return known.hexdigest()


def _program(program: Program) -> Iterator[str]:
    yield f"{program.num_replicas} {program.num_partitions}"
    for parameter in program.parameters:
        yield f"{parameter.value.number} {parameter.value.type} {_sharding(parameter.sharding)}"
    yield from _region(program.body)
    for result in program.results:
        yield f"{result.value.number} {result.value.type} {_sharding(result.sharding)}"


def _region(region: Region) -> Iterator[str]:
    yield f"region {[(argument.number, str(argument.type)) for argument in region.arguments]}"
    for op in region.ops:
        yield f"{op.name} {[value.number for value in op.operands]}"
        yield f"{[(value.number, str(value.type)) for value in op.results]}"
        for name in sorted(op.attributes):
            yield f"{name} = {frozen(op.attributes[name])!r}"
        yield " ".join(_sharding(sharding) for sharding in op.shardings)
        for inner in op.regions:
            yield from _region(inner)
    yield f"return {[value.number for value in region.results]}"


def _sharding(sharding: Sharding | None) -> str:
    return (
        "" if sharding is None else f"{sharding.kind} {sharding.tiles} {sharding.marked} {frozen(sharding.devices)!r}"
    )


def bytes_digest(shape: tuple[int, ...], content: bytes) -> str:
    """A fingerprint of a constant tensor."""
    return hashlib.sha256(repr(shape).encode() + content).hexdigest()


def rows_digest(key: Hashable, types: tuple[str, ...], extents: Hashable) -> str:
    """A fingerprint of a function of rows: what names it, its results' element types and the extents of their rows."""
    return "f" + hashlib.sha256(repr((key, types, extents)).encode()).hexdigest()
