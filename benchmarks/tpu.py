"""Compiles programs for TPUs and proves what XLA's partitioner makes of them there: `python -m benchmarks.tpu RESULTS`.

The zoo and the sweep are compiled ahead of time for a topology of TPUs: that takes `libtpu` (`pip install libtpu`), jax
0.12, and no TPU, but nothing can be run. One JSON object a program is added to the file RESULTS; programs that it has
already are left out. `--written` compares what JAX wrote, in place of what enters the partitioner, with what leaves it.
`--keep FOLDER` keeps the modules of each program that is not PROVED.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax

from shardproof.validator.jax_stages import Stages
from shardproof.validator.options import Options
from shardproof.validator.read.program import read_program
from shardproof.validator.validate import validate_programs

from . import sweep
from .named import is_meant
from .partitioned import partitioned
from .resumed import add_rows, read_rows
from .topology import NoCompilerError, devices
from .watched import Failure, run

TOPOLOGY = "v5e:2x4"
LIMIT = 60.0
"""Seconds for one program."""

KEEP = "SHARDPROOF_TPU_KEEP"
"""The environment variable that tells children where modules are kept."""

WRITTEN = "SHARDPROOF_TPU_WRITTEN"
"""The environment variable that tells children to compare what JAX wrote."""

_UNEVEN = ("3", "6", "2x3")
"""Meshes of the sweep that are no part of this topology."""


def programs(names: Sequence[str], every: int) -> list[str]:
    """The zoo and every so manyth program of the sweep, of those whose name contains one of these."""
    from tests.tools import zoo

    swept = (
        name
        for name in sweep.programs()
        # not by the name's own checksum, by which the sweep has chosen already
        if name.rpartition("/")[2] not in _UNEVEN and zlib.crc32(name[::-1].encode()) % every == 0
    )
    found = [*(f"zoo/{name}" for name in zoo.ENTRIES), *swept]
    return [name for name in found if is_meant(name, names)]


def judge(name: str) -> dict[str, Any]:
    """Compile and prove one program."""
    from tests.tools import zoo

    warnings.simplefilter("ignore")
    made = zoo.ENTRIES[name.removeprefix("zoo/")] if name.startswith("zoo/") else sweep.programs()[name]
    try:
        lowered = made.lower(devices(TOPOLOGY))
    except Exception as error:
        return sweep.not_made(name, error)
    try:
        _, before, after = partitioned(lowered)
    except jax.errors.JaxRuntimeError as error:
        return {"name": name, "verdict": "NOT_COMPILED", "message": str(error).splitlines()[0][:160]}
    if after is None:
        return {"name": name, "verdict": "NOT_PARTITIONED"}
    original, implementation = read_program(before, name=name), read_program(after, name=name)
    if os.environ.get(WRITTEN):
        written = read_program(lowered, name=name)
        original = Stages(name, written, original, implementation).specification()
    start = time.perf_counter()
    report = validate_programs(original, implementation, Options())
    seconds = round(time.perf_counter() - start, 3)
    if os.environ.get(KEEP) and report.verdict.name != "PROVED":
        folder = Path(os.environ[KEEP]) / name.replace("/", "__")
        folder.mkdir(parents=True, exist_ok=True)
        for data, side in ((before, "before"), (after, "after")):
            (folder / f"{side}.hlo.pb").write_bytes(data)
    frontier = report.frontier
    stop = f"{frontier.op}: {frontier.reason}" if frontier is not None else report.message
    verdict, theory = report.verdict.name, report.theory.value if report.theory is not None else ""
    return {"name": name, "verdict": verdict, "theory": theory, "stop": stop, "prove": seconds}


def _failed(name: str, failure: Failure) -> dict[str, Any]:
    died = "ended with code -" in failure.reason  # which is how the compiler ends where one of its checks fails
    verdict = "TIMEOUT" if failure.late else "DIED" if died else "ERROR"
    return {"name": name, "verdict": verdict, "stop": failure.reason}


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    families: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for family in (row["name"].partition("/")[0], "all"):
            families[family][row["verdict"]] += 1
    for family, counts in sorted(families.items()):
        yield f"{family:<28} " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    for row in rows:
        if row["verdict"] not in ("PROVED", "NOT_MADE", "NOT_COMPILED", "NOT_PARTITIONED", "DIED"):
            yield f"{row['verdict']:<11} {row['name']}: {row['stop']}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tpu", description="Compile programs ahead of time for TPUs and prove them."
    )
    parser.add_argument("results", type=Path, help="file of one JSON object a program, added to")
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--every", type=int, default=20, metavar="N", help="one in so many of the sweep (default 20)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--written", action="store_true", help="compare what JAX wrote with what leaves it")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the modules of what is not PROVED")
    parser.add_argument("--summary", action="store_true", help="tell what the file says and run nothing")
    options = parser.parse_args(arguments)
    rows = read_rows(options.results)
    if not options.summary:
        try:
            devices(TOPOLOGY)
        except NoCompilerError as error:
            print(error, file=sys.stderr)
            return 2
        if options.written:
            os.environ[WRITTEN] = "yes"
        if options.keep is not None:
            os.environ[KEEP] = str(options.keep.resolve())
        done = {row["name"] for row in rows}
        chosen = [name for name in programs(options.names, options.every) if name not in done]
        rows += add_rows(options.results, run(judge, chosen, limit=LIMIT, jobs=options.jobs), _failed)
    print("\n".join(_summary(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
