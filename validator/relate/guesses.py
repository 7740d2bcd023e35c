"""Layouts that a value of a loop may have, written down from its shapes: guesses, which induction has to confirm."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..relation.build import Builder, affine, names
from ..relation.store import Rel

MAX_DIGITS = 4
"""Meshes of more coordinates than this are not searched."""

MAX_LAYOUTS = 8
"""At most this many layouts are guessed from one pair of shapes."""


def layouts_by_shape(builder: Builder, shape: tuple[int, ...], local: tuple[int, ...]) -> Iterator[Rel]:
    """{[d, i] -> [x]}: each cut dimension cut by device coordinates of its own whose sizes multiply to its tiles."""
    if len(shape) != len(local) or any(not 0 < part <= whole for part, whole in zip(local, shape, strict=True)):
        return
    tiles = [-(-whole // part) for whole, part in zip(shape, local, strict=True)]
    found = _assignments(tiles, builder.mesh.sizes)
    for chosen in itertools.islice(found, MAX_LAYOUTS):
        index = names("i", len(shape))
        outputs, where = [], []
        for k, digits in enumerate(chosen):
            terms, stride = [(1, index[k])], local[k]
            for digit in reversed(digits):
                terms.append((stride, builder.device[digit]))
                stride *= builder.mesh.sizes[digit]
            outputs.append(affine(terms))
            where.append(f"{outputs[k]} < {shape[k]}")
        yield builder.relation(local, outputs, where)


def _assignments(tiles: list[int], sizes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """For every dimension the digits that number its tiles, no digit used twice."""
    options = []
    for count in tiles:
        fitting = [
            digits
            for length in range(len(sizes) + 1)
            for digits in itertools.permutations(range(len(sizes)), length)
            if _product(digits, sizes) == count and all(sizes[digit] > 1 for digit in digits)
        ]
        options.append(fitting if len(sizes) <= MAX_DIGITS else [])
    for chosen in itertools.product(*options):
        used = [digit for digits in chosen for digit in digits]
        if len(used) == len(set(used)):
            yield chosen


def _product(digits: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    total = 1
    for digit in digits:
        total *= sizes[digit]
    return total
