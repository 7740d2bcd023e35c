"""How accesses at run-time indices relate: known indices are relations, unknown ones are guards on their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..read.attributes import GatherDims
from ..read.ir import Op, TensorType
from ..relate.guards import Guarded, accessed, index_form, joint_indices
from ..relate.moves import as_sum, gathered, read_through, restricted
from ..relate.value import AnyVal, Piece, Val, strongest
from ..relation.build import box_constraints, names
from ..relation.store import Dom, Rel

if TYPE_CHECKING:
    from ..relate.walk import Walk


def _clamped(limits: Sequence[int]) -> str:
    """Constraints that c_k is n_k clamped to [0, limit_k], as alternatives per index."""
    parts = []
    for k, high in enumerate(limits):
        if high <= 0:
            parts.append(f"c{k} = 0")
            continue
        parts.append(
            f"((n{k} < 0 and c{k} = 0) or (0 <= n{k} <= {high} and c{k} = n{k}) or (n{k} > {high} and c{k} = {high}))"
        )
    return " and ".join(parts) or "1 = 1"


def _index_map(
    walk: Walk, shape: Sequence[int], limits: Sequence[int], outputs: Sequence[str], where: Sequence[str] = ()
) -> Rel:
    """{[d, i, n] -> [d, outputs]} with c… the clamped n… in the expressions."""
    device = walk.builder.device
    local, index, clamped = names("i", len(shape)), names("n", len(limits)), names("c", len(limits))
    body = " and ".join([*box_constraints(local, shape), _clamped(limits), *where])
    if clamped:
        fresh = names("y", len(outputs))
        ties = [f"{a} = {b}" for a, b in zip(fresh, outputs, strict=True)]
        body = f"exists {','.join(clamped)} : {' and '.join([body, *ties])}"
        outputs = fresh
    return walk.store.rel(f"{{[{','.join([*device, *local, *index])}] -> [{','.join([*device, *outputs])}] : {body}}}")


def _scalars_at(walk: Walk, scalars: Sequence[Val], shape: Sequence[int]) -> list[Val]:
    """Scalar operands as values at every point of the result."""
    rel = walk.builder.moved(shape, [])
    return [read_through(walk, value, rel, TensorType(tuple(shape), value.type.dtype)) for value in scalars]


def relate_dynamic_slice(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    operand, starts = values[0], values[1:]
    type_ = op.results[0].tensor
    limits = [n - size for n, size in zip(operand.type.shape, type_.shape, strict=True)]
    outputs = [f"c{k} + i{k}" for k in range(type_.rank)]
    where = _index_map(walk, type_.shape, limits, outputs)
    return [_read(walk, operand, _scalars_at(walk, starts, type_.shape), limits, [(where, operand)], type_)]


def relate_dynamic_update_slice(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    operand, update, starts = values[0], values[1], values[2:]
    type_ = op.results[0].tensor
    sizes = update.type.shape
    limits = [n - size for n, size in zip(type_.shape, sizes, strict=True)]
    window = [f"0 <= i{k} - c{k} < {size}" for k, size in enumerate(sizes)]
    inside = _index_map(walk, type_.shape, limits, [f"i{k} - c{k}" for k in range(type_.rank)], window)
    everywhere = _index_map(walk, type_.shape, limits, names("i", type_.rank))
    store = walk.store
    outside = store.restrict(everywhere, store.set_minus(store.domain(everywhere), store.domain(inside)))
    ways = [(inside, update), (outside, operand)]
    return [_read(walk, operand, _scalars_at(walk, starts, type_.shape), limits, ways, type_)]


def _read(
    walk: Walk,
    operand: Val,
    indices: Sequence[Val],
    limits: Sequence[int],
    ways: Sequence[tuple[Rel, Val]],
    type_: TensorType,
) -> Val:
    """out[p] = value[where(p, n)] for whichever way holds (p, n)."""
    store = walk.store
    monoids = {value.monoid for _, value in ways if value.monoid is not None}
    if len(monoids) > 1:
        ways = [(rel, walk.close(value, "partial results of different reducers")) for rel, value in ways]
        monoids = set()
    monoid = next(iter(monoids), None)
    points = walk.points(type_)
    joints = index_joints(walk, indices, limits, points)
    pieces: list[Piece] = []
    domain = points
    for value in indices:
        domain = store.set_meet(domain, value.domain)
    for rel, value in ways:
        source = as_sum(walk, value, monoid) if monoid is not None else value
        for joint in joints:
            pieces.extend(accessed(walk, source, joint, rel))
            domain = store.set_minus(domain, _undefined(walk, value, joint, rel))
    walk.limit_pieces(len(pieces))
    theory = strongest([*(value.theory for value in indices), *(value.theory for _, value in ways)])
    levels = max(value.levels for _, value in ways)
    if any(joint[0] for joint in joints):
        walk.context.used("guard")
    result = Val(type_, gathered(store, pieces), domain, monoid, levels, theory)
    return restricted(walk, result, domain)


def _undefined(walk: Walk, value: Val, joint: Guarded, where: Rel) -> Dom:
    """Points that may read an undefined element."""
    store = walk.store
    _, count, rel = joint
    plain = store.project_out(rel, count, rel.arity_out - count)
    target = store.compose(store.pair(store.identity_on(store.domain(plain)), plain), where)
    undefined = store.set_minus(store.range(target), value.domain)
    return store.preimage(undefined, target)


def index_joints(walk: Walk, indices: Sequence[Val], limits: Sequence[int], points: Dom) -> list[Guarded]:
    forms = [index_form(walk, value) for value in indices]
    if walk.context.assume_in_bounds and walk.is_original:
        changed = [walk.assume_within(form, 0, max(limit, 0)) for form, limit in zip(forms, limits, strict=True)]
        if any(changed):
            walk.context.used("indices in bounds")
            forms = [index_form(walk, value) for value in indices]
    return joint_indices(walk, forms, points)


def _sorted_as_promised(walk: Walk, op: Op, starts: Val) -> bool:
    """Whether a promise of sorted indices may be believed; a broken one makes the result undefined.

    The original's promise is the user's. The partitioned program may repeat what every gather of the original promises;
    a single index is always sorted.
    """
    promised = bool(op.attributes.get("indices_are_sorted", False))
    known = walk.context.rows.setdefault(("promises", op.name), [])
    if walk.is_original:
        known.append(promised)
        return True
    single = all(
        n == 1 for k, n in enumerate(starts.type.shape) if k != op.attributes["dimension_numbers"].index_vector_dim
    )
    return not promised or single or (bool(known) and all(known))


def relate_gather(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    dims = op.attributes["dimension_numbers"]
    assert isinstance(dims, GatherDims)
    operand, starts = values
    type_ = op.results[0].tensor
    if not _sorted_as_promised(walk, op, starts):
        return [walk.not_modelled(type_, f"'{op.name}' that promises sorted indices, which the original does not")]
    sizes = op.attributes["slice_sizes"]
    batch_out = [k for k in range(type_.rank) if k not in dims.offset_dims]
    kept = [k for k in range(operand.type.rank) if k not in dims.collapsed_slice_dims + dims.operand_batching_dims]
    outputs = ["0"] * operand.type.rank
    for position, k in enumerate(kept):
        outputs[k] = f"i{dims.offset_dims[position]}"
    start_dims = [k for k in range(starts.type.rank) if k != dims.index_vector_dim]
    for own, theirs in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
        outputs[own] = f"i{batch_out[start_dims.index(theirs)]}"
    for j, k in enumerate(dims.start_index_map):
        outputs[k] = f"c{j} + {outputs[k]}"
    limits = [operand.type.shape[k] - sizes[k] for k in dims.start_index_map]
    indices = []
    for j in range(len(dims.start_index_map)):
        read = [""] * starts.type.rank
        for position, k in enumerate(start_dims):
            read[k] = f"i{batch_out[position]}"
        if dims.index_vector_dim < starts.type.rank:
            read[dims.index_vector_dim] = str(j)
        rel = walk.builder.moved(type_.shape, read)
        indices.append(read_through(walk, starts, rel, TensorType(type_.shape, starts.type.dtype)))
    where = _index_map(walk, type_.shape, limits, outputs)
    return [_read(walk, operand, indices, limits, [(where, operand)], type_)]


RELATIONS = {
    "stablehlo.dynamic_slice": relate_dynamic_slice,
    "stablehlo.dynamic_update_slice": relate_dynamic_update_slice,
    "stablehlo.gather": relate_gather,
}
