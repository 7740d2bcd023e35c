"""How operations on whole rows relate: sorts, selections of the greatest, dense factorisations, opaque calls.

Lemma *ties by place*: a comparator that is L, but says whether the one's number is less where L does not tell two
elements apart, sorts as L does in a stable sort, if the numbers grow along each row and L is a strict weak order:
x < y, in an order that NaN has a place in, or such tests of several keys, each where the ones before it are equal. XLA
for TPUs writes stable sorts so. A stable sort orders each operand by what L looks at alone. Theory: exact.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..read.ir import Op
from ..relation.build import names
from ..relation.objects import Rel
from .comparators import comparator_of
from .engine import Engine, RowOperand
from .order_maps import ROWS, sort_lines
from .values import is_tensor


def relate_row_op(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """An op that treats rows by themselves."""
    rows = ROWS[op.name](engine.builder, op)
    if isinstance(rows, str) or not all(map(is_tensor, values)):
        return engine.refuse(op, rows if isinstance(rows, str) else f"op '{op.name}'")
    read = [RowOperand(values[number], rel, rank) for number, rel, rank in rows.operands]
    return engine.rows(rows.key, read, rows.batch, [result.tensor for result in op.results], rows.reads)


def relate_sort(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """A sort of rows; an unstable one is the same function of equal rows."""
    comparator = comparator_of(op.regions[0])
    if comparator is None or not all(map(is_tensor, values)):
        return engine.refuse(op, f"comparator of '{op.name}' that reads outer values")
    batch, line, back = sort_lines(engine.builder, op)
    types, stable = [result.tensor for result in op.results], bool(op.attributes.get("is_stable", False))
    apart = comparator.by_number()
    if apart is not None and _grows(engine, values[apart[1]], line):
        engine.used("ties by place")
        comparator, stable = apart[0], True
    if not stable:
        rows = [RowOperand(value, line, 1) for value in values]
        key = (op.name, comparator.name(range(len(values))), stable)
        return engine.rows(key, rows, batch, types, (back,) * len(types))
    results: list[Any] = []
    looked_at = comparator.operands()
    for number, type_ in enumerate(types):
        moved = looked_at if number in looked_at else (*looked_at, number)
        rows = [RowOperand(values[k], line, 1) for k in moved]
        key = (op.name, comparator.name(looked_at), stable, moved.index(number))
        results += engine.rows(key, rows, batch, [type_], [back])
    return results


def _grows(engine: Engine, value: Any, line: Rel) -> bool:
    """Whether a value is known integers that grow along every row; `line` leads from (d, batch, place) to points."""
    store = engine.store
    if value.monoid is not None or not value.type.dtype.is_integer:
        return False
    if not value.pieces or not all(engine.is_integer(piece.atom) for piece in value.pieces):
        return False
    if not store.set_equal(value.domain, engine.points(value.type)):
        return False
    numbers = store.compose(line, reduce(store.union, [piece.rel for piece in value.pieces]))
    row = names("p", line.arity_in - 1)
    pair = ",".join([*row, "a", "b"])
    first, second = (
        store.compose(store.rel(f"{{[{pair}] -> [{','.join([*row, place])}] : a < b}}"), numbers) for place in "ab"
    )
    return store.set_subset(store.range(store.pair(first, second)), store.dom("{[m, n] : m < n}"))


RELATIONS = {**dict.fromkeys(ROWS, relate_row_op), "stablehlo.sort": relate_sort}
