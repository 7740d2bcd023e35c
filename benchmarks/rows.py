"""One row for each pair: sizes, times, verdict, and where a failing proof stops."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.validate import validate_programs

from .pairs import load
from .watched import Failure

COLUMNS = (
    f"{'program':<40} {'before':>7} {'after':>7} {'read s':>7} {'prove s':>8} {'verdict':<12} {'theory':<13} frontier"
)


@dataclass(frozen=True, slots=True)
class Row:
    """What is measured of one pair."""

    name: str
    before: int = 0
    after: int = 0
    read: float = 0.0
    prove: float = 0.0
    verdict: str = ""
    theory: str = ""
    frontier: str = ""
    message: str = ""
    oracle: str = ""
    expected: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name:<40} {self.before:>7,} {self.after:>7,} {self.read:>7.3f} {self.prove:>8.3f} "
            f"{self.verdict:<12} {self.theory:<13} {self.frontier or self.message}"
        ).rstrip()

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def count_ops(program: Program) -> int:
    """Operations of the body and of all regions."""
    total = 0
    pending = [program.body]
    while pending:
        region = pending.pop()
        total += len(region.ops)
        pending.extend(inner for op in region.ops for inner in op.regions)
    return total


def measure(name: str) -> Row:
    """Read and prove one pair."""
    start = time.perf_counter()
    pair = load(name)
    read = time.perf_counter() - start
    start = time.perf_counter()
    report = validate_programs(pair.before, pair.after, Options())
    prove = time.perf_counter() - start
    frontier = report.frontier
    return Row(
        name,
        count_ops(pair.before),
        count_ops(pair.after),
        read,
        prove,
        report.verdict.name,
        report.theory.value if report.theory is not None else "",
        f"{frontier.op} {frontier.value}: {frontier.reason}" if frontier is not None else "",
        report.message,
    )


def failed(name: str, failure: Failure, limit: float) -> Row:
    """The row of a pair without a verdict."""
    verdict, seconds = ("TIMEOUT", limit) if failure.late else ("ERROR", 0.0)
    return Row(name, verdict=verdict, prove=seconds, message=failure.reason)


def totals(rows: Iterable[Row]) -> str:
    """Verdict counts and times over all rows."""
    rows = list(rows)
    verdicts = Counter(row.verdict for row in rows)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items(), key=lambda item: -item[1]))
    seconds = sorted(row.prove for row in rows)
    median = seconds[len(seconds) // 2] if seconds else 0.0
    return (
        f"{len(rows)} programs: {counts}; read {sum(row.read for row in rows):.1f} s, "
        f"prove {sum(seconds):.1f} s, median {median:.3f} s"
    )
