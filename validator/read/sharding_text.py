"""Shardings from text: XLA's own spellings (V1, V2 iota, named meshes) and Shardy's attribute syntax.

Both grammars come down to a mesh or device order, axes or tile counts for each dimension, and markings for the rest.
A marking that is understood but not modelled gives an UNSUPPORTED sharding with its structure kept; text that is not
understood raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from .shardings import Sharding, ShardingKind
from .tiling import MAX_DEVICES, AxisRef, Mesh, iota

_TOKEN = re.compile(r"""\s+|/\*.*?\*/|(?P<token><=|'[^']*'|"(?:[^"\\]|\\.)*"|-?\d+|@"[^"]*"|[@A-Za-z_][\w.$-]*|.)""", re.S)


class Tokens:
    """The tokens of one text, comments and blanks dropped, with the few moves a hand-written parser needs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = [match["token"] for match in _TOKEN.finditer(text) if match["token"] is not None]
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self) -> str:
        token = self.next
        self._at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ValueError(f"expected '{token}' but found '{self.next or 'end of text'}' in '{self.text}'")

    def integer(self) -> int:
        token = self.take()
        if not re.fullmatch(r"-?\d+", token):
            raise ValueError(f"expected a number but found '{token or 'end of text'}' in '{self.text}'")
        return int(token)

    def integers(self, close: str) -> list[int]:
        """Numbers up to and including the closing token."""
        numbers: list[int] = []
        while not self.accept(close):
            numbers.append(self.integer())
            if self.next != close:
                self.expect(",")
        return numbers

    def end(self) -> None:
        if self.next:
            raise ValueError(f"unexpected '{self.next}' in '{self.text}'")

    def unexpected(self) -> ValueError:
        return ValueError(f"unexpected '{self.next or 'end of text'}' in '{self.text}'")


def device_order(tokens: Tokens) -> np.ndarray:
    """`<=[dims]T(perm)` after its `<=`, or `[dims]T(perm)` alone."""
    tokens.expect("[")
    dims = tokens.integers("]")
    if not dims or any(size < 1 for size in dims) or int(np.prod([float(d) for d in dims])) > MAX_DEVICES:
        raise ValueError(f"bad device order in '{tokens.text}'")
    perm = None
    if tokens.accept("T"):
        tokens.expect("(")
        perm = tokens.integers(")")
        if sorted(perm) != list(range(len(dims))):
            raise ValueError(f"bad permutation in '{tokens.text}'")
    return iota(dims, perm)


def hlo_mesh(tokens: Tokens) -> Mesh:
    """`['x'=2,'y'=4]` and an optional `, device_ids=(...)`, after the word `mesh`."""
    tokens.expect("[")
    axes: list[tuple[str, int]] = []
    while not tokens.accept("]"):
        name = _quoted(tokens)
        tokens.expect("=")
        axes.append((name, tokens.integer()))
        if tokens.next != "]":
            tokens.expect(",")
    order = None
    mark = tokens._at
    if tokens.accept(",") and tokens.accept("device_ids"):
        tokens.expect("=")
        tokens.expect("(")
        if tokens.next == "[":
            order = device_order(tokens)
            tokens.expect(")")
        else:
            order = np.array(tokens.integers(")"), dtype=np.int64)
    else:
        tokens._at = mark
    return Mesh.of(axes, order)


def axis_refs(tokens: Tokens, close: str) -> tuple[list[AxisRef], bool]:
    """Axes up to the closing token, and whether a `?` leaves the list open."""
    refs: list[AxisRef] = []
    is_open = False
    while not tokens.accept(close):
        if tokens.accept("?"):
            is_open = True
        else:
            name = _quoted(tokens)
            if tokens.accept(":"):
                tokens.expect("(")
                pre = tokens.integer()
                tokens.expect(")")
                refs.append(AxisRef(name, pre, tokens.integer()))
            else:
                refs.append(AxisRef(name))
        if tokens.next != close:
            tokens.expect(",")
    return refs, is_open


def parse_hlo_sharding(text: str) -> tuple[Sharding, ...] | Sharding:
    """One sharding, or the leaves of a tuple sharding, from the text XLA prints."""
    tokens = Tokens(text)
    tokens.expect("{")
    if tokens.next not in ("{", "}"):
        sharding = _hlo_single(tokens, text)
        tokens.end()
        return sharding
    leaves: list[Sharding] = []
    while not tokens.accept("}"):
        start = tokens._at
        tokens.expect("{")
        leaves.append(_hlo_single(tokens, "".join(tokens._tokens[start : _closing(tokens, start) + 1])))
        if tokens.next != "}":
            tokens.expect(",")
    tokens.end()
    return tuple(leaves)


def _closing(tokens: Tokens, start: int) -> int:
    depth = 0
    for at in range(start, len(tokens._tokens)):
        depth += (tokens._tokens[at] == "{") - (tokens._tokens[at] == "}")
        if depth == 0:
            return at
    raise ValueError(f"unbalanced braces in '{tokens.text}'")


def _hlo_single(tokens: Tokens, text: str) -> Sharding:
    """What stands between the braces, closing brace included."""
    word = tokens.take()
    if word in _WORDS:
        sharding = Sharding(_WORDS[word], text)
    elif word == "maximal":
        tokens.expect("device")
        tokens.expect("=")
        sharding = maximal(tokens.integer(), text)
    elif word == "maximal_mesh":
        tokens.expect("[")
        tokens.expect("device_id")
        tokens.expect("=")
        sharding = maximal(tokens.integer(), text)
        tokens.expect("]")
    elif word == "devices":
        sharding = _hlo_tiled(tokens, text)
    elif word == "mesh":
        sharding = _hlo_named(tokens, text)
    else:
        raise ValueError(f"unknown sharding '{text}'")
    marked = False
    while not tokens.accept("}"):
        tokens.accept(",")
        if tokens.accept("metadata"):
            tokens.expect("=")
            _skip_braces(tokens)
        elif tokens.next in ("shard_as", "shard_like"):
            tokens.take()
            tokens.integer()
            marked = True
        else:
            raise tokens.unexpected()
    if marked:
        # A shard group asks the partitioner to choose; after propagation it says nothing more, but that is not ours to assume.
        return Sharding(ShardingKind.UNSUPPORTED, text, sharding.tiles, sharding.devices)
    return sharding


_WORDS = {
    "replicated": ShardingKind.REPLICATED,
    "manual": ShardingKind.MANUAL,
    "unreduced": ShardingKind.UNSUPPORTED,
    "unknown": ShardingKind.UNSUPPORTED,
}


def _skip_braces(tokens: Tokens) -> None:
    tokens.expect("{")
    depth = 1
    while depth:
        token = tokens.take()
        if not token:
            raise ValueError(f"unbalanced braces in '{tokens.text}'")
        depth += (token == "{") - (token == "}")


def _hlo_tiled(tokens: Tokens, text: str) -> Sharding:
    tokens.expect("=")
    tokens.expect("[")
    dims = tokens.integers("]")
    if tokens.accept("<="):
        devices = device_order(tokens)
    else:
        listed = [tokens.integer()]
        while tokens.accept(","):
            listed.append(tokens.integer())
        devices = np.array(listed, dtype=np.int64)
    kinds: list[str] = []
    if tokens.accept("last_tile_dim_replicate"):
        kinds = ["replicated"]
    elif tokens.accept("last_tile_dims"):
        tokens.expect("=")
        tokens.expect("{")
        while not tokens.accept("}"):
            kinds.append(tokens.take())
            if tokens.next != "}":
                tokens.expect(",")
    return tiled(dims, devices, kinds, text)


def _hlo_named(tokens: Tokens, text: str) -> Sharding:
    mesh = hlo_mesh(tokens)
    tokens.expect(",")
    if tokens.next in _WORDS:
        return Sharding(_WORDS[tokens.take()], text)
    tokens.expect("[")
    dims: list[list[AxisRef]] = []
    while not tokens.accept("]"):
        tokens.expect("{")
        dims.append(axis_refs(tokens, "}")[0])
        if tokens.next != "]":
            tokens.expect(",")
    marked: list[tuple[str, list[AxisRef]]] = []
    while tokens.next == ",":
        tokens.take()
        if tokens.next == "metadata":
            break
        word = tokens.take()
        tokens.expect("=")
        tokens.expect("{")
        marked.append((word, axis_refs(tokens, "}")[0]))
    return named(mesh, dims, marked, text)


def maximal(device: int, text: str) -> Sharding:
    if device < 0:
        raise ValueError(f"negative device in '{text}'")
    return Sharding(ShardingKind.MAXIMAL, text, (), np.array([device], dtype=np.int64))


def tiled(dims: Sequence[int], devices: np.ndarray, kinds: Sequence[str], text: str) -> Sharding:
    """A tile assignment: `dims` with one trailing dimension for each of the subgroup `kinds`."""
    if not dims or any(size < 1 for size in dims) or len(kinds) > len(dims):
        raise ValueError(f"bad tile counts in '{text}'")
    places = 1
    for size in dims:
        places *= size
    if places != devices.size:
        raise ValueError(f"{places} tiles but {devices.size} devices in '{text}'")
    if np.unique(devices).size != devices.size or devices.min() < 0:
        raise ValueError(f"a device stands twice in '{text}'")
    array = devices.reshape(tuple(dims))
    rank = len(dims) - len(kinds)
    marked = [(kind, rank + k) for k, kind in enumerate(kinds) if kind != "replicated" and dims[rank + k] > 1]
    copies = [rank + k for k in range(len(kinds)) if all(place != rank + k for _, place in marked)]
    order = [*range(rank), *(place for _, place in marked), *copies]
    array = array.transpose(order).reshape(*dims[:rank], *(dims[place] for _, place in marked), -1)
    return _normal(tuple(dims[:rank]), array, tuple(kind for kind, _ in marked), text)


def named(
    mesh: Mesh, dims: Sequence[Sequence[AxisRef]], marked: Sequence[tuple[str, Sequence[AxisRef]]], text: str
) -> Sharding:
    """A sharding by mesh axes; `marked` lists `replicated`, `unreduced` and `manual` axes."""
    if not mesh.axes:
        if mesh.order.size == 1 and not dims:
            return maximal(int(mesh.order[0]), text)
        if any(dims):
            raise ValueError(f"axes of an empty mesh in '{text}'")
        return Sharding(ShardingKind.REPLICATED, text)
    special = [(word, refs) for word, refs in marked if word != "replicated" and refs]
    copies = [ref for word, refs in marked if word == "replicated" for ref in refs]
    counts, array = mesh.split([*dims, *(refs for _, refs in special), copies])
    tiles = counts[: len(dims)]
    array = array.reshape(*counts[: len(dims) + len(special)], -1)
    return _normal(tiles, array, tuple(word for word, refs in special), text)


def _normal(tiles: tuple[int, ...], array: np.ndarray, marked: tuple[str, ...], text: str) -> Sharding:
    if marked:
        if all(word == "manual" for word in marked) and array.shape[-1] == 1 and all(count == 1 for count in tiles):
            return Sharding(ShardingKind.MANUAL, text)
        return Sharding(ShardingKind.UNSUPPORTED, text, tiles, array, marked)
    if all(count == 1 for count in tiles) and array.size > 1:
        return Sharding(ShardingKind.REPLICATED, text)
    return Sharding(ShardingKind.TILED, text, tiles, array)


def parse_sdy_sharding(text: str, meshes: Mapping[str, Mesh]) -> tuple[Sharding, ...] | Sharding:
    """`#sdy.sharding<...>`, its short form `<...>`, or the shardings of a `#sdy.sharding_per_value<[...]>`."""
    if text.startswith("#sdy.sharding_per_value"):
        tokens = Tokens(text[len("#sdy.sharding_per_value") :])
        tokens.expect("<")
        tokens.expect("[")
        shardings: list[Sharding] = []
        while not tokens.accept("]"):
            shardings.append(_sdy_single(tokens, meshes))
            if tokens.next != "]":
                tokens.expect(",")
        tokens.expect(">")
        tokens.end()
        return tuple(shardings)
    tokens = Tokens(text.removeprefix("#sdy.sharding"))
    sharding = _sdy_single(tokens, meshes)
    tokens.end()
    return sharding


def parse_sdy_mesh(text: str) -> Mesh:
    """`#sdy.mesh<["x"=2, "y"=4], device_ids=[...]>` or `mesh<...>` in place."""
    tokens = Tokens(text.removeprefix("#sdy.mesh"))
    mesh = _sdy_mesh(tokens)
    tokens.end()
    return mesh


def _sdy_mesh(tokens: Tokens) -> Mesh:
    tokens.expect("<")
    tokens.expect("[")
    axes: list[tuple[str, int]] = []
    while not tokens.accept("]"):
        name = _quoted(tokens)
        tokens.expect("=")
        axes.append((name, tokens.integer()))
        if tokens.next != "]":
            tokens.expect(",")
    order = None
    if tokens.accept(","):
        tokens.expect("device_ids")
        tokens.expect("=")
        tokens.expect("[")
        order = tokens.integers("]")
    tokens.expect(">")
    return Mesh.of(axes, order if order is not None or axes else [])


def _sdy_single(tokens: Tokens, meshes: Mapping[str, Mesh]) -> Sharding:
    start = tokens._at
    tokens.expect("<")
    if tokens.next.startswith("@"):
        name = tokens.take()[1:].strip('"')
        if name not in meshes:
            raise ValueError(f"unknown mesh '@{name}'")
        mesh = meshes[name]
    else:
        tokens.expect("mesh")
        mesh = _sdy_mesh(tokens)
    tokens.expect(",")
    tokens.expect("[")
    dims: list[list[AxisRef]] = []
    while not tokens.accept("]"):
        tokens.expect("{")
        dims.append(axis_refs(tokens, "}")[0])
        # A priority `p0` orders propagation only.
        if re.fullmatch(r"p\d+", tokens.next):
            tokens.take()
        if tokens.next != "]":
            tokens.expect(",")
    marked: list[tuple[str, list[AxisRef]]] = []
    while tokens.accept(","):
        word = tokens.take()
        if word not in ("replicated", "unreduced"):
            raise ValueError(f"unknown marking '{word}' in '{tokens.text}'")
        tokens.expect("=")
        tokens.expect("{")
        marked.append((word, axis_refs(tokens, "}")[0]))
    tokens.expect(">")
    text = "".join(f"{token} " if token == "," else token for token in tokens._tokens[start : tokens._at])
    if mesh.order.size == 1 and not mesh.axes:
        return maximal(int(mesh.order[0]), text)
    return named(mesh, dims, marked, text)


def _quoted(tokens: Tokens) -> str:
    token = tokens.take()
    if len(token) < 2 or token[0] not in "'\"" or token[-1] != token[0]:
        raise ValueError(f"expected an axis name but found '{token or 'end of text'}' in '{tokens.text}'")
    return token[1:-1]


def parse_group_mesh_axes(text: str, meshes: Mapping[str, Mesh]) -> tuple[Mesh, list[AxisRef]]:
    """`#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x", ...>]>`."""
    tokens = Tokens(text.removeprefix("#stablehlo.replica_group_mesh_axes").replace("#stablehlo.", ""))
    for token in ("<", "mesh", "="):
        tokens.expect(token)
    name = tokens.take()[1:].strip('"')
    if name not in meshes:
        raise ValueError(f"unknown mesh '@{name}'")
    for token in (",", "axes", "=", "["):
        tokens.expect(token)
    refs: list[AxisRef] = []
    while not tokens.accept("]"):
        for token in ("axis_ref", "<", "name", "="):
            tokens.expect(token)
        axis = _quoted(tokens)
        pre, size = 1, None
        if tokens.accept(","):
            for token in ("sub_axis_info", "="):
                tokens.expect(token)
            tokens.accept("sub_axis_info")
            tokens.accept("<")
            tokens.expect("(")
            pre = tokens.integer()
            tokens.expect(")")
            size = tokens.integer()
            tokens.accept(">") if tokens.next == ">" else None
        tokens.accept(">")
        refs.append(AxisRef(axis, pre, size))
        if tokens.next != "]":
            tokens.expect(",")
    tokens.expect(">")
    tokens.end()
    return meshes[name], refs
