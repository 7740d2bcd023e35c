"""Language models: a Llama train step, a DeepSeek-V3-structured mixture of experts, and decoding with a cache."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from .model_parts import Placement, cross_entropy, lower_train_step, rms_norm
from .models import Size

Weights = dict[str, Any]


def rotate(x: jax.Array, positions: jax.Array) -> jax.Array:
    """Rotary position embedding of [batch, sequence, heads, head], positions [sequence]."""
    half = x.shape[-1] // 2
    frequencies = 500000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = positions.astype(jnp.float32)[:, None, None] * frequencies
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    left, right = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1).astype(x.dtype)


def causal_softmax(scores: jax.Array, head: int) -> jax.Array:
    """Weights of attention over the last dimension, in f32, each query seeing its own position and earlier ones."""
    length = scores.shape[-1]
    visible = jnp.tril(jnp.ones((length, length), bool))
    scaled = jnp.where(visible, scores.astype(jnp.float32) / head**0.5, -1e30)
    return jax.nn.softmax(scaled, axis=-1).astype(scores.dtype)


def grouped_attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Causal attention in which groups of query heads share a key head; [batch, sequence, heads * head]."""
    batch, length, heads, head = q.shape
    grouped = q.reshape(batch, length, k.shape[2], heads // k.shape[2], head)
    weights = causal_softmax(jnp.einsum("bqkgh,bskh->bkgqs", grouped, k), head)
    return jnp.einsum("bkgqs,bskh->bqkgh", weights, v).reshape(batch, length, heads * head)


def swiglu(x: jax.Array, gate: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


# Llama ----------------------------------------------------------------------------------------------------------------


def llama_layer(place: Placement, size: Size) -> Weights:
    """Shapes of one layer: every matrix is split over both axes."""
    rows, columns = ("fsdp", "tensor"), ("tensor", "fsdp")
    hidden, heads, keys = size.hidden, size.heads * size.head, size.key_heads * size.head
    return {
        "norm_attention": place.shape((hidden,)),
        "query": place.shape((hidden, heads), *rows),
        "key": place.shape((hidden, keys), *rows),
        "value": place.shape((hidden, keys), *rows),
        "output": place.shape((heads, hidden), *columns),
        "norm_feed_forward": place.shape((hidden,)),
        "gate": place.shape((hidden, size.feed_forward), *rows),
        "up": place.shape((hidden, size.feed_forward), *rows),
        "down": place.shape((size.feed_forward, hidden), *columns),
    }


def embedding(place: Placement, size: Size) -> Weights:
    """Shapes of what all language models have around their layers; the vocabulary is split."""
    return {
        "embedding": place.shape((size.vocabulary, size.hidden), "tensor", "fsdp"),
        "norm": place.shape((size.hidden,)),
        "head": place.shape((size.hidden, size.vocabulary), "fsdp", "tensor"),
    }


def through_layers(apply: Any, x: jax.Array, layers: Any, *, scan: bool) -> jax.Array:
    """All layers, unrolled or as a scan whose body is computed again in the backward pass."""
    if scan:
        return jax.lax.scan(lambda x, layer: (jax.checkpoint(apply)(x, layer), None), x, layers)[0]
    for layer in layers:
        x = apply(x, layer)
    return x


def lower_llama(size: Size, mesh: Mesh) -> jax.stages.Lowered:
    place = Placement(mesh)
    layer = llama_layer(place, size)
    layers = place.stacked(layer, size.layers) if size.scan else [layer] * size.layers
    weights = {**embedding(place, size), "layers": layers}

    def apply(x: jax.Array, w: Weights) -> jax.Array:
        positions = jnp.arange(size.sequence)
        split = (*x.shape[:2], -1, size.head)
        h = rms_norm(x, w["norm_attention"])
        q = rotate((h @ w["query"]).reshape(split), positions)
        k = rotate((h @ w["key"]).reshape(split), positions)
        v = (h @ w["value"]).reshape(split)
        x = x + place.constrain(grouped_attention(q, k, v) @ w["output"], "fsdp", None, None)
        h = rms_norm(x, w["norm_feed_forward"])
        return x + place.constrain(swiglu(h, w["gate"], w["up"], w["down"]), "fsdp", None, None)

    def loss(w: Weights, tokens: jax.Array, labels: jax.Array) -> jax.Array:
        x = place.constrain(jnp.take(w["embedding"], tokens, axis=0), "fsdp", None, None)
        x = through_layers(apply, x, w["layers"], scan=size.scan)
        return cross_entropy(rms_norm(x, w["norm"]) @ w["head"], labels)

    tokens = place.shape((size.batch, size.sequence), "fsdp", None, dtype=jnp.int32)
    return lower_train_step(place, loss, weights, tokens, tokens)


# DeepSeek-V3 ----------------------------------------------------------------------------------------------------------


def latent_attention_weights(place: Placement, size: Size) -> Weights:
    """Queries, keys and values come from low-rank latents; one rotary key is shared by all heads."""
    keyed = size.heads * (size.head + size.rotary)
    return {
        "norm_attention": place.shape((size.hidden,)),
        "query_down": place.shape((size.hidden, size.query_rank), "fsdp", None),
        "query_norm": place.shape((size.query_rank,)),
        "query_up": place.shape((size.query_rank, keyed), "fsdp", "tensor"),
        "key_down": place.shape((size.hidden, size.key_rank), "fsdp", None),
        "key_rotary": place.shape((size.hidden, size.rotary), "fsdp", None),
        "key_norm": place.shape((size.key_rank,)),
        "key_up": place.shape((size.key_rank, size.heads * size.head), "fsdp", "tensor"),
        "value_up": place.shape((size.key_rank, size.heads * size.head), "fsdp", "tensor"),
        "output": place.shape((size.heads * size.head, size.hidden), "tensor", "fsdp"),
        "norm_feed_forward": place.shape((size.hidden,)),
    }


def latent_attention(x: jax.Array, w: Weights, size: Size) -> jax.Array:
    batch, length, _ = x.shape
    positions = jnp.arange(length)
    q = rms_norm(x @ w["query_down"], w["query_norm"]) @ w["query_up"]
    q = q.reshape(batch, length, size.heads, size.head + size.rotary)
    q_plain, q_rotary = q[..., : size.head], rotate(q[..., size.head :], positions)
    latent = rms_norm(x @ w["key_down"], w["key_norm"])
    k_plain = (latent @ w["key_up"]).reshape(batch, length, size.heads, size.head)
    k_rotary = rotate((x @ w["key_rotary"]).reshape(batch, length, 1, size.rotary), positions)[:, :, 0]
    v = (latent @ w["value_up"]).reshape(batch, length, size.heads, size.head)
    scores = jnp.einsum("bqnh,bsnh->bnqs", q_plain, k_plain) + jnp.einsum("bqnr,bsr->bnqs", q_rotary, k_rotary)
    weights = causal_softmax(scores, size.head + size.rotary)
    return jnp.einsum("bnqs,bsnh->bqnh", weights, v).reshape(batch, length, size.heads * size.head) @ w["output"]


def expert_weights(place: Placement, size: Size) -> Weights:
    """A router, the routed experts split over their axis, and one expert that every token passes."""
    up = place.shape((size.experts, size.hidden, size.expert_width), "expert", "fsdp", "tensor")
    shared = place.shape((size.hidden, size.expert_width), "fsdp", "tensor")
    return {
        "router": place.shape((size.hidden, size.experts), "fsdp", None),
        "gate": up,
        "up": up,
        "down": place.shape((size.experts, size.expert_width, size.hidden), "expert", "tensor", "fsdp"),
        "shared_gate": shared,
        "shared_up": shared,
        "shared_down": place.shape((size.expert_width, size.hidden), "tensor", "fsdp"),
    }


def mixture(place: Placement, x: jax.Array, w: Weights, size: Size) -> jax.Array:
    """Each token goes to its best experts while they have room; what overflows passes only the shared expert."""
    length = x.shape[1]
    capacity = length * size.chosen // size.experts
    affinity = jax.nn.sigmoid((x @ w["router"]).astype(jnp.float32))
    best, experts = jax.lax.top_k(affinity, size.chosen)
    best = best / jnp.sum(best, axis=-1, keepdims=True)
    choice = jax.nn.one_hot(experts, size.experts, dtype=jnp.float32)
    wanted = jnp.sum(choice, axis=2)
    place_in_expert = jnp.cumsum(wanted, axis=1) - wanted
    slot = jax.nn.one_hot(place_in_expert.astype(jnp.int32), capacity, dtype=x.dtype)
    dispatch = wanted.astype(x.dtype)[..., None] * slot
    combine = jnp.einsum("bsk,bske->bse", best, choice).astype(x.dtype)[..., None] * slot
    sent = jnp.einsum("bsec,bsd->ebcd", dispatch, x)
    sent = place.constrain(sent, "expert", "fsdp", None, None)
    hidden = jax.nn.silu(jnp.einsum("ebcd,edf->ebcf", sent, w["gate"])) * jnp.einsum("ebcd,edf->ebcf", sent, w["up"])
    answer = place.constrain(jnp.einsum("ebcf,efd->ebcd", hidden, w["down"]), "expert", "fsdp", None, None)
    routed = jnp.einsum("bsec,ebcd->bsd", combine, answer)
    return routed + swiglu(x, w["shared_gate"], w["shared_up"], w["shared_down"])


def lower_deepseek(size: Size, mesh: Mesh) -> jax.stages.Lowered:
    place = Placement(mesh)
    rows = (("fsdp", "expert"), None, None)
    attention = latent_attention_weights(place, size)
    wide = place.shape((size.hidden, size.feed_forward), "fsdp", "tensor")
    down = place.shape((size.feed_forward, size.hidden), "tensor", "fsdp")
    dense = {**attention, "gate": wide, "up": wide, "down": down}
    sparse = {**attention, **expert_weights(place, size)}
    count = size.layers - size.dense_layers
    weights = {
        **embedding(place, size),
        "dense": [dense] * size.dense_layers,
        "sparse": place.stacked(sparse, count) if size.scan else [sparse] * count,
    }

    def dense_layer(x: jax.Array, w: Weights) -> jax.Array:
        x = x + place.constrain(latent_attention(rms_norm(x, w["norm_attention"]), w, size), *rows)
        return x + place.constrain(swiglu(rms_norm(x, w["norm_feed_forward"]), w["gate"], w["up"], w["down"]), *rows)

    def sparse_layer(x: jax.Array, w: Weights) -> jax.Array:
        x = x + place.constrain(latent_attention(rms_norm(x, w["norm_attention"]), w, size), *rows)
        return x + place.constrain(mixture(place, rms_norm(x, w["norm_feed_forward"]), w, size), *rows)

    def loss(w: Weights, tokens: jax.Array, labels: jax.Array) -> jax.Array:
        x = place.constrain(jnp.take(w["embedding"], tokens, axis=0), *rows)
        x = through_layers(dense_layer, x, w["dense"], scan=False)
        x = through_layers(sparse_layer, x, w["sparse"], scan=size.scan)
        return cross_entropy(rms_norm(x, w["norm"]) @ w["head"], labels)

    tokens = place.shape((size.batch, size.sequence), *rows[:2], dtype=jnp.int32)
    return lower_train_step(place, loss, weights, tokens, tokens)


# decoding -------------------------------------------------------------------------------------------------------------


def lower_decode(size: Size, mesh: Mesh) -> jax.stages.Lowered:
    """One token for each sequence of a batch: keys and values are written to the caches, then all are attended to."""
    place = Placement(mesh)
    layers = place.stacked(llama_layer(place, size), size.layers)
    weights = {**embedding(place, size), "layers": layers}
    cache = place.shape(
        (size.layers, size.batch, size.sequence, size.key_heads, size.head), None, "fsdp", None, "tensor", None
    )

    def step(
        w: Weights, keys: jax.Array, values: jax.Array, tokens: jax.Array, position: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        seen = jnp.arange(size.sequence) <= position

        def apply(x: jax.Array, layer: tuple[Weights, jax.Array, jax.Array]) -> tuple[jax.Array, Any]:
            w, keys, values = layer
            split = (size.batch, 1, -1, size.head)
            h = rms_norm(x, w["norm_attention"])
            q = rotate((h @ w["query"]).reshape(split), position[None])
            k = rotate((h @ w["key"]).reshape(split), position[None])
            keys = jax.lax.dynamic_update_slice_in_dim(keys, k, position, axis=1)
            values = jax.lax.dynamic_update_slice_in_dim(values, (h @ w["value"]).reshape(split), position, axis=1)
            grouped = q.reshape(size.batch, size.key_heads, size.heads // size.key_heads, size.head)
            scores = jnp.einsum("bkgh,bskh->bkgs", grouped, keys).astype(jnp.float32) / size.head**0.5
            attended = jax.nn.softmax(jnp.where(seen, scores, -1e30), axis=-1).astype(x.dtype)
            mixed = jnp.einsum("bkgs,bskh->bkgh", attended, values).reshape(size.batch, 1, size.heads * size.head)
            x = x + place.constrain(mixed @ w["output"], "fsdp", None, None)
            h = rms_norm(x, w["norm_feed_forward"])
            return x + place.constrain(swiglu(h, w["gate"], w["up"], w["down"]), "fsdp", None, None), (keys, values)

        x = place.constrain(jnp.take(w["embedding"], tokens, axis=0), "fsdp", None, None)
        x, (keys, values) = jax.lax.scan(apply, x, (w["layers"], keys, values))
        logits = (rms_norm(x, w["norm"]) @ w["head"])[:, 0].astype(jnp.float32)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)[:, None], keys, values

    tokens = place.shape((size.batch, 1), "fsdp", None, dtype=jnp.int32)
    caches = cache.sharding
    jitted = jax.jit(step, out_shardings=(tokens.sharding, caches, caches))
    return jitted.lower(weights, cache, cache, tokens, place.shape((), dtype=jnp.int32))
