"""Shardings and meshes in XLA's spellings: tile assignments (V1, V2 iota) and named meshes.

Text that is not understood raises ValueError, and so does what XLA's own parser would answer with a failed assertion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .sharding_forms import maximal, named, tiled
from .shardings import REDUCERS, Sharding, ShardingKind, unreduced_marking
from .tiling import AxisRef, Mesh
from .tokens import Tokens, axis_refs, device_order, mesh_axes


def hlo_mesh(tokens: Tokens) -> Mesh:
    """`['x'=2,'y'=4]` and an optional `, device_ids=(...)`, after the word `mesh`."""
    axes = mesh_axes(tokens)
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
            if order.tolist() == list(range(order.size)):
                # XLA's parser asserts that the plain order is not spelled out.
                raise ValueError(f"device_ids list the plain order in '{tokens.text}'")
    else:
        tokens.rewind(mark)
    return Mesh.of(axes, order)


_MADE_UP = re.compile(r"axis_\d+")
"""What XLA calls an axis that nobody has named."""


def named_in(shardings: Iterable[Sharding]) -> list[Mesh]:
    """The meshes that HLO shardings are written in, each once; those without any name of the user's left out."""
    found: dict[str, Mesh] = {}
    for sharding in shardings:
        written = _WRITTEN_MESH.match(sharding.text)
        if written is not None and written[0] not in found:
            tokens = Tokens(sharding.text)
            tokens.expect("{")
            tokens.expect("mesh")
            try:
                found[written[0]] = hlo_mesh(tokens)
            except ValueError:
                # a sharding that was not understood names no mesh
                continue
    return [mesh for mesh in found.values() if not all(_MADE_UP.fullmatch(name) for name, _ in mesh.axes)]


_WRITTEN_MESH = re.compile(r"\{mesh\[[^\]]*\](?:, *device_ids=\([^)]*\)(?:[^)\[]*\))?)?")


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
        return _whole(word, text)
    if word == "devices":
        return _hlo_tiled(tokens, text)
    if word == "mesh":
        return _hlo_named(tokens, text)
    if word == "maximal":
        tokens.expect("device")
        tokens.expect("=")
        return maximal(tokens.integer(), text)
    if word in ("maximal_mesh", "single_device"):
        for token in ("[", "device_id", "="):
            tokens.expect(token)
        sharding = maximal(tokens.integer(), text)
        tokens.expect("]")
        return sharding
    raise ValueError(f"unknown sharding '{text}'")


def _whole(word: str, text: str) -> Sharding:
    """One word for all devices; `unreduced` tells no devices of its own: they are those of the program."""
    return Sharding(_WORDS[word], text, marked=(word,) if word in REDUCERS else ())


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
        return _whole(word, text)
    tokens.expect("[")
    dims: list[list[AxisRef]] = []
    opened: list[bool] = []
    while not tokens.accept("]"):
        tokens.expect("{")
        refs, is_open = axis_refs(tokens, "}")
        dims.append(refs)
        opened.append(is_open)
        if tokens.next != "]":
            tokens.expect(",")
    marked: list[tuple[str, list[AxisRef]]] = []
    while tokens.next == ",":
        tokens.take()
        if tokens.next == "metadata":
            break
        word = tokens.take()
        tokens.expect("=")
        if word not in ("replicated", "unreduced", "manual"):
            raise ValueError(f"unknown marking '{word}' in '{text}'")
        if word == "unreduced":
            word = unreduced_marking("" if tokens.next == "{" else tokens.take())
        tokens.expect("{")
        marked.append((word, axis_refs(tokens, "}")[0]))
    _check_canonical(mesh, dims, marked, text)
    return named(mesh, dims, marked, text, opened)


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
