"""Bounds of unknown integers, and the comparisons that they decide.

Lemma *bounded integer*: an integer lies in the range of its type; a clamp, minimum, maximum, selection, conversion or a
sum that cannot wrap around lies where its operands' bounds put it. A comparison that holds, or fails, for all values in
the bounds of both sides is a known boolean. Theory: exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..read.attributes import Comparison
from ..read.ir import TensorType
from ..relation.objects import Rel
from .choices import range_of
from .engine import Engine
from .record import strongest

Bounds = tuple[int, int]

MAX_DEPTH = 6
"""Operations that bounds are followed through."""


def bounds_of(engine: Engine, atom: Any, read: Rel | None, depth: int = MAX_DEPTH) -> Bounds:
    """The least and greatest value that an integer atom can have where `read` (point → its index) reads it."""
    if engine.is_integer(atom) and read is not None:
        found = engine.store.bounds(engine.store.range(read), 0)
        if found is not None:
            return found
    number, whole = engine.number_of(atom), range_of(engine, atom)
    if isinstance(number, int):
        return number, number
    operation = engine.integer_operation(atom) if depth else None
    if operation is None:
        return whole
    name, _, operands = operation
    if name == "stablehlo.select":
        operands = operands[1:]
    if name not in _RULES or any(not operand.dtype.is_integer for operand, _ in operands):
        return whole
    low, high = _RULES[name](*(bounds_of(engine, operand, inner, depth - 1) for operand, inner in operands))
    # a sum that leaves the type's range wraps around and can be anything
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def _clamp(low: Bounds, value: Bounds, high: Bounds) -> Bounds:
    return _minimum(_maximum(value, low), high)


def _maximum(a: Bounds, b: Bounds) -> Bounds:
    return max(a[0], b[0]), max(a[1], b[1])


def _minimum(a: Bounds, b: Bounds) -> Bounds:
    return min(a[0], b[0]), min(a[1], b[1])


def _either(a: Bounds, b: Bounds) -> Bounds:
    return min(a[0], b[0]), max(a[1], b[1])


def _add(a: Bounds, b: Bounds) -> Bounds:
    return a[0] + b[0], a[1] + b[1]


def _subtract(a: Bounds, b: Bounds) -> Bounds:
    return a[0] - b[1], a[1] - b[0]


def _same(a: Bounds) -> Bounds:
    return a


_RULES = {
    "stablehlo.add": _add,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": _same,
    "stablehlo.maximum": _maximum,
    "stablehlo.minimum": _minimum,
    "stablehlo.select": _either,
    "stablehlo.subtract": _subtract,
}

_NEVER_AND_ALWAYS = {
    Comparison.LT: (lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
    Comparison.LE: (lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    Comparison.EQ: (lambda a, b: a[0] > b[1] or b[0] > a[1], lambda a, b: a[0] == a[1] == b[0] == b[1]),
    Comparison.NE: (lambda a, b: a[0] == a[1] == b[0] == b[1], lambda a, b: a[0] > b[1] or b[0] > a[1]),
}


def decided(engine: Engine, direction: Comparison, first: Any, second: Any, type_: TensorType) -> Any:
    """The comparison of two views of integers where bounds decide it; None where no point is decided."""
    if direction not in _NEVER_AND_ALWAYS or first.monoid or second.monoid or not first.type.dtype.is_integer:
        return None
    if any(engine.unguarded(piece.atom)[1] for piece in (*first.pieces, *second.pieces)):
        return None
    store = engine.store
    never, always = _NEVER_AND_ALWAYS[direction]
    pieces: list[Any] = []
    domain = store.set_minus(first.domain, first.domain)
    for mine in first.pieces:
        for other in second.pieces:
            where = store.set_meet(store.domain(mine.rel), store.domain(other.rel))
            if store.set_empty(where):
                continue
            a = bounds_of(engine, mine.atom, store.restrict(mine.rel, where))
            b = bounds_of(engine, other.atom, store.restrict(other.rel, where))
            if never(a, b) or always(a, b):
                pieces.append(engine.constant_piece(np.bool_(always(a, b)), type_.dtype, where))
                domain = store.set_union(domain, where)
    if not pieces:
        return None
    engine.used("bounded integer")
    engine.leaves_out((first, second))  # the boolean depends on them no longer
    domain = store.set_meet(domain, store.set_meet(first.domain, second.domain))
    return engine.value(type_, tuple(pieces), domain, theory=strongest([first.theory, second.theory]))
