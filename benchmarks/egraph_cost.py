"""What a term costs in the e-graph: cold start, building, insertion, saturation, and one term more:
with a query after it, and with a run after it that is not thorough.

    python benchmarks/egraph_cost.py [terms ...]

The terms are layers of elementwise ops over 30 live values, one edge in eight through a relation that is a shift
modulo 7, with sums over relations mixed in.
"""

from __future__ import annotations

import random
import sys
import time

from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType

TYPE = TermType(DType.F32, "points")
OPS = ("add", "multiply", "subtract", "maximum", "tanh", "exponential", "negate")


class Shifts:
    """Relation n is p -> p + n modulo 7."""

    def compose(self, first: int, second: int) -> int:
        return (first + second) % 7

    def counts_once(self, first: int, second: int) -> bool:
        return True

    def is_identity(self, relation: int) -> bool:
        return relation == 0

    def is_function(self, relation: int) -> bool:
        return True

    def is_nonempty(self, relation: int) -> bool:
        return True

    def count(self, relation: int) -> int:
        return 1


def grow(graph: TermGraph, terms: list[int], until: int, rng: random.Random) -> None:
    while len(terms) < until:
        op = rng.choice(OPS)
        arity = 1 if op in ("tanh", "exponential", "negate") else 2
        edges = [(rng.choice((0,) * 7 + (rng.randrange(7),)), rng.choice(terms[-30:])) for _ in range(arity)]
        terms.append(graph.apply(op, (), edges, TYPE))


def measure(count: int, theory: Theory) -> str:
    rng, clock = random.Random(0), time.perf_counter
    start = clock()
    graph = TermGraph(Shifts(), theory)
    created = clock()
    terms = [graph.leaf(f"x{n}", TYPE) for n in range(10)]
    grow(graph, terms, count, rng)
    built = clock()
    graph.flush()
    inserted = clock()
    report = graph.saturate()
    saturated = clock()
    for _ in range(20):
        graph.same(terms[-1], graph.apply("tanh", (), [(None, terms[rng.randrange(count)])], TYPE))
    asked = clock()
    for _ in range(20):
        graph.apply("sine", (), [(None, terms[rng.randrange(count)])], TYPE)
        graph.saturate(thorough=False)
    stepped = clock()
    per_term = [(b - a) / count * 1e6 for a, b in ((created, built), (built, inserted), (inserted, saturated))]
    return (
        f"{theory.value:<13}{count:>7}{(created - start) * 1e3:>11.0f}"
        + "".join(f"{value:>11.1f}" for value in per_term)
        + f"{(asked - saturated) / 20 * 1e3:>10.2f}{(stepped - asked) / 20 * 1e3:>10.2f}"
        + f"{report.nodes:>9}  {report.stop.value}"
    )


def main() -> None:
    counts = [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000]
    print("theory         terms  create ms   build µs  insert µs  satur. µs  query ms   step ms    nodes  stop")
    for theory in Theory:
        for count in counts:
            print(measure(count, theory), flush=True)


if __name__ == "__main__":
    main()
