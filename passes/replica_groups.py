"""The pass `explicit-replica-groups`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..validator.compat import ir
from ..validator.read.attribute_values import AttributeReader
from ..validator.read.convert import COLLECTIVES
from ..validator.read.groups import everyone, group_mode, mesh_groups
from ..validator.read.sdy_sharding import parse_group_mesh_axes, parse_sdy_mesh
from ..validator.read.tiling import Mesh
from .base import ModulePass, PassFailure
from .rewriting import attributes, body_of, device_counts, nested

_KEY = "replica_groups"


@dataclass(frozen=True)
class ExplicitReplicaGroups(ModulePass):
    """Writes the replica groups of every collective as a table of numbers.

    Groups by mesh axes become the rows that the axes stand for, in their order. An empty table, which means everyone,
    becomes one row where the module says how many replicas and partitions there are. The mode (channel and
    `use_global_device_ids`) stays, so the numbers count what they counted before.

    ```mlir
    sdy.mesh @mesh = <["a"=2, "b"=2]>
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups
      = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "a">]>}> : ...
    // becomes
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups
      = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : ...
    ```
    """

    name: ClassVar[str] = "explicit-replica-groups"

    def apply(self, module: ir.Operation) -> None:
        meshes = {
            attributes(view.operation)["sym_name"].value: parse_sdy_mesh(str(view.operation.attributes["mesh"]))
            for view in body_of(module)
            if view.operation.name == "sdy.mesh"
        }
        for op in nested(module):
            if op.name in COLLECTIVES and _KEY in op.attributes:
                table = _table(op, meshes, module)
                if table is not None:
                    rows = str(table.tolist())
                    shape = "x".join(map(str, table.shape))
                    op.attributes[_KEY] = ir.Attribute.parse(f"dense<{rows}> : tensor<{shape}xi64>")


def _table(op: ir.Operation, meshes: dict[str, Mesh], module: ir.Operation) -> np.ndarray | None:
    """The groups as a table where they are written in another way, and what they mean is known."""
    groups = op.attributes[_KEY]
    if not isinstance(groups, ir.DenseIntElementsAttr):
        try:
            mesh, axes = parse_group_mesh_axes(str(groups), meshes)
        except ValueError as error:
            raise PassFailure(op.location, f"'{op.name}': {error}") from None
        return mesh_groups(mesh, axes)
    counts = device_counts(module)
    if len(groups) or counts is None:
        return None
    channel = AttributeReader().value(op.attributes["channel_handle"])[0] if "channel_handle" in op.attributes else 0
    try:
        mode = group_mode(op.name, channel, "use_global_device_ids" in op.attributes)
    except ValueError as error:
        raise PassFailure(op.location, f"'{op.name}': {error}") from None
    return everyone(mode, *counts)
