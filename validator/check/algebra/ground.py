"""Whether expressions at given points are equal by instances of rules, congruence and normal forms (`validator/rules`).

A term at the points of a relation is a node: an op on nodes at the same points, elements of a node at other points that
are combined, or a leaf. Reading goes through elementwise ops down to the leaves: nothing is left for rules that only
move views. The certificate says which definitions are put in place and which instances of rules hold; each is built
from the rule's patterns, and its guard asked anew. Nothing depends on their order or on how they were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...ops.contraction_maps import PLAIN
from ...ops.record import Theory, strongest
from ...ops.values import Piece
from ...read.certificates import Fact
from ...relation.objects import Dom, Rel
from ...rules import rule as rules
from ...rules.constants import IDEMPOTENT, Constants
from ...rules.normal_form import CHAINS, OPS, Operation, systems
from ...rules.rule import GUARDS, Pattern, Rule, Sort, sorts
from ...rules.rules import BY_NAME
from ..errors import Rejection
from ..terms import Kind, Term, is_guarded
from ..values import Calculus


def shown_by_rules(run: Any, term: Term, parts: Sequence[Piece], theory: Theory, fact: Fact) -> None:
    """That the term is each part wherever that is read, by the instances that the certificate gives."""
    if theory is Theory.REAL:
        raise Rejection("that terms are real numbers is not checked")
    tables, ground = run.tables, Ground(run, theory, map(run.tables.term, fact.said["opened"]))
    goal = ground.goal(term, parts)
    told = {
        Sort.TERM: lambda number, rel: tables.pieces([number, rel, 1])[0],
        Sort.RELATION: tables.relation,
        Sort.CONSTANT: lambda number: ground.number(tables.term(number)),
    }
    for said in fact.instances:
        rule = BY_NAME[said["rule"]]
        bound = {name: told.get(sorts(rule)[name], str)(*what) for name, *what in said["bound"]}
        ground.apply(rule, tables.relation(said["at"]), bound)
    ground.close()
    if not ground.meets(goal):
        raise Rejection(f"{term} is not shown to be what it is said to be")


class Ground:
    """Nodes, by what they are made of, and classes of equal ones."""

    def __init__(self, run: Calculus, theory: Theory, opened: Iterable[Term]) -> None:
        self.run, self.theory, self.opened = run, theory, frozenset(t for t in opened if not t.dtype.is_positive)
        rels, folding = self.rels, self.constants = run.rels, Constants(theory)
        self.nodes: dict[tuple[tuple[Any, ...], tuple[int, ...]], int] = {}
        self.keys: list[tuple[tuple[Any, ...], tuple[int, ...]]] = []
        self._roots: list[int] = []
        self._known: dict[Any, Any] = {}
        self._read: dict[tuple[Term, Rel], int] = {}
        self.answers: dict[str, Callable[..., Any]] = {
            "compose": rels.compose,
            "compose-total": lambda m, r, s: rels.compose(r, s) if m in IDEMPOTENT or rels.counts_once(r, s) else None,
            "function": rels.single_valued,
            "identity": lambda r: rels.equal(r, rels.identity_on(rels.domain(r))),
            "nonempty": lambda r: True,  # no total is built where it has no element
            "multiple": lambda m, d, r, c: folding.multiple(m, d, c, 1) if rels.single_valued(r) else None,
            "fold-unary": folding.fold_unary,
            "fold-binary": folding.fold_binary,
            "fold-convert": folding.fold_convert,
        }

    # nodes ----------------------------------------------------------------------------------------------------------

    def one(self, each: Any) -> Any:
        """The one object for equal relations or equal sets."""
        if each not in self._known:
            equal = self.rels.equal if isinstance(each, Rel) else self.rels.set_equal
            alike = (known for known in self._known.values() if type(known) is type(each) and equal(known, each))
            self._known[each] = next(alike, each)
        return self._known[each]

    def node(self, dtype: str, points: Dom, *head: Any, of: tuple[int, ...] = ()) -> int:
        key = (dtype, self.one(points), *head), of
        if key not in self.nodes:
            self.nodes[key] = len(self.keys)
            self._roots.append(len(self.keys))
            self.keys.append(key)
        return self.nodes[key]

    def type(self, number: int) -> tuple[str, Dom]:
        """Element type and points of a node."""
        return self.keys[number][0][:2]

    def number(self, term: Term, integer: tuple[int, ...] | None = None) -> int:
        """A constant, by the number under which it is known; INT is the integer that it is read at."""
        return self.constants.intern(self.run.number_of(term) if integer is None else integer[0], term.dtype)

    def symbol(self, key: str) -> str:
        """An op as rules see it: by its name alone where they know all of its attributes."""
        name, _, rest = key.partition(" ")
        attributes = self.run.terms.meanings.get(key, {})
        if name == "stablehlo.compare" and attributes.keys() == {"comparison_direction"}:
            return f"compare.{attributes['comparison_direction'].value}"
        return key if rest else name.removeprefix("stablehlo.")

    def read(self, term: Term, rel: Rel) -> int:
        """A term at the points of a relation that leads to its indices, taken apart as far as that is allowed."""
        rel = self.one(rel)
        if (term, rel) not in self._read:
            self._read[term, rel] = self._node(term, rel)
        return self._read[term, rel]

    def goal(self, term: Term, parts: Sequence[Piece]) -> list[tuple[int, int]]:
        """Nodes that have to be equal for a term to be each part wherever that is read."""
        points = [self.rels.identity_on(self.rels.domain(part.rel)) for part in parts]
        return [(self.read(term, at), self.read(part.atom, part.rel)) for at, part in zip(points, parts, strict=True)]

    def meets(self, goal: Iterable[tuple[int, int]]) -> bool:
        return all(self.root(first) == self.root(second) for first, second in goal)

    def _node(self, term: Term, rel: Rel) -> int:
        rels, points, parts, dtype = self.rels, self.rels.domain(rel), term.parts, self.constants.dtype_name(term.dtype)
        integer = rels.constant_range(rel) if term.kind is Kind.INTEGER else None
        if (integer or term.kind in (Kind.NUMBER, Kind.SCALAR)) and not term.dtype.is_complex:
            return self.node(dtype, points, "const", self.number(term, integer))
        if term.kind is Kind.GUARD:
            raise Rejection(f"{term} may be absent")
        if term in self.opened and self._multiplies(term):
            size, rest = (part.atom.arity for part in parts)
            reads = rels.project_out(rel, size, rest), rels.project_out(rel, 0, size)
            of = tuple(self.read(part.atom, read) for part, read in zip(parts, reads, strict=True))
            return self.node(dtype, points, "op", "multiply", dtype, of=of)
        if term in self.opened and term.kind in (Kind.APPLY, Kind.VIEW, Kind.SUM) and parts and not is_guarded(parts):
            inside = [part for part in parts if rels.set_subset(rels.range(rel), rels.domain(part.rel))]
            if term.kind is Kind.VIEW and inside:
                return self.read(inside[0].atom, rels.compose(rel, inside[0].rel))
            if term.kind is Kind.APPLY and len(inside) == len(parts):
                of = tuple(self.read(part.atom, rels.compose(rel, part.rel)) for part in parts)
                return self.node(dtype, points, "op", self.symbol(term.key), self.type(of[-1])[0], of=of)
            monoid, (part, *others) = term.monoid, parts
            # sums of floats go by how often they were rounded
            free = monoid is not None and (self.theory is not Theory.EXACT or monoid.reorders_exactly(term.dtype))
            if monoid is not None and free and inside and not others and part.coefficient == 1:
                return self.total(self.symbol(monoid.value), rel, part.rel, lambda at: self.read(part.atom, at))
        return self.node(dtype, points, "leaf", term, rel)

    def _multiplies(self, term: Term) -> bool:
        """Whether a term is what `multiply` makes of two factors, up to the type in which that is rounded."""
        plain = term.kind is Kind.PRODUCT and term.key == repr(PLAIN) and self.theory is not Theory.EXACT
        return plain and {part.atom.dtype for part in term.parts} == {term.dtype} and not is_guarded(term.parts)

    def total(self, monoid: str, at: Rel, inner: Rel, child: Callable[[Rel], int]) -> int:
        """What `inner` leads to, combined, and read through a function `at`."""
        rels, points = self.rels, self.one(self.rels.range(at))
        at, inner = self.one(at), self.one(self.rels.restrict(inner, points))
        if not rels.set_equal(rels.domain(inner), points):
            raise Rejection("a total of nothing")
        part = child(rels.identity_on(rels.range(inner)))
        dtype = self.type(part)[0]
        whole = self.node(dtype, points, "total", monoid, inner, of=(part,))
        if at is self.one(rels.identity_on(points)):
            return whole
        return self.node(dtype, rels.domain(at), "view", at, of=(whole,))

    # rules ----------------------------------------------------------------------------------------------------------

    def apply(self, rule: Rule, at: Rel, bound: Mapping[str, Any]) -> bool:
        """Both sides of a rule are equal, read through a function, if its guard holds."""
        env = dict(bound)
        if rule.kind is not rules.Kind.REWRITE or strongest([rule.theory, self.theory]) is not self.theory:
            raise Rejection(f"'{rule.name}' has no instance here")
        for name, *cells in rule.guards:
            guard, values = GUARDS[name], tuple(env.get(cell, cell) for cell in cells)
            asked = values[: len(values) - guard.outputs]
            answer = self.answers[name](*asked) if guard.demanded else (name, values) in self.constants.facts
            if answer is None or answer is False:
                raise Rejection(f"'{rule.name}' does not hold: {name} {' '.join(cells)}")
            if guard.outputs:
                env[cells[-1]] = answer
        if not self.rels.single_valued(at):
            raise Rejection("an instance at several points")
        left, right = (self.build(pattern, env, at) for pattern in rule.patterns)
        if self.type(left) != self.type(right):
            raise Rejection(f"the sides of '{rule.name}' are of different types")
        return self.unite(left, right)

    def build(self, pattern: Pattern, env: Mapping[str, Any], at: Rel) -> int:
        """A pattern with its variables in place, read through a function."""
        if isinstance(pattern, str):
            return self.read(env[pattern].atom, self._through(at, env[pattern].rel))
        head, (*_, last) = env.get(pattern.head, pattern.head), pattern.arguments
        source, target = (env.get(dtype, dtype) for dtype in (pattern.source, pattern.target))
        points, names = self.rels.domain(at), [env.get(str(each), each) for each in pattern.arguments]
        if pattern.head == "view":
            return self.build(last, env, self._through(at, names[0]))
        if pattern.head == "const":
            made, of = self.node(source, points, "const", names[0]), [self.constants.dtype_of(names[0])]
        elif pattern.head == "total":
            made = self.total(names[0], at, names[1], lambda inside: self.build(last, env, inside))
            of = [self.type(made)[0]]
        else:
            parts = tuple(self.build(part, env, at) for part in pattern.arguments)
            made = self.node(target, points, "op", head, source, of=parts)
            of = [self.type(part)[0] for part in parts][len(parts) == 3 :]  # of three, the first may be a predicate
        if any(dtype != source for dtype in of):
            raise Rejection(f"operands of '{head}' that are not of type '{source}'")
        return made

    def _through(self, at: Rel, rel: Rel) -> Rel:
        if not self.rels.set_subset(self.rels.range(at), self.rels.domain(rel)):
            raise Rejection("an instance that is read where it is not defined")
        found = self.rels.compose(at, rel)
        if not self.rels.single_valued(found):
            raise Rejection("a view of several elements")
        return found

    # classes --------------------------------------------------------------------------------------------------------

    def root(self, number: int) -> int:
        while self._roots[number] != number:
            number = self._roots[number]
        return number

    def unite(self, first: int, second: int) -> bool:
        """Whether these two were not known to be equal; constants are not, nor are 0 and -0 above exact."""
        first, second = sorted(map(self.root, (first, second)), key=lambda n: (self.keys[n][0][2] != "const", n))
        if first != second and self.keys[second][0][2] == "const":
            raise Rejection("two constants are said to be one")
        self._roots[second] = first
        return first != second

    def close(self) -> None:
        """Unites what is made alike of equal parts, and sums and products of one form, until nothing is left."""
        changed = True
        while changed:
            made: dict[Any, int] = {}
            same = [(made.setdefault((h, *map(self.root, of)), n), n) for n, (h, of) in enumerate(self.keys)]
            changed = sum(self.unite(first, second) for first, second in same) > 0 or self._alike()

    def _alike(self) -> bool:
        nodes: list[tuple[str, int, Operation]] = []
        for number, ((dtype, _, kind, *head), of) in enumerate(self.keys):
            value = self.constants.fraction(head[0]) if kind == "const" else None
            if value is not None:
                nodes.append((dtype, self.root(number), Operation("constant", (), value)))
            elif kind == "op" and head[0] in (*OPS, *CHAINS) and head[1] == dtype:
                nodes.append((dtype, self.root(number), Operation(head[0], tuple(map(self.root, of)))))
        changed = False
        for dtype, forms in systems(nodes, self.theory):
            for found in forms.findings(dtype):
                other = found.right
                if found.constant is not None and (cell := self.constants.from_fraction(found.constant, dtype)):
                    other = self.node(dtype, self.type(found.left)[1], "const", cell)
                changed |= other is not None and self.unite(found.left, other)
        return changed
