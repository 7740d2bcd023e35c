"""Asking the e-graph, where the walk finds no term of the original, whether another of its terms is equal.

Atoms become terms: a lifted op an elementwise op over views of its operands, a named sum a total, a product an
elementwise multiplication over pairs of indices, everything else a leaf. One e-graph a theory is kept, so that an
equality is labelled with the weakest theory that gives it. What the e-graph finds replaces the new atom in the value,
so the walk goes on with the original's term.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..ops.contraction_maps import PLAIN
from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..read.ir import DType
from ..relation.build import names
from ..relation.store import Dom, Rel, RelationLimitError
from .algebra import Algebra
from .atoms import Atom, AtomKind, name_of, reads_of
from .chains import Chains, family_of, is_scalar_of

if TYPE_CHECKING:
    from ..egraph.graph import TermGraph
    from .context import Context
    from .walk import Walk

MAX_QUESTIONS = 200
"""Terms asked about in one validation; a program that needs more has another problem than algebra."""

_REGROUPED = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "divide"))
"""Ops of two operands that the e-graph brings into one form however they are nested."""

MAX_LEAVES = 16
"""Atoms by which two expressions without a common operand are laid over each other."""

MAX_CHAINS = 16
"""At most this many of the original's chains of the same operands are asked about for one term."""

MAX_WRITTEN = 40
"""At most this many ops of one term are written out at the place where it is read."""

_INTO = ("view-into-unary", "view-into-binary", "view-into-ternary")

MAX_SECONDS = 8.0
"""Processor time spent in the e-graph in one validation."""


@dataclass(slots=True)
class Bridge:
    """The e-graphs of one validation, by theory, filled on demand."""

    context: Context
    accepted: Theory
    node_limit: int | None = None
    """Nodes of one e-graph; None leaves it its own bound."""
    graphs: dict[Theory, _Graph] = field(default_factory=dict)
    originals: dict[Hashable, list[Atom]] = field(default_factory=dict)
    """The original's lifted atoms, by element type and the atoms they read."""
    _noted: dict[DType, list[Atom]] = field(default_factory=dict)
    """Those that wait to be filed there: most proofs never ask for a term of their type."""
    _leaves: dict[int, frozenset[int]] = field(default_factory=dict)
    _chains: Chains = field(init=False)
    _regrouped: dict[Hashable, list[Atom]] = field(default_factory=dict)
    """The original's chains of one op, by what they combine."""
    _spoilt: set[Theory] = field(default_factory=set)
    """Theories by which constants were found equal that are not."""
    questions: int = 0
    seconds: float = 0.0
    stop: str | None = None
    fired: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chains = Chains(self.context.store, self.context.spaces)

    def note(self, atom: Atom) -> None:
        """Remember a term of the original as one that may be found again."""
        self._noted.setdefault(atom.dtype, []).append(atom)

    def find(self, walk: Walk, atom: Atom, is_real: Callable[[Atom], bool]) -> tuple[Atom, Rel | None, Theory] | None:
        """(term of the original, relation from the atom's indices to its, theory), None for no relation needed.

        Over the reals only terms that are real numbers are asked about: x/x = 1 of 0/0 would make all terms equal.
        """
        if self.questions >= MAX_QUESTIONS or self.seconds >= MAX_SECONDS:
            return None
        for noted in self._noted.pop(atom.dtype, ()):
            self.originals.setdefault(self._signature(noted), []).append(noted)
            if (key := self._chains.key(noted)) is not None:
                self._regrouped.setdefault(key, []).append(noted)
        candidates = self.originals.get(self._signature(atom), ())
        regrouped = self._regrouped.get(self._chains.key(atom), ())[:MAX_CHAINS]
        if not candidates and not regrouped:
            return None
        self.questions += 1
        start = time.thread_time()
        try:
            options = [(other, match) for other in candidates for match in self._matches(walk, atom, other)]
            chains = [(other, self._chains.match(atom, other)) for other in regrouped]
            chains = [(other, match) for other, match in chains if match is not None]
            found = self._find(atom, options, chains, is_real)
            return found or self._find(atom, options[:MAX_CHAINS], [], is_real, wholly=True)
        except RelationLimitError:
            return None
        finally:
            self.seconds += time.thread_time() - start

    def _find(
        self,
        atom: Atom,
        options: list[tuple[Atom, Rel | None]],
        chains: list[tuple[Atom, Rel]],
        is_real: Callable[[Atom], bool],
        *,
        wholly: bool = False,
    ) -> tuple[Atom, Rel | None, Theory] | None:
        """The first of the terms that the e-graph finds equal; those of `chains` are another grouping of one chain.

        Reading goes into chains, and `wholly` into all elementwise ops that a term is made of.
        """
        for theory in Theory:
            if theory is Theory.REAL:
                options = [(other, match) for other, match in options if is_real(other)]
                chains = [(other, match) for other, match in chains if is_real(other)]
            if not (options or chains) or (theory is Theory.REAL and not is_real(atom)):
                return None
            found = None if theory in self._spoilt else self._equal(atom, options, chains, theory, wholly)
            if found is not None:
                return found
            if theory is self.accepted:
                return None
        return None

    def _equal(
        self,
        atom: Atom,
        options: list[tuple[Atom, Rel | None]],
        chains: list[tuple[Atom, Rel]],
        theory: Theory,
        wholly: bool,
    ) -> tuple[Atom, Rel | None, Theory] | None:
        from ..egraph.outcome import UnsoundMerge

        graph = self._graph(theory)
        term, space = graph.term(atom), graph.space(atom)
        here = self.context.store.identity_on(space)
        if chains or wholly:
            graph.written_out(atom, here, space, wholly)
        if wholly:
            pairs = [(other, match, graph.written_out(other, match or here, space, True)) for other, match in options]
        else:
            pairs = [(other, match, graph.read(other, match, space)) for other, match in options]
        pairs += [(other, match, graph.written_out(other, match, space)) for other, match in chains]
        try:
            report = graph.terms.saturate(theory)
        except UnsoundMerge:
            # a program adds 0 and -0, or divides by zero for all inputs: nothing is concluded from a graph that has it
            self._spoilt.add(theory)
            return None
        if not self.limited:
            self.stop = report.stop.value
        for name, count in report.fired.items():
            self.fired[name] = self.fired.get(name, 0) + count
        for other, match, read in pairs:
            if read is not None and graph.terms.same(term, read):
                return other, match, theory
        return None

    @property
    def limited(self) -> bool:
        """Whether some run met the bound on nodes, so that more of them might give more equalities."""
        from ..egraph.outcome import StopReason

        return self.stop == StopReason.NODE_LIMIT.value

    def _signature(self, atom: Atom) -> Hashable:
        """What two equal terms must share to be compared: type and the leaves they read, constants aside."""
        return (atom.dtype, self._leaves_of(atom))

    def _leaves_of(self, atom: Atom) -> frozenset[int]:
        """Numbers of the atoms that an expression of lifted ops is made of; an explicit stack, programs are deep."""
        known = self._leaves
        stack = [atom]
        while stack:
            current = stack[-1]
            if current.number in known:
                stack.pop()
                continue
            if current.kind is not AtomKind.LIFT:
                constant = current.kind is AtomKind.CONSTANT and not current.arity
                known[current.number] = frozenset() if constant else frozenset((current.number,))
                continue
            missing = [operand for operand in current.operands if operand.number not in known]
            if missing:
                stack.extend(missing)
                continue
            known[current.number] = frozenset().union(*(known[operand.number] for operand in current.operands))
        return known[atom.number]

    def release(self) -> None:
        """Give the e-graphs' memory back; whoever asks again builds them anew."""
        self.graphs.clear()

    def _graph(self, theory: Theory) -> _Graph:
        found = self.graphs.get(theory)
        if found is None:
            found = self.graphs[theory] = _Graph(self.context, theory, self.node_limit)
        return found

    def _matches(self, walk: Walk, atom: Atom, other: Atom) -> list[Rel | None]:
        """Relations through which `other` might be `atom`; None where both have the same indices."""
        if not atom.rels and not other.rels and (_root(atom) is _root(other) or not (atom.arity or other.arity)):
            return [None]
        store, match = walk.store, None
        if atom.rels and other.rels:
            match = _through(walk, _read(atom), _read(other))
        if match is None and (not atom.dtype.is_integer or {name_of(atom), name_of(other)} <= _REGROUPED):
            # (a + b) + c and a + (b + c) have no operand in common, nor have a − b and −(b − a); what devices do with
            # integers are offsets into their shards, mostly, which are none of the original's
            match = _through(walk, *(self._places(walk, each) for each in (atom, other)))
        if match is None or store.empty(match):
            return []
        if not store.single_valued(match):
            match = store.lexmin(match)
        return [match] if store.set_equal(store.domain(match), self.context.spaces.of(atom)) else []

    def _places(self, walk: Walk, atom: Atom) -> list[tuple[Atom, Rel]]:
        """What an expression of lifted ops is made of, and how it is read at the expression's own indices."""
        found: list[tuple[Atom, Rel]] = []
        stack = [(atom, walk.store.identity_on(self.context.spaces.of(atom)))]
        while stack and len(found) < MAX_LEAVES:
            operand, rel = stack.pop()
            if operand.kind is not AtomKind.LIFT:
                found.append((operand, rel))
            elif operand.rels:
                stack += [(inner, walk.store.compose(rel, theirs)) for inner, theirs in _read(operand)[::-1]]
            else:
                stack += [(inner, rel) for inner in dict.fromkeys(operand.operands) if inner.arity]
        return found


def _through(walk: Walk, mine: list[tuple[Atom, Rel]], others: list[tuple[Atom, Rel]]) -> Rel | None:
    """How the indices of two terms go together if what both read is read at the same places; None if nothing is."""
    store = walk.store
    match: Rel | None = None
    for operand, rel in mine:
        for twin, theirs in others:
            if twin is operand:
                part = store.compose(rel, store.reverse(theirs))
                match = part if match is None else store.meet(match, part)
    return match


def _root(atom: Atom) -> Atom:
    """The atom whose indices a lifted op over one operand shares."""
    while atom.kind is AtomKind.LIFT and not atom.rels:
        inner = [operand for operand in atom.operands if operand.arity]
        if not inner:
            return atom
        atom = inner[0]
    return atom


def _read(atom: Atom) -> list[tuple[Atom, Rel]]:
    """The distinct operands of an atom with its own indices, and how it reads them."""
    seen: dict[int, tuple[Atom, Rel]] = {}
    pattern = atom.data[1][2]
    for operand, (what, position) in zip(atom.operands, pattern, strict=True):
        if what != "scalar":
            seen.setdefault(position, (operand, atom.rels[position]))
    return list(seen.values())


def _op_of(atom: Atom) -> tuple[str, Any]:
    """A lifted term's op and attributes, as the e-graph names them."""
    name, attributes = (atom.data[1] if atom.rels else atom.key[2])[0]
    dialect, _, op = str(name).rpartition(".")
    if op == "compare":
        items = dict(attributes)
        return op, (items["comparison_direction"].value, items.get("compare_type"))
    return op if dialect == "stablehlo" else str(name), attributes or None


class _Graph:
    """One e-graph and the atoms in it."""

    def __init__(self, context: Context, theory: Theory, node_limit: int | None) -> None:
        from ..egraph.algebra import TermType
        from ..egraph.graph import TermGraph
        from ..egraph.outcome import Limits

        self._context = context
        self._theory = theory
        self._store = context.store
        self._algebra = Algebra(context.store)
        limits = Limits() if node_limit is None else Limits(nodes=node_limit)
        self.terms: TermGraph = TermGraph(self._algebra, theory, limits)
        self._known: dict[int, int] = {}
        self._reads: dict[tuple[int, int], list[Rel]] = {}
        self._type = TermType

    def space(self, atom: Atom) -> Dom:
        """The indices at which the atom means something."""
        return self._context.spaces.of(atom)

    def term(self, atom: Atom) -> int:
        """The atom's term, its operands first; an explicit stack, since programs are deep."""
        stack = [atom]
        while stack:
            current = stack[-1]
            missing = [operand for operand in self._needed(current) if operand.number not in self._known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if current.number not in self._known:
                self._known[current.number] = self._make(current)
        return self._known[atom.number]

    def _needed(self, atom: Atom) -> tuple[Atom, ...]:
        if atom.dtype.is_positive:
            return ()
        if atom.kind in (AtomKind.LIFT, AtomKind.PRODUCT):
            return atom.operands
        if atom.kind is AtomKind.NAMED and self._sum(atom) is not None:
            return (atom.data[0].atom,)
        return ()

    def _sum(self, atom: Atom) -> Monoid | None:
        """The reducer of a named atom that is one total over its whole space.

        Of floats there is none at theory exact: what their sum is goes by how often it was rounded on its way.
        """
        if atom.kind is not AtomKind.NAMED or not isinstance(atom.data, tuple) or len(atom.data) != 1:
            return None
        piece = atom.data[0]
        if piece.coefficient != 1:
            return None
        definition = self._context.definition_of(atom)
        monoid = definition.monoid if definition is not None else None
        return monoid if monoid is not None and self._any_order(monoid, atom.dtype) else None

    def _any_order(self, monoid: Monoid, dtype: DType) -> bool:
        """Whether the graph's theory lets sums be taken in any order, and rounded where that is done."""
        return self._theory is not Theory.EXACT or monoid.reorders_exactly(dtype)

    def _make(self, atom: Atom) -> int:
        space = self.space(atom)
        type_ = self._type(atom.dtype, space.number)
        if atom.kind is AtomKind.CONSTANT and atom.arity == 0 and isinstance(atom.data, (tuple, float)):
            value = atom.data[1] if isinstance(atom.data, tuple) else atom.data
            return self.terms.constant(value, type_)
        if atom.dtype.is_positive:
            return self.terms.leaf(f"atom{atom.number}", type_)
        if atom.kind is AtomKind.LIFT:
            return self._lifted(atom, space, type_)
        monoid = self._sum(atom)
        if monoid is not None:
            piece = atom.data[0]
            inner = self.space(piece.atom)
            if self._store.set_subset(self._store.range(piece.rel), inner):
                rel = self._algebra.keep(piece.rel, inner)
                return self.terms.total(monoid.value.partition(".")[2], rel, self._known[piece.atom.number], type_)
        if atom.kind is AtomKind.PRODUCT:
            return self._product(atom, space, type_)
        return self.terms.leaf(f"atom{atom.number}", type_)

    def _product(self, atom: Atom, space: Dom, type_: Any) -> int:
        left, right = atom.operands
        if not self._any_order(Monoid.ADD, atom.dtype):
            # a dot may multiply in a wider type than its own
            return self.terms.leaf(f"atom{atom.number}", type_)
        if left.dtype is not atom.dtype or right.dtype is not atom.dtype or atom.key[2][2] != PLAIN:
            return self.terms.leaf(f"atom{atom.number}", type_)
        all_ = names("x", atom.arity)
        edges = []
        for operand, part in ((left, all_[: left.arity]), (right, all_[left.arity :])):
            text = f"{{[{','.join(all_)}] -> [{','.join(part)}]}}"
            edges.append(self._edge(operand, self._store.restrict(self._store.rel(text), space), space))
        return self._applied(atom, "multiply", None, edges, type_)

    def _lifted(self, atom: Atom, space: Dom, type_: Any) -> int:
        edges = [self._edge(operand, rel, space) for operand, rel in reads_of(atom)]
        return self._applied(atom, *_op_of(atom), edges, type_)

    def _applied(
        self, atom: Atom, op: str, meaning: Any, edges: list[tuple[int | None, int] | None], type_: Any
    ) -> int:
        """The op's term; a leaf where an operand is not known to be defined wherever it is read."""
        whole = [edge for edge in edges if edge is not None]
        if len(whole) < len(edges):
            return self.terms.leaf(f"atom{atom.number}", type_)
        return self.terms.apply(op, meaning, whole, type_)

    def _edge(self, operand: Atom, rel: Rel | None, space: Dom) -> tuple[int | None, int] | None:
        """(relation, term) of an operand as it is read; None where that reaches beyond where it is defined."""
        term = self._known[operand.number]
        if operand.kind is AtomKind.CONSTANT and operand.arity == 0:
            kind = self._type(operand.dtype, space.number)
            if isinstance(operand.data, (tuple, float)):
                value = operand.data[1] if isinstance(operand.data, tuple) else operand.data
                return None, self.terms.constant(value, kind)
            return None, self.terms.leaf(f"atom{operand.number} over {space.number}", kind)
        if rel is None and self.space(operand) is space:
            return None, term
        if rel is None:
            source = ",".join(names("x", space.arity))
            target = ",".join(names("x", operand.arity)) if operand.arity else ""
            rel = self._store.restrict(self._store.rel(f"{{[{source}] -> [{target}]}}"), space)
        read = self._reading(operand, rel, space)
        return None if read is None else (read, term)

    def _reading(self, atom: Atom, rel: Rel, space: Dom) -> int | None:
        """The e-graph's number of a relation that leads from a space to an atom's; None if not wholly to that."""
        target = self.space(atom)
        if not self._store.set_subset(self._store.range(rel), target):
            return None
        number = self._algebra.keep(rel, target)
        # the same points may be two sets to isl's plain comparison, which are two spaces to the e-graph
        return None if target is not space and self._algebra.is_identity(number) else number

    def written_out(self, atom: Atom, rel: Rel, space: Dom, wholly: bool = False) -> int | None:
        """The term of a chain that is read through a relation, told to be the same chain of what it combines, each
        read through its own: reading goes into elementwise ops. None where it is not defined at all points.

        `wholly` goes into every elementwise op of up to three operands, as far as `MAX_WRITTEN` of them.
        """
        self._written = 0
        return self._written_out(atom, rel, space, wholly)

    def _written_out(self, atom: Atom, rel: Rel, space: Dom, wholly: bool) -> int | None:
        term, family = self.read(atom, rel, space), family_of(atom)
        reads = reads_of(atom)
        type_ = self._type(atom.dtype, space.number)
        if term is not None and self.terms.type_of(term) != type_:
            return None  # the same points may be two sets to isl's plain comparison
        if term is None or atom.dtype.is_positive or not 0 < len(reads) <= len(_INTO):
            return term
        self._written += 1
        edges: list[tuple[int | None, int]] = []
        for operand, read in reads:
            through = rel if read is None else self._store.compose(rel, read)
            if is_scalar_of(operand, atom):
                through = self._store.project_out(rel, 0, rel.arity_out)
            inside = family_of(operand) == family
            if wholly:
                inside = operand.kind is AtomKind.LIFT and self._written < MAX_WRITTEN
            if operand.kind is AtomKind.CONSTANT and not operand.arity:
                edge = self._edge(operand, None, space)
            elif inside:
                inner = self._written_out(operand, through, space, wholly)
                edge = None if inner is None else (None, inner)
            else:
                edge = self._edge(operand, self._form_of(operand, through), space)
            if edge is None:
                return term
            edges.append(edge)
        applied = self.terms.apply(*_op_of(atom), edges, type_)
        if self.terms.type_of(applied) != type_:
            return None
        self.terms.union(term, applied, _INTO[len(edges) - 1])
        return term

    def _form_of(self, operand: Atom, rel: Rel) -> Rel:
        """The relation as it was first met: one that is equal, but written in another form, would count as another."""
        known = self._reads.setdefault((operand.number, rel.arity_in), [])
        for other in known:
            if self._store.equal(other, rel):
                return other
        known.append(rel)
        return rel

    def read(self, other: Atom, match: Rel | None, space: Dom) -> int | None:
        """The term of `other` read at the indices of the space, None where it is not defined at all of them."""
        term = self.term(other)
        if match is None:
            return term if self.space(other) is space else None
        read = self._reading(other, match, space)
        return None if read is None else self.terms.view(read, term, self._type(other.dtype, space.number))
