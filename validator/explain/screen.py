"""Looking at a repair in numbers first: most are no repair, which a run of what they change shows at once.

A repair is run from the op that it changes, as far as values change. One that leaves the result wrong is no repair; of
what remains a proof decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..evaluate.errors import EvaluationError
from ..evaluate.regions import RegionCall
from ..read.ir import Op, Region, TensorType
from .edits import Edits, Repair
from .known import Values
from .scene import Scene
from .witnesses import Witness

_PATIENCE = 4
"""A repair may run for as many times the ops of the whole program: loops in it may have lost their ends."""
_LEAST_STEPS = 500

_FAILURES = (EvaluationError, ValueError, TypeError, LookupError, ArithmeticError, AssertionError)
"""How a run of a program ends that an edit broke."""


class Screen:
    """Runs repairs of one program on inputs that show its error."""

    def __init__(self, scene: Scene, failing: tuple[int, ...], witnesses: tuple[Witness, ...]) -> None:
        self._scene = scene
        self._failing = failing
        self._witnesses = witnesses
        self._edits = Edits(scene.after, failing)
        wrong = {number for witness in witnesses for number in witness.wrong}
        self._needed = scene.result if scene.result in wrong else min(wrong, default=scene.result)

    def mended(self, repair: Repair) -> int | None:
        """On how many of the results that have no proof nothing is wrong after a repair; None where that is not known.

        0 where the scene's result is still wrong, or if that never was, the first that is.
        """
        if not self._witnesses:
            return None
        right = set(self._failing)
        for witness in self._witnesses:
            try:
                values = self._run(witness, repair)
            except _FAILURES:
                return 0
            if values is None:
                return None
            right = {number for number in right if self._is_right(witness, number, repair, values)}
            if self._needed not in right:
                return 0
        return len(right)

    def _is_right(self, witness: Witness, number: int, repair: Repair, values: Values) -> bool:
        own = self._scene.after.results[number].value
        returned = repair.returns.get(number, own.number)
        if returned == own.number and returned not in values:
            return number not in witness.wrong
        array = values[returned] if returned in values else witness.device[returned]
        return witness.demands[number].is_met(witness.machine.arithmetic.unload(array, own.tensor.dtype))

    def _run(self, witness: Witness, repair: Repair) -> dict[int, Any] | None:
        """The values that a repair changes, by number; None where what it takes to be known has no numbers."""
        witness.machine.max_steps = witness.machine.steps + _LEAST_STEPS + _PATIENCE * witness.steps
        changed: dict[int, Any] = {}
        for number, known in repair.given.items():
            numbers = known.numbers(witness.original)
            if numbers is None:
                return None
            changed[number] = numbers
        for ops, _ in self._edits.reached(repair, changed):
            for op in ops:
                for value, new in zip(op.results, self._evaluated(witness, op, changed), strict=True):
                    if isinstance(value.type, TensorType) and new.shape[1:] != value.type.shape:
                        raise ValueError(f"'{op.name}' gives another shape")
                    if value.number not in witness.device or not _same(new, witness.device[value.number]):
                        changed[value.number] = new
        return changed

    def _evaluated(self, witness: Witness, op: Op, changed: Mapping[int, Any]) -> list[Any]:
        def held(number: int) -> Any:
            return changed[number] if number in changed else witness.device[number]

        if not op.regions:
            return witness.machine.evaluate(op, [held(operand.number) for operand in op.operands])
        read = [value for value in self._edits.read_by(op) if value.number in changed or value.number in witness.device]
        block = Region(tuple(read), (op,), op.results)
        with np.errstate(all="ignore"):
            return witness.machine.call(RegionCall(block, [held(value.number) for value in read]))


def _same(left: Any, right: Any) -> bool:
    """Whether two arrays hold the same elements, those that are no numbers included."""
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return False
    if left.shape != right.shape:
        return False
    equal = left == right
    return bool(equal.all() if left.dtype.kind in "iub" else (equal | ((left != left) & (right != right))).all())
