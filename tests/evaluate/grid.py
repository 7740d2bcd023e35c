"""Runs StableHLO on a grid of replicas and partitions with XLA's CPU back end: `python grid.py FILE`, by itself.

FILE holds a pickled list of (module, replicas, partitions, inputs [devices, *shape]); it is overwritten by the list of
results [devices, *shape]. Whatever has partitions is marked as manual: XLA's partitioner then leaves it as it is.
"""

import importlib
import os
import pickle
import sys
from typing import Any

import numpy as np


def _run(text: str, replicas: int, partitions: int, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import jax

    from shardproof.validator import compat

    jaxlib: Any = importlib.import_module("jaxlib._jax")
    code = compat.bytecode_of(compat.parse_module(text, compat.new_context()))
    devices = jax.devices()[: replicas * partitions]
    options = jaxlib.CompileOptions()
    for part in (options, options.executable_build_options):
        part.num_replicas, part.num_partitions = replicas, partitions
    options.executable_build_options.use_spmd_partitioning = True
    grid = np.arange(len(devices)).reshape(replicas, partitions)
    options.device_assignment = jaxlib.DeviceAssignment.create(grid)
    options.executable_build_options.device_assignment = options.device_assignment
    executable = devices[0].client.compile_and_load(code, jaxlib.DeviceList(tuple(devices)), options)
    mesh = jax.sharding.Mesh(np.array(devices), ("device",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("device"))
    arguments = []
    for array in inputs:
        parts = [jax.device_put(array[number], device) for number, device in enumerate(devices)]
        shape = (len(devices) * array.shape[1], *array.shape[2:])
        arguments.append(jax.make_array_from_single_device_arrays(shape, spread, parts))
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.stack([np.asarray(part) for part in parts]) for parts in results]


def main(path: str) -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    with open(path, "rb") as file:
        jobs = pickle.load(file)
    with open(path, "wb") as file:
        pickle.dump([_run(*job) for job in jobs], file)


if __name__ == "__main__":
    main(sys.argv[1])
