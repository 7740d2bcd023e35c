"""The checker's own hold on isl: relations, sets, and the few questions asked of them, each answered once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import islpy as isl

from ..relation.objects import Dom, Rel, joined
from ..relation.questions import bounds, constant_range, counts_once
from .errors import Rejection

MAX_OPERATIONS = 5_000_000  # isl's own budget for one call: a certificate that needs more is rejected

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out

_NAMES = """
    compose=apply_range reverse=reverse pair=flat_range_product side_by_side=flat_product
    union=union minus=subtract meet=intersect restrict=intersect_domain restrict_range=intersect_range
    identity_on=identity lexmin=lexmin domain=domain range=range
    set_union=union set_minus=subtract set_meet=intersect set_product=flat_product image=apply
    equal=is_equal empty=is_empty single_valued=is_single_valued injective=is_injective
    set_equal=is_equal set_subset=is_subset set_empty=is_empty set_single=is_singleton
"""
"""What is a method of isl's maps and sets under another name."""


_OTHERS: dict[str, Callable[..., Any]] = {
    "preimage": lambda dom, rel: dom.apply(rel.reverse()),
    "project_out": lambda rel, first, count: rel.project_out(_OUT, first, count),
    "fix_range": lambda rel, place, value: rel.fix_val(_OUT, place, isl.Val(str(value), context=rel.get_ctx())),
    # {(p, x1…) -> rest} from {p -> (x1…, rest)}, and back
    "into_domain": lambda rel, count: rel.move_dims(_IN, rel.dim(_IN), _OUT, 0, count),
    "into_range": lambda rel, count: rel.move_dims(_OUT, 0, _IN, rel.dim(_IN) - count, count),
    "counts_once": counts_once,
    "bounds": bounds,
    "constant_range": constant_range,
}


class Relations:
    """All relations of one check, by the names that the builders of index relations and the ops' records use."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Any] = {}
        self._made: dict[int, list[Rel | Dom]] = {}
        self._count = 0
        self._context = isl.Context()  # with a budget of its own, whatever else the process does with isl
        self._context.set_max_operations(MAX_OPERATIONS)
        for pair in _NAMES.split():
            name, method = pair.split("=")
            self._provide(name, lambda first, *rest, method=method: getattr(first, method)(*rest))
        for name, compute in _OTHERS.items():
            self._provide(name, compute)

    def _provide(self, name: str, compute: Callable[..., Any]) -> None:
        """An operation on relations and sets of this table and on integers."""

        def ask(*operands: Rel | Dom | int) -> Any:
            key = (name, *[each if isinstance(each, int) else each.number for each in operands])
            return self._remembered(key, lambda: compute(*map(_raw, operands)))

        setattr(self, name, ask)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"no operation '{name}'")

    def rel(self, text: str) -> Rel:  # isl's parameters, which would stand before the brace, are no part of relations
        return self._remembered((Rel, text), lambda: isl.Map("{" + text.removeprefix("{"), context=self._context))

    def dom(self, text: str) -> Dom:
        return self._remembered((Dom, text), lambda: isl.Set(text, context=self._context))

    def everything(self, arity: int) -> Dom:
        return self.dom(f"{{[{','.join(f'x{k}' for k in range(arity))}]}}")

    def disjoint(self, relations: Iterable[Rel], otherwise: str) -> Dom:
        """The points of all relations, no two of which may have one in common."""
        every = self.dom("{ : 1 = 0 }")
        for number, domain in enumerate(map(self.domain, relations)):
            if number and not self.set_empty(self.set_meet(every, domain)):
                raise Rejection(otherwise)
            every = self.set_union(every, domain) if number else domain
        return every

    def _remembered(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The answer of isl; the one object for what is a map or a set."""
        if key not in self._known:
            self._context.reset_operations()
            try:
                found = compute()
                self._known[key] = self._kept(joined(found)) if isinstance(found, isl.Map | isl.Set) else found
            except isl.Error as error:
                raise Rejection(f"isl gives up on '{key[0]}'") from error
        return self._known[key]

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
