"""Relations and sets at many points at once, as arrays: for what looks at numbers, not for proofs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import islpy as isl
import numpy as np

from .objects import Dom, Rel

MAX_PIECES = 32
"""Relations of more pieces than this are not evaluated."""


def grid(sizes: tuple[int, ...]) -> np.ndarray:
    """All points of a box in row-major order: int64 [points, dimensions]."""
    return np.indices(sizes, np.int64).reshape(len(sizes), math.prod(sizes)).T


def contained(dom: Dom, points: np.ndarray) -> np.ndarray | None:
    """Which of the points [points, dimensions] lie in a set; None where it has too many pieces."""
    pieces = dom.set.compute_divs().get_basic_sets()
    return _inside(pieces, points) if len(pieces) <= MAX_PIECES else None


def images(rel: Rel, points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """What each of the points is related to, int64 [points, range dimensions], and which of them have any such.

    None where a point has several, or the relation has too many pieces.
    """
    if not rel.map.is_single_valued():
        return None
    pieces: list[tuple[Any, Any]] = []
    isl.PwMultiAff.from_map(rel.map).foreach_piece(lambda domain, image: pieces.append((domain, image)))
    if len(pieces) > MAX_PIECES:
        return None
    found = np.zeros((len(points), rel.arity_out), np.int64)
    defined = np.zeros(len(points), np.bool_)
    for domain, image in pieces:
        here = _inside(domain.compute_divs().get_basic_sets(), points)
        defined |= here
        for k in range(rel.arity_out):
            found[here, k] = _evaluated(image.get_aff(k), points[here])
    return found, defined


def numbers_at(rels: Iterable[Rel], sizes: tuple[int, ...]) -> np.ndarray | None:
    """The integers that relations have at the points of a box, int64 [*sizes]; None where some point has none."""
    points = grid(sizes)
    numbers, known = np.zeros(len(points), np.int64), np.zeros(len(points), np.bool_)
    for rel in rels:
        image = images(rel, points)
        if image is None:
            return None
        found, defined = image
        numbers[defined], known = found[defined, 0], known | defined
    return numbers.reshape(sizes) if known.all() else None


def _inside(pieces: list[Any], points: np.ndarray) -> np.ndarray:
    found = np.zeros(len(points), np.bool_)
    for piece in pieces:
        here = np.ones(len(points), np.bool_)
        for constraint in piece.get_constraints():
            value = _evaluated(constraint.get_aff(), points)
            here &= value == 0 if constraint.is_equality() else value >= 0
        found |= here
    return found


def _evaluated(expression: Any, points: np.ndarray) -> np.ndarray:
    """The floor of a quasi-affine expression at each point."""
    divisions: list[np.ndarray] = []
    for k in range(expression.dim(isl.dim_type.div)):
        divisions.append(_floor(expression.get_div(k), points, divisions))
    return _floor(expression, points, divisions)


def _floor(expression: Any, points: np.ndarray, divisions: list[np.ndarray]) -> np.ndarray:
    denominator = expression.get_denominator_val()

    def scaled(value: Any) -> int:
        return (value * denominator).to_python()

    total = np.full(len(points), scaled(expression.get_constant_val()), np.int64)
    for factor, column in _terms(expression, points, divisions):
        if not factor.is_zero():
            total += scaled(factor) * column
    return total // denominator.to_python()


def _terms(expression: Any, points: np.ndarray, divisions: list[np.ndarray]) -> Iterator[tuple[Any, np.ndarray]]:
    for k in range(points.shape[1]):
        yield expression.get_coefficient_val(isl.dim_type.in_, k), points[:, k]
    for k, column in enumerate(divisions):
        yield expression.get_coefficient_val(isl.dim_type.div, k), column
