"""Finds ops under views: view r of f(x, y) equals f(u, v) where u and v are x and y read through r.

Pushing views into ops makes new terms, and their number grows with the square of the depth. Here nothing is made: an
operand read through r is looked up among the terms there are, as `view r x`, as `view r;s` of what x is a view of, or
as a constant; so is the op over these operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from .engine import Engine
from .oracle import Oracle
from .schema import CHILDREN, TABLES

Row = tuple[str, Any]
MOST = 16
"""Ways to read one op's operands that are tried."""

_OPS = frozenset(TABLES.values())


def meetings(engine: Engine, oracle: Oracle, rows: Mapping[Any, list[Row]]) -> Iterator[tuple[Any, Any]]:
    """Pairs of classes that are equal but not yet one."""
    views: dict[tuple[int, Any], Any] = {}
    ops: dict[tuple[Any, ...], Any] = {}
    viewed: dict[Any, list[tuple[int, Any]]] = {}
    for class_, members in rows.items():
        for table, row in members:
            if table == "View":
                relation, term = engine.number(row.inputs[0]), row.inputs[1]
                views[(relation, term)] = class_
                viewed.setdefault(class_, []).append((relation, term))
            elif table in _OPS:
                ops[(table, *row.inputs)] = class_
    constants = {class_ for class_, members in rows.items() if any(table == "Const" for table, _ in members)}

    def read(relation: int, term: Any) -> set[Any]:
        """The classes known to be `term` read through `relation`."""
        found = {term} if term in constants else set()
        if (relation, term) in views:
            found.add(views[(relation, term)])
        for inner, origin in viewed.get(term, ()):
            composite = oracle.compose(relation, inner)
            if composite is None:
                continue
            if oracle.is_identity(composite):
                found.add(origin)
            elif (composite, origin) in views:
                found.add(views[(composite, origin)])
        return found

    for (relation, term), class_ in views.items():
        for table, row in rows.get(term, ()):
            if table not in _OPS:
                continue
            first = len(row.inputs) - CHILDREN[table]
            choices = [read(relation, operand) for operand in row.inputs[first:]]
            ways = 1
            for choice in choices:
                ways *= len(choice)
            if not 0 < ways <= MOST:
                continue
            for operands in product(*choices):
                other = ops.get((table, *row.inputs[:first], *operands))
                if other is not None and other != class_:
                    yield class_, other
