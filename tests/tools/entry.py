"""What an entry of the zoo is: a JAX function, its arguments with their shardings, a mesh, and what is expected."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@dataclass(frozen=True, slots=True)
class MeshPlan:
    """A mesh over the first devices, or over devices in a told order."""

    axes: tuple[tuple[str, int], ...]
    order: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        size = 1
        for _, extent in self.axes:
            size *= extent
        return size

    def build(self, devices: Sequence[Any] | None = None) -> Mesh:
        """The mesh, of these devices or those that there are; fewer than it needs is an error that says what to set."""
        devices = devices or jax.devices()
        if len(devices) < self.size:
            raise RuntimeError(
                f"mesh needs {self.size} devices, there are {len(devices)}: "
                "set XLA_FLAGS=--xla_force_host_platform_device_count=8 before jax starts"
            )
        order = self.order or tuple(range(self.size))
        grid = np.array([devices[number] for number in order]).reshape([extent for _, extent in self.axes])
        return Mesh(grid, tuple(name for name, _ in self.axes))


M24 = MeshPlan((("x", 2), ("y", 4)))
M42 = MeshPlan((("x", 4), ("y", 2)))
M8 = MeshPlan((("x", 8),))
M222 = MeshPlan((("x", 2), ("y", 2), ("z", 2)))
M3 = MeshPlan((("x", 3),))
M6 = MeshPlan((("x", 6),))
M23 = MeshPlan((("x", 2), ("y", 3)))
M2 = MeshPlan((("x", 2),))
M24_PERMUTED = MeshPlan((("x", 2), ("y", 4)), (3, 1, 0, 2, 7, 4, 6, 5))
M42_PERMUTED = MeshPlan((("x", 4), ("y", 2)), (0, 4, 1, 5, 2, 6, 3, 7))


class Stage(enum.Enum):
    """The part of XLA that a known miscompile is in."""

    PARTITIONER = "partitioner"
    LATER = "later"
    """The modules around the partitioner agree; a pass after it goes wrong."""


class Expectation(enum.Enum):
    """What the module after partitioning is, as far as is known."""

    AGREES = "agrees"
    MISCOMPILED = "miscompiled"
    UNKNOWN = "unknown"
    """Computes at a run-time start or index: some compiler versions treat values out of range otherwise."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One array argument."""

    shape: tuple[int, ...]
    spec: P
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Entry:
    """One program of the zoo."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    results: Any = None
    """A spec, a tuple of specs as the function's results are nested, or None where the compiler chooses."""
    mesh: MeshPlan = M24
    expectation: Expectation = Expectation.AGREES
    miscompiled_in: Mapping[str, bool] = field(default_factory=dict)
    """For a known miscompile: whether the jax version of this prefix has it."""
    stage: Stage = Stage.PARTITIONER
    """Where that miscompile is."""

    @property
    def runs_wrongly(self) -> bool | None:
        """Whether the compiled program is known to compute something else in the running jax version."""
        for prefix, wrong in self.miscompiled_in.items():
            if jax.__version__.startswith(prefix):
                return wrong
        return None

    @property
    def expected(self) -> Expectation:
        """The expectation for the pair of modules around the partitioner, in the running jax version."""
        if self.runs_wrongly is None:
            return self.expectation
        partitioned_wrongly = self.runs_wrongly and self.stage is Stage.PARTITIONER
        return Expectation.MISCOMPILED if partitioned_wrongly else Expectation.AGREES

    def jitted(self, devices: Sequence[Any] | None = None) -> Any:
        """The sharded function."""
        mesh = self.mesh.build(devices)
        shardings = tuple(NamedSharding(mesh, argument.spec) for argument in self.arguments)
        options: dict[str, Any] = {"in_shardings": shardings}
        if self.results is not None:
            options["out_shardings"] = jax.tree.map(
                lambda spec: NamedSharding(mesh, spec), self.results, is_leaf=lambda leaf: isinstance(leaf, P)
            )
        return jax.jit(self.function, **options)

    def in_mesh(self, devices: Sequence[Any] | None = None) -> contextlib.AbstractContextManager[Any]:
        """The context that tracing needs: the mesh, for a function that names its axes."""
        return jax.set_mesh(self.mesh.build(devices)) if self.names_axes else contextlib.nullcontext()

    @property
    def names_axes(self) -> bool:
        """Whether the function itself names mesh axes, so that it cannot run without them."""
        return getattr(self.function, "wants_mesh", False)

    def lower(self, devices: Sequence[Any] | None = None) -> jax.stages.Lowered:
        """The traced and lowered program, for these devices or those that there are."""
        structs = [jax.ShapeDtypeStruct(argument.shape, argument.dtype) for argument in self.arguments]
        with self.in_mesh(devices):
            return self.jitted(devices).lower(*structs)


def with_mesh(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that names mesh axes itself, as `shard_map` and sharding constraints do."""
    function.wants_mesh = True  # type: ignore[attr-defined]
    return function


def entry(
    name: str,
    function: Callable[..., Any],
    arguments: list[tuple[Any, ...]],
    results: Any = None,
    mesh: MeshPlan = M24,
    **more: Any,
) -> Entry:
    """An entry from short notation: arguments as (shape, spec) or (shape, spec, dtype)."""
    return Entry(name, function, tuple(Argument(*argument) for argument in arguments), results, mesh, **more)
