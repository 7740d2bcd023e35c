"""Where a wrong move shows: data moves always have a relation, so a slice of the wrong part ends no proof by itself.

Only reports use what is found here, never a verdict.
"""

from __future__ import annotations

from ..ops.devices import EXCHANGES
from ..read.dependencies import dependencies
from ..read.ir import Op, Program
from ..relation.store import RelationLimitError
from .fold import resolve
from .value import Val
from .walk import Walk


def departure(original: Walk, device: Walk, before: Program, after: Program, result: int) -> Op | None:
    """The first op behind a result that reads other elements than the op in its place in the original.

    None where the programs do not consist of the same ops, collectives apart, or where no op is told to.
    """
    theirs, ours = (
        [op for op in dependencies(program, [result])[1] if not EXCHANGES & op.attributes.keys()]
        for program in (before, after)
    )
    if [op.name for op in theirs] != [op.name for op in ours]:
        return None
    for specified, op in zip(theirs, ours, strict=True):
        expected = original.env.get(specified.results[0].number)
        actual = device.env.get(op.results[0].number)
        if not isinstance(expected, Val) or not isinstance(actual, Val):
            continue
        try:
            if _reads_elsewhere(original, device, expected, actual):
                return op
        except RelationLimitError:
            continue
    return None


def _reads_elsewhere(original: Walk, device: Walk, expected: Val, actual: Val) -> bool:
    """Whether both are views of the original's terms, and some device reads an element that the original does not."""
    expected, actual = resolve(original, expected), resolve(device, actual)
    if not (expected.is_view and actual.is_view) or expected.has_guards or actual.has_guards:
        return False
    store = device.store
    for piece in actual.pieces:
        if piece.atom.number in device.origins:
            return False
        rest = store.range(piece.rel)
        for other in expected.pieces:
            if other.atom is piece.atom:
                rest = store.set_minus(rest, store.range(other.rel))
        if not store.set_empty(rest):
            return True
    return False
