"""Relation files: how each device's parameters and results relate to the logical ones, given by hand.

A file is MLIR with one operation `"shardproof.relations"() {parameters = […], results = […]}`; `docs/relations.md`
describes the entries, `dialect/entries.py` reads their forms. Here they are bound to one pair of programs, so that
repetitions and the number of devices are settled and what is left is a sharding, or pieces of affine maps, for each
parameter and result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dialect.entries import (
    AffinePiece,
    Entry,
    EntryError,
    Pieces,
    Repeat,
    Replicated,
    Shard,
    Unstated,
    Written,
    placed,
    read_entries,
)
from ..compat import ir
from .affine import Affine, Constraint, from_mlir
from .errors import ReadError, ReadErrorKind
from .hlo_sharding import parse_hlo_sharding
from .ir import Parameter, Program, Result
from .mesh_ops import MESHES, read_mesh
from .mlir_text import parse_file, place_of
from .sdy_sharding import parse_sdy_sharding
from .sharding_forms import named, tiled
from .shardings import Sharding, ShardingKind
from .tiling import AxisRef, Mesh

OPERATION = "shardproof.relations"


@dataclass(frozen=True, slots=True)
class Piece:
    """Where the constraints hold, the device's element is the logical one at `image`.

    Variable 0 is the device's number, variable k + 1 the local index along dimension k.
    """

    image: tuple[Affine, ...]
    domain: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """The relation of one parameter or result, as a sharding or as pieces, and where the file says so."""

    where: str
    content: Sharding | tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations a file gives for one pair of programs, by the number of the parameter or result.

    What is not in them follows from the programs' shardings.
    """

    source: str
    parameters: Mapping[int, Given] = field(default_factory=dict)
    results: Mapping[int, Given] = field(default_factory=dict)
    meshes: tuple[Mesh, ...] = ()
    """Those that the file declares."""

    @property
    def shardings(self) -> list[Sharding]:
        """Those given as shardings."""
        contents = [given.content for given in (*self.parameters.values(), *self.results.values())]
        return [content for content in contents if isinstance(content, Sharding)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report has to say of them: a verdict holds under these relations only."""
        if not self.source:
            return ()
        counts = f"{len(self.parameters)} parameters and {len(self.results)} results"
        return (f"the relations of {counts} were given by hand in '{self.source}'",)


NO_RELATIONS = Relations("")


def read_relations(data: bytes | str, name: str, before: Program, after: Program) -> Relations:
    """Reads a relation file for two programs, MLIR text or bytecode.

    Raises `ReadError` for one that is malformed or does not fit them.
    """
    return _Reader(parse_file(data, name), name, before, after).read()


class _Misfit(Exception):
    """What is wrong with an entry; `kind` tells whether with its form or with its fit to the programs."""

    def __init__(self, message: str, kind: ReadErrorKind = ReadErrorKind.FORMAT) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The shapes of one tensor, logical and on each device."""

    logical: tuple[int, ...]
    local: tuple[int, ...]


class _Reader:
    def __init__(self, module: ir.Module, name: str, before: Program, after: Program) -> None:
        self.module = module
        self.name = name
        self.before = before
        self.after = after
        self.devices = after.num_devices
        self.meshes: dict[str, Mesh] = {}

    def read(self) -> Relations:
        found = None
        for op in self.module.body.operations:
            if op.operation.name in MESHES:
                self.mesh(op)
            elif op.operation.name != OPERATION:
                raise ReadError(
                    ReadErrorKind.FORMAT, self.place(op), f"'{op.operation.name}' has no place in a relation file"
                )
            elif found is not None:
                raise ReadError(ReadErrorKind.FORMAT, self.place(op), f"a second '{OPERATION}'")
            else:
                found = op
        if found is None:
            raise ReadError(ReadErrorKind.FORMAT, self.name, f"has no '{OPERATION}'")
        where = self.place(found)
        lists = {key: found.attributes[key] for key in map(_key, found.attributes)}
        for key in lists:
            if key not in ("parameters", "results"):
                raise ReadError(
                    ReadErrorKind.FORMAT, where, f"unknown list '{key}', expected 'parameters' or 'results'"
                )
        sides = (self.before.parameters, self.after.parameters), (self.before.results, self.after.results)
        bound = [
            self.bind(where, key, lists.get(key), *side)
            for key, side in zip(("parameters", "results"), sides, strict=True)
        ]
        return Relations(self.name, *bound, meshes=tuple(self.meshes.values()))

    def mesh(self, op: Any) -> None:
        try:
            name, mesh = read_mesh(op)
        except ValueError as error:
            raise ReadError(ReadErrorKind.FORMAT, self.place(op), str(error)) from None
        self.meshes[name] = mesh

    def place(self, op: Any) -> str:
        return place_of(op, self.name)

    def bind(
        self,
        where: str,
        key: str,
        attribute: Any,
        logical: Sequence[Parameter | Result],
        local: Sequence[Parameter | Result],
    ) -> dict[int, Given]:
        if attribute is None:
            return {}
        try:
            entries = read_entries(key, attribute)
        except EntryError as error:
            raise ReadError(ReadErrorKind.FORMAT, where, str(error)) from None
        try:
            written_out = list(placed(key, entries, len(logical)))
        except EntryError as error:
            raise ReadError(ReadErrorKind.MISMATCH, where, str(error)) from None
        given = {}
        for number, ((path, entry), ours, theirs) in enumerate(zip(written_out, logical, local, strict=True)):
            told = f"{path} ({key[:-1]} {number})"
            try:
                content = self.content(entry, _Shapes(ours.value.tensor.shape, theirs.value.tensor.shape))
            except _Misfit as error:
                raise ReadError(error.kind, where, f"{told}: {error}") from None
            except ValueError as error:
                raise ReadError(ReadErrorKind.FORMAT, where, f"{told}: {error}") from None
            if content is not None:
                given[number] = Given(f"{where}: {told}", content)
        return given

    def content(self, entry: Entry, shapes: _Shapes) -> Sharding | tuple[Piece, ...] | None:
        """What an entry says; None for one that leaves the matter to the programs' shardings."""
        match entry:
            case Unstated():
                return None
            case Replicated():
                return self.fitting(Sharding(ShardingKind.REPLICATED, "{replicated}"), shapes)
            case Written(text):
                return self.sharding(text, shapes)
            case Shard():
                return self.shard(entry, shapes)
            case Pieces(pieces):
                if len(pieces) > _MOST_PIECES:
                    raise _Misfit(f"{len(pieces)} pieces, more than {_MOST_PIECES}", ReadErrorKind.LIMIT)
                return tuple(self.piece(piece, shapes) for piece in pieces)
            case Repeat():
                raise ValueError("a repetition in a repetition")

    def sharding(self, text: str, shapes: _Shapes) -> Sharding:
        sharding = parse_sdy_sharding(text, self.meshes) if text.startswith("#") else parse_hlo_sharding(text)
        if not isinstance(sharding, Sharding):
            raise _Misfit(f"'{text}' is more than one sharding")
        return self.fitting(sharding, shapes)

    def fitting(self, sharding: Sharding, shapes: _Shapes) -> Sharding:
        """The sharding, if it has the tensor's rank and gives the device's shape."""
        logical = shapes.logical
        tiles = sharding.tiles or (1,) * len(logical)
        if len(tiles) != len(logical):
            raise _Misfit(f"'{sharding.text}' is for rank {len(tiles)}, the tensor has rank {len(logical)}", _MISMATCH)
        shape = [-(-extent // count) for extent, count in zip(logical, tiles, strict=True)]
        if shape != list(shapes.local):
            raise _Misfit(
                f"'{sharding.text}' makes {shape} of {list(logical)}, the device's is {list(shapes.local)}", _MISMATCH
            )
        return sharding

    def shard(self, entry: Shard, shapes: _Shapes) -> Sharding | tuple[Piece, ...]:
        """One dimension is cut evenly over all devices, those of mesh axes, or block by block."""
        dimension, rank = entry.dimension, len(shapes.logical)
        if dimension >= rank:
            raise _Misfit(f"no dimension {dimension} in a tensor of rank {rank}", _MISMATCH)
        if entry.blocks:
            return self.blocks(dimension, entry.blocks, shapes)
        if not entry.axes:
            counts = [self.devices if k == dimension else 1 for k in range(rank)]
            text = f"{{devices=[{','.join(map(str, counts))}]<=[{self.devices}]}}"
            return self.fitting(tiled(counts, np.arange(self.devices), (), text), shapes)
        mesh = self.named_mesh(entry.mesh)
        for axis in entry.axes:
            if axis not in dict(mesh.axes):
                raise _Misfit(f"the mesh has no axis '{axis}'")
        dims = [[AxisRef(axis) for axis in entry.axes] if k == dimension else [] for k in range(rank)]
        over = ", ".join(f"'{axis}'" for axis in entry.axes)
        return self.fitting(named(mesh, dims, (), f"shard of dimension {dimension} over {over}"), shapes)

    def named_mesh(self, name: str | None) -> Mesh:
        if name is None:
            if len(self.meshes) != 1:
                raise _Misfit("'axis' needs exactly one mesh in the file")
            return next(iter(self.meshes.values()))
        if name not in self.meshes:
            raise _Misfit(f"unknown mesh '@{name}'")
        return self.meshes[name]

    def blocks(self, dimension: int, sizes: Sequence[int], shapes: _Shapes) -> tuple[Piece, ...]:
        """Blocks that lie one after the other, each cut evenly over all devices: the layout of fused weights."""
        logical, local = shapes.logical, shapes.local
        if len(sizes) > _MOST_PIECES:
            raise _Misfit(f"{len(sizes)} blocks, more than {_MOST_PIECES}", ReadErrorKind.LIMIT)
        if any(size % self.devices for size in sizes) or sum(sizes) != logical[dimension]:
            raise _Misfit(
                f"blocks {list(sizes)} do not make up {logical[dimension]} in parts for {self.devices} devices",
                _MISMATCH,
            )
        expected = [extent // self.devices if k == dimension else extent for k, extent in enumerate(logical)]
        if expected != list(local):
            raise _Misfit(f"blocks make {expected} of {list(logical)}, the device's is {list(local)}", _MISMATCH)
        index = [Affine.variable(k + 1) for k in range(len(logical))]
        pieces, start, own = [], 0, 0
        for size in sizes:
            part = size // self.devices
            image = list(index)
            image[dimension] = index[dimension] + Affine.variable(0).times(part) + Affine(start - own)
            least = index[dimension] + Affine(-own)
            greatest = index[dimension].times(-1) + Affine(own + part - 1)
            pieces.append(Piece(tuple(image), (Constraint(least, False), Constraint(greatest, False))))
            start, own = start + size, own + part
        return tuple(pieces)

    def piece(self, entry: AffinePiece, shapes: _Shapes) -> Piece:
        point = self.point(entry.mesh, len(shapes.local))
        image = self.expressions(entry.map, point, "map")
        if len(image) != len(shapes.logical):
            raise _Misfit(
                f"map with {len(image)} results for a logical tensor of rank {len(shapes.logical)}", _MISMATCH
            )
        return Piece(tuple(image), tuple(self.constraints(entry.domain, point)) if entry.domain is not None else ())

    def point(self, mesh_name: str | None, rank: int) -> list[Affine]:
        """What the dimensions of a map stand for: the device's number or its coordinates, then the local index."""
        index = [Affine.variable(k + 1) for k in range(rank)]
        number = Affine.variable(0)
        if mesh_name is None:
            return [number, *index]
        mesh = self.named_mesh(mesh_name)
        if not np.array_equal(mesh.order, np.arange(self.devices)):
            raise _Misfit(f"mesh '@{mesh_name}' does not hold the {self.devices} devices in the order of their numbers")
        coordinates = []
        for _, size in reversed(mesh.axes):
            above = number.floor_divided(size)
            coordinates.append(number + above.times(-size))
            number = above
        return [*reversed(coordinates), *index]

    def constraints(self, text: str, point: Sequence[Affine]) -> Iterator[Constraint]:
        # The bindings do not open an affine set, but its constraints are expressions that a map can hold.
        match = re.fullmatch(r"(\(.*?\)(?:\[.*?\])?) : \((.*)\)", text)
        if match is None:
            raise _Misfit(f"'{text}' is no affine set")
        parts = [part.rpartition(" ")[0].rpartition(" ") for part in match[2].split(", ") if part]
        plain = f"{match[1]} -> ({', '.join(left for left, _, _ in parts)})"
        for expression, (_, _, sign) in zip(self.expressions(plain, point, "domain"), parts, strict=True):
            yield Constraint(expression, sign == "==")

    def expressions(self, text: str, point: Sequence[Affine], what: str) -> list[Affine]:
        plain = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{text}>", self.module.context)).value
        if plain.n_dims != len(point):
            raise _Misfit(
                f"{what} with {plain.n_dims} dimensions for a device number and {len(point) - 1} local indices",
                _MISMATCH,
            )
        if plain.n_symbols > 1:
            raise _Misfit(f"{what} with {plain.n_symbols} symbols; the only one is the number of devices")
        values = dict(enumerate(point))
        expressions = [from_mlir(result, [self.devices]).substituted(values) for result in plain.results]
        if any(abs(number) > _GREATEST for expression in expressions for number in expression.numbers()):
            raise _Misfit(f"{what} with numbers beyond {_GREATEST}")
        return expressions


_MISMATCH = ReadErrorKind.MISMATCH

_MOST_PIECES = 4096
"""Each has to be compared with all others: so many take some seconds."""

_GREATEST = 1 << 30
"""Products of greater numbers and indices might not fit into the 64 bits that tables are computed in."""


def _key(attribute: Any) -> str:
    """Iterating over an operation's attributes gives names in newer bindings and pairs in older ones."""
    return attribute if isinstance(attribute, str) else attribute.name
