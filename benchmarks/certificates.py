"""Certificates of the corpus and the zoo: how many are accepted, their sizes, and what checking costs.

`python -m benchmarks.certificates [--zoo] [NAME...]`; times are CPU seconds, of proving (with the programs read, and
nothing written down) and of checking a certificate (reading its text included).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass

from shardproof.validator.certify.terms import InexpressibleError
from shardproof.validator.certify.write import certificate
from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.read.simplified import simplified
from shardproof.validator.relate.decide import Decision, decide

from .named import is_meant
from .pairs import compiled, corpus_names, load, zoo_names
from .watched import Failure, run


@dataclass(frozen=True, slots=True)
class Row:
    """What is measured of one pair that is proved; `reason` says why it has no certificate."""

    name: str
    proved: bool = False
    accepted: bool = False
    size: int = 0
    laws: int = 0
    """Equalities that follow from laws of arithmetic."""
    prove: float = 0.0
    check: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        state = "accepted" if self.accepted else (self.reason if self.proved else "not proved")
        return f"{self.name:<40} {self.size:>9,} {self.laws:>4} {self.prove:>8.3f} {self.check:>8.3f}  {state}"


COLUMNS = f"{'program':<40} {'bytes':>9} {'laws':>4} {'prove s':>8} {'check s':>8}"


def measure(name: str) -> Row:
    """Prove one pair, write its certificate, and check it."""
    if name.startswith("zoo/"):
        compiled(name)
    pair = load(name)
    # one reading for both: steps are found again by their ops
    before, after = simplified(pair.before), simplified(pair.after)
    start = time.process_time()
    proved = _proved(_decide(before, after, traced=False))
    prove = time.process_time() - start
    if not proved:
        return Row(name)
    try:
        text = certificate(before, after, _decide(before, after, traced=True))
        start = time.process_time()
        check(text.encode(), name, pair.before, pair.after)
    except (InexpressibleError, Rejection) as error:
        return Row(name, True, reason=str(error))
    laws = text.count('"shardproof.equal"')
    return Row(name, True, True, len(text), laws, prove, time.process_time() - start)


def _decide(before: Program, after: Program, *, traced: bool) -> Decision:
    return decide(before, after, deadline=None, assume_in_bounds=False, accepted=Theory.REASSOCIATED, traced=traced)


def _proved(decision: Decision) -> bool:
    return all(comparison is not None and comparison.proved for comparison in decision.comparisons)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certificates", description="Write and check certificates of all that is proved."
    )
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--zoo", action="store_true", help="the zoo, compiled by the installed XLA, not the corpus")
    parser.add_argument("--json", action="store_true", help="one JSON object a row in place of the table")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds a program (default 120)")
    options = parser.parse_args(arguments)
    names = zoo_names() if options.zoo else corpus_names()
    chosen = [name for name in names if is_meant(name, options.names)]
    rows: list[Row] = []
    if not options.json:
        print(COLUMNS)
    for name, result in run(measure, chosen, limit=options.timeout):
        row = Row(name, True, reason=str(result)) if isinstance(result, Failure) else result
        rows.append(row)
        print(json.dumps(asdict(row)) if options.json else row, flush=True)
    proved, accepted = [row for row in rows if row.proved], [row for row in rows if row.accepted]
    prove, checking = sum(row.prove for row in accepted), sum(row.check for row in accepted)
    if not options.json and accepted:
        with_laws = sum(row.laws > 0 for row in accepted)
        print(
            f"{len(accepted)} of {len(proved)} proofs have an accepted certificate, {sum(r.size for r in accepted):,} "
            f"bytes, {with_laws} with laws of arithmetic; proving took {prove:.2f} s, checking {checking:.2f} s "
            f"({checking / prove:.2f} times as long)"
        )
    return 0 if len(accepted) == len(proved) else 1


if __name__ == "__main__":
    sys.exit(main())
