"""From any input to a `Program`: identify, put HLO right, convert, settle the device counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .. import compat
from ..compat import ir
from . import hlo_module, wire
from .convert import Converted, Converter
from .errors import ReadError, ReadErrorKind
from .files import Format, Input, identify, load
from .groups import GroupMode, device_groups, device_pairs
from .ir import Program

OP_LIMIT = 5_000_000
"""A module of more operations, calls inlined, is refused."""


def read_program(source: Any, *, name: str | None = None) -> Program:
    """Reads a program from a path, '-', text, bytes, a jaxlib `ir.Module` or a `jax.stages.Lowered`.

    A string that contains a line break is taken for the program's text, any other for a path.
    """
    if isinstance(source, ir.Module):
        return _from_module(source, name or "module", None, ())
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _from_input(identify(bytes(source), name or "input"))
    if isinstance(source, str) and "\n" in source:
        return _from_input(identify(source.encode(), name or "input"))
    if isinstance(source, (str, Path)):
        shown = name or ("stdin" if str(source) == "-" else str(source))
        return _from_input(identify(load(source), shown))
    module = compat.lowered_module(source)
    if module is None:
        raise TypeError(f"cannot read a program from a {type(source).__name__}")
    return _from_module(module, name or "lowered", None, ())


def _from_input(given: Input) -> Program:
    if given.format is Format.HLO_TEXT:
        return _from_hlo_text(given)
    if given.format is Format.HLO_PROTO:
        try:
            proto = hlo_module.unwrap(given.data)
        except wire.WireError as error:
            kind = ReadErrorKind.TRUNCATED if error.truncated else ReadErrorKind.FORMAT
            raise ReadError(kind, given.name, f"is not an HLO proto: {error}") from None
        return _from_hlo_proto(proto, given.name, None)
    text: str | bytes = given.data if given.format is Format.MLIR_BYTECODE else given.data.decode()
    return _from_module(_parse(text, given.name), given.name, None, ())


_ELIDED = re.compile(r"constant\(\{\.\.\.\}\)")
_HEADER_COUNT = {key: re.compile(rf"\b{key}=(\d+)") for key in ("replica_count", "num_partitions")}


def _from_hlo_text(given: Input) -> Program:
    text = given.data.decode()
    elided = _ELIDED.search(text)
    if elided is not None:
        line = text.count("\n", 0, elided.start()) + 1
        column = elided.start() - text.rfind("\n", 0, elided.start())
        raise ReadError(
            ReadErrorKind.ELIDED,
            f"{given.name}:{line}:{column}",
            "constant is elided as '{...}': dump again with --xla_dump_large_constants or as a proto",
        )
    header = text[text.index("HloModule") :].partition("\n")[0]
    counts = {key: pattern.search(header) for key, pattern in _HEADER_COUNT.items()}
    try:
        proto = compat.hlo_text_to_proto(text)
    except (RuntimeError, ValueError) as error:
        raise _hlo_syntax(given.name, str(error)) from None
    stated = tuple(int(counts[key][1]) if counts[key] else 1 for key in ("replica_count", "num_partitions"))  # type: ignore[index]
    known = (stated[0], stated[1]) if any(counts.values()) else None
    return _from_hlo_proto(proto, given.name, known)


_HLO_POSITION = re.compile(r"was parsing (\d+):(\d+): error: ([^\n]*)")


def _hlo_syntax(name: str, message: str) -> ReadError:
    """XLA's parse error, located."""
    match = _HLO_POSITION.search(message)
    if match is None:
        return ReadError(ReadErrorKind.SYNTAX, name, message.strip().splitlines()[0])
    return ReadError(ReadErrorKind.SYNTAX, f"{name}:{match[1]}:{match[2]}", match[3].strip())


def _from_hlo_proto(proto: bytes, name: str, counts: tuple[int, int] | None) -> Program:
    try:
        prepared = hlo_module.prepare(proto)
        bytecode = compat.hlo_to_stablehlo(prepared.proto)
    except wire.WireError as error:
        kind = ReadErrorKind.TRUNCATED if error.truncated else ReadErrorKind.FORMAT
        raise ReadError(kind, name, f"is a damaged HLO proto: {error}") from None
    except hlo_module.HloError as error:
        kind = ReadErrorKind.ELIDED if error.elided else ReadErrorKind.FORMAT
        raise ReadError(kind, name, str(error)) from None
    except (RuntimeError, ValueError) as error:
        raise ReadError(ReadErrorKind.UNSUPPORTED, name, f"no StableHLO for this HLO: {_first_line(error)}") from None
    notes: list[str] = []
    if counts is None and prepared.device_assignment is not None:
        counts = prepared.device_assignment
        notes.append("device counts taken from device_assignment")
    return _from_module(_parse(bytecode, name), name, counts, tuple(notes))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _parse(source: str | bytes, name: str) -> ir.Module:
    context = compat.new_context(allow_unregistered=isinstance(source, bytes))
    try:
        return compat.parse_module(source, context)
    except ir.MLIRError as error:
        diagnostics = error.error_diagnostics
        message = diagnostics[0].message if diagnostics else _first_line(error)
        where = name
        if diagnostics and isinstance(diagnostics[0].location, ir.FileLineColLoc):
            position = diagnostics[0].location
            if position.start_line:
                where = f"{name}:{position.start_line}:{position.start_col}"
        raise ReadError(ReadErrorKind.SYNTAX, where, message) from None


def _from_module(module: ir.Module, name: str, counts: tuple[int, int] | None, notes: tuple[str, ...]) -> Program:
    converted = Converter(module, name, OP_LIMIT).convert()
    counts, more = _device_counts(converted, counts)
    replicas, partitions = counts
    for pending in converted.pending:
        try:
            if pending.name == "replica_groups":
                groups = device_groups(pending.table, pending.mode, replicas, partitions)
                pending.attributes[pending.name] = groups
            else:
                pending.attributes[pending.name] = device_pairs(pending.table, pending.mode, replicas, partitions)
        except ValueError as error:
            where = str(pending.location.frames[0]) if pending.location.frames else name
            raise ReadError(ReadErrorKind.UNSUPPORTED, where, str(error)) from None
    return Program(
        name=converted.name,
        source=name,
        parameters=tuple(converted.parameters),
        body=converted.body,
        results=tuple(converted.results),
        num_replicas=replicas,
        num_partitions=partitions,
        notes=notes + more,
    )


def _device_counts(converted: Converted, counts: tuple[int, int] | None) -> tuple[tuple[int, int], tuple[str, ...]]:
    """Replicas and partitions: as the file states them, else the least that its groups and shardings name."""
    stated = converted.module_attributes
    if "mhlo.num_replicas" in stated or "mhlo.num_partitions" in stated:
        return (stated.get("mhlo.num_replicas", 1), stated.get("mhlo.num_partitions", 1)), ()
    if counts is not None:
        return counts, ()
    replicas = partitions = devices = 1
    for sharding in converted.shardings:
        if sharding.devices is not None and sharding.devices.size:
            partitions = max(partitions, int(sharding.devices.max()) + 1)
    for pending in converted.pending:
        if not pending.table.size:
            continue
        least = int(np.max(pending.table)) + 1
        if pending.mode is GroupMode.FLATTENED_IDS:
            devices = max(devices, least)
        elif pending.mode is GroupMode.CROSS_PARTITION:
            partitions = max(partitions, least)
        else:
            replicas = max(replicas, least)
    if devices > replicas * partitions and devices % replicas == 0:
        partitions = devices // replicas
    if replicas * partitions == 1:
        return (1, 1), ()
    return (replicas, partitions), (f"device counts inferred: {replicas} replicas, {partitions} partitions",)
