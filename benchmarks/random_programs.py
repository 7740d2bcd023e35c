"""Random JAX programs as text: what they compute, on which mesh, and how arguments, values and results are cut.

All choices come from one random generator, so that a number, or what hypothesis draws, gives the same program each
time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from .random_lines import Lines, Value, define
from .random_steps import STEPS

_MESHES: tuple[tuple[tuple[str, int], ...], ...] = (
    (("x", 2),),
    (("x", 3),),
    (("x", 4),),
    (("x", 8),),
    (("x", 2), ("y", 2)),
    (("x", 2), ("y", 3)),
    (("x", 2), ("y", 4)),
    (("x", 4), ("y", 2)),
    (("x", 2), ("y", 2), ("z", 2)),
)
_LARGEST = 512
"""Elements of a device's value in a `shard_map`."""


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A program as text. `function` defines `f`, of arrays; specs are texts of `PartitionSpec`s."""

    kind: str
    function: str
    arguments: tuple[tuple[tuple[int, ...], str], ...]
    """Shapes and dtypes."""
    into: tuple[str, ...]
    out: tuple[str, ...] | None
    """None leaves the results' shardings to the compiler."""
    axes: tuple[tuple[str, int], ...]
    order: tuple[int, ...]
    """The devices' numbers in the order of the mesh."""

    def mesh(self) -> Mesh:
        devices = np.array([jax.devices()[number] for number in self.order])
        return Mesh(devices.reshape([extent for _, extent in self.axes]), tuple(name for name, _ in self.axes))

    def build(self) -> Callable[..., Any]:
        """The function, not yet jitted."""
        return define(self.function, self.mesh())

    def structs(self) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in self.arguments]

    def jitted(self) -> Any:
        """The sharded program."""
        mesh = self.mesh()
        borders = tuple(NamedSharding(mesh, _spec(text)) for text in self.into)
        outer: dict[str, Any] = {}
        if self.out is not None:
            outer["out_shardings"] = tuple(NamedSharding(mesh, _spec(text)) for text in self.out)
        return jax.jit(self.build(), in_shardings=borders, keep_unused=True, **outer)

    def text(self) -> str:
        """Enough to write the program down in a report."""
        mesh = ", ".join(f"{name}={extent}" for name, extent in self.axes)
        given = zip(self.arguments, self.into, strict=True)
        shapes = ", ".join(f"{dtype}{list(shape)} {spec}" for (shape, dtype), spec in given)
        return f"{self.function}\nmesh {mesh} over {list(self.order)}; {shapes} -> {self.out}"


def _spec(text: str) -> Any:
    return eval(text, {"P": P})


def draw(rng: random.Random, kind: str | None = None) -> RandomProgram:
    """A program of a kind, or of any."""
    axes = rng.choice(_MESHES)
    order = list(range(int(np.prod([extent for _, extent in axes]))))
    if rng.random() < 0.25:
        rng.shuffle(order)
    kind = kind or rng.choice(_MIXTURE)
    return _MAKERS[kind](Lines(rng, axes, tuple(order), STEPS), kind)


def _finished(made: Lines, kind: str, results: Sequence[Value], function: str) -> RandomProgram:
    """With shardings at the border, which have to divide what they cut."""
    out = tuple(made.spec(value.shape, True) for value in results) if made.rng.random() < 0.8 else None
    return RandomProgram(
        kind,
        function,
        tuple((value.shape, value.dtype) for value in made.arguments),
        tuple(made.spec(value.shape, True) for value in made.arguments),
        out,
        made.axes,
        made.order,
    )


def _names(made: Lines) -> str:
    return ", ".join(value.name for value in made.arguments)


def _indented(lines: Sequence[str], depth: int) -> str:
    return "".join(f"{'    ' * depth}{line}\n" for line in lines)


def _plain(made: Lines, kind: str) -> RandomProgram:
    """Values one after the other; the last one is a result."""
    rng = made.rng
    for _ in range(rng.choice((1, 2, 2, 3))):
        made.argument()
    if rng.random() < 0.4:
        made.argument("int32", rng.choice((0, 1)))
    for _ in range(rng.randrange(2, 7)):
        made.step()
    results = [made.values[-1], *rng.sample(made.values[:-1], min(rng.choice((0, 0, 1)), len(made.values) - 1))]
    returned = "".join(f"{value.name}, " for value in results)
    return _finished(made, kind, results, f"def f({_names(made)}):\n{_indented(made.lines, 1)}    return ({returned})")


def _gradient(made: Lines, kind: str) -> RandomProgram:
    """The gradient of a random program's last value, squared and summed, by its first argument."""
    first = made.argument("float32")
    for _ in range(made.rng.choice((0, 1, 1, 2))):
        made.argument(made.rng.choice(("float32", "float32", "int32")))
    for _ in range(made.rng.randrange(2, 6)):
        made.step()
    last = made.pick(lambda one: one.dtype == "float32") or first
    function = (
        f"def f({_names(made)}):\n"
        f"    def loss({_names(made)}):\n"
        f"{_indented(made.lines, 2)}"
        f"        return jnp.sum({last.name} * {last.name})\n"
        f"    return (jax.grad(loss)({_names(made)}),)"
    )
    return _finished(made, kind, [first], function)


def _manual(made: Lines, kind: str) -> RandomProgram:
    """A `shard_map` whose body exchanges data, over the whole mesh, with its result cut over every axis."""
    rng, sizes = made.rng, dict(made.axes)
    for _ in range(rng.choice((1, 2))):
        made.argument(rng.choice(("float32", "float32", "int32")), rng.choice((1, 2, 2)))
    specs = [made.spec(value.shape, True) for value in made.arguments]
    local = [_local(value, spec, sizes) for value, spec in zip(made.arguments, specs, strict=True)]
    lines: list[str] = []
    for _ in range(rng.randrange(2, 6)):
        value = rng.choice(local[-3:])
        expression, shape = _exchange(rng, value, sizes)
        local.append(Value(f"v{len(lines)}", shape, value.dtype))
        lines.append(f"{local[-1].name} = {expression}")
    last = local[-1]
    told = f"P({tuple(sizes)!r}{', None' * (len(last.shape) - 1)})"
    wrapped = f"jax.shard_map(part, mesh=mesh, in_specs=({', '.join(specs)},), out_specs={told}, check_vma=False)"
    function = (
        f"def f({_names(made)}):\n"
        f"    def part({_names(made)}):\n"
        f"{_indented(lines, 2)}"
        f"        return {last.name}\n"
        f"    return ({wrapped}({_names(made)}),)"
    )
    whole = (last.shape[0] * int(np.prod(list(sizes.values()))), *last.shape[1:])
    return _finished(made, kind, [Value("result", whole, last.dtype)], function)


def _local(value: Value, spec: str, sizes: dict[str, int]) -> Value:
    """What a device has of an argument."""
    cuts = [(one,) if isinstance(one, str) else one or () for one in _spec(spec)]
    parts = [int(np.prod([sizes[name] for name in cut])) for cut in cuts]
    return Value(value.name, tuple(n // part for n, part in zip(value.shape, parts, strict=True)), value.dtype)


def _exchange(rng: random.Random, value: Value, sizes: dict[str, int]) -> tuple[str, tuple[int, ...]]:
    """An expression of a local value and its shape."""
    axis, size = rng.choice(list(sizes.items()))
    dim = rng.randrange(len(value.shape))
    name, shape = value.name, value.shape
    gathered = (*shape[:dim], shape[dim] * size, *shape[dim + 1 :])
    scattered = (*shape[:dim], shape[dim] // size, *shape[dim + 1 :])
    over = repr(tuple(rng.sample(list(sizes), rng.randrange(1, len(sizes) + 1))))
    shift = rng.choice((1, -1))
    pairs = [(k, (k + shift) % size) for k in range(size)]
    if rng.random() < 0.3:
        del pairs[rng.randrange(size)]
    options = [
        (f"lax.psum({name}, {over})", shape),
        (f"lax.pmax({name}, {axis!r})", shape),
        (f"lax.ppermute({name}, {axis!r}, {pairs})", shape),
        (f"lax.all_gather({name}, {axis!r}, axis={dim}, tiled=True)", gathered),
        (f"{name} + lax.axis_index({axis!r}).astype({name}.dtype)", shape),
        (f"{name} * {name} - 1", shape),
        (f"lax.rev({name}, [{dim}])", shape),
        (f"jnp.cumsum({name}, axis={dim}, dtype={name}.dtype)", shape),
        (f"jnp.where(lax.axis_index({axis!r}) == {rng.randrange(size)}, {name}, 0)", shape),
        (f"lax.broadcasted_iota({name}.dtype, {shape}, {dim}) + {name}", shape),
        (f"lax.fori_loop(0, {size}, lambda i, c: lax.ppermute(c, {axis!r}, {pairs}) + {name}, {name})", shape),
        (f"lax.scan(lambda c, r: (c + lax.psum(r, {axis!r}), c), {name}[0] * 0, {name})[1]", shape),
        (f"lax.cond(lax.axis_index({axis!r}) == 0, lambda v: v + 1, lambda v: v * 2, {name})", shape),
    ]
    if len(shape) == 2:
        options.append((f"jnp.einsum('ij,kj->ik', {name}, lax.pmin({name}, {axis!r}))", (shape[0], shape[0])))
    if shape[dim] % size == 0:
        other = rng.randrange(len(shape))
        exchanged = list(scattered)
        exchanged[other] *= size
        start = f"lax.axis_index({axis!r}) * {scattered[dim]}"
        options += [
            (f"lax.psum_scatter({name}, {axis!r}, scatter_dimension={dim}, tiled=True)", scattered),
            (f"lax.all_to_all({name}, {axis!r}, {dim}, {other}, tiled=True)", tuple(exchanged)),
            (f"lax.dynamic_slice_in_dim({name}, {start}, {scattered[dim]}, {dim})", scattered),
        ]
    if value.dtype == "float32":
        options += [(f"jnp.tanh({name})", shape), (f"lax.pmean({name} * 2, {axis!r})", shape)]
        options.append((f"lax.psum({name} / {size}, {axis!r})", shape))
    return rng.choice([option for option in options if 0 < int(np.prod(option[1])) <= _LARGEST])


_MAKERS = {"jit": _plain, "grad": _gradient, "shard_map": _manual}
_MIXTURE = ("jit", "jit", "jit", "grad", "shard_map")
KINDS = tuple(_MAKERS)
