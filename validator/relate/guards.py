"""Unknown integers as indices: e[x] = Σ over t of [e[x] = t] · INT[t].

Lemma *guard*: an integer (or boolean) element e[x] has exactly one value t in its type's range, so a value read at an
index that depends on e[x] is the sum over t of what is read at t, guarded by e[x] = t; at most one term is present.
Everything done to the integer (comparison, clamp, selection, wrapping arithmetic) acts on t. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ops.integers import index_function
from ..ops.monoid import Monoid
from ..relation.build import names
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .moves import gathered
from .value import Piece, Val

if TYPE_CHECKING:
    from .walk import Walk

MAX_GUARD_PIECES = 24
"""An integer expression with more cases than this is taken as one unknown."""


def index_form(walk: Walk, value: Val) -> Val:
    """An integer or boolean view with every piece INT under guards: p → (n, x1, t1, …)."""
    value = walk.close(value, "index of a data-dependent access")
    pieces: list[Piece] = []
    for piece in value.pieces:
        for part in _expand(walk, piece.atom):
            rel = walk.store.compose(piece.rel, part.rel)
            if not walk.store.empty(rel):
                pieces.append(Piece(part.atom, rel))
    return Val(value.type, gathered(walk.store, pieces), value.domain, theory=value.theory)


def _expand(walk: Walk, atom: Atom) -> tuple[Piece, ...]:
    """The atom as guarded integers over its own indices."""
    cache = walk.context.expansions
    found = cache.get(atom.number)
    if found is None:
        found = _expand_lift(walk, atom) or (_root(walk, atom),)
        cache[atom.number] = found
    return found


def _root(walk: Walk, atom: Atom) -> Piece:
    context = walk.context
    index = names("z", atom.arity)
    if atom.kind is AtomKind.INTEGER:
        return Piece(atom, walk.store.rel("{[n] -> [n]}"))
    low, high = context.root_ranges.get(atom.number, atom.dtype.integer_range)
    guarded = context.atoms.guard(context.atoms.integer(atom.dtype), (atom,))
    inner = ",".join(["t", *index, "t"])
    rel = walk.store.rel(f"{{[{','.join(index)}] -> [{inner}] : {low} <= t <= {high}}}")
    excluded = context.excluded.get(atom.number)
    if excluded is not None:
        allowed = walk.store.set_minus(walk.store.everything(atom.arity + 1), excluded)
        rel = walk.store.restrict_range(rel, walk.store.set_product(walk.store.everything(1), allowed))
    return Piece(guarded, rel)


def _expand_lift(walk: Walk, atom: Atom) -> tuple[Piece, ...] | None:
    """An integer op on expandable operands, as index arithmetic on their guarded values."""
    operation = _operation(walk, atom)
    if operation is None:
        return None
    name, attributes, operands = operation
    if any(not (operand.dtype.is_integer or operand.dtype.is_bool) for operand, _ in operands):
        return None
    combined: list[Guarded] = []
    for number, (operand, read) in enumerate(operands):
        parts = [split_guarded(part) for part in _operand_parts(walk, operand, read)]
        if number == 0:
            combined = parts
            continue
        combined = [made for one in combined for other in parts if (made := join(walk, one, other)) is not None]
        if len(combined) > MAX_GUARD_PIECES:
            return None
    pieces = []
    types = [operand.dtype for operand, _ in operands]
    for guards, count, rel in combined:
        values = walk.store.project_out(rel, count, rel.arity_out - count)
        function = index_function(walk.store, name, attributes, types, atom.dtype, values)
        if function is None:
            return None
        pieces.append(_applied(walk, atom, guards, count, rel, function))
    result = gathered(walk.store, pieces)
    return result if len(result) <= MAX_GUARD_PIECES else None


def _operation(walk: Walk, atom: Atom) -> tuple[str, Mapping[str, Any], list[tuple[Atom, Rel | None]]] | None:
    """An atom as an integer op on other atoms: a lifted op, or a logical sum of single elements."""
    if not (atom.dtype.is_integer or atom.dtype.is_bool):
        return None
    if atom.kind is AtomKind.LIFT:
        operation = walk.operation_of(atom)
        if operation is None:
            return None
        name, attributes, reads = operation
        return name, attributes, list(zip(atom.operands, reads, strict=True))
    definition = walk.context.definition_of(atom)
    if definition is None or definition.monoid not in (Monoid.AND, Monoid.OR) or len(definition.pieces) != 2:
        return None
    first, second = definition.pieces
    store = walk.store
    if not all(store.single_valued(piece.rel) for piece in definition.pieces):
        return None
    if not store.set_equal(store.domain(first.rel), store.domain(second.rel)):
        return None
    return definition.monoid.value, {}, [(first.atom, first.rel), (second.atom, second.rel)]


def _operand_parts(walk: Walk, operand: Atom, read: Rel | None) -> list[Piece]:
    """The operand's expansion over the indices of the atom that reads it."""
    if operand.kind is AtomKind.CONSTANT and isinstance(operand.data, tuple):
        assert read is not None
        number = operand.data[1]
        integer = walk.context.atoms.integer(operand.dtype)
        return [Piece(integer, walk.store.compose(read, walk.store.rel(f"{{[] -> [{number}]}}")))]
    parts = []
    for part in _expand(walk, operand):
        rel = part.rel if read is None else walk.store.compose(read, part.rel)
        if not walk.store.empty(rel):
            parts.append(Piece(part.atom, rel))
    return parts


def _applied(walk: Walk, atom: Atom, guards: tuple[Atom, ...], count: int, rel: Rel, function: Rel) -> Piece:
    """z → (n1..nk, guards) with the integers replaced by f(n1..nk)."""
    extra = rel.arity_out - count
    passing = ",".join(f"g{k}" for k in range(extra))
    keep = walk.store.rel(f"{{[{passing}] -> [{passing}]}}")
    applied = walk.store.compose(rel, walk.store.side_by_side(function, keep))
    return Piece(walk.context.atoms.guard(walk.context.atoms.integer(atom.dtype), guards), applied)


Guarded = tuple[tuple[Atom, ...], int, Rel]
"""Guard atoms, the number of leading value indices, and p → (values, x1, t1, …)."""


def join(walk: Walk, first: Guarded, second: Guarded) -> Guarded | None:
    """Both values on the points and guards where both hold: p → (values a, values b, guards); None where they never do.

    A guard on the same element of the same atom is kept once, with one t; two elements that are not provably the same
    keep a guard each. Shared guards are matched before the product is formed: it would have all pairs of pieces.
    """
    guards_a, count_a, rel_a = first
    guards_b, count_b, rel_b = second
    store = walk.store
    values_a, values_b = names("a", count_a), names("b", count_b)
    slots_a, slots_b = _slots("g", guards_a), _slots("h", guards_b)
    twins = _twins(walk, first, second)
    shared_a = [name for mine, _ in twins for name in slots_a[mine]]
    shared_b = [name for _, other in twins for name in slots_b[other]]
    rest_a = [name for k, slot in enumerate(slots_a) if k not in {m for m, _ in twins} for name in slot]
    rest_b = [name for k, slot in enumerate(slots_b) if k not in {o for _, o in twins} for name in slot]
    flat_a, flat_b = [n for s in slots_a for n in s], [n for s in slots_b for n in s]
    left = _shuffled(walk, rel_a, [*values_a, *flat_a], [*shared_a, *values_a, *rest_a])
    right = _shuffled(walk, rel_b, [*values_b, *flat_b], [*shared_b, *values_b, *rest_b])
    count = len(shared_a)
    both = store.pair(store.into_domain(left, count), store.into_domain(right, count))
    if store.empty(both):
        return None
    whole = store.into_range(both, count)
    source = [*shared_a, *values_a, *rest_a, *values_b, *rest_b]
    kept = [*flat_a, *rest_b]
    rel = _shuffled(walk, whole, source, [*values_a, *values_b, *kept])
    extra = tuple(atom for k, atom in enumerate(guards_b) if k not in {o for _, o in twins})
    return (*guards_a, *extra), count_a + count_b, rel


def _shuffled(walk: Walk, rel: Rel, source: Sequence[str], target: Sequence[str]) -> Rel:
    """The relation with its range in another order."""
    if list(source) == list(target):
        return rel
    return walk.store.compose(rel, walk.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]}}"))


def _twins(walk: Walk, first: Guarded, second: Guarded) -> list[tuple[int, int]]:
    """Pairs of guards of both values that test the same element at every point where both values hold."""
    found: list[tuple[int, int]] = []
    for other, atom in enumerate(second[0]):
        for mine, candidate in enumerate(first[0]):
            if candidate is not atom or any(mine == taken for taken, _ in found):
                continue
            if _same_element(walk, _element(walk, first, mine), _element(walk, second, other)):
                found.append((mine, other))
                break
    return found


def _element(walk: Walk, value: Guarded, number: int) -> Rel:
    """{p -> x} of one guard."""
    guards, count, rel = value
    start = count + sum(guard.arity + 1 for guard in guards[:number])
    arity = guards[number].arity
    rest = rel.arity_out - start - arity
    return walk.store.project_out(walk.store.project_out(rel, start + arity, rest), 0, start)


def _same_element(walk: Walk, first: Rel, second: Rel) -> bool:
    store = walk.store
    common = store.set_meet(store.domain(first), store.domain(second))
    mine, other = store.restrict(first, common), store.restrict(second, common)
    return store.single_valued(mine) and store.equal(mine, other)


def _slots(prefix: str, guards: Sequence[Atom]) -> list[list[str]]:
    """Names of the index positions (x…, t) that each guard takes."""
    return [[f"{prefix}{k}_{j}" for j in range(atom.arity + 1)] for k, atom in enumerate(guards)]


def split_guarded(piece: Piece) -> Guarded:
    """A piece as guards, value arity and relation."""
    if piece.atom.kind is AtomKind.GUARD:
        return piece.atom.operands[1:], piece.atom.operands[0].arity, piece.rel
    return (), piece.atom.arity, piece.rel


def joint_indices(walk: Walk, parts: Sequence[Val], domain: Dom) -> list[Guarded]:
    """All combinations of the pieces of several index values: p → (n1, …, nk, guards)."""
    current: list[Guarded] = []
    for number, part in enumerate(parts):
        options = [split_guarded(piece) for piece in part.pieces]
        if number == 0:
            current = options
            continue
        current = [joined for one in current for other in options if (joined := join(walk, one, other)) is not None]
        walk.limit_pieces(len(current))
    if not parts:
        return [((), 0, walk.empty_tuple(domain))]
    return current


def accessed(walk: Walk, operand: Val, index: Guarded, where: Rel) -> list[Piece]:
    """Pieces of operand[where(p, n)] for guarded integers n: `where` relates (p, n1..nk) to the operand's points."""
    guards, count, rel = index
    store = walk.store
    extra = rel.arity_out - count
    passing = names("g", extra)
    keep = store.rel(f"{{[{','.join(passing)}] -> [{','.join(passing)}]}}")
    with_point = store.pair(store.identity_on(store.domain(rel)), rel)
    target = store.compose(with_point, store.side_by_side(where, keep))
    pieces = []
    for piece in operand.pieces:
        inner_guards, inner_count, inner = split_guarded(piece)
        read = store.compose(target, store.side_by_side(inner, keep))
        if store.empty(read):
            continue
        base = piece.atom.operands[0] if piece.atom.kind is AtomKind.GUARD else piece.atom
        if inner_guards:
            pieces.extend(_merged(walk, base, (inner_guards, inner_count, read), guards, int(piece.coefficient)))
        else:
            pieces.append(Piece(walk.context.atoms.guard(base, guards), read, piece.coefficient))
    return pieces


def _merged(walk: Walk, base: Atom, inner: Guarded, outer: tuple[Atom, ...], coefficient: int) -> list[Piece]:
    """p → (y, inner guards, outer guards) with guards on the same element kept once."""
    inner_guards, count, rel = inner
    whole = (inner_guards + outer, count, rel)
    slots = _slots("g", whole[0])
    kept, constraints = list(range(len(inner_guards))), []
    for number in range(len(inner_guards), len(whole[0])):
        twin = next(
            (
                k
                for k in range(len(inner_guards))
                if whole[0][k] is whole[0][number]
                and _same_element(walk, _element(walk, whole, k), _element(walk, whole, number))
            ),
            None,
        )
        if twin is None:
            kept.append(number)
        else:
            constraints.extend(f"{a} = {b}" for a, b in zip(slots[number], slots[twin], strict=True))
    values = names("y", count)
    source = [*values, *(name for slot in slots for name in slot)]
    target = [*values, *(name for k in kept for name in slots[k])]
    body = f" : {' and '.join(constraints)}" if constraints else ""
    merged = walk.store.compose(rel, walk.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]{body}}}"))
    if walk.store.empty(merged):
        return []
    return [Piece(walk.context.atoms.guard(base, tuple(whole[0][k] for k in kept)), merged, coefficient)]
