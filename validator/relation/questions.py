"""What isl is asked about relations and sets that it has no one call for. Whoever asks remembers the answers."""

from __future__ import annotations

import islpy as isl


def counts_once(first: isl.Map, second: isl.Map) -> bool:
    """Whether no x is reached from one p through two different q (first: p -> q, second: q -> x)."""
    through = first.range_map().apply_range(second)
    return first.is_single_valued() or first.domain_map().flat_range_product(through).is_injective()


def bounds(dom: isl.Set, position: int) -> tuple[int, int] | None:
    """Least and greatest value of one dimension, None where the set is empty or unbounded."""
    if dom.is_empty():
        return None
    low, high = dom.dim_min_val(position), dom.dim_max_val(position)
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


def constant_range(rel: isl.Map) -> tuple[int, ...] | None:
    """The one tuple that every point is related to, None where there are several or none."""
    image, places = rel.range(), range(rel.dim(isl.dim_type.out))
    if not places or image.is_empty() or not image.is_singleton():
        return None
    point = image.sample_point()
    return tuple(point.get_coordinate_val(isl.dim_type.set, place).to_python() for place in places)
