"""Compiles the zoo with the installed XLA and proves it: `python -m benchmarks.live [NAME...]`.

The evaluator judges each pair too. A pair that is PROVED although the evaluator finds a difference, one that is REFUTED
although it finds none, or a known miscompile that is PROVED makes the run exit with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import replace

from .named import is_meant
from .oracle import Label, label
from .pairs import compiled, load, zoo_names
from .rows import COLUMNS, Row, failed, measure, totals
from .watched import Failure, run


def judge(name: str) -> Row:
    """Prove one program of the zoo, and ask the evaluator."""
    from tests.tools import zoo

    compiled(name)
    row = measure(name)
    pair = load(name)
    said, detail = label(pair.before, pair.after)
    expected = zoo.ENTRIES[name.partition("/")[2]].expected.value
    return replace(row, oracle=said.value, message=row.message or detail, expected=expected)


def disagrees(row: Row) -> bool:
    """Whether verdict, evaluator and expectation cannot all be right."""
    if row.verdict == "PROVED":
        return row.oracle == Label.DIFFERS.value or row.expected == "miscompiled"
    return row.verdict == "REFUTED" and (row.oracle == Label.SAME.value or row.expected == "agrees")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.live", description="Compile the zoo with the installed XLA and prove it."
    )
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--json", action="store_true", help="one JSON object a row in place of the table")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds a program (default 60)")
    options = parser.parse_args(arguments)
    chosen = [name for name in zoo_names() if is_meant(name, options.names)]
    if not chosen:
        print("no such program in the zoo", file=sys.stderr)
        return 2
    if not options.json:
        print(COLUMNS)
    rows: list[Row] = []
    for name, result in run(judge, chosen, limit=options.timeout, jobs=options.jobs):
        row = failed(name, result, options.timeout) if isinstance(result, Failure) else result
        rows.append(row)
        if options.json:
            print(json.dumps(row.to_json()), flush=True)
        else:
            print(f"{row}  [evaluator {row.oracle or 'not asked'}, {row.expected or '?'}]", flush=True)
    wrong = [row for row in rows if disagrees(row)]
    if not options.json:
        print(totals(rows))
        said = Counter(row.oracle for row in rows)
        print("evaluator: " + ", ".join(f"{count} {what or 'not asked'}" for what, count in said.items()))
        for row in wrong:
            print(f"disagreement: {row.name}: {row.verdict}, evaluator {row.oracle}, expected {row.expected}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
