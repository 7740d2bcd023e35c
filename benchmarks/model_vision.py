"""Image models: a vision transformer and a residual convolutional network, as train steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from .model_parts import Placement, cross_entropy, layer_norm, lower_train_step
from .models import Size

Weights = dict[str, Any]
PATCH = 16
LAYOUT = ("NHWC", "HWIO", "NHWC")


def lower_vit(size: Size, mesh: Mesh) -> jax.stages.Lowered:
    """Patches by a strided convolution, layers of full attention, the mean over patches classified."""
    place = Placement(mesh)
    hidden, wide = size.hidden, size.feed_forward
    side = int(size.sequence**0.5)
    norm = {"gain": place.shape((hidden,)), "bias": place.shape((hidden,))}
    layer = {
        "norm_attention": norm,
        "qkv": place.shape((hidden, 3, size.heads, size.head), "fsdp", None, "tensor", None),
        "output": place.shape((size.heads, size.head, hidden), "tensor", None, "fsdp"),
        "norm_feed_forward": norm,
        "up": place.shape((hidden, wide), "fsdp", "tensor"),
        "up_bias": place.shape((wide,), "tensor"),
        "down": place.shape((wide, hidden), "tensor", "fsdp"),
        "down_bias": place.shape((hidden,)),
    }
    weights = {
        "patch": place.shape((PATCH, PATCH, 3, hidden), None, None, None, "fsdp"),
        "position": place.shape((side * side, hidden), None, "fsdp"),
        "layers": [layer] * size.layers,
        "norm": norm,
        "head": place.shape((hidden, size.vocabulary), "fsdp", "tensor"),
    }

    def apply(x: jax.Array, w: Weights) -> jax.Array:
        h = layer_norm(x, **w["norm_attention"])
        q, k, v = jnp.moveaxis(jnp.einsum("bsd,dtnh->bstnh", h, w["qkv"]), 2, 0)
        scores = jnp.einsum("bqnh,bsnh->bnqs", q, k).astype(jnp.float32) / size.head**0.5
        mixed = jnp.einsum("bnqs,bsnh->bqnh", jax.nn.softmax(scores, axis=-1).astype(x.dtype), v)
        x = x + place.constrain(jnp.einsum("bqnh,nhd->bqd", mixed, w["output"]), "fsdp", None, None)
        h = jax.nn.gelu(layer_norm(x, **w["norm_feed_forward"]) @ w["up"] + w["up_bias"])
        return x + place.constrain(h @ w["down"] + w["down_bias"], "fsdp", None, None)

    def loss(w: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
        patches = jax.lax.conv_general_dilated(images, w["patch"], (PATCH, PATCH), "VALID", dimension_numbers=LAYOUT)
        x = patches.reshape(size.batch, side * side, hidden) + w["position"]
        x = place.constrain(x, "fsdp", None, None)
        for layer in w["layers"]:
            x = apply(x, layer)
        return cross_entropy(jnp.mean(layer_norm(x, **w["norm"]), axis=1) @ w["head"], labels)

    images = place.shape((size.batch, side * PATCH, side * PATCH, 3), "fsdp", None, None, None)
    labels = place.shape((size.batch,), "fsdp", dtype=jnp.int32)
    return lower_train_step(place, loss, weights, images, labels)


STAGES = {50: (3, 4, 6, 3), 26: (2, 2, 2, 2), 14: (1, 1, 1, 1)}
"""Bottleneck blocks of each stage by the number of layers."""


def lower_convnet(size: Size, mesh: Mesh) -> jax.stages.Lowered:
    """A residual network with bottlenecks; normalisation over the whole batch, channels split by the tensor axis."""
    place = Placement(mesh)

    def convolution(window: int, features: int, outputs: int) -> Weights:
        return {
            "kernel": place.shape((window, window, features, outputs), None, None, None, "tensor"),
            "gain": place.shape((outputs,), "tensor", dtype=jnp.float32),
            "bias": place.shape((outputs,), "tensor", dtype=jnp.float32),
        }

    def apply(x: jax.Array, w: Weights, stride: int = 1) -> jax.Array:
        y = jax.lax.conv_general_dilated(x, w["kernel"], (stride, stride), "SAME", dimension_numbers=LAYOUT)
        wide = y.astype(jnp.float32)
        mean = jnp.mean(wide, axis=(0, 1, 2))
        variance = jnp.mean(wide * wide, axis=(0, 1, 2)) - mean * mean
        normal = (wide - mean) * jax.lax.rsqrt(variance + 1e-5) * w["gain"] + w["bias"]
        return place.constrain(normal.astype(x.dtype), "fsdp", None, None, "tensor")

    blocks: list[Weights] = []
    features = size.hidden
    strides: list[int] = []
    for stage, count in enumerate(STAGES[size.layers]):
        inner = size.hidden << stage
        for position in range(count):
            block = {
                "reduce": convolution(1, features, inner),
                "middle": convolution(3, inner, inner),
                "expand": convolution(1, inner, 4 * inner),
            }
            if position == 0:
                block["skip"] = convolution(1, features, 4 * inner)
            blocks.append(block)
            strides.append(2 if position == 0 and stage else 1)
            features = 4 * inner
    weights = {
        "stem": convolution(7, 3, size.hidden),
        "blocks": blocks,
        "head": place.shape((features, size.vocabulary), None, "tensor"),
    }

    def block(x: jax.Array, w: Weights, stride: int) -> jax.Array:
        y = jax.nn.relu(apply(x, w["reduce"]))
        y = apply(jax.nn.relu(apply(y, w["middle"], stride)), w["expand"])
        return jax.nn.relu(y + (apply(x, w["skip"], stride) if "skip" in w else x))

    def loss(w: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
        x = jax.nn.relu(apply(images, w["stem"], 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for weights, stride in zip(w["blocks"], strides, strict=True):
            x = block(x, weights, stride)
        return cross_entropy(jnp.mean(x, axis=(1, 2)) @ w["head"], labels)

    images = place.shape((size.batch, size.sequence, size.sequence, 3), "fsdp", None, None, None)
    labels = place.shape((size.batch,), "fsdp", dtype=jnp.int32)
    return lower_train_step(place, loss, weights, images, labels)
