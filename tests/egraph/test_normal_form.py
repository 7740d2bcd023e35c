"""Sums and products as multisets: what is reordered must be found equal, what is found equal must be equal."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from egraph.relations import FiniteRelations
from egraph.semantics import Machine
from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.normal_form import CHAINS

LEAVES = 4


def _varied(tree: Any, rng: random.Random) -> Any:
    """The same chains in another order."""
    if tree[0] in ("leaf", "const"):
        return tree
    op, *children = (tree[0], *(_varied(child, rng) for child in tree[1:]))
    if op in ("add", "multiply", *CHAINS):
        rng.shuffle(children)
        if children[1][0] == op:
            return (op, (op, children[0], children[1][1]), children[1][2])
    return (op, *children)


def _same_pairs(
    theory: Theory, dtype: DType, ops: tuple[str, ...], constants: tuple[float, ...], rng: random.Random
) -> list[tuple[Any, Any]]:
    """Random terms over a few leaves, as nested tuples, paired where the graph finds them equal."""
    graph = TermGraph(FiniteRelations(1), theory)
    type_ = TermType(dtype, 0)
    terms: list[tuple[Any, int]] = [(("leaf", n), graph.leaf(f"x{n}", type_)) for n in range(LEAVES)]
    terms += [(("const", value), graph.constant(value, type_)) for value in constants]

    def build(tree: Any) -> int:
        if tree[0] in ("leaf", "const"):
            return next(term for known, term in terms if known == tree)
        return graph.apply(tree[0], (), [(None, build(child)) for child in tree[1:]], type_)

    while len(terms) < 120:
        if rng.random() < 0.2:
            varied = _varied(rng.choice(terms)[0], rng)
            terms.append((varied, build(varied)))
            continue
        op = rng.choice(ops)
        arity = 1 if op in ("negate", "exponential") else 2
        chosen = [rng.choice(terms[: 8 + len(terms) // 3]) for _ in range(arity)]
        term = graph.apply(op, (), [(None, term) for _, term in chosen], type_)
        terms.append(((op, *(tree for tree, _ in chosen)), term))
    graph.saturate()
    classes: dict[Any, tuple[Any, int]] = {}
    pairs: list[tuple[Any, Any]] = []
    for tree, term in terms:
        for other_tree, other in classes.values():
            if graph.same(term, other):
                if tree != other_tree:
                    pairs.append((tree, other_tree))
                break
        else:
            classes[term] = (tree, term)
    return pairs


def _value(tree: Any, leaves: list[Any], constant: Callable[[float], Any], ops: dict[str, Callable[..., Any]]) -> Any:
    if tree[0] == "leaf":
        return leaves[tree[1]]
    if tree[0] == "const":
        return constant(tree[1])
    return ops[tree[0]](*(_value(child, leaves, constant, ops) for child in tree[1:]))


_OPS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negate": lambda x: -x,
    "exponential": math.exp,
}


def _integers(rng: random.Random) -> int:
    pairs = _same_pairs(Theory.EXACT, DType.UI8, ("add", "subtract", "multiply", "negate"), (0, 1, 2, 255, 100), rng)
    with np.errstate(over="ignore"):
        for left, right in pairs:
            leaves = [np.uint8(rng.randrange(256)) for _ in range(LEAVES)]
            assert _value(left, leaves, np.uint8, _OPS) == _value(right, leaves, np.uint8, _OPS), (left, right)
    return len(pairs)


def _reassociated(rng: random.Random) -> int:
    ops = ("add", "subtract", "multiply", "divide", "negate")
    pairs = _same_pairs(Theory.REASSOCIATED, DType.F32, ops, (0.0, 1.0, 2.0, 0.25, 3.0, 0.1), rng)
    kept = 0
    for left, right in pairs:
        leaves = [Fraction(rng.randint(1, 99), rng.randint(1, 9)) for _ in range(LEAVES)]
        try:
            values = [_value(tree, leaves, lambda v: Fraction(float(np.float32(v))), _OPS) for tree in (left, right)]
        except ZeroDivisionError:
            continue
        assert values[0] == values[1], (left, right)
        kept += 1
    return kept


def _real(rng: random.Random) -> int:
    ops = ("add", "subtract", "multiply", "divide", "negate", "exponential")
    pairs = _same_pairs(Theory.REAL, DType.F32, ops, (1.0, 2.0, 3.0, 0.1), rng)
    kept = 0
    for left, right in pairs:
        leaves = [rng.uniform(0.3, 1.2) for _ in range(LEAVES)]
        try:
            values = [_value(tree, leaves, float, _OPS) for tree in (left, right)]
        except (ZeroDivisionError, OverflowError):
            continue
        if max(map(abs, values)) < 1e6:
            assert math.isclose(*values, rel_tol=1e-7, abs_tol=1e-7), (left, right, values)
            kept += 1
    return kept


def _machine_op(op: str, dtype: DType) -> Callable[..., Any]:
    return lambda *values: Machine().apply(op, dtype.value, dtype.value, list(values))


def _any_order(rng: random.Random) -> int:
    """Bit for bit: as the machine computes it, NaN (whose payload is left open), infinities and both zeros included."""
    machine, kept = Machine(), 0
    special = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.0)
    types: list[tuple[DType, Any, tuple[str, ...], tuple[Any, ...], Callable[[], Any]]] = [
        (DType.UI8, np.uint8, tuple(CHAINS), (0, 1, 255, 12), lambda: rng.randrange(256)),
        (DType.I8, np.int8, tuple(CHAINS), (0, -1, 127, -128, 5), lambda: rng.randrange(-128, 128)),
        (DType.I1, np.bool_, ("and", "or", "xor"), (False, True), lambda: rng.random() < 0.5),
        (DType.F32, np.float32, ("maximum", "minimum"), (-0.0, math.inf, 1.0), lambda: rng.choice(special)),
    ]
    for dtype, kind, names, constants, sample in types:
        ops = {op: _machine_op(op, dtype) for op in names}
        for left, right in _same_pairs(Theory.EXACT, dtype, names, constants, rng):
            leaves = [kind(sample()) for _ in range(LEAVES)]
            values = [_value(tree, leaves, kind, ops) for tree in (left, right)]
            assert machine.equal(*values), (left, right, leaves)
            kept += 1
    return kept


CHECKS: dict[str, Callable[[random.Random], int]] = {
    "chains-in-any-order": _any_order,
    "integer-polynomials": _integers,
    "sums-and-products-reordered": _reassociated,
    "rational-monomials": _real,
}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("seed", range(4))
def test_terms_with_one_form_are_equal(name: str, seed: int) -> None:
    assert CHECKS[name](random.Random(seed)) >= 5


class Sums:
    """Short hands for terms over float32 leaves on one space."""

    def __init__(self, theory: Theory) -> None:
        self.graph = TermGraph(FiniteRelations(1), theory)
        self.type = TermType(DType.F32, 0)

    def __getattr__(self, name: str) -> int:
        return self.graph.leaf(name, self.type)

    def c(self, value: float) -> int:
        return self.graph.constant(value, self.type)

    def op(self, name: str, *children: int) -> int:
        return self.graph.apply(name, (), [(None, child) for child in children], self.type)

    def sum(self, *terms: int) -> int:
        total = terms[0]
        for term in terms[1:]:
            total = self.op("add", total, term)
        return total

    def same(self, left: int, right: int) -> bool:
        self.graph.saturate()
        return self.graph.same(left, right)


def test_a_sum_of_eight_in_two_orders_needs_few_nodes() -> None:
    s = Sums(Theory.REASSOCIATED)
    leaves = [getattr(s, f"x{n}") for n in range(8)]
    left, right = s.sum(*leaves), s.sum(*reversed(leaves))
    report = s.graph.saturate()
    assert s.graph.same(left, right)
    assert report.nodes < 60


@pytest.mark.parametrize(
    ("theory", "expected"), [(Theory.EXACT, False), (Theory.REASSOCIATED, True), (Theory.REAL, True)]
)
def test_reordering_a_float_sum_is_not_exact(theory: Theory, expected: bool) -> None:
    s = Sums(theory)
    assert s.same(s.sum(s.x, s.y, s.z), s.sum(s.z, s.x, s.y)) is expected


@pytest.mark.parametrize(("theory", "expected"), [(Theory.REASSOCIATED, False), (Theory.REAL, True)])
def test_nothing_cancels_below_real(theory: Theory, expected: bool) -> None:
    s = Sums(theory)
    assert s.same(s.op("divide", s.op("multiply", s.x, s.y), s.y), s.x) is expected
    assert s.same(s.op("subtract", s.op("add", s.x, s.y), s.y), s.x) is expected
    assert s.same(s.op("multiply", s.x, s.c(0.0)), s.c(0.0)) is expected


def test_multiplicity_matters() -> None:
    s = Sums(Theory.REAL)
    assert not s.same(s.sum(s.x, s.y, s.y), s.sum(s.x, s.x, s.y))
    assert not s.same(s.op("multiply", s.x, s.c(8.0)), s.op("multiply", s.x, s.c(4.0)))


def test_scale_factors_cancel() -> None:
    s = Sums(Theory.REASSOCIATED)
    assert s.same(s.op("multiply", s.op("multiply", s.x, s.c(8.0)), s.c(0.125)), s.x)
    assert s.same(s.op("multiply", s.op("divide", s.x, s.c(3.0)), s.c(3.0)), s.x)
    assert not s.same(s.op("divide", s.x, s.c(3.0)), s.op("multiply", s.x, s.c(1 / 3)))
    s = Sums(Theory.REASSOCIATED)
    whole = s.op("divide", s.op("divide", s.sum(s.x, s.y), s.c(4.0)), s.c(12.0))
    assert s.same(whole, s.op("divide", s.sum(s.x, s.y), s.c(48.0)))
    assert not s.same(whole, s.sum(s.op("divide", s.x, s.c(48.0)), s.op("divide", s.y, s.c(48.0))))
    r = Sums(Theory.REAL)
    assert r.same(r.op("multiply", r.op("divide", r.x, r.c(3.0)), r.c(3.0)), r.x)
    assert r.same(r.op("divide", r.x, r.c(3.0)), r.op("multiply", r.x, r.c(1 / 3)))
    assert not r.same(r.op("divide", r.x, r.c(3.0)), r.op("multiply", r.x, r.c(0.333)))


@pytest.mark.parametrize("op", CHAINS)
def test_chains_in_any_order_and_what_is_none(op: str) -> None:
    graph, type_ = TermGraph(FiniteRelations(1), Theory.EXACT), TermType(DType.UI32, 0)
    a, b, c, d = (graph.leaf(name, type_) for name in "abcd")

    def chain(*terms: int, op: str = op) -> int:
        total = terms[0]
        for term in terms[1:]:
            total = graph.apply(op, (), [(None, total), (None, term)], type_)
        return total

    left, right = chain(chain(a, b), c), chain(chain(c, b), a)
    wrong = (chain(a, b), chain(a, b, c, d), chain(a, b, d), chain(a, chain(b, c, op="add")))
    twice, split = chain(a, b, a), chain(chain(a, graph.constant(12, type_)), graph.constant(10, type_))
    whole = chain(a, graph.constant({"and": 8, "or": 14, "xor": 6, "maximum": 12, "minimum": 10}[op], type_))
    graph.saturate()
    assert graph.same(left, right) and graph.same(split, whole)
    assert not any(graph.same(left, other) for other in wrong)
    assert graph.same(twice, b if op == "xor" else wrong[0]) and not graph.same(twice, a)


def test_chains_of_floats_keep_their_zeros_apart() -> None:
    graph, type_ = TermGraph(FiniteRelations(1), Theory.EXACT), TermType(DType.F32, 0)
    x = graph.leaf("x", type_)
    kept = [graph.apply("maximum", (), [(None, x), (None, graph.constant(zero, type_))], type_) for zero in (0.0, -0.0)]
    graph.saturate()
    assert not graph.same(*kept)


def test_a_scaled_sum_as_a_factor() -> None:
    for scale in (0.5, 0.3):
        s = Sums(Theory.REASSOCIATED)
        total = s.sum(s.x, s.y)
        left = s.op("multiply", s.z, s.op("multiply", total, s.c(scale)))
        right = s.op("multiply", s.op("multiply", s.z, total), s.c(scale))
        wrong = s.op("multiply", s.op("multiply", s.z, total), s.c(2 * scale))
        assert s.same(left, right) and not s.same(left, wrong)


def test_constants_on_either_side() -> None:
    s = Sums(Theory.REASSOCIATED)
    both = s.op("multiply", s.c(0.7978846), s.c(0.134145))
    left, right = s.op("multiply", s.x, both), s.op("multiply", s.op("multiply", s.x, s.c(0.7978846)), s.c(0.134145))
    assert s.same(left, right) and not s.same(left, s.op("multiply", s.x, s.c(0.7978846)))


def test_online_softmax_rescaling() -> None:
    s = Sums(Theory.REAL)

    def exp(left: int, right: int) -> int:
        return s.op("exponential", s.op("subtract", left, right))

    # (l exp(m - n) + s exp(k - n)) exp(n - o)  =  l exp(m - o) + s exp(k - o)
    inner = s.op("add", s.op("multiply", s.l, exp(s.m, s.n)), s.op("multiply", s.s, exp(s.k, s.n)))
    left = s.op("multiply", inner, exp(s.n, s.o))
    right = s.op("add", s.op("multiply", s.l, exp(s.m, s.o)), s.op("multiply", s.s, exp(s.k, s.o)))
    assert s.same(left, right)
    assert not s.same(left, s.op("add", s.op("multiply", s.l, exp(s.m, s.o)), s.op("multiply", s.s, exp(s.k, s.n))))


def test_a_long_chain_is_no_recursion() -> None:
    s = Sums(Theory.REASSOCIATED)
    chain = s.sum(*(getattr(s, f"x{n}") for n in range(1500)))
    s.graph.saturate()
    assert s.graph.same(chain, chain)
