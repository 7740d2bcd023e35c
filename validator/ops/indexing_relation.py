"""How accesses at run-time indices relate: known indices are relations, unknown ones are guards on their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..read.ir import Op, TensorType
from ..relate.guards import Guarded, accessed, index_form, joint_indices
from ..relate.moves import as_sum, gathered, read_through, restricted
from ..relate.value import AnyVal, Piece, Val, strongest
from ..relation.store import Dom, Rel
from .indexing_maps import ACCESSES

if TYPE_CHECKING:
    from ..relate.walk import Walk


def relate_access(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """An access at indices that are operands."""
    type_ = op.results[0].tensor
    if op.name == "stablehlo.gather" and not _sorted_as_promised(walk, op, values[1]):
        return [walk.not_modelled(type_, f"'{op.name}' that promises sorted indices, which the original does not")]
    access = ACCESSES[op.name](walk.builder, op)
    indices = [
        read_through(walk, values[number], rel, TensorType(type_.shape, values[number].type.dtype))
        for number, rel in access.indices
    ]
    ways = [(rel, values[number]) for rel, number in access.ways]
    return [_read(walk, indices, access.limits, ways, type_)]


def _read(
    walk: Walk,
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


RELATIONS = dict.fromkeys(ACCESSES, relate_access)
