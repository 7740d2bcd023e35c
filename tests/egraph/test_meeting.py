"""Views that meet: ops under views are found equal to ops over views, without new terms."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from egraph.relations import FiniteRelations
from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType

MEETING_RULE = "views-meet"
TYPE = TermType(DType.I8, "points")
SHIFTS = ((0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2), (3, 2, 1, 0), (0, 0, 2, 2))


def _graph() -> tuple[FiniteRelations, TermGraph]:
    relations = FiniteRelations(4)
    return relations, TermGraph(relations, Theory.EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_what_meets_is_equal(seed: int) -> None:
    """Random terms with their values at four points; every equality found must be one of values."""
    rng, (relations, graph) = random.Random(seed), _graph()
    values: dict[int, Any] = {}
    for name in "xyz":
        values[graph.leaf(name, TYPE)] = np.array([rng.randrange(-128, 128) for _ in range(4)], np.int8)
    with np.errstate(over="ignore"):
        while len(values) < 90:
            terms = list(values)
            first, second = rng.choice(terms), rng.choice(terms)
            points = rng.choice(SHIFTS)
            if rng.random() < 0.3:  # an op under a view and the op over the views, each built on its own
                relation = relations.function(*points)
                seen = np.add(values[first], values[second])[list(points)]
                values[graph.view(relation, graph.apply("add", (), [(None, first), (None, second)], TYPE), TYPE)] = seen
                values[graph.apply("add", (), [(relation, first), (relation, second)], TYPE)] = seen
            elif rng.random() < 0.5:
                values[graph.view(relations.function(*points), first, TYPE)] = values[first][list(points)]
            else:
                op, function = rng.choice([("add", np.add), ("xor", np.bitwise_xor), ("maximum", np.maximum)])
                term = graph.apply(op, (), [(None, first), (None, second)], TYPE)
                values[term] = function(values[first], values[second])
    report = graph.saturate()
    terms = list(values)
    equal = [(a, b) for a in terms for b in terms if a < b and graph.same(a, b)]
    assert all((values[a] == values[b]).all() for a, b in equal)
    assert report.fired.get(MEETING_RULE, 0) > 0


def test_different_relations_on_the_operands() -> None:
    relations, graph = _graph()
    x, y = graph.leaf("x", TYPE), graph.leaf("y", TYPE)
    r, s, t = (relations.function(*points) for points in ((1, 2, 3, 0), (3, 2, 1, 0), (0, 0, 2, 2)))
    rs, rt = relations.compose(r, s), relations.compose(r, t)
    inner = graph.apply("subtract", (), [(s, x), (t, y)], TYPE)
    left, right = graph.view(r, inner, TYPE), graph.apply("subtract", (), [(rs, x), (rt, y)], TYPE)
    wrong = graph.apply("subtract", (), [(rs, x), (t, y)], TYPE)
    before = graph.saturate().nodes
    assert graph.same(left, right)
    assert not graph.same(left, wrong)
    assert before < 24


def test_a_view_undone_by_another_one() -> None:
    relations, graph = _graph()
    x, y = graph.leaf("x", TYPE), graph.leaf("y", TYPE)
    there, back = relations.function(1, 2, 3, 0), relations.function(3, 0, 1, 2)
    inner = graph.apply("add", (), [(back, x), (None, y)], TYPE)
    assert relations.compose(there, back) == relations.function(0, 1, 2, 3)
    left, right = graph.view(there, inner, TYPE), graph.apply("add", (), [(None, x), (there, y)], TYPE)
    graph.saturate()
    assert graph.same(left, right)


def test_deep_terms_need_an_expanding_run() -> None:
    relations, graph = _graph()
    x, y, z = (graph.leaf(name, TYPE) for name in "xyz")
    r, s = relations.function(1, 2, 3, 0), relations.function(0, 0, 2, 2)
    rs = relations.compose(r, s)
    assert rs is not None

    def nest(first: int, second: int | None) -> int:
        inner = graph.apply("xor", (), [(first, x), (second, y)], TYPE)
        return graph.apply("maximum", (), [(None, inner), (first, z)], TYPE)

    left, right = graph.view(r, nest(s, None), TYPE), nest(rs, r)
    graph.saturate()
    plain = graph.same(left, right)
    graph.saturate(expanding=True)
    assert graph.same(left, right)
    assert not plain
