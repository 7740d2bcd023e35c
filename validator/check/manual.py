"""Manual regions of a before program: where it holds one value a device instead of one logical value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ops.devices import DEVICE_NUMBERS
from ..read.ir import Op, TensorType
from ..read.shardings import Sharding
from ..relation.layout import layout
from ..relation.objects import Rel
from .errors import Rejection
from .values import Value

if TYPE_CHECKING:
    from .run import AnyValue, Run


def is_inside(value: AnyValue) -> bool:
    """Whether a value of the before program has device coordinates."""
    return isinstance(value, Value) and value.domain.arity > value.type.rank


def enters(op: Op, operands: Sequence[AnyValue]) -> bool:
    """Whether an op computes device values."""
    return op.name in DEVICE_NUMBERS or any(is_inside(operand) for operand in operands)


def lifted(run: Run, value: AnyValue) -> AnyValue:
    """A logical value that every device holds whole, such as a constant."""
    if not isinstance(value, Value) or is_inside(value):
        return value
    assert run.inner is not None
    return run.ground.read(value, run.inner.local_identity(value.type.shape), value.type)


def _boundary(run: Run, logical: TensorType, sharding: Sharding | None, local: TensorType) -> Rel:
    if run.inner is None:
        raise Rejection("a manual region on one device")
    rel = layout(run.inner, logical.shape, sharding, local.shape)
    if isinstance(rel, str) or not run.ground.rels.single_valued(rel):
        raise Rejection(f"a manual region's {rel}")
    return rel


def _enter(run: Run, value: Value, sharding: Sharding | None, type_: TensorType) -> Value:
    return run.ground.read(value, _boundary(run, value.type, sharding, type_), type_)


def _leave(run: Run, value: Value, sharding: Sharding | None, type_: TensorType) -> Value:
    """Element x is what the first device that holds x has there; all others must hold the same."""
    rels, rel = run.ground.rels, _boundary(run, type_, sharding, value.type)
    value = run.ground.as_view(value)
    holder = rels.lexmin(rels.reverse(rel))
    chosen = rels.compose(rel, holder)
    for piece in value.pieces:
        if not rels.equal(rels.compose(chosen, piece.rel), rels.restrict(piece.rel, rels.domain(rel))):
            raise Rejection("a manual region whose copies of one shard may differ")
    return run.ground.read(value, holder, type_)


def manual_computation(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """`sdy.manual_computation`: enter through `in_shardings`, follow the body, leave through `out_shardings`."""
    entering, leaving = op.attributes.get("in_shardings", ()), op.attributes.get("out_shardings", ())
    if len(entering) != len(values) or len(leaving) != len(op.results) or any(is_inside(value) for value in values):
        raise Rejection("a nested manual region is not checked")
    region = op.regions[0]
    for argument, value, sharding in zip(region.arguments, values, entering, strict=True):
        run.env[argument.number] = _enter(run, run.known(value), sharding, argument.tensor)
    run.region(region, run.step.frames[0] if run.step is not None and run.step.frames else {})
    results: list[AnyValue] = []
    for inner, sharding, result in zip(region.results, leaving, op.results, strict=True):
        results.append(_leave(run, run.known(lifted(run, run.env[inner.number])), sharding, result.tensor))
    return results


def boundary_call(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """A custom call that crosses into or out of a manual region."""
    target = str(op.attributes.get("call_target_name", ""))
    if not run.is_before or len(values) != 1 or len(op.results) != 1:
        raise Rejection(f"custom call '{target}' is not checked")
    if target == "SPMDFullToShardShape":
        sharding = run.shardings.get(op.operands[0].number)
        return [_enter(run, run.known(values[0]), sharding, op.results[0].tensor)]
    if target == "SPMDShardToFullShape":
        return [_leave(run, run.known(values[0]), op.shardings[0] if op.shardings else None, op.results[0].tensor)]
    if target == "Sharding":
        return values
    raise Rejection(f"custom call '{target}' is not checked")
