"""Manual regions in the form in which Shardy hands them to XLA: a call between two custom calls.

`xla.sdy.GlobalToLocalShape` takes the tensors that enter a region, a call of a function whose name contains
`xla.sdy.manual_computation_body` is the region on each device's part of them, and `xla.sdy.LocalToGlobalShape` takes
its results back. HLO that JAX lowers to has this form, and so have programs that older versions of JAX exported. How
the tensors are cut stands in one of three places: in front-end attributes of the custom calls, in those of the call
(until the spring of 2025), or in HLO shardings (from jax 0.12 on), where a tensor that enters has its sharding from the
op it comes from, and tensors inside name the manual axes. All three are read as the `sdy.manual_computation` that they
were made of.

Source: `sdy_round_trip` in `xla/service/spmd/shardy`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .hlo_sharding import hlo_mesh
from .ir import TensorType
from .sdy_sharding import parse_sdy_mesh
from .shardings import Sharding
from .tiling import AxisRef, Mesh
from .tokens import Tokens, axis_refs

ENTER, LEAVE = "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"
BODY = "xla.sdy.manual_computation_body"

MESHES = "xla.sdy.meshes"
IN_SHARDINGS, OUT_SHARDINGS = "xla.sdy.in_shardings", "xla.sdy.out_shardings"
MANUAL_AXES = "xla.sdy.manual_axes"


def is_body(function: str) -> bool:
    """Whether a function is the body of a manual region; XLA adds to its name in front and behind."""
    return BODY in function


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes that a region makes manual, of which mesh."""

    names: tuple[str, ...]
    mesh: Mesh

    def same(self, other: Axes) -> bool:
        mine, theirs = self.mesh, other.mesh
        named = set(self.names) == set(other.names) and mine.axes == theirs.axes
        return named and np.array_equal(mine.order, theirs.order)


def plain_text(text: str) -> str:
    """The text of an attribute; XLA once wrote the quotes inside of it with a backslash."""
    return text.replace('\\"', '"')


def named_meshes(text: str) -> dict[str, Mesh]:
    """The meshes of a module by name, from `{mesh = #sdy.mesh<["a"=2]>, …}`. Raises ValueError for other text."""
    text = plain_text(text).strip()
    listed = text.removeprefix("{").removesuffix("}")
    found: dict[str, Mesh] = {}
    at = 0
    for entry in _MESH.finditer(listed):
        if listed[at : entry.start()].strip(" ,"):
            break
        found[entry["name"]] = parse_sdy_mesh(entry["mesh"])
        at = entry.end()
    if listed[at:].strip(" ,"):
        raise ValueError(f"unexpected '{listed[at:].strip(' ,')[:40]}' in '{text[:80]}'")
    return found


_MESH = re.compile(r'"?(?P<name>[\w.$-]+)"?\s*=\s*(?P<mesh>#sdy\.mesh<[^>]*>)')


def sdy_axes(axes: str, shardings: str, meshes: Mapping[str, Mesh]) -> Axes:
    """`#sdy<manual_axes{"a"}>` of the mesh that `shardings` name first. Raises ValueError where that is none."""
    axes, shardings = plain_text(axes), plain_text(shardings)
    names = tuple(re.findall(r'"([^"]*)"', axes))
    named = re.search(r'<@"?([\w.$-]+)', shardings)
    inlined = re.search(r"<mesh(<[^>]*>)", shardings)
    if named is not None and named[1] in meshes:
        mesh = meshes[named[1]]
    elif named is None and inlined is not None:
        mesh = parse_sdy_mesh(inlined[1])
    elif not names:
        mesh = Mesh.of([])
    else:
        raise ValueError(f"manual axes '{axes}' of an unknown mesh")
    return _axes(names, mesh)


def hlo_axes(sharding: Sharding) -> Axes:
    """The axes that an HLO sharding by mesh axes marks as manual. Raises ValueError where it is no such sharding."""
    tokens = Tokens(sharding.text)
    tokens.expect("{")
    tokens.expect("mesh")
    mesh = hlo_mesh(tokens)
    tokens.expect(",")
    if tokens.next == "manual":
        return _axes(tuple(name for name, _ in mesh.axes), mesh)
    while tokens.next and not tokens.accept("manual"):
        tokens.take()
    tokens.expect("=")
    tokens.expect("{")
    refs, _ = axis_refs(tokens, "}")
    if any(ref.size is not None for ref in refs):
        raise ValueError(f"manual sub-axes in '{sharding.text}'")
    return _axes(tuple(ref.name for ref in refs), mesh)


def _axes(names: tuple[str, ...], mesh: Mesh) -> Axes:
    known = {name for name, _ in mesh.axes}
    for name in names:
        if name not in known:
            raise ValueError(f"unknown mesh axis '{name}'")
    return Axes(names, mesh)


def check_cut(sharding: Sharding, outside: TensorType, inside: TensorType, axes: Axes) -> None:
    """Raises ValueError unless manual axes cut a tensor as its two shapes say, before any other axis does.

    Shardy demands this of a `sdy.manual_computation`; of the calls nobody else does.
    """
    if not _is_cut(sharding, outside, inside, axes):
        names = ", ".join(f"'{name}'" for name in axes.names) or "none"
        raise ValueError(f"{outside} is not cut into {inside} by sharding '{sharding.text}' with manual axes {names}")


def _is_cut(sharding: Sharding, outside: TensorType, inside: TensorType, axes: Axes) -> bool:
    if outside.dtype is not inside.dtype or outside.rank != inside.rank:
        return False
    if sharding.devices is None:
        # whole on every device, or refused later
        return outside.shape == inside.shape
    if len(sharding.tiles) != outside.rank:
        return False
    _, groups = axes.mesh.split([[AxisRef(name) for name in axes.names]])
    if not np.array_equal(np.sort(groups, axis=None), np.sort(sharding.devices, axis=None)):
        return False
    count = int(np.prod(sharding.tiles, dtype=np.int64))
    numbers = np.unravel_index(np.arange(count), sharding.tiles)
    for tiles, number, whole, part in zip(sharding.tiles, numbers, outside.shape, inside.shape, strict=True):
        if not part:
            if whole:
                return False
            continue
        parts = whole // part
        if whole % part or tiles % parts:
            return False
        mine = np.empty(int(sharding.devices.max()) + 1, np.int64)
        mine[sharding.devices.reshape(count, -1)] = (number // (tiles // parts))[:, None]
        # [place along the manual axes, place along the others]: the part of the dimension that a device has
        found = mine[groups]
        if (found != found[:, :1]).any() or len(np.unique(found[:, 0])) != parts:
            return False
    return True
