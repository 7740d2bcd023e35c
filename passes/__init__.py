"""Passes from StableHLO to StableHLO, usable in jaxlib's PassManager and by name in `shardproof-opt`.

    manager = PassManager("builtin.module")
    manager.add(shardproof.passes.InlineCalls())

Everything is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import ModulePass as ModulePass
    from .base import PassFailure as PassFailure
    from .dead_values import StripDeadValues as StripDeadValues
    from .drop_annotations import DropAnnotations as DropAnnotations
    from .general_dots import GeneralDots as GeneralDots
    from .inline_calls import InlineCalls as InlineCalls
    from .outline_layers import OutlineLayers as OutlineLayers
    from .partition_tables import FoldPartitionTables as FoldPartitionTables
    from .pipeline import PipelineError as PipelineError
    from .pipeline import parse_pipeline as parse_pipeline
    from .pipeline import run_pipeline as run_pipeline
    from .replica_groups import ExplicitReplicaGroups as ExplicitReplicaGroups
    from .unroll_loops import UnrollLoops as UnrollLoops
    from .validate_spmd import NotValidated as NotValidated
    from .validate_spmd import ValidateSpmd as ValidateSpmd

_HOMES = {
    "DropAnnotations": "drop_annotations",
    "ExplicitReplicaGroups": "replica_groups",
    "FoldPartitionTables": "partition_tables",
    "GeneralDots": "general_dots",
    "InlineCalls": "inline_calls",
    "ModulePass": "base",
    "NotValidated": "validate_spmd",
    "OutlineLayers": "outline_layers",
    "PassFailure": "base",
    "PipelineError": "pipeline",
    "StripDeadValues": "dead_values",
    "UnrollLoops": "unroll_loops",
    "ValidateSpmd": "validate_spmd",
    "parse_pipeline": "pipeline",
    "run_pipeline": "pipeline",
}

__all__ = [
    "DropAnnotations",
    "ExplicitReplicaGroups",
    "FoldPartitionTables",
    "GeneralDots",
    "InlineCalls",
    "ModulePass",
    "NotValidated",
    "OutlineLayers",
    "PassFailure",
    "PipelineError",
    "StripDeadValues",
    "UnrollLoops",
    "ValidateSpmd",
    "parse_pipeline",
    "run_pipeline",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
