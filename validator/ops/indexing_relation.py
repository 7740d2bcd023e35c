"""How accesses at run-time indices relate: known indices are relations, unknown ones are guards on their values."""

from __future__ import annotations

from typing import Any

from ..read.ir import Op, TensorType
from ..relation.objects import Dom, Rel
from .engine import Engine
from .guarded import Guarded, accessed, index_joints
from .indexing_maps import ACCESSES
from .looked_up import looked_up
from .promises_relation import SORTED, promises_kept
from .record import strongest


def relate_access(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """out[p] = value[where(p, n)] for whichever way of reading holds (p, n), at indices n that are operands."""
    type_ = op.results[0].tensor
    if op.name == "stablehlo.gather" and not promises_kept(engine, op, op.name, (SORTED,), values[1]):
        return engine.refuse(op, f"'{op.name}' that promises sorted indices, which the original does not")
    access, store, points = ACCESSES[op.name](engine.builder, op), engine.store, engine.points(type_)
    indices = [
        engine.read_through(values[number], rel, TensorType(type_.shape, values[number].type.dtype))
        for number, rel in access.indices
    ]
    ways = [(rel, values[number]) for rel, number in access.ways]
    monoids = {value.monoid for _, value in ways if value.monoid is not None}
    if len(monoids) > 1:
        ways = [(rel, engine.close(value, "partial results of different reducers")) for rel, value in ways]
        monoids = set()
    monoid = next(iter(monoids), None)
    joints = index_joints(engine, indices, access.limits, points)
    pieces: list[Any] = []
    domain = points
    for value in indices:
        domain = store.set_meet(domain, value.domain)
    for rel, value in ways:
        source = engine.as_sum(value, monoid) if monoid is not None else value
        for joint in joints:
            pieces.extend(accessed(engine, source, joint, rel))
            domain = store.set_minus(domain, _undefined(engine, value, joint, rel))
    engine.limit_pieces(len(pieces))
    theory = strongest([*(value.theory for value in indices), *(value.theory for _, value in ways)])
    levels = max(value.levels for _, value in ways)
    if any(joint.guards for joint in joints):
        engine.used("guard")
    result = engine.restricted(engine.value(type_, engine.gathered(pieces), domain, monoid, levels, theory), domain)
    return [looked_up(engine, result) or result]


def _undefined(engine: Engine, value: Any, joint: Guarded, where: Rel) -> Dom:
    """Points that may read an undefined element."""
    store = engine.store
    plain = store.project_out(joint.rel, joint.width, joint.rel.arity_out - joint.width)
    target = store.compose(store.pair(store.identity_on(store.domain(plain)), plain), where)
    undefined = store.set_minus(store.range(target), value.domain)
    return store.preimage(undefined, target)


RELATIONS = dict.fromkeys(ACCESSES, relate_access)
