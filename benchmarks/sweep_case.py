"""One program of the sweep: a function, its arguments, a mesh, and how arguments and results are cut."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MESHES: dict[str, tuple[tuple[tuple[str, int], ...], tuple[int, ...]]] = {
    "2": ((("x", 2),), ()),
    "3": ((("x", 3),), ()),
    "4": ((("x", 4),), ()),
    "4p": ((("x", 4),), (2, 0, 3, 1)),
    "6": ((("x", 6),), ()),
    "2x2": ((("x", 2), ("y", 2)), ()),
    "2x3": ((("x", 2), ("y", 3)), ()),
    "2x4": ((("x", 2), ("y", 4)), ()),
    "2x4p": ((("x", 2), ("y", 4)), (3, 1, 0, 2, 7, 4, 6, 5)),
}
"""Axes, and the order of devices where it is not the natural one."""

_AXES: dict[str, Any] = {".": None, "x": "x", "y": "y", "j": ("x", "y"), "k": ("y", "x")}

Shaped = tuple[tuple[int, ...], str]
"""A shape and a dtype."""


@dataclass(frozen=True, slots=True)
class Case:
    """Cuts are written one letter a dimension: `.` whole, `x` or `y` an axis, `j` and `k` both, either one major."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Shaped, ...]
    into: tuple[str, ...]
    out: str
    """The cut of every result; a result of another rank is left whole."""
    mesh: str

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def lower(self, devices: Sequence[Any] | None = None) -> jax.stages.Lowered:
        """Traced and lowered for these devices, or for those that there are.

        What does not divide evenly cannot be cut at the border, so it is cut inside.
        """
        axes, order = MESHES[self.mesh]
        extents = dict(axes)
        devices = devices or jax.devices()
        count = int(np.prod([extent for _, extent in axes]))
        grid = np.array([devices[number] for number in order or range(count)])
        mesh = Mesh(grid.reshape([extent for _, extent in axes]), tuple(name for name, _ in axes))

        def sharding(cut: str) -> NamedSharding:
            return NamedSharding(mesh, P(*(_AXES[letter] for letter in cut)))

        def even(shape: Sequence[int], cut: str) -> bool:
            parts = [{"j": count, "k": count, ".": 1}.get(letter) or extents[letter] for letter in cut]
            return all(size % part == 0 for size, part in zip(shape, parts, strict=True))

        into = [cut if even(shape, cut) else "" for (shape, _), cut in zip(self.arguments, self.into, strict=True)]
        results = jax.eval_shape(self.function, *self.structs())
        wanted = jax.tree.map(
            lambda one: self.out if len(one.shape) == len(self.out) else "." * len(one.shape), results
        )
        outer = jax.tree.map(lambda one, cut: sharding(cut if even(one.shape, cut) else ""), results, wanted)

        def cut_inside(*arguments: Any) -> Any:
            arguments = tuple(
                argument if cut == border else lax.with_sharding_constraint(argument, sharding(cut))
                for argument, cut, border in zip(arguments, self.into, into, strict=True)
            )
            return jax.tree.map(
                lambda one, cut: one if even(one.shape, cut) else lax.with_sharding_constraint(one, sharding(cut)),
                self.function(*arguments),
                wanted,
            )

        borders = tuple(map(sharding, into))
        jitted = jax.jit(cut_inside, in_shardings=borders, out_shardings=outer, keep_unused=True)
        return jitted.lower(*self.structs())

    def structs(self) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self.arguments]

    def inputs(self, seed: int) -> list[np.ndarray]:
        """Random arguments; integers also lie somewhat outside every dimension, on both sides."""
        generator = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        return [_random(generator, shape, dtype) for shape, dtype in self.arguments]


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    kind = jax.numpy.dtype(dtype)
    if kind.kind == "b":
        return generator.random(shape) < 0.6
    if kind.kind in "iu":
        return generator.integers(0 if kind.kind == "u" else -9, 19, shape).astype(kind)
    if kind.kind == "c":
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(kind)
    # Few distinct values, so that what breaks ties shows, and all exact in every type.
    return (generator.integers(-12, 13, shape) / 4).astype(kind)


def cases(
    name: str,
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    cuts: Sequence[str],
    meshes: str = "2 4",
) -> Iterator[Case]:
    """The cases of one function: every cut on every mesh.

    An argument is a shape, or a shape and a dtype other than float32. A cut is "first,second->result".
    """
    shaped = tuple(
        (one[0], one[1]) if one and isinstance(one[0], tuple) else (tuple(one), "float32") for one in arguments
    )
    for mesh in meshes.split():
        for cut in cuts:
            into, out = cut.split("->")
            yield Case(f"{name}/{cut}/{mesh}", function, shaped, tuple(into.split(",")), out, mesh)


def thinned(found: Iterator[Case], keep: int) -> Iterator[Case]:
    """About one in `keep` of the cases, always the same ones."""
    return (case for case in found if zlib.crc32(case.name.encode()) % keep == 0)
