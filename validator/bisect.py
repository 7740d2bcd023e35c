"""The first pass of a pipeline whose output is not equivalent to its input.

Modules before the partitioner are compared as programs of logical tensors, those after it as programs of the same
devices, and the partitioner itself as any pair is. Where a step is neither proved nor refuted, later modules are also
compared with the last one that is known to be right, so that a pass that cannot be followed hides nothing of those
after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .ops.devices import asks_for_devices, crosses_boundaries
from .options import Options
from .read.errors import ReadError, ReadErrorKind
from .read.ir import Program
from .read.passes import PassDump, PassModule
from .read.program import read_pair, read_program
from .read.shardings import Sharding
from .report.bisection import Bisection, Step
from .report.report import Obstacle, Report
from .report.verdict import Verdict
from .run import validate_read

Engine = Callable[[Program, Program, Options], Report]


def bisect(dump: PassDump, options: Options, engine: Engine = validate_read) -> Bisection:
    """Goes through the passes in order, up to the first that is wrong. Raises `ReadError` for a damaged module."""
    start = time.monotonic()
    search = _Search(dump, options, engine)
    steps: list[Step] = []
    right = dump.modules[0]
    for given, left in zip(dump.modules, dump.modules[1:], strict=False):
        report = search.compared(given, left)
        if report.verdict not in (Verdict.PROVED, Verdict.REFUTED) and right is not given:
            wider = search.compared(right, left)
            report = wider if wider.verdict in (Verdict.PROVED, Verdict.REFUTED) else report
        steps.append(Step(given.pipeline if left.is_start else left.pipeline, _between(given, left), report))
        if report.verdict is Verdict.REFUTED:
            break
        if report.verdict is Verdict.PROVED and (report.before == right.path.name or given is right):
            right = left
    return Bisection(dump.name, tuple(steps), dump.left_out, time.monotonic() - start)


def _between(given: PassModule, left: PassModule) -> tuple[str, str]:
    """The first and the last pass that may have run between two dumps."""
    if left.is_start:
        return given.before, given.before or left.after
    return (given.before if given.pipeline == left.pipeline or given.is_start else ""), left.after


class _Search:
    def __init__(self, dump: PassDump, options: Options, engine: Engine) -> None:
        self._options = options
        self._engine = engine
        self._level = {module.order: k < dump.logical for k, module in enumerate(dump.modules)}
        self._programs: dict[int, Program | ReadError] = {}
        self._counts = (1, 1)
        self._shardings: tuple[Sharding | None, ...] = ()
        if 0 < dump.logical < len(dump.modules):
            sides = dump.modules[dump.logical - 1], dump.modules[dump.logical]
            before, after = read_pair(*(side.path.read_bytes() for side in sides), names=_names(*sides))
            self._counts = (after.num_replicas, after.num_partitions)
            self._shardings = tuple(parameter.sharding for parameter in before.parameters)

    def compared(self, given: PassModule, left: PassModule) -> Report:
        """The verdict on one module against another; what is not modelled is a verdict."""
        try:
            before, after = self._pair(given, left)
        except ReadError as error:
            if error.kind not in (ReadErrorKind.UNSUPPORTED, ReadErrorKind.MISMATCH):
                raise
            return Report(
                *_names(given, left),
                Verdict.UNSUPPORTED,
                assumptions=tuple(self._options.assumptions),
                obstacle=Obstacle.UNSUPPORTED,
                message=f"{error.where}: {error.message}",
            )
        report = self._engine(before, after, self._options)
        return report if before.source == given.path.name else _turned(report)

    def _pair(self, given: PassModule, left: PassModule) -> tuple[Program, Program]:
        if self._level[given.order] is not self._level[left.order]:
            return read_pair(given.path.read_bytes(), left.path.read_bytes(), names=_names(given, left))
        before, after = self._program(given), self._program(left)
        for program in (before, after):
            if crosses_boundaries(program):
                message = "manual regions of logical tensors are not followed from pass to pass"
                raise ReadError(ReadErrorKind.UNSUPPORTED, program.source, message)
        asking = asks_for_devices(before) or asks_for_devices(after)
        if self._level[given.order] or not asking:
            # no device differs from another: logical tensors, or each device by itself
            return _alone(before), _alone(after)
        if not asks_for_devices(before):
            # equivalence has no direction, and the side with devices tells how to read the other
            return after, before
        return before, after

    def _program(self, module: PassModule) -> Program:
        known = self._programs.get(module.order)
        if known is None:
            counts = None if self._level[module.order] else self._counts
            try:
                known = read_program(module.path.read_bytes(), name=module.path.name, counts=counts)
                known = known if self._level[module.order] else self._with_copies(known)
            except ReadError as error:
                known = error
            self._programs = {**dict(list(self._programs.items())[-2:]), module.order: known}
        if isinstance(known, ReadError):
            raise known
        return known

    def _with_copies(self, program: Program) -> Program:
        """The program with the shardings its parameters had, by which some devices are given the same."""
        if len(self._shardings) != len(program.parameters):
            return program
        told = zip(program.parameters, self._shardings, strict=True)
        parameters = tuple(replace(mine, sharding=mine.sharding or sharding) for mine, sharding in told)
        return replace(program, parameters=parameters)


def _alone(program: Program) -> Program:
    """The program as one of a single device, without anything that tells of others."""
    return replace(
        program,
        parameters=tuple(replace(parameter, sharding=None) for parameter in program.parameters),
        results=tuple(replace(result, sharding=None) for result in program.results),
        num_replicas=1,
        num_partitions=1,
    )


def _turned(report: Report) -> Report:
    """The report of the other direction."""
    witness = report.counterexample
    if witness is not None:
        witness = replace(witness, expected=witness.actual, actual=witness.expected)
    return replace(report, before=report.after, after=report.before, counterexample=witness)


def _names(given: PassModule, left: PassModule) -> tuple[str, str]:
    return given.path.name, left.path.name
