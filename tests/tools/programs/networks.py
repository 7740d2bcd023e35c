"""Networks: multilayer perceptrons, attention, losses, mixtures of experts and whole training steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from ..entry import M3, M8, M24_PERMUTED, M42, M222, Entry, entry, with_mesh


def _mlp(x, w1, w2):
    return jax.nn.gelu(x @ w1) @ w2


def _mlp_bias(x, w1, b1, w2, b2):
    return jnp.tanh(x @ w1 + b1) @ w2 + b2


def _gated(x, gate, up, down):
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


def _loss(w1, w2, x):
    return jnp.mean(_mlp(x, w1, w2) ** 2)


def _step(w1, w2, x):
    g1, g2 = jax.grad(_loss, (0, 1))(w1, w2, x)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


def _adam_step(w, m, v, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def _attention(q, k, v, mask: bool = False):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1] * 1.0)
    if mask:
        length = q.shape[1]
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)


def _causal(q, k, v):
    return _attention(q, k, v, mask=True)


def _grouped_query(q, k, v):
    return _attention(q, jnp.repeat(k, 2, axis=2), jnp.repeat(v, 2, axis=2))


def _block(x, wqkv, wo, w1, w2):
    batch, length, model = x.shape
    normal = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    q, k, v = (part.reshape(batch, length, 4, model // 4) for part in jnp.split(normal @ wqkv, 3, axis=-1))
    x = x + _causal(q, k, v).reshape(batch, length, model) @ wo
    return x + _mlp(x, w1, w2)


def _rotary(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 100.0 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate([low * cos - high * sin, low * sin + high * cos], -1)


def _cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)


def _cross_entropy_one_hot(logits, labels):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, 24), -1))


def _moe(x, gate, w):
    scores = jax.nn.softmax(x @ gate, -1)
    return jnp.einsum("te,td,edf->tf", scores, x, w)


def _moe_top1(x, gate, w):
    best = jnp.argmax(x @ gate, -1)
    return jnp.einsum("te,td,edf->tf", jax.nn.one_hot(best, 8), x, w)


@with_mesh
def _constrained(x, w1, w2):
    hidden = jax.lax.with_sharding_constraint(jax.nn.relu(x @ w1), P("x", "y"))
    return jax.lax.with_sharding_constraint(hidden @ w2, P("x"))


@with_mesh
def _sequence_parallel(x, w1, w2):
    hidden = jax.lax.with_sharding_constraint(x, P(None, None))
    out = jax.nn.relu(hidden @ w1) @ w2
    return jax.lax.with_sharding_constraint(out, P("y"))


@with_mesh
def _manual_matmul(a, b):
    def part(a, b):
        return jax.lax.psum(a @ b, "y")

    return jax.shard_map(part, in_specs=(P("x", "y"), P("y")), out_specs=P("x"))(a, b)


@with_mesh
def _manual_ring(a):
    def part(a):
        return a + jax.lax.ppermute(a, "y", [(i, (i + 1) % 4) for i in range(4)])

    return jax.shard_map(part, in_specs=P("x", "y"), out_specs=P("x", "y"))(a)


@with_mesh
def _manual_scatter(a):
    def part(a):
        return jax.lax.psum_scatter(a, "y", scatter_dimension=0, tiled=True)

    return jax.shard_map(part, in_specs=P(None, "y"), out_specs=P("y"))(a)


@with_mesh
def _manual_exchange(a):
    def part(a):
        return jax.lax.all_to_all(a, "y", split_axis=1, concat_axis=0, tiled=True)

    return jax.shard_map(part, in_specs=P("y"), out_specs=P(None, "y"))(a)


_LONG = (2, 8, 4, 6)
_W1, _W2 = ((16, 32), P(None, "y")), ((32, 16), P("y"))
_HEADS, _BATCH, _SEQ = P(None, None, "y"), P("x"), P(None, "y")

ENTRIES: tuple[Entry, ...] = (
    entry("mlp_tensor", _mlp, [((8, 16), P("x")), _W1, _W2], P("x")),
    entry("mlp_tensor_scattered", _mlp, [((8, 16), P("x")), _W1, _W2], P("x", "y")),
    entry("mlp_sequence", _mlp, [((8, 16), P("y")), _W1, _W2], P("y")),
    entry("mlp_fsdp", _mlp, [((8, 16), P("x")), ((16, 32), P("x")), ((32, 16), P("x"))], P("x")),
    entry("mlp_fsdp_tensor", _mlp, [((8, 16), P("x")), ((16, 32), P("x", "y")), ((32, 16), P("y", "x"))], P("x")),
    entry(
        "mlp_two_dimensional",
        _mlp,
        [((8, 16), P("x", "y")), ((16, 32), P("y", "x")), ((32, 16), P("x", "y"))],
        P("x", "y"),
    ),
    entry("mlp_unused_axis", _mlp, [((8, 16), P("x")), _W1, _W2], P("x"), M222),
    entry("mlp_permuted", _mlp, [((8, 16), P("x")), _W1, _W2], P("x"), M24_PERMUTED),
    entry("mlp_tall", _mlp, [((8, 16), P("x")), _W1, _W2], P("x"), M42),
    entry("mlp_three", _mlp, [((6, 12), P()), ((12, 18), P(None, "x")), ((18, 12), P("x"))], P(), M3),
    entry("mlp_bf16", _mlp, [((8, 16), P("x"), "bfloat16"), (*_W1, "bfloat16"), (*_W2, "bfloat16")], P("x")),
    entry("mlp_bias", _mlp_bias, [((8, 16), P("x")), _W1, ((32,), P("y")), _W2, ((16,), P())], P("x")),
    entry("mlp_gated", _gated, [((8, 16), P("x")), _W1, _W1, _W2], P("x")),
    entry("mlp_constrained", _constrained, [((8, 16), P()), ((16, 32), P()), ((32, 16), P())]),
    entry("mlp_sequence_parallel", _sequence_parallel, [((8, 16), P("y")), _W1, _W2]),
    entry("loss_data", _loss, [((16, 32), P()), ((32, 16), P()), ((8, 16), P("x"))], P()),
    entry("step_data", _step, [((16, 32), P()), ((32, 16), P()), ((8, 16), P(("x", "y")))], (P(), P())),
    entry("step_tensor", _step, [_W1, _W2, ((8, 16), P("x"))], (_W1[1], _W2[1])),
    entry("step_fsdp", _step, [((16, 32), P("x")), ((32, 16), P("x")), ((8, 16), P("x"))], (P("x"), P("x")), M8),
    entry(
        "adam_zero",
        _adam_step,
        [((16, 8), P()), ((16, 8), P("x")), ((16, 8), P("x")), ((8, 16), P("x"))],
        (P(), P("x"), P("x")),
        M8,
    ),
    entry("attention_heads", _attention, [(_LONG, _HEADS)] * 3, _HEADS),
    entry("attention_batch", _causal, [(_LONG, _BATCH)] * 3, _BATCH),
    entry("attention_queries", _causal, [(_LONG, _SEQ), (_LONG, P()), (_LONG, P())], _SEQ),
    entry("attention_keys", _attention, [(_LONG, P()), (_LONG, _SEQ), (_LONG, _SEQ)], P()),
    entry("attention_all_sequence", _causal, [(_LONG, _SEQ)] * 3, _SEQ),
    entry("attention_batch_heads", _causal, [(_LONG, P("x", None, "y"))] * 3, P("x", None, "y")),
    entry("attention_features", _attention, [(((2, 8, 4, 8)), P(None, None, None, "y"))] * 3, P()),
    entry("attention_grouped", _grouped_query, [((2, 8, 8, 6), _HEADS), (_LONG, _HEADS), (_LONG, _HEADS)], _HEADS),
    entry(
        "attention_gradient", jax.grad(lambda q, k, v: jnp.sum(_causal(q, k, v) ** 2)), [(_LONG, _HEADS)] * 3, _HEADS
    ),
    entry(
        "transformer_block",
        _block,
        [
            ((2, 8, 16), P("x")),
            ((16, 48), P(None, "y")),
            ((16, 16), P("y")),
            ((16, 32), P(None, "y")),
            ((32, 16), P("y")),
        ],
        P("x"),
    ),
    entry("rotary_heads", _rotary, [(_LONG, P("x", None, "y"))], P("x", None, "y")),
    entry("rotary_sequence", _rotary, [(_LONG, _SEQ)], _SEQ),
    entry("cross_entropy_vocabulary", _cross_entropy_one_hot, [((8, 24), P("x", "y")), ((8,), P("x"), "int32")], P()),
    entry(
        "cross_entropy_take",
        _cross_entropy,
        [((8, 24), P("x", "y")), ((8,), P("x"), "int32")],
        P(),
    ),
    entry(
        "cross_entropy_gradient",
        jax.grad(_cross_entropy_one_hot),
        [((8, 24), P("x", "y")), ((8,), P("x"), "int32")],
        P("x", "y"),
    ),
    entry("moe_soft", _moe, [((8, 6), P("x")), ((6, 8), P()), ((8, 6, 10), P("y"))], P("x")),
    entry("moe_top1", _moe_top1, [((8, 6), P("x")), ((6, 8), P()), ((8, 6, 10), P("y"))], P("x")),
    entry("manual_matmul", _manual_matmul, [((8, 16), P("x", "y")), ((16, 6), P("y"))], P("x")),
    entry("manual_ring", _manual_ring, [((8, 16), P("x", "y"))], P("x", "y")),
    entry("manual_exchange", _manual_exchange, [((8, 16), P("y"))], P(None, "y")),
    entry("manual_scatter", _manual_scatter, [((8, 16), P(None, "y"))], P("y")),
)
