"""The checker's own hold on isl: relations and sets, and the few questions that checking asks of them.

Results are remembered by the numbers of their operands, so that a layer that repeats costs once what it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl

from ..relation.objects import Dom, Rel

MAX_OPERATIONS = 5_000_000
"""isl's own budget for one call: a certificate that needs more is rejected."""

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


class TooComplexError(Exception):
    """isl gave up, or does not read a text."""


def _counts_once(first: isl.Map, second: isl.Map) -> bool:
    """Whether no x is reached from one p through two q (first: p -> q, second: q -> x)."""
    through = first.range_map().apply_range(second)
    return first.is_single_valued() or first.domain_map().flat_range_product(through).is_injective()


def _bounds(dom: isl.Set, position: int) -> tuple[int, int] | None:
    """Least and greatest value of one dimension, None where the set is empty or unbounded."""
    if dom.is_empty():
        return None
    low, high = dom.dim_min_val(position), dom.dim_max_val(position)
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None


def _constant_range(rel: isl.Map) -> tuple[int, ...] | None:
    """The one tuple that every point is related to, None where there are several or none."""
    image, places = rel.range(), range(rel.dim(_OUT))
    if not places or image.is_empty() or not image.is_singleton():
        return None
    point = image.sample_point()
    return tuple(point.get_coordinate_val(isl.dim_type.set, place).to_python() for place in places)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    # from relations to relations
    "compose": lambda first, second: first.apply_range(second),
    "reverse": lambda rel: rel.reverse(),
    "pair": lambda first, second: first.flat_range_product(second),
    "side_by_side": lambda first, second: first.flat_product(second),
    "union": lambda first, second: first.union(second),
    "minus": lambda first, second: first.subtract(second),
    "meet": lambda first, second: first.intersect(second),
    "restrict": lambda rel, dom: rel.intersect_domain(dom),
    "restrict_range": lambda rel, dom: rel.intersect_range(dom),
    "identity_on": lambda dom: dom.identity(),
    "lexmin": lambda rel: rel.lexmin(),
    "project_out": lambda rel, first, count: rel.project_out(_OUT, first, count),
    "fix_range": lambda rel, place, value: rel.fix_val(_OUT, place, isl.Val(value, context=rel.get_ctx())),
    # {(p, x1…) -> rest} from {p -> (x1…, rest)}, and back
    "into_domain": lambda rel, count: rel.move_dims(_IN, rel.dim(_IN), _OUT, 0, count),
    "into_range": lambda rel, count: rel.move_dims(_OUT, 0, _IN, rel.dim(_IN) - count, count),
    # sets
    "domain": lambda rel: rel.domain(),
    "range": lambda rel: rel.range(),
    "set_union": lambda first, second: first.union(second),
    "set_minus": lambda first, second: first.subtract(second),
    "set_meet": lambda first, second: first.intersect(second),
    "set_product": lambda first, second: first.flat_product(second),
    "image": lambda dom, rel: dom.apply(rel),
    "preimage": lambda dom, rel: dom.apply(rel.reverse()),
    # questions
    "equal": lambda first, second: first.is_equal(second),
    "empty": lambda rel: rel.is_empty(),
    "single_valued": lambda rel: rel.is_single_valued(),
    "injective": lambda rel: rel.is_injective(),
    "set_equal": lambda first, second: first.is_equal(second),
    "set_subset": lambda first, second: first.is_subset(second),
    "set_empty": lambda dom: dom.is_empty(),
    "counts_once": _counts_once,
    "bounds": _bounds,
    "constant_range": _constant_range,
}


class Relations:
    """All relations of one check, by the names that the builders of index relations and the ops' records use."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Any] = {}
        self._made: dict[int, list[Rel | Dom]] = {}
        self._count = 0
        self._context = isl.Context()  # with a budget of its own, whatever else the process does with isl
        self._context.set_max_operations(MAX_OPERATIONS)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """An operation, by name, on relations and sets of this table and on integers."""
        if name not in _OPERATIONS:
            raise AttributeError(name)
        compute = _OPERATIONS[name]

        def ask(*operands: Rel | Dom | int) -> Any:
            key = (name, *[each if isinstance(each, int) else each.number for each in operands])
            if key not in self._known:
                self._known[key] = self._computed(name, lambda: compute(*map(_raw, operands)))
            return self._known[key]

        setattr(self, name, ask)
        return ask

    def rel(self, text: str) -> Rel:
        return self._read(isl.Map, text)

    def dom(self, text: str) -> Dom:
        return self._read(isl.Set, text)

    def everything(self, arity: int) -> Dom:
        return self.dom(f"{{[{','.join(f'x{k}' for k in range(arity))}]}}")

    def _read(self, kind: type, text: str) -> Any:
        key = (kind, text)
        if key not in self._known:
            self._known[key] = self._computed(text, lambda: kind(text, context=self._context))
        return self._known[key]

    def _computed(self, what: str, compute: Callable[[], Any]) -> Any:
        """The answer of isl; the one object for what is a map or a set."""
        self._context.reset_operations()
        try:
            found = compute()
            return self._kept(found.coalesce()) if isinstance(found, isl.Map | isl.Set) else found
        except isl.Error as error:
            raise TooComplexError(f"isl gives up on '{what}'") from error

    def _kept(self, raw: Any) -> Rel | Dom:
        bucket = self._made.setdefault(hash(raw), [])
        for known in bucket:
            if type(_raw(known)) is type(raw) and _raw(known).plain_is_equal(raw):
                return known
        self._count += 1
        bucket.append(Rel(self._count, raw) if isinstance(raw, isl.Map) else Dom(self._count, raw))
        return bucket[-1]


def _raw(operand: Rel | Dom | int) -> Any:
    return operand.map if isinstance(operand, Rel) else operand.set if isinstance(operand, Dom) else operand
