"""Unknown integers as indices: e[x] = Σ over t of [e[x] = t] · INT[t].

Lemma *guard*: an integer (or boolean) element e[x] has exactly one value t in its type's range, so a value read at an
index that depends on e[x] is the sum over t of what is read at t, guarded by e[x] = t; at most one term is present.
Everything done to the integer (comparison, clamp, selection, wrapping arithmetic) acts on t. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .index import index_function
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
    names = [f"z{k}" for k in range(atom.arity)]
    if atom.kind is AtomKind.INTEGER:
        return Piece(atom, walk.store.rel("{[n] -> [n]}"))
    low, high = context.root_ranges.get(atom.number, atom.dtype.integer_range)
    guarded = context.atoms.guard(context.atoms.integer(atom.dtype), (atom,))
    inner = ",".join(["t", *names, "t"])
    return Piece(guarded, walk.store.rel(f"{{[{','.join(names)}] -> [{inner}] : {low} <= t <= {high}}}"))


def _expand_lift(walk: Walk, atom: Atom) -> tuple[Piece, ...] | None:
    """An integer op on expandable operands, as index arithmetic on their guarded values."""
    if atom.kind is AtomKind.GUARD:
        return None
    if atom.kind is not AtomKind.LIFT or not (atom.dtype.is_integer or atom.dtype.is_bool):
        return None
    if any(not (o.dtype.is_integer or o.dtype.is_bool) for o in atom.operands):
        return None
    operation = walk.operation_of(atom)
    if operation is None:
        return None
    name, attributes, reads = operation
    store = walk.store
    combined: list[tuple[tuple[Atom, ...], int, Rel]] = []
    for operand, read in zip(atom.operands, reads, strict=True):
        parts = []
        for part in _operand_parts(walk, operand, read):
            parts.append((part.atom.operands[1:] if part.atom.kind is AtomKind.GUARD else (), part.rel))
        extended: list[tuple[tuple[Atom, ...], int, Rel]] = []
        if not combined:
            extended = [(guards, 1, rel) for guards, rel in parts]
        for guards, count, rel in combined:
            for more, other in parts:
                joined = join(walk, (guards, count, rel), (more, 1, other))
                if joined is not None:
                    extended.append(joined)
        combined = extended
        if len(combined) > MAX_GUARD_PIECES:
            return None
    pieces = []
    types = [operand.dtype for operand in atom.operands]
    for guards, count, rel in combined:
        values = store.project_out(rel, count, rel.arity_out - count)
        function = index_function(store, name, attributes, types, atom.dtype, values)
        if function is None:
            return None
        pieces.append(_applied(walk, atom, guards, count, rel, function))
    result = gathered(store, pieces)
    return result if len(result) <= MAX_GUARD_PIECES else None


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


def _applied(
    walk: Walk, atom: Atom, guards: tuple[Atom, ...], count: int, rel: Rel, function: Rel
) -> Piece:
    """z → (n1..nk, guards) with the integers replaced by f(n1..nk)."""
    extra = rel.arity_out - count
    passing = ",".join(f"g{k}" for k in range(extra))
    keep = walk.store.rel(f"{{[{passing}] -> [{passing}]}}")
    applied = walk.store.compose(rel, walk.store.side_by_side(function, keep))
    return Piece(walk.context.atoms.guard(walk.context.atoms.integer(atom.dtype), guards), applied)


Guarded = tuple[tuple[Atom, ...], int, Rel]
"""Guard atoms, the number of leading value indices, and p → (values, x1, t1, …)."""


def join(walk: Walk, first: Guarded, second: Guarded) -> Guarded | None:
    """Both values on the points and guards where both hold; None where they never do.

    A guard on the same element of the same atom is kept once, with one t; two elements that are not provably the same
    keep a guard each.
    """
    guards_a, count_a, rel_a = first
    guards_b, count_b, rel_b = second
    both = walk.store.pair(rel_a, rel_b)
    if walk.store.empty(both):
        return None
    values_a = [f"a{k}" for k in range(count_a)]
    values_b = [f"b{k}" for k in range(count_b)]
    slots_a = _slots("g", guards_a)
    slots_b = _slots("h", guards_b)
    kept: list[list[str]] = list(slots_a)
    kept_atoms: list[Atom] = list(guards_a)
    constraints: list[str] = []
    source = [*values_a, *(n for s in slots_a for n in s), *values_b, *(n for s in slots_b for n in s)]
    for atom, slot in zip(guards_b, slots_b, strict=True):
        twin = _same_element(walk, both, source, atom, slot, guards_a, slots_a)
        if twin is None:
            kept.append(slot)
            kept_atoms.append(atom)
        else:
            constraints.extend(f"{mine} = {other}" for mine, other in zip(slot, twin, strict=True))
    target = [*values_a, *values_b, *(name for slot in kept for name in slot)]
    body = f" : {' and '.join(constraints)}" if constraints else ""
    shuffle = walk.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]{body}}}")
    rel = walk.store.compose(both, shuffle)
    if walk.store.empty(rel):
        return None
    return tuple(kept_atoms), count_a + count_b, rel


def _slots(prefix: str, guards: Sequence[Atom]) -> list[list[str]]:
    """Names of the index positions (x…, t) that each guard takes."""
    return [[f"{prefix}{k}_{j}" for j in range(atom.arity + 1)] for k, atom in enumerate(guards)]


def _same_element(
    walk: Walk,
    both: Rel,
    source: Sequence[str],
    atom: Atom,
    slot: Sequence[str],
    guards: Sequence[Atom],
    slots: Sequence[Sequence[str]],
) -> Sequence[str] | None:
    """The slot of a guard that tests the very same element at every point, or None."""
    for other, candidate in zip(guards, slots, strict=True):
        if other is not atom:
            continue
        same = [f"{a} = {b}" for a, b in zip(slot[:-1], candidate[:-1], strict=True)]
        if not same:
            return candidate
        where = walk.store.dom(f"{{[{','.join(source)}] : {' and '.join(same)}}}")
        if walk.store.equal(walk.store.restrict_range(both, where), both):
            return candidate
    return None


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
        current = [
            joined for one in current for other in options if (joined := join(walk, one, other)) is not None
        ]
        walk.limit_pieces(len(current))
    if not parts:
        return [((), 0, walk.empty_tuple(domain))]
    return current


def accessed(walk: Walk, operand: Val, index: Guarded, where: Rel) -> list[Piece]:
    """Pieces of operand[where(p, n)] for guarded integers n: `where` relates (p, n1..nk) to the operand's points."""
    guards, count, rel = index
    store = walk.store
    extra = rel.arity_out - count
    passing = ",".join(f"g{k}" for k in range(extra))
    keep = store.rel(f"{{[{passing}] -> [{passing}]}}")
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
            pieces.extend(_merge_guards(walk, base, inner_guards, guards, inner_count, read, piece.coefficient))
        else:
            pieces.append(Piece(walk.context.atoms.guard(base, guards), read, piece.coefficient))
    return pieces


def _merge_guards(
    walk: Walk,
    base: Atom,
    inner: tuple[Atom, ...],
    outer: tuple[Atom, ...],
    count: int,
    rel: Rel,
    coefficient: int,
) -> list[Piece]:
    """p → (y, inner guards, outer guards) with guards on the same element kept once."""
    values = [f"y{k}" for k in range(count)]
    slots_in, slots_out = _slots("g", inner), _slots("h", outer)
    source = [*values, *(n for s in slots_in for n in s), *(n for s in slots_out for n in s)]
    kept, kept_atoms, constraints = list(slots_in), list(inner), []
    for atom, slot in zip(outer, slots_out, strict=True):
        twin = _same_element(walk, rel, source, atom, slot, inner, slots_in)
        if twin is None:
            kept.append(slot)
            kept_atoms.append(atom)
        else:
            constraints.extend(f"{a} = {b}" for a, b in zip(slot, twin, strict=True))
    target = [*values, *(n for s in kept for n in s)]
    body = f" : {' and '.join(constraints)}" if constraints else ""
    shuffled = walk.store.compose(rel, walk.store.rel(f"{{[{','.join(source)}] -> [{','.join(target)}]{body}}}"))
    if walk.store.empty(shuffled):
        return []
    return [Piece(walk.context.atoms.guard(base, tuple(kept_atoms)), shuffled, coefficient)]
