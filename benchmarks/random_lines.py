"""A random function in the making: its arguments and values, and the lines that are written so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

_EXTENTS = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 12)
_FLOATS = ("float32", "float32", "float32", "bfloat16", "float16")
_DTYPES = (*_FLOATS, *_FLOATS, "int32", "int32", "uint8", "int8", "uint32", "bool")
_LARGEST = 4096
"""Elements of a value."""


@dataclass(frozen=True, slots=True)
class Value:
    """A name in the program, and what it holds."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in _FLOATS


def define(function: str, mesh: Mesh) -> Callable[..., Any]:
    """The function `f` of a text."""

    def cut(value: Any, spec: Any) -> Any:
        return lax.with_sharding_constraint(value, NamedSharding(mesh, spec))

    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "P": P, "mesh": mesh, "cut": cut}
    exec(function, scope)
    return scope["f"]


Step = Callable[["Lines"], "str | None"]
"""Writes the expression of one more value; None where no value fits."""


class Lines:
    """A function in the making: its lines, and the values that there are."""

    def __init__(
        self, rng: random.Random, axes: tuple[tuple[str, int], ...], order: tuple[int, ...], steps: Sequence[Step]
    ) -> None:
        self.rng, self.axes, self.order, self.steps = rng, axes, order, steps
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.arguments: list[Value] = []

    def argument(self, dtype: str | None = None, rank: int | None = None) -> Value:
        """One more argument of the function."""
        rank = self.rng.choice((1, 1, 2, 2, 2, 3)) if rank is None else rank
        shape = tuple(self.rng.choice(_EXTENTS) for _ in range(rank))
        value = Value("abcd"[len(self.arguments)], shape, dtype or self.rng.choice(_DTYPES))
        self.arguments.append(value)
        self.values.append(value)
        return value

    def spec(self, shape: Sequence[int], even: bool) -> str:
        """The text of a spec with axes on some of the dimensions; `even` takes only what divides them."""
        free = list(self.axes)
        self.rng.shuffle(free)
        entries: list[list[str]] = [[] for _ in shape]
        for name, extent in free:
            if not shape or self.rng.random() < 0.3:
                continue
            at = self.rng.randrange(len(shape))
            parts = extent * int(np.prod([dict(self.axes)[other] for other in entries[at]]))
            if not even or shape[at] % parts == 0:
                entries[at].append(name)
        told = [repr(tuple(names)) if len(names) > 1 else repr(names[0]) if names else "None" for names in entries]
        return f"P({', '.join(told)})"

    def pick(self, wanted: Callable[[Value], bool]) -> Value | None:
        """One of the last values that fit."""
        fitting = [value for value in self.values if wanted(value)]
        return self.rng.choice(fitting[-4:]) if fitting else None

    def array(self, *dtypes: str) -> Value | None:
        """One with dimensions, of one of the types where any are told."""
        return self.pick(lambda one: bool(one.shape) and (not dtypes or one.dtype in dtypes))

    def axis(self, value: Value) -> int:
        """One of its dimensions."""
        return self.rng.randrange(len(value.shape))

    def step(self) -> None:
        """One more value, by an operation that fits one of those there are."""
        for _ in range(20):
            expression = self.rng.choice(self.steps)(self)
            if expression and self._let(expression):
                return

    def _let(self, expression: str) -> bool:
        """A line for one more value, unless JAX does not take it or it gets large."""
        given = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in self.values]
        names = ", ".join(value.name for value in self.values)
        grid = np.array(jax.devices()[: len(self.order)]).reshape([extent for _, extent in self.axes])
        mesh = Mesh(grid, tuple(name for name, _ in self.axes))
        try:
            found = jax.eval_shape(define(f"def f({names}): return {expression}", mesh), *given)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            return False
        if not 0 < found.size <= _LARGEST:
            return False
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        self.values.append(Value(name, found.shape, str(found.dtype)))
        return True
