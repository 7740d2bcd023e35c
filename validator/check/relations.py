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


class TooComplexError(Exception):
    """isl gave up, or does not read a text."""


class Relations:
    """All relations of one check. The names are those that the builders of index relations use."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Any] = {}
        self._made: dict[int, list[Any]] = {}
        self._count = 0
        self._context = isl.Context()  # with a budget of its own, whatever else the process does with isl
        self._context.set_max_operations(MAX_OPERATIONS)

    def _ask(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._context.reset_operations()
            try:
                self._known[key] = compute()
            except isl.Error as error:
                raise TooComplexError(f"isl gives up on '{key[0]}'") from error
        return self._known[key]

    def _keep(self, raw: Any, kind: type) -> Any:
        """The one object for this map or set."""
        raw = raw.coalesce()
        bucket = self._made.setdefault(hash(raw), [])
        for known in bucket:
            if type(known) is kind and (known.map if kind is Rel else known.set).plain_is_equal(raw):
                return known
        self._count += 1
        bucket.append(kind(self._count, raw))
        return bucket[-1]

    def _rel(self, key: tuple[Any, ...], compute: Callable[[], isl.Map]) -> Rel:
        return self._ask(key, lambda: self._keep(compute(), Rel))

    def _dom(self, key: tuple[Any, ...], compute: Callable[[], isl.Set]) -> Dom:
        return self._ask(key, lambda: self._keep(compute(), Dom))

    def rel(self, text: str) -> Rel:
        return self._rel(("relation", text), lambda: isl.Map(text, context=self._context))

    def dom(self, text: str) -> Dom:
        return self._dom(("set", text), lambda: isl.Set(text, context=self._context))

    # from relations to relations ------------------------------------------------------------------------------------

    def compose(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("compose", first.number, second.number), lambda: first.map.apply_range(second.map))

    def reverse(self, rel: Rel) -> Rel:
        return self._rel(("reverse", rel.number), rel.map.reverse)

    def pair(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("pair", first.number, second.number), lambda: first.map.flat_range_product(second.map))

    def side_by_side(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("beside", first.number, second.number), lambda: first.map.flat_product(second.map))

    def union(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("union", first.number, second.number), lambda: first.map.union(second.map))

    def minus(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("minus", first.number, second.number), lambda: first.map.subtract(second.map))

    def meet(self, first: Rel, second: Rel) -> Rel:
        return self._rel(("meet", first.number, second.number), lambda: first.map.intersect(second.map))

    def restrict(self, rel: Rel, dom: Dom) -> Rel:
        return self._rel(("restrict", rel.number, dom.number), lambda: rel.map.intersect_domain(dom.set))

    def restrict_range(self, rel: Rel, dom: Dom) -> Rel:
        return self._rel(("restrict range", rel.number, dom.number), lambda: rel.map.intersect_range(dom.set))

    def identity_on(self, dom: Dom) -> Rel:
        return self._rel(("identity", dom.number), dom.set.identity)

    def lexmin(self, rel: Rel) -> Rel:
        return self._rel(("lexmin", rel.number), rel.map.lexmin)

    def project_out(self, rel: Rel, first: int, count: int) -> Rel:
        key = ("project out", rel.number, first, count)
        return self._rel(key, lambda: rel.map.project_out(isl.dim_type.out, first, count))

    def fix_range(self, rel: Rel, position: int, value: int) -> Rel:
        key = ("fix range", rel.number, position, value)
        number = isl.Val(value, context=self._context)
        return self._rel(key, lambda: rel.map.fix_val(isl.dim_type.out, position, number))

    def into_domain(self, rel: Rel, count: int) -> Rel:
        """{(p, x1…) -> rest} from {p -> (x1…, rest)}."""
        key = ("into domain", rel.number, count)
        return self._rel(key, lambda: rel.map.move_dims(isl.dim_type.in_, rel.arity_in, isl.dim_type.out, 0, count))

    def into_range(self, rel: Rel, count: int) -> Rel:
        """{p -> (x1…, rest)} from {(p, x1…) -> rest}."""
        key, first = ("into range", rel.number, count), rel.arity_in - count
        return self._rel(key, lambda: rel.map.move_dims(isl.dim_type.out, 0, isl.dim_type.in_, first, count))

    # sets -----------------------------------------------------------------------------------------------------------

    def domain(self, rel: Rel) -> Dom:
        return self._dom(("domain", rel.number), rel.map.domain)

    def range(self, rel: Rel) -> Dom:
        return self._dom(("range", rel.number), rel.map.range)

    def set_union(self, first: Dom, second: Dom) -> Dom:
        return self._dom(("set union", first.number, second.number), lambda: first.set.union(second.set))

    def set_minus(self, first: Dom, second: Dom) -> Dom:
        return self._dom(("set minus", first.number, second.number), lambda: first.set.subtract(second.set))

    def set_meet(self, first: Dom, second: Dom) -> Dom:
        return self._dom(("set meet", first.number, second.number), lambda: first.set.intersect(second.set))

    def set_product(self, first: Dom, second: Dom) -> Dom:
        return self._dom(("set product", first.number, second.number), lambda: first.set.flat_product(second.set))

    def image(self, dom: Dom, rel: Rel) -> Dom:
        return self._dom(("image", dom.number, rel.number), lambda: dom.set.apply(rel.map))

    def preimage(self, dom: Dom, rel: Rel) -> Dom:
        return self.image(dom, self.reverse(rel))

    def everything(self, arity: int) -> Dom:
        return self.dom(f"{{[{','.join(f'x{k}' for k in range(arity))}]}}")

    # questions ------------------------------------------------------------------------------------------------------

    def equal(self, first: Rel, second: Rel) -> bool:
        if first is second:
            return True
        return self._ask(("equal", first.number, second.number), lambda: bool(first.map.is_equal(second.map)))

    def empty(self, rel: Rel) -> bool:
        return self._ask(("empty", rel.number), lambda: bool(rel.map.is_empty()))

    def single_valued(self, rel: Rel) -> bool:
        return self._ask(("single valued", rel.number), lambda: bool(rel.map.is_single_valued()))

    def injective(self, rel: Rel) -> bool:
        return self._ask(("injective", rel.number), lambda: bool(rel.map.is_injective()))

    def set_equal(self, first: Dom, second: Dom) -> bool:
        return first is second or self._ask(
            ("sets equal", first.number, second.number), lambda: bool(first.set.is_equal(second.set))
        )

    def set_subset(self, first: Dom, second: Dom) -> bool:
        return first is second or self._ask(
            ("subset", first.number, second.number), lambda: bool(first.set.is_subset(second.set))
        )

    def set_empty(self, dom: Dom) -> bool:
        return self._ask(("set empty", dom.number), lambda: bool(dom.set.is_empty()))

    def counts_once(self, first: Rel, second: Rel) -> bool:
        """Whether no x is reached from one p through two q (first: p -> q, second: q -> x)."""

        def compute() -> bool:
            through = first.map.range_map().apply_range(second.map)
            return bool(first.map.domain_map().flat_range_product(through).is_injective())

        return self.single_valued(first) or self._ask(("counts once", first.number, second.number), compute)

    def bounds(self, dom: Dom, position: int) -> tuple[int, int] | None:
        """Least and greatest value of one dimension, None where the set is empty or unbounded."""

        def compute() -> tuple[int, int] | None:
            low, high = dom.set.dim_min_val(position), dom.set.dim_max_val(position)
            return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None

        return self._ask(("bounds", dom.number, position), lambda: None if dom.set.is_empty() else compute())

    def constant_range(self, rel: Rel) -> tuple[int, ...] | None:
        """The one tuple that every point is related to, None where there are several or none."""

        def compute() -> tuple[int, ...] | None:
            image = rel.map.range()
            if not rel.arity_out or image.is_empty() or not image.is_singleton():
                return None
            point = image.sample_point()
            places = range(rel.arity_out)
            return tuple(point.get_coordinate_val(isl.dim_type.set, place).to_python() for place in places)

        return self._ask(("constant", rel.number), compute)
