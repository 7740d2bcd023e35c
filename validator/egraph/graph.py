"""The e-graph of one proof: terms of both programs, the rules that relate them, and what was found equal."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ops.record import Theory
from ..read.ir import DType
from ..rules.constants import Constants
from ..rules.normal_form import Finding
from ..rules.rule import Use
from ..rules.rules import BY_NAME, THEORIES
from .algebra import RelationAlgebra, TermType
from .engine import Engine
from .meeting import meetings
from .naming import Namer, Row, findings
from .oracle import Oracle
from .outcome import Limits, RunReport, Step, StopReason, UnsoundMerge, Why
from .schema import CHILDREN, TABLES, combined, holds, program, question_of, rule_of

TermId = int
Edge = tuple[int | None, TermId]
"""A child and the relation it is read through, from this term's index space; None reads the same point."""

_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
_PUT = {"Leaf": "put-leaf", "Const": "put-const", "View": "put-view", "Total": "put-total"}
_PUT |= {table: f"put-{table.lower()}" for table in TABLES.values()}
_UNTYPED = TermType(DType.I1, None)
"""The type of terms that only name a class for the normal forms; no caller holds one."""


@dataclass(frozen=True, slots=True)
class Term:
    """One of the caller's terms: its table, the cells before its children, its children, and its type."""

    table: str
    cells: tuple[int | str, ...]
    children: tuple[TermId, ...]
    type: TermType


class TermGraph:
    """One e-graph. Terms are hash-consed, inserted in batches, and compared after `saturate`.

    Relations are the host's interned ids. A view's relation must be a function (exactly one point at every point);
    anything else is a total. Ops given to `apply` must be elementwise and deterministic: equal operands, equal
    attributes, equal results, point by point.
    """

    def __init__(
        self, algebra: RelationAlgebra, theory: Theory = Theory.REASSOCIATED, limits: Limits | None = None
    ) -> None:
        self.theory = theory
        self.limits = limits or Limits()
        self.level: Theory | None = Theory.REAL if theory is Theory.REAL else None
        """The strongest theory whose rules have run: what an equality found from now on may rest on. A graph of
        theory real has all float types as one from the start, so that everything in it rests on that."""
        self.constants = Constants(theory)
        self._engine = Engine(program())
        self._oracle = Oracle(algebra, self.constants, self._engine)
        self._terms: list[Term] = []
        self._ids: dict[Any, TermId] = {}
        self._symbols: dict[tuple[str, Hashable], str] = {}
        self._leaves: dict[str, TermId] = {}
        self._pending: dict[str, list[tuple[int | str, ...]]] = {}
        self._told: dict[tuple[TermId, TermId], tuple[str, Theory]] = {}
        self._stale = True
        self._index: dict[Any, list[Row]] | None = None

    # -- building terms

    def leaf(self, key: str, type_: TermType) -> TermId:
        """An input or another value without structure; the same key is the same value."""
        term = self._leaves.get(key)
        if term is None:
            term = self._leaves[key] = self._intern("Leaf", (len(self._leaves),), (), type_)
        elif self._terms[term].type != type_:
            raise ValueError(f"leaf '{key}' has two types: {self._terms[term].type} and {type_}")
        return term

    def constant(self, value: Any, type_: TermType) -> TermId:
        """A splat of one number, rounded into its type."""
        cell = self.constants.intern(value, type_.dtype)
        return self._intern("Const", (self.constants.dtype_of(cell), cell), (), type_, type_.space)

    def view(self, relation: int, term: TermId, type_: TermType) -> TermId:
        """p -> term[relation(p)], for a relation that is a function."""
        self._check_dtype(term, type_)
        if self._oracle.is_identity(relation):
            if self._terms[term].type.space != type_.space:
                raise ValueError(f"identity relation {relation} between different spaces")
            return term
        inner = self._terms[term]
        if inner.table == "View":  # keep chains of views short: each one is read through one composite
            composite = self._oracle.compose(relation, int(inner.cells[0]))
            if composite is not None:
                return self.view(composite, inner.children[0], type_)
        return self._intern("View", (relation,), (term,), type_)

    def total(self, monoid: str, relation: int, term: TermId, type_: TermType) -> TermId:
        """p -> the values of term over relation(p), combined by the monoid (an op name such as `add`)."""
        self._check_dtype(term, type_)
        return self._intern("Total", (monoid, self._dtype(type_), relation), (term,), type_)

    def apply(self, op: str, attributes: Hashable, children: Sequence[Edge], type_: TermType) -> TermId:
        """An elementwise op. `compare` takes its direction as attribute, or (direction, compare type)."""
        if not children:
            raise ValueError(f"'{op}' without operands is no elementwise op: use a leaf")
        operands = [self._read(edge, type_.space) for edge in children]
        source = self._dtype(self._terms[operands[-1]].type)
        symbol, target = self._symbol(op, attributes, source), self._dtype(type_)
        if symbol in _COMMUTATIVE and len(operands) == 2 and not type_.dtype.is_complex:
            operands.sort()
        while len(operands) > 3:  # f(a, b, c, d) is f(a, b, (c, d)): a pair is elementwise too
            last, first = operands.pop(), operands.pop()
            cells = ("pair", self._dtype(self._terms[first].type), source)
            operands.append(self._intern("Bin", cells, (first, last), self._terms[last].type))
        return self._intern(TABLES[len(operands)], (symbol, source, target), tuple(operands), type_)

    def union(self, a: TermId, b: TermId, reason: str, theory: Theory = Theory.EXACT) -> None:
        """Take over an equality that was proved outside, in the given theory."""
        if self._terms[a].type != self._terms[b].type:
            raise ValueError(f"terms {a} and {b} have different types: {self._terms[a].type} and {self._terms[b].type}")
        if THEORIES.index(theory) > THEORIES.index(self.theory):
            raise ValueError(f"an equality of theory {theory.value} in a graph of theory {self.theory.value}")
        self._tell(a, b, reason, theory)

    def type_of(self, term: TermId) -> TermType:
        return self._terms[term].type

    def _tell(self, a: TermId, b: TermId, reason: str, theory: Theory) -> None:
        if a != b and (a, b) not in self._told:
            self._told[(a, b)] = (reason, theory)
            self._put("put-equal", (a, b))
            if self.level is None or THEORIES.index(theory) > THEORIES.index(self.level):
                self.level = theory

    def _read(self, edge: Edge, space: Hashable) -> TermId:
        relation, term = edge
        type_ = TermType(self._terms[term].type.dtype, space)
        if relation is None:
            if self._terms[term].type.space != space:
                raise ValueError(f"term {term} is read without a relation from another space")
            return term
        return self.view(relation, term, type_)

    def _check_dtype(self, term: TermId, type_: TermType) -> None:
        dtype = self._terms[term].type.dtype
        if dtype is not type_.dtype:
            raise ValueError(f"term {term} is {dtype.value}, not {type_.dtype.value}: use 'convert'")

    def _dtype(self, type_: TermType) -> str:
        return self.constants.dtype_name(type_.dtype)

    def _symbol(self, op: str, attributes: Hashable, source: str) -> str:
        """The op as rules see it: the bare name where rules know all of its meaning."""
        if attributes in (None, (), ""):
            return op
        if op == "compare":
            direction, kind = (attributes, None) if isinstance(attributes, str) else tuple(attributes)  # type: ignore[arg-type]
            if kind != "TOTALORDER":  # the other compare types follow from the operand type
                return f"compare.{direction}"
        return self._symbols.setdefault((op, attributes), f"{op}#{len(self._symbols)}")

    def _intern(
        self, table: str, cells: tuple[int | str, ...], children: tuple[TermId, ...], type_: TermType, *more: Hashable
    ) -> TermId:
        # Under theory real the cells do not tell float types apart; the caller's types do.
        key = (table, cells, children, type_.dtype, *more)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._terms)
            self._terms.append(Term(table, cells, children, type_))
            self._dtype(type_)
            self._put(_PUT[table], (found, *cells, *children))
        return found

    def _put(self, relation: str, row: tuple[int | str, ...]) -> None:
        self._pending.setdefault(relation, []).append(row)

    # -- running

    def flush(self) -> None:
        """Hand pending terms and equalities to the e-graph, without running rules."""
        facts = self.constants.facts
        for name, cells in facts:
            self._put(holds(name), cells)
        facts.clear()
        if self._pending:
            self._engine.insert(self._pending.items())
            self._pending = {}
            self._engine.step("build")
            self._stale, self._index = True, None

    def saturate(self, theory: Theory | None = None, expanding: bool = False, thorough: bool = True) -> RunReport:
        """Run the rules of a theory (the graph's own unless told) and those below it, until nothing changes.

        `thorough` also looks for views that meet and for equal sums and products, which reads every term (5 to 20 µs
        each); without it a run over a few new terms costs about a millisecond, however many terms there are.
        `expanding` also pushes views into ops, all the way down: try it on small graphs when a plain run did not do.
        Run a weaker theory first where it may do: `level` tells what an equality can rest on, and it never falls.
        """
        theory = theory or self.theory
        if THEORIES.index(theory) > THEORIES.index(self.theory):
            raise ValueError(f"rules of theory {theory.value} in a graph of theory {self.theory.value}")
        if self.level is None or THEORIES.index(theory) > THEORIES.index(self.level):
            self.level, self._stale = theory, True
        started = time.perf_counter()
        fired: dict[str, int] = {}
        stop, iterations = self._run(theory, expanding, thorough, started, fired)
        self._check_constants()
        return RunReport(stop, self._label(theory), fired, iterations, self._nodes(), time.perf_counter() - started)

    def _run(
        self, theory: Theory, expanding: bool, thorough: bool, started: float, fired: dict[str, int]
    ) -> tuple[StopReason, int]:
        iterations = 0
        asked: set[str] = set()
        ordinary = Use.EXPANDING if expanding else Use.ALWAYS
        use, moved = ordinary, True
        while True:
            self.flush()
            updated, matches = self._engine.step(combined(theory, use))
            iterations += 1
            for name, count in matches.items():
                rule, question = rule_of(name), question_of(name)
                if count and rule is not None:
                    fired[rule] = fired.get(rule, 0) + count
                elif count and question is not None:
                    asked.add(question)
            if updated:
                self._stale, self._index, moved = True, None, True
            elif self._answer(asked):
                asked.clear()
                moved = True
            elif use is ordinary and moved:
                use, moved = Use.FOLLOWING, False
            elif moved:
                use = ordinary
            elif thorough and self._stale and self._look_around(theory, fired):
                use, moved = ordinary, True
            else:
                return StopReason.SATURATED, iterations
            if iterations >= self.limits.iterations:
                return StopReason.ITERATION_LIMIT, iterations
            if self._nodes() > self.limits.nodes:
                return StopReason.NODE_LIMIT, iterations
            if time.perf_counter() - started > self.limits.seconds:
                return StopReason.TIME_LIMIT, iterations

    def _nodes(self) -> int:
        return self._engine.sizes(CHILDREN)

    def _answer(self, guards: set[str]) -> bool:
        facts = self._oracle.answer(guards) if guards else []
        for name, cells in facts:
            self._put(holds(name), cells)
        return bool(facts)

    def _check_constants(self) -> None:
        self._engine.step("tripwire")
        if self._engine.size("clash"):
            row, *_ = self._engine.tables()["clash"].rows
            names = (self.constants.describe(self._engine.number(value)) for value in row.inputs)
            raise UnsoundMerge(f"constants {' and '.join(names)} were proved equal")

    # -- asking

    def same(self, a: TermId, b: TermId) -> bool:
        """Are the terms in one class? Terms of different types never are."""
        if self._terms[a].type != self._terms[b].type:
            return False
        if a == b:
            return True
        self.flush()
        return self._class(a) == self._class(b)

    def _class(self, term: TermId) -> Any:
        return self._engine.lookup("Class", term)

    def explain(self, a: TermId, b: TermId) -> tuple[Step, ...]:
        """Why two terms are equal: congruence as far as it goes, then the told equalities and the rules that had
        instances in the class or below it. The list holds all that the equality can rest on, perhaps more.
        """
        if not self.same(a, b):
            raise ValueError(f"terms {a} and {b} are not known to be equal")
        steps: dict[Step, None] = {}
        waiting, seen = [(a, b)], set()
        while waiting:
            left, right = waiting.pop()
            if left == right or (left, right) in seen:
                continue
            seen.add((left, right))
            one, other = self._terms[left], self._terms[right]
            alike = one.table == other.table and one.cells == other.cells and len(one.children) > 0
            pairs = tuple(zip(one.children, other.children, strict=False))
            if alike and all(self._class(child) == self._class(twin) for child, twin in pairs):
                steps[Step(Why.CONGRUENCE, str(one.cells[0]), left, right, self._label(Theory.EXACT))] = None
                waiting.extend(pairs)
            else:
                for step in self._below(left, right):
                    steps[step] = None
        return tuple(steps)

    def _below(self, left: TermId, right: TermId) -> Iterable[Step]:
        """The rule instances and told equalities of the class of `left` and of all classes it is made of."""
        index, engine = self._rows(), self._engine
        order: dict[Any, None] = {self._class(left): None}
        for value in _growing(order):
            for table, row in index.get(value, ()):
                for child in row.inputs[len(row.inputs) - CHILDREN[table] :]:
                    order.setdefault(child, None)
        by_class: dict[Any, set[str]] = {}
        for row in engine.tables()["fired"].rows:
            by_class.setdefault(row.inputs[1], set()).add(engine.text(row.inputs[0]))
        told: dict[Any, list[tuple[TermId, TermId, str, Theory]]] = {}
        for (one, other), (reason, theory) in self._told.items():
            told.setdefault(self._class(one), []).append((one, other, reason, theory))
        for value in order:
            for one, other, reason, theory in told.get(value, ()):
                why = Why.RULE if reason in BY_NAME else Why.TOLD
                yield Step(why, reason, one, other, self._label(theory))
            for name in sorted(by_class.get(value, ())):
                yield Step(Why.RULE, name, left, right, self._label(BY_NAME[name].theory))

    def _label(self, theory: Theory) -> Theory:
        return Theory.REAL if self.theory is Theory.REAL else theory

    def _rows(self) -> dict[Any, list[Row]]:
        """All nodes by their class."""
        if self._index is None:
            tables = self._engine.tables()
            self._index = {}
            for table in CHILDREN:
                for row in tables[table].rows:
                    self._index.setdefault(row.output, []).append((table, row))
        return self._index

    # -- what is looked up outside egglog, at rest

    def _look_around(self, theory: Theory, fired: dict[str, int]) -> bool:
        """Tell the e-graph which terms meet under views and which have equal sums and products; was anything new?"""
        self._stale = False
        before, rows = len(self._told), self._rows()
        namer = Namer(self._engine, rows, self._add_name)
        for left, right in meetings(self._engine, self._oracle, rows):
            self._tell_found(namer.name(left), namer.name(right), "views-meet", fired)
        numbers: list[Any] = []
        for finding in findings(self._engine, self.constants, rows, theory, numbers):
            if finding.right is None:
                right = self._name_constant(finding)
            else:
                right = namer.name(numbers[finding.right])
            self._tell_found(namer.name(numbers[finding.left]), right, finding.rule, fired)
        return len(self._told) > before

    def _tell_found(self, left: TermId | None, right: TermId | None, rule: str, fired: dict[str, int]) -> None:
        if left is not None and right is not None:
            told = len(self._told)
            self._tell(left, right, rule, BY_NAME[rule].theory)
            fired[rule] = fired.get(rule, 0) + len(self._told) - told

    def _add_name(self, table: str, cells: tuple[int | str, ...]) -> TermId:
        self._terms.append(Term(table, cells, (), _UNTYPED))
        self._put(_PUT[table], (len(self._terms) - 1, *cells))
        return len(self._terms) - 1

    def _name_constant(self, finding: Finding) -> TermId | None:
        assert finding.constant is not None
        cell = self.constants.from_fraction(finding.constant, finding.dtype)
        if cell is None:
            return None
        key = ("Const", (finding.dtype, cell), ())
        if key not in self._ids:
            self._ids[key] = self._add_name("Const", (finding.dtype, cell))
        return self._ids[key]


def _growing(order: dict[Any, None]) -> Iterable[Any]:
    """The keys of a dictionary that grows while it is walked, each once, in order."""
    done = 0
    while done < len(order):
        for value in list(order)[done:]:
            done += 1
            yield value
