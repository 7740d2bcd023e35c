"""Proves every pair of the corpus and of the examples, one row each: `python -m benchmarks.corpus [NAME...]`."""

from __future__ import annotations

import argparse
import json
import sys

from .named import is_meant
from .pairs import corpus_names
from .rows import COLUMNS, Row, failed, measure, totals
from .watched import Failure, run


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.corpus",
        description="Prove every pair of the corpus and of the examples, one row each.",
    )
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--tpu", action="store_true", help="also the TPU programs, which need the jaxlib of their line")
    parser.add_argument("--json", action="store_true", help="one JSON object a row in place of the table")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds a program (default 60)")
    options = parser.parse_args(arguments)
    names = corpus_names(("xla_cpu", "xla_tpu") if options.tpu else ("xla_cpu",))
    chosen = [name for name in names if is_meant(name, options.names)]
    if not chosen:
        print("no such program; SHARDPROOF_CORPUS names the corpus", file=sys.stderr)
        return 2
    if not options.json:
        print(COLUMNS)
    rows: list[Row] = []
    # One process for all of them, so that each pays for the start and gains from what the ones before it interned.
    for name, result in run(measure, chosen, limit=options.timeout):
        row = failed(name, result, options.timeout) if isinstance(result, Failure) else result
        rows.append(row)
        print(json.dumps(row.to_json()) if options.json else row, flush=True)
    if not options.json:
        print(totals(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
