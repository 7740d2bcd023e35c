"""Looking at a repair in numbers first: most are no repair, which a run of what they change shows at once.

Both programs are run on a few drawn inputs, and all values are kept. A repair is run from the op that it changes, as
far as values change. One that leaves the result wrong is no repair; of what remains a proof decides.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ..evaluate.arithmetic import Arithmetic, Native, Wide
from ..evaluate.compare import Counterexample
from ..evaluate.cone import MAX_ELEMENTS, Cone
from ..evaluate.errors import EvaluationError
from ..evaluate.given import given_layouts
from ..evaluate.inputs import Profile, draw, extents
from ..evaluate.layouts import Layouts
from ..evaluate.machine import Machine
from ..evaluate.numbers import STORAGE
from ..evaluate.regions import RegionCall
from ..read.ir import DType, Op, Program, Region, TensorType
from .edits import Edits, Repair
from .known import Values
from .scene import Scene

_DRAWS = 14
"""Inputs that are drawn in search of some on which the programs differ."""
_WITNESSES = 4
"""Inputs on which a repair must be right."""
_SECONDS = 1.0
"""How long looking for them may take."""
_WIDE = 1e-6
"""Greatest relative difference that is rounding's in the wide arithmetic."""
_CLOSER = 8.0
"""Where only rounding differs, a repair must bring the programs closer by this factor."""
_STEPS = 64.0
"""What is less than so many steps of a type may be due to the order of its sums."""
_PATIENCE = 20.0
"""A repair may run for as many times what the whole programs took: loops in it may have lost their ends."""
_LEAST_PATIENCE = 0.2

_FAILURES = (EvaluationError, ValueError, TypeError, LookupError, ArithmeticError, AssertionError)
"""How a run of a program ends that an edit broke."""


@dataclass(frozen=True, slots=True, eq=False)
class _Witness:
    """Inputs with what they give: all values of both programs' outermost blocks, and the results that are demanded."""

    machine: Machine
    original: Values
    device: Values
    expected: tuple[np.ndarray, ...]
    defined: tuple[np.ndarray, ...]
    limits: tuple[float, ...]
    """By result: the relative difference up to which it is right."""
    wrong: frozenset[int]
    """Results that are not right on these inputs."""
    seconds: float


class Screen:
    """Runs repairs of one program on inputs that show its error."""

    def __init__(self, scene: Scene, failing: tuple[int, ...], witnesses: tuple[_Witness, ...]) -> None:
        self._scene = scene
        self._failing = failing
        self._witnesses = witnesses
        self._edits = Edits(scene.after, failing)

    def mended(self, repair: Repair) -> int | None:
        """On how many of the results that have no proof nothing is wrong after a repair; None where that is not known.

        0 where the first of them is still wrong.
        """
        right = set(self._failing)
        for witness in self._witnesses:
            try:
                values = self._run(witness, repair)
            except _FAILURES:
                return 0
            if values is None:
                return None
            right = {number for number in right if self._is_right(witness, number, repair, values)}
            if self._scene.result not in right:
                return 0
        return len(right)

    def _is_right(self, witness: _Witness, number: int, repair: Repair, values: Values) -> bool:
        own = self._scene.after.results[number].value.number
        returned = repair.returns.get(number, own)
        if returned == own and own not in values:
            return number not in witness.wrong
        array = values[returned] if returned in values else witness.device[returned]
        return _distance(witness, self._scene.after, number, array) <= witness.limits[number]

    def _run(self, witness: _Witness, repair: Repair) -> dict[int, Any] | None:
        """The values that a repair changes, by number; None where what it takes to be known has no numbers."""
        machine = witness.machine
        machine.deadline = time.monotonic() + _LEAST_PATIENCE + _PATIENCE * witness.seconds
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

    def _evaluated(self, witness: _Witness, op: Op, changed: Mapping[int, Any]) -> list[Any]:
        def held(number: int) -> Any:
            return changed[number] if number in changed else witness.device[number]

        if not op.regions:
            return witness.machine.evaluate(op, [held(operand.number) for operand in op.operands])
        read = [value for value in self._edits.read_by(op) if value.number in changed or value.number in witness.device]
        block = Region(tuple(read), (op,), op.results)
        with np.errstate(all="ignore"):
            return witness.machine.call(RegionCall(block, [held(value.number) for value in read]))


def screen(scene: Scene, failing: tuple[int, ...], known: Counterexample | None = None) -> Screen | None:
    """A screen for the repairs of a result; None where no inputs show that it is wrong, or the programs cannot be run.

    Inputs that are known to show it come first. Where only rounding differs, they show it in the programs' own types.
    """
    try:
        layouts = given_layouts(scene.before, scene.after, scene.decision.relations)
        if Cone(scene.before, scene.after, scene.decision.relations, (), ()).largest > MAX_ELEMENTS:
            return None
        witnesses: tuple[_Witness, ...] = ()
        for arithmetic in (Wide(), Native()):
            witnesses = witnesses or tuple(_witnesses(scene, failing, layouts, arithmetic, known))
    except (EvaluationError, MemoryError):
        return None
    return Screen(scene, failing, witnesses) if witnesses else None


def _witnesses(
    scene: Scene,
    failing: tuple[int, ...],
    layouts: Layouts,
    arithmetic: Arithmetic,
    known: Counterexample | None,
) -> Iterator[_Witness]:
    """Runs, those first on which the result is wrong; none where there is no such run."""
    end = time.process_time() + _SECONDS
    found: list[_Witness] = []
    for inputs, seed in _inputs(scene, layouts, known):
        witness = _witness(scene, failing, layouts, arithmetic, inputs, seed)
        if witness is not None:
            found.append(witness)
        shown = sum(scene.result in each.wrong for each in found)
        if (shown and len(found) >= _WITNESSES) or time.process_time() > end:
            break
    found.sort(key=lambda each: (scene.result not in each.wrong, -len(each.wrong)))
    if found and scene.result in found[0].wrong:
        yield from found[:_WITNESSES]


def _inputs(scene: Scene, layouts: Layouts, known: Counterexample | None) -> Iterator[tuple[Sequence[np.ndarray], int]]:
    """Logical inputs, each with the seed for what stands in the padding of shards."""
    if known is not None:
        yield known.inputs, known.seed
    limits = extents((scene.before, scene.after))
    for number, profile in zip(range(_DRAWS), itertools.cycle(Profile)):
        yield draw(layouts.logical, profile, np.random.default_rng([0, number]), limits), 0


def _witness(
    scene: Scene,
    failing: tuple[int, ...],
    layouts: Layouts,
    arithmetic: Arithmetic,
    inputs: Sequence[np.ndarray],
    seed: int,
) -> _Witness | None:
    """One run of both programs; None where the specification leaves open what the inputs give."""
    before, after = scene.before, scene.after
    start = time.process_time()
    devices = layouts.before_devices
    spec = Machine(devices, arithmetic, num_partitions=after.num_partitions if devices == after.num_devices else None)
    original = _kept(spec, before, layouts.to_before(inputs))
    machine = Machine(after, arithmetic)
    device = _kept(machine, after, layouts.to_after(inputs, np.random.default_rng([seed, 0xBAD])))
    if spec.undefined or spec.unordered or machine.undefined:
        return None
    wanted = layouts.expected([original[result.value.number] for result in before.results])
    expected = tuple(
        arithmetic.unload(np.asarray(want), result.value.tensor.dtype)
        for (want, _), result in zip(wanted, after.results, strict=True)
    )
    none = (0.0,) * len(expected)
    run = _Witness(
        machine,
        original,
        device,
        expected,
        tuple(mask for _, mask in wanted),
        none,
        frozenset(),
        time.process_time() - start,
    )
    apart = {number: _distance(run, after, number, device[after.results[number].value.number]) for number in failing}
    wide = isinstance(arithmetic, Wide)
    bounds = tuple(
        _WIDE if wide else max(apart.get(number, 0.0) / _CLOSER, _own_rounding(result.value.tensor.dtype))
        for number, result in enumerate(after.results)
    )
    wrong = frozenset(number for number, distance in apart.items() if distance > bounds[number])
    return replace(run, limits=bounds, wrong=wrong)


def _own_rounding(dtype: DType) -> float:
    """The relative difference that sums in another order may make in a type."""
    return _STEPS * float(ml_dtypes.finfo(STORAGE[dtype]).eps) if dtype.is_float else 0.0


def _kept(machine: Machine, program: Program, inputs: Sequence[np.ndarray]) -> dict[int, Any]:
    """Run a program; all values of its outermost block by number, parameters included."""
    values = [parameter.value for parameter in program.parameters]
    values += [value for op in program.body.ops for value in op.results]
    body = Region(program.body.arguments, program.body.ops, tuple(values))
    loaded = [
        machine.arithmetic.load(array, parameter.value.tensor.dtype)
        for array, parameter in zip(inputs, program.parameters, strict=True)
    ]
    for parameter in program.parameters:
        machine.shardings[parameter.value.number] = parameter.sharding
    with np.errstate(all="ignore"):
        held = machine.call(RegionCall(body, loaded))
    return {value.number: array for value, array in zip(values, held, strict=True)}


def _distance(witness: _Witness, after: Program, number: int, array: np.ndarray) -> float:
    """How far a result is off at most, relatively; infinite where it has another shape or integers differ."""
    got = witness.machine.arithmetic.unload(array, after.results[number].value.tensor.dtype)
    want, defined = witness.expected[number], witness.defined[number]
    if want.shape != got.shape:
        return np.inf
    if want.dtype.kind in "iub":
        return np.inf if bool(np.any(defined & (want != got))) else 0.0
    with np.errstate(all="ignore"):
        finite = defined & np.isfinite(want) & np.isfinite(got)
        left, right = np.where(finite, want, 0), np.where(finite, got, 0)
        size = np.maximum(np.abs(left), np.abs(right))
        size = np.maximum(size, 1e-3 * np.max(size, initial=0.0))
        return float(np.max(np.where(size > 0, np.abs(left - right) / size, 0), initial=0.0))


def _same(left: Any, right: Any) -> bool:
    """Whether two arrays hold the same elements, those that are no numbers included."""
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return False
    if left.shape != right.shape:
        return False
    equal = left == right
    return bool(equal.all() if left.dtype.kind in "iub" else (equal | ((left != left) & (right != right))).all())
