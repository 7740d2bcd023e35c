"""A tensor-parallel MLP, partitioned by XLA: the program of this example and the script that regenerates its files.

    python examples/tp_mlp/tp_mlp.py

writes, beside this file, the module that enters XLA's partitioner (`before.hlo.txt`), the module that leaves it
(`after.hlo.txt`), and a broken twin of the latter that lacks the all-reduce (`broken.hlo.txt`). No accelerator is
needed: XLA partitions for eight devices that the host pretends to have.
"""

import os
import re
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HERE = Path(__file__).resolve().parent
BATCH, WIDTH, HIDDEN = 16, 24, 64


def mlp(x, w_in, b_in, w_out, b_out):
    """Two dense layers; the hidden dimension is split over the axis `model`, the batch over the axis `data`."""
    hidden = jax.nn.relu(x @ w_in + b_in)
    return hidden @ w_out + b_out


def dump(folder: str) -> None:
    """Compiles the program for a mesh of 2×4 devices and lets XLA write what its partitioner reads and returns."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))
    parameters = (
        ((BATCH, WIDTH), PartitionSpec("data", None)),
        ((WIDTH, HIDDEN), PartitionSpec(None, "model")),
        ((HIDDEN,), PartitionSpec("model")),
        ((HIDDEN, WIDTH), PartitionSpec("model", None)),
        ((WIDTH,), PartitionSpec(None)),
    )
    arguments = [
        jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec)) for shape, spec in parameters
    ]
    lowered = jax.jit(mlp, out_shardings=NamedSharding(mesh, PartitionSpec("data", None))).lower(*arguments)
    lowered.compile(compiler_options={"xla_dump_to": folder, "xla_dump_hlo_pass_re": "spmd-partitioning"})


def without_all_reduce(module: str) -> str:
    """The module as if the partitioner had forgotten its only all-reduce: each user reads the partial sum."""
    match = re.search(r"^  (%\S+) = \S+ all-reduce\((%\S+)\), .*\n", module, flags=re.MULTILINE)
    assert match is not None, "the partitioned module has no all-reduce"
    uses = re.escape(match[1]) + r"(?![\w.-])"
    return re.sub(uses, match[2], module.replace(match[0], ""))


def main() -> None:
    # The dumps name source files as JAX knows them; keep them free of the folder this repository lies in.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", re.escape(f"{HERE}{os.sep}"))
    jax.config.update("jax_enable_compilation_cache", False)
    with tempfile.TemporaryDirectory() as folder:
        dump(folder)
        (before,) = Path(folder).glob("*jit_mlp*before_spmd-partitioning*.txt")
        (after,) = Path(folder).glob("*jit_mlp*after_spmd-partitioning*.txt")
        (HERE / "before.hlo.txt").write_text(before.read_text())
        (HERE / "after.hlo.txt").write_text(after.read_text())
        (HERE / "broken.hlo.txt").write_text(without_all_reduce(after.read_text()))


if __name__ == "__main__":
    main()
