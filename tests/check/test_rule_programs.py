"""Both sides of a rule as two programs: what the e-graph proves of them has a certificate."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from egraph.instances import Instances
from egraph.semantics import own_dtype, term_dtypes

from shardproof import Verdict, validate_modules
from shardproof.validator.ops.record import Theory
from shardproof.validator.rules.rule import Kind, Node, Pattern, Rule
from shardproof.validator.rules.rules import RULES


def _moves(pattern: Pattern) -> bool:
    """Whether a pattern reads or combines elements of other points."""
    return isinstance(pattern, Node) and (pattern.head in ("view", "total") or any(map(_moves, pattern.arguments)))


RULES_OF_ELEMENTS = [
    rule
    for rule in RULES
    if rule.kind is Kind.REWRITE and rule.theory is not Theory.REAL and not any(map(_moves, rule.patterns))
]
NOT_FOUND = {"absorbing-element", "select-in-first-branch", "select-in-second-branch", "select-same", "xor-with-itself"}
"""Rules whose sides the prover does not hold together, since they read other operands."""


class Writer:
    """Writes a pattern as StableHLO, with what was drawn in place of its variables."""

    def __init__(self, rule: Rule, bound: Mapping[str, object], instances: Instances) -> None:
        self.bound, self.instances = bound, instances
        self.dtypes: dict[str, str] = {}
        for pattern in rule.patterns:
            term_dtypes(pattern, own_dtype(rule.patterns[0]), self.dtypes)
        self.lines: list[str] = []

    def word(self, name: str) -> str:
        return str(self.bound.get(name, name))

    def write(self, pattern: Pattern) -> tuple[str, str]:
        """The name and the element type of the pattern's value."""
        if isinstance(pattern, str):
            return f"%{pattern}", self.word(self.dtypes[pattern])
        source, target, op = map(self.word, (pattern.source, pattern.target, pattern.head))
        types = f"tensor<4x6x{source}>", f"tensor<4x6x{target}>"
        if op == "const":
            number = self.instances.constants.number(self.bound[str(pattern.arguments[0])])  # pyright: ignore[reportArgumentType]
            told = str(number).lower() if isinstance(number, bool | np.bool_ | int) else repr(float(number))
            return self._line(f"constant dense<{told}> : {types[0]}"), source
        operands = ", ".join(self.write(part)[0] for part in pattern.arguments)
        name, _, direction = op.partition(".")
        if name == "compare":
            return self._line(f"compare {direction}, {operands} : ({types[0]}, {types[0]}) -> {types[1]}"), target
        if name == "select":
            return self._line(f"select {operands} : tensor<4x6xi1>, {types[0]}"), source
        if name == "convert":
            return self._line(f"convert {operands} : ({types[0]}) -> {types[1]}"), target
        return self._line(f"{name} {operands} : {types[1]}"), target

    def _line(self, text: str) -> str:
        self.lines.append(f"%v{len(self.lines)} = stablehlo.{text}")
        return f"%v{len(self.lines) - 1}"

    def program(self, pattern: Pattern) -> str:
        """The pattern's value taken from one more operand, by which the prover lays both sides over each other."""
        self.lines = []
        value, dtype = self.write(pattern)
        result = f"tensor<4x6x{dtype}>"
        operands = {name: self.word(kind) for name, kind in self.dtypes.items()} | {"last": dtype}
        arguments = ", ".join(f"%{name}: tensor<4x6x{kind}>" for name, kind in operands.items())
        op = "and" if dtype == "i1" else "subtract"
        lines = "\n  ".join(
            [*self.lines, f"%out = stablehlo.{op} %last, {value} : {result}", f"return %out : {result}"]
        )
        return f"func.func @main({arguments}) -> {result} {{\n  {lines}\n}}\n"


def programs(rule: Rule) -> tuple[str, str]:
    instances = Instances(rule.theory, random.Random(f"{rule.name} 0"))
    for _ in range(300):
        drawn = instances.draw(rule)
        if drawn is None:
            continue
        writer = Writer(rule, drawn[0], instances)
        first, second = map(writer.program, rule.patterns)
        if "dense<inf" not in first and "dense<-inf" not in first and "nan" not in first + second:
            return first, second
    pytest.fail(f"no programs of '{rule.name}'")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES_OF_ELEMENTS, ids=lambda rule: rule.name)
def test_what_is_equal_by_a_rule_has_a_certificate(rule: Rule):
    for before, after in (programs(rule), programs(rule)[::-1]):
        report = validate_modules(before, after, certificate=True)
        assert (report.verdict is Verdict.PROVED) is (rule.name not in NOT_FOUND)
        assert (report.certificate is not None) is (report.verdict is Verdict.PROVED), report.notes
