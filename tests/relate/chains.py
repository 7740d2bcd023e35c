"""Random straight-line programs on sharded parameters, for audits of how every op relates.

Ops are drawn by name, with random shapes and attributes. Only the first parameter is returned: audits look at every
value, whether or not a result needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import chain_collectives, chain_indexing, chain_moves, chain_parts, chain_sums
from .chain import Chain

STEPS: dict[str, Callable[[Chain], None]] = {
    "reshape": chain_moves.reshape,
    "transpose": chain_moves.transpose,
    "broadcast_in_dim": chain_moves.broadcast,
    "slice": chain_moves.slice_,
    "reverse": chain_moves.reverse,
    "concatenate": chain_moves.concatenate,
    "pad": chain_moves.pad,
    "iota": chain_moves.iota,
    "constant": chain_moves.table,
    "elementwise": chain_moves.elementwise,
    "compare": chain_moves.compare,
    "select": chain_moves.select,
    "clamp": chain_moves.clamp,
    "convert": chain_moves.convert,
    "reduce": chain_sums.reduce,
    "reduce_window": chain_sums.reduce_window,
    "dot_general": chain_sums.dot_general,
    "convolution": chain_sums.convolution,
    "dynamic_slice": chain_indexing.dynamic_slice,
    "dynamic_update_slice": chain_indexing.dynamic_update_slice,
    "gather": chain_indexing.gather,
    "scatter": chain_indexing.scatter,
    "all_gather": chain_collectives.all_gather,
    "all_to_all": chain_collectives.all_to_all,
    "collective_permute": chain_collectives.collective_permute,
    "collective_broadcast": chain_collectives.collective_broadcast,
    "all_reduce": chain_collectives.all_reduce,
    "reduce_scatter": chain_collectives.reduce_scatter,
    "known_in_part": chain_parts.known_in_part,
    "branch": chain_parts.branch,
    "started": chain_parts.started,
}
MOVEMENT = ("reshape", "transpose", "broadcast_in_dim", "slice", "reverse", "concatenate", "pad", "iota", "constant")
ELEMENTS = ("elementwise", "compare", "select", "clamp", "convert")
SUMS = ("reduce", "reduce_window", "dot_general", "convolution")
INDEXING = ("dynamic_slice", "dynamic_update_slice", "gather", "scatter")
PARTS = ("known_in_part", "branch", "started")
COLLECTIVES = (
    "all_gather",
    "all_to_all",
    "collective_permute",
    "collective_broadcast",
    "all_reduce",
    "reduce_scatter",
)


def grow(chain: Chain, names: Sequence[str], steps: int) -> None:
    """Append ops; those that cannot be drawn from the values at hand are left out."""
    for _ in range(steps):
        STEPS[names[int(chain.rng.integers(len(names)))]](chain)
