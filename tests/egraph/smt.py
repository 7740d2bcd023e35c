"""Rules as questions for an SMT solver: values of every element, relations and ops are unknowns.

Machine numbers are IEEE floats (SMT's, which have one NaN and two zeros) and bit vectors; under the other theories
floats are SMT's reals. A relation on `SCOPE` points is a matrix of unknown booleans, so an answer about views and
totals holds for all values, monoids and relations of that many points; an op that the rule leaves open is a function of
which nothing is known. Elementwise rules speak of one point and hold as they stand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import z3  # pyright: ignore[reportMissingImports]  # part of the extra `z3`

from egraph.semantics import arity_of, heads, own_dtype, term_dtypes
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import DType
from shardproof.validator.rules.constants import IDEMPOTENT, MONOIDS, REALS, Constants
from shardproof.validator.rules.rule import GUARDS, Node, Pattern, Rule, Sort, is_variable, sorts

SCOPE = 2
TYPES = (DType.F8E4M3, DType.F16, DType.I4, DType.UI4, DType.I8, DType.I1)
FORMATS = {"f8E4M3": (4, 4), "f16": (5, 11)}
"""Bits of exponent and significand, the leading one included."""
INTEGERS = {dtype.value: dtype for dtype in TYPES if dtype.is_integer or dtype.is_bool}
BITWISE = {"and", "or", "xor", "not"}
FUNCTIONS = {"exponential", "log", "exponential_minus_one", "log_plus_one", "logistic", "sqrt", "rsqrt", "power"}
"""Ops of which SMT has no theory."""
_ROUND = z3.RNE()
_FOLDED = {"fold-unary": ("negate", "not"), "fold-binary": ("add", "subtract", "multiply", "divide", "maximum", "and")}

Env = dict[str, Any]


def is_expressible(rule: Rule) -> bool:
    return not FUNCTIONS & (heads(rule.patterns[0]) | heads(rule.patterns[1]))


def answers(rule: Rule, budget: int) -> Iterator[tuple[Env, str]]:
    """Every way to bind types, ops and constants so that the guard holds, with the solver's answer to the question
    whether any values tell the sides apart: 'unsat', 'sat', or 'unknown' where that takes more than the budget.

    Constants are told by their values.
    """
    constants = _constants(rule.theory)
    for env in _bindings(rule, constants):
        question = _Question(rule, env, constants)
        if not question.makes_sense:
            continue
        solver = z3.Solver()
        solver.set("rlimit", budget)
        solver.add(*question.assumed, z3.Or(*question.differences()))
        told = {name: str(constants.number(env[name])) for name, sort in sorts(rule).items() if sort is Sort.CONSTANT}
        yield env | told, str(solver.check())


def _constants(theory: Theory) -> Constants:
    constants = Constants(theory)
    for dtype in TYPES:
        if dtype.is_float:
            values: list[Any] = [0.0, -0.0, 1.0, -1.0, 0.5, 4.0, -8.0, 3.0]
            values += [math.inf, -math.inf, math.nan] if theory is Theory.EXACT else []
        else:
            low, high = (0, 1) if dtype.is_bool else dtype.integer_range
            values = [value for value in (0, 1, 2, -1, low, high) if low <= value <= high]
        for value in values:
            constants.intern(value, dtype)
    return constants


# what variables may stand for ---------------------------------------------------------------------------------------


def _bindings(rule: Rule, constants: Constants) -> Iterator[Env]:
    facts: dict[str, list[tuple[Any, ...]]] = {}
    for name, cells in dict.fromkeys(constants.facts):
        facts.setdefault(name, []).append(cells)
    found: list[Env] = [{}]
    for clause in rule.guards:
        if not GUARDS[clause[0]].demanded:
            found = [
                made for env in found for cells in facts.get(clause[0], ()) if (made := _bound(env, clause, cells))
            ]
    outputs = {clause[-1] for clause in rule.guards if GUARDS[clause[0]].outputs}
    kinds, types = sorts(rule), _types(rule)
    holders, pools = _holders(rule.patterns[0]), _pools(constants)
    for env in found:
        free = {
            sort: [name for name in kinds if kinds[name] is sort and name not in env | dict.fromkeys(outputs)]
            for sort in Sort
        }
        of_type = [name for name in free[Sort.DTYPE] if is_variable(name)]
        for chosen in itertools.product(types, repeat=len(of_type)):
            typed = env | dict(zip(of_type, chosen, strict=True))
            for op in _ops(rule, free[Sort.OP]):
                choices = [pools[typed.get(holders[name], holders[name])] for name in free[Sort.CONSTANT]]
                for values in itertools.product(*choices):
                    bound = typed | op | dict(zip(free[Sort.CONSTANT], values, strict=True))
                    yield from _answered(rule, bound, constants)


def _types(rule: Rule) -> list[str]:
    """What type variables may stand for that no fact binds."""
    used = heads(rule.patterns[0]) | heads(rule.patterns[1])
    told = {name for clause in rule.guards for name in clause[1:]}
    types = [REALS if rule.theory is Theory.REAL and dtype.is_float else dtype.value for dtype in TYPES]
    if rule.theory is Theory.EXACT and any(is_variable(head) and head not in told for head in used):
        types = [DType.F16.value, DType.I8.value]  # nothing is known of the op, so types are but names
    if used & BITWISE:
        types = [name for name in types if name in INTEGERS]
    elif used - {"convert"} and not all(head.startswith(("select", "compare")) or is_variable(head) for head in used):
        types = [name for name in types if name != "i1"]
    return list(dict.fromkeys(types))


def _ops(rule: Rule, names: Sequence[str]) -> Iterator[Env]:
    """What the op that no fact binds may stand for; unbound, it is a function of which nothing is known."""
    name = next((name for name in names if is_variable(name)), None)
    guard = next((clause[0] for clause in rule.guards if clause[0] in _FOLDED), None)
    ops = _FOLDED[guard] if guard is not None else ()
    if name is not None and any(_is_monoid(pattern, name) for pattern in rule.patterns):
        ops = MONOIDS
    yield from ({name: op} for op in ops) if name is not None and ops else iter([{}])


def _bound(env: Env, clause: Sequence[str], cells: Sequence[Any]) -> Env | None:
    made = dict(env)
    for name, cell in zip(clause[1:], cells, strict=True):
        if (made.setdefault(name, cell) if is_variable(name) else name) != cell:
            return None
    return made


def _answered(rule: Rule, env: Env, constants: Constants) -> Iterator[Env]:
    """The answers of the host about constants; what it is asked about relations stays for the solver."""
    for clause in rule.guards:
        if clause[0] in ("fold-unary", "fold-binary", "fold-convert"):
            question = [env.get(name, name) for name in clause[1:-1]]
            answer = getattr(constants, clause[0].replace("-", "_"))(*question)
            if answer is None:
                return
            env = env | {clause[-1]: answer}
        elif clause[0] == "multiple":
            monoid, dtype, _, constant, result = clause[1:]
            for count in range(1, SCOPE + 1):
                answer = constants.multiple(env.get(monoid, monoid), env[dtype], env[constant], count)
                if answer is not None:
                    yield env | {result: answer, "count": count}
            return
    yield env


def _is_monoid(pattern: Pattern, name: str) -> bool:
    if isinstance(pattern, str):
        return False
    return (pattern.head == "total" and pattern.arguments[0] == name) or any(
        _is_monoid(argument, name) for argument in pattern.arguments
    )


def _pools(constants: Constants) -> dict[str, list[int]]:
    """The constants there are, by type; answers about them make more."""
    pools: dict[str, list[int]] = {}
    for number in itertools.count(1):
        try:
            pools.setdefault(constants.dtype_of(number), []).append(number)
        except IndexError:
            return pools
    raise AssertionError


def _holders(pattern: Pattern) -> dict[str, str]:
    """The type of each constant of a pattern."""
    if isinstance(pattern, str):
        return {}
    found = {str(pattern.arguments[0]): pattern.source} if pattern.head == "const" else {}
    for argument in pattern.arguments:
        found |= _holders(argument)
    return found


# one question -------------------------------------------------------------------------------------------------------


class _Question:
    """Both sides of a rule, as terms of the solver at each point, with what the guard says."""

    def __init__(self, rule: Rule, env: Env, constants: Constants) -> None:
        self.rule, self.env, self.constants = rule, env, constants
        kinds = sorts(rule)
        relational = Sort.RELATION in kinds.values()
        self.points = range(SCOPE if relational else 1)
        self.real = rule.theory is not Theory.EXACT
        self.assumed: list[Any] = []
        self.makes_sense = True
        types: dict[str, str] = {}
        for pattern in rule.patterns:
            term_dtypes(pattern, own_dtype(rule.patterns[0]), types)
        self.values = {
            name: [z3.Const(f"{name}{point}", self._sort(self._name(dtype))) for point in self.points]
            for name, dtype in types.items()
            if is_variable(name)
        }
        self.relations = {
            name: [[z3.Bool(f"{name}{p}{q}") for q in self.points] for p in self.points]
            for name, sort in kinds.items()
            if sort is Sort.RELATION
        }
        for clause in rule.guards:
            self._assume(clause)
        self.sides = [self._term(pattern) for pattern in rule.patterns]

    def differences(self) -> list[Any]:
        return [left != right for left, right in zip(*self.sides, strict=True)]

    def _name(self, text: str) -> str:
        return str(self.env.get(text, "f16" if text == "d" else text))

    def _sort(self, dtype: str) -> Any:
        if dtype in INTEGERS:
            return z3.BitVecSort(INTEGERS[dtype].bits)
        return z3.RealSort() if self.real or dtype == REALS else z3.FPSort(*FORMATS[dtype])

    # relations

    def _assume(self, clause: tuple[str, ...]) -> None:
        guard, names = clause[0], clause[1:]
        if guard in ("compose", "compose-total"):
            r, s, q = (self.relations[name] for name in names[-3:])
            for p, x in itertools.product(self.points, repeat=2):
                ways = [z3.And(r[p][y], s[y][x]) for y in self.points]
                self.assumed.append(q[p][x] == z3.Or(*ways))
                if guard == "compose-total" and self._name(names[0]) not in IDEMPOTENT:
                    self.assumed.append(z3.AtMost(*ways, 1))
        elif guard == "function":
            self._is_function(names[0])
        elif guard == "identity":
            r = self.relations[names[0]]
            self.assumed += [r[p][q] == (p == q) for p in self.points for q in self.points]
        elif guard == "nonempty":
            self.assumed += [z3.Or(*row) for row in self.relations[names[0]]]
        elif guard == "multiple":
            self.assumed += [
                z3.Sum(*(z3.If(b, 1, 0) for b in row)) == self.env["count"] for row in self.relations[names[2]]
            ]

    def _is_function(self, name: str) -> None:
        for row in self.relations[name]:
            self.assumed += [z3.Or(*row), z3.AtMost(*row, 1)]

    # terms

    def _term(self, pattern: Pattern) -> list[Any]:
        if isinstance(pattern, str):
            return self.values[pattern]
        if pattern.head == "const":
            value = self._constant(
                self.constants.number(self.env[str(pattern.arguments[0])]), self._name(pattern.source)
            )
            return [value] * len(self.points)
        if pattern.head == "view":
            name, values = str(pattern.arguments[0]), self._term(pattern.arguments[1])
            if name not in {clause[-1] for clause in self.rule.guards if clause[0].startswith("compose")}:
                self._is_function(name)
            read = self.relations[name]
            return [reduce(lambda rest, q: z3.If(row[q], values[q], rest), self.points, values[0]) for row in read]
        if pattern.head == "total":
            return self._total(pattern)
        operands = [self._term(argument) for argument in pattern.arguments]
        if not self.makes_sense:
            return operands[0]
        source, target = self._name(pattern.source), self._name(pattern.target)
        return [self._apply(self._name(pattern.head), source, target, list(row)) for row in zip(*operands, strict=True)]

    def _total(self, pattern: Node) -> list[Any]:
        monoid, relation, argument = pattern.arguments
        op, dtype, values = self._name(str(monoid)), self._name(pattern.source), self._term(argument)
        neutral = self._neutral(op, dtype)
        self.makes_sense &= (dtype in INTEGERS) or op not in BITWISE
        if not self.makes_sense:
            return values
        rows = []
        for row in self.relations[str(relation)]:
            if neutral is None:
                self.assumed.append(z3.Or(*row))
            found: Any = None
            for inside, value in zip(row, values, strict=True):
                if neutral is None:
                    # of no elements nothing is said
                    more = (
                        value
                        if found is None
                        else z3.If(found[0], self._apply(op, dtype, dtype, [found[1], value]), value)
                    )
                    found = (
                        (inside, value) if found is None else (z3.Or(found[0], inside), z3.If(inside, more, found[1]))
                    )
                else:
                    element = z3.If(inside, value, neutral)
                    found = element if found is None else self._apply(op, dtype, dtype, [found, element])
            rows.append(found[1] if neutral is None else found)
        return rows

    def _neutral(self, op: str, dtype: str) -> Any:
        if dtype not in INTEGERS and op in BITWISE:
            return None
        if op in ("maximum", "minimum"):
            if dtype not in INTEGERS:
                infinity = z3.fpMinusInfinity if op == "maximum" else z3.fpPlusInfinity
                return None if self.real else infinity(self._sort(dtype))
            low, high = (0, 1) if dtype == "i1" else INTEGERS[dtype].integer_range
            return z3.BitVecVal(low if op == "maximum" else high, INTEGERS[dtype].bits)
        value = {"add": 0, "or": 0, "xor": 0, "multiply": 1, "and": -1}[op]
        return self._constant(value, dtype)

    def _constant(self, number: Any, dtype: str) -> Any:
        if dtype in INTEGERS:
            return z3.BitVecVal(int(number), INTEGERS[dtype].bits)
        if self.real:
            if isinstance(number, str):
                self.makes_sense = False
                return z3.RealVal(0)
            exact = Fraction(number if isinstance(number, (int, Fraction)) else float(number))
            return z3.Q(exact.numerator, exact.denominator)
        value = float(number)
        if math.isnan(value):
            return z3.fpNaN(self._sort(dtype))
        return z3.FPVal(value, self._sort(dtype))

    def _apply(self, op: str, source: str, target: str, values: list[Any]) -> Any:
        if is_variable(op):
            arity = arity_of(self.rule.patterns[0], op)
            assert arity == len(values)
            return z3.Function(op, *(value.sort() for value in values), self._sort(target))(*values)
        if op == "convert":
            return self._converted(source, target, values[0])
        if op == "select":
            return z3.If(values[0] == 1, values[1], values[2])
        if op.startswith("compare."):
            holds = _COMPARE[op.partition(".")[2]](source, *values)
            return z3.If(holds, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        if op == "clamp":
            low, value, high = values
            return _least(source, _greatest(source, value, low), high)
        if op == "divide" and z3.is_real(values[1]):
            self.assumed.append(values[1] != 0)  # what is undefined on both sides is not compared
        meaning = (_BITS if source in INTEGERS else _NUMBERS).get(op)
        if meaning is None:
            self.makes_sense = False
            return values[0]
        return meaning(source, *values)

    def _converted(self, source: str, target: str, value: Any) -> Any:
        if source == target or (self.real and source not in INTEGERS and target not in INTEGERS):
            return value
        if source in INTEGERS:
            signed = source.startswith("i") and source != "i1"
            if target in INTEGERS:
                if target == "i1":
                    return z3.If(value != 0, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
                wider = INTEGERS[target].bits - INTEGERS[source].bits
                if wider <= 0:
                    return z3.Extract(INTEGERS[target].bits - 1, 0, value)
                return z3.SignExt(wider, value) if signed else z3.ZeroExt(wider, value)
            if self.real:
                return z3.ToReal(z3.BV2Int(value, is_signed=signed))
            return (z3.fpSignedToFP if signed else z3.fpUnsignedToFP)(_ROUND, value, self._sort(target))
        if target in INTEGERS:
            self.makes_sense = self.makes_sense and not self.real
            return self._rounded(target, z3.fpFPToFP(_ROUND, value, z3.FPSort(8, 24))) if not self.real else value
        return z3.fpFPToFP(_ROUND, value, self._sort(target))

    def _rounded(self, target: str, wide: Any) -> Any:
        """A float32 as an integer as XLA does it: towards zero, within the type's range, 0 for NaN."""
        if target == "i1":
            return z3.If(z3.fpIsZero(wide), z3.BitVecVal(0, 1), z3.BitVecVal(1, 1))
        (low, high), bits = INTEGERS[target].integer_range, INTEGERS[target].bits
        convert = z3.fpToSBV if INTEGERS[target].is_signed else z3.fpToUBV
        least, most = (z3.FPVal(float(bound), wide.sort()) for bound in (low, high))
        inside = convert(z3.RTZ(), wide, z3.BitVecSort(bits))
        bounded = z3.If(wide <= least, z3.BitVecVal(low, bits), z3.If(wide >= most, z3.BitVecVal(high, bits), inside))
        return z3.If(z3.fpIsNaN(wide), z3.BitVecVal(0, bits), bounded)


# what ops do --------------------------------------------------------------------------------------------------------


def _less(dtype: str, x: Any, y: Any) -> Any:
    """x < y as numbers."""
    if dtype in INTEGERS:
        return x < y if INTEGERS[dtype].is_signed else z3.ULT(x, y)
    return x < y


def _ordered(dtype: str, x: Any, y: Any) -> tuple[Any, Any]:
    """The lesser and the greater one: -0 is below +0, and of a NaN both are NaN."""
    below = _less(dtype, x, y)
    if z3.is_fp(x):
        below = z3.If(z3.And(z3.fpIsZero(x), z3.fpIsZero(y)), z3.fpIsNegative(x), below)
    found = z3.If(below, x, y), z3.If(below, y, x)
    if not z3.is_fp(x):
        return found
    undefined = z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y))
    return z3.If(undefined, z3.fpNaN(x.sort()), found[0]), z3.If(undefined, z3.fpNaN(x.sort()), found[1])


def _greatest(dtype: str, x: Any, y: Any) -> Any:
    return _ordered(dtype, x, y)[1]


def _least(dtype: str, x: Any, y: Any) -> Any:
    return _ordered(dtype, x, y)[0]


def _same(dtype: str, x: Any, y: Any) -> Any:
    return z3.fpEQ(x, y) if z3.is_fp(x) else x == y


def _absolute(dtype: str, x: Any) -> Any:
    return z3.fpAbs(x) if z3.is_fp(x) else z3.If(_less(dtype, x, x - x), -x, x)


_COMPARE: dict[str, Callable[..., Any]] = {
    "LT": _less,
    "GT": lambda dtype, x, y: _less(dtype, y, x),
    "LE": lambda dtype, x, y: z3.Or(_less(dtype, x, y), _same(dtype, x, y)),
    "GE": lambda dtype, x, y: z3.Or(_less(dtype, y, x), _same(dtype, x, y)),
    "EQ": _same,
    "NE": lambda dtype, x, y: z3.Not(_same(dtype, x, y)),
}

_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": lambda _, x, y: z3.fpAdd(_ROUND, x, y) if z3.is_fp(x) else x + y,
    "subtract": lambda _, x, y: z3.fpSub(_ROUND, x, y) if z3.is_fp(x) else x - y,
    "multiply": lambda _, x, y: z3.fpMul(_ROUND, x, y) if z3.is_fp(x) else x * y,
    "divide": lambda _, x, y: z3.fpDiv(_ROUND, x, y) if z3.is_fp(x) else x / y,
    "negate": lambda _, x: -x,
    "abs": _absolute,
    "maximum": _greatest,
    "minimum": _least,
}


def _signed(dtype: str) -> bool:
    return INTEGERS[dtype].is_signed


_BITS: dict[str, Callable[..., Any]] = {
    "add": lambda dtype, x, y: x | y if dtype == "i1" else x + y,
    "subtract": lambda _, x, y: x - y,
    "multiply": lambda _, x, y: x * y,
    "divide": lambda dtype, x, y: x / y if _signed(dtype) else z3.UDiv(x, y),
    "remainder": lambda dtype, x, y: z3.SRem(x, y) if _signed(dtype) else z3.URem(x, y),
    "negate": lambda _, x: -x,
    "abs": _absolute,
    "maximum": _greatest,
    "minimum": _least,
    "and": lambda _, x, y: x & y,
    "or": lambda _, x, y: x | y,
    "xor": lambda _, x, y: x ^ y,
    "not": lambda _, x: ~x,
    "shift_left": lambda _, x, y: x << y,
    "shift_right_arithmetic": lambda _, x, y: x >> y,
    "shift_right_logical": lambda _, x, y: z3.LShR(x, y),
}
