"""How scatters relate: a monoid adds all updates that land, anything else takes them in order.

Windows that leave the operand land nowhere. Unknown indices are guards on their values.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from ..read.attributes import ScatterDims
from ..read.ir import Op, TensorType
from ..relation.objects import Dom, Rel
from .annotations import ANNOTATIONS
from .engine import Engine, RowOperand
from .guarded import Guarded, chosen, index_form, index_joints, join, split_guarded
from .keys import region_key
from .monoid import Monoid, monoid_of_region
from .promises_relation import SORTED, promises_kept
from .record import strongest
from .scatter_maps import index_reads, landing, scatter_limits, spread
from .sequence_relation import updated_in_order
from .values import Piece


def relate_scatter(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    dims = op.attributes["scatter_dimension_numbers"]
    assert isinstance(dims, ScatterDims)
    count = len(values) // 2
    operands, starts, updates = values[:count], values[count], values[count + 1 :]
    region = op.regions[0]
    key = region_key(region, ANNOTATIONS)
    if not promises_kept(engine, op, key, (SORTED, "unique_indices"), starts):
        reason = "promises of its indices that the original does not make"
        return [engine.unrelated(r.tensor, reason) for r in op.results]
    if list(region.results) == list(region.arguments[count:]):
        return [
            _updated(engine, op, dims, k, operand, starts, update, None)
            for k, (operand, update) in enumerate(zip(operands, updates, strict=True))
        ]
    monoid = monoid_of_region(region)
    if count == 1 and monoid is not None:
        return [_summed(engine, op, dims, monoid, operands[0], starts, updates[0])]
    if key is None:
        return engine.refuse(op, f"update of '{op.name}' that reads outer values")
    if count == 1:
        return [_updated(engine, op, dims, 0, operands[0], starts, updates[0], key)]
    return _rows(engine, op, dims, key, operands, starts, updates)


MAX_MASKS = 4
"""Masks of one update, one around the other, that are taken for guards."""


def _summed(engine: Engine, op: Op, dims: ScatterDims, monoid: Monoid, operand: Any, starts: Any, updates: Any) -> Any:
    """An update that is a monoid: the operand and all updates that land in bounds, as one sum."""
    type_ = op.results[0].tensor
    store = engine.store
    for value in (operand, updates):
        if value.monoid not in (None, monoid):
            return engine.unrelated(type_, "a partial result of another reducer is scattered")
    lands = landing(engine.builder, dims, operand.type, updates.type)
    pieces: list[Any] = []
    source = _without_masks(engine, engine.as_sum(updates, monoid))
    indices = _update_indices(engine, dims, starts, updates)
    if not store.set_equal(updates.domain, engine.points(updates.type)):
        return engine.unrelated(type_, "updates are undefined in part")
    unknown = _undefined_indices(engine, indices, updates)
    if any(not store.set_empty(store.set_meet(unknown, store.domain(piece.rel))) for piece in source.pieces):
        return engine.unrelated(type_, "an update lands at an undefined index")
    for joint in index_joints(
        engine, indices, scatter_limits(dims, operand.type, updates.type), engine.points(updates.type)
    ):
        made = _landed(engine, source, joint, lands)
        if made is None:
            return engine.unrelated(type_, "a scatter counts one update several times")
        pieces.extend(made)
    base = engine.as_sum(operand, monoid)
    # a zero that a mask leaves is added all the same, which -0.0 shows
    levels = 1 + max(base.levels, source.levels, int(updates.monoid is not None))
    theory = strongest([operand.theory, starts.theory, updates.theory])
    engine.used("guard")
    merged = engine.merged([*base.pieces, *pieces], monoid, type_.dtype)
    if merged is None:
        closed = [engine.close(value, "updates take away what they are added to") for value in (operand, updates)]
        return _summed(engine, op, dims, monoid, closed[0], starts, closed[1])
    return engine.settle(engine.value(type_, merged, operand.domain, monoid, levels, theory))


def _without_masks(engine: Engine, updates: Any) -> Any:
    """A sum of updates in which those that a test of integers makes zero are what is tested, under guards on these.

    Each device of a look-up in parts adds zeros where another one has the row, at whichever row its own indices end up.
    """
    store, pieces = engine.store, []
    for piece in updates.pieces:
        parts = _masked(engine, piece.atom, store.range(piece.rel)) if updates.monoid is Monoid.ADD else None
        if parts is None or not all(store.counts_once(piece.rel, part.rel) for part in parts):
            pieces.append(piece)
            continue
        read = [Piece(p.atom, store.compose(piece.rel, p.rel), piece.coefficient * p.coefficient) for p in parts]
        pieces += [part for part in read if not store.empty(part.rel)]
    if len(pieces) == len(updates.pieces) and all(map(operator.is_, pieces, updates.pieces)):
        return updates
    return replace(updates, pieces=engine.gathered(pieces), levels=max(updates.levels, 1))


def _masked(engine: Engine, atom: Any, indices: Dom, masks: int = MAX_MASKS) -> list[Any] | None:
    """What a choice between elements and zero adds at each of these indices; None where no integers are tested."""
    operation = engine.integer_operation(atom) if masks else None
    if operation is None or operation[0] != "stablehlo.select":
        return None
    store, (test, chosen_, other) = engine.store, operation[2]
    whole = store.identity_on(indices)
    test, read, zero = (
        Piece(term, whole if rel is None else store.restrict(rel, indices)) for term, rel in (test, chosen_, other)
    )
    shape = TensorType((), test.atom.dtype)
    is_zero = engine.number_of(zero.atom) == 0 or (
        engine.is_integer(zero.atom) and store.constant_range(zero.rel) == (0,)
    )
    if not is_zero or engine.unguarded(read.atom)[1]:
        return None
    tested = index_form(engine, engine.value(shape, (test,), store.domain(test.rel)))
    guards = [guard for part in tested.pieces for guard in split_guarded(engine, part).guards]
    if not guards or any(guard.dtype.is_bool for guard in guards):
        return None
    inner = _masked(engine, read.atom, store.range(read.rel), masks - 1)
    reads = [read] if inner is None else [Piece(p.atom, store.compose(read.rel, p.rel)) for p in inner]
    parts: list[Any] = []
    for part in tested.pieces:
        there = store.fix_range(part.rel, 0, 1)
        if not store.empty(there):
            guards = Guarded(split_guarded(engine, part).guards, 1, there)
            parts += [made for each in reads for made in chosen(engine, each, guards)]
    return parts


def _updated(
    engine: Engine,
    op: Op,
    dims: ScatterDims,
    number: int,
    operand: Any,
    starts: Any,
    update: Any,
    computation: Hashable | None,
) -> Any:
    """Updates one after the other: each element is a function of itself and the updates that land on it."""
    base = engine.close(operand, f"operand of '{op.name}'")
    source = engine.close(update, f"updates of '{op.name}'")
    indices = _update_indices(engine, dims, starts, source)
    if not engine.store.set_empty(_undefined_indices(engine, indices, source)):
        return engine.unrelated(op.results[number].tensor, "an update lands at an undefined index")
    limits = scatter_limits(dims, base.type, source.type)
    joints = index_joints(engine, indices, limits, engine.points(source.type))
    lands = landing(engine.builder, dims, base.type, source.type)
    unique, sorted_ = bool(op.attributes.get("unique_indices")), bool(op.attributes.get("indices_are_sorted"))
    return updated_in_order(engine, base, source, joints, lands, starts.theory, unique, sorted_, computation, number)


def _rows(
    engine: Engine,
    op: Op,
    dims: ScatterDims,
    key: Hashable,
    operands: list[Any],
    starts: Any,
    updates: list[Any],
) -> list[Any]:
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
        return engine.builder.moved([*batch, *(extents[k] for k in rest)], outputs), len(rest)

    read, row = split(shape, list(whole))
    read_updates, row_updates = split(update_shape, list(whole.values()))
    read_starts, row_starts = split(starts.type.shape, [])
    rows = [
        *(RowOperand(value, read, row) for value in operands),
        RowOperand(starts, read_starts, row_starts),
        *(RowOperand(value, read_updates, row_updates) for value in updates),
    ]
    rest = [k for k in range(rank) if k not in whole]
    back = engine.builder.moved(shape, [f"i{k}" for k in [*whole, *rest]])
    unique = bool(op.attributes.get("unique_indices", False))
    update_row = tuple(n for k, n in enumerate(update_shape) if k not in whole.values())
    lengths = tuple(shape[k] for k in rest), starts.type.shape, update_row
    full_key = (op.name, key, dims, unique, tuple(whole.items()), lengths)
    return engine.rows(full_key, rows, batch, [r.tensor for r in op.results], [back] * len(op.results))


def _undefined_indices(engine: Engine, indices: list[Any], updates: Any) -> Dom:
    """Update elements of which it is not known where they land, nor that they land nowhere."""
    store = engine.store
    points = engine.points(updates.type)
    missing = store.set_minus(points, points)
    for index in indices:
        missing = store.set_union(missing, store.set_minus(points, index.domain))
    return missing


def _update_indices(engine: Engine, dims: ScatterDims, starts: Any, updates: Any) -> list[Any]:
    """For each component of the index vector, its value at every update element."""
    type_ = TensorType(updates.type.shape, starts.type.dtype)
    return [
        engine.read_through(starts, rel, type_) for rel in index_reads(engine.builder, dims, starts.type, updates.type)
    ]


def _landed(engine: Engine, updates: Any, joint: Guarded, lands: Rel) -> list[Any] | None:
    """Pieces o → (update element, guards) of the updates that land on o; None where one would be counted twice.

    Updates that are looked up themselves have guards of their own: both have to hold, which `join` says of each update.
    """
    store, pieces = engine.store, []
    for piece in updates.pieces:
        together = join(engine, joint, split_guarded(engine, piece))
        if together is None:
            continue
        back, keep = spread(engine.builder, lands, together.rel, joint.width)
        forget = store.project_out(store.identity_on(store.range(back)), 0, back.arity_out - keep.arity_in)
        if updates.monoid is not None and not updates.monoid.idempotent and not store.counts_once(back, forget):
            return None
        read = store.compose(back, forget)
        if not store.empty(read):
            base = engine.unguarded(piece.atom)[0]
            pieces.append(Piece(engine.guard(base, together.guards), read, piece.coefficient))
    return pieces


RELATIONS = {
    "stablehlo.scatter": relate_scatter,
}
