"""What the models share: placing values on a mesh, normalisation, cross-entropy, and the train step with Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Axis = str | tuple[str, ...] | None


class Placement:
    """Shapes and constraints with shardings over one mesh, by the axes that split each dimension."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh

    def sharding(self, *axes: Axis) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(*axes))

    def shape(self, shape: tuple[int, ...], *axes: Axis, dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.sharding(*axes))

    def stacked(self, layer: Any, count: int) -> Any:
        """The shapes of `count` equal layers in one array each, for a scan over them."""

        def stack(one: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
            assert isinstance(one.sharding, NamedSharding)
            return self.shape((count, *one.shape), None, *one.sharding.spec, dtype=one.dtype)

        return jax.tree.map(stack, layer)

    def constrain(self, value: jax.Array, *axes: Axis) -> jax.Array:
        return jax.lax.with_sharding_constraint(value, self.sharding(*axes))


def rms_norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    """Root-mean-square normalisation with f32 statistics."""
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-5)
    return (wide * scale).astype(x.dtype) * gain


def layer_norm(x: jax.Array, gain: jax.Array, bias: jax.Array) -> jax.Array:
    """Layer normalisation with f32 statistics."""
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-6)
    return (centred * scale).astype(x.dtype) * gain + bias


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean over all labels in f32; the label's logit is picked by a mask, which stays local where classes are split."""
    wide = logits.astype(jnp.float32)
    total = jax.nn.logsumexp(wide, axis=-1)
    picked = jnp.sum(wide * jax.nn.one_hot(labels, wide.shape[-1], dtype=jnp.float32), axis=-1)
    return jnp.mean(total - picked)


def lower_train_step(
    place: Placement, loss: Callable[..., jax.Array], weights: Any, *batch: jax.ShapeDtypeStruct
) -> jax.stages.Lowered:
    """Lower one step: value and gradient of the loss, then Adam with f32 moments sharded as the weights are."""

    def step(weights: Any, first: Any, second: Any, count: jax.Array, *batch: jax.Array) -> tuple[Any, ...]:
        value, gradient = jax.value_and_grad(loss)(weights, *batch)
        gradient = jax.tree.map(lambda g: g.astype(jnp.float32), gradient)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, gradient)
        count = count + 1
        rate = 3e-4 * jnp.sqrt(1 - 0.95**count) / (1 - 0.9**count)

        def update(w: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            wide = w.astype(jnp.float32)
            return (wide - rate * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * wide)).astype(w.dtype)

        return jax.tree.map(update, weights, first, second), first, second, count, value

    moments = jax.tree.map(lambda w: jax.ShapeDtypeStruct(w.shape, jnp.float32, sharding=w.sharding), weights)
    count = place.shape((), dtype=jnp.float32)
    shardings = jax.tree.map(lambda w: w.sharding, weights)
    scalar = place.sharding()
    jitted = jax.jit(step, out_shardings=(shardings, shardings, shardings, scalar, scalar))
    return jitted.lower(weights, moments, moments, count, *batch)
