"""Train steps of ResNet-50 and ViT-L written with flax and optax, lowered with shapes only and compiled with dumps.

`python -m benchmarks.flax_models NAME FOLDER [AXIS=N]...` runs in an environment that has flax and optax; the package
itself never needs them. The step is data parallel with its parameters cut over both axes (FSDP), and tensor parallel
where a parameter's last dimension can be cut.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from typing import Any

from .compiling import compile_with_dumps

AXES = {"fsdp": 64, "tensor": 4}
BATCH = 1024
CLASSES = 1000
PIXELS = 224
STAGES = (3, 4, 6, 3)
"""Bottleneck blocks of ResNet-50."""


def _resnet() -> Any:
    import jax.numpy as jnp
    from flax import linen as nn

    class Block(nn.Module):
        width: int
        stride: int

        @nn.compact
        def __call__(self, x: Any, train: bool) -> Any:
            def norm(y: Any) -> Any:
                return nn.BatchNorm(use_running_average=not train, momentum=0.9, dtype=jnp.bfloat16)(y)

            y = nn.relu(norm(nn.Conv(self.width, (1, 1), use_bias=False, dtype=jnp.bfloat16)(x)))
            strides = (self.stride, self.stride)
            y = nn.relu(norm(nn.Conv(self.width, (3, 3), strides, use_bias=False, dtype=jnp.bfloat16)(y)))
            y = norm(nn.Conv(4 * self.width, (1, 1), use_bias=False, dtype=jnp.bfloat16)(y))
            if x.shape != y.shape:
                x = norm(nn.Conv(4 * self.width, (1, 1), strides, use_bias=False, dtype=jnp.bfloat16)(x))
            return nn.relu(x + y)

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x: Any, train: bool) -> Any:
            x = nn.Conv(64, (7, 7), (2, 2), use_bias=False, dtype=jnp.bfloat16)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9, dtype=jnp.bfloat16)(x))
            x = nn.max_pool(x, (3, 3), (2, 2), "SAME")
            for stage, count in enumerate(STAGES):
                for block in range(count):
                    x = Block(64 << stage, 2 if stage and not block else 1)(x, train)
            return nn.Dense(CLASSES, dtype=jnp.float32)(x.mean((1, 2)))

    return ResNet()


def _vit() -> Any:
    import jax.numpy as jnp
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = nn.LayerNorm(dtype=jnp.bfloat16)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=16, dtype=jnp.bfloat16)(y, y)
            y = nn.gelu(nn.Dense(4096, dtype=jnp.bfloat16)(nn.LayerNorm(dtype=jnp.bfloat16)(x)))
            return x + nn.Dense(1024, dtype=jnp.bfloat16)(y)

    class ViT(nn.Module):
        @nn.compact
        def __call__(self, x: Any, train: bool) -> Any:
            x = nn.Conv(1024, (16, 16), (16, 16), dtype=jnp.bfloat16)(x)
            x = x.reshape(x.shape[0], -1, 1024)
            x = x + self.param("positions", nn.initializers.normal(0.02), (1, x.shape[1], 1024))
            for _ in range(24):
                x = Block()(x)
            return nn.Dense(CLASSES, dtype=jnp.float32)(nn.LayerNorm(dtype=jnp.float32)(x).mean(1))

    return ViT()


MODELS = {"flax-resnet-50": _resnet, "flax-vit-l": _vit}


def lower(name: str, axes: dict[str, int]) -> Any:
    """Lower a train step (forward, backward, AdamW) of one model on forced CPU devices."""
    flags = os.environ.get("XLA_FLAGS", "")
    devices = math.prod(axes.values())
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}".strip()
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from jax.sharding import NamedSharding, PartitionSpec

    jax.config.update("jax_enable_compilation_cache", False)
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")).reshape(tuple(axes.values())), tuple(axes))
    model, optimizer = MODELS[name](), optax.adamw(1e-3)
    images = jax.ShapeDtypeStruct((BATCH, PIXELS, PIXELS, 3), jnp.float32)
    labels = jax.ShapeDtypeStruct((BATCH,), jnp.int32)
    variables = jax.eval_shape(lambda key, x: model.init(key, x, train=True), jax.random.key(0), images)

    def loss_of(parameters: Any, rest: Any, x: Any, y: Any) -> Any:
        logits, changed = model.apply({"params": parameters, **rest}, x, train=True, mutable=list(rest))
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), changed

    def train_step(parameters: Any, rest: Any, state: Any, x: Any, y: Any) -> Any:
        (loss, changed), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, rest, x, y)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), changed, state, loss

    def placed(leaf: Any) -> Any:
        spec: list[str | None] = [None] * len(leaf.shape)
        for axis in ("tensor", "fsdp"):
            free = [k for k in reversed(range(len(spec))) if spec[k] is None and leaf.shape[k] % axes[axis] == 0]
            if free and math.prod(leaf.shape) > CLASSES:
                spec[free[0]] = axis
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, PartitionSpec(*spec)))

    parameters = variables["params"]
    rest = {key: value for key, value in variables.items() if key != "params"}
    state = jax.eval_shape(optimizer.init, parameters)
    data = NamedSharding(mesh, PartitionSpec("fsdp"))
    x, y = (jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=data) for leaf in (images, labels))
    given = [jax.tree.map(placed, tree) for tree in (parameters, rest, state)]
    return jax.jit(train_step, donate_argnums=(0, 1, 2)).lower(*given, x, y)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flax_models", description="Compile one flax model.")
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("folder", help="where XLA's dumps go")
    parser.add_argument("axes", nargs="*", metavar="AXIS=N", help=f"sizes of the mesh axes (default {AXES})")
    options = parser.parse_args(arguments)
    chosen = dict(AXES)
    for text in options.axes:
        axis, _, size = text.partition("=")
        if axis not in AXES or not size.isdigit():
            parser.error(f"no axis '{text}'")
        chosen[axis] = int(size)
    lowered = lower(options.name, chosen)
    compile_with_dumps(lowered, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
