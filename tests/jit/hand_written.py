"""`shard_map` programs as people write them, each against the program for one device and with a broken twin.

One function a program: `broken` is the one mistake that the twin makes. Four devices, axis d, unless a mesh is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

DEVICES = 4

Struct = jax.ShapeDtypeStruct


@dataclass(frozen=True, slots=True)
class Program:
    """What it shall compute, what each device does, how its arguments and results are cut, and what they are.

    Of a program with `gradients` the gradients of the sum of squares by these arguments are compared instead. What it
    may `assume` is that indices are in bounds.
    """

    reference: Callable[..., Any]
    sharded: Callable[..., Any]
    into: Any
    out: Any
    arguments: tuple[Any, ...]
    theory: str = "reassociated"
    gradients: tuple[int, ...] = ()
    assume: tuple[str, ...] = ()

    def functions(self, *, broken: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """(the reference, the program of all devices or its broken twin), as functions of whole arrays."""
        mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("d",))
        function = partial(self.sharded, broken=True) if broken else self.sharded
        # only with the check does JAX know what a sum over devices is the gradient of
        checked = bool(self.gradients) and not broken
        whole = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=self.into, out_specs=self.out, check_vma=checked))
        if not self.gradients:
            return self.reference, whole
        return self._differentiated(self.reference), self._differentiated(whole)

    def _differentiated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(jax.grad(lambda *arguments: (function(*arguments) ** 2).sum(), self.gradients))


def floats(*shape: int) -> Struct:
    return Struct(shape, "float32")


def integers(*shape: int) -> Struct:
    return Struct(shape, "int32")


ROWS, WHOLE = P("d"), P()
