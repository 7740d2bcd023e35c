"""How scatters relate: a monoid adds all updates that land, anything else takes them in order.

Windows that leave the operand land nowhere. Unknown indices are guards on their values.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING

from ..read.attributes import ScatterDims
from ..read.ir import Op, TensorType
from ..relate.guards import Guarded
from ..relate.moves import as_sum, gathered, read_through
from ..relate.rows import RowOperand, relate_rows
from ..relate.updates import relate_updates
from ..relate.value import AnyVal, Piece, Val, strongest
from ..relation.build import names
from ..relation.store import Dom, Rel
from .annotations import ANNOTATIONS
from .indexing_relation import index_joints
from .keys import region_key
from .monoid import Monoid, monoid_of_region
from .scatter_maps import index_reads, landing, scatter_limits

if TYPE_CHECKING:
    from ..relate.walk import Walk


def relate_scatter(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    dims = op.attributes["scatter_dimension_numbers"]
    assert isinstance(dims, ScatterDims)
    count = len(values) // 2
    operands, starts, updates = values[:count], values[count], values[count + 1 :]
    region = op.regions[0]
    if not _promises_kept(walk, op, dims, starts):
        reason = "promises of its indices that the original does not make"
        return [walk.unrelated(r.tensor, reason) for r in op.results]
    if list(region.results) == list(region.arguments[count:]):
        return [
            _updated(walk, op, dims, k, operand, starts, update, None)
            for k, (operand, update) in enumerate(zip(operands, updates, strict=True))
        ]
    monoid = monoid_of_region(region)
    if count == 1 and monoid is not None:
        return [_summed(walk, op, dims, monoid, operands[0], starts, updates[0])]
    key = region_key(region, ANNOTATIONS)
    if key is None:
        return [walk.not_modelled(r.type, f"update of '{op.name}' that reads outer values") for r in op.results]
    if count == 1:
        return [_updated(walk, op, dims, 0, operands[0], starts, updates[0], key)]
    return _rows(walk, op, dims, key, operands, starts, updates)


_PROMISES = ("indices_are_sorted", "unique_indices")


def _promises_kept(walk: Walk, op: Op, dims: ScatterDims, starts: Val) -> bool:
    """Whether what a scatter promises of its indices may be believed: a broken promise makes its result undefined.

    The original's promises are the user's. The partitioned program may repeat what every scatter of the original with
    this update computation promises; of a single index vector anything holds.
    """
    made = frozenset(name for name in _PROMISES if op.attributes.get(name))
    known = walk.context.rows.setdefault(("promises", region_key(op.regions[0], ANNOTATIONS)), [])
    if walk.is_original:
        known.append(made)
        return True
    vectors = [n for k, n in enumerate(starts.type.shape) if k != dims.index_vector_dim]
    if not made or math.prod(vectors) <= 1:
        return True
    return bool(known) and all(made <= theirs for theirs in known)


def _summed(walk: Walk, op: Op, dims: ScatterDims, monoid: Monoid, operand: Val, starts: Val, updates: Val) -> Val:
    """An update that is a monoid: the operand and all updates that land in bounds, as one sum."""
    type_ = op.results[0].tensor
    store = walk.store
    for value in (operand, updates):
        if value.monoid not in (None, monoid):
            return walk.unrelated(type_, "a partial result of another reducer is scattered")
    lands = landing(walk.builder, dims, operand.type, updates.type)
    pieces: list[Piece] = []
    source = as_sum(walk, updates, monoid)
    indices = _update_indices(walk, dims, starts, updates)
    if not store.set_equal(updates.domain, walk.points(updates.type)):
        return walk.unrelated(type_, "updates are undefined in part")
    unknown = _undefined_indices(walk, indices, updates)
    if any(not store.set_empty(store.set_meet(unknown, store.domain(piece.rel))) for piece in source.pieces):
        return walk.unrelated(type_, "an update lands at an undefined index")
    for joint in index_joints(
        walk, indices, scatter_limits(dims, operand.type, updates.type), walk.points(updates.type)
    ):
        made = _landed(walk, source, joint, lands)
        if made is None:
            return walk.unrelated(type_, "a scatter counts one update several times")
        pieces.extend(made)
    base = as_sum(walk, operand, monoid)
    levels = 1 + max(base.levels, updates.levels)
    theory = strongest([operand.theory, starts.theory, updates.theory])
    walk.context.used("guard")
    merged = gathered(store, [*base.pieces, *pieces], monoid.idempotent)
    return walk.settle(Val(type_, merged, operand.domain, monoid, levels, theory))


def _updated(
    walk: Walk,
    op: Op,
    dims: ScatterDims,
    number: int,
    operand: Val,
    starts: Val,
    update: Val,
    computation: Hashable | None,
) -> Val:
    """Updates one after the other: each element is a function of itself and the updates that land on it."""
    base = walk.close(operand, f"operand of '{op.name}'")
    source = walk.close(update, f"updates of '{op.name}'")
    indices = _update_indices(walk, dims, starts, source)
    if not walk.store.set_empty(_undefined_indices(walk, indices, source)):
        return walk.unrelated(op.results[number].tensor, "an update lands at an undefined index")
    limits = scatter_limits(dims, base.type, source.type)
    joints = index_joints(walk, indices, limits, walk.points(source.type))
    lands = landing(walk.builder, dims, base.type, source.type)
    unique, sorted_ = bool(op.attributes.get("unique_indices")), bool(op.attributes.get("indices_are_sorted"))
    return relate_updates(walk, base, source, joints, lands, starts.theory, unique, sorted_, computation)


def _rows(
    walk: Walk,
    op: Op,
    dims: ScatterDims,
    key: Hashable,
    operands: list[Val],
    starts: Val,
    updates: list[Val],
) -> list[AnyVal]:
    """Several operands changed together: a function of them, of each slice along whole dimensions by itself."""
    rank = operands[0].type.rank
    shape, update_shape = operands[0].type.shape, updates[0].type.shape
    kept = [k for k in range(rank) if k not in dims.inserted_window_dims + dims.input_batching_dims]
    whole = {
        k: dims.update_window_dims[position]
        for position, k in enumerate(kept)
        if k not in dims.scatter_dims_to_operand_dims and update_shape[dims.update_window_dims[position]] == shape[k]
    }
    batch = [shape[k] for k in whole]

    def split(extents: tuple[int, ...], own: list[int]) -> tuple[Rel, int]:
        """{(d, batch, row) -> (d, index)} with the batch coordinates put at the dimensions `own`."""
        rest = [k for k in range(len(extents)) if k not in own]
        outputs = [""] * len(extents)
        for position, k in enumerate([*own, *rest]):
            outputs[k] = f"i{position if own else len(batch) + position}"
        return walk.builder.moved([*batch, *(extents[k] for k in rest)], outputs), len(rest)

    read, row = split(shape, list(whole))
    read_updates, row_updates = split(update_shape, list(whole.values()))
    read_starts, row_starts = split(starts.type.shape, [])
    rows = [
        *(RowOperand(value, read, row) for value in operands),
        RowOperand(starts, read_starts, row_starts),
        *(RowOperand(value, read_updates, row_updates) for value in updates),
    ]
    rest = [k for k in range(rank) if k not in whole]
    back = walk.builder.moved(shape, [f"i{k}" for k in [*whole, *rest]])
    unique = bool(op.attributes.get("unique_indices", False))
    update_row = tuple(n for k, n in enumerate(update_shape) if k not in whole.values())
    lengths = tuple(shape[k] for k in rest), starts.type.shape, update_row
    full_key = (op.name, key, dims, unique, tuple(whole.items()), lengths)
    return relate_rows(walk, full_key, rows, batch, [r.tensor for r in op.results], [back] * len(op.results))


def _undefined_indices(walk: Walk, indices: list[Val], updates: Val) -> Dom:
    """Update elements of which it is not known where they land, nor that they land nowhere."""
    store = walk.store
    points = walk.points(updates.type)
    missing = store.set_minus(points, points)
    for index in indices:
        missing = store.set_union(missing, store.set_minus(points, index.domain))
    return missing


def _update_indices(walk: Walk, dims: ScatterDims, starts: Val, updates: Val) -> list[Val]:
    """For each component of the index vector, its value at every update element."""
    type_ = TensorType(updates.type.shape, starts.type.dtype)
    return [
        read_through(walk, starts, rel, type_) for rel in index_reads(walk.builder, dims, starts.type, updates.type)
    ]


def _landed(walk: Walk, updates: Val, joint: Guarded, lands: Rel) -> list[Piece] | None:
    """Pieces o → (update element, guards) of the updates that land on o; None where one would be counted twice."""
    store = walk.store
    guards, count, rel = joint
    extra = rel.arity_out - count
    passing = names("g", extra)
    with_point = store.pair(store.identity_on(store.domain(rel)), rel)
    arity = rel.arity_in
    keep = store.rel(f"{{[{','.join(passing)}] -> [{','.join(passing)}]}}")
    # u → (o, g), then (u, g) ↔ o through the set of all (u, o, g)
    placed = store.compose(with_point, store.side_by_side(lands, keep))
    both = store.pair(store.identity_on(store.domain(placed)), placed)
    u, o = names("u", arity), names("o", placed.arity_out - extra)
    whole = [*u, *o, *passing]
    to_point = store.rel(f"{{[{','.join(whole)}] -> [{','.join(o)}]}}")
    to_update = store.rel(f"{{[{','.join(whole)}] -> [{','.join([*u, *passing])}]}}")
    every = store.range(both)
    points = store.restrict(to_point, every)
    sources = store.restrict(to_update, every)
    spread = store.compose(store.reverse(points), sources)
    pieces = []
    for piece in updates.pieces:
        if piece.atom.operands and guards and piece.atom.kind.value == "guard":
            return None
        inner = store.side_by_side(piece.rel, keep)
        if updates.monoid is not None and not updates.monoid.idempotent and not walk.counts_once(spread, inner):
            return None
        read = store.compose(spread, inner)
        if not store.empty(read):
            pieces.append(Piece(walk.context.atoms.guard(piece.atom, guards), read, piece.coefficient))
    return pieces


RELATIONS = {
    "stablehlo.scatter": relate_scatter,
}
