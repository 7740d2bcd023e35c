"""Reads the classes of the e-graph for the normal forms, and gives names to classes that only rules have made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..ops.record import Theory
from ..rules.constants import Constants
from ..rules.normal_form import CHAINS, OPS, Finding, Operation, systems
from .engine import Engine
from .schema import CHILDREN

Row = tuple[str, Any]
"""A node: its table and egglog's row."""


def findings(
    engine: Engine, constants: Constants, rows: Mapping[Any, list[Row]], theory: Theory, numbers: list[Any]
) -> Iterator[Finding]:
    """Equalities that normal forms show; class numbers index `numbers`, which is filled here."""
    numbering: dict[Any, int] = {}

    def number(value: Any) -> int:
        found = numbering.setdefault(value, len(numbers))
        if found == len(numbers):
            numbers.append(value)
        return found

    ops = {engine.value(op): op for op in (*OPS, *CHAINS)}
    dtypes: dict[Any, str] = {}
    nodes: list[tuple[str, int, Operation]] = []
    for class_, members in rows.items():
        for table, row in members:
            if table == "Const":
                cell = engine.number(row.inputs[1])
                value = constants.fraction(cell)
                if value is not None:
                    nodes.append((constants.dtype_of(cell), number(class_), Operation("constant", (), value)))
            elif table in ("Bin", "Un"):
                op = ops.get(row.inputs[0])
                if op is None or row.inputs[1] != row.inputs[2]:
                    continue
                spelled = row.inputs[2]
                dtype = dtypes.get(spelled) or dtypes.setdefault(spelled, engine.text(spelled))
                nodes.append((dtype, number(class_), Operation(op, tuple(map(number, row.inputs[3:])))))
    for dtype, forms in systems(nodes, theory):
        yield from forms.findings(dtype)


class Namer:
    """Term ids for classes: the caller's where it has one, else a new one for a node of the class."""

    def __init__(
        self, engine: Engine, rows: Mapping[Any, list[Row]], add: Callable[[str, tuple[int | str, ...]], int]
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._add = add
        self._names = {row.output: engine.number(row.inputs[0]) for row in engine.tables()["Class"].rows}

    def name(self, class_: Any) -> int | None:
        """None for a class that has no node without a cycle to itself through unnamed classes."""
        stack, open_ = [class_], set()
        while stack:
            current = stack[-1]
            if current in self._names:
                stack.pop()
                continue
            ready, waiting = self._ready(current, open_)
            if ready is not None:
                table, row = ready
                first = len(row.inputs) - CHILDREN[table]
                head = tuple(self._cell(table, at, value) for at, value in enumerate(row.inputs[:first]))
                children = tuple(self._names[value] for value in row.inputs[first:])
                self._names[current] = self._add(table, (*head, *children))
                stack.pop()
            elif current in open_ or not waiting:
                return None
            else:
                open_.add(current)
                stack.extend(waiting)
        return self._names[class_]

    def _ready(self, class_: Any, open_: set[Any]) -> tuple[Row | None, list[Any]]:
        waiting: list[Any] = []
        for table, row in self._rows.get(class_, ()):
            missing = [value for value in row.inputs[len(row.inputs) - CHILDREN[table] :] if value not in self._names]
            if not missing:
                return (table, row), []
            if not waiting and not any(value in open_ or value == class_ for value in missing):
                waiting = missing
        return None, waiting

    def _cell(self, table: str, at: int, value: Any) -> int | str:
        is_text = {"Const": at == 0, "View": False, "Leaf": False, "Total": at < 2}.get(table, True)
        return self._engine.text(value) if is_text else self._engine.number(value)
