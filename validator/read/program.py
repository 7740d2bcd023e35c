"""From any input to a `Program`: identify, put HLO right, convert, settle the device counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .. import compat
from ..compat import ir
from ..course import Course, Phase
from . import hlo_module, hlo_text, wire
from .aide import in_aide
from .bytecode import check_bytecode
from .convert import Converter
from .converted import Converted
from .errors import ReadError, ReadErrorKind
from .files import Format, Input, identify, load
from .groups import GroupMode, device_groups, device_pairs
from .hlo_sharding import named_in
from .ir import Program
from .mlir_text import MESSAGE_LIMIT, read_back, syntax_error
from .pairs import check_pair, with_stated
from .tiling import MAX_DEVICES

OP_LIMIT = 1_000_000
"""A module of more operations and calls, the calls inlined, is refused."""

Counts = tuple[int, int]
"""Replicas and partitions."""


def read_program(source: Any, *, name: str | None = None, counts: Counts | None = None) -> Program:
    """Reads a program from a path, '-', text, bytes, a jaxlib `ir.Module` or a `jax.stages.Lowered`.

    A string that contains a line break is taken for the program's text, any other for a path. `name` replaces the
    path in messages, and `counts` are the replicas and partitions of a program that does not tell them.
    """
    return _read(source, name, counts)[0]


def read_pair(
    before: Any, after: Any, *, names: tuple[str | None, str | None] = (None, None), course: Course | None = None
) -> tuple[Program, Program]:
    """Reads two programs and refuses them if they cannot be compared.

    Where one file tells no device counts, the other's are taken for it; where the first one leaves the layout of a
    parameter or a result open, what the second one states. `names` replace the paths in messages;
    `course` hears which one is read.
    """
    course = course or Course()
    # Standard input can be read once only, and either file may have to be read again.
    left, right = (load(source) if _is_stdin(source) else source for source in (before, after))
    left_name, right_name = (
        name or ("stdin" if _is_stdin(source) else None) for name, source in zip(names, (before, after), strict=True)
    )
    course.enter(Phase.READING_BEFORE)
    first, first_stated = _read(left, left_name, None)
    course.enter(Phase.READING_AFTER)
    second, second_stated = _read(right, right_name, None)
    first_counts, second_counts = _counts(first), _counts(second)
    if first_counts != second_counts:
        if not second_stated and (first_stated or second_counts == (1, 1)):
            second, _ = _read(right, right_name, first_counts)
        elif not first_stated and first_counts != (1, 1):
            first, _ = _read(left, left_name, second_counts)
    check_pair(first, second)
    return with_stated(first, second), second


def _is_stdin(source: Any) -> bool:
    return isinstance(source, (str, Path)) and str(source) == "-"


def _counts(program: Program) -> Counts:
    return program.num_replicas, program.num_partitions


def _read(source: Any, name: str | None, assumed: Counts | None) -> tuple[Program, bool]:
    """The program, and whether its file states the device counts; `assumed` stands in where it does not."""
    if isinstance(source, ir.Module):
        return _from_module(source, name or "module", None, assumed)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _from_input(identify(bytes(source), name or "input"), assumed)
    if isinstance(source, str) and "\n" in source:
        return _from_input(identify(source.encode(), name or "input"), assumed)
    if isinstance(source, (str, Path)):
        shown = name or ("stdin" if _is_stdin(source) else str(source))
        return _from_input(identify(load(source), shown), assumed)
    module = compat.lowered_module(source)
    if module is None:
        raise TypeError(f"cannot read a program from a {type(source).__name__}")
    return _from_module(module, name or "lowered", None, assumed)


def _from_input(given: Input, assumed: Counts | None) -> tuple[Program, bool]:
    module, counts = stablehlo_of(given)
    return _from_module(module, given.name, counts, assumed)


def stablehlo_of(given: Input, *, allow_unregistered: bool = False) -> tuple[ir.Module, Counts | None]:
    """The module as StableHLO, in a context of its own, and the device counts where HLO states them beside it.

    Raises `ReadError`. In MLIR text, operations of unknown dialects are an error unless they are allowed.
    """
    code, counts = in_aide(given.name, _bytecode, given, allow_unregistered)
    return read_back(code, given.name), counts


def _bytecode(given: Input, allow_unregistered: bool) -> tuple[bytes, Counts | None]:
    """The module as bytecode that can be parsed again."""
    if given.format is Format.HLO_TEXT:
        return _of_hlo_text(given)
    if given.format is Format.HLO_PROTO:
        try:
            proto = hlo_module.unwrap(given.data)
        except wire.WireError as error:
            if error.truncated:
                raise ReadError(ReadErrorKind.TRUNCATED, given.name, f"is a truncated HLO proto: {error}") from None
            raise ReadError(ReadErrorKind.FORMAT, given.name, f"is not an HLO proto: {error}") from None
        return _of_hlo_proto(proto, given.name, None)
    if given.format is Format.MLIR_BYTECODE:
        check_bytecode(given.data, given.name)
        return compat.bytecode_of(_parse(given.data, given.name)), None
    return compat.bytecode_of(_parse(given.data.decode(), given.name, allow_unregistered)), None


def _of_hlo_text(given: Input) -> tuple[bytes, Counts | None]:
    text = given.data.decode()
    header = hlo_text.check_text(text, given.name)
    try:
        proto = compat.hlo_text_to_proto(text)
    except (RuntimeError, ValueError) as error:
        raise hlo_text.syntax_error(text, given.name, str(error)) from None
    return _of_hlo_proto(proto, given.name, header.counts)


_OTHER_REDUCTION = re.compile(rb"sdy::reduction_op\x12.(?!SUM)", re.S)
"""Where XLA notes how summands of a tile assignment are combined. Its text says `unreduced` for all ways alike."""


def _of_hlo_proto(proto: bytes, name: str, counts: Counts | None) -> tuple[bytes, Counts | None]:
    if _OTHER_REDUCTION.search(proto):
        message = "tile assignments with another reduction of unreduced axes than a sum are not supported"
        raise ReadError(ReadErrorKind.UNSUPPORTED, name, message)
    try:
        prepared = hlo_module.prepare(proto)
    except wire.WireError as error:
        kind = ReadErrorKind.TRUNCATED if error.truncated else ReadErrorKind.FORMAT
        raise ReadError(kind, name, f"is a damaged HLO proto: {error}") from None
    except hlo_module.HloError as error:
        kinds = {hlo_module.ElidedError: ReadErrorKind.ELIDED, hlo_module.LostError: ReadErrorKind.UNSUPPORTED}
        raise ReadError(kinds.get(type(error), ReadErrorKind.FORMAT), name, str(error)) from None
    except ValueError as error:
        raise ReadError(ReadErrorKind.FORMAT, name, f"replica groups: {error}") from None
    try:
        bytecode = compat.hlo_to_stablehlo(prepared.proto)
    except (RuntimeError, ValueError) as error:
        if "deserialize" in str(error):
            raise ReadError(ReadErrorKind.FORMAT, name, f"is a damaged HLO proto: {_first_line(error)}") from None
        raise ReadError(ReadErrorKind.UNSUPPORTED, name, f"no StableHLO for this HLO: {_first_line(error)}") from None
    _parse(bytecode, name)
    return bytecode, prepared.device_assignment if counts is None else counts


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


_NO_GROUPS = re.compile(r"stablehlo\.all_to_all\"?\([^)]*\)\s*<?\{[^{}]*?replica_groups\s*=\s*dense<>")
"""What the verifier of jaxlib 0.10 divides by zero at, which ends the process."""


def _parse(source: str | bytes, name: str, allow_unregistered: bool = False) -> ir.Module:
    """An MLIR module. The conversion from HLO leaves `mhlo` ops and tuple types behind, so bytes may hold more."""
    context = compat.new_context(allow_unregistered=allow_unregistered or isinstance(source, bytes))
    if isinstance(source, str) and (bare := _NO_GROUPS.search(source)):
        where = f"{name}:{source.count(chr(10), 0, bare.start()) + 1}"
        raise ReadError(ReadErrorKind.UNSUPPORTED, where, "'stablehlo.all_to_all' without replica groups")
    try:
        return compat.parse_module(source, context)
    except ir.MLIRError as error:
        found = syntax_error(error, name)
        if isinstance(source, bytes):
            raise ReadError(found.kind, name, found.message) from None
        if source.count("{") > source.count("}"):
            message = f"text ends before the module does: {found.message}"[:MESSAGE_LIMIT]
            raise ReadError(ReadErrorKind.TRUNCATED, found.where, message) from None
        raise found from None
    except (RuntimeError, ValueError) as error:
        raise ReadError(ReadErrorKind.SYNTAX, name, _first_line(error)) from None


def _from_module(module: ir.Module, name: str, counts: Counts | None, assumed: Counts | None) -> tuple[Program, bool]:
    converted = Converter(module, name, OP_LIMIT).convert()
    stated = _stated_counts(converted) or counts
    notes: tuple[str, ...] = ()
    settled = stated or assumed
    if settled is None:
        settled, notes = _inferred_counts(converted)
    replicas, partitions = settled
    if not all(isinstance(count, int) and count > 0 for count in settled):
        raise ReadError(ReadErrorKind.SYNTAX, name, f"is a program of {replicas} replicas of {partitions} partitions")
    if replicas * partitions > MAX_DEVICES:
        message = f"a program of {replicas * partitions} devices is beyond the limit of {MAX_DEVICES}"
        raise ReadError(ReadErrorKind.UNSUPPORTED, name, message)
    for pending in converted.pending:
        try:
            explicit = device_groups if pending.name == "replica_groups" else device_pairs
            pending.attributes[pending.name] = explicit(pending.table, pending.mode, replicas, partitions)
        except ValueError as error:
            where = str(pending.location.frames[0]) if pending.location.frames else name
            raise ReadError(ReadErrorKind.UNSUPPORTED, where, str(error)) from None
    program = Program(
        name=converted.name,
        source=name,
        parameters=tuple(converted.parameters),
        body=converted.body,
        results=tuple(converted.results),
        num_replicas=replicas,
        num_partitions=partitions,
        meshes=(*converted.meshes, *named_in(converted.shardings)),
        notes=notes,
    )
    return program, stated is not None


def _stated_counts(converted: Converted) -> Counts | None:
    attributes = converted.module_attributes
    if "mhlo.num_replicas" not in attributes and "mhlo.num_partitions" not in attributes:
        return None
    return attributes.get("mhlo.num_replicas", 1), attributes.get("mhlo.num_partitions", 1)


def _inferred_counts(converted: Converted) -> tuple[Counts, tuple[str, ...]]:
    """The least counts that the meshes, shardings and groups of a module name, and a note that says so."""
    replicas = partitions = devices = 1
    for mesh in converted.meshes:
        partitions = max(partitions, int(mesh.order.max(initial=0)) + 1)
    for sharding in converted.shardings:
        if sharding.devices is not None:
            partitions = max(partitions, int(sharding.devices.max(initial=0)) + 1)
    for pending in converted.pending:
        least = int(np.max(pending.table, initial=0)) + 1
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
    note = f"device counts inferred from shardings and groups: {replicas} replicas, {partitions} partitions"
    return (replicas, partitions), (note,)
