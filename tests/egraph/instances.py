"""Random instances of a rule: types, ops, constants and relations for its variables that meet its guard."""

from __future__ import annotations

import random
from typing import Any

from egraph.relations import FiniteRelations
from egraph.semantics import FLOATS, INTEGERS, arity_of, heads
from shardproof.validator.egraph.oracle import Oracle
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.constants import Constants
from shardproof.validator.rules.rule import GUARDS, Node, Pattern, Rule, Sort, is_variable, sorts

_TYPES = (DType.F32, DType.BF16, DType.F64, DType.I32, DType.I8, DType.UI8, DType.I1)
DTYPES = {dtype.value: dtype for dtype in _TYPES}
BITWISE = {"and", "or", "xor", "not"}
SAMPLE_OPS = {1: ("negate",), 2: ("add", "multiply", "maximum", "compare.LT"), 3: ("clamp", "select")}
MONOIDS = ("add", "multiply", "maximum", "minimum")


class Instances:
    """Draws instances under one theory; constants and their facts come from the product's own tables."""

    def __init__(self, theory: Theory, rng: random.Random) -> None:
        self.rng = rng
        self.constants = Constants(theory)
        for dtype in DTYPES.values():
            if dtype.is_float:
                values: list[Any] = [0.0, -0.0, 1.0, -1.0, 0.5, 4.0, -8.0, 3.0, 0.1]
                values += [] if theory is Theory.REASSOCIATED else [float("inf"), float("-inf"), float("nan")]
            elif dtype.is_bool:
                values = [False, True]
            else:
                low, high = dtype.integer_range
                values = [value for value in (0, 1, 2, 3, 64, -1, low, high) if low <= value <= high]
            for value in values:
                self.constants.intern(value, dtype)
        self.facts: dict[str, list[tuple[Any, ...]]] = {}
        for name, cells in self.constants.facts:
            self.facts.setdefault(name, []).append(cells)
        if theory is Theory.REASSOCIATED:  # and, or and xor are no operations on rationals
            self.facts["monoid"] = [(monoid,) for monoid in MONOIDS]
        self.theory = theory

    def draw(self, rule: Rule) -> tuple[dict[str, Any], FiniteRelations] | None:
        """One instance, or None where this draw does not meet the guard."""
        rng, kinds = self.rng, sorts(rule)
        relations = FiniteRelations(rng.randint(1, 4))
        env: dict[str, Any] = {}
        for clause in rule.guards:
            if not GUARDS[clause[0]].demanded and not self._choose(clause, env):
                return None
        self._types_and_ops(rule, kinds, env)
        outputs = {clause[-1] for clause in rule.guards if GUARDS[clause[0]].outputs}
        viewed = _viewed(rule.patterns[0])
        for name, sort in kinds.items():
            if sort is Sort.RELATION and name not in outputs:
                env[name] = relations.sample(rng, function=name in viewed)
            elif sort is Sort.CONSTANT and name not in env and name not in outputs:
                dtype = _constant_dtypes(rule.patterns[0])[name]
                pool = [c for c in range(1, 500) if self._has(c, env.get(dtype, dtype))]
                env[name] = rng.choice(pool)
        oracle = Oracle(relations, self.constants, None)  # type: ignore[arg-type]  # asked directly, never through rules
        for clause in rule.guards:
            guard = GUARDS[clause[0]]
            if guard.demanded:
                question = [env.get(name, name) for name in clause[1 : len(clause) - guard.outputs]]
                answer = oracle.ask(clause[0], question)
                if answer is None or answer is False:
                    return None
                if guard.outputs:
                    env[clause[-1]] = answer
        return env, relations

    def _has(self, constant: int, dtype: str) -> bool:
        try:
            return self.constants.dtype_of(constant) == dtype
        except IndexError:
            return False

    def _choose(self, clause: tuple[str, ...], env: dict[str, Any]) -> bool:
        """Bind the variables of a told guard from one of its facts."""
        fitting = [
            cells
            for cells in self.facts.get(clause[0], [])
            if all(
                env.get(name, cell) == cell if is_variable(name) else name == cell
                for name, cell in zip(clause[1:], cells, strict=True)
            )
        ]
        if not fitting:
            return False
        for name, cell in zip(clause[1:], self.rng.choice(fitting), strict=True):
            if is_variable(name):
                env[name] = cell
        return True

    def _types_and_ops(self, rule: Rule, kinds: dict[str, Sort], env: dict[str, Any]) -> None:
        ops = heads(rule.patterns[0]) | heads(rule.patterns[1])
        for name, sort in kinds.items():
            if sort is Sort.OP and name not in env:
                arity = arity_of(rule.patterns[0], name)
                choices = MONOIDS if arity is None or name == "m" else SAMPLE_OPS[arity]
                if any(clause[0] == "fold-unary" for clause in rule.guards):
                    choices = ("negate", "not", "sqrt")
                elif any(clause[0] == "fold-binary" for clause in rule.guards):
                    choices = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "and")
                env[name] = self.rng.choice(choices)
        bitwise = ops & BITWISE or {env.get(op) for op in ops} & BITWISE
        floats = ("real",) if self.theory is Theory.REAL else FLOATS
        if "d" not in kinds:  # a rule about views alone
            env["d"] = self.rng.choice(floats)
        for name, sort in kinds.items():
            if sort is Sort.DTYPE and is_variable(name) and name not in env:
                env[name] = self.rng.choice((*INTEGERS, "i1") if bitwise else (*floats, *INTEGERS))
        # A generic op decides its result type; the ops drawn here keep it, comparisons give i1.
        if kinds.get("e") is Sort.DTYPE and kinds.get("f") is Sort.OP:
            env["e"] = "i1" if str(env["f"]).startswith("compare") else env["d"]


def _viewed(pattern: Pattern) -> set[str]:
    if isinstance(pattern, str):
        return set()
    found = {str(pattern.arguments[0])} if pattern.head == "view" else set()
    return found.union(*(_viewed(argument) for argument in pattern.arguments))


def _constant_dtypes(pattern: Pattern) -> dict[str, str]:
    if isinstance(pattern, str):
        return {}
    found = {str(pattern.arguments[0]): pattern.source} if pattern.head == "const" else {}
    for argument in pattern.arguments:
        if isinstance(argument, Node):
            found |= _constant_dtypes(argument)
    return found
