"""Lowers a train step of MaxText, with shapes only, and compiles it with XLA's dumps before and after partitioning.

`python -m benchmarks.maxtext MODEL FOLDER [KEY=VALUE]...` runs in an environment that has MaxText (README.md of this
folder); the package itself never needs it. KEY=VALUE are MaxText's own settings, such as `ici_fsdp_parallelism=64`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from .compiling import compile_with_dumps

DEVICES = 512

SETTINGS = {
    "run_name": "shardproof",
    "hardware": "cpu",
    "dataset_type": "synthetic",
    "enable_checkpointing": "false",
    "attention": "dot_product",
    "ici_fsdp_parallelism": "64",
    "ici_tensor_parallelism": "8",
    "skip_jax_distributed_system": "true",
    "log_config": "false",
    "per_device_batch_size": "1",
}
"""What holds for every model: nothing that only an accelerator or a store of files has."""


def lower(model: str, settings: dict[str, str], devices: int) -> Any:
    """Lower the train step of a model of MaxText's list on so many CPU devices, as its `train_compile` does."""
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}".strip()
    import jax
    import maxtext
    from flax.core.spmd import logical_axis_rules
    from maxtext.configs import pyconfig
    from maxtext.trainers.pre_train import train, train_compile
    from maxtext.utils import maxtext_utils, sharding

    jax.config.update("jax_enable_compilation_cache", False)
    base = Path(maxtext.__file__).parent / "configs" / "base.yml"
    chosen = {"model_name": model, **SETTINGS, **settings}
    config = pyconfig.initialize(["train", str(base), *(f"{key}={value}" for key, value in chosen.items())])
    mesh = jax.sharding.Mesh(maxtext_utils.create_device_mesh(config, jax.devices("cpu")), config.mesh_axes)
    arguments, named, state, _, graph = train_compile.get_shaped_inputs(mesh, config)
    parameters, state = sharding.maybe_update_params_sharding_with_opt(config, state)
    given = sharding.build_zero1_input_state_mesh_shardings(config, state, parameters)
    data = sharding.get_input_data_sharding(config, mesh)
    step, in_shardings, out_shardings, static, donated = maxtext_utils.get_functional_train_with_signature(
        train.train_step, data, given, graph, config, parameters
    )
    with jax.set_mesh(mesh), logical_axis_rules(config.logical_axis_rules):
        jitted = jax.jit(
            step,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static,
            donate_argnums=donated,
        )
        return jitted.lower(*arguments, **named)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maxtext", description="Compile one model of MaxText.")
    parser.add_argument("model", help="a name of MaxText's list, such as 'llama3.1-405b'")
    parser.add_argument("folder", help="where XLA's dumps go")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of MaxText")
    parser.add_argument("--devices", type=int, default=DEVICES, metavar="N")
    options = parser.parse_args(arguments)
    try:
        settings = dict(text.split("=", 1) for text in options.settings)
    except ValueError:
        parser.error("settings have the form KEY=VALUE")
    lowered = lower(options.model, settings, options.devices)
    compile_with_dumps(lowered, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
