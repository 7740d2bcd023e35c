"""Proofs of the e-graph's equalities as instances of rules, found anew in the checker's own terms.

The e-graph tells that two terms are equal, not why. Here the rules are matched once more, against expressions in which
every term is a concrete one (`check/algebra/ground.py`), as far into the two terms as is needed. What was not needed is
left out again. Nothing here is trusted: the checker builds each instance anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..check.algebra.ground import Ground
from ..check.errors import Rejection
from ..check.relations import Relations
from ..check.tables import Tables
from ..check.terms import Kind, Term, Terms
from ..check.values import Calculus
from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.values import Piece
from ..read.certificates import Certificate
from ..read.ir import DType
from ..relation.build import names
from ..relation.objects import Rel
from ..rules import rule as notation
from ..rules.constants import REALS
from ..rules.rule import GUARDS, Pattern, Rule, Sort, is_variable, sorts
from ..rules.rules import BY_NAME, RULES, up_to
from .terms import InexpressibleError, Lines

MAX_SECONDS = 10.0
"""Time of the processor for one equality."""

MAX_NODES = 3_000
"""Nodes in one attempt."""

_DEPTHS = (1, 2, 3, 4, 6, 8, 12, 24)
"""How many definitions deep the two terms are taken apart, one attempt after the other."""

_BOTH_WAYS = frozenset({"sum-of-divided", "sum-of-negated", "sum-of-scaled"})
"""Rules that are looked for by both sides: what is scaled outside may be scaled inside of what is summed."""

Said = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A rule with concrete terms, relations and constants in place of its variables."""

    rule: Rule
    at: Rel
    bound: Mapping[str, Any]


@dataclass(slots=True)
class Proofs:
    """The equalities of one certificate."""

    lines: Lines
    run: Any = field(init=False)
    _numbers: dict[Term, int] = field(default_factory=dict)
    _relations: dict[Rel, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        said = [("relation", {"text": text}) for text in self.lines.relations]
        said += [("term", line) for line in self.lines.terms]
        rels: Any = Relations()
        terms = Terms(dict(self.lines.meanings))
        tables = Tables(Certificate({}, tuple(said), {}, {}), rels, terms)
        number_of: Any = Calculus.number_of  # of a term, whatever the values are
        self.run = SimpleNamespace(rels=rels, terms=terms, tables=tables, number_of=partial(number_of, None))
        self._numbers = {term: number for number, term in reversed(list(enumerate(tables.made)))}
        self._relations = {rel: number for number, rel in reversed(list(enumerate(tables.relations)))}

    def proof(self, said: Said) -> tuple[list[int], list[Said]]:
        """Numbers of the terms whose definitions are needed, and instances of rules, as the certificate tells them.

        Raises `InexpressibleError` where none are found in time, and `Rejection` where isl gives up.
        """
        tables, theory = self.run.tables, Theory(said["theory"])
        for text in self.lines.relations[len(tables.relations) :]:
            tables.relations.append(self.run.rels.rel(text))
            self._relations.setdefault(tables.relations[-1], len(tables.relations) - 1)
        term, parts = tables.term(said["term"]), tables.pieces(said["parts"])
        stop = time.process_time() + MAX_SECONDS
        for opened in _openings([term, *(part.atom for part in parts)]):
            search = Search(self.run, theory, opened)
            goal = search.goal(term, parts)
            if search.saturate(goal, stop):
                return self._told(*_shrunk(self.run, theory, term, parts, search, stop))
            if time.process_time() > stop:
                break
        raise InexpressibleError(f"an equality of the e-graph, for which no instances of rules are found: {term}")

    # as lines of the certificate ------------------------------------------------------------------------------------

    def _told(self, opened: Sequence[Term], instances: Sequence[Instance]) -> tuple[list[int], list[Said]]:
        told = [self._instance(instance) for instance in instances]
        return sorted(self._term(term) for term in opened), told

    def _instance(self, instance: Instance) -> Said:
        bound: list[list[Any]] = []
        for name, what in instance.bound.items():
            if isinstance(what, Piece):
                bound.append([name, self._term(what.atom), self._relation(what.rel)])
            elif isinstance(what, Rel):
                bound.append([name, self._relation(what)])
            else:
                bound.append([name, self._term(what) if isinstance(what, Term) else what])
        return {"rule": instance.rule.name, "at": self._relation(instance.at), "bound": bound}

    def _relation(self, rel: Rel) -> int:
        if rel not in self._relations:
            self._relations[rel] = self.lines.add_relation(str(rel.map))
            self.run.tables.relations.append(rel)
        return self._relations[rel]

    def _term(self, term: Term) -> int:
        if term not in self._numbers:
            parts = [[self._term(part.atom), self._relation(part.rel), 1] for part in term.parts]
            line = {
                "kind": term.kind.value,
                "type": term.dtype.value,
                "arity": term.arity,
                "key": term.monoid.value if term.monoid is not None else "" if term.key == () else str(term.key),
                "parts": [number for part in parts for number in part],
                "levels": term.levels,
            }
            self._numbers[term] = self.lines.add_term(line)
            self.run.tables.made.append(term)
        return self._numbers[term]


def _openings(terms: Sequence[Term]) -> Iterator[list[Term]]:
    """Terms that are taken apart: more and more of what these are made of."""
    level, known, depth = [*terms], dict.fromkeys(terms), 0
    while level:
        depth += 1
        inner = [part.atom for term in level for part in term.parts if part.atom not in known]
        level = list(dict.fromkeys(inner))
        if depth in _DEPTHS or not level:
            yield [term for term in known if term.parts]
        known.update(dict.fromkeys(level))


def _shrunk(
    run: Any, theory: Theory, term: Term, parts: Sequence[Piece], search: Search, stop: float
) -> tuple[list[Term], list[Instance]]:
    """What is left when all is left out that the equality follows without."""

    def holds(opened: Sequence[Term], instances: Sequence[Instance]) -> bool:
        ground = Search(run, theory, opened)
        try:
            goal = ground.goal(term, parts)
            for each in instances:
                ground.apply(each.rule, each.at, ground.named(each.bound))
            ground.close()
        except Rejection:
            return False
        return ground.meets(goal)

    opened, instances = list(search.opened), list(search.instances)
    size = max(1, len(instances) // 2)
    while instances and time.process_time() < stop:
        kept, at = instances, 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if holds(opened, fewer):
                kept = fewer
            else:
                at += size
        if size == 1 and len(kept) == len(instances):
            break
        instances, size = kept, max(1, size // 2)
    for each in list(opened):
        fewer = [other for other in opened if other is not each]
        if time.process_time() < stop and holds(fewer, instances):
            opened = fewer
    return sorted(opened, key=lambda term: term.number), instances


class Search(Ground):
    """Nodes with the terms that they were made from, and the instances of rules that were found to hold of them."""

    def __init__(self, run: Any, theory: Theory, opened: Sequence[Term]) -> None:
        super().__init__(run, theory, opened)
        self.instances: list[Instance] = []
        self.made: dict[int, Piece] = {}
        self._members: dict[int, list[tuple[tuple[Any, ...], tuple[int, ...], int]]] = {}

    def read(self, term: Term, rel: Rel) -> int:
        number = super().read(term, rel)
        self.made.setdefault(number, Piece(term, rel))
        return number

    def named(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        """Variables with constants by their numbers, as rules take them."""
        return {name: self.number(what) if isinstance(what, Term) else what for name, what in bound.items()}

    # search ---------------------------------------------------------------------------------------------------------

    def saturate(self, goal: Sequence[tuple[int, int]], stop: float) -> bool:
        """Applies all rules wherever they match until the goal is met, or nothing is new."""
        rules = [rule for rule in RULES if rule.kind is notation.Kind.REWRITE and rule.theory in up_to(self.theory)]
        tried: set[Any] = set()
        while True:
            self.close()
            if self.meets(goal):
                return True
            found = [*(each for rule in rules for each in self._matches(rule)), *self._turned()]
            changed = False
            for rule, at, bound in found:
                key = rule.name, at, tuple(sorted((name, str(what)) for name, what in bound.items()))
                if key in tried or len(self.nodes) > MAX_NODES or time.process_time() > stop:
                    continue
                tried.add(key)
                changed |= self._try(rule, at, bound)
            if not changed:
                return False

    def _try(self, rule: Rule, at: Rel, bound: Mapping[str, Any]) -> bool:
        try:
            told = {name: self._told(sorts(rule)[name], what) for name, what in bound.items()}
            before = len(self.nodes)
            united = self.apply(rule, at, self.named(told))
        except (Rejection, KeyError, ValueError):
            return False
        if united:
            self.instances.append(Instance(rule, at, told))
        return united or len(self.nodes) > before

    def _told(self, sort: Sort, what: Any) -> Any:
        if sort is Sort.TERM:
            return self.piece(what)
        if sort is Sort.CONSTANT:
            return self.constant_term(what)
        return what

    def _matches(self, rule: Rule) -> Iterator[tuple[Rule, Rel, dict[str, Any]]]:
        self._members = {}
        for number, (head, of) in list(enumerate(self.keys)):
            self._members.setdefault(self.root(number), []).append((head, of, number))
        for number, (head, of) in list(enumerate(self.keys)):
            sides = rule.patterns if rule.name in _BOTH_WAYS else rule.patterns[:1]
            starts = [(self.rels.identity_on(head[1]), number)]
            if head[2] == "view":
                starts.append((head[3], of[0]))
            for at, inner in starts:
                for bound in (each for side in sides for each in self._match_node(side, inner, {})):
                    for whole in self._guarded(rule, bound):
                        yield rule, at, whole

    def _turned(self) -> Iterator[tuple[Rule, Rel, dict[str, Any]]]:
        """Sums of products, each with its factors in the other order."""
        for (dtype, points, kind, *head), of in list(self.keys):
            piece = self.made.get(of[0]) if kind == "total" else None
            if piece is None or piece.atom.kind is not Kind.PRODUCT or not self._is_identity(piece.rel):
                continue
            product = piece.atom
            other = self.run.terms.make(Kind.PRODUCT, product.dtype, product.arity, product.key, product.parts[::-1])
            self.opened |= {other}
            first, second = (names(name, part.atom.arity) for name, part in zip("xy", product.parts, strict=True))
            turn = self.rels.rel(f"{{[{','.join([*first, *second])}] -> [{','.join([*second, *first])}]}}")
            turn = self.rels.restrict(turn, self.rels.range(piece.rel))
            whole = self.read(other, self.rels.identity_on(self.rels.range(turn)))
            bound = {"d": dtype, "m": head[0], "r": head[1], "s": turn, "x": whole}
            yield BY_NAME["sum-of-view"], self.rels.identity_on(points), bound

    def _guarded(self, rule: Rule, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The ways to bind what only the guard says."""
        ways = [bound]
        for name, *cells in rule.guards:
            if GUARDS[name].demanded:
                continue
            facts = [fact for kind, fact in self.constants.facts if kind == name]
            ways = [
                {**way, **{cell: value for cell, value in zip(cells, fact, strict=True) if is_variable(cell)}}
                for way in ways
                for fact in facts
                if all(
                    way.get(cell, value if is_variable(cell) else cell) == value
                    for cell, value in zip(cells, fact, strict=True)
                )
            ]
        yield from ways

    # matching -------------------------------------------------------------------------------------------------------

    def _match(self, pattern: Pattern, number: int, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(pattern, str):
            known = bound.get(pattern)
            if known is None:
                yield {**bound, pattern: number}
            elif self.root(known) == self.root(number):
                yield bound
            return
        if pattern.head == "view":
            variable = str(pattern.arguments[0])
            for _, _, member in self._members.get(self.root(number), ()):
                piece = self.made.get(member)
                if piece is None or self._is_identity(piece.rel) or variable in bound:
                    continue
                origin = self.read(piece.atom, self.rels.identity_on(self.rels.range(piece.rel)))
                yield from self._match(pattern.arguments[1], origin, {**bound, variable: piece.rel})
            return
        for _, _, member in self._members.get(self.root(number), ()):
            yield from self._match_node(pattern, member, bound)

    def _is_identity(self, rel: Rel) -> bool:
        return rel.arity_in == rel.arity_out and self.rels.equal(rel, self.rels.identity_on(self.rels.domain(rel)))

    def _match_node(self, pattern: Pattern, number: int, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The ways in which one node, not its class, is an instance of a pattern that is no variable."""
        (dtype, _, kind, *head), of = self.keys[number]
        if isinstance(pattern, str):
            return
        if pattern.head == "view":
            if kind == "view":
                yield from self._match(pattern.arguments[1], of[0], {**bound, str(pattern.arguments[0]): head[0]})
        elif pattern.head == "const":
            if kind == "const":
                yield from _with(bound, (pattern.source, dtype), (str(pattern.arguments[0]), head[0]))
        elif pattern.head == "total":
            if kind == "total":
                monoid, relation = map(str, pattern.arguments[:2])
                for more in _with(bound, (pattern.source, dtype), (monoid, head[0]), (relation, head[1])):
                    yield from self._match(pattern.arguments[2], of[0], more)
        elif kind == "op" and len(of) == len(pattern.arguments):
            ways = list(_with(bound, (pattern.source, head[1]), (pattern.target, dtype), (pattern.head, head[0])))
            for argument, part in zip(pattern.arguments, of, strict=True):
                ways = [more for way in ways for more in self._match(argument, part, way)]
            yield from ways

    # terms of nodes -------------------------------------------------------------------------------------------------

    def piece(self, number: int) -> Piece:
        """A concrete term that is this node at its points; one is made where there is none."""
        for member in (number, *(each for _, _, each in self._members.get(self.root(number), ()))):
            if member in self.made:
                return self.made[member]
        (_, points, *_), _ = self.keys[number]
        term = self._own(number)
        self.made[number] = Piece(term, self.rels.identity_on(points))
        if term.arity == 0 and points.arity:
            nothing = self.rels.rel(f"{{[{','.join(names('z', points.arity))}] -> []}}")
            self.made[number] = Piece(term, self.rels.restrict(nothing, points))
        return self.made[number]

    def _own(self, number: int) -> Term:
        """A term at the indices that are this node's points."""
        (_, points, kind, *head), of = self.keys[number]
        terms, arity = self.run.terms, points.arity
        if kind == "const":
            return self.constant_term(head[0])
        pieces = [self.piece(part) for part in of]
        dtype = self._dtype(number, pieces[-1].atom)
        if kind == "op":
            key = self._spelled(head[0])
            term = terms.make(Kind.APPLY, dtype, arity, key, pieces)
        elif kind == "total":
            inner = pieces[0]
            if not self._is_identity(inner.rel):
                view = terms.make(Kind.VIEW, dtype, inner.rel.arity_in, (), pieces)
                self.opened |= {view}
                inner = Piece(view, self.rels.identity_on(self.rels.domain(inner.rel)))
            monoid = Monoid(f"stablehlo.{head[0]}")
            term = terms.make(Kind.SUM, dtype, arity, (), [Piece(inner.atom, head[1])], monoid, 1)
        else:
            term = terms.make(
                Kind.VIEW, dtype, arity, (), [Piece(pieces[0].atom, self.rels.compose(head[0], pieces[0].rel))]
            )
        self.opened |= {term}
        return term

    def _dtype(self, number: int, like: Term) -> DType:
        """The element type of a node, which over the reals is that of another term, where that is one of floats."""
        name, _ = self.type(number)
        if name != REALS:
            return DType(name)
        return like.dtype if like.dtype.is_float else DType.F32

    def _spelled(self, symbol: str) -> str:
        """The key of an op by the symbol that rules have for it."""
        if symbol.startswith("compare."):
            return next((key for key in self.run.terms.meanings if self.symbol(key) == symbol), symbol)
        bare = f"stablehlo.{symbol}"
        return bare if self.symbol(bare) == symbol else symbol

    def constant_term(self, number: int) -> Term:
        """A constant as a term."""
        value, name = self.constants.number(number), self.constants.dtype_of(number)
        dtype = DType.F32 if name == REALS else DType(name)
        if not dtype.is_float:
            return self.run.terms.make(Kind.NUMBER, dtype, 0, int(value))
        return self.run.terms.make(Kind.SCALAR, dtype, 0, np.float64(value).tobytes().hex())


def _with(bound: dict[str, Any], *pairs: tuple[str, Any]) -> Iterator[dict[str, Any]]:
    """The variables with these values too, if they have no others; other names have to be the values."""
    found = dict(bound)
    for name, value in pairs:
        if is_variable(name):
            if found.setdefault(name, value) != value:
                return
        elif name != value:
            return
    yield found
