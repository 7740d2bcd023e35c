"""Runs programs on XLA's CPU back end: `python execute.py FILE`, in a process of its own.

FILE holds a pickled list of (text, replicas, partitions, inputs [devices, *shape]); it is overwritten by the list of
results [devices, *shape]. HLO text with partitions is to be run as that many replicas, which XLA accepts where it does
not accept it as partitions: groups become lists of replicas, channels go, and partition-id reads replica-id. StableHLO
runs on a grid of replicas and partitions. Whatever has partitions is marked as manual in it: XLA's partitioner then
leaves it as it is.
"""

import importlib
import os
import pickle
import re
import sys
from typing import Any

import numpy as np

_IOTA = re.compile(r"\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"mesh\[([^]]*)\](?:, device_ids=\(\[([\d,]+)\]T\(([\d,]+)\)\))? \{([^{}]*)\}")
_DROPPED = re.compile(
    r", (?:channel_id=\d+|use_global_device_ids=true|sharding=\{(?:[^{}]|\{[^{}]*\})*\}|frontend_attributes=\{[^{}]*\})"
)


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",")]


def _listed(table: np.ndarray) -> str:
    return "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in table.tolist()) + "}"


def _explicit(match: re.Match[str]) -> str:
    """An iota group list written out."""
    shape, order = _numbers(match[3]), match[4]
    ids = np.arange(np.prod(shape)).reshape(shape)
    ids = ids.transpose(_numbers(order)) if order else ids
    return _listed(ids.reshape(int(match[1]), int(match[2])))


def _explicit_mesh(match: re.Match[str]) -> str:
    """A group list in terms of whole mesh axes written out; MLIR's form of it loses the device order."""
    axes = re.findall(r"'(\w+)'=(\d+)", match[1])
    sizes = [int(size) for _, size in axes]
    ids = np.arange(np.prod(sizes))
    if match[2]:
        ids = ids.reshape(_numbers(match[2])).transpose(_numbers(match[3]))
    names = [name for name, _ in axes]
    inside = [names.index(name) for name in re.findall(r"'(\w+)'", match[4])]
    outside = [k for k in range(len(names)) if k not in inside]
    rows = ids.reshape(sizes).transpose(outside + inside)
    return _listed(rows.reshape(-1, int(np.prod([sizes[k] for k in inside]))))


def as_replicas(text: str) -> str:
    lines = []
    for raw in text.splitlines():
        line = _DROPPED.sub("", raw).replace("partition-id()", "replica-id()")
        line = re.sub(r"num_partitions=\d+", "num_partitions=1", line)
        if "replica_groups=" in line:
            line = _MESH.sub(_explicit_mesh, _IOTA.sub(_explicit, line))
        lines.append(line)
    return "\n".join(lines)


def _run(text: str, replicas: int, partitions: int, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import jax

    from shardproof.validator import compat

    jaxlib: Any = importlib.import_module("jaxlib._jax")
    if text.startswith("HloModule"):
        code = compat.hlo_to_stablehlo(compat.hlo_text_to_proto(as_replicas(text)))
    else:
        code = compat.bytecode_of(compat.parse_module(text, compat.new_context()))
    devices = jax.devices()[: replicas * partitions]
    options = jaxlib.CompileOptions()
    for part in (options, options.executable_build_options):
        part.num_replicas, part.num_partitions = replicas, partitions
        part.device_assignment = jaxlib.DeviceAssignment.create(np.arange(len(devices)).reshape(replicas, partitions))
    options.executable_build_options.use_spmd_partitioning = True
    executable = devices[0].client.compile_and_load(code, jaxlib.DeviceList(tuple(devices)), options)
    mesh = jax.sharding.Mesh(np.array(devices), ("device",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("device"))
    arguments = []
    for array in inputs:
        # One array a device, without the leading axis that stands for the devices.
        parts = [jax.device_put(array[d], device) for d, device in enumerate(devices)]
        shape = (len(devices) * array.shape[1], *array.shape[2:]) if array.ndim > 1 else array.shape[1:]
        placed = spread if array.ndim > 1 else jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        arguments.append(jax.make_array_from_single_device_arrays(shape, placed, parts))
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.stack([np.asarray(part) for part in parts]) for parts in results]


def main(path: str) -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    with open(path, "rb") as file:
        jobs = pickle.load(file)
    import jax.numpy

    jax.numpy.linalg.cholesky(np.eye(2, dtype=np.float32))  # loads LAPACK, which a bare module does not
    results = [_run(*job) for job in jobs]
    with open(path, "wb") as file:
        pickle.dump(results, file)


if __name__ == "__main__":
    main(sys.argv[1])
