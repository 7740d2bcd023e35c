"""Hunts for miscompiles: `python -m benchmarks.sweep RESULTS [NAME...]`.

Compiles a fixed list of programs (operation × cut × mesh) with the installed XLA, proves each from before to after the
partitioner, and runs each for real beside the program for one device. One JSON object a program is added to the file
RESULTS; programs that it has already are left out, so a run can be ended and taken up again. `--summary` only tells
what the file says. A program that ran wrong but is PROVED is wrong after the partitioner, or shows a fault of ours.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_FLAG = "--xla_force_host_platform_device_count"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}=8".strip()

import jax  # noqa: E402
import numpy as np  # noqa: E402

from shardproof.validator.options import Options  # noqa: E402
from shardproof.validator.read.program import read_program  # noqa: E402
from shardproof.validator.report.report import Report  # noqa: E402
from shardproof.validator.validate import validate_programs  # noqa: E402

from . import sweep_indexing, sweep_library, sweep_movement, sweep_reductions, sweep_windows  # noqa: E402
from .named import is_meant  # noqa: E402
from .partitioned import partitioned  # noqa: E402
from .resumed import add_rows, read_rows  # noqa: E402
from .sweep_case import Case  # noqa: E402
from .watched import Failure, run  # noqa: E402

TRIALS = 4
LIMIT = 20.0
"""Seconds for one proof and the run beside it."""

_known: dict[str, Case] = {}


def programs() -> dict[str, Case]:
    """All programs by name, families taken in turn and mixed, so that the start of a run has some of each."""
    if not _known:
        families: dict[str, list[Case]] = defaultdict(list)
        for source in (sweep_indexing, sweep_windows, sweep_movement, sweep_reductions, sweep_library):
            for case in source.programs():
                families[case.family].append(case)
        mixed = (sorted(cases, key=lambda case: zlib.crc32(case.name.encode())) for cases in families.values())
        for row in itertools.zip_longest(*mixed):
            _known.update((case.name, case) for case in row if case is not None)
    return _known


def judge(name: str) -> dict[str, Any]:
    """Compile, prove and run one program."""
    warnings.simplefilter("ignore")
    case = programs()[name]
    start = time.perf_counter()
    try:
        lowered = case.lower()
    except Exception as error:
        return not_made(name, error)
    compiled, before, after = partitioned(lowered)
    built = time.perf_counter()
    if after is None:
        return {"name": name, "verdict": "NOT_PARTITIONED"}
    report = validate_programs(read_program(before, name=name), read_program(after, name=name), Options())
    proved = time.perf_counter()
    try:
        differs: int | str = _differing(case, compiled, report)
    except jax.errors.JaxRuntimeError as error:
        differs = f"not run: {error}".splitlines()[0][:160]
    return {
        "name": name,
        "verdict": report.verdict.name,
        "differs": differs,
        "gap": _gap(report),
        "message": report.message,
        "compile": round(built - start, 3),
        "prove": round(proved - built, 3),
    }


def not_made(name: str, error: Exception) -> dict[str, Any]:
    """The row of a program that JAX does not make.

    Errors are of any kind: functions of a library refuse what they do not take each in its own way.
    """
    return {"name": name, "verdict": "NOT_MADE", "message": f"{type(error).__name__}: {error}".splitlines()[0][:160]}


def _differing(case: Case, compiled: jax.stages.Compiled, report: Report) -> int:
    """On how many inputs, random ones and the counterexample's, the program differs from that for one device."""
    alone = jax.jit(case.function)
    tried = [case.inputs(seed) for seed in range(TRIALS)]
    if report.counterexample is not None:
        shown = zip(report.counterexample.inputs, case.structs(), strict=True)
        tried.append([np.asarray(value).astype(struct.dtype) for value, struct in shown])
    count = 0
    for inputs in tried:
        placed = jax.device_put(inputs, list(compiled.input_shardings[0]))
        found, wanted = jax.tree.leaves(compiled(*placed)), jax.tree.leaves(alone(*inputs))
        count += not all(_agree(got, np.asarray(want)) for got, want in zip(found, wanted, strict=True))
    return count


def _agree(got: jax.Array, want: np.ndarray) -> bool:
    """Whether every device's copy is its part of what is wanted, but for rounding."""
    if not jax.numpy.issubdtype(want.dtype, jax.numpy.inexact):
        return all(np.array_equal(np.asarray(shard.data), want[shard.index]) for shard in got.addressable_shards)
    near = 1e-3 if want.dtype.itemsize >= 4 else 6e-2
    want = want.astype(np.complex128)
    return all(
        np.allclose(np.asarray(shard.data).astype(np.complex128), want[shard.index], near, near, equal_nan=True)
        for shard in got.addressable_shards
    )


def _gap(report: Report) -> str:
    """Where a proof stopped, without names and numbers."""
    if report.verdict.name not in ("NOT_PROVED", "UNSUPPORTED"):
        return ""
    said = f"{report.frontier.op}: {report.frontier.reason}" if report.frontier is not None else report.message
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", said))[:160]


def _ran_wrong(row: dict[str, Any]) -> bool:
    return isinstance(row.get("differs"), int) and row["differs"] > 0


def _summary(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    rows = list(rows)
    families: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for family in (row["name"].partition("/")[0], "all"):
            families[family][row["verdict"]] += 1
            families[family]["ran wrong"] += _ran_wrong(row)
            families[family]["not run"] += isinstance(row.get("differs"), str)
    for family, counts in families.items():
        yield f"{family:<28} " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    for row in rows:
        wrong = _ran_wrong(row)
        if row["verdict"] == "REFUTED" or wrong:
            yield f"{row['verdict']:<10} {'ran wrong' if wrong else 'ran right':<10} {row['name']}: {row['message']}"
    gaps: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.get("gap"):
            gaps[f"{row['verdict']} {row['gap']}"].append(row["name"])
    for gap, names in sorted(gaps.items(), key=lambda item: -len(item[1])):
        yield f"{len(names):>5}  {gap}  e.g. {min(names, key=len)}"
    for row in rows:
        if row["verdict"] in ("TIMEOUT", "ERROR"):
            yield f"{row['verdict']:<10} {row['name']}: {row['message']}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sweep", description="Compile, prove and run a fixed list of programs."
    )
    parser.add_argument("results", type=Path, help="file of one JSON object a program, added to")
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--summary", action="store_true", help="tell what the file says and run nothing")
    parser.add_argument("--list", action="store_true", help="list the names and run nothing")
    options = parser.parse_args(arguments)
    rows = read_rows(options.results)
    chosen = [name for name in programs() if is_meant(name, options.names)]
    if options.list:
        print("\n".join(chosen))
        return 0
    if not options.summary:
        done = {row["name"] for row in rows}
        outcomes = run(judge, [one for one in chosen if one not in done], limit=LIMIT)
        rows += add_rows(options.results, outcomes, _failed)
    print("\n".join(_summary(rows)))
    return 0


def _failed(name: str, failure: Failure) -> dict[str, Any]:
    return {"name": name, "verdict": "TIMEOUT" if failure.late else "ERROR", "message": failure.reason}


if __name__ == "__main__":
    sys.exit(main())
