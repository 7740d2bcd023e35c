"""The typed, immutable program that every other part of the validator works on.

A `Program` is one module as StableHLO means it, whatever file it came from: types, plain Python attributes,
regions, source locations, shardings and device counts. Readers build it, nobody changes it afterwards.
Structured attributes are frozen dataclasses from `attributes.py`; everything else is an int, float, bool, str,
tuple or numpy array, so that no later stage needs MLIR.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .shardings import Sharding
from .tiling import Mesh


class DType(enum.Enum):
    """An element type, spelled as StableHLO spells it."""

    I1 = "i1"
    I2 = "i2"
    I4 = "i4"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    UI2 = "ui2"
    UI4 = "ui4"
    UI8 = "ui8"
    UI16 = "ui16"
    UI32 = "ui32"
    UI64 = "ui64"
    F4E2M1FN = "f4E2M1FN"
    F8E3M4 = "f8E3M4"
    F8E4M3 = "f8E4M3"
    F8E4M3FN = "f8E4M3FN"
    F8E4M3FNUZ = "f8E4M3FNUZ"
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ"
    F8E5M2 = "f8E5M2"
    F8E5M2FNUZ = "f8E5M2FNUZ"
    F8E8M0FNU = "f8E8M0FNU"
    BF16 = "bf16"
    F16 = "f16"
    F32 = "f32"
    F64 = "f64"
    C64 = "complex<f32>"
    C128 = "complex<f64>"

    @property
    def is_bool(self) -> bool:
        return self is DType.I1

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer; booleans are not integers."""
        return self.value[0] in "iu" and self is not DType.I1

    @property
    def is_signed(self) -> bool:
        return self.value[0] == "i" and self is not DType.I1

    @property
    def is_float(self) -> bool:
        return self.value[0] == "f" or self is DType.BF16

    @property
    def is_positive(self) -> bool:
        """Float type of positive numbers alone: without signs and zero, so that x - y and x + (-y) differ.

        The e-graph and index arithmetic conclude nothing of its ops.
        """
        return self is DType.F8E8M0FNU

    @property
    def is_complex(self) -> bool:
        return self.value.startswith("complex")

    @property
    def bits(self) -> int:
        """Width in bits; 1 for booleans, both parts for complex numbers."""
        return _BITS[self]

    @property
    def integer_range(self) -> tuple[int, int]:
        """Least and greatest value of a boolean or integer type."""
        if self is DType.I1:
            return (0, 1)
        if not self.is_integer:
            raise ValueError(f"{self.value} is not an integer type")
        if self.is_signed:
            return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        return (0, (1 << self.bits) - 1)


def _bits_of(dtype: DType) -> int:
    name = dtype.value
    if dtype.is_complex:
        return 64 if dtype is DType.C64 else 128
    if name.startswith("bf"):
        return 16
    digits = name.lstrip("uif")
    width = ""
    for ch in digits:
        if not ch.isdigit():
            break
        width += ch
    return int(width)


_BITS: dict[DType, int] = {dtype: _bits_of(dtype) for dtype in DType}


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor type with a static shape."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def __str__(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class TokenType:
    """The type of an ordering token; it carries no data."""

    def __str__(self) -> str:
        return "token"


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple, which no value of a program has: readers put its elements in its place."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


Type = TensorType | TokenType


@dataclass(frozen=True, slots=True)
class Frame:
    """One source position: the user's file, line and column (1-based; 0 where unknown) and function name."""

    file: str
    line: int
    column: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operation comes from: the JAX op name and the user's frames, innermost first."""

    op_name: str = ""
    frames: tuple[Frame, ...] = ()

    def __str__(self) -> str:
        return str(self.frames[0]) if self.frames else (self.op_name or "unknown")


UNKNOWN_LOCATION = Location()


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One SSA value. `number` is unique in its program; `name` is what reports print."""

    number: int
    type: Type
    name: str

    @property
    def tensor(self) -> TensorType:
        """The tensor type; asking it of a token or tuple is a programming error."""
        assert isinstance(self.type, TensorType), f"{self.name} is a {self.type}, not a tensor"
        return self.type


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation. `name` carries its dialect (`stablehlo.add`); attributes hold only plain data."""

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: Mapping[str, Any]
    regions: tuple[Region, ...] = ()
    location: Location = UNKNOWN_LOCATION
    shardings: tuple[Sharding | None, ...] = ()
    """One entry a result where the program annotates this op (`mhlo.sharding`, `sdy.sharding`), else empty."""


def hands_on(op: Op) -> bool:
    """Whether an operation of one operand returns it as it is, as annotations do that JAX writes into reducers."""
    if op.name == "stablehlo.custom_call":
        return op.attributes.get("call_target_name") == "Sharding" and len(op.operands) == 1
    return op.name in ("mhlo.copy", "sdy.sharding_constraint", "stablehlo.optimization_barrier")


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """One block: its arguments, its operations in order, and what its terminator returns."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """One entry parameter: the value, its sharding where the file tells one, and its name in the user's program."""

    value: Value
    sharding: Sharding | None
    label: str
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One entry result: the value returned, its sharding where the file tells one, and a label for reports."""

    value: Value
    sharding: Sharding | None
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One module, calls inlined into the entry function.

    `source` names the file (or the JAX function) for reports. `num_replicas * num_partitions` devices run it;
    both are 1 where the file names no devices. Device number d is replica d // num_partitions and partition
    d % num_partitions.
    """

    name: str
    source: str
    parameters: tuple[Parameter, ...]
    body: Region
    results: tuple[Result, ...]
    num_replicas: int = 1
    num_partitions: int = 1
    meshes: tuple[Mesh, ...] = ()
    """The meshes with named axes that the file declares, or names in its shardings: what reports name groups by."""
    notes: tuple[str, ...] = field(default=())
    """Facts of reading that belong in a report, such as 'num_partitions taken from device_assignment'."""

    @property
    def num_devices(self) -> int:
        return self.num_replicas * self.num_partitions
