"""Answers the questions of guards that the host decides: relations, and arithmetic on constants.

Rules write what they want to know into `want-*` relations; between iterations the answers are filled in as facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..rules.constants import IDEMPOTENT, Constants, Fact
from ..rules.rule import GUARDS, Sort
from .algebra import RelationAlgebra
from .engine import Engine
from .schema import wanted


class Oracle:
    """Each question is asked of the host once."""

    def __init__(self, algebra: RelationAlgebra, constants: Constants, engine: Engine) -> None:
        self._algebra = algebra
        self._constants = constants
        self._engine = engine
        self._known: dict[tuple[Any, ...], Any] = {}
        self._answered: dict[str, set[tuple[int | str, ...]]] = {name: set() for name in GUARDS}
        self._questions: dict[str, Callable[..., int | bool | None]] = {
            "compose": self.compose,
            "compose-total": self._compose_total,
            "function": self.is_function,
            "identity": self.is_identity,
            "nonempty": self._is_nonempty,
            "multiple": self._multiple,
            "fold-unary": constants.fold_unary,
            "fold-binary": constants.fold_binary,
            "fold-convert": constants.fold_convert,
        }

    def answer(self, guards: Iterable[str]) -> list[Fact]:
        """New facts for the questions waiting under these guards."""
        tables = self._engine.tables()
        facts: list[Fact] = []
        for name in guards:
            guard, answered = GUARDS[name], self._answered[name]
            for row in tables[wanted(name)].rows:
                question = tuple(
                    self._engine.text(value) if sort in (Sort.OP, Sort.DTYPE) else self._engine.number(value)
                    for sort, value in zip(guard.cells, row.inputs, strict=False)
                )
                if question in answered:
                    continue
                answered.add(question)
                result = self.ask(name, question)
                if guard.outputs == 0 and result:
                    facts.append((name, question))
                elif guard.outputs == 1 and result is not None:
                    facts.append((name, (*question, result)))
        return facts

    def ask(self, guard: str, question: Sequence[int | str]) -> int | bool | None:
        """The answer to one question of a guard: its last cell, or whether it holds."""
        return self._questions[guard](*question)

    def compose(self, first: int, second: int) -> int | None:
        return self._once("compose", first, second)

    def is_identity(self, relation: int) -> bool:
        return self._once("is_identity", relation)

    def is_function(self, relation: int) -> bool:
        return self._once("is_function", relation)

    def _is_nonempty(self, relation: int) -> bool:
        return self._once("is_nonempty", relation)

    def _compose_total(self, monoid: str, first: int, second: int) -> int | None:
        if monoid in IDEMPOTENT or self._once("counts_once", first, second):
            return self.compose(first, second)
        return None

    def _multiple(self, monoid: str, dtype: str, relation: int, constant: int) -> int | None:
        if monoid in IDEMPOTENT:
            return constant if self._is_nonempty(relation) else None
        count = self._once("count", relation)
        return None if count is None else self._constants.multiple(monoid, dtype, constant, count)

    def _once(self, method: str, *relations: int) -> Any:
        key = (method, *relations)
        if key not in self._known:
            self._known[key] = getattr(self._algebra, method)(*relations)
        return self._known[key]
