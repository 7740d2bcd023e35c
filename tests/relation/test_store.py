"""Every operation of the store against plain enumeration, and what interning and memoising promise."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest
from hypothesis import given, settings

from shardproof.validator.check.relations import Relations
from shardproof.validator.relation import store as store_module
from shardproof.validator.relation.objects import MANY_QUANTIFIED
from shardproof.validator.relation.store import RelationLimitError, Store

from .finite import Finite, FiniteSet, images, pairs_of, points_of, relations, sets

few = settings(max_examples=60, deadline=None)


@given(relations(1, 2), relations(2, 1))
@few
def test_compose_and_reverse(first: Finite, second: Finite) -> None:
    store = Store()
    a, b = store.rel(first.text), store.rel(second.text)
    assert pairs_of(a) == first.pairs
    assert pairs_of(store.compose(a, b)) == {(p, x) for p, q in first.pairs for r, x in second.pairs if q == r}
    assert pairs_of(store.reverse(a)) == {(x, p) for p, x in first.pairs}


@given(relations(1, 1), relations(1, 2))
@few
def test_products(first: Finite, second: Finite) -> None:
    store = Store()
    a, b = store.rel(first.text), store.rel(second.text)
    both = itertools.product(first.pairs, second.pairs)
    assert pairs_of(store.pair(a, b)) == {(p, x + y) for (p, x), (q, y) in both if p == q}
    both = itertools.product(first.pairs, second.pairs)
    assert pairs_of(store.side_by_side(a, b)) == {(p + q, x + y) for (p, x), (q, y) in both}


@given(relations(1, 2), relations(1, 2))
@few
def test_set_algebra_of_relations(first: Finite, second: Finite) -> None:
    store = Store()
    a, b = store.rel(first.text), store.rel(second.text)
    assert pairs_of(store.union(a, b)) == first.pairs | second.pairs
    assert pairs_of(store.minus(a, b)) == first.pairs - second.pairs
    assert pairs_of(store.meet(a, b)) == first.pairs & second.pairs
    assert store.equal(a, b) == (first.pairs == second.pairs)
    assert store.subset(a, b) == (first.pairs <= second.pairs)
    assert store.empty(a) == (not first.pairs)
    assert store.disjoint(a, b) == first.pairs.isdisjoint(second.pairs)


@given(relations(2, 2), sets(2), sets(1))
@few
def test_restrictions(relation: Finite, domain: FiniteSet, first: FiniteSet) -> None:
    store = Store()
    rel, dom = store.rel(relation.text), store.dom(domain.text)
    assert points_of(dom) == domain.points
    assert pairs_of(store.restrict(rel, dom)) == {(p, x) for p, x in relation.pairs if p in domain.points}
    assert pairs_of(store.restrict_range(rel, dom)) == {(p, x) for p, x in relation.pairs if x in domain.points}
    led = store.restrict_first(rel, store.dom(first.text))
    assert pairs_of(led) == {(p, x) for p, x in relation.pairs if x[:1] in first.points}
    assert pairs_of(store.fix_range(rel, 1, 0)) == {(p, x) for p, x in relation.pairs if x[1] == 0}
    assert pairs_of(store.fix_domain(rel, 0, -1)) == {(p, x) for p, x in relation.pairs if p[0] == -1}


@given(relations(2, 2))
@few
def test_coordinates_move_between_both_sides(relation: Finite) -> None:
    store = Store()
    rel = store.rel(relation.text)
    inward = store.into_domain(rel, 1)
    assert pairs_of(inward) == {(p + x[:1], x[1:]) for p, x in relation.pairs}
    assert store.into_range(inward, 1) is rel or store.equal(store.into_range(inward, 1), rel)
    assert pairs_of(store.into_range(rel, 1)) == {(p[:1], p[1:] + x) for p, x in relation.pairs}
    assert pairs_of(store.project_out(rel, 0, 1)) == {(p, x[1:]) for p, x in relation.pairs}
    assert store.into_domain(rel, 0) is store.into_range(rel, 0) is store.project_out(rel, 0, 0) is rel


@given(relations(1, 1), relations(1, 2), relations(1, 2))
@few
def test_containing(match: Finite, whole: Finite, part: Finite) -> None:
    store = Store()
    found = store.containing(store.rel(match.text), store.rel(whole.text), store.rel(part.text))
    given_, wanted = images(whole.pairs), images(part.pairs)
    assert pairs_of(found) == {(p, q) for p, q in match.pairs if wanted.get(q, set()) <= given_.get(p, set())}


@given(relations(1, 1), relations(1, 2))
@few
def test_counts_once(first: Finite, second: Finite) -> None:
    store = Store()
    through = images(first.pairs)
    read = images(second.pairs)
    once = all(
        sum(x in read.get(q, set()) for q in middle) <= 1
        for middle in through.values()
        for x in set().union(*(read.get(q, set()) for q in middle))
    )
    assert store.counts_once(store.rel(first.text), store.rel(second.text)) == once


@given(relations(2, 1))
@few
def test_questions_about_one_relation(relation: Finite) -> None:
    store = Store()
    rel = store.rel(relation.text)
    forward, backward = images(relation.pairs), images((x, p) for p, x in relation.pairs)
    assert store.single_valued(rel) == all(len(found) == 1 for found in forward.values())
    assert store.injective(rel) == all(len(found) == 1 for found in backward.values())
    assert pairs_of(store.lexmin(rel)) == {(p, min(found)) for p, found in forward.items()}
    assert pairs_of(store.lexmax(rel)) == {(p, max(found)) for p, found in forward.items()}
    assert points_of(store.domain(rel)) == set(forward)
    assert points_of(store.range(rel)) == set(backward)
    only = next(iter(backward)) if len(backward) == 1 else None
    assert store.constant_range(rel) == only
    assert pairs_of(store.identity_on(store.domain(rel))) == {(p, p) for p in forward}
    assert store.subset(rel, store.affine_hull(rel))


@given(sets(2), sets(2), relations(2, 1), sets(1))
@few
def test_sets(first: FiniteSet, second: FiniteSet, relation: Finite, target: FiniteSet) -> None:
    store = Store()
    a, b, rel, t = store.dom(first.text), store.dom(second.text), store.rel(relation.text), store.dom(target.text)
    assert points_of(store.set_union(a, b)) == first.points | second.points
    assert points_of(store.set_minus(a, b)) == first.points - second.points
    assert points_of(store.set_meet(a, b)) == first.points & second.points
    assert points_of(store.set_product(a, t)) == {p + q for p in first.points for q in target.points}
    assert points_of(store.image(a, rel)) == {x for p, x in relation.pairs if p in first.points}
    assert points_of(store.preimage(t, rel)) == {p for p, x in relation.pairs if x in target.points}
    assert store.set_equal(a, b) == (first.points == second.points)
    assert store.set_subset(a, b) == (first.points <= second.points)
    assert store.set_empty(a) == (not first.points)
    chosen = store.sample(a)
    assert (chosen is None and not first.points) or chosen in first.points
    ordered = sorted(point[1] for point in first.points)
    assert store.bounds(a, 1) == ((ordered[0], ordered[-1]) if ordered else None)


def test_bounds_of_an_unbounded_set() -> None:
    store = Store()
    assert store.bounds(store.everything(2), 0) is None
    assert store.bounds(store.dom("{[a] : a >= 3}"), 0) is None


@given(relations(1, 2), relations(1, 2))
@few
def test_equal_objects_are_one(first: Finite, second: Finite) -> None:
    store = Store()
    a, b = store.rel(first.text), store.rel(second.text)
    assert store.rel(first.text) is a
    again = store.intern(a.map)  # isl may find a shorter form of strides when it looks twice
    assert store.equal(again, a)
    assert (a is b) <= (first.pairs == second.pairs)
    assert (a.number == b.number) == (a is b)
    assert store.union(a, a) is a and store.meet(a, a) is a


def test_operations_are_remembered() -> None:
    store = Store()
    rel = store.rel("{[a] -> [b] : b = a + 1 and 0 <= a < 4}")
    twice = store.compose(rel, rel)
    assert (store.misses, store.hits) == (1, 0)
    assert store.compose(rel, store.rel("{[a] -> [b] : b = a + 1 and 0 <= a < 4}")) is twice
    assert (store.misses, store.hits) == (1, 1)
    assert not store.empty(rel) and not store.empty(rel)
    assert (store.misses, store.hits) == (2, 2), "an answer of False is remembered too"


def test_numbers_are_never_used_again() -> None:
    """Memo keys are numbers: an object that nobody else holds must keep its own."""
    store = Store()
    numbers = set()
    for k in range(50):
        numbers.add(store.rel(f"{{[a] -> [b] : b = a + {k}}}").number)
        numbers.add(store.dom(f"{{[a] : a = {k}}}").number)
        gc.collect(0)
    assert len(numbers) == 100


def test_a_relation_and_a_set_of_one_text_do_not_mix() -> None:
    store = Store()
    store.dom("{[a] : a = 0}")
    with pytest.raises(AssertionError):
        store.rel("{[a] : a = 0}")


@pytest.mark.parametrize("limit", ["MAX_DISJUNCTS", "MAX_RAW_DISJUNCTS"])
def test_too_many_pieces_are_given_up(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scattered = "; ".join(f"[{k}, {k**3}]" for k in range(12))
    assert len(points_of(Store().dom(f"{{{scattered}}}"))) == 12
    monkeypatch.setattr(store_module, limit, 5)
    with pytest.raises(RelationLimitError, match="a set fell into"):
        Store().dom(f"{{{scattered}}}")
    pairs = "; ".join(f"[{k}] -> [{k**3}]" for k in range(12))
    with pytest.raises(RelationLimitError, match="a relation fell into"):
        Store().rel(f"{{{pairs}}}")


def test_too_much_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    rel = store.rel("{[a,b,c] -> [x] : (7x + a) mod 5 = b and exists (k : 3k + 2x + c = 4a and 0 <= k < 9)}")
    before = isl.DEFAULT_CONTEXT.get_max_operations()
    monkeypatch.setattr(store_module, "MAX_OPERATIONS", 10)
    monkeypatch.setattr(store_module, "MANY_OPERATIONS", 20)
    with pytest.raises(RelationLimitError, match="isl gave up on 'lexmin'"):
        store.lexmin(rel)
    assert isl.DEFAULT_CONTEXT.get_max_operations() == before
    monkeypatch.undo()
    with pytest.raises(RelationLimitError, match="isl gave up on 'lexmin'"):
        store.lexmin(rel)  # it is not tried again
    assert not Store().empty(Store().lexmin(rel))


def test_quick_operations_have_a_second_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{[a,b,c] -> [x] : (7x + a) mod 5 = b and exists (k : 3k + 2x + c = 4a and 0 <= k < 9)}"
    monkeypatch.setattr(store_module, "MAX_OPERATIONS", 10)
    store = Store()
    assert not store.empty(store.lexmin(store.rel(text)))
    store = Store()
    rel = store.rel(text)
    monkeypatch.setattr(store_module, "QUICK_SECONDS", -1.0)
    with pytest.raises(RelationLimitError, match="isl gave up on 'lexmin'"):
        store.lexmin(rel)


def test_the_length_of_a_text_takes_nothing_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read under this budget, isl calls these pieces a syntax error."""
    monkeypatch.setattr("shardproof.validator.relation.store.MAX_OPERATIONS", 100_000)
    pieces = "; ".join(f"[d,i] -> [i - {8 * k}] : 0 <= d < 8 and {8 * k} <= i < {8 * k + 8}" for k in range(64))
    assert Store().rel(f"{{{pieces}}}").arity_out == 1


def test_weight_grows_with_pieces_and_divisions() -> None:
    store = Store()
    plain = store.rel("{[a] -> [a] : 0 <= a < 8}")
    divided = store.rel("{[a] -> [b] : b = floor(a/3) and 0 <= a < 8}")
    pieces = store.rel("{[a] -> [b] : (b = 0 and 0 <= a < 3) or (b = 5 and 4 <= a < 7)}")
    assert store.weight(plain) == 1
    assert store.weight(pieces) == 2
    assert store.weight(store.union(divided, store.rel("{[a] -> [b] : b = 90 and 20 <= a < 22}"))) > 1


SOME_DEVICES = """{ [d0, d1] : exists e0: d0 <= 1 and d1 >= 0 and e0 >= -1 + d0 and 2e0 <= 2 - d0 + d1
  and 2e0 <= 2 + d0 - d1 and 3e0 >= -4 - d0 + 4d1 and 3e0 >= -1 - 4d0 + d1 }"""


@pytest.mark.parametrize("table", [Store, Relations])
def test_quantified_variables_do_not_pile_up(table: Callable[[], Any]):
    """isl takes seconds for one operation on thirty of them, all alike; here each round would double them."""
    made = table()
    devices = made.dom(SOME_DEVICES)
    first = rel = made.identity_on(devices)
    for _ in range(6):
        rel = made.compose(rel, made.restrict(rel, devices))
        assert all(piece.dim(isl.dim_type.div) <= MANY_QUANTIFIED for piece in rel.map.get_basic_maps())
    assert made.equal(rel, first)
