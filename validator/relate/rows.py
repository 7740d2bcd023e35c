"""Operations that map whole rows to rows: sorts, transforms, reducers that are no monoid, opaque calls.

Lemma *row congruence*: if out[b, :] = F(row_1(b), …, row_k(b)) and the device's rows at b have, element by element, the
same logical elements as the original's rows at m(b), then the device's result at b is the original's at m(b).
An operation that is not known to treat rows by themselves has one row: everything. Theory: exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from ..ops.engine import RowOperand
from ..ops.order_maps import row_extents, rows_defined
from ..read.ir import TensorType
from ..relation.build import passing
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .lift import canonical_operand
from .names import known_or_named
from .representatives import representatives
from .value import AnyVal, Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class RowTerm:
    """A named row operation: for each operand the relation (batch point, row index) → element."""

    atoms: tuple[Atom, ...]
    contents: tuple[Rel, ...]
    ranks: tuple[int, ...]
    """How many coordinates of each operand's relation, the last ones, are those of a row."""


def relate_rows(
    walk: Walk,
    key: Hashable,
    operands: Sequence[RowOperand],
    batch: Sequence[int],
    types: Sequence[TensorType],
    reads: Sequence[Rel],
) -> list[AnyVal]:
    """One value a result; `reads[r]` relates result r's points to (device, batch index, index in the row's result)."""
    store = walk.store
    arity = len(walk.mesh.sizes) + len(batch)
    domain = rows_defined(walk, operands, batch)
    closed = [walk.close(operand.value, f"operand of '{walk.op_name}'") for operand in operands]
    theories = [value.theory for value in closed]
    extents = tuple(row_extents(store, read, arity) for read in reads)
    pieces: list[tuple[tuple[Atom, ...], Rel]] = []
    for rest, values in _apart(walk, operands, closed, domain, arity):
        atoms, contents = [], []
        for operand, value in zip(operands, values, strict=True):
            (piece,) = (value if len(value.pieces) == 1 else known_or_named(walk, value)).pieces
            read = store.restrict(operand.read, store.set_product(rest, store.everything(operand.row_rank)))
            rel = store.compose(read, piece.rel)
            atom, own = canonical_operand(walk, Piece(piece.atom, rel))
            atoms.append(atom)
            contents.append((rel if own is not None else walk.forget(rel), operand.row_rank))
        full_key = ("rows", key, tuple(atom.number for atom in atoms), tuple(type_.dtype for type_ in types), extents)
        for term in walk.context.rows.get(full_key, ()):
            match = _match(walk, contents, term, rest, arity)
            if match is not None:
                pieces.append((term.atoms, match))
                rest = store.set_minus(rest, store.domain(match))  # noqa: PLW2901
                if store.set_empty(rest):
                    break
        if not store.set_empty(rest):
            pieces.append(_fresh(walk, full_key, atoms, contents, rest, types, reads))
    walk.context.used("row congruence")
    results: list[AnyVal] = []
    for number, (type_, read) in enumerate(zip(types, reads, strict=True)):
        inner = read.arity_out - arity
        parts = []
        for terms, rel in pieces:
            whole = store.side_by_side(rel, passing(store, inner))
            parts.append(Piece(terms[number], store.compose(read, whole)))
        points = store.preimage(store.set_product(domain, store.everything(inner)), read)
        results.append(Val(type_, tuple(parts), points, theory=strongest(theories)))
    return results


def _apart(
    walk: Walk, operands: Sequence[RowOperand], values: Sequence[Val], domain: Dom, arity: int
) -> list[tuple[Dom, list[Val]]]:
    """The batch points whose rows are made of the same single pieces, with these; and those with rows of several.

    A device on which an operand is nothing but padding, say, keeps no other one from having its counterpart.
    """
    store = walk.store
    groups = [(domain, list(values))]
    for number, (operand, value) in enumerate(zip(operands, values, strict=True)):
        if len(value.pieces) == 1:
            continue
        read = [walk.leading(store.domain(store.compose(operand.read, p.rel)), arity) for p in value.pieces]
        alone = [reduce(store.set_minus, read[:k] + read[k + 1 :], own) for k, own in enumerate(read)]
        split = []
        for points, chosen in groups:
            for piece, own in zip(value.pieces, alone, strict=True):
                single = replace(value, pieces=(piece,), domain=store.domain(piece.rel))
                split.append((store.set_meet(points, own), [*chosen[:number], single, *chosen[number + 1 :]]))
            split.append((reduce(store.set_minus, alone, points), chosen))
        groups = [group for group in split if not store.set_empty(group[0])]
    return groups


def _match(walk: Walk, contents: Sequence[tuple[Rel, int]], term: RowTerm, domain: Dom, arity: int) -> Rel | None:
    """A single-valued m of batch points with equal rows everywhere on its domain."""
    store = walk.store
    match: Rel | None = None
    for (rel, row_rank), known in zip(contents, term.contents, strict=True):
        part = _same_start(walk, rel, known, row_rank, arity)
        match = part if match is None else store.meet(match, part)
    if match is None:
        return None
    match = store.restrict(match, domain)
    if store.empty(match):
        return None
    if not store.single_valued(match):
        # rows that start alike, with the same constant for instance
        for (rel, row_rank), known in zip(contents, term.contents, strict=True):
            match = store.containing(match, store.into_range(rel, row_rank), store.into_range(known, row_rank))
    if store.empty(match):
        return None
    if not store.single_valued(match):
        match = store.lexmin(match)
    good = store.domain(match)
    for (rel, row_rank), known in zip(contents, term.contents, strict=True):
        whole = store.side_by_side(match, passing(store, row_rank))
        want = store.compose(whole, known)
        have = store.restrict(rel, store.set_product(store.domain(match), store.everything(row_rank)))
        if not store.equal(have, want):
            differ = store.set_union(store.domain(store.minus(have, want)), store.domain(store.minus(want, have)))
            good = store.set_minus(good, walk.leading(differ, arity))
    return None if store.set_empty(good) else store.restrict(match, good)


def _same_start(walk: Walk, rel: Rel, known: Rel, row_rank: int, arity: int) -> Rel:
    """Pairs of batch points whose rows start with the same element."""
    store = walk.store
    mine, other = rel, known
    other_arity = known.arity_in - row_rank
    for k in range(row_rank):
        mine = store.fix_domain(mine, arity + k, 0)
        other = store.fix_domain(other, other_arity + k, 0)
    left = store.compose(store.reverse(walk.leading_map(rel.arity_in, arity)), mine)
    right = store.compose(store.reverse(walk.leading_map(known.arity_in, other_arity)), other)
    return store.compose(left, store.reverse(right))


def _fresh(
    walk: Walk,
    full_key: Hashable,
    atoms: Sequence[Atom],
    contents: Sequence[tuple[Rel, int]],
    domain: Dom,
    types: Sequence[TensorType],
    reads: Sequence[Rel],
) -> tuple[tuple[Atom, ...], Rel]:
    """New terms on the batch points, those with the same rows along a whole coordinate named by the least."""
    store = walk.store
    choose = representatives(walk, domain, contents)
    kept = store.range(choose)
    made = tuple(
        walk.context.atoms.fresh(
            AtomKind.ROWS, type_.dtype, read.arity_out, tuple(atoms), label=walk.label(), data=full_key
        )
        for type_, read in zip(types, reads, strict=True)
    )
    for atom in made:
        walk.note_fresh(atom)
    stored = tuple(
        store.restrict(rel, store.set_product(kept, store.everything(row_rank))) for rel, row_rank in contents
    )
    walk.context.rows.setdefault(full_key, []).append(RowTerm(made, stored, tuple(rank for _, rank in contents)))
    return made, choose
