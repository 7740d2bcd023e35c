"""Random terms in one graph: whatever it puts into one class has equal values, in the arithmetic of its theory.

Rules are checked one by one elsewhere; here they, the normal forms and the constants work on each other's results.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest

from egraph.relations import FiniteRelations
from egraph.semantics import FLOATS, INTEGERS, MACHINE, NUMPY, Exact, Machine, evaluate
from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.egraph.outcome import UnsoundMerge
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.rule import Node

POINTS = 2
SEEDS, SIZE, ROUNDS = 4, 120, 8
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.1, -0.1, 1e8, 13.0, 3e38, 1e-30, math.inf, -math.inf, math.nan)
RATIONAL = tuple(number for number in SPECIAL if math.isfinite(number) and number)
ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
COMPARISONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
BITWISE = ("and", "or", "xor")


class Terms:
    """Random terms, each over names of earlier ones; those are few, so that rules have much to find."""

    def __init__(self, rng: random.Random, theory: Theory, kinds: tuple[str, ...]) -> None:
        self.rng, self.theory, self.kinds = rng, theory, kinds
        self.relations = FiniteRelations(POINTS)
        self.names: dict[str, Any] = {}
        """What relations and constants are called."""
        self.leaves = {f"{letter}_{dtype}": dtype for dtype in kinds for letter in "xy"}
        self.nodes: dict[str, Node] = {}
        self._known = {dtype: [name for name, kind in self.leaves.items() if kind == dtype] for dtype in kinds}
        for dtype in kinds:
            for number in self._numbers(dtype):
                self.names[f"{number!r}_{dtype}"] = number
                self._add(Node("const", dtype, dtype, (f"{number!r}_{dtype}",)))

    def _numbers(self, dtype: str) -> list[Any]:
        numbers: tuple[Any, ...] = (False, True) if dtype == "i1" else SPECIAL
        if dtype in INTEGERS:
            limits = np.iinfo(NUMPY[dtype])
            numbers = (0, 1, 2, 3, int(limits.min), int(limits.max))
        if dtype in FLOATS and self.theory is not Theory.EXACT:
            numbers = RATIONAL
        with np.errstate(over="ignore"):
            return [NUMPY[dtype](number) for number in numbers]

    def _add(self, node: Node) -> None:
        name = f"t{len(self.nodes)}"
        self.nodes[name] = node
        self._known[node.target].append(name)

    def _some(self, dtype: str) -> str:
        return self.rng.choice(self._known[dtype][-40:] if self.rng.random() < 0.7 else self._known[dtype][:20])

    def _relation(self, function: bool) -> str:
        relation = self.relations.sample(self.rng, function)
        self.names[f"r{relation}"] = relation
        return f"r{relation}"

    def grow(self) -> None:
        """One term more, over what there is."""
        self._add(self._node(self.rng.choice(self.kinds)))

    def _node(self, dtype: str) -> Node:
        rng, some = self.rng, self._some
        draw = rng.random()
        if draw < 0.1 and "i1" in self.kinds:
            return Node("select", dtype, dtype, (some("i1"), some(dtype), some(dtype)))
        if draw < 0.2:
            return Node("view", dtype, dtype, (self._relation(function=True), some(dtype)))
        if draw < 0.3:
            relation = self._relation(function=False)
            monoids = BITWISE if dtype == "i1" else ("add", "multiply", "maximum", "minimum")
            if (
                dtype != "i1"
                and self.theory is not Theory.EXACT
                and not self.relations.is_nonempty(self.names[relation])
            ):
                monoids = ("add", "multiply")  # the greatest of nothing is no rational
            return Node("total", dtype, dtype, (rng.choice(monoids), relation, some(dtype)))
        if dtype == "i1":
            other = rng.choice(self.kinds)
            if draw < 0.6 and other != "i1":
                return Node(f"compare.{rng.choice(COMPARISONS)}", other, "i1", (some(other), some(other)))
            if draw < 0.7:
                return Node("not", dtype, dtype, (some(dtype),))
            return Node(rng.choice(BITWISE), dtype, dtype, (some(dtype), some(dtype)))
        if draw < 0.4:
            source = rng.choice([kind for kind in self.kinds if not (kind in FLOATS and dtype in INTEGERS)])
            if source == dtype or self.theory is Theory.EXACT or source in ("f32", "i1"):
                return Node("convert", source, dtype, (some(source),))
        if draw < 0.55:
            return Node(rng.choice(("negate", "abs")), dtype, dtype, (some(dtype),))
        if draw < 0.6:
            return Node("clamp", dtype, dtype, (some(dtype), some(dtype), some(dtype)))
        ops = ARITHMETIC if dtype in FLOATS else (*(op for op in ARITHMETIC if op != "divide"), *BITWISE)
        return Node(rng.choice(ops), dtype, dtype, (some(dtype), some(dtype)))

    def values(self, numbers: Machine | Exact) -> dict[str, Any]:
        """What the terms are, at random leaves."""
        env = dict(self.names)
        for name, dtype in self.leaves.items():
            env[name] = [numbers.sample(dtype, self.rng) for _ in range(POINTS)]
        for name, node in self.nodes.items():
            env[name] = evaluate(node, env, numbers, self.relations)
        return env

    def text(self, name: str) -> str:
        """A term as it is written out."""
        node = self.nodes.get(name)
        if node is None:
            return name
        return f"({node.head}@{node.source}:{node.target} {' '.join(self.text(str(each)) for each in node.arguments)})"


class Rationals(Exact):
    """Numbers without rounding, in which nothing is known of what divides by zero."""

    def sample(self, dtype: str, rng: random.Random) -> Any:
        if dtype == "i1":
            return rng.random() < 0.5
        return rng.choice((super().sample(dtype, rng), Fraction(rng.choice(RATIONAL))))

    def constant(self, number: Any, dtype: str) -> Any:
        return bool(number) if dtype == "i1" else super().constant(number, dtype)

    def equal(self, left: Any, right: Any) -> bool:
        return left is None or right is None or left == right

    def apply(self, op: str, source: str, target: str, values: list[Any]) -> Any:
        if None in values or (op == "divide" and values[1] == 0):
            return None
        if op == "convert":
            return values[0] != 0 if target == "i1" else Fraction(values[0])
        if op == "abs":
            return abs(values[0])
        if op == "clamp":
            return min(max(values[1], values[0]), values[2])
        if op in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "negate"):
            return super().apply(op, source, target, values)
        if op == "not":
            return not values[0]
        return bool(MACHINE[op](*values)) if target == "i1" else MACHINE[op](*values)

    def total(self, monoid: str, dtype: str, values: list[Any]) -> Any:
        if None in values:
            return None
        if dtype == "i1":
            return reduce(MACHINE[monoid], values, monoid == "and")
        return super().total(monoid, dtype, values)


def classes(terms: Terms) -> list[list[str]] | None:
    """The terms that the graph finds equal, if it may be believed."""
    graph, made = TermGraph(terms.relations, terms.theory), dict[str, int]()
    for name, dtype in terms.leaves.items():
        made[name] = graph.leaf(name, TermType(DType(dtype), "p"))
    for name, node in terms.nodes.items():
        made[name] = _made(graph, node, made, terms.names)
    try:
        graph.saturate()
    except UnsoundMerge:
        assert terms.theory is not Theory.EXACT
        return None  # 0 and -0 were added
    found: dict[Any, list[str]] = {}
    for name, number in made.items():
        found.setdefault((graph.type_of(number), graph._class(number)), []).append(name)
    return [each for each in found.values() if len(each) > 1]


def _made(graph: TermGraph, node: Node, made: dict[str, int], names: dict[str, Any]) -> int:
    type_ = TermType(DType(node.target), "p")
    *before, last = map(str, node.arguments)
    if node.head == "const":
        return graph.constant(names[last], type_)
    if node.head == "view":
        return graph.view(names[before[0]], made[last], type_)
    if node.head == "total":
        return graph.total(before[0], names[before[1]], made[last], type_)
    op, _, attribute = node.head.partition(".")
    return graph.apply(op, attribute, [(None, made[name]) for name in (*before, last)], type_)


def contradiction(terms: Terms, found: list[list[str]], rounds: int) -> str | None:
    """Two terms of one class whose values differ."""
    numbers = Machine() if terms.theory is Theory.EXACT else Rationals()
    for _ in range(rounds):
        env = terms.values(numbers)
        for first, *others in found:
            for other in others:
                if not all(numbers.equal(one, two) for one, two in zip(env[first], env[other], strict=True)):
                    leaves = {name: env[name] for name in terms.leaves}
                    return f"{terms.text(first)} and {terms.text(other)}: {env[first]} and {env[other]} at {leaves}"
    return None


KINDS = {
    Theory.EXACT: (("f32", "i1"), ("bf16", "f32", "f64"), ("i8", "i1", "ui8"), ("i32", "f32", "i8")),
    Theory.REASSOCIATED: (("f32",), ("f32", "i1"), ("f32", "f64")),
}
CASES = [(theory, kinds) for theory, all_ in KINDS.items() for kinds in all_]


@pytest.mark.parametrize(("theory", "kinds"), CASES, ids=lambda case: getattr(case, "value", None))
def test_terms_of_one_class_have_equal_values(theory: Theory, kinds: tuple[str, ...]) -> None:
    judged = 0
    for seed in range(SEEDS):
        rng = random.Random(f"{theory.value} {kinds} {seed}")
        terms = Terms(rng, theory, kinds)
        for _ in range(SIZE):
            terms.grow()
        found = classes(terms)
        if found is not None:
            judged += len(found)
            assert contradiction(terms, found, ROUNDS) is None
    assert judged > 10 * SEEDS
