"""Entries of relation lists as data: what each device holds of one parameter or result, in any of its spellings.

Reading an entry checks its form; whether it fits two programs is for `validator/read/relations.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..validator.compat import ir
from .attributes import is_own, parameters_of
from .definition import DIALECT


@dataclass(frozen=True, slots=True)
class Unstated:
    """Left to what the programs' shardings say."""

    def __str__(self) -> str:
        return "unit"


@dataclass(frozen=True, slots=True)
class Replicated:
    """The whole tensor on each device."""

    def __str__(self) -> str:
        return f"#{DIALECT}.replicated"


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of one dimension: over all devices, over axes of a mesh, or of each of the blocks it consists of.

    `mesh` is None with axes where the file's only mesh is meant.
    """

    dimension: int
    axes: tuple[str, ...] = ()
    mesh: str | None = None
    blocks: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.blocks:
            return f"#{DIALECT}.shard_blocks<{self.dimension} : i64, [{', '.join(map(str, self.blocks))}]>"
        if not self.axes:
            return f"#{DIALECT}.shard<{self.dimension} : i64>"
        names = ", ".join(f'"{axis}"' for axis in self.axes)
        if self.mesh is None:
            return f"{{axis = [{names}], shard = {self.dimension} : i64}}"
        return f"#{DIALECT}.shard_over<{self.dimension} : i64, @{self.mesh}, [{names}]>"


@dataclass(frozen=True, slots=True)
class Written:
    """A sharding in Shardy's own syntax (`#sdy.sharding<…>`) or in XLA's (`{devices=[…]…}`)."""

    text: str

    def __str__(self) -> str:
        return self.text if self.text.startswith("#") else f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class AffinePiece:
    """The logical index for each point of a domain, as the inner texts of `affine_map<…>` and `affine_set<…>`.

    The leading dimensions are the device's number or, with a `mesh`, its coordinates in the mesh; the others are the
    local index. Without a domain it is the device's whole tensor.
    """

    map: str
    domain: str | None = None
    mesh: str | None = None

    def __str__(self) -> str:
        domain = f"domain = affine_set<{self.domain}>, " if self.domain is not None else ""
        mesh = f", mesh = @{self.mesh}" if self.mesh is not None else ""
        return f"{{{domain}map = affine_map<{self.map}>{mesh}}}"


@dataclass(frozen=True, slots=True)
class Pieces:
    """A union of pieces that do not overlap."""

    pieces: tuple[AffinePiece, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.pieces))}]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Entries that are repeated `count` times, or as often as makes the list as long as the programs need."""

    entries: tuple[Entry, ...]
    count: int | None = None

    def __str__(self) -> str:
        count = f"count = {self.count} : i64, " if self.count is not None else ""
        return f"{{{count}repeat = [{', '.join(map(str, self.entries))}]}}"


Entry = Unstated | Replicated | Shard | Written | Pieces | Repeat


class EntryError(ValueError):
    """What is wrong with the form of an entry; `path` leads to it from the list's name on."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


def read_entries(path: str, attribute: Any) -> tuple[Entry, ...]:
    """The entries of a list attribute; raises `EntryError` for the first that is malformed."""
    if not isinstance(attribute, ir.ArrayAttr):
        raise EntryError(path, f"'{attribute}' is no list")
    return tuple(read_entry(f"{path}[{k}]", each) for k, each in enumerate(attribute))


def read_entry(path: str, attribute: Any, *, repeated: bool = False) -> Entry:
    """One entry; raises `EntryError`. `repeated` tells that it stands in a repetition, which holds no other one."""
    try:
        if isinstance(attribute, ir.DictAttr) and "repeat" in attribute:
            entry = _dictionary(attribute)
            _keys(entry, {"repeat"}, {"count"})
            if repeated:
                raise ValueError("a repetition in a repetition")
            count = _integer(entry["count"]) if "count" in entry else None
            if count is not None and count < 0:
                raise ValueError(f"count {count} is negative")
            if not isinstance(entry["repeat"], ir.ArrayAttr):
                raise ValueError("'repeat' is no list")
            if not len(entry["repeat"]):
                raise ValueError("'repeat' is empty")
            inner = (read_entry(f"{path}.repeat[{k}]", each, repeated=True) for k, each in enumerate(entry["repeat"]))
            return Repeat(tuple(inner), count)
        return _single(attribute)
    except EntryError:
        raise
    except ValueError as error:
        raise EntryError(path, str(error)) from None


def _single(attribute: Any) -> Entry:
    if isinstance(attribute, ir.UnitAttr):
        return Unstated()
    if isinstance(attribute, ir.StringAttr):
        text = attribute.value
        if text == "replicated":
            return Replicated()
        if text.startswith(("#sdy.sharding<", "{")):
            return Written(text)
        raise ValueError(f"unknown relation '{text}'")
    if isinstance(attribute, ir.AffineMapAttr):
        return Pieces((_piece({"map": attribute}),))
    if isinstance(attribute, ir.ArrayAttr):
        return Pieces(tuple(_piece(_dictionary(each)) for each in attribute))
    if isinstance(attribute, ir.DictAttr):
        entry = _dictionary(attribute)
        return Pieces((_piece(entry),)) if "map" in entry else _shard_of(entry)
    if is_own(attribute):
        return _own(attribute)
    if str(attribute).startswith("#sdy.sharding<"):
        return Written(str(attribute))
    raise ValueError(f"unknown relation '{attribute}'")


def _own(attribute: Any) -> Entry:
    name, parameters = parameters_of(attribute)
    match name:
        case "replicated":
            return Replicated()
        case "shard":
            return _shard(parameters[0])
        case "shard_over":
            return _shard(parameters[0], axes=_names(parameters[2]), mesh=ir.FlatSymbolRefAttr(parameters[1]).value)
        case "shard_blocks":
            return _shard(parameters[0], blocks=_sizes(parameters[1]))
        case _:
            raise ValueError(f"'{attribute}' is no relation")


def _shard_of(entry: Mapping[str, Any]) -> Shard:
    _keys(entry, {"shard"}, {"axis", "blocks"})
    if "blocks" in entry and "axis" in entry:
        raise ValueError("'blocks' and 'axis' do not go together")
    axes = entry.get("axis")
    return _shard(
        entry["shard"],
        axes=() if axes is None else (axes.value,) if isinstance(axes, ir.StringAttr) else _names(axes),
        blocks=_sizes(entry["blocks"]) if "blocks" in entry else (),
    )


def _shard(dimension: Any, **more: Any) -> Shard:
    number = _integer(dimension)
    if number < 0:
        raise ValueError(f"dimension {number} is negative")
    return Shard(number, **more)


def _names(attribute: Any) -> tuple[str, ...]:
    names = []
    for each in _array(attribute, "axis"):
        if not isinstance(each, ir.StringAttr):
            raise ValueError(f"'{each}' is no name of an axis")
        names.append(each.value)
    if not names:
        raise ValueError("no axis is named")
    if len(set(names)) != len(names):
        raise ValueError("an axis is named twice")
    return tuple(names)


def _sizes(attribute: Any) -> tuple[int, ...]:
    sizes = tuple(_integer(each) for each in _array(attribute, "blocks"))
    if not sizes or min(sizes) < 1:
        raise ValueError(f"blocks {list(sizes)} are not positive sizes")
    return sizes


def _array(attribute: Any, what: str) -> Sequence[Any]:
    if not isinstance(attribute, ir.ArrayAttr):
        raise ValueError(f"'{what}' is no list")
    return list(attribute)


def _piece(entry: Mapping[str, Any]) -> AffinePiece:
    _keys(entry, {"map"}, {"domain", "mesh"})
    if not isinstance(entry["map"], ir.AffineMapAttr):
        raise ValueError("'map' is no affine map")
    plain = entry["map"].value
    if plain.n_symbols > 1:
        raise ValueError(f"map with {plain.n_symbols} symbols; the only one is the number of devices")
    domain = mesh = None
    if "domain" in entry:
        if not isinstance(entry["domain"], ir.IntegerSetAttr):
            raise ValueError("'domain' is no affine set")
        domain = inner_text(entry["domain"])
    if "mesh" in entry:
        if not isinstance(entry["mesh"], ir.FlatSymbolRefAttr):
            raise ValueError("'mesh' is no name of a mesh")
        mesh = entry["mesh"].value
    return AffinePiece(inner_text(entry["map"]), domain, mesh)


def inner_text(attribute: Any) -> str:
    """What stands between the angle brackets of an `affine_map<…>` or `affine_set<…>`."""
    return str(attribute).partition("<")[2].removesuffix(">")


def _dictionary(attribute: Any) -> dict[str, Any]:
    if not isinstance(attribute, ir.DictAttr):
        raise ValueError(f"'{attribute}' is no piece '{{map = …, domain = …}}'")
    return {each.name: each.attr for each in attribute}


def _keys(entry: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    for key in sorted(required - entry.keys()):
        raise ValueError(f"'{key}' is missing")
    for key in sorted(entry.keys() - required - optional):
        raise ValueError(f"unknown key '{key}'")


def _integer(attribute: Any) -> int:
    if not isinstance(attribute, ir.IntegerAttr):
        raise ValueError(f"'{attribute}' is no integer")
    return attribute.value


def placed(path: str, entries: Sequence[Entry], wanted: int) -> Iterator[tuple[str, Entry]]:
    """The entries with their paths, repetitions written out so that `wanted` come out; raises `EntryError` where not.

    Repetitions without a count are repeated equally often.
    """
    fixed = sum(_length(entry, 0) for entry in entries)
    group = sum(_length(entry, 1) for entry in entries) - fixed
    times = (wanted - fixed) // group if group and wanted >= fixed else 0
    if fixed + times * group != wanted:
        more = f" and groups of {group}" if group else ""
        raise EntryError(path, f"relations for {fixed} {path}{more}, the programs have {wanted}")
    for number, entry in enumerate(entries):
        if isinstance(entry, Repeat):
            for _ in range(times if entry.count is None else entry.count):
                yield from ((f"{path}[{number}].repeat[{k}]", each) for k, each in enumerate(entry.entries))
        else:
            yield f"{path}[{number}]", entry


def _length(entry: Entry, times: int) -> int:
    if not isinstance(entry, Repeat):
        return 1
    return len(entry.entries) * (times if entry.count is None else entry.count)
