"""All passes by name."""

from __future__ import annotations

from .base import ModulePass
from .dead_values import StripDeadValues
from .drop_annotations import DropAnnotations
from .general_dots import GeneralDots
from .inline_calls import InlineCalls
from .outline_layers import OutlineLayers
from .partition_tables import FoldPartitionTables
from .replica_groups import ExplicitReplicaGroups
from .unroll_loops import UnrollLoops
from .validate_spmd import Snapshot, ValidateSpmd

NORMALISATIONS: tuple[type[ModulePass], ...] = (
    InlineCalls,
    DropAnnotations,
    ExplicitReplicaGroups,
    GeneralDots,
    FoldPartitionTables,
    UnrollLoops,
    OutlineLayers,
    StripDeadValues,
)
"""The passes that rewrite a module and keep its meaning."""

PASSES: dict[str, type[ModulePass]] = {one.name: one for one in (*NORMALISATIONS, Snapshot, ValidateSpmd)}
