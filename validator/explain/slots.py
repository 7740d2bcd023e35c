"""Where a repair can give another value in the place of one: to one op that takes it, or to all that do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..read.ir import Op, TensorType, Value
from .edits import Changes
from .make import Maker
from .scene import Scene, Site


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand of an op, or a result of it as all see it who use it."""

    site: Site
    value: Value
    position: int | None = None
    """The operand's number; None for a result."""

    @property
    def kind(self) -> TensorType:
        return self.value.tensor

    def filled(self, make: Maker, new: Value) -> Changes:
        """The edit that puts a value made of the slot's in its place."""
        op = self.site.op
        if self.position is not None:
            return ((self.site, (*make.ops, with_operand(op, self.position, new))),)
        old = make.fresh(self.kind)
        made = (renamed(one, {self.value.number: old, new.number: self.value}) for one in make.ops)
        return ((self.site, (renamed(op, {self.value.number: old}), *made)),)


def slots(scene: Scene, site: Site) -> Iterator[Slot]:
    """The tensors that an op takes, and those of its results that several ops take or that are returned."""
    for position, operand in enumerate(site.op.operands):
        if isinstance(operand.type, TensorType):
            yield Slot(site, operand, position)
    for result in site.op.results:
        if isinstance(result.type, TensorType) and (scene.returned(result) or len(scene.users(result)) > 1):
            yield Slot(site, result)


def with_operand(op: Op, position: int, value: Value) -> Op:
    """An op that takes another value as one of its operands."""
    return replace(op, operands=(*op.operands[:position], value, *op.operands[position + 1 :]))


def renamed(op: Op, names: Mapping[int, Value]) -> Op:
    """An op with other values in the place of its operands and results, by their numbers."""

    def other(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(names.get(value.number, value) for value in values)

    return replace(op, operands=other(op.operands), results=other(op.results))
