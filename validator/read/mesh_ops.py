"""Operations that declare a mesh: Shardy's, and that of the `shardproof` dialect, which loads without Shardy."""

from __future__ import annotations

from typing import Any

from ..compat import ir
from .sdy_sharding import parse_sdy_mesh
from .tiling import Mesh

OWN_MESH = "shardproof.mesh"
MESHES = frozenset({"sdy.mesh", OWN_MESH})


def read_mesh(op: Any) -> tuple[str, Mesh]:
    """The name and the mesh that an operation of `MESHES` declares; raises ValueError for a malformed one."""
    attributes = op.attributes
    for name in ("sym_name", *_LISTS) if op.operation.name == OWN_MESH else ("sym_name", "mesh"):
        if name not in attributes:
            raise ValueError(f"'{op.operation.name}' without '{name}'")
    symbol = attributes["sym_name"]
    if not isinstance(symbol, ir.StringAttr):
        raise ValueError("the name of a mesh is no string")
    if op.operation.name != OWN_MESH:
        return symbol.value, parse_sdy_mesh(str(attributes["mesh"]))
    axes, sizes = attributes["axes"], attributes["sizes"]
    order = attributes.get("device_ids")
    if not isinstance(axes, ir.ArrayAttr) or not all(isinstance(axis, ir.StringAttr) for axis in axes):
        raise ValueError("'axes' is no list of names")
    for name, value in (("sizes", sizes), ("device_ids", order)):
        if value is not None and not isinstance(value, ir.DenseI64ArrayAttr):
            raise ValueError(f"'{name}' is no 'array<i64: …>'")
    names = [ir.StringAttr(axis).value for axis in axes]
    if len(names) != len(sizes):
        raise ValueError(f"{len(names)} axes with {len(sizes)} sizes")
    return symbol.value, Mesh.of(list(zip(names, list(sizes), strict=True)), None if order is None else list(order))


_LISTS = ("axes", "sizes")
