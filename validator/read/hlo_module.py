"""What must be read from, or put right in, an HloModuleProto before it is converted to StableHLO.

The conversion drops the device order of mesh replica groups, the module's device counts, and the source line of an
instruction without an op name. All of them are in the proto: mesh groups are written out as explicit lists, nameless
metadata gets the instruction's name, device counts are handed on. What the conversion stumbles over is put in other
words: an opcode that StableHLO lacks becomes a call of its name, annotations of tuples are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import compat
from . import wire
from .groups import mesh_groups
from .known_calls import CALLED
from .tiling import AxisRef, Mesh, iota

# Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
MODULE_NAME, MODULE_COMPUTATIONS, MODULE_ENTRY_ID = 1, 3, 6
MODULE_DEVICE_ASSIGNMENT, MODULE_STACK_FRAMES = 15, 17
COMPUTATION_INSTRUCTIONS = 2
INSTRUCTION_NAME, INSTRUCTION_OPCODE, INSTRUCTION_METADATA, INSTRUCTION_LITERAL = 1, 2, 7, 8
INSTRUCTION_SHAPE = 3
SHAPE_ELEMENT_TYPE, SHAPE_PARTS = 2, 4
TUPLE, SIGNED_BIT = 13, 30
INSTRUCTION_TARGET = 28
INSTRUCTION_WINDOW, INSTRUCTION_CONVOLUTION, INSTRUCTION_PRECISION, INSTRUCTION_PADDING_KIND = 15, 16, 51, 75
INSTRUCTION_FEATURE_GROUPS, INSTRUCTION_BATCH_GROUPS, INSTRUCTION_CONVOLUTION_KIND = 50, 58, 97
INSTRUCTION_STABLE, INSTRUCTION_SPARSITY, INSTRUCTION_BLOCK_SCALING = 60, 98, 101
INSTRUCTION_DEVICE_LIST, INSTRUCTION_MESH_GROUPS = 87, 93
INSTRUCTION_FRONTEND_ATTRIBUTES = 68
PRECISION_OPERANDS, PRECISION_ALGORITHM = 1, 2
ASSIGNMENT_REPLICAS, ASSIGNMENT_COMPUTATIONS = 1, 2
METADATA_OP_NAME, METADATA_SOURCE_FILE = 2, 3


class HloError(ValueError):
    """A module that cannot be converted."""


class ElidedError(HloError):
    """A constant without its value."""


class LostError(HloError):
    """Something that bears meaning and that the conversion to StableHLO leaves out in silence or cannot tell."""


@dataclass(frozen=True, slots=True)
class HloModule:
    """A module ready for conversion and the facts that the conversion would lose."""

    proto: bytes
    device_assignment: tuple[int, int] | None
    """Replicas and partitions, where the proto holds a device assignment."""


def prepare(data: bytes) -> HloModule:
    """Checks a serialized HloModuleProto and puts it right for conversion."""
    view = memoryview(data)
    assignment = None
    has_frames = False
    for number, kind, value, _, _ in wire.fields(view):
        if number == MODULE_DEVICE_ASSIGNMENT and isinstance(value, memoryview):
            assignment = (wire.integer(value, ASSIGNMENT_REPLICAS), wire.integer(value, ASSIGNMENT_COMPUTATIONS))
        has_frames |= number == MODULE_STACK_FRAMES and kind == wire.BYTES and len(value) > 0  # type: ignore[arg-type]
    if bytes([SHAPE_ELEMENT_TYPE << 3, SIGNED_BIT]) in data:
        _refuse_signed_bits(view)
    # Where a stack frame table stands, every instruction of the user's has an op name: nothing to put right but groups.
    rewrite = _instruction if has_frames else _instruction_and_metadata
    proto = _replace(
        view, MODULE_COMPUTATIONS, lambda computation: _replace(computation, COMPUTATION_INSTRUCTIONS, rewrite)
    )
    return HloModule(data if proto is None else proto, assignment)


def _refuse_signed_bits(module: memoryview) -> None:
    """Refuses the type `s1` of 0 and -1, which the conversion takes for a boolean."""
    for computation in _parts(module, MODULE_COMPUTATIONS):
        for instruction in _parts(computation, COMPUTATION_INSTRUCTIONS):
            shapes = _parts(instruction, INSTRUCTION_SHAPE)
            while shapes:
                shape = shapes.pop()
                if wire.integer(shape, SHAPE_ELEMENT_TYPE) == SIGNED_BIT:
                    name = bytes(wire.submessage(instruction, INSTRUCTION_NAME) or b"").decode(errors="replace")
                    raise LostError(f"element type 's1' of '{name}' is not supported")
                shapes += _parts(shape, SHAPE_PARTS)


def _parts(data: memoryview, number: int) -> list[memoryview]:
    """A repeated submessage."""
    return [value for field, _, value, _, _ in wire.fields(data) if field == number and isinstance(value, memoryview)]


def _replace(data: memoryview, number: int, rewrite: Callable[[memoryview], bytes | None]) -> bytes | None:
    """The message with one repeated submessage field rewritten, or None where nothing changes."""
    parts: list[bytes | memoryview] = []
    kept = 0
    for field, kind, value, start, end in wire.fields(data):
        if field == number and kind == wire.BYTES:
            rewritten = rewrite(value)  # type: ignore[arg-type]
            if rewritten is not None:
                parts += [data[kept:start], wire.field_bytes(number, rewritten)]
                kept = end
    return None if not parts else b"".join([*parts, data[kept:]])


def _opcode(data: memoryview) -> bytes:
    """The opcode; name and opcode come first in every instruction that XLA serializes."""
    # The shortcut covers names and opcodes below 128 bytes without the general field reader.
    if len(data) > 4 and data[0] == 0x0A and data[1] < 0x80:
        at = 2 + data[1]
        if at + 2 <= len(data) and data[at] == 0x12 and data[at + 1] < 0x80:
            return bytes(data[at + 2 : at + 2 + data[at + 1]])
    return bytes(wire.submessage(data, INSTRUCTION_OPCODE) or b"")


_WITH_GROUPS = (b"all-", b"reduce-scatter", b"collective-", b"ragged-all")


def _instruction(data: memoryview) -> bytes | None:
    """An instruction with explicit replica groups, or None where it has no mesh groups.

    Refuses empty constants, and what the conversion would leave out.
    """
    opcode = _opcode(data)
    if opcode == b"constant":
        if wire.submessage(data, INSTRUCTION_LITERAL) is None:
            raise ElidedError(f"constant '{_name(data)}' has no value")
        return None
    if opcode in CALLED:
        target = wire.field_bytes(INSTRUCTION_TARGET, CALLED[opcode].encode())
        return _without(data, INSTRUCTION_OPCODE) + wire.field_bytes(INSTRUCTION_OPCODE, b"custom-call") + target
    if opcode == b"parameter":
        shape = wire.submessage(data, INSTRUCTION_SHAPE)
        told = wire.submessage(data, INSTRUCTION_FRONTEND_ATTRIBUTES)
        of_tuple = shape is not None and wire.integer(shape, SHAPE_ELEMENT_TYPE) == TUPLE
        return _without(data, INSTRUCTION_FRONTEND_ATTRIBUTES) if of_tuple and told is not None else None
    if opcode in _LOSING:
        lost = _lost(data, opcode)
        if lost is not None:
            raise LostError(f"'{opcode.decode()}' named '{_name(data)}' with {lost} is not supported")
        return None
    if not opcode.startswith(_WITH_GROUPS):
        return None
    for number, _, value, start, end in wire.fields(data):
        if number == INSTRUCTION_MESH_GROUPS and isinstance(value, memoryview):
            rows = b"".join(wire.field_bytes(1, wire.packed(1, row)) for row in _mesh_table(value).tolist())
            return b"".join([data[:start], wire.field_bytes(INSTRUCTION_DEVICE_LIST, rows), data[end:]])
    return None


def _name(data: memoryview) -> str:
    return bytes(wire.submessage(data, INSTRUCTION_NAME) or b"").decode(errors="replace")


def _without(data: memoryview, number: int) -> bytes:
    """A message without one of its fields."""
    return b"".join(data[start:end] for field, _, _, start, end in wire.fields(data) if field != number)


_LOSING = frozenset({b"custom-call", b"convolution", b"dot", b"topk"})
"""Opcodes some of whose fields the conversion drops without a word."""


def _lost(data: memoryview, opcode: bytes) -> str | None:
    """What an instruction says that would be lost."""
    told = {number: value for number, _, value, _, _ in wire.fields(data)}
    if opcode == b"topk":
        unstable = compat.topk_tells_stability() and not told.get(INSTRUCTION_STABLE)
        return "ties in any order" if unstable else None
    for number, what in ((INSTRUCTION_SPARSITY, "sparse operands"), (INSTRUCTION_BLOCK_SCALING, "scaled blocks")):
        if told.get(number):
            return what
    precision = told.get(INSTRUCTION_PRECISION, memoryview(b""))
    assert isinstance(precision, memoryview)
    if opcode == b"convolution":
        if told.get(INSTRUCTION_CONVOLUTION_KIND):
            return "a kind"
        return "an algorithm" if wire.integer(precision, PRECISION_ALGORITHM) else None
    if opcode == b"custom-call":
        for number, what in _OF_CALLS:
            if told.get(number):
                return what
        if any(told.get(number, 1) != 1 for number in (INSTRUCTION_FEATURE_GROUPS, INSTRUCTION_BATCH_GROUPS)):
            return "groups"
        if any(wire.integers(precision, PRECISION_OPERANDS)) or wire.integer(precision, PRECISION_ALGORITHM):
            return "a precision"
    return None


_OF_CALLS = (
    (INSTRUCTION_WINDOW, "a window"),
    (INSTRUCTION_CONVOLUTION, "dimension labels"),
    (INSTRUCTION_PADDING_KIND, "a kind of padding"),
)


def _instruction_and_metadata(data: memoryview) -> bytes | None:
    """As `_instruction`, and metadata that tells a source file but no op name gets the instruction's name."""
    groups = _instruction(data)
    current = data if groups is None else memoryview(groups)
    name = bytes(wire.submessage(data, INSTRUCTION_NAME) or b"")

    def named(metadata: memoryview) -> bytes | None:
        if wire.submessage(metadata, METADATA_OP_NAME) or not wire.submessage(metadata, METADATA_SOURCE_FILE):
            return None
        return bytes(metadata) + wire.field_bytes(METADATA_OP_NAME, name)

    rewritten = _replace(current, INSTRUCTION_METADATA, named)
    return groups if rewritten is None else rewritten


def _mesh_table(data: memoryview) -> np.ndarray:
    """MeshAxesReplicaGroupListProto: a mesh (1) and the axes that form a group (2)."""
    mesh = wire.submessage(data, 1)
    if mesh is None:
        raise HloError("mesh replica groups without a mesh")
    axes: list[tuple[str, int]] = []
    order: np.ndarray | None = None
    for number, _, value, _, _ in wire.fields(mesh):
        if number == 1 and isinstance(value, memoryview):
            name = bytes(wire.submessage(value, 1) or b"").decode()
            axes.append((name, wire.integer(value, 2)))
        elif number == 3 and isinstance(value, memoryview):
            order = iota(wire.integers(value, 1), wire.integers(value, 2) or None)
    listed = wire.integers(mesh, 2)
    if listed:
        order = np.array(listed, dtype=np.int64)
    refs: list[AxisRef] = []
    for number, _, value, _, _ in wire.fields(data):
        if number == 2 and isinstance(value, memoryview):
            index = wire.integer(value, 1)
            if index >= len(axes):
                raise HloError(f"mesh axis {index} of a mesh of {len(axes)} axes")
            sub = wire.submessage(value, 2)
            if sub is None:
                refs.append(AxisRef(axes[index][0]))
            else:
                refs.append(AxisRef(axes[index][0], wire.integer(sub, 1), wire.integer(sub, 2)))
    return mesh_groups(Mesh.of(axes, order), refs)


def unwrap(data: bytes) -> bytes:
    """The HloModuleProto inside an HloProto or HloSnapshot, or the data itself where it already is one."""
    view = memoryview(data)
    for _ in range(3):
        if _is_module(view):
            return bytes(view)
        inner = wire.submessage(view, 1)
        if inner is None:
            break
        view = inner
    raise wire.WireError("it holds no HloModuleProto")


def _is_module(data: memoryview) -> bool:
    """A module has computations and the id of its entry; an HloProto has neither."""
    kinds = {number: kind for number, kind, _, _, _ in wire.fields(data)}
    return kinds.get(MODULE_COMPUTATIONS) == wire.BYTES and kinds.get(MODULE_ENTRY_ID) == wire.VARINT
