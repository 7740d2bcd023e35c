"""Unknown integers as indices: e[x] = Σ over t of [e[x] = t] · INT[t].

Lemma *guard*: an integer (or boolean) element e[x] has exactly one value t in its type's range, so a value read at an
index that depends on e[x] is the sum over t of what is read at t, guarded by e[x] = t; at most one term is present.
Everything done to the integer (comparison, clamp, selection, wrapping arithmetic) acts on t. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..relation.build import constant, names, passing
from ..relation.objects import Dom, Rel
from .choices import range_of
from .engine import Engine
from .integers import index_function
from .values import Piece
from .wrapped import before_wrapping

MAX_GUARD_PIECES = 24
"""An integer expression with more cases than this is taken as one unknown."""


class Guarded(NamedTuple):
    """p → (value indices, x1, t1, …): the first `width` coordinates are values, the others those of the guards."""

    guards: tuple[Any, ...]
    width: int
    rel: Rel


def split_guarded(engine: Engine, piece: Any) -> Guarded:
    """A piece as guards, value arity and relation."""
    base, guards = engine.unguarded(piece.atom)
    return Guarded(guards, base.arity, piece.rel)


# what an integer is ---------------------------------------------------------------------------------------------------


def index_form(engine: Engine, value: Any) -> Any:
    """An integer or boolean view with every piece INT under guards: p → (n, x1, t1, …)."""
    value = engine.close(value, "index of a data-dependent access")
    pieces = _read(engine, [(part, piece.rel) for piece in value.pieces for part in expanded(engine, piece.atom)])
    if not _everywhere(engine, pieces, value.domain):
        # a sum without elements is neutral there, which no operation on its elements tells
        pieces = _read(engine, [(_root(engine, piece.atom), piece.rel) for piece in value.pieces])
    return engine.value(value.type, engine.gathered(pieces), value.domain, theory=value.theory)


def _everywhere(engine: Engine, pieces: Sequence[Any], domain: Dom) -> bool:
    store, covered = engine.store, engine.store.set_minus(domain, domain)
    for piece in pieces:
        covered = store.set_union(covered, store.domain(piece.rel))
    return store.set_subset(domain, covered)


def _read(engine: Engine, parts: Sequence[tuple[Any, Rel | None]]) -> list[Any]:
    """Pieces read through a relation each."""
    store = engine.store
    read = [(part, part.rel if rel is None else store.compose(rel, part.rel)) for part, rel in parts]
    return [Piece(part.atom, rel) for part, rel in read if not store.empty(rel)]


def expanded(engine: Engine, atom: Any) -> tuple[Any, ...]:
    """The atom as guarded integers over its own indices."""
    found = engine.expansions.get(atom)
    if found is None:
        found = engine.expansions[atom] = _expand_operation(engine, atom) or (_root(engine, atom),)
    return found


def _root(engine: Engine, atom: Any) -> Any:
    store, index = engine.store, names("z", atom.arity)
    if engine.is_integer(atom):
        return Piece(atom, passing(store, 1))
    low, high = range_of(engine, atom)
    inner = ",".join(["t", *index, "t"])
    rel = store.rel(f"{{[{','.join(index)}] -> [{inner}] : {low} <= t <= {high}}}")
    ruled_out = (engine.excluded or {}).get(atom)
    if ruled_out is not None:
        left = store.set_minus(store.everything(atom.arity + 1), ruled_out)
        rel = store.restrict_range(rel, store.set_product(store.everything(1), left))
    return Piece(engine.guard(engine.integer(atom.dtype), (atom,)), rel)


def _expand_operation(engine: Engine, atom: Any) -> tuple[Any, ...] | None:
    """An integer op on expandable operands, as index arithmetic on their guarded values."""
    operation = engine.integer_operation(atom) if atom.dtype.is_integer or atom.dtype.is_bool else None
    if operation is None:
        return None
    name, attributes, operands = operation
    types, store = [operand.dtype for operand, _ in operands], engine.store
    if any(not (dtype.is_integer or dtype.is_bool) for dtype in types):
        return None
    combined: list[Guarded] = []
    for number, (operand, read) in enumerate(operands):
        parts = [split_guarded(engine, part) for part in _operand_parts(engine, operand, read)]
        if number == 0:
            combined = parts
            continue
        combined = [made for one in combined for other in parts if (made := join(engine, one, other)) is not None]
        if len(combined) > MAX_GUARD_PIECES:
            return None
    pieces = []
    for guards, count, rel in combined:
        values = store.project_out(rel, count, rel.arity_out - count)
        function = index_function(store, name, attributes, types, atom.dtype, values)
        if function is None:
            return None
        # z → (n1..nk, guards) with the integers replaced by f(n1..nk)
        applied = store.compose(rel, store.side_by_side(function, passing(store, rel.arity_out - count)))
        pieces.append(Piece(engine.guard(engine.integer(atom.dtype), guards), applied))
    result = engine.gathered(pieces)
    return result if len(result) <= MAX_GUARD_PIECES else None


def _operand_parts(engine: Engine, operand: Any, read: Rel | None) -> list[Any]:
    """The operand's expansion over the indices of the atom that reads it."""
    number = engine.number_of(operand)
    if isinstance(number, int):
        assert read is not None
        rel = engine.store.compose(read, engine.store.rel(f"{{[] -> [{number}]}}"))
        return [Piece(engine.integer(operand.dtype), rel)]
    return _read(engine, [(part, read) for part in expanded(engine, operand)])


# putting guards together ----------------------------------------------------------------------------------------------


def join(engine: Engine, first: Guarded, second: Guarded) -> Guarded | None:
    """p → (values of both, guards of both) where all guards hold; None where they never do.

    A guard on the same element of the same atom is kept once, with one t; two elements that are not provably the same
    keep a guard each. Shared guards are matched before the product is formed: it would have all pairs of pieces.
    """
    store = engine.store
    values_a, values_b = names("a", first.width), names("b", second.width)
    slots_a, slots_b = _slots("g", first.guards), _slots("h", second.guards)
    twins = _twins(engine, first, second)
    shared_a = [name for mine, _ in twins for name in slots_a[mine]]
    shared_b = [name for _, other in twins for name in slots_b[other]]
    rest_a = [name for k, slot in enumerate(slots_a) if k not in {m for m, _ in twins} for name in slot]
    rest_b = [name for k, slot in enumerate(slots_b) if k not in {o for _, o in twins} for name in slot]
    flat_a, flat_b = [n for s in slots_a for n in s], [n for s in slots_b for n in s]
    left = _shuffled(engine, first.rel, [*values_a, *flat_a], [*shared_a, *values_a, *rest_a])
    right = _shuffled(engine, second.rel, [*values_b, *flat_b], [*shared_b, *values_b, *rest_b])
    count = len(shared_a)
    both = store.pair(store.into_domain(left, count), store.into_domain(right, count))
    if store.empty(both):
        return None
    whole = store.into_range(both, count)
    source = [*shared_a, *values_a, *rest_a, *values_b, *rest_b]
    rel = _shuffled(engine, whole, source, [*values_a, *values_b, *flat_a, *rest_b])
    extra = tuple(atom for k, atom in enumerate(second.guards) if k not in {o for _, o in twins})
    return Guarded((*first.guards, *extra), first.width + second.width, rel)


def _shuffled(engine: Engine, rel: Rel, source: Sequence[str], target: Sequence[str]) -> Rel:
    """The relation with its range in another order."""
    if list(source) == list(target):
        return rel
    return engine.store.compose(rel, engine.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]}}"))


def _twins(engine: Engine, first: Guarded, second: Guarded) -> list[tuple[int, int]]:
    """Pairs of guards of both values that test the same element at every point where both values hold."""
    found: list[tuple[int, int]] = []
    for other, atom in enumerate(second.guards):
        for mine, candidate in enumerate(first.guards):
            if candidate is not atom or any(mine == taken for taken, _ in found):
                continue
            if _same_element(engine, _element(engine, first, mine), _element(engine, second, other)):
                found.append((mine, other))
                break
    return found


def _element(engine: Engine, value: Guarded, number: int) -> Rel:
    """{p -> x} of one guard."""
    guards, count, rel = value
    start = count + sum(guard.arity + 1 for guard in guards[:number])
    arity = guards[number].arity
    rest = rel.arity_out - start - arity
    return engine.store.project_out(engine.store.project_out(rel, start + arity, rest), 0, start)


def _same_element(engine: Engine, first: Rel, second: Rel) -> bool:
    store = engine.store
    common = store.set_meet(store.domain(first), store.domain(second))
    mine, other = store.restrict(first, common), store.restrict(second, common)
    return store.single_valued(mine) and store.equal(mine, other)


def _slots(prefix: str, guards: Sequence[Any]) -> list[list[str]]:
    """Names of the index positions (x…, t) that each guard takes."""
    return [[f"{prefix}{k}_{j}" for j in range(atom.arity + 1)] for k, atom in enumerate(guards)]


# what is read at such an index ----------------------------------------------------------------------------------------


def index_joints(engine: Engine, indices: Sequence[Any], limits: Sequence[int], points: Dom) -> list[Guarded]:
    """All combinations of the pieces of index values, p → (n1, …, nk, guards); each is read within its limit."""
    forms = [index_form(engine, value) for value in indices]
    if _assume_all_within(engine, indices, forms, limits):
        engine.used("indices in bounds")
        forms = [index_form(engine, value) for value in indices]
    return joint_indices(engine, forms, points)


def _assume_all_within(engine: Engine, indices: Sequence[Any], forms: Sequence[Any], limits: Sequence[int]) -> bool:
    """Assume that indices of the original are within their limits, also before they are wrapped around.

    Assumption *indices-in-bounds*, which says nothing of an index in a block that is not run. True if it says something
    new of an unknown integer.
    """
    excluded = engine.excluded
    if excluded is None or not engine.is_original or engine.blocks:
        return False
    wrapped = [(before_wrapping(engine, value), limit) for value, limit in zip(indices, limits, strict=True)]
    unwrapped = [(index_form(engine, value), limit) for value, limit in wrapped if value is not None]
    every = [*zip(forms, limits, strict=True), *unwrapped]
    changed = [_assume_within(engine, excluded, form, max(limit, 0)) for form, limit in every]
    return any(changed)


def _assume_within(engine: Engine, excluded: dict[Any, Dom], index: Any, high: int) -> bool:
    """Exclude values of an unknown integer that put an index outside 0 to `high`; True if some were not excluded."""
    store, changed = engine.store, False
    for piece in index.pieces:
        guards, count, rel = split_guarded(engine, piece)
        if len(guards) != 1 or count != 1:
            continue
        outside = store.dom(f"{{[n] : n < 0 or n > {high}}}")
        out = store.restrict_range(rel, store.set_product(outside, store.everything(rel.arity_out - 1)))
        element = store.project_out(out, 0, 1)
        if store.empty(element):
            continue
        known, found = excluded.get(guards[0]), store.range(element)
        merged = found if known is None else store.set_union(known, found)
        if known is None or not store.set_equal(known, merged):
            excluded[guards[0]] = merged
            engine.expansions.clear()
            changed = True
    return changed


def allowed(engine: Engine, value: Any) -> Any:
    """The value under the assumptions on unknown indices: what is read at excluded values of one is left out."""
    excluded, store = engine.excluded, engine.store
    if not excluded:
        return value
    pieces = []
    for piece in value.pieces:
        guards, position, rel = split_guarded(engine, piece)
        for guard in guards:
            width = guard.arity + 1
            if guard in excluded:
                before, after = store.everything(position), store.everything(rel.arity_out - position - width)
                out = store.set_product(store.set_product(before, excluded[guard]), after)
                rel = store.minus(rel, store.restrict_range(rel, out))
            position += width
        if not store.empty(rel):
            pieces.append(Piece(piece.atom, rel, piece.coefficient))
    return engine.value(value.type, tuple(pieces), value.domain, value.monoid, value.levels, value.theory)


def joint_indices(engine: Engine, parts: Sequence[Any], domain: Dom) -> list[Guarded]:
    if not parts:
        return [Guarded((), 0, constant(engine.store, domain))]
    current: list[Guarded] = []
    for number, part in enumerate(parts):
        options = [split_guarded(engine, piece) for piece in part.pieces]
        if number == 0:
            current = options
            continue
        current = [joined for one in current for other in options if (joined := join(engine, one, other)) is not None]
        engine.limit_pieces(len(current))
    return current


def accessed(engine: Engine, operand: Any, index: Guarded, where: Rel) -> list[Any]:
    """Pieces of operand[where(p, n)] for guarded integers n: `where` relates (p, n1..nk) to the operand's points."""
    guards, count, rel = index
    store = engine.store
    keep = passing(store, rel.arity_out - count)
    with_point = store.pair(store.identity_on(store.domain(rel)), rel)
    target = store.compose(with_point, store.side_by_side(where, keep))
    pieces = []
    for piece in operand.pieces:
        read = store.compose(target, store.side_by_side(piece.rel, keep))
        if store.empty(read):
            continue
        base, inner = engine.unguarded(piece.atom)
        if inner:
            whole = Guarded((*inner, *guards), base.arity, read)
            pieces.extend(_merged(engine, base, whole, len(inner), piece.coefficient))
        else:
            pieces.append(Piece(engine.guard(base, guards), read, piece.coefficient))
    return pieces


def _merged(engine: Engine, base: Any, whole: Guarded, inner: int, coefficient: int) -> list[Any]:
    """Guards on the same element, one of the first `inner` and another one, as one guard."""
    slots, kept, ties = _slots("g", whole.guards), list(range(inner)), []
    for number in range(inner, len(whole.guards)):
        twin = next(
            (
                k
                for k in range(inner)
                if whole.guards[k] is whole.guards[number]
                and _same_element(engine, _element(engine, whole, k), _element(engine, whole, number))
            ),
            None,
        )
        if twin is None:
            kept.append(number)
        else:
            ties.extend(f"{a} = {b}" for a, b in zip(slots[number], slots[twin], strict=True))
    values = names("y", whole.width)
    source = [*values, *(name for slot in slots for name in slot)]
    target = [*values, *(name for k in kept for name in slots[k])]
    body = f" : {' and '.join(ties)}" if ties else ""
    order = engine.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]{body}}}")
    merged = engine.store.compose(whole.rel, order)
    if engine.store.empty(merged):
        return []
    return [Piece(engine.guard(base, tuple(whole.guards[k] for k in kept)), merged, coefficient)]


def chosen(engine: Engine, piece: Any, test: Guarded) -> list[Any]:
    """The piece where a tested guard holds as well; the value of the test is dropped."""
    joined = join(engine, split_guarded(engine, piece), test)
    if joined is None:
        return []
    rel = engine.store.project_out(joined.rel, joined.width - test.width, test.width)
    base = engine.unguarded(piece.atom)[0]
    return [Piece(engine.guard(base, joined.guards), rel, piece.coefficient)]
