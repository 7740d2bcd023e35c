"""The values around the place of an error in both programs, each with a typed signature."""

from __future__ import annotations

from ..read.ir import UNKNOWN_LOCATION, Location, Op, Program, TensorType, Value, hands_on
from ..relate.atoms import Atom, AtomKind
from ..relate.decide import Decision
from ..relate.value import Val
from ..relation.store import Rel, RelationLimitError
from ..report.frontier import Frontier, NearValue, OperandRelation
from .axis_names import GroupNames
from .scene import table_of_digits

_MAX_NEAR = 8
"""Operands, and users, of the op at the place that are shown."""
_MAX_PIECES = 3
_MAX_SOUGHT = 16
"""Ops that are asked where they come from in place of one that the compiler put in."""


def frontier(decision: Decision, before: Program, after: Program, op: Op, reason: str) -> Frontier:
    """The op with its operands and users, and the values of the before program that these correspond to."""
    near = _Near(decision, before, after)
    result = op.results[0]
    around = [*op.operands[:_MAX_NEAR], *op.results, *near.users(result)[:_MAX_NEAR]]
    here = [near.after_value(value) for value in dict.fromkeys(around)]
    there = near.before_values(op, [value.counterpart for value in here])
    operands = tuple(OperandRelation(operand.name, near.relation(operand)) for operand in op.operands)
    return Frontier(
        op.name, result.name, near.signature(result), near.location(op), reason, operands, there, tuple(here)
    )


class _Near:
    """Looks values up by number, name and atom."""

    def __init__(self, decision: Decision, before: Program, after: Program) -> None:
        self._decision = decision
        self._before = before
        self._names = GroupNames(before, after, decision.relations)
        self._after_ops = {value.number: op for op in _all_ops(after) for value in op.results}
        self._before_ops = {value.number: op for op in _all_ops(before) for value in op.results}
        self._before_values = {parameter.value.number: parameter.value for parameter in before.parameters}
        self._before_values |= {value.number: value for op in _all_ops(before) for value in op.results}
        self._by_atom: dict[int, Value] = {}
        for number, value in self._before_values.items():
            known = decision.original.env.get(number)
            if isinstance(known, Val) and known.is_plain:
                self._by_atom.setdefault(known.pieces[0].atom.number, value)

    def users(self, value: Value) -> list[Value]:
        ops = [op for op in self._after_ops.values() if any(o.number == value.number for o in op.operands)]
        return list(dict.fromkeys(result for op in ops for result in op.results[:1]))

    def location(self, op: Op) -> Location:
        """Where an op comes from; for one that the compiler put in, where what uses it or what it uses comes from.

        Constants, also spread ones, and copies stand where the program is compiled: theirs is the place of others.
        """
        pending, seen = [op], {op.results[0].number}
        for each in pending:
            copies = hands_on(each)
            spread = each.name == "stablehlo.broadcast_in_dim" and not each.operands[0].tensor.rank
            if each.location.frames and not (copies or spread or each.name == "stablehlo.constant"):
                return each.location
            users = self.users(each.results[0])
            for value in (*each.operands, *users) if copies else (*users, *each.operands):
                other = self._after_ops.get(value.number)
                if other is not None and value.number not in seen and len(pending) < _MAX_SOUGHT:
                    seen.add(value.number)
                    pending.append(other)
        return op.location

    def after_value(self, value: Value) -> NearValue:
        op = self._after_ops.get(value.number)
        other, layout = self._counterpart(value)
        return NearValue(
            value.name,
            op.name if op is not None else "parameter",
            str(value.type),
            layout,
            self.relation(value),
            tuple(operand.name for operand in op.operands) if op is not None else (),
            other.name if other is not None else "",
            op.location if op is not None else UNKNOWN_LOCATION,
        )

    def signature(self, value: Value) -> str:
        _, layout = self._counterpart(value)
        return f"{value.type} {layout}".rstrip()

    def before_values(self, op: Op, names: list[str]) -> tuple[NearValue, ...]:
        """The counterparts, and the original's op that takes some of them as this op takes its operands."""
        wanted = set(names) - {""}
        found = [value for value in self._before_values.values() if value.name in wanted]
        numbers = {value.number for value in found}
        for other in self._before_ops.values():
            if other.name == op.name and any(operand.number in numbers for operand in other.operands):
                found += [value for value in other.results[:1] if value not in found]
        return tuple(self._before_value(value) for value in found[: 2 * _MAX_NEAR])

    def _before_value(self, value: Value) -> NearValue:
        op = self._before_ops.get(value.number)
        return NearValue(
            value.name,
            op.name if op is not None else "parameter",
            str(value.type),
            operands=tuple(operand.name for operand in op.operands) if op is not None else (),
            location=op.location if op is not None else UNKNOWN_LOCATION,
        )

    def relation(self, value: Value) -> str:
        """What is known of a value, exactly."""
        known = self._decision.device.env.get(value.number)
        if not isinstance(known, Val) or not known.pieces:
            return "unknown"
        parts = [f"{_atom_text(piece.atom)} {piece.rel.map}" for piece in known.pieces[:_MAX_PIECES]]
        more = f" and {len(known.pieces) - _MAX_PIECES} more" if len(known.pieces) > _MAX_PIECES else ""
        head = f"{known.monoid.value.partition('.')[2]} over " if known.monoid is not None else ""
        return head + "; ".join(parts) + more

    def _counterpart(self, value: Value) -> tuple[Value | None, str]:
        """The original's value that this one is a part of, and how it lies on the devices."""
        known = self._decision.device.env.get(value.number)
        if not isinstance(known, Val) or not isinstance(value.type, TensorType) or not known.pieces:
            return None, ""
        try:
            return self._matched(known)
        except RelationLimitError:
            return None, ""

    def _matched(self, known: Val) -> tuple[Value | None, str]:
        piece = known.pieces[0]
        if known.monoid is None:
            other = self._by_atom.get(piece.atom.number)
            if other is None or len(known.pieces) > 1:
                return other, ""
            theirs = self._decision.original.env[other.number]
            assert isinstance(theirs, Val)
            store = self._decision.device.store
            match = store.compose(piece.rel, store.reverse(theirs.pieces[0].rel))
            return other, self._layout(match, piece.rel)
        context = self._decision.device.context
        for definition in context.definitions.get(piece.atom.number, ()):
            other = self._by_atom.get(definition.atom.number)
            if other is None or len(definition.pieces) != 1 or not definition.original:
                continue
            store = self._decision.device.store
            match = store.compose(piece.rel, store.reverse(definition.pieces[0].rel))
            if store.single_valued(match):
                return other, self._layout(match, piece.rel, known.monoid.value.partition(".")[2])
        return None, f"partial {known.monoid.value.partition('.')[2]}"

    def _layout(self, match: Rel, rel: Rel, partial: str = "") -> str:
        """How a value lies on the devices, from the relation to the original's value and that to its terms."""
        sizes = self._decision.device.mesh.sizes
        if not sizes:
            return ""
        words = []
        cut: set[int] = set()
        for dim in range(match.arity_out):
            along = self._along(match, dim)
            digits = [k for k in range(len(sizes)) if self._depends(along, k)]
            if digits:
                cut.update(digits)
                words.append(f"sharded on dimension {dim} over {self._names.of(table_of_digits(sizes, digits))}")
        rest = [k for k in range(len(sizes)) if k not in cut and partial and self._depends(rel, k)]
        if rest:
            words.append(f"partial {partial} over {self._names.of(table_of_digits(sizes, rest))}")
        return ", ".join(words) or "replicated"

    def _along(self, match: Rel, dim: int) -> Rel:
        store = self._decision.device.store
        if dim + 1 < match.arity_out:
            match = store.project_out(match, dim + 1, match.arity_out - dim - 1)
        return store.project_out(match, 0, dim) if dim else match

    def _depends(self, rel: Rel, digit: int) -> bool:
        """Whether a relation is another one on devices that differ in one digit only."""
        store = self._decision.device.store
        names = [f"p{k}" for k in range(rel.arity_in)]
        fixed = ["0" if k == digit else name for k, name in enumerate(names)]
        first = store.rel(f"{{[{','.join(names)}] -> [{','.join(fixed)}]}}")
        return not store.equal(store.restrict(store.compose(first, rel), store.domain(rel)), rel)


def _atom_text(atom: Atom) -> str:
    return str(atom) if atom.label else f"{'term' if atom.kind is not AtomKind.INTEGER else 'INT'} {atom.number}"


def _all_ops(program: Program) -> list[Op]:
    found, pending = [], [program.body]
    while pending:
        for op in pending.pop().ops:
            found.append(op)
            if op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
                pending.extend(op.regions)
    return found
