"""What the user asks of a validation."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ops.record import Theory

if TYPE_CHECKING:
    from .run import Source


class Assumption(enum.Enum):
    """A condition under which a verdict holds; it is printed with the verdict."""

    INDICES_IN_BOUNDS = "indices-in-bounds"
    """Inputs whose run-time indices are out of bounds, or negative and wrapped around, are not judged."""
    RELATIONS_FROM_SHAPES = "relations-from-shapes"
    """Where nothing tells how a tensor is cut, its shapes do."""


@dataclass(frozen=True, slots=True)
class Options:
    """One validation's settings. `theory` is the weakest arithmetic the user accepts as a proof.

    `timeout` is in seconds, for reading and proving together, `memory_limit` in MB, of the process that does both; None
    sets no limit. `node_limit` bounds the nodes of the e-graph, None leaves its own bound. `seed` starts the input
    generator of the reference evaluator; it can change which counterexample is found, never a proof. `relations` is a
    relation file: how parameters and results relate where the programs' shardings do not say so. With `confirm` a
    counterexample is run on XLA, or else on StableHLO's interpreter, too before it is believed, where that is quick.
    With `certificate` a proof is written down, to be checked by others.
    """

    theory: Theory = Theory.REASSOCIATED
    assumptions: frozenset[Assumption] = frozenset()
    timeout: float | None = None
    memory_limit: int | None = None
    node_limit: int | None = None
    seed: int = 0
    relations: Source | None = None
    confirm: bool = False
    certificate: bool = False
