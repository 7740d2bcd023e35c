"""Runs one StableHLO module as replicas on XLA's CPU back end. Needs jax and numpy only.

Replay scripts hold the text of this file, and `confirm.py` runs it as a process of its own: XLA may abort, and it must
be told the number of devices before it starts.
"""

import os
import sys


def force_devices(count):
    """Gives this process as many CPU devices; to be called before jax is imported."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if "host_platform_device_count" not in flag]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"--xla_force_host_platform_device_count={count}"])
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def run_replicas(module, replicas, inputs):
    """The results [replicas, *shape] of a module (StableHLO bytecode) on inputs [replicas, *shape].

    A program of N partitions can be run as N replicas once its collectives name their groups explicitly; as partitions
    XLA would refuse a module that is partitioned already.
    """
    import jax
    import numpy as np
    from jaxlib import xla_client

    if b"lapack" in module:
        jax.numpy.linalg.cholesky(np.eye(2, dtype=np.float32))  # loads LAPACK, which a bare module does not
    devices = jax.devices("cpu")[:replicas]
    options = xla_client.CompileOptions()
    options.num_replicas = replicas
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(replicas).reshape(replicas, 1))
    executable = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
    mesh = jax.sharding.Mesh(np.array(devices), ("replica",))
    arguments = []
    for array in inputs:
        parts = [jax.device_put(array[d], device) for d, device in enumerate(devices)]
        # one array for all devices, without the leading axis that stands for them
        spec = jax.sharding.PartitionSpec("replica") if array.ndim > 1 else jax.sharding.PartitionSpec()
        shape = (replicas * array.shape[1], *array.shape[2:]) if array.ndim > 1 else ()
        sharding = jax.sharding.NamedSharding(mesh, spec)
        arguments.append(jax.make_array_from_single_device_arrays(shape, sharding, parts))
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.stack([np.asarray(part) for part in parts]) for parts in results]


def _serve():
    """Runs what a pickled list of (module, replicas, inputs) on stdin asks for; answers one result after the other."""
    import pickle

    reply_to = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs = pickle.loads(sys.stdin.buffer.read())
    force_devices(max(replicas for _, replicas, _ in jobs))
    import jax
    import ml_dtypes  # noqa: F401  (gives numpy the narrow float types)

    jax.config.update("jax_enable_x64", True)
    for job in jobs:
        try:
            answer = ("results", run_replicas(*job))
        except Exception as error:
            answer = ("failed", f"{type(error).__name__}: {error}".splitlines()[0])
        pickle.dump(answer, reply_to)
        reply_to.flush()


if __name__ == "__main__":
    _serve()
