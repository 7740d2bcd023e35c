"""Indices that count from the end where they are negative, as NumPy's do: select(i < 0, i + n, i).

Assumption *indices-in-bounds* speaks of i: an index that the original wraps around is in bounds if it is so before. A
look-up on shards that leaves negative indices out is the whole one's part then.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ..read.attributes import Comparison
from ..relation.build import constant
from .engine import Engine
from .values import Piece

_LESS = {"comparison_direction": Comparison.LT}


def before_wrapping(engine: Engine, index: Any) -> Any | None:
    """The integers that an index is wrapped around from, at the points at which it is; None where it is nowhere."""
    store, pieces = engine.store, list[Piece]()
    for piece in index.pieces:
        found = _unwrapped(engine, piece.atom)
        if found is not None:
            pieces.append(Piece(found.atom, store.compose(piece.rel, found.rel)))
    if not pieces or index.monoid is not None:
        return None
    domain = reduce(store.set_union, (store.domain(piece.rel) for piece in pieces))
    return engine.value(index.type, engine.gathered(pieces), domain, theory=index.theory)


def _unwrapped(engine: Engine, atom: Any) -> Piece | None:
    """i, read from the index of the term, where that is select(i < 0, i + n, i) with a constant n > 0."""
    name, _, (test, moved, kept) = _operation(engine, atom, 3)
    if name != "stablehlo.select":
        return None
    compared, attributes, (less, zero) = _operation(engine, test.atom, 2)
    added, _, terms = _operation(engine, moved.atom, 2)
    if compared != "stablehlo.compare" or attributes != _LESS or engine.number_of(zero.atom) != 0:
        return None
    sizes = [engine.number_of(term.atom) for term in terms]
    size = next((number for number in sizes if isinstance(number, int)), 0)
    if added != "stablehlo.add" or sizes.count(None) != 1 or size <= 0:
        return None
    store, whole = engine.store, terms[sizes.index(None)]
    reads = [store.compose(test.rel, less.rel), store.compose(moved.rel, whole.rel)]
    same = less.atom is whole.atom is kept.atom and all(store.equal(kept.rel, read) for read in reads)
    return kept if same else None


def _operation(engine: Engine, atom: Any, count: int) -> tuple[str, Any, list[Piece]]:
    """An integer op of so many operands, each read from the index of its result; no name for any other term."""
    name, attributes, operands = engine.integer_operation(atom) or ("", None, [])
    if len(operands) != count:
        name, operands = "", [(atom, None)] * count
    store, everything = engine.store, engine.store.everything(atom.arity)
    reads = [
        Piece(operand, rel or (store.identity_on(everything) if operand.arity else constant(store, everything)))
        for operand, rel in operands
    ]
    return name, attributes, [engine.canonical(piece) for piece in reads]


def is_wrapped(test: np.ndarray, moved: np.ndarray, kept: np.ndarray) -> bool:
    """Whether a selection adds one number to all integers that are negative, and to no others, and there are some."""
    if kept.dtype.kind != "i" or not np.array_equal(np.broadcast_to(test, kept.shape), kept < 0) or not test.any():
        return False
    added = np.unique(moved[kept < 0].astype(np.int64) - kept[kept < 0])
    return len(added) == 1 and added[0] > 0
