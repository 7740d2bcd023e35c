"""Relation files: how each device's parameters and results relate to the logical ones, given by hand.

A file is MLIR text with one operation `"shardproof.relations"() {parameters = […], results = […]}`; `docs/relations.md`
describes the entries. Reading binds them to one pair of programs, so that repetitions and the number of devices are
settled and what is left is a sharding, or pieces of affine maps, per parameter and result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compat import ir, new_context, parse_module
from .affine import Affine, Constraint, from_mlir
from .errors import ReadError, ReadErrorKind
from .hlo_sharding import parse_hlo_sharding
from .ir import Parameter, Program, Result
from .sdy_sharding import parse_sdy_mesh, parse_sdy_sharding
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
    """Reads a relation file for two programs; raises `ReadError` for one that is malformed or does not fit them."""
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError:
        raise ReadError(ReadErrorKind.FORMAT, name, "is no text") from None
    try:
        module = parse_module(text, new_context(allow_unregistered=True))
    except ir.MLIRError as error:
        found = error.error_diagnostics
        position = re.fullmatch(r'loc\("-":(\d+):(\d+)\)', str(found[0].location)) if found else None
        where = f"{name}:{position[1]}:{position[2]}" if position else name
        message = found[0].message if found else str(error).partition("\n")[0]
        raise ReadError(ReadErrorKind.SYNTAX, where, message.strip()) from None
    return _Reader(name, before, after).read(module)


class _Misfit(Exception):
    """What is wrong with an entry; `kind` tells whether with its form or with its fit to the programs."""

    def __init__(self, message: str, kind: ReadErrorKind = ReadErrorKind.FORMAT) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    attribute: Any


class _Reader:
    def __init__(self, name: str, before: Program, after: Program) -> None:
        self.name = name
        self.before = before
        self.after = after
        self.devices = after.num_devices
        self.meshes: dict[str, Mesh] = {}

    def read(self, module: ir.Module) -> Relations:
        found = None
        for op in module.body.operations:
            if op.operation.name == "sdy.mesh":
                symbol = ir.StringAttr(op.attributes["sym_name"]).value
                self.meshes[symbol] = parse_sdy_mesh(str(op.attributes["mesh"]))
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
        return Relations(self.name, *bound)

    def place(self, op: Any) -> str:
        position = re.fullmatch(r'loc\("-":(\d+):(\d+)\)', str(op.location))
        return f"{self.name}:{position[1]}:{position[2]}" if position else self.name

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
        path = key
        try:
            entries = list(_expanded(key, attribute, len(logical)))
            given = {}
            for number, (entry, ours, theirs) in enumerate(zip(entries, logical, local, strict=True)):
                path = f"{entry.path} ({key[:-1]} {number})"
                content = self.content(entry.attribute, ours.value.tensor.shape, theirs.value.tensor.shape)
                if content is not None:
                    given[number] = Given(f"{where}: {path}", content)
            return given
        except _Misfit as error:
            raise ReadError(error.kind, where, f"{path}: {error}") from None
        except ValueError as error:
            raise ReadError(ReadErrorKind.FORMAT, where, f"{path}: {error}") from None

    def content(
        self, attribute: Any, logical: tuple[int, ...], local: tuple[int, ...]
    ) -> Sharding | tuple[Piece, ...] | None:
        """What an entry says; None for `unit`, which leaves the matter to the programs' shardings."""
        if isinstance(attribute, ir.UnitAttr):
            return None
        if isinstance(attribute, ir.StringAttr):
            return self.sharding(ir.StringAttr(attribute).value, logical, local)
        if isinstance(attribute, ir.AffineMapAttr):
            return (self.piece({"map": attribute}, logical, local),)
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(self.piece(_dictionary(each), logical, local) for each in ir.ArrayAttr(attribute))
        if isinstance(attribute, ir.DictAttr):
            entry = _dictionary(attribute)
            return (self.piece(entry, logical, local),) if "map" in entry else self.shard(entry, logical, local)
        return self.sharding(str(attribute), logical, local)

    def sharding(self, text: str, logical: tuple[int, ...], local: tuple[int, ...]) -> Sharding:
        if text == "replicated":
            return self.fitting(Sharding(ShardingKind.REPLICATED, "{replicated}"), logical, local)
        if text.startswith("#sdy.sharding<"):
            sharding = parse_sdy_sharding(text, self.meshes)
        elif text.startswith("{"):
            sharding = parse_hlo_sharding(text)
        else:
            raise _Misfit(f"unknown relation '{text}'")
        if not isinstance(sharding, Sharding):
            raise _Misfit(f"'{text}' is more than one sharding")
        return self.fitting(sharding, logical, local)

    def fitting(self, sharding: Sharding, logical: tuple[int, ...], local: tuple[int, ...]) -> Sharding:
        """The sharding, if it has the tensor's rank and gives the device's shape."""
        tiles = sharding.tiles or (1,) * len(logical)
        if len(tiles) != len(logical):
            raise _Misfit(f"'{sharding.text}' is for rank {len(tiles)}, the tensor has rank {len(logical)}", _MISMATCH)
        shape = [-(-extent // count) for extent, count in zip(logical, tiles, strict=True)]
        if shape != list(local):
            raise _Misfit(
                f"'{sharding.text}' makes {shape} of {list(logical)}, the device's is {list(local)}", _MISMATCH
            )
        return sharding

    def shard(
        self, entry: Mapping[str, Any], logical: tuple[int, ...], local: tuple[int, ...]
    ) -> Sharding | tuple[Piece, ...]:
        """`{shard = k}`: dimension k is cut evenly over all devices, those of one mesh axis, or block by block."""
        _keys(entry, {"shard"}, {"axis", "blocks"})
        dimension = _integer(entry["shard"])
        if not 0 <= dimension < len(logical):
            raise _Misfit(f"no dimension {dimension} in a tensor of rank {len(logical)}", _MISMATCH)
        if "blocks" in entry:
            if "axis" in entry:
                raise _Misfit("'blocks' and 'axis' do not go together")
            return self.blocks(dimension, [_integer(size) for size in ir.ArrayAttr(entry["blocks"])], logical, local)
        if "axis" not in entry:
            counts = [self.devices if k == dimension else 1 for k in range(len(logical))]
            text = f"{{devices=[{','.join(map(str, counts))}]<=[{self.devices}]}}"
            return self.fitting(tiled(counts, np.arange(self.devices), (), text), logical, local)
        if len(self.meshes) != 1:
            raise _Misfit("'axis' needs exactly one 'sdy.mesh' in the file")
        axis = ir.StringAttr(entry["axis"]).value
        (mesh,) = self.meshes.values()
        if axis not in dict(mesh.axes):
            raise _Misfit(f"the mesh has no axis '{axis}'")
        dims = [[AxisRef(axis)] if k == dimension else [] for k in range(len(logical))]
        return self.fitting(named(mesh, dims, (), f"shard of dimension {dimension} over '{axis}'"), logical, local)

    def blocks(
        self, dimension: int, sizes: list[int], logical: tuple[int, ...], local: tuple[int, ...]
    ) -> tuple[Piece, ...]:
        """Blocks that lie one after the other, each cut evenly over all devices: the layout of fused weights."""
        if any(size <= 0 or size % self.devices for size in sizes) or sum(sizes) != logical[dimension]:
            raise _Misfit(
                f"blocks {sizes} do not make up {logical[dimension]} in parts for {self.devices} devices", _MISMATCH
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

    def piece(self, entry: Mapping[str, Any], logical: tuple[int, ...], local: tuple[int, ...]) -> Piece:
        _keys(entry, {"map"}, {"domain"})
        if not isinstance(entry["map"], ir.AffineMapAttr):
            raise _Misfit("'map' is no affine map")
        image = self.expressions(ir.AffineMapAttr(entry["map"]).value, len(local), "map")
        if len(image) != len(logical):
            raise _Misfit(f"map with {len(image)} results for a logical tensor of rank {len(logical)}", _MISMATCH)
        return Piece(tuple(image), tuple(self.constraints(entry["domain"], len(local))) if "domain" in entry else ())

    def constraints(self, attribute: Any, rank: int) -> Iterator[Constraint]:
        # The bindings do not open an affine set, but its constraints are expressions that a map can hold.
        match = re.fullmatch(r"affine_set<(\(.*?\)(?:\[.*?\])?) : \((.*)\)>", str(attribute))
        if match is None:
            raise _Misfit("'domain' is no affine set")
        parts = [part.rpartition(" ")[0].rpartition(" ") for part in match[2].split(", ") if part]
        text = f"affine_map<{match[1]} -> ({', '.join(left for left, _, _ in parts)})>"
        plain = ir.AffineMapAttr(ir.Attribute.parse(text, attribute.context)).value
        for expression, (_, _, sign) in zip(self.expressions(plain, rank, "domain"), parts, strict=True):
            yield Constraint(expression, sign == "==")

    def expressions(self, plain: ir.AffineMap, rank: int, what: str) -> list[Affine]:
        if plain.n_dims != rank + 1:
            raise _Misfit(
                f"{what} with {plain.n_dims} dimensions for a device number and {rank} local indices", _MISMATCH
            )
        if plain.n_symbols > 1:
            raise _Misfit(f"{what} with {plain.n_symbols} symbols; the only one is the number of devices")
        expressions = [from_mlir(result, [self.devices]) for result in plain.results]
        if any(abs(number) > _GREATEST for expression in expressions for number in expression.numbers()):
            raise _Misfit(f"{what} with numbers beyond {_GREATEST}")
        return expressions


_MISMATCH = ReadErrorKind.MISMATCH

_GREATEST = 1 << 30
"""Products of greater numbers and indices might not fit into the 64 bits that tables are computed in."""


def _key(attribute: Any) -> str:
    """Iterating over an operation's attributes gives names in newer bindings and pairs in older ones."""
    return attribute if isinstance(attribute, str) else attribute.name


def _dictionary(attribute: Any) -> dict[str, Any]:
    if not isinstance(attribute, ir.DictAttr):
        raise _Misfit(f"'{attribute}' is no piece '{{map = …, domain = …}}'")
    return {each.name: each.attr for each in ir.DictAttr(attribute)}


def _keys(entry: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    for key in sorted(required - entry.keys()):
        raise _Misfit(f"'{key}' is missing")
    for key in sorted(entry.keys() - required - optional):
        raise _Misfit(f"unknown key '{key}'")


def _integer(attribute: Any) -> int:
    if not isinstance(attribute, ir.IntegerAttr):
        raise _Misfit(f"'{attribute}' is no integer")
    return ir.IntegerAttr(attribute).value


def _repetition(path: str, attribute: Any) -> tuple[list[_Entry], int | None] | None:
    """The entries and the count of `{repeat = […], count = n}`, or None for any other entry."""
    if not isinstance(attribute, ir.DictAttr):
        return None
    entry = _dictionary(attribute)
    if "repeat" not in entry:
        return None
    _keys(entry, {"repeat"}, {"count"})
    count = _integer(entry["count"]) if "count" in entry else None
    if count is not None and count < 0:
        raise _Misfit(f"{path}: count {count} is negative")
    return _list(f"{path}.repeat", entry["repeat"]), count


def _list(path: str, attribute: Any) -> list[_Entry]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise _Misfit(f"{path} is no list")
    return [_Entry(f"{path}[{k}]", each) for k, each in enumerate(ir.ArrayAttr(attribute))]


def _expanded(key: str, attribute: Any, wanted: int) -> list[_Entry]:
    """The list with its repetitions written out; those without a count repeat equally often, as often as fits."""
    entries = _list(key, attribute)
    fixed = len(_written_out(entries, 0))
    group = len(_written_out(entries, 1)) - fixed
    times = (wanted - fixed) // group if group and wanted >= fixed else 0
    written = _written_out(entries, times)
    if len(written) != wanted:
        more = f" and groups of {group}" if group else ""
        raise _Misfit(f"relations for {fixed} {key}{more}, the programs have {wanted}", _MISMATCH)
    return written


def _written_out(entries: Sequence[_Entry], times: int) -> list[_Entry]:
    written: list[_Entry] = []
    for entry in entries:
        repetition = _repetition(entry.path, entry.attribute)
        if repetition is None:
            written.append(entry)
            continue
        inner, count = repetition
        if any(_repetition(each.path, each.attribute) is not None for each in inner):
            raise _Misfit(f"{entry.path} is a repetition of repetitions")
        written += inner * (times if count is None else count)
    return written
