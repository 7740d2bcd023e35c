"""Points of integer relations as arrays, one dimension after the other, for tests that look at every one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np

MAX_POINTS = 2_000_000
"""Relations with more (partial) points than this are not enumerated."""


class TooManyPoints(Exception):
    """A relation that is not enumerated; the caller skips it and counts what it skips."""


Solve = Callable[[np.ndarray], np.ndarray]
"""The value of one dimension from the values of the dimensions before it, [points, dimensions] to [points]."""


@dataclass(frozen=True, slots=True)
class _Level:
    """A basic set over its first dimensions: divisions with their denominators, equalities and inequalities.

    The columns of every matrix are the constant, the dimensions, and the divisions.
    """

    divisions: np.ndarray
    denominators: np.ndarray
    equalities: np.ndarray
    inequalities: np.ndarray
    low: int | None
    high: int | None


def _matrix(raw: Any) -> np.ndarray:
    rows = [[raw.get_element_val(i, j).to_python() for j in range(raw.cols())] for i in range(raw.rows())]
    return np.asarray(rows, dtype=object).reshape(raw.rows(), raw.cols())


def _level(piece: Any) -> _Level:
    kind = isl.dim_type
    low, high = piece.to_set().dim_min_val(piece.dim(kind.set) - 1), piece.to_set().dim_max_val(piece.dim(kind.set) - 1)
    divisions, denominators = [], []
    count = piece.dim(kind.set)
    for k in range(piece.dim(kind.div)):
        aff = piece.get_div(k)
        denominator = aff.get_denominator_val().to_python()
        row = [_scaled(aff.get_constant_val(), denominator)]
        row += [_scaled(aff.get_coefficient_val(kind.in_, i), denominator) for i in range(count)]
        row += [_scaled(aff.get_coefficient_val(kind.div, i), denominator) for i in range(piece.dim(kind.div))]
        divisions.append(row)
        denominators.append(denominator)
    order = (kind.cst, kind.param, kind.set, kind.div)
    width = 1 + count + piece.dim(kind.div)
    return _Level(
        np.asarray(divisions, dtype=object).reshape(len(divisions), width),
        np.asarray(denominators, dtype=object),
        _matrix(piece.equalities_matrix(*order)),
        _matrix(piece.inequalities_matrix(*order)),
        low.to_python() if low.is_int() else None,
        high.to_python() if high.is_int() else None,
    )


def _scaled(value: Any, denominator: int) -> int:
    return (value * isl.Val(denominator)).to_python()


def _with_divisions(level: _Level, points: np.ndarray) -> np.ndarray:
    ones = np.ones((len(points), 1), points.dtype)
    columns = np.concatenate([ones, points, np.zeros((len(points), len(level.denominators)), points.dtype)], axis=1)
    for k, denominator in enumerate(level.denominators):
        value = _dot(columns, level.divisions[k])
        columns[:, 1 + points.shape[1] + k] = value // denominator
    return columns


def _dot(columns: np.ndarray, row: np.ndarray) -> np.ndarray:
    if any(abs(factor) >= 1 << 62 for factor in row):
        columns = columns.astype(object)
    total = np.zeros(len(columns), columns.dtype)
    for k, factor in enumerate(row):
        if factor:
            total = total + columns[:, k] * factor
    return total


def _inside(level: _Level, points: np.ndarray) -> np.ndarray:
    columns = _with_divisions(level, points)
    keep = np.ones(len(points), np.bool_)
    for row in level.equalities:
        keep &= _dot(columns, row) == 0
    for row in level.inequalities:
        keep &= _dot(columns, row) >= 0
    return keep


def _determined(level: _Level, points: np.ndarray) -> np.ndarray | None:
    """The last dimension from those before it by an equality without divisions, None where there is none."""
    count = points.shape[1]
    for row in level.equalities:
        factor = row[1 + count]
        if factor and not any(row[2 + count :]):
            rest = np.full(len(points), row[0], points.dtype)
            for k in range(count):
                if row[1 + k]:
                    rest = rest + points[:, k] * row[1 + k]
            return -rest // factor
    return None


def enumerate_set(raw: Any, solved: Mapping[int, Solve] | None = None) -> np.ndarray:
    """All points of an isl set, [points, dimensions], in no order and without repetition.

    `solved` gives dimensions that are not enumerated but computed from those before them.
    """
    solved = solved or {}
    kind = isl.dim_type
    count = raw.dim(kind.set)
    wide = object if solved else np.int64
    points = np.zeros((1, 0), wide)
    if count == 0:
        return points if not raw.is_empty() else points[:0]
    for k in range(count):
        projected = raw.project_out(kind.set, k + 1, count - k - 1).compute_divs().make_disjoint()
        pieces = [piece for piece in projected.get_basic_sets() if not piece.is_empty()]
        parts = [_extended(_level(piece), points, solved.get(k)) for piece in pieces]
        points = np.concatenate(parts) if parts else np.zeros((0, k + 1), wide)
        if len(points) > MAX_POINTS:
            raise TooManyPoints(f"{len(points)} points")
    return points


def _extended(level: _Level, points: np.ndarray, solve: Solve | None) -> np.ndarray:
    if not len(points):
        return np.zeros((0, points.shape[1] + 1), points.dtype)
    value = solve(points) if solve is not None else _determined(level, points)
    if value is None:
        if level.low is None or level.high is None or (level.high - level.low + 1) * len(points) > 4 * MAX_POINTS:
            raise TooManyPoints(f"{len(points)} points by a dimension from {level.low} to {level.high}")
        choices = np.arange(level.low, level.high + 1).astype(points.dtype)
        points = np.repeat(points, len(choices), axis=0)
        value = np.tile(choices, len(points) // max(len(choices), 1))
    longer = np.concatenate([points, value.astype(points.dtype)[:, None]], axis=1)
    return longer[_inside(level, longer)]
