"""Every rewrite rule, checked twice: its two sides have equal values, and the e-graph finds them equal.

Values are compared bit for bit for exact rules (all NaNs counting as one), in rational arithmetic for reassociated
rules, and over the reals for real ones. The normal forms have their checks in `test_normal_form.py`, views that meet
have theirs in `test_meeting.py`.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from egraph.instances import DTYPES, Instances
from egraph.relations import FiniteRelations
from egraph.semantics import Exact, Machine, Numbers, Reals, evaluate, own_dtype, term_dtypes
from egraph.test_meeting import MEETING_RULE
from egraph.test_normal_form import CHECKS
from shardproof.validator.egraph.algebra import TermType
from shardproof.validator.egraph.graph import TermGraph
from shardproof.validator.egraph.outcome import StopReason
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.rule import Kind, Node, Pattern, Rule, Use, is_variable
from shardproof.validator.rules.rules import RULES

REWRITES = [rule for rule in RULES if rule.kind is Kind.REWRITE]
APPLIED_WHILE_BUILDING = {"view-identity"}
ARITHMETIC: dict[Theory, type[Numbers]] = {Theory.EXACT: Machine, Theory.REASSOCIATED: Exact, Theory.REAL: Reals}
DRAWS, ENOUGH = 300, 12


def _terms(rule: Rule, env: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pattern in rule.patterns:
        term_dtypes(pattern, own_dtype(rule.patterns[0]), found)
    return {name: env.get(dtype, dtype) for name, dtype in found.items() if is_variable(name)}


def _disagreement(rule: Rule, instances: Instances, numbers: Numbers) -> str | None:
    """Values that tell the sides apart, or None; fails where too few instances meet the guard."""
    met = 0
    for _ in range(DRAWS):
        drawn = instances.draw(rule)
        if drawn is None:
            continue
        env, relations = drawn
        met += 1
        values = dict(env)
        for name, dtype in _terms(rule, env).items():
            values[name] = [numbers.sample(dtype, instances.rng) for _ in range(relations.size)]
        for name, sort_value in env.items():
            if name in _constants(rule):
                values[name] = instances.constants.number(sort_value)
        left, right = (evaluate(pattern, values, numbers, relations) for pattern in rule.patterns)
        if not all(numbers.equal(one, other) for one, other in zip(left, right, strict=True)):
            return f"{values}: {left} against {right}"
    assert met >= ENOUGH, f"only {met} of {DRAWS} draws meet the guard of '{rule.name}'"
    return None


def _constants(rule: Rule) -> set[str]:
    found: set[str] = set()

    def visit(pattern: Pattern) -> None:
        if not isinstance(pattern, str):
            if pattern.head == "const":
                found.add(str(pattern.arguments[0]))
            for argument in pattern.arguments:
                visit(argument)

    for pattern in rule.patterns:
        visit(pattern)
    return found


@pytest.mark.parametrize("rule", REWRITES, ids=lambda rule: rule.name)
def test_both_sides_have_equal_values(rule: Rule) -> None:
    instances = Instances(rule.theory, random.Random(rule.name))
    assert _disagreement(rule, instances, ARITHMETIC[rule.theory]()) is None


class Builder:
    """Builds patterns as terms of a graph."""

    def __init__(self, rule: Rule, env: dict[str, Any], relations: FiniteRelations, instances: Instances) -> None:
        self.graph = TermGraph(relations, rule.theory)
        self._env, self._instances = env, instances
        self._terms = _terms(rule, env)

    def _type(self, dtype: str) -> TermType:
        name = self._env.get(dtype, dtype)
        return TermType(DType.F32 if name == "real" else DTYPES[name], "points")

    def build(self, pattern: Pattern, dtype: str) -> int:
        if isinstance(pattern, str):
            return self.graph.leaf(pattern, self._type(self._terms[pattern]))
        if pattern.head == "const":
            number = self._instances.constants.number(self._env[str(pattern.arguments[0])])
            return self.graph.constant(float(number) if isinstance(number, str) else number, self._type(pattern.source))
        if pattern.head == "view":
            term = self.build(pattern.arguments[1], dtype)
            if isinstance(pattern.arguments[1], Node) and pattern.arguments[1].head == "view":
                # A view of a view would be composed while building; a told equality keeps it for the rule.
                alias = self.graph.leaf(f"alias of {term}", self.graph.type_of(term))
                self.graph.union(alias, term, "the same by name")
                term = alias
            return self.graph.view(self._env[str(pattern.arguments[0])], term, self.graph.type_of(term))
        if pattern.head == "total":
            monoid, relation, argument = pattern.arguments
            term = self.build(argument, pattern.source)
            monoid = self._env.get(str(monoid), monoid)
            return self.graph.total(str(monoid), self._env[str(relation)], term, self._type(pattern.source))
        children = [(None, self.build(argument, pattern.source)) for argument in pattern.arguments]
        op, _, attribute = str(self._env.get(pattern.head, pattern.head)).partition(".")
        return self.graph.apply(op, attribute, children, self._type(pattern.target))


@pytest.mark.parametrize("rule", REWRITES, ids=lambda rule: rule.name)
def test_the_graph_finds_both_sides_equal(rule: Rule) -> None:
    instances = Instances(rule.theory, random.Random(rule.name))
    proved = fired = 0
    for _ in range(DRAWS):
        drawn = instances.draw(rule)
        if drawn is None:
            continue
        env, relations = drawn
        builder = Builder(rule, env, relations, instances)
        left, right = (builder.build(pattern, own_dtype(rule.patterns[0])) for pattern in rule.patterns)
        report = builder.graph.saturate(expanding=rule.use is Use.EXPANDING)
        assert report.stop is StopReason.SATURATED
        assert builder.graph.same(left, right), f"{env}: {report}"
        proved += 1
        fired += rule.name in report.fired or (rule.name in APPLIED_WHILE_BUILDING and left == right)
        if fired:
            return
    pytest.fail(f"'{rule.name}' fired in {fired} of {proved} graphs")


WRONG = (
    Rule("add-zero-is-exact", "(add x (const c))", "x", "float d, zero d c", Theory.EXACT, ""),
    Rule("sums-reorder-exactly", "(add (add x y) z)", "(add x (add y z))", "float d", Theory.EXACT, ""),
    Rule("divide-by-any", "(divide (multiply x (const c)) (const c))", "x", "float d, positive d c", Theory.EXACT, ""),
    Rule("max-ignores-nan", "(maximum x x)", "(maximum x y)", "float d", Theory.EXACT, ""),
    Rule("join", "(total m r (total m s x))", "(total m q x)", "any-order m d, compose r s q", Theory.EXACT, ""),
    Rule("over-any", "(total m r x)", "(view q x)", "compose r r q, function q, float d", Theory.REASSOCIATED, ""),
    Rule("narrow-and-back", "(convert@e:d (convert@d:e x))", "x", "widens e d", Theory.EXACT, ""),
    Rule("not-less-float", "(not@i1 (compare.LT@d:i1 x y))", "(compare.GE@d:i1 x y)", "float d", Theory.EXACT, ""),
    Rule("exp-of-log", "(exponential (log x))", "x", "reals d", Theory.REAL, ""),
    Rule("factor-leaves", "(total add r (multiply x y))", "(multiply (total add r x) y)", "reals d", Theory.REAL, ""),
)


@pytest.mark.parametrize("rule", WRONG, ids=lambda rule: rule.name)
def test_the_value_check_rejects_wrong_rules(rule: Rule) -> None:
    instances = Instances(rule.theory, random.Random(rule.name))
    assert _disagreement(rule, instances, ARITHMETIC[rule.theory]()) is not None


def test_every_rule_has_a_check() -> None:
    assert {rule.name for rule in RULES} == {rule.name for rule in REWRITES} | set(CHECKS) | {MEETING_RULE}


def test_rules_are_documented() -> None:
    assert all(rule.reason and rule.left and rule.right for rule in RULES)
