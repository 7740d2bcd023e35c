"""Equality with an integer that was moved: a device that asks x − s = t for each t of its shard asks x = t + s.

Lemma *shifted integer*: x − s = t is x = t + s, x + s = t is x = t − s and s − x = t is x = s − t, in integers that
wrap around as their type does, so that a look-up by comparison on a shard is a part of the whole one. Theory: exact.
"""

from __future__ import annotations

from typing import Any

from ..relation.build import constant
from ..relation.objects import Rel
from .engine import Engine
from .integers import index_function
from .values import Piece

MAX_SHIFTS = 4
"""Shifts of one integer that are undone."""

_UNDONE = {"stablehlo.subtract": ("add", "subtract"), "stablehlo.add": ("subtract", "subtract")}
"""By op, what gives x from t and s where s is its second operand, and where it is its first."""


def unshifted(engine: Engine, first: Any, second: Any) -> tuple[Any, Any]:
    """Two views of which one is compared with the other, without known integers that one is moved by."""
    for _ in range(MAX_SHIFTS):
        found = _undone(engine, first, second)
        found = found or _undone(engine, second, first)
        if found is None:
            break
        engine.used("shifted integer")
        first, second = found
    return first, second


def _undone(engine: Engine, moved: Any, known: Any) -> tuple[Any, Any] | None:
    """(x, t + s) where the one is x − s at all points and the other one the known integer t."""
    dtype, store = moved.type.dtype, engine.store
    if not dtype.is_integer or moved.monoid or known.monoid or len(moved.pieces) != 1:
        return None
    (piece,) = moved.pieces
    if engine.unguarded(piece.atom)[1] or not all(engine.is_integer(part.atom) for part in known.pieces):
        return None
    name, _, operands = engine.integer_operation(piece.atom) or ("", None, [])
    if name not in _UNDONE or any(operand.dtype is not dtype for operand, _ in operands):
        return None
    shifts = [_shift(engine, piece.rel, operand, rel) for operand, rel in operands]
    if shifts[0] is not None and shifts[1] is not None:
        return None
    place = 1 if shifts[1] is not None else 0
    shift, (rest, read) = shifts[place], operands[1 - place]
    if shift is None:
        return None
    op = f"stablehlo.{_UNDONE[name][1 - place]}"
    pieces = []
    for part in known.pieces:
        # s − x = t: x is s − t, and t comes first elsewhere
        turned = place == 0 and name == "stablehlo.subtract"
        both = store.pair(shift, part.rel) if turned else store.pair(part.rel, shift)
        function = index_function(store, op, {}, (dtype, dtype), dtype, both)
        if function is None:
            return None
        pieces.append(Piece(part.atom, store.compose(both, function)))
    rel = piece.rel if read is None else store.compose(piece.rel, read)
    return (
        engine.value(moved.type, (Piece(rest, rel),), moved.domain, theory=moved.theory),
        engine.value(known.type, engine.gathered(pieces), known.domain, theory=known.theory),
    )


def _shift(engine: Engine, rel: Rel, operand: Any, read: Rel | None) -> Rel | None:
    """{point → s} of a known operand; None for any other."""
    store, number = engine.store, engine.number_of(operand)
    if isinstance(number, int):
        return constant(store, store.domain(rel), number)
    if not engine.is_integer(operand):
        return None
    return rel if read is None else store.compose(rel, read)
