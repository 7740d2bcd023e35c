"""The JAX front door: validating what JAX and XLA make of a function, and comparing two functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

from . import jax_compat
from .api import options_of
from .jax_stages import (
    Stages,
    check_shards,
    check_tensors,
    lower,
    module_name,
    stages_of_lowered,
)
from .ops.record import Theory
from .options import Assumption, Options
from .read.aide import trusting
from .read.errors import ReadError, ReadErrorKind
from .read.ir import Parameter, Program, Region, Value
from .read.program import read_program
from .read.unreduced import with_sums_written_out
from .report.note import Note
from .report.report import Obstacle, Report
from .report.verdict import Verdict
from .run import validate_read

Reach = Literal["all", "partitioner", "passes"]
"""Which stages to compare: from the StableHLO that JAX wrote to what leaves XLA's partitioner, only what enters the
partitioner with what leaves it, or the first of these and then what leaves each later pass."""
REACHES = ("all", "partitioner", "passes")


class NotEquivalentError(AssertionError):
    """A program is not proved; `report` says which verdict it has and why."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def validate(
    target: Any,
    *args: Any,
    stages: Reach = "all",
    theory: Theory | str = Theory.REASSOCIATED,
    assume: Iterable[Assumption | str] = (),
    timeout: float | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> Report:
    """Validates what XLA's partitioner makes of a JAX function, for all inputs.

    `target` is a jitted function, a function, or a `jax.stages.Lowered`; `args` and `kwargs` are its arguments, arrays
    or `jax.ShapeDtypeStruct`. The program is compiled once more, apart from every cache, and never run.

    With `stages="all"` the module that leaves the partitioner is compared with the StableHLO that JAX wrote, with
    `stages="partitioner"` with the module that enters it; `stages="passes"` also looks for a later pass of XLA that
    goes wrong. The other settings are those of `validate_modules`; a function that has a keyword of one of these names
    needs to be lowered first.
    """
    options = options_of(theory, assume, timeout, seed)
    check_reach(stages)
    lowered = lower(target, args, kwargs)
    try:
        return validate_stages(stages_of_lowered(lowered, passes_for(stages)), stages, options)
    except ReadError as error:
        return _as_report(error, "as written", "partitioned", options)


def check_reach(stages: str) -> None:
    """Refuses a word that names no stages."""
    if stages not in REACHES:
        raise ValueError(f"unknown stages '{stages}', expected one of {', '.join(map(repr, REACHES))}")


def passes_for(stages: Reach) -> str:
    """Which of XLA's passes have to be dumped."""
    return jax_compat.EVERY_PASS if stages == "passes" else jax_compat.PARTITIONER


Engine = Callable[[Program, Program, Options], Report]


def validate_stages(compiled: Stages, reach: Reach, options: Options, engine: Engine = validate_read) -> Report:
    """Validates one compilation that has been read."""
    if compiled.after is None:
        note = "XLA did not partition this program, it runs on one device: it was compared with itself"
        report = prove(compiled.written, compiled.written, options, engine)
        return replace(report, notes=(*report.notes, Note.information(note)))
    before = compiled.specification()
    if reach == "partitioner":
        assert compiled.before is not None
        before = compiled.before
    report = prove(before, compiled.after, options, engine)
    if reach != "partitioner" and report.verdict is Verdict.NOT_PROVED:
        return _with_partitioner(report, compiled, options, engine)
    if reach == "passes" and report.verdict is Verdict.PROVED:
        return _over_passes(before, compiled, report, options, engine)
    return report


def _with_partitioner(report: Report, compiled: Stages, options: Options, engine: Engine) -> Report:
    """The report, with a note where the gap lies before the partitioner."""
    assert compiled.before is not None
    assert compiled.after is not None
    if prove(compiled.before, compiled.after, options, engine).verdict is not Verdict.PROVED:
        return report
    note = "the partitioner alone is proved (stages='partitioner'): what is open are the passes before it"
    return replace(report, notes=(*report.notes, Note.information(note)))


def _over_passes(before: Program, compiled: Stages, partitioned: Report, options: Options, engine: Engine) -> Report:
    """The report on the first later pass that goes wrong, else that on the partitioned module, with a note.

    A later pass that cannot be followed takes nothing from the proof before it, which is about another module.
    """
    assert compiled.after is not None
    counts = (compiled.after.num_replicas, compiled.after.num_partitions)
    proved, not_followed = "the partitioner", ""
    for module in compiled.later:
        name = f"{compiled.name} after {module.pass_name}"
        try:
            with trusting():
                program = read_program(module.data, name=name)
        except ReadError as error:
            not_followed = f"{module.pass_name}: {error}"
            continue
        program = replace(program, num_replicas=counts[0], num_partitions=counts[1])
        report = prove(before, program, options, engine)
        if report.verdict is Verdict.REFUTED:
            note = f"XLA's pass '{module.pass_name}' went wrong, or one since '{proved}', up to which all is proved"
            return replace(report, notes=(*report.notes, Note.information(note)))
        if report.verdict is Verdict.PROVED:
            proved, not_followed = module.pass_name, ""
        else:
            not_followed = f"{module.pass_name}: {report.verdict.name}"
    notes = (f"also proved after later passes, the last of them '{proved}'",) if proved != "the partitioner" else ()
    if not_followed:
        notes += (f"not followed further, and not refuted: {not_followed}",)
    return replace(partitioned, notes=(*partitioned.notes, *map(Note.information, notes)))


def compare(
    reference: Any,
    candidate: Any,
    *args: Any,
    theory: Theory | str = Theory.REASSOCIATED,
    assume: Iterable[Assumption | str] = (),
    timeout: float | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> Report:
    """Compares a JAX function for one device with a sharded one: do all devices compute their shard of the reference?

    `candidate` is any function that JAX partitions, with `shard_map` or without; it is compiled, and the program of its
    devices is compared with `reference` as JAX writes it. Both take the same arguments and return the same tree. How
    arguments and results are laid out is what the candidate says. The settings are those of `validate`.
    """
    options = options_of(theory, assume, timeout, seed)
    sharded = lower(candidate, args, kwargs, keep_unused=True)
    if hasattr(reference, "compiler_ir"):
        whole = lower(reference, (), {})
    else:
        plain_args, plain_kwargs = _without_shardings((args, kwargs))
        whole = lower(reference, plain_args, plain_kwargs, keep_unused=True)
    return compare_lowered(whole, sharded, options)


def compare_lowered(whole: Any, sharded: Any, options: Options) -> Report:
    """`compare` of two lowered programs."""
    if whole.out_tree != sharded.out_tree:
        raise ValueError(f"the reference returns {whole.out_tree} and the candidate {sharded.out_tree}")
    module = whole.compiler_ir("stablehlo")
    try:
        reference = read_program(module, name=f"{module_name(module)} (reference)")
        compiled = stages_of_lowered(sharded)
        return _compare_stages(*_same_arguments(reference, compiled, whole, sharded), options)
    except ReadError as error:
        return _as_report(error, "reference", "candidate", options)


def _compare_stages(reference: Program, compiled: Stages, options: Options) -> Report:
    specification = compiled.specification(reference)
    for what, ours, theirs in (
        ("argument", reference.parameters, compiled.written.parameters),
        ("result", reference.results, compiled.written.results),
    ):
        for mine, other in zip(ours, theirs, strict=True):
            if mine.value.type != other.value.type:
                types = f"{mine.value.type} in the reference and {other.value.type} in the candidate"
                raise ValueError(f"{what} '{mine.label}' is {types}")
    return prove(specification, compiled.device_program, options)


def assert_equivalent(reference: Any, candidate: Any, *args: Any, **settings: Any) -> Report:
    """`compare`, and raises `NotEquivalentError` unless the verdict is PROVED."""
    report = compare(reference, candidate, *args, **settings)
    if report.verdict is not Verdict.PROVED:
        raise NotEquivalentError(report)
    return report


def prove(before: Program, after: Program, options: Options, engine: Engine = validate_read) -> Report:
    """The report on two programs; what is not modelled at their boundary is a verdict."""
    try:
        check_tensors((before, after))
        before, after = with_sums_written_out(before, after)
        check_shards(before, after)
    except ReadError as error:
        return unsupported(before.source, after.source, options, str(error))
    return engine(before, after, options)


def _as_report(error: ReadError, before: str, after: str, options: Options) -> Report:
    """The verdict on a program that is well formed but not modelled; any other fault of reading is raised."""
    if error.kind is not ReadErrorKind.UNSUPPORTED:
        raise error
    return unsupported(before, after, options, f"{error.where}: {error.message}")


def unsupported(before: str, after: str, options: Options, message: str) -> Report:
    """The report on programs that cannot be read as far as a proof needs it."""
    assumptions = tuple(sorted(options.assumptions, key=lambda a: a.value))
    return Report(
        before,
        after,
        Verdict.UNSUPPORTED,
        assumptions=assumptions,
        obstacle=Obstacle.UNSUPPORTED,
        message=message,
    )


def _without_shardings(tree: Any) -> Any:
    """Arrays as their shape and type only, so that the reference is a program for one device."""
    import jax

    def plain(leaf: Any) -> Any:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            return leaf
        weak = getattr(leaf, "weak_type", False)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=weak)

    return jax.tree.map(plain, tree)


def _same_arguments(reference: Program, compiled: Stages, whole: Any, sharded: Any) -> tuple[Program, Stages]:
    """Both programs with every argument: a jitted function drops those that it does not use."""
    ours, theirs = jax_compat.kept_arguments(whole), jax_compat.kept_arguments(sharded)
    if ours is None or theirs is None or ours == theirs:
        return reference, compiled
    used = sorted({*ours, *theirs})
    types = {n: (p.value, p) for n, p in zip(theirs, compiled.written.parameters, strict=True)}
    types |= {n: (p.value, p) for n, p in zip(ours, reference.parameters, strict=True)}
    everything = [types[n][1] for n in used]
    sides = (compiled.written, compiled.before, compiled.after)
    written, before, after = (None if p is None else _with_unused(p, theirs, used, everything) for p in sides)
    assert written is not None
    return (
        _with_unused(reference, ours, used, everything),
        Stages(compiled.name, written, before, after),
    )


def _with_unused(program: Program, kept: tuple[int, ...], used: list[int], everything: list[Parameter]) -> Program:
    """The program with a whole, replicated parameter of no use for each argument that it lacks."""
    mine = dict(zip(kept, program.parameters, strict=True))
    parameters = tuple(
        mine.get(n) or Parameter(Value(-1 - n, full.value.type, f"%unused{n}"), None, full.label, full.location)
        for n, full in zip(used, everything, strict=True)
    )
    arguments = tuple(parameter.value for parameter in parameters)
    return replace(program, parameters=parameters, body=Region(arguments, program.body.ops, program.body.results))
