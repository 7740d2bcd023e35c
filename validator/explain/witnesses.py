"""Inputs that show an error, with all that both programs make of them: what repairs are looked at with."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ..evaluate.arithmetic import Arithmetic, Native, Wide
from ..evaluate.compare import Counterexample
from ..evaluate.errors import EvaluationError, OutOfTime
from ..evaluate.given import given_layouts
from ..evaluate.inputs import Profile, draw, extents
from ..evaluate.layouts import Layouts
from ..evaluate.machine import Machine
from ..evaluate.numbers import STORAGE
from ..evaluate.regions import RegionCall
from ..read.ir import DType, Program, Region, TensorType, Value
from .known import Values
from .scene import Scene

_DRAWS = 14
"""Inputs that are drawn in search of some on which the programs differ."""
_WITNESSES = 7
"""Inputs on which a repair must be right."""
_SECONDS = 1.0
"""Processor seconds that the search for them may take."""
_RUN_SECONDS = 0.05
"""What takes longer to run than this, and longer than its proof took, is not looked at in numbers."""
_OUTLIER = 4
"""How many times longer the first run alone may take."""
_WALL_SECONDS = 5.0
"""A run that takes longer than this, on a busy machine, is given up before it is over."""
_MAX_HELD = 1 << 24
"""Elements, on all devices, that are held of all runs together."""
_WIDE = 1e-6
"""Greatest relative difference that is rounding's in the wide arithmetic."""
_CLOSER = 8.0
"""Where only rounding differs, a repair must bring the programs closer by this factor."""
_STEPS = 64.0
"""What is less than so many steps of a type may be due to the order of its sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What devices must hold of one result, and where; how far they may be off, relatively."""

    expected: np.ndarray
    defined: np.ndarray
    limit: float
    excused: np.ndarray | bool = False
    """Where one is a number and the other is not before any repair, and something else is wrong: rounding may do so."""

    def distance(self, got: np.ndarray) -> float:
        """How far an array [devices, *shape] is off at most; infinite where it has another shape or integers differ."""
        want = self.expected
        if want.shape != got.shape:
            return math.inf
        if want.dtype.kind in "iub":
            return math.inf if bool(np.any(self.defined & (want != got))) else 0.0
        with np.errstate(all="ignore"):
            finite = self.defined & np.isfinite(want) & np.isfinite(got)
            left, right = np.where(finite, want, 0), np.where(finite, got, 0)
            size = np.maximum(np.abs(left), np.abs(right))
            size = np.maximum(size, 1e-3 * np.max(size, initial=0.0))
            return float(np.max(np.where(size > 0, np.abs(left - right) / size, 0), initial=0.0))

    def special(self, got: np.ndarray) -> np.ndarray | bool:
        """Where an array of the right shape is no number and should be one, or the other way round."""
        if self.expected.dtype.kind in "iub":
            return False
        return self.defined & (np.isfinite(self.expected) != np.isfinite(got))

    def is_met(self, got: np.ndarray) -> bool:
        return self.distance(got) <= self.limit and not np.any(self.special(got) & ~np.asarray(self.excused))


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """One run of both programs: all values of their outermost blocks, and what is demanded of the results."""

    machine: Machine
    original: Values
    device: Values
    demands: tuple[Demand, ...]
    wrong: frozenset[int]
    """Results that are not right on these inputs."""
    plain: bool
    """Whether numbers are wrong, not only what is a number."""
    seconds: float
    steps: int
    """Ops that the partitioned program ran, those in loops each time."""


def witnesses(scene: Scene, failing: tuple[int, ...], known: Counterexample | None) -> tuple[Witness, ...]:
    """Runs, those first on which the scene's result is wrong; none where there is no such run, or it takes too much.

    Inputs that are known to show it come first. A result may lack its proof for what makes another one wrong: then that
    one is looked at. Where only rounding differs, inputs show it in the programs' own types.
    """
    held = sum(map(_size, _values(scene.before))) + scene.after.num_devices * sum(map(_size, _values(scene.after)))
    count = min(_WITNESSES, _MAX_HELD // max(held, 1))
    if not count:
        return ()
    try:
        layouts = given_layouts(scene.before, scene.after, scene.decision.relations)
        asked = frozenset((scene.result,))
        others = frozenset(failing) - asked
        for arithmetic, results in itertools.product((Wide(), Native()), (asked, others)):
            found = _found(scene, failing, results, layouts, arithmetic, known, count) if results else ()
            if found:
                return found
    except (EvaluationError, MemoryError):
        pass
    return ()


def _found(
    scene: Scene,
    failing: tuple[int, ...],
    asked: frozenset[int],
    layouts: Layouts,
    arithmetic: Arithmetic,
    known: Counterexample | None,
    count: int,
) -> tuple[Witness, ...]:
    """Runs, those first on which one of the results asked for is wrong."""
    end = time.process_time() + _SECONDS
    found: list[Witness] = []
    for inputs, seed in _inputs(scene, layouts, known):
        witness = _run(scene, failing, layouts, arithmetic, inputs, seed)
        if witness is not None:
            found.append(witness)
            least, limit = min(each.seconds for each in found), max(_RUN_SECONDS, scene.decision.seconds)
            # a single run may be slow for other reasons
            if least > limit * (1 if len(found) > 1 else _OUTLIER):
                raise OutOfTime("one run takes longer than the proof did")
            found.sort(key=lambda each: (not asked & each.wrong, not each.plain, -len(each.wrong)))
            del found[count + 1 :]
        shown = bool(found) and bool(asked & found[0].wrong) and found[0].plain
        if (shown and len(found) >= count) or time.process_time() > end:
            break
    if not found or not asked & found[0].wrong:
        return ()
    if found[0].plain:
        # elsewhere rounding may have made what is no number
        found = [each for each in found if each.plain or not each.wrong]
    return tuple(found[:count])


def _inputs(scene: Scene, layouts: Layouts, known: Counterexample | None) -> Iterator[tuple[Sequence[np.ndarray], int]]:
    """Logical inputs, each with the seed for what stands in the padding of shards."""
    if known is not None:
        yield known.inputs, known.seed
    limits = extents((scene.before, scene.after))
    for number, profile in zip(range(_DRAWS), itertools.cycle(Profile)):
        yield draw(layouts.logical, profile, np.random.default_rng([0, number]), limits), 0


def _run(
    scene: Scene,
    failing: tuple[int, ...],
    layouts: Layouts,
    arithmetic: Arithmetic,
    inputs: Sequence[np.ndarray],
    seed: int,
) -> Witness | None:
    """One run of both programs; None where the specification leaves open what the inputs give."""
    before, after = scene.before, scene.after
    start = time.process_time()
    devices = layouts.before_devices
    end = time.monotonic() + _WALL_SECONDS
    partitions = after.num_partitions if devices == after.num_devices else None
    spec = Machine(devices, arithmetic, deadline=end, num_partitions=partitions)
    original = _kept(spec, before, layouts.to_before(inputs))
    machine = Machine(after, arithmetic, deadline=end)
    device = _kept(machine, after, layouts.to_after(inputs, np.random.default_rng([seed, 0xBAD])))
    machine.deadline = None
    if spec.undefined or spec.unordered or machine.undefined:
        return None
    seconds = time.process_time() - start
    demands: list[Demand] = []
    apart: set[int] = set()
    special: set[int] = set()
    wanted = layouts.expected([original[result.value.number] for result in before.results])
    noise = {} if isinstance(arithmetic, Wide) else _noise(scene, layouts, inputs, original)
    for number, ((want, defined), result) in enumerate(zip(wanted, after.results, strict=True)):
        dtype = result.value.tensor.dtype
        demand = Demand(arithmetic.unload(np.asarray(want), dtype), defined, _WIDE)
        demands.append(demand)
        if number not in failing:
            continue
        got = arithmetic.unload(device[result.value.number], dtype)
        distance = demand.distance(got)
        if noise:
            demand = replace(demand, limit=max(distance / _CLOSER, _own_rounding(dtype), _CLOSER * noise[number]))
        if distance > demand.limit:
            apart.add(number)
            demand = replace(demand, excused=demand.special(got))
        elif np.any(demand.special(got)):
            special.add(number)
        demands[-1] = demand
    return Witness(
        machine,
        original,
        device,
        tuple(demands),
        frozenset(apart | special),
        scene.result in apart or not special,
        seconds,
        machine.steps,
    )


def _noise(scene: Scene, layouts: Layouts, inputs: Sequence[np.ndarray], original: Values) -> dict[int, float]:
    """How far the original's own results are off, relatively, for the rounding of sums and products in its types."""
    wide = Wide(narrowing=True)
    exact = _kept(Machine(layouts.before_devices, wide), scene.before, layouts.to_before(inputs))
    found = {}
    for number, result in enumerate(scene.before.results):
        value, dtype = result.value, result.value.tensor.dtype
        want = wide.unload(exact[value.number], dtype)
        got = Native().unload(original[value.number], dtype)
        distance = Demand(want, np.ones(want.shape, np.bool_), 0.0).distance(got)
        found[number] = distance if math.isfinite(distance) else 0.0
    return found


def _own_rounding(dtype: DType) -> float:
    """The relative difference that sums in another order may make in a type."""
    return _STEPS * float(ml_dtypes.finfo(STORAGE[dtype]).eps) if dtype.is_float else 0.0


def _kept(machine: Machine, program: Program, inputs: Sequence[np.ndarray]) -> dict[int, Any]:
    """Run a program; all values of its outermost block by number, parameters included."""
    values = _values(program)
    body = Region(program.body.arguments, program.body.ops, values)
    loaded = [
        machine.arithmetic.load(array, parameter.value.tensor.dtype)
        for array, parameter in zip(inputs, program.parameters, strict=True)
    ]
    for parameter in program.parameters:
        machine.shardings[parameter.value.number] = parameter.sharding
    with np.errstate(all="ignore"):
        held = machine.call(RegionCall(body, loaded))
    return {value.number: array for value, array in zip(values, held, strict=True)}


def _values(program: Program) -> tuple[Value, ...]:
    parameters = (parameter.value for parameter in program.parameters)
    return (*parameters, *(value for op in program.body.ops for value in op.results))


def _size(value: Value) -> int:
    return value.type.size if isinstance(value.type, TensorType) else 0
