"""Relations and sets evaluated at many points, against isl's own answer at each of them."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from shardproof.validator.relation.points import contained, grid, images, numbers_at
from shardproof.validator.relation.store import Store

RELATIONS = [
    "{[d,i] -> [x] : 0 <= d < 4 and 0 <= i < 3 and x = floor((d+i)/2); [d,i] -> [i+1] : 3 <= i < 6 and 0 <= d < 4}",
    "{[d,i] -> [x,y] : 0 <= d < 4 and 0 <= i < 6 and 5x + y = 6d + i and 0 <= y < 5}",
    "{[d,i] -> [x] : exists k : i = 3k+1 and x = k and 0 <= i < 9; [d,i] -> [7-i] : i mod 3 = 0 and 0 <= i < 9}",
    "{[d,i] -> [floor((i + floor(d/2))/3)] : i > d}",
    "{[d,i] -> [] : i > d}",
    "{[d,i] -> [x] : 1 = 0}",
]


def _at(rel: isl.Map, point: np.ndarray) -> isl.Set:
    return rel.intersect_domain(isl.Set(f"{{[{point[0]},{point[1]}]}}")).range()


@pytest.mark.parametrize("text", RELATIONS)
def test_images_are_those_of_isl(text: str) -> None:
    rel = Store().rel(text)
    points = grid((5, 10))
    found = images(rel, points)
    assert found is not None
    for point, image, defined in zip(points, *found, strict=True):
        wanted = _at(rel.map, point)
        assert defined == (not wanted.is_empty())
        if defined:
            assert wanted.is_equal(isl.Set(f"{{[{','.join(map(str, image))}]}}"))


@pytest.mark.parametrize("text", RELATIONS)
def test_a_set_contains_what_isl_says(text: str) -> None:
    store = Store()
    domain = store.domain(store.rel(text))
    points = grid((5, 10))
    inside = contained(domain, points)
    assert inside is not None
    assert inside.tolist() == [not _at(domain.set.identity(), point).is_empty() for point in points]


def test_a_point_with_several_images_has_none() -> None:
    assert images(Store().rel("{[i] -> [x] : 0 <= x <= i}"), grid((3,))) is None


def test_a_grid_is_in_row_major_order() -> None:
    assert grid((2, 3)).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert grid(()).shape == (1, 0)


def test_numbers_are_put_together_from_what_relations_have() -> None:
    store = Store()
    even, odd = store.rel("{[d,i] -> [10d + i] : i mod 2 = 0}"), store.rel("{[d,i] -> [-i] : i mod 2 = 1}")
    found = numbers_at([even, odd], (2, 3))
    assert found is not None
    assert found.tolist() == [[0, -1, 2], [10, -1, 12]]
    assert numbers_at([even], (2, 3)) is None, "nothing at odd places"
