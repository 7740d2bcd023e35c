"""Accesses at indices that are operands, and scatters whose updates are added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..ops.annotations import ANNOTATIONS
from ..ops.indexing_maps import ACCESSES
from ..ops.keys import region_key
from ..ops.monoid import Monoid, monoid_of_region
from ..ops.scatter_maps import index_reads, landing
from ..read.attributes import GatherDims, ScatterDims
from ..read.ir import Op, TensorType
from ..relation.build import names
from ..relation.objects import Rel
from .errors import Rejection
from .guards import Guarded
from .terms import Kind
from .values import Piece, Value, weakest

if TYPE_CHECKING:
    from .run import AnyValue, Run


def access(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """out[p] = value[where(p, n)] for whichever way of reading holds (p, n)."""
    rels, type_ = run.ground.rels, op.results[0].tensor
    operands = [run.known(value) for value in values]
    if op.name == "stablehlo.gather":
        dims = op.attributes["dimension_numbers"]
        assert isinstance(dims, GatherDims)
        _keep_promises(
            run, op, op.name, ("indices_are_sorted",), _vectors(op.operands[1].tensor, dims.index_vector_dim)
        )
    how = ACCESSES[op.name](run.builder, op)
    indices = [
        run.guards.index_form(run.ground.read(operands[k], rel, TensorType(type_.shape, operands[k].type.dtype)))
        for k, rel in how.indices
    ]
    ways = [(rel, operands[k]) for rel, k in how.ways]
    monoids = {value.monoid for _, value in ways} - {None}
    if len(monoids) > 1:
        raise Rejection("partial results of different reducers are put together")
    monoid = next(iter(monoids), None)
    domain, pieces = run.points(type_), []
    for value in indices:
        domain = rels.set_meet(domain, value.domain)
    for joint in run.guards.joints(indices, run.points(type_)):
        plain = rels.project_out(joint.rel, joint.count, joint.rel.arity_out - joint.count)
        at = rels.pair(rels.identity_on(rels.domain(plain)), plain)
        for rel, value in ways:
            source = run.ground.as_sum(value, monoid) if monoid is not None else value
            pieces += run.guards.accessed(source, joint, rel)
            target = rels.compose(at, rel)
            undefined = rels.set_minus(rels.range(target), value.domain)
            domain = rels.set_minus(domain, rels.preimage(undefined, target))
    theory = weakest(*(value.theory for value in indices), *(value.theory for _, value in ways))
    levels = max(value.levels for _, value in ways)
    result = Value(type_, run.ground.gathered(pieces), run.points(type_), monoid, levels, theory)
    return [run.ground.restricted(result, domain)]


def scatter(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """The operand and all updates that land in bounds, as one sum."""
    dims, region, rels = op.attributes["scatter_dimension_numbers"], op.regions[0], run.ground.rels
    assert isinstance(dims, ScatterDims)
    monoid = monoid_of_region(region)
    if len(values) != 3 or monoid is None:
        raise Rejection("a scatter that is no sum is not checked")
    operand, starts, updates = (run.known(value) for value in values)
    promises = ("indices_are_sorted", "unique_indices")
    _keep_promises(run, op, region_key(region, ANNOTATIONS), promises, _vectors(starts.type, dims.index_vector_dim))
    everywhere = run.points(updates.type)
    type_ = TensorType(updates.type.shape, starts.type.dtype)
    reads = index_reads(run.builder, dims, starts.type, updates.type)
    indices = [run.guards.index_form(run.ground.read(starts, rel, type_)) for rel in reads]
    if any(not rels.set_subset(everywhere, value.domain) for value in (updates, *indices)):
        raise Rejection("updates or their indices are undefined in part")
    lands = landing(run.builder, dims, operand.type, updates.type)
    source, base = run.ground.as_sum(updates, monoid), run.ground.as_sum(operand, monoid)
    pieces = [*base.pieces]
    for joint in run.guards.joints(indices, everywhere):
        pieces += _landed(run, source, joint, lands, monoid)
    levels, theory = 1 + max(base.levels, updates.levels), weakest(operand.theory, starts.theory, updates.theory)
    gathered = run.ground.gathered(pieces, monoid.idempotent)
    return [Value(op.results[0].tensor, gathered, operand.domain, monoid, levels, theory)]


def _landed(run: Run, updates: Value, joint: Guarded, lands: Rel, monoid: Monoid) -> list[Piece]:
    """Pieces o → (update element, guards) of the updates that land on o."""
    rels = run.ground.rels
    passing = names("g", joint.rel.arity_out - joint.count)
    keep = rels.rel(f"{{[{','.join(passing)}] -> [{','.join(passing)}]}}")
    with_point = rels.pair(rels.identity_on(rels.domain(joint.rel)), joint.rel)
    placed = rels.compose(with_point, rels.side_by_side(lands, keep))
    u, o = names("u", joint.rel.arity_in), names("o", placed.arity_out - len(passing))
    every = rels.range(rels.pair(rels.identity_on(rels.domain(placed)), placed))
    whole = ",".join([*u, *o, *passing])
    point = rels.restrict(rels.rel(f"{{[{whole}] -> [{','.join(o)}]}}"), every)
    update = rels.restrict(rels.rel(f"{{[{whole}] -> [{','.join([*u, *passing])}]}}"), every)
    spread = rels.compose(rels.reverse(point), update)
    pieces = []
    for piece in updates.pieces:
        if piece.term.kind is Kind.GUARD and joint.guards:
            raise Rejection("an update under guards is scattered")
        inner = rels.side_by_side(piece.rel, keep)
        if not monoid.idempotent and not rels.counts_once(spread, inner):
            raise Rejection("an update is counted several times")
        read = rels.compose(spread, inner)
        if not rels.empty(read):
            pieces.append(Piece(run.ground.terms.guard(piece.term, joint.guards), read, piece.count))
    return pieces


def _vectors(starts: TensorType, index_vector_dim: int) -> int:
    """How many index vectors there are."""
    return math.prod(n for k, n in enumerate(starts.shape) if k != index_vector_dim)


def _keep_promises(run: Run, op: Op, key: object, names_: tuple[str, ...], vectors: int) -> None:
    """A broken promise leaves the result open: the after program may repeat those that all like ops before make."""
    made = frozenset(name for name in names_ if op.attributes.get(name))
    known = run.promises.setdefault(key, [])
    if run.is_before:
        known.append(made)
    elif made and vectors > 1 and not (known and all(made <= theirs for theirs in known)):
        raise Rejection("promises of its indices what the before program does not")
