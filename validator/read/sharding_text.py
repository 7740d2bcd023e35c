"""Shardings from text: XLA's own spellings (V1, V2 iota, named meshes) and Shardy's attribute syntax.

Both grammars come down to a mesh or device order, axes or tile counts for each dimension, and markings for the rest.
A marking that is understood but not modelled gives an UNSUPPORTED sharding with its structure kept; text that is not
understood raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .shardings import Sharding, ShardingKind
from .tiling import MAX_DEVICES, AxisRef, Mesh, iota

_TOKEN = re.compile(
    r"""\s+|/\*.*?\*/|(?P<token><=|'[^']*'|"(?:[^"\\]|\\.)*"|-?\d+|@"[^"]*"|[@A-Za-z_][\w.$-]*|.)""", re.S
)


class Tokens:
    """The tokens of one text, comments and blanks dropped, with the few moves a hand-written parser needs."""

    def __init__(self, text: str) -> None:
        self.text = text
        matches = [match for match in _TOKEN.finditer(text) if match["token"] is not None]
        self._tokens = [match["token"] for match in matches]
        self._spans = [match.span() for match in matches]
        self._at = 0

    @property
    def position(self) -> int:
        return self._at

    def rewind(self, position: int) -> None:
        self._at = position

    def since(self, position: int) -> str:
        """The text of the tokens taken since a position."""
        return self.text[self._spans[position][0] : self._spans[self._at - 1][1]]

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
    mark = tokens.position
    if tokens.accept(",") and tokens.accept("device_ids"):
        tokens.expect("=")
        tokens.expect("(")
        if tokens.next == "[":
            order = device_order(tokens)
            tokens.expect(")")
        else:
            order = np.array(tokens.integers(")"), dtype=np.int64)
    else:
        tokens.rewind(mark)
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
        tokens.expect("{")
        leaves.append(_hlo_single(tokens, None))
        if tokens.next != "}":
            tokens.expect(",")
    tokens.end()
    return tuple(leaves)


def _hlo_single(tokens: Tokens, text: str | None) -> Sharding:
    """What stands between the braces, closing brace included; a leaf of a tuple has no text of its own yet."""
    start = tokens.position
    sharding = _hlo_body(tokens)
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
    if text is None:
        text = "{" + tokens.since(start)
    # A shard group asks the partitioner to choose alike; what it chose is not known here.
    kind = ShardingKind.UNSUPPORTED if marked else sharding.kind
    return replace(sharding, kind=kind, text=text)


def _hlo_body(tokens: Tokens) -> Sharding:
    text = tokens.text
    word = tokens.take()
    if word in _WORDS:
        return Sharding(_WORDS[word], text)
    if word == "devices":
        return _hlo_tiled(tokens, text)
    if word == "mesh":
        return _hlo_named(tokens, text)
    if word == "maximal":
        tokens.expect("device")
        tokens.expect("=")
        return maximal(tokens.integer(), text)
    if word == "maximal_mesh":
        for token in ("[", "device_id", "="):
            tokens.expect(token)
        sharding = maximal(tokens.integer(), text)
        tokens.expect("]")
        return sharding
    raise ValueError(f"unknown sharding '{text}'")


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
            if tokens.next not in ("manual", "replicated", "unreduced"):
                raise tokens.unexpected()
            kinds.append(tokens.take())
            if tokens.next != "}":
                tokens.expect(",")
    return tiled(dims, devices, kinds, text)


def _hlo_named(tokens: Tokens, text: str) -> Sharding:
    mesh = hlo_mesh(tokens)
    tokens.expect(",")
    if tokens.next in _WORDS:
        word = tokens.take()
        if word != "replicated" and not mesh.axes:
            raise ValueError(f"'{word}' needs a mesh with axes in '{text}'")
        return Sharding(_WORDS[word], text)
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
        if word not in ("replicated", "unreduced", "manual"):
            raise ValueError(f"unknown marking '{word}' in '{text}'")
        marked.append((word, axis_refs(tokens, "}")[0]))
    _check_canonical(mesh, dims, marked, text)
    return named(mesh, dims, marked, text)


def _check_canonical(
    mesh: Mesh, dims: Sequence[Sequence[AxisRef]], marked: Sequence[tuple[str, Sequence[AxisRef]]], text: str
) -> None:
    """What XLA's own parser asserts of named shardings, where a violation would end the process."""
    place = {name: k for k, (name, _) in enumerate(mesh.axes)}
    sizes = dict(mesh.axes)
    if not mesh.axes:
        raise ValueError(f"axes of an empty mesh in '{text}'")
    for refs in [*dims, *(refs for _, refs in marked)]:
        for ref in refs:
            if ref.name not in sizes:
                raise ValueError(f"unknown mesh axis '{ref.name}' in '{text}'")
            if ref.size is not None and not 1 < ref.size < sizes[ref.name]:
                raise ValueError(f"bad sub-axis {ref} in '{text}'")
        for first, second in pairwise(refs):
            if first.name == second.name and first.size is not None and first.pre * first.size == second.pre:
                raise ValueError(f"neighbouring sub-axes {first}, {second} are one sub-axis in '{text}'")
    for word, refs in marked:
        keys = [(place[ref.name], ref.pre) for ref in refs]
        if keys != sorted(keys):
            raise ValueError(f"{word} axes are not in mesh order in '{text}'")
    if sorted(mesh.order.tolist()) != list(range(mesh.order.size)):
        raise ValueError(f"device_ids are not a permutation in '{text}'")


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
    start = tokens.position
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
    text = tokens.since(start)
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
            tokens.expect("(")
            pre = tokens.integer()
            tokens.expect(")")
            size = tokens.integer()
        tokens.expect(">")
        refs.append(AxisRef(axis, pre, size))
        if tokens.next != "]":
            tokens.expect(",")
    tokens.expect(">")
    tokens.end()
    return meshes[name], refs
