"""Proves whole models at full size, one row each: `python -m benchmarks.scale [MODEL [KEY=N]...]`.

Without a model it goes through all of them; `--series` measures how the time grows instead, `--broken` how fast faults
are told. Each model is compiled in a process of its own, or taken from the cache of dumps, and proved in another one,
so that the peak memory is its own. Seconds are of the processor, the least of all repetitions; those of XLA are a
lower bound (`>`) where the compilation was stopped after partitioning, and missing (`-`) where the dumps were put in
the cache.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from shardproof.validator.options import Options
from shardproof.validator.read import read_pair
from shardproof.validator.read.aide import dismiss
from shardproof.validator.validate import validate_programs

from .broken import FAULTS, broken
from .compiling import CACHE, CompileError, Program, compiled
from .models import MODELS, Variant, parse
from .rows import count_ops
from .watched import Failure, run

LLAMA = "llama3-405b"
SERIES: dict[str, list[Variant]] = {
    "layers": [Variant(LLAMA, layers=count) for count in (1, 2, 8, 32, 126)],
    "devices": [
        Variant(LLAMA, layers=2, axes=(("fsdp", fsdp), ("tensor", tensor)))
        for fsdp, tensor in ((2, 4), (8, 8), (64, 8), (256, 8))
    ],
    "tensor": [Variant(LLAMA, layers=2, axes=(("fsdp", 8), ("tensor", tensor))) for tensor in (1, 2, 4, 8)],
    "widths": [Variant(LLAMA, layers=2, widths=factor) for factor in (1, 10, 100, 1000)],
    "scan": [Variant(LLAMA), Variant(f"{LLAMA}-scan")],
}

COLUMNS = (
    f"{'program':<40} {'before':>8} {'after':>8} {'devices':>7} {'XLA s':>8} {'read s':>7} {'prove s':>8} {'ratio':>6} "
    f"{'MiB':>6} {'verdict':<12} theory"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process measures of one pair of dumps."""

    before: int
    after: int
    read: float
    prove: float
    peak: int
    """MiB of the whole process, reading included."""
    verdict: str
    theory: str
    proved: str
    """How many of the results."""
    frontier: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    program: str
    devices: int
    compile: float | None = None
    stopped: bool = False
    measured: Measured | None = None
    problem: str = ""

    def __str__(self) -> str:
        found = self.measured
        if found is None:
            return f"{self.program:<40} {self.problem}"
        ratio, seconds = "", "-"
        if self.compile:
            # of a compilation that was stopped only the start is known, which is nothing to compare with
            ratio = "" if self.stopped else f"{found.prove / self.compile:.2f}"
            seconds = f"{'>' if self.stopped else ''}{self.compile:.1f}"
        return (
            f"{self.program:<40} {found.before:>8,} {found.after:>8,} {self.devices:>7,} {seconds:>8} "
            f"{found.read:>7.2f} {found.prove:>8.2f} {ratio:>6} {found.peak:>6,} {found.verdict:<12} {found.theory}"
            f"{f'  {found.proved} results; {found.frontier}' if found.frontier else ''}"
        ).rstrip()


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _processor_seconds() -> float:
    """Of this process and of those that it has waited for: inputs are read in a copy of it."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, _PROCESSES))


def measure(task: tuple[str, str, str]) -> Measured:
    """Read and prove one pair, with a fault planted in the after program if one is named."""
    *paths, fault = task
    start = _processor_seconds()
    before, after = read_pair(*paths)
    dismiss()
    read = _processor_seconds() - start
    if fault:
        after = broken(after, fault).program
    start = time.process_time()
    report = validate_programs(before, after, Options())
    prove = time.process_time() - start
    frontier = report.frontier
    proved = sum(output.verdict.name == "PROVED" for output in report.outputs)
    return Measured(
        count_ops(before),
        count_ops(after),
        read,
        prove,
        max(resource.getrusage(who).ru_maxrss for who in _PROCESSES) // 1024,
        report.verdict.name,
        report.theory.value if report.theory is not None else "",
        f"{proved}/{len(report.outputs)}",
        f"{frontier.location}: {frontier.op} {frontier.value}: {frontier.reason}" if frontier is not None else "",
    )


def row(
    variant: Program,
    cache: Path,
    *,
    whole: bool,
    limit: float,
    repeat: int = 1,
    fault: str = "",
    python: str = sys.executable,
) -> Row:
    """Compile, read and prove one model; `python` is the interpreter that compiles."""
    devices = variant.devices
    name = f"{variant}{f', wrong {fault}' if fault else ''}"
    try:
        made = compiled(variant, cache=cache, whole=whole, python=python)
    except CompileError as error:
        return Row(name, devices, problem=str(error))
    task = (str(made.before), str(made.after), fault)
    results = [result for _, result in run(measure, [task] * repeat, limit=limit)]
    for result in results:
        if isinstance(result, Failure):
            return Row(name, devices, made.seconds, made.whole is None, problem=result.reason)
    # what one process takes for several proofs is not the memory of one
    least = replace(min(results, key=lambda result: result.prove), peak=results[0].peak)
    return Row(name, devices, made.seconds, made.whole is None, least)


def chosen(options: argparse.Namespace) -> Iterator[Variant]:
    """The programs that the arguments name."""
    if options.series:
        yield from SERIES[options.series]
    elif options.model:
        yield parse(options.model, options.changes)
    else:
        yield from map(Variant, MODELS)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Prove whole models at full size, one row each."
    )
    parser.add_argument("model", nargs="?", choices=MODELS)
    parser.add_argument("changes", nargs="*", metavar="KEY=N", help="layers=N, widths=N, topology=T or a mesh axis=N")
    parser.add_argument("--series", choices=SERIES, help="growth in one number instead of single models")
    parser.add_argument(
        "--broken", action="store_true", help="also each model with each of several faults in its middle layer"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="measure N times, tell the least (default 1)"
    )
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help=f"dumps (default {CACHE})")
    parser.add_argument("--whole", action="store_true", help="let XLA finish, to compare with its whole time")
    parser.add_argument("--json", action="store_true", help="one JSON object a row in place of the table")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds a program (default 300)")
    options = parser.parse_args(arguments)
    try:
        variants = list(chosen(options))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.json:
        print(COLUMNS)
    proved = True
    faults = ("", *FAULTS) if options.broken else ("",)
    for variant, fault in itertools.product(variants, faults):
        made = row(
            variant,
            options.cache,
            whole=options.whole,
            limit=options.timeout,
            repeat=options.repeat,
            fault=fault,
        )
        proved &= (made.measured is not None and made.measured.verdict == "PROVED") is not bool(fault)
        print(json.dumps(asdict(made)) if options.json else made, flush=True)
    return 0 if proved else 1


if __name__ == "__main__":
    sys.exit(main())
