"""What a walk did, for certificates: per op the values it gave and the operands it rewrote first. Off by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..read.ir import Op
from ..relation.store import Rel
from .value import AnyVal, Val


@dataclass(slots=True, eq=False)
class LoopStep:
    """How a loop was related: paired by these relations with one of the original, or repeated (no loop).

    A loop of the original has relations that say which element stands for each point of what it carries.
    """

    loop: Any | None
    relations: tuple[Rel, ...]
    first: int
    """Which of the blocks that were walked is the first of the proof; those before it belong to failed attempts."""


@dataclass(slots=True, eq=False)
class TracedOp:
    """One op as it was walked."""

    op: Op
    operands: tuple[AnyVal, ...] = ()
    results: tuple[AnyVal, ...] = ()
    rewritten: dict[int, AnyVal] = field(default_factory=dict)
    """By operand: what it was closed or named as before the op used it."""
    ordinary: dict[tuple[str, int], AnyVal] = field(default_factory=dict)
    """By operand or result: what it is without the equalities that gave it other terms; only where there are any."""
    blocks: list[list[TracedOp]] = field(default_factory=list)
    """Every block walked inside the op, in order."""
    loop: LoopStep | None = None
    _changes: dict[int, tuple[AnyVal, AnyVal]] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """The ops of one walk, block by block."""

    blocks: list[list[TracedOp]] = field(default_factory=list)
    _open: list[TracedOp] = field(default_factory=list)
    _ordinary: dict[int, tuple[AnyVal, AnyVal]] = field(default_factory=dict)

    def begin_block(self) -> list[TracedOp]:
        block: list[TracedOp] = []
        (self._open[-1].blocks if self._open else self.blocks).append(block)
        return block

    def begin(self, op: Op) -> None:
        self._open.append(TracedOp(op))

    def given(self, operands: Sequence[AnyVal]) -> None:
        """The operands of the op at hand, as its relation sees them."""
        self._open[-1].operands = tuple(operands)

    def changed(self, old: AnyVal, new: AnyVal) -> None:
        """A value was rewritten: folded, closed or named."""
        if new is not old and self._open:
            # an operand that is read twice may come out in two ways, both of which it is
            self._open[-1]._changes.setdefault(id(old), (old, new))

    def equated(self, ordinary: Val, value: Val) -> None:
        """A value has other terms in place of its own, by equalities."""
        if {piece.atom for piece in ordinary.pieces} != {piece.atom for piece in value.pieces}:
            self._ordinary[id(value)] = value, ordinary

    def ordinary(self, value: Any) -> Any:
        """What a value is without equalities: itself where it needs none."""
        return self._ordinary.get(id(value), (value, value))[1]

    def loop(self, loop: Any | None, relations: Sequence[Rel], first: int) -> None:
        self._open[-1].loop = LoopStep(loop, tuple(relations), first)

    def walked(self) -> int:
        """How many blocks of the op at hand have been walked so far."""
        return len(self._open[-1].blocks)

    def end(self, block: list[TracedOp], results: Sequence[AnyVal]) -> None:
        step = self._open.pop()
        step.results = tuple(results)
        for number, value in enumerate(step.operands):
            last = value
            while id(last) in step._changes:
                last = step._changes[id(last)][1]
            if last is not value:
                step.rewritten[number] = last
        for of, values in (("operand", step.rewritten), ("result", dict(enumerate(results)))):
            for number, value in values.items():
                if self.ordinary(value) is not value:
                    step.ordinary[of, number] = self.ordinary(value)
        step._changes.clear()
        block.append(step)
