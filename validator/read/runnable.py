"""A module as XLA runs it on real devices: device groups written out, shardings gone, one replica for each device.

XLA refuses to run a module that is partitioned already as partitions; as replicas it runs it. A program for one device
becomes one without any trace of shardings, so that XLA does not partition it either.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .. import compat
from ..compat import ir
from .attribute_values import AttributeReader
from .files import identify
from .groups import device_groups, device_pairs, group_mode, mesh_groups
from .manual_forms import ENTER, LEAVE
from .program import stablehlo_of
from .sdy_sharding import parse_group_mesh_axes, parse_sdy_mesh
from .tiling import Mesh

_DROPPED = ("channel_handle", "use_global_device_ids", "mhlo.sharding", "sdy.sharding", "mhlo.frontend_attributes")
_BOUNDARIES = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape", ENTER, LEAVE})
_ANNOTATIONS = frozenset({"Sharding", "LayoutConstraint"})


class NotRunnableError(Exception):
    """XLA cannot run the module in this way; the message says why."""


def runnable_module(data: bytes, name: str, replicas: int, partitions: int) -> bytes:
    """The program in `data` as StableHLO bytecode, to be run as `replicas * partitions` replicas.

    It is a portable artifact, which other versions of jaxlib read too, where its ops allow that. Replica number d is
    device number d of the program. Raises `ReadError` as `read_program` does, and
    `NotRunnableError` for programs of logical tensors with manual regions, which mean nothing on one device.
    """
    module, _ = stablehlo_of(identify(data, name))
    with module.context, ir.Location.unknown():
        _Rewriter(module, replicas, partitions).rewrite()
        if not module.operation.verify():
            raise NotRunnableError("the module is not well formed without its shardings")
        portable = compat.portable_artifact(module)
        if portable is not None:
            return portable
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()


class _Rewriter:
    def __init__(self, module: ir.Module, replicas: int, partitions: int) -> None:
        self._module = module
        self._replicas = replicas
        self._partitions = partitions
        self._meshes: dict[str, Mesh] = {}

    def rewrite(self) -> None:
        module = self._module.operation
        for name in [name for name in module.attributes if name != "sym_name"]:
            del module.attributes[name]
        found: list[ir.Operation] = []
        for view in self._module.body:
            if view.operation.name == "sdy.mesh":
                attributes: Any = view.operation.attributes
                self._meshes[attributes["sym_name"].value] = parse_sdy_mesh(str(attributes["mesh"]))
            _collect(view.operation, found)
        for op in found:
            self._operation(op)
        for view in list(self._module.body):
            if view.operation.name == "sdy.mesh":
                view.operation.erase()

    def _operation(self, op: ir.Operation) -> None:
        attributes: Any = op.attributes
        target = attributes["call_target_name"].value if "call_target_name" in attributes else ""
        if op.name == "sdy.manual_computation" or target in _BOUNDARIES:
            raise NotRunnableError("it has manual regions inside of logical tensors")
        for key in ("replica_groups", "source_target_pairs"):
            if key in attributes:
                self._explicit(op, key)
        for key in (*_DROPPED, *(("arg_attrs", "res_attrs") if op.name == "func.func" else ())):
            if key in attributes:
                del attributes[key]
        if op.name in ("stablehlo.partition_id", "stablehlo.replica_id"):
            self._device_number(op)
        elif op.name == "sdy.sharding_constraint" or target in _ANNOTATIONS:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()

    def _explicit(self, op: ir.Operation, key: str) -> None:
        attributes: Any = op.attributes
        channel = AttributeReader().value(attributes["channel_handle"])[0] if "channel_handle" in attributes else 0
        mode = group_mode(op.name, channel, "use_global_device_ids" in attributes)
        raw = attributes[key]
        if isinstance(raw, ir.DenseIntElementsAttr):
            table = np.array(raw, dtype=np.int64)
        else:
            table = mesh_groups(*parse_group_mesh_axes(str(raw), self._meshes))
        if key == "replica_groups":
            explicit = device_groups(table, mode, self._replicas, self._partitions)
        else:
            explicit = device_pairs(table, mode, self._replicas, self._partitions)
        attributes[key] = _dense(np.ascontiguousarray(explicit.table, np.int64))

    def _device_number(self, op: ir.Operation) -> None:
        """Both numbers follow from the one that the replica has now."""
        type_ = op.results[0].type
        with ir.InsertionPoint(op):
            device = _create("stablehlo.replica_id", type_)
            if self._replicas == 1 or self._partitions == 1:
                counted = self._partitions if op.name == "stablehlo.partition_id" else self._replicas
                number = device if counted > 1 else _constant(type_, 0)
            else:
                how = "remainder" if op.name == "stablehlo.partition_id" else "divide"
                number = _create(f"stablehlo.{how}", type_, device, _constant(type_, self._partitions))
        op.results[0].replace_all_uses_with(number)
        op.erase()


def _collect(root: ir.Operation, found: list[ir.Operation]) -> None:
    """The operation and all inside of it, with an explicit stack: nesting may be deep."""
    pending = [root]
    while pending:
        op = pending.pop()
        found.append(op)
        for region in op.regions:
            for block in region.blocks:
                pending.extend(view.operation for view in block)


def _create(name: str, type_: ir.Type, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands)).results[0]


def _dense(array: np.ndarray, element_type: ir.Type | None = None) -> ir.Attribute:
    get: Any = ir.DenseElementsAttr.get  # the stubs do not know arrays
    return get(array, type=element_type)


def _constant(type_: ir.Type, value: int) -> ir.Value:
    dense = _dense(np.array(value, np.uint32), ir.IntegerType.get_unsigned(32))
    return ir.Operation.create("stablehlo.constant", results=[type_], attributes={"value": dense}).results[0]
