"""Branches: `case` and `if` as a choice between the values of all branches.

Lemma *branch selection*: the result of a branching op is, element by element, the value of the branch that the index
chooses. Where a branch exchanges data between devices, every device must choose alike. Theory: exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..read.ir import Op, TensorType
from ..relation.layout import regions
from .lift import lift
from .moves import read_through
from .value import AnyVal, Val

if TYPE_CHECKING:
    from .walk import Walk


def relate_branches(walk: Walk, op: Op, values: list[AnyVal]) -> list[AnyVal]:
    """Every branch is walked; the results are chosen by the index."""
    index = values[0]
    if not isinstance(index, Val) or any(not isinstance(result.type, TensorType) for result in op.results):
        return [walk.not_modelled(result.type, f"'{op.name}' of tokens or tuples") for result in op.results]
    index = walk.close(index, f"index of '{op.name}'")
    if not walk.is_original and _exchanges(op) and not _uniform(walk, index):
        return [
            walk.not_modelled(r.type, f"'{op.name}' with collectives, not chosen alike everywhere") for r in op.results
        ]
    branches: list[list[AnyVal]] = []
    for region in op.regions:
        # what a branch computes is not computed for all inputs, returned or not
        with walk.context.bounded({}):
            walk.region(region)
        branches.append(walk.results_of(region))
    results: list[AnyVal] = []
    for number, result in enumerate(op.results):
        type_ = result.tensor
        parts = [branch[number] for branch in branches]
        spread = read_through(
            walk, index, walk.builder.moved(type_.shape, []), TensorType(type_.shape, index.type.dtype)
        )
        operands = [spread, *(part for part in parts if isinstance(part, Val))]
        results.append(lift(walk, (op.name, ()), operands, type_))
    walk.context.used("branch selection")
    return results


def _exchanges(op: Op) -> bool:
    return any(
        "replica_groups" in inner.attributes or "source_target_pairs" in inner.attributes
        for root in op.regions
        for region in regions(root)
        for inner in region.ops
    )


def _uniform(walk: Walk, index: Val) -> bool:
    """Whether the index is the same on all devices."""
    store = walk.store
    for position in range(len(walk.mesh.sizes)):
        flatten = walk.set_coordinate(index.domain, position, 0)
        if flatten is None:
            return False
        if any(not store.equal(store.compose(flatten, piece.rel), piece.rel) for piece in index.pieces):
            return False
    return True
