"""Proves what XLA makes of optax's and flax's functions: `python -m benchmarks.libraries [NAME]...`.

For an environment that has optax and flax; the package itself needs neither. A step of every optimizer on a small model
whose parameters are cut over both axes; every loss that takes the arguments tried, and its gradient; every layer and
its gradient, in two layouts of its parameters. What JAX wrote is compared with the partitioned module (`stages="all"`).
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .named import is_meant

Program = tuple[str, Callable[..., Any], tuple[Any, ...]]

RATE = 1e-3
SHAPES = {"w": (16, 32), "v": (32, 16), "b": (32,), "g": (16,)}
CUTS = {"w": ("data", "model"), "v": ("model", "data"), "b": ("model",), "g": ()}


class Layouts:
    """Shapes with shardings on a mesh of 4 × 2 devices of the host."""

    def __init__(self) -> None:
        import jax
        import numpy as np

        self.jax, self.mesh = jax, jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))

    def of(self, shape: Sequence[int], *axes: Any, dtype: str = "float32") -> Any:
        sharding = self.jax.NamedSharding(self.mesh, self.jax.sharding.PartitionSpec(*axes))
        return self.jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding)

    def last(self, leaf: Any) -> Any:
        """The last dimension that 8 divides over all devices; vectors whole."""
        axes: list[Any] = [None] * len(leaf.shape)
        for place in range(len(axes) - 1, -1, -1):
            if len(axes) > 1 and leaf.shape[place] % 8 == 0:
                axes[place] = ("model", "data")
                break
        return self.of(leaf.shape, *axes, dtype=leaf.dtype)

    def both(self, leaf: Any) -> Any:
        """The last two dimensions over one axis each, as far as these divide them."""
        axes: list[Any] = [None] * len(leaf.shape)
        if len(axes) > 1:
            axes[-1] = "model" if leaf.shape[-1] % 2 == 0 else None
            axes[-2] = "data" if leaf.shape[-2] % 4 == 0 else None
        return self.of(leaf.shape, *axes, dtype=leaf.dtype)


def optimizers(layouts: Layouts) -> Iterator[Program]:
    """A step of each optimizer that can be made of a learning rate, or of nothing."""
    import jax
    import jax.numpy as jnp
    import optax

    parameters = {name: layouts.of(SHAPES[name], *CUTS[name]) for name in SHAPES}
    same_shape = {leaf.shape: leaf for leaf in parameters.values()}
    batch = layouts.of((32, 16), "data")

    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = jax.nn.gelu(x @ p["w"] + p["b"])
        return jnp.mean(((hidden @ p["v"]) * p["g"] - y) ** 2)

    def step(optimizer: Any) -> Callable[..., Any]:
        def stepped(p: Any, state: Any, x: Any, y: Any) -> Any:
            value, gradients = jax.value_and_grad(loss)(p, x, y)
            more = {"value": value} if isinstance(optimizer, optax.GradientTransformationExtraArgs) else {}
            updates, state = optimizer.update(gradients, state, p, **more)
            return optax.apply_updates(p, updates), state, value

        return stepped

    made: dict[str, Any] = {
        "clip_by_global_norm(1.0)": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(RATE)),
        "apply_if_finite": optax.apply_if_finite(optax.adam(RATE), 3),
        "MultiSteps": optax.MultiSteps(optax.adam(RATE), 4).gradient_transformation(),
        "warmup_cosine": optax.adamw(optax.warmup_cosine_decay_schedule(0.0, RATE, 10, 100)),
    }
    for module in (optax, optax.contrib):
        for name, maker in inspect.getmembers(module, inspect.isfunction):
            for arguments in ((), (RATE,)):
                try:
                    found = maker(*arguments)
                except Exception:  # other functions stand in these modules, too
                    continue
                if isinstance(found, optax.GradientTransformation):
                    made.setdefault(name, found)
                    break
    for name, optimizer in sorted(made.items()):
        try:
            state = jax.eval_shape(optimizer.init, parameters)
            state = jax.tree.map(lambda leaf: same_shape.get(leaf.shape) or layouts.of(leaf.shape), state)
            shardings = jax.tree.map(lambda leaf: leaf.sharding, (parameters, state))
            function = jax.jit(step(optimizer), out_shardings=(*shardings, None))
            function.lower(parameters, state, batch, batch)
        except Exception:  # those that need a line search or more of the loss
            continue
        yield f"optax {name}", function, (parameters, state, batch, batch)


def losses(layouts: Layouts) -> Iterator[Program]:
    """Each loss of the arguments that it takes, and its gradient by the first one."""
    import jax
    import jax.numpy as jnp
    from optax import losses as module

    rows, vector = layouts.of((32, 16), "data", "model"), layouts.of((32,), "data")
    labels = layouts.of((32,), "data", dtype="int32")
    forms = {
        "rows, rows": (rows, rows),
        "rows, labels": (rows, labels),
        "rows": (rows,),
        "vectors": (vector, vector),
        "rows, rows, vector": (rows, rows, vector),
        "vectors, labels": (vector, vector, labels),
    }
    for name, loss in inspect.getmembers(module, inspect.isfunction):
        for form, arguments in forms.items():

            def mean(*given: Any, loss: Callable[..., Any] = loss) -> Any:
                return jnp.mean(loss(*given))

            for kind, function in (("", jax.jit(mean)), (" gradient", jax.jit(jax.grad(mean)))):
                try:
                    function.lower(*arguments)
                except Exception:  # a loss of other arguments
                    continue
                yield f"optax {name}({form}){kind}", function, arguments


def layers(layouts: Layouts) -> Iterator[Program]:
    """Each layer, and the gradient of a function of its result by parameters and inputs, in two layouts."""
    import jax
    import jax.numpy as jnp
    from flax import linen as nn

    matrix, sequence = layouts.of((16, 32), "data"), layouts.of((16, 8, 32), "data")
    image, tokens = layouts.of((16, 8, 8, 16), "data"), layouts.of((16, 8), "data", dtype="int32")
    made = {
        "Dense": (nn.Dense(64), matrix),
        "DenseGeneral": (nn.DenseGeneral((4, 8)), sequence),
        "Einsum": (nn.Einsum((32, 64), "btd,df->btf"), sequence),
        "Embed": (nn.Embed(64, 32), tokens),
        "Conv": (nn.Conv(32, (3, 3)), image),
        "Conv strided": (nn.Conv(32, (3, 3), strides=2), image),
        "Conv grouped": (nn.Conv(32, (3, 3), feature_group_count=4), image),
        "Conv causal": (nn.Conv(32, (3,), padding="CAUSAL"), sequence),
        "Conv circular": (nn.Conv(32, (3,), padding="CIRCULAR"), sequence),
        "ConvTranspose": (nn.ConvTranspose(32, (3, 3)), image),
        "ConvLocal": (nn.ConvLocal(8, (3,)), sequence),
        "LayerNorm": (nn.LayerNorm(), sequence),
        "RMSNorm": (nn.RMSNorm(), sequence),
        "GroupNorm": (nn.GroupNorm(4), image),
        "InstanceNorm": (nn.InstanceNorm(), image),
        "BatchNorm": (nn.BatchNorm(use_running_average=False), image),
        "WeightNorm": (nn.WeightNorm(nn.Dense(16)), matrix),
        "MultiHeadDotProductAttention": (nn.MultiHeadDotProductAttention(4, qkv_features=32), sequence),
        "attention, normalized": (nn.MultiHeadDotProductAttention(4, qkv_features=32, normalize_qk=True), sequence),
        "LSTMCell": (nn.RNN(nn.LSTMCell(32)), sequence),
        "OptimizedLSTMCell": (nn.RNN(nn.OptimizedLSTMCell(32)), sequence),
        "GRUCell": (nn.RNN(nn.GRUCell(32)), sequence),
        "MGUCell": (nn.RNN(nn.MGUCell(32)), sequence),
        "SimpleCell": (nn.RNN(nn.SimpleCell(32)), sequence),
        "Bidirectional": (nn.Bidirectional(nn.RNN(nn.GRUCell(16)), nn.RNN(nn.GRUCell(16))), sequence),
        "ConvLSTMCell": (nn.RNN(nn.ConvLSTMCell(8, (3, 3))), layouts.of((16, 4, 8, 8, 4), "data")),
        "PReLU": (nn.PReLU(), matrix),
        "Dropout": (nn.Dropout(0.1, deterministic=False), matrix),
    }
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    for name, (layer, inputs) in made.items():
        variables = jax.eval_shape(lambda layer=layer, inputs=inputs: layer.init(keys, jnp.zeros_like(inputs)))
        changed = [kind for kind in variables if kind != "params"]

        def forward(given: Any, x: Any, layer: Any = layer, changed: Any = changed) -> Any:
            return layer.apply(given, x, rngs={"dropout": jax.random.key(1)}, mutable=changed)[0]

        def backward(given: Any, x: Any, forward: Any = forward) -> Any:
            def loss(parameters: Any, x: Any) -> Any:
                return jnp.mean(jnp.tanh(forward({**given, "params": parameters}, x)) ** 2)

            by = (0, 1) if jnp.issubdtype(x.dtype, jnp.floating) else 0
            return jax.grad(loss, by)(given.get("params", {}), x)

        for layout in (layouts.last, layouts.both):
            cut = jax.tree.map(layout, variables)
            yield f"flax {name}, {layout.__name__}", jax.jit(forward), (cut, inputs)
            yield f"flax {name}, {layout.__name__}, gradient", jax.jit(backward), (cut, inputs)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.libraries", description="Prove what XLA makes of optax's and flax's functions."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs whose name contains one of these")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds a program (default 60)")
    options = parser.parse_args(arguments)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    warnings.filterwarnings("ignore")
    import shardproof

    layouts, counts = Layouts(), Counter[str]()
    for group in (optimizers, losses, layers):
        for name, function, given in group(layouts):
            if not is_meant(name, options.names):
                continue
            report = shardproof.validate(function, *given, timeout=options.timeout)
            theory = f" ({report.theory.value})" if report.theory is not None else ""
            print(f"{name:60} {report.verdict.value}{theory} {report.stats.seconds:.2f} s", flush=True)
            counts[f"{name.partition(' ')[0]} {report.verdict.value}"] += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 0 if all(what.endswith("PROVED") and "NOT" not in what for what in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
