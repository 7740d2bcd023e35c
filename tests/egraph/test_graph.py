"""The term graph as its callers see it: building, batches, limits, theories, explanations and the tripwire."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from egraph.relations import FiniteRelations
from shardproof.validator.egraph import engine
from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.egraph.outcome import Limits, StopReason, UnsoundMerge, Why
from shardproof.validator.explain.apart import apart
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.rules import BY_NAME

F32, BF16, I32 = (TermType(dtype, "p") for dtype in (DType.F32, DType.BF16, DType.I32))


def _graph(theory: Theory = Theory.REASSOCIATED, limits: Limits | None = None) -> TermGraph:
    return TermGraph(FiniteRelations(4), theory, limits)


def _op(graph: TermGraph, op: str, *terms: int, type_: TermType = F32) -> int:
    return graph.apply(op, (), [(None, term) for term in terms], type_)


def test_terms_are_hash_consed() -> None:
    graph = _graph()
    x, y = graph.leaf("x", F32), graph.leaf("y", F32)
    assert graph.leaf("x", F32) == x
    assert _op(graph, "add", x, y) == _op(graph, "add", y, x)
    assert _op(graph, "subtract", x, y) != _op(graph, "subtract", y, x)
    rounded = [graph.apply("reduce_precision", ("mantissa_bits", bits), [(None, x)], F32) for bits in (7, 7, 10)]
    assert rounded[0] == rounded[1] != rounded[2]


def test_congruence_after_a_told_equality() -> None:
    graph = _graph()
    x, y = graph.leaf("x", F32), graph.leaf("y", F32)
    left, right = _op(graph, "tanh", _op(graph, "exponential", x)), _op(graph, "tanh", _op(graph, "exponential", y))
    assert not graph.same(left, right)
    graph.union(x, y, "slices of one parameter")
    assert graph.same(left, right)
    steps = graph.explain(left, right)
    assert [step.name for step in steps if step.why is Why.CONGRUENCE] == ["tanh", "exponential"]
    assert [step.name for step in steps if step.why is Why.TOLD] == ["slices of one parameter"]


def test_explanations_name_rules_and_theories() -> None:
    graph = _graph()
    x, y, z = (graph.leaf(name, F32) for name in "xyz")
    left = _op(graph, "add", _op(graph, "subtract", x, y), z)
    right = _op(graph, "subtract", _op(graph, "add", z, x), y)
    graph.saturate()
    steps = graph.explain(left, right)
    assert {step.name for step in steps} >= {"sums-and-products-reordered"}
    assert max((step.theory for step in steps), key=list(Theory).index) is Theory.REASSOCIATED
    assert all(step.name in BY_NAME for step in steps if step.why is Why.RULE)
    with pytest.raises(ValueError, match="not known to be equal"):
        graph.explain(x, y)


def test_the_level_tells_what_an_equality_rests_on() -> None:
    graph = _graph()
    x, y, z = (graph.leaf(name, F32) for name in "xyz")
    exact = _op(graph, "subtract", x, y), _op(graph, "add", _op(graph, "negate", y), x)
    loose = _op(graph, "add", _op(graph, "add", x, y), z), _op(graph, "add", x, _op(graph, "add", y, z))
    graph.saturate(Theory.EXACT)
    assert (graph.level, graph.same(*exact), graph.same(*loose)) == (Theory.EXACT, True, False)
    graph.saturate()
    assert (graph.level, graph.same(*loose)) == (Theory.REASSOCIATED, True)
    with pytest.raises(ValueError, match="theory real"):
        graph.saturate(Theory.REAL)


def test_rules_leave_unknown_monoids_alone() -> None:
    relations = FiniteRelations(4)
    graph = TermGraph(relations, Theory.REAL)
    x, r = graph.leaf("x", F32), relations.function(0, 0, 2, 2)
    latest = graph.total("set", r, x, F32)
    graph.saturate()
    assert not graph.same(latest, graph.view(r, x, F32))
    assert not graph.same(graph.total("set", r, latest, F32), latest)


def test_everything_in_a_real_graph_rests_on_the_reals() -> None:
    graph = _graph(Theory.REAL)
    x = graph.leaf("x", F32)
    narrow, half = _op(graph, "convert", x, type_=BF16), _op(graph, "convert", x, type_=TermType(DType.F16, "p"))
    assert narrow != half
    assert graph.constant(1 / 3, F32) != graph.constant(1 / 3, BF16)
    back = _op(graph, "convert", narrow)
    assert graph.saturate(Theory.EXACT).theory is Theory.REAL
    assert graph.level is Theory.REAL
    assert graph.same(back, x)
    assert {step.theory for step in graph.explain(back, x)} == {Theory.REAL}


def test_a_float_sum_over_a_permutation_is_not_exact() -> None:
    for theory in (Theory.EXACT, Theory.REASSOCIATED):
        relations = FiniteRelations(4)
        graph = TermGraph(relations, theory)
        everything, reverse = relations.intern(((0, 1, 2, 3),) * 4), relations.function(3, 2, 1, 0)
        x = graph.leaf("x", F32)
        left = graph.total("add", everything, graph.view(reverse, x, F32), F32)
        graph.saturate()
        assert graph.same(left, graph.total("add", everything, x, F32)) is (theory is not Theory.EXACT)


def test_narrowing_before_a_sum_is_seen_below_real() -> None:
    for theory in Theory:
        relations = FiniteRelations(4)
        graph = TermGraph(relations, theory)
        everything = relations.intern(((0, 1, 2, 3),) * 4)
        x = graph.leaf("x", F32)
        late = _op(graph, "convert", graph.total("add", everything, x, F32), type_=BF16)
        early = graph.total("add", everything, _op(graph, "convert", x, type_=BF16), BF16)
        graph.saturate()
        assert graph.same(late, early) is (theory is Theory.REAL)


def test_partial_sums_complete_but_not_twice() -> None:
    relations = FiniteRelations(4)
    graph = TermGraph(relations, Theory.REASSOCIATED)
    x = graph.leaf("x", F32)
    pairs, across = relations.intern(((0, 1), (0, 1), (2, 3), (2, 3))), relations.intern(((0, 2), (1, 3)) * 2)
    everything = relations.intern(((0, 1, 2, 3),) * 4)
    whole = graph.total("add", everything, x, F32)
    completed = graph.total("add", across, graph.total("add", pairs, x, F32), F32)
    twice = graph.total("add", pairs, graph.total("add", pairs, x, F32), F32)
    greatest = graph.total("maximum", pairs, graph.total("maximum", pairs, x, F32), F32)
    graph.saturate()
    assert graph.same(whole, completed)
    assert not graph.same(twice, graph.total("add", pairs, x, F32))
    assert graph.same(greatest, graph.total("maximum", pairs, x, F32))


def test_softmax_does_not_depend_on_its_shift() -> None:
    relations = FiniteRelations(4)
    graph = TermGraph(relations, Theory.REAL)
    rows, row_of = relations.intern(((0, 1), (0, 1), (2, 3), (2, 3))), relations.function(0, 0, 2, 2)
    x, m = graph.leaf("x", F32), graph.leaf("m", F32)

    def softmax(scores: int) -> int:
        weights = _op(graph, "exponential", scores)
        return _op(graph, "divide", weights, graph.total("add", rows, weights, F32))

    plain, shifted = softmax(x), softmax(graph.apply("subtract", (), [(None, x), (row_of, m)], F32))
    wrong = softmax(graph.apply("subtract", (), [(None, x), (None, m)], F32))
    graph.saturate()
    assert graph.same(plain, shifted)
    assert not graph.same(plain, wrong)


def test_ops_of_many_operands_and_comparisons() -> None:
    graph = _graph()
    x, y = graph.leaf("x", F32), graph.leaf("y", F32)
    five, other = _op(graph, "map", x, y, x, y, x), _op(graph, "map", x, y, x, y, y)
    predicate = TermType(DType.I1, "p")
    less = graph.apply("compare", ("LT", "FLOAT"), [(None, x), (None, y)], predicate)
    greater = graph.apply("compare", "GT", [(None, y), (None, x)], predicate)
    total_order = graph.apply("compare", ("GT", "TOTALORDER"), [(None, y), (None, x)], predicate)
    graph.saturate()
    assert not graph.same(five, other)
    assert graph.same(less, greater)
    assert not graph.same(less, total_order)


def test_types_are_checked() -> None:
    graph = _graph()
    x, i = graph.leaf("x", F32), graph.leaf("i", I32)
    with pytest.raises(ValueError, match="two types"):
        graph.leaf("x", BF16)
    with pytest.raises(ValueError, match="different types"):
        graph.union(x, i, "no")
    with pytest.raises(ValueError, match="use 'convert'"):
        graph.view(FiniteRelations(4).function(0, 0, 0, 0), x, I32)
    with pytest.raises(ValueError, match="another space"):
        graph.apply("negate", (), [(None, x)], TermType(DType.F32, "q"))
    with pytest.raises(ValueError, match="not a value"):
        graph.constant(300, TermType(DType.UI8, "p"))


def test_a_false_equality_of_constants_trips() -> None:
    graph = _graph(Theory.EXACT)
    x = graph.leaf("x", F32)
    graph.union(_op(graph, "multiply", x, graph.constant(0.0, F32)), graph.constant(1.0, F32), "wrong")
    graph.union(_op(graph, "multiply", x, graph.constant(0.0, F32)), graph.constant(2.0, F32), "wrong too")
    with pytest.raises(UnsoundMerge, match=r"1\.0:f32 and 2\.0:f32"):
        graph.saturate()


def test_zeros_of_both_signs_are_two_constants() -> None:
    graph = _graph(Theory.EXACT)
    zero, minus = graph.constant(0.0, F32), graph.constant(-0.0, F32)
    total, x = _op(graph, "add", minus, zero), graph.leaf("x", F32)
    kept, loose = _op(graph, "add", x, minus), _op(graph, "add", x, zero)
    graph.saturate()
    assert (graph.same(total, zero), graph.same(total, minus)) == (True, False)
    assert (graph.same(kept, x), graph.same(loose, x)) == (True, False)


def test_above_exact_the_sum_of_both_zeros_is_no_constant() -> None:
    """By x + 0 = x it is -0, and by x + (-0) = x it is 0; with both as one, 1/0 would be 1/-0."""
    graph = _graph(Theory.REASSOCIATED)
    zero, minus, x = graph.constant(0.0, F32), graph.constant(-0.0, F32), graph.leaf("x", F32)
    loose = _op(graph, "add", x, zero)
    graph.saturate()
    assert (graph.same(loose, x), graph.same(zero, minus)) == (True, False)
    _op(graph, "add", minus, zero)
    with pytest.raises(UnsoundMerge, match=r"-?0\.0:f32 and -?0\.0:f32"):
        graph.saturate()


def test_constants_are_rounded_only_at_exact() -> None:
    """x + (c + k) is (x + c) + k above: rounded, c + k would be another number there."""
    for theory in (Theory.EXACT, Theory.REASSOCIATED):
        graph = _graph(theory)
        great, little, rounded = (graph.constant(number, F32) for number in (1e8, 13.0, 100000016.0))
        x, total = graph.leaf("x", F32), _op(graph, "add", great, little)
        at_once, in_turn = _op(graph, "add", x, total), _op(graph, "add", _op(graph, "add", x, great), little)
        other, exact = _op(graph, "add", x, rounded), _op(graph, "add", graph.constant(2.0, F32), little)
        graph.saturate()
        loose = theory is not Theory.EXACT
        assert (graph.same(total, rounded), graph.same(at_once, other)) == (not loose, not loose)
        assert (graph.same(at_once, in_turn), graph.same(other, in_turn)) == (loose, False)
        assert graph.same(exact, graph.constant(15.0, F32))


def test_a_number_that_is_rounded_twice_on_its_way_is_not_converted() -> None:
    graph, twice = _graph(Theory.EXACT), 1 + 2.0**-8 + 2.0**-40
    once = 1 + 2.0**-7
    for number, known in ((twice, False), (once, True)):
        narrow = _op(graph, "convert", graph.constant(number, TermType(DType.F64, "p")), type_=BF16)
        graph.saturate()
        assert [graph.same(narrow, graph.constant(each, BF16)) for each in (once, 1.0)] == [known, False]


def test_numbers_without_a_sign_are_not_negated() -> None:
    """4 - 2 is 2, but -2 is no number of this type."""
    graph, positive = _graph(), TermType(DType.F8E8M0FNU, "p")
    x, y, z = (graph.leaf(name, positive) for name in "xyz")
    negated = _op(graph, "negate", y, type_=positive)
    pairs = [
        (_op(graph, "subtract", x, y, type_=positive), _op(graph, "add", x, negated, type_=positive)),
        (_op(graph, "negate", negated, type_=positive), y),
        (
            _op(graph, "add", _op(graph, "subtract", x, y, type_=positive), z, type_=positive),
            _op(graph, "subtract", _op(graph, "add", x, z, type_=positive), y, type_=positive),
        ),
    ]
    graph.saturate()
    assert not any(graph.same(*pair) for pair in pairs)


@pytest.mark.parametrize("dtype", [DType.F8E4M3FN, DType.F8E5M2])
def test_a_maximum_is_scaled_only_where_overflow_keeps_the_order(dtype: DType) -> None:
    """448 is the greatest number of f8E4M3FN, and twice that is NaN, also where something greater than -448 is."""
    relations, type_ = FiniteRelations(4), TermType(dtype, "p")
    graph = TermGraph(relations, Theory.EXACT)
    everything, x, two = relations.intern(((0, 1, 2, 3),) * 4), graph.leaf("x", type_), graph.constant(2.0, type_)
    inside = graph.total("maximum", everything, _op(graph, "multiply", x, two, type_=type_), type_)
    outside = _op(graph, "multiply", graph.total("maximum", everything, x, type_), two, type_=type_)
    graph.saturate()
    assert graph.same(inside, outside) is (dtype is DType.F8E5M2)


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (Limits(iterations=1), StopReason.ITERATION_LIMIT),
        (Limits(nodes=5), StopReason.NODE_LIMIT),
        (Limits(seconds=0.0), StopReason.TIME_LIMIT),
        (Limits(), StopReason.SATURATED),
    ],
)
def test_limits_stop_a_run(limits: Limits, stop: StopReason) -> None:
    graph = _graph(limits=limits)
    x, y = graph.leaf("x", F32), graph.leaf("y", F32)
    _op(graph, "subtract", _op(graph, "subtract", x, y), y)
    assert graph.saturate().stop is stop


def test_batches_add_up() -> None:
    rng, graph = np.random.default_rng(0), _graph()
    leaves = [graph.leaf(f"x{n}", F32) for n in range(5)]
    for _ in range(20):
        order = rng.permutation(5)
        total = leaves[order[0]]
        for n in order[1:]:
            total = _op(graph, "add", total, leaves[n])
        graph.saturate()
        leaves_in_order = leaves[0]
        for leaf in leaves[1:]:
            leaves_in_order = _op(graph, "add", leaves_in_order, leaf)
        graph.saturate()
        assert graph.same(total, leaves_in_order)


def test_the_high_level_egglog_api_stays_out() -> None:
    program = (
        "import sys; from shardproof.validator.egraph.graph import TermGraph;"
        "from shardproof.validator.egraph.engine import Engine; Engine('(ruleset r)');"
        "print(sorted(name for name in sys.modules if name.startswith('egglog')));"
        "import egglog.bindings as late; print(late is sys.modules['egglog.bindings'])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split("\n")[:2] == ["['egglog.bindings']", "True"]


def test_graphs_that_only_hold_each_other_do_not_stay() -> None:
    for _ in range(8):
        ring: list[object] = [TermGraph(FiniteRelations(2), Theory.EXACT)]
        ring.append(ring)
    assert len(engine._alive) <= engine._MOST + 1


def test_a_copy_of_the_process_lets_go_of_no_graph() -> None:
    """Its threads are those of the original: it would wait for them for ever."""
    kept = [TermGraph(FiniteRelations(2), Theory.EXACT) for _ in range(engine._MOST)]
    ring: list[object] = [kept.pop()]
    ring.append(ring)
    del ring

    def work() -> Iterator[str]:
        graph = TermGraph(FiniteRelations(2), Theory.EXACT)
        yield type(graph).__name__
        # what ends the copy lets go of nothing
        kept.append(graph)

    assert apart(work, 20.0, 60.0) == "TermGraph"


def test_the_rules_take_little_memory() -> None:
    script = (
        "import resource\n"
        "from shardproof.validator.egraph.engine import Engine\n"
        "from shardproof.validator.egraph.schema import program\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "engine = Engine(program())\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 60  # MB
