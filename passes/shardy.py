"""Shardy as a second partitioner: its pipeline stage by stage, each stage's module validated.

    python -m shardproof.passes.shardy module.mlir

jaxlib carries Shardy's own MLIR partitioner, which JAX does not use: behind Shardy's propagation XLA partitions. Here
it partitions a module as JAX lowers it, in a process of its own, and each module on the way is compared with the input:
as a program on whole tensors until `sdy-convert-global-to-local` has cut it, and then as the program of each device.

On whole tensors Shardy's collectives return their operand: what they do concerns the parts only. So the stages before
the cut can show wrong arithmetic, and a wrong collective shows after it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..validator import compat
from ..validator.api import options_of, source_of
from ..validator.compat import ir
from ..validator.options import Options
from ..validator.read.errors import ReadError, ReadErrorKind
from ..validator.read.files import identify
from ..validator.read.ir import Program, TensorType
from ..validator.read.pairs import with_layouts
from ..validator.read.program import read_program, stablehlo_of
from ..validator.read.shardings import Sharding
from ..validator.report.diagnostic import Diagnostic
from ..validator.report.report import Obstacle, Report
from ..validator.report.text import diagnostics, verdict_line
from ..validator.report.verdict import Verdict
from ..validator.run import validate_read
from . import registered
from .rewriting import build, nested
from .rewriting import replace as replace_op

LOCAL = "sdy-convert-global-to-local"
"""The pass that makes the program of one device."""

STAGES: tuple[tuple[str, str], ...] = (
    ("propagation", "sdy-propagation-pipeline"),
    ("reshards", "func.func(sdy-insert-explicit-reshards{enable-full-version=true})"),
    ("canonical", "canonicalize"),
    ("collectives", "func.func(sdy-reshard-to-collectives)"),
    ("closed", "sdy-close-shardings"),
    ("local", LOCAL),
    ("clean", "sdy-drop-sharding-and-mesh"),
)
"""Name and pipeline of each stage, in the order in which Shardy's partitioner runs them."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage left. `report` is None where there is no module, and `said` then tells why."""

    name: str
    pipeline: str
    module: ir.Module | None
    report: Report | None
    said: tuple[Diagnostic, ...] = ()


def partition(module: Any, theory: str = "reassociated", timeout: float | None = None, seed: int = 0) -> list[Stage]:
    """Runs Shardy's partitioner on a StableHLO module with Shardy shardings, and validates every stage.

    `module` is a path, text, bytes or an `ir.Module`. The list ends with the first stage that failed, if one did.
    `timeout` holds for all of Shardy together, and for the proof of each stage. Raises `ReadError` for an input that
    cannot be read, and `ValueError` for a wrong setting.
    """
    options = options_of(theory, (), timeout, seed)
    source = source_of(module, "<module>")
    given, _ = stablehlo_of(identify(source.data, source.name))
    written = read_program(given, name=source.name)
    texts = [_with_counts(text, written) for _, text in STAGES]
    outcomes = registered.run_all_apart(texts, given, source.name, timeout)
    stages: list[Stage] = []
    whole: Program | None = None
    for (name, _), outcome in zip(STAGES, outcomes, strict=False):
        report = None
        if outcome.module is not None:
            cut = any(stage.pipeline.startswith(LOCAL) for stage in stages) or outcome.text.startswith(LOCAL)
            report, program = _validated(written, whole, outcome.module, f"{source.name} after {name}", cut, options)
            whole = whole if cut or program is None else program
        stages.append(Stage(name, outcome.text, outcome.module, report, outcome.said))
    return stages


def _with_counts(text: str, program: Program) -> str:
    """A later jaxlib wants to be told how many devices there are."""
    told = f"{LOCAL}{{replica-count={program.num_replicas} partition-count={program.num_partitions}}}"
    return told if text == LOCAL and registered.check(told) is None else text


def _validated(
    written: Program, whole: Program | None, module: ir.Module, name: str, cut: bool, options: Options
) -> tuple[Report, Program | None]:
    """The report on one stage, and its program where it can be read."""
    try:
        program = read_program(module if cut else _on_whole_tensors(module), name=name)
        program = replace(program, num_replicas=written.num_replicas, num_partitions=written.num_partitions)
        if cut:
            chosen = written if whole is None else whole
            return validate_read(with_layouts(written, _divisible(written), chosen), program, options), program
        return validate_read(_plain(written), _plain(program), options), program
    except ReadError as error:
        if error.kind is not ReadErrorKind.UNSUPPORTED:
            raise
        message = f"{error.where}: {error.message}"
        unsupported = Report(written.source, name, Verdict.UNSUPPORTED, obstacle=Obstacle.UNSUPPORTED, message=message)
        return unsupported, None


_RETURN_OPERAND = frozenset(
    f"sdy.{name}"
    for name in (
        "all_gather",
        "all_reduce",
        "all_slice",
        "all_to_all",
        "collective_permute",
        "reduce_scatter",
        "replicated_to_unreduced",
        "sharded_to_unreduced",
    )
)


def _on_whole_tensors(module: ir.Module) -> ir.Module:
    """A copy of a module that has not been cut, without Shardy's own operations as far as they are known."""
    copy = compat.parse_module(str(module.operation.get_asm(enable_debug_info=True)), module.context)
    with copy.context:
        for op in nested(copy.operation):
            if op.name in _RETURN_OPERAND and op.operands[0].type == op.results[0].type:
                replace_op(op, op.operands)
            elif op.name == "sdy.constant":
                kept = {key: op.attributes[key] for key in op.attributes}
                point, types = ir.InsertionPoint(op), [op.results[0].type]
                replace_op(op, build("stablehlo.constant", types, [], point, op.location, **kept).results)
    return copy


def _plain(program: Program) -> Program:
    """A program on whole tensors, all of them on every device."""
    return replace(
        program,
        parameters=tuple(replace(parameter, sharding=None) for parameter in program.parameters),
        results=tuple(replace(result, sharding=None) for result in program.results),
    )


def _divisible(program: Program) -> Program:
    """The program without the shardings that do not divide evenly, which Shardy replaces."""

    def kept(tensor: TensorType, sharding: Sharding | None) -> Sharding | None:
        if sharding is None or not sharding.tiles:
            return sharding
        even = all(extent % tiles == 0 for extent, tiles in zip(tensor.shape, sharding.tiles, strict=True))
        return sharding if even else None

    return replace(
        program,
        parameters=tuple(replace(p, sharding=kept(p.value.tensor, p.sharding)) for p in program.parameters),
        results=tuple(replace(r, sharding=kept(r.value.tensor, r.sharding)) for r in program.results),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Prints one line a stage; the exit code is 0 where the device program is proved, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m shardproof.passes.shardy", description="Validates Shardy's partitioner stage by stage."
    )
    parser.add_argument("module", metavar="FILE", help="StableHLO with Shardy shardings, as JAX lowers it")
    parser.add_argument("--timeout", type=float, metavar="S", help="give up on a stage after S seconds")
    args = parser.parse_args(argv)
    try:
        stages = partition(args.module, timeout=args.timeout)
    except ReadError as error:
        print(f"{error.where}: error: {error.message}", file=sys.stderr)
        return 1
    for stage in stages:
        print(f"{stage.name:<12} {stage.report.verdict.name if stage.report else 'FAILED'}")
        for line in stage.said:
            print(line, file=sys.stderr)
        if stage.report is not None and stage.report.verdict is not Verdict.PROVED:
            print("\n".join([verdict_line(stage.report), *diagnostics(stage.report)]), file=sys.stderr)
    last = stages[-1].report
    return int(last is None or last.verdict is not Verdict.PROVED or len(stages) < len(STAGES))


if __name__ == "__main__":
    sys.exit(main())
