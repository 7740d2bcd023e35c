"""Relations given by hand, as tables of positions, and the layouts that a pair of programs has with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..read.ir import Program
from ..read.relations import Given, Piece, Relations
from ..read.shardings import Sharding
from .errors import NoLayout
from .layout import defined_elements, full_to_shards, shard, shard_shape
from .layouts import Layouts, ShardedLayouts, garbage, layouts_of, runs_on_devices

UNDEFINED = -1
"""In a table: the element stands for none of the logical tensor."""


def positions(pieces: Sequence[Piece], shape: tuple[int, ...], local: tuple[int, ...], devices: int) -> np.ndarray:
    """For each device and local index the row-major position of the logical element there: int64 [devices, *local]."""
    rank = len(local)
    values = [np.arange(devices, dtype=np.int64).reshape(-1, *(1,) * rank)]
    for dimension, extent in enumerate(local):
        values.append(np.arange(extent, dtype=np.int64).reshape((-1, *(1,) * (rank - 1 - dimension))))
    table = np.full((devices, *local), UNDEFINED, np.int64)
    for piece in pieces:
        inside = np.bool_(True)
        for constraint in piece.domain:
            value = np.asarray(constraint.expression.evaluated(values))
            inside = inside & (value == 0 if constraint.is_equality else value >= 0)
        position, outside = np.int64(0), np.bool_(False)
        for image, extent in zip(piece.image, shape, strict=True):
            index = np.asarray(image.evaluated(values))
            position = position * extent + index
            outside = outside | (inside & ((index < 0) | (index >= extent)))
        if np.any(outside):
            raise NoLayout(f"a relation reaches out of {list(shape)}")
        table = np.where(np.broadcast_to(inside, table.shape), position, table)
    return table


@dataclass(frozen=True, slots=True)
class GivenLayouts(ShardedLayouts):
    """Parameters and results correspond as relations given by hand say, and otherwise by the programs' shardings."""

    relations: Relations

    def to_after(self, inputs: Sequence[np.ndarray], poison: np.random.Generator) -> list[np.ndarray]:
        devices = self.after.num_devices
        held = []
        for number, (array, local) in enumerate(zip(inputs, self.after.parameters, strict=True)):
            padding = garbage(local.value.tensor, devices, poison).astype(array.dtype)
            content = _content(self.relations.parameters.get(number), self.before.parameters[number].sharding)
            if isinstance(content, tuple):
                table = positions(content, array.shape, local.value.tensor.shape, devices)
                padding[table != UNDEFINED] = array.reshape(-1)[table[table != UNDEFINED]]
                held.append(padding)
            else:
                held.append(shard(array, content, devices, padding))
        return held

    def expected(self, results: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        devices = self.after.num_devices
        wanted = []
        for number, (result, local) in enumerate(zip(results, self.after.results, strict=True)):
            shape = result.shape[1:]
            copies = np.broadcast_to(result, (devices, *shape))
            content = _content(self.relations.results.get(number), self.before.results[number].sharding)
            if isinstance(content, tuple):
                table = positions(content, shape, local.value.tensor.shape, devices)
                mask = table != UNDEFINED
                own = np.take_along_axis(
                    copies.reshape(devices, -1), np.where(mask, table, 0).reshape(devices, -1), axis=1
                )
                wanted.append((own.reshape(table.shape), mask))
            else:
                wanted.append((full_to_shards(copies, content), defined_elements(shape, content, devices)))
        return wanted


def given_layouts(before: Program, after: Program, relations: Relations) -> Layouts:
    """The correspondence with relations given by hand; raises `NoLayout` where there is none."""
    if not relations.source:
        return layouts_of(before, after)
    sides = (
        (before.parameters, after.parameters, relations.parameters),
        (before.results, after.results, relations.results),
    )
    for specified, implemented, given in sides:
        for number, (spec, local) in enumerate(zip(specified, implemented, strict=True)):
            content = _content(given.get(number), spec.sharding)
            if isinstance(content, tuple):
                continue
            if shard_shape(spec.value.tensor.shape, content) != local.value.tensor.shape:
                text = "no sharding" if content is None else f"sharding '{content.text}'"
                raise NoLayout(
                    f"'{local.label}' is {local.value.tensor}, not a shard of {spec.value.tensor} with {text}"
                )
    return GivenLayouts(before, after, after.num_devices if runs_on_devices(before) else 1, relations)


def _content(given: Given | None, sharding: Sharding | None) -> Sharding | tuple[Piece, ...] | None:
    return sharding if given is None else given.content
