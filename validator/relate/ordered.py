"""Reductions whose reducer is no commutative sum: the greatest element with its index, the first of something.

Lemma *ordered reduction*: let a reducer f of tuples be associative and let its start value e commute with everything
and be idempotent, so that a reduction is e·x1·…·xn, where x1 … xn are the elements in lexicographic order of the
reduced indices; this depends on the sequence of those xk that are not e, and on nothing else. An element that is
itself such a reduction (a device's partial result, read again after a gather) stands for its own sequence. So if the
sequence of a device's reduction at b is, element by element and in order, that of the original's at m(b), the two are
equal. Where f is also commutative the order is free; where it is idempotent as well, so is how often an element occurs.
The laws are proved for the region at hand by running every case of it (`choosers`), bit for bit, NaN, 0 and -0
included. A start value that no step inserts would be seen where e is not neutral: like XLA, every reduction is taken to
insert it at least once. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..ops.choosers import Laws, absorbs, laws_of, seems_neutral
from ..ops.record import Theory
from ..ops.sequence_maps import Sequences, collected, restricted_to, row_elements, together
from ..ops.values import piecewise
from ..read.ir import Region, TensorType
from ..relation.build import names
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .sequences import matching
from .value import AnyVal, Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk

MAX_DEPTH = 12
"""Sequences with more index dimensions than this are not followed further."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderedTerm:
    """A named reduction: one atom a result, and what it reduces."""

    atoms: tuple[Atom, ...]
    sequences: Sequences


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The start value, as atoms and where they are INT as numbers."""

    atoms: tuple[Atom, ...]
    integers: tuple[int | None, ...]

    @property
    def key(self) -> Hashable:
        """The types and values: an integer, or the bits of any other number."""
        constants = zip(self.atoms, self.integers, strict=True)
        return tuple((a.dtype.value, a.key[2].hex() if integer is None else integer) for a, integer in constants)


def relate_ordered(
    walk: Walk,
    region: Region,
    key: Hashable,
    operands: Sequence[Val],
    inits: Sequence[Val],
    read: Rel,
    row_rank: int,
    types: Sequence[TensorType],
) -> list[AnyVal] | None:
    """One value a result over its own points (device, batch); None where the lemma says nothing of this reducer.

    `read` relates (device, batch index, row index) to the operands' points.
    """
    start = constant_start(walk, inits)
    laws = laws_of(region)
    if start is None or laws is None or not laws.associative or not absorbs(region, _numbers(start)):
        return None
    full_key = ("ordered", key, start.key)
    values = [walk.close(value, f"operand of '{walk.op_name}'") for value in operands]
    sequences = _sequences(walk, values, full_key, start, read, row_rank)
    walk.context.used("ordered reduction")
    return _named(walk, full_key, values, sequences, types, laws)


def relate_windows(
    walk: Walk,
    region: Region,
    key: Hashable,
    operands: Sequence[Val],
    inits: Sequence[Val],
    inside: Rel,
    window: Sequence[int],
    types: Sequence[TensorType],
) -> list[AnyVal] | None:
    """Reductions of windows by any reducer; `inside` relates (device, result index, place in the window) to points.

    Lemma *equal windows*: a window is its elements and the start value where it lies in padding, as StableHLO defines
    it, and windows of one size with the same elements at the same places give the same. Implementations may leave the
    padding out, so a window with padding needs a neutral start value and is the same up to the sign of zero. None
    where the start value is not one constant, or padding is not neutral for elements that are tried.
    """
    store = walk.store
    start = constant_start(walk, inits)
    if start is None:
        return None
    shape = (*types[0].shape, *window)
    points = walk.builder.points(shape)
    outside = store.restrict(walk.builder.moved(shape, []), store.set_minus(points, store.domain(inside)))
    if not (store.empty(outside) or absorbs(region, _numbers(start)) or seems_neutral(region, _numbers(start))):
        return None
    values = []
    for operand, init in zip(operands, inits, strict=True):
        closed = walk.close(operand, f"operand of '{walk.op_name}'")
        parts = [(inside, closed), (outside, init)]
        made = piecewise(walk, parts, TensorType(shape, operand.type.dtype))
        theory = closed.theory if store.empty(outside) else strongest([closed.theory, Theory.REASSOCIATED])
        values.append(replace(made, theory=theory))
    full_key = ("windows", key, start.key, tuple(window))
    read = walk.builder.identity(shape)
    sequences = _sequences(walk, values, full_key, None, read, len(window))
    walk.context.used("equal windows")
    return _named(walk, full_key, values, sequences, types, laws_of(region), in_place=True)


def _named(
    walk: Walk,
    key: Hashable,
    values: Sequence[Val],
    sequences: Sequences,
    types: Sequence[TensorType],
    laws: Laws | None,
    *,
    in_place: bool = False,
) -> list[AnyVal]:
    """The results by the terms that reduce the same sequences, or by a new term."""
    rest = sequences.domain
    found: list[tuple[tuple[Atom, ...], Rel]] = []
    free = laws is not None and laws.associative and laws.commutative
    often = free and laws is not None and laws.idempotent
    for term in walk.context.rows.get(key, ()):
        match = matching(
            walk, sequences, term.sequences, rest, any_order=free, any_count=often, in_place=in_place and not free
        )
        if match is not None:
            found.append((term.atoms, match))
            rest = walk.store.set_minus(rest, walk.store.domain(match))
            if walk.store.set_empty(rest):
                break
    if not walk.store.set_empty(rest):
        found.append((_fresh(walk, key, values, sequences, rest, types), walk.store.identity_on(rest)))
    theory = strongest([value.theory for value in values])
    results: list[AnyVal] = []
    for number, type_ in enumerate(types):
        pieces = tuple(Piece(atoms[number], rel) for atoms, rel in found)
        results.append(Val(type_, pieces, sequences.domain, theory=theory))
    return results


def constant_start(walk: Walk, inits: Sequence[Val]) -> Start | None:
    """The start value where it is one constant tuple, else None."""
    atoms, integers = [], []
    for init in inits:
        if not init.is_view or len(init.pieces) != 1:
            return None
        (piece,) = init.pieces
        if not walk.store.set_equal(walk.store.domain(piece.rel), walk.points(init.type)):
            return None
        if piece.atom.kind is AtomKind.INTEGER:
            number = walk.store.constant_range(piece.rel)
            if number is None:
                return None
            integers.append(number[0])
        elif piece.atom.kind is AtomKind.CONSTANT and isinstance(piece.atom.data, float):
            integers.append(None)
        else:
            return None
        atoms.append(piece.atom)
    return Start(tuple(atoms), tuple(integers))


def _numbers(start: Start) -> list[float | int]:
    return [
        atom.data if integer is None else integer for atom, integer in zip(start.atoms, start.integers, strict=True)
    ]


def _sequences(
    walk: Walk, values: Sequence[Val], key: Hashable, start: Start | None, read: Rel, row_rank: int
) -> Sequences:
    """What the reduction at each batch point reduces.

    Where a start value is given, it is left out and partial results of the same reducer are taken apart.
    """
    store, arity = walk.store, read.arity_in - row_rank
    given = [([(piece.atom, piece.rel) for piece in value.pieces], value.domain) for value in values]
    elements, domain = row_elements(store, given, read, row_rank, walk.limit_pieces)
    parts: list[tuple[tuple[Atom, ...], Rel, int]] = []
    for atoms, rels, where in elements:
        kept = where if start is None else store.set_minus(where, _is_start(walk, start, atoms, rels, where))
        if store.set_empty(kept):
            continue
        own = tuple(store.restrict(rel, kept) for rel in rels)
        if start is None:
            parts.append((atoms, together(store, own), row_rank))
        else:
            parts.extend(_taken_apart(walk, key, atoms, own, row_rank))
    return collected(store, parts, arity, domain)


def _is_start(walk: Walk, start: Start, atoms: tuple[Atom, ...], rels: tuple[Rel, ...], where: Dom) -> Dom:
    """Those positions at which the element is the start value."""
    store = walk.store
    for atom, rel, own, integer in zip(atoms, rels, start.atoms, start.integers, strict=True):
        if atom is not own:
            return store.set_minus(where, where)
        if integer is not None:
            where = store.set_meet(where, store.domain(store.fix_range(rel, 0, integer)))
    return where


def _taken_apart(
    walk: Walk, key: Hashable, atoms: tuple[Atom, ...], rels: tuple[Rel, ...], depth: int
) -> list[tuple[tuple[Atom, ...], Rel, int]]:
    """One kind of elements as it is, or, if they are reductions of the same kind, the elements of those."""
    store = walk.store
    for term in walk.context.rows.get(key, ()):
        if term.atoms != atoms:
            continue
        inner = term.sequences
        same = all(store.equal(rels[0], rel) for rel in rels[1:])
        known = store.set_subset(store.range(rels[0]), inner.domain)
        if same and known and depth + inner.depth <= MAX_DEPTH:
            position = names("k", inner.depth)
            keep = store.rel(f"{{[{','.join(position)}] -> [{','.join(position)}]}}")
            whole = store.side_by_side(rels[0], keep)
            made = []
            for letters in inner.letters:
                rel = store.compose(whole, letters.rel)
                if not store.empty(rel):
                    made.append((letters.atoms, rel, depth + inner.depth))
            return made
    return [(atoms, together(store, rels), depth)]


def _fresh(
    walk: Walk,
    key: Hashable,
    values: Sequence[Val],
    sequences: Sequences,
    domain: Dom,
    types: Sequence[TensorType],
) -> tuple[Atom, ...]:
    """A new term on these batch points."""
    made = restricted_to(walk.store, sequences, domain)
    operands = tuple(dict.fromkeys(piece.atom for value in values for piece in value.pieces))
    atoms: list[Atom] = []
    for type_ in types:
        atom = walk.context.atoms.fresh(
            AtomKind.ROWS, type_.dtype, sequences.arity, operands, label=walk.label(), data=key
        )
        atoms.append(atom)
        walk.note_fresh(atom)
    walk.context.rows.setdefault(key, []).append(OrderedTerm(tuple(atoms), made))
    return tuple(atoms)
