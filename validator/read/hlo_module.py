"""What must be read from, or put right in, an HloModuleProto before it is converted to StableHLO.

The conversion drops the device order of mesh replica groups and the module's device counts, parameter shardings and
result sharding; all of them are taken from the proto here, and mesh groups are written out as explicit lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import wire
from .convert import mesh_groups
from .tiling import AxisRef, Mesh, iota

# Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
MODULE_NAME, MODULE_COMPUTATIONS, MODULE_ENTRY_ID = 1, 3, 6
MODULE_OUTPUT_SHARDING, MODULE_PARAMETER_SHARDINGS, MODULE_DEVICE_ASSIGNMENT = 12, 14, 15
COMPUTATION_INSTRUCTIONS = 2
INSTRUCTION_NAME, INSTRUCTION_OPCODE, INSTRUCTION_LITERAL = 1, 2, 8
INSTRUCTION_DEVICE_LIST, INSTRUCTION_MESH_GROUPS = 87, 93
ASSIGNMENT_REPLICAS, ASSIGNMENT_COMPUTATIONS = 1, 2


class HloError(ValueError):
    """A module that cannot be converted; `elided` when a constant has no value."""

    def __init__(self, message: str, *, elided: bool = False) -> None:
        super().__init__(message)
        self.elided = elided


@dataclass(frozen=True, slots=True)
class HloModule:
    """A module ready for conversion and the facts that the conversion would lose."""

    proto: bytes
    device_assignment: tuple[int, int] | None
    """Replicas and partitions, where the proto holds a device assignment."""


def prepare(data: bytes) -> HloModule:
    """Checks a serialized HloModuleProto and writes its mesh replica groups out."""
    view = memoryview(data)
    assignment = None
    parts: list[bytes | memoryview] = []
    kept = 0
    for number, kind, value, start, end in wire.fields(view):
        if kind != wire.BYTES:
            continue
        assert isinstance(value, memoryview)
        if number == MODULE_COMPUTATIONS:
            rewritten = _computation(value)
            if rewritten is not None:
                parts += [view[kept:start], wire.field_bytes(number, rewritten)]
                kept = end
        elif number == MODULE_DEVICE_ASSIGNMENT:
            assignment = (wire.integer(value, ASSIGNMENT_REPLICAS), wire.integer(value, ASSIGNMENT_COMPUTATIONS))
    proto = data if kept == 0 else b"".join([*parts, view[kept:]])
    return HloModule(proto, assignment)


def _computation(data: memoryview) -> bytes | None:
    """The computation with its mesh groups written out, or None where nothing changes."""
    parts: list[bytes | memoryview] = []
    kept = 0
    for number, kind, value, start, end in wire.fields(data):
        if number == COMPUTATION_INSTRUCTIONS and kind == wire.BYTES:
            assert isinstance(value, memoryview)
            rewritten = _instruction(value)
            if rewritten is not None:
                parts += [data[kept:start], wire.field_bytes(number, rewritten)]
                kept = end
    return None if kept == 0 else b"".join([*parts, data[kept:]])


def _instruction(data: memoryview) -> bytes | None:
    """An instruction with explicit replica groups, or None where it has no mesh groups.

    Name and opcode come first in every serialized instruction, so that only collectives and constants are read on.
    """
    opcode = b""
    for number, _, value, _, _ in wire.fields(data):
        if number == INSTRUCTION_OPCODE:
            assert isinstance(value, memoryview)
            opcode = bytes(value)
            break
    if opcode == b"constant":
        if all(number != INSTRUCTION_LITERAL for number, *_ in wire.fields(data)):
            name = bytes(wire.submessage(data, INSTRUCTION_NAME) or b"").decode(errors="replace")
            raise HloError(f"constant '{name}' has no value", elided=True)
        return None
    if not opcode.startswith((b"all-", b"reduce-scatter", b"collective-", b"ragged-all")):
        return None
    for number, _, value, start, end in wire.fields(data):
        if number == INSTRUCTION_MESH_GROUPS:
            assert isinstance(value, memoryview)
            table = _mesh_table(value)
            rows = b"".join(wire.field_bytes(1, wire.packed(1, row)) for row in table.tolist())
            return b"".join([data[:start], wire.field_bytes(INSTRUCTION_DEVICE_LIST, rows), data[end:]])
    return None


def _mesh_table(data: memoryview) -> np.ndarray:
    """MeshAxesReplicaGroupListProto: a mesh (1) and the axes that form a group (2)."""
    mesh = wire.submessage(data, 1)
    if mesh is None:
        raise HloError("mesh replica groups without a mesh")
    axes: list[tuple[str, int]] = []
    order: np.ndarray | None = None
    for number, kind, value, _, _ in wire.fields(mesh):
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
    raise wire.WireError("neither an HloModuleProto nor an HloProto")


def _is_module(data: memoryview) -> bool:
    """A module has a printable name, computations and the id of its entry."""
    seen: dict[int, int] = {}
    name_ok = False
    for number, kind, value, _, _ in wire.fields(data):
        seen.setdefault(number, kind)
        if number == MODULE_NAME and isinstance(value, memoryview):
            name_ok = bytes(value[:64]).isascii() and b"\n" not in bytes(value[:64])
    return name_ok and seen.get(MODULE_COMPUTATIONS) == wire.BYTES and seen.get(MODULE_ENTRY_ID) == wire.VARINT
