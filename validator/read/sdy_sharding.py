"""Shardings, meshes and mesh replica groups in Shardy's and StableHLO's attribute syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .sharding_forms import maximal, named
from .shardings import Sharding, unreduced_marking
from .tiling import AxisRef, Mesh
from .tokens import Tokens, axis_name, axis_refs, mesh_axes


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
    axes = mesh_axes(tokens)
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
    opened: list[bool] = []
    while not tokens.accept("]"):
        tokens.expect("{")
        refs, is_open = axis_refs(tokens, "}")
        dims.append(refs)
        opened.append(is_open)
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
        if word == "unreduced":
            word = unreduced_marking("" if tokens.next == "{" else tokens.take())
        tokens.expect("{")
        marked.append((word, axis_refs(tokens, "}")[0]))
    tokens.expect(">")
    text = tokens.since(start)
    if mesh.order.size == 1 and not mesh.axes:
        return maximal(int(mesh.order[0]), text)
    return named(mesh, dims, marked, text, opened)


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
        axis = axis_name(tokens)
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
