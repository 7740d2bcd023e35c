"""Broken twins of the examples: one edit each of the example's own text, and the kind of error that it stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Twin:
    """Text of an example that stands in it once, what stands there instead, and where a report has to point.

    The place is the line of the edit, unless `at` is the text of another line: what a missing operation leaves wrong
    shows where its value is used.
    """

    kind: str
    example: str
    old: str
    new: str
    at: str = ""
    function: str = "sharded"
    theory: str = ""
    """The theory that ignores the error, for one of precision: without it there is no proof, and nothing is refuted."""


MLP, BATCH_NORM, ULYSSES = "tensor_parallel_mlp", "sync_batch_norm", "ulysses_attention"
VOCABULARY, FSDP, EXPERTS = "vocabulary_parallel", "fsdp_adam", "expert_parallel"
ATTENTION, UPDATE = "tensor_parallel_attention", "embedding_update"
RING, HALO, PIPELINE = "ring_matmul", "halo_convolution", "pipeline"
UNEVEN, ACCUMULATION, DROPOUT = "uneven_softmax", "gradient_accumulation", "dropout"

_PRODUCT = 'jax.lax.psum(hidden @ w_out, "model") + b_out'
_SCATTER = 'jax.lax.psum_scatter(grad, "data", tiled=True)'
_OWN = 'jax.lax.axis_index("data") * (grad.shape[0] // 4), grad.shape[0] // 4'
_BACK = 'jax.lax.all_to_all(out, "expert", split_axis=1, concat_axis=0, tiled=True)'
_HEADS = 'jax.lax.all_to_all(x, "seq", split_axis=1, concat_axis=0, tiled=True)'
_SEQUENCE = 'jax.lax.all_to_all(out, "seq", split_axis=0, concat_axis=1, tiled=True)'
_TOTAL = 'jax.lax.psum(jnp.exp(scores - top[:, None]).sum(axis=1), "vocab")'
_SUM = "total + jax.grad(squared_error)(weights, *batch)"
_UPDATE = "(me + direction * step) % DEVICES"

TWINS = (
    Twin("K1", MLP, _PRODUCT, "hidden @ w_out + b_out"),
    Twin(
        "K1",
        VOCABULARY,
        'jax.lax.psum(rows(table, words - start), "vocab")',
        "rows(table, words - start)",
        at="scores = hidden @ table.T",
    ),
    Twin(
        "K2", FSDP, _SCATTER, f"jax.lax.dynamic_slice_in_dim(grad, {_OWN})", at="error, backward = ", function="by_hand"
    ),
    Twin("K3", MLP, _PRODUCT, 'jax.lax.psum(jax.lax.psum(hidden @ w_out, "model"), "model") + b_out'),
    Twin(
        "K3",
        FSDP,
        'jax.lax.psum(error, "data")',
        'jax.lax.psum(jax.lax.psum(error, "data"), "data")',
        function="by_hand",
    ),
    Twin("K4", MLP, _PRODUCT, 'jax.lax.all_gather(hidden @ w_out, "model")[0] + b_out'),
    Twin("K5", MLP, _PRODUCT, 'jax.lax.pmean(hidden @ w_out, "model") + b_out'),
    Twin("K6", VOCABULARY, _TOTAL, _TOTAL.replace("psum", "pmax")),
    Twin("K7", MLP, _PRODUCT, 'jax.lax.psum(hidden @ w_out, "model", axis_index_groups=[[0, 1], [2, 3]]) + b_out'),
    Twin(
        "K8",
        FSDP,
        'jax.lax.all_gather(param, "data", tiled=True)',
        'jax.lax.all_gather(param, "data", axis=1, tiled=True).reshape(4 * len(param), -1)',
        at="error, backward = ",
        function="by_hand",
    ),
    Twin("K9", ULYSSES, _SEQUENCE, 'jax.lax.all_to_all(out, "seq", 0, 0, tiled=True).reshape(q.shape)'),
    Twin(
        "K10",
        EXPERTS,
        'return jnp.einsum("te,etd->td", gates(x, router), out)\n\n\n@jax.jit',
        'return jnp.einsum("te,ted->td", gates(x, router), out.reshape(-1, EXPERTS, WIDTH))\n\n\n@jax.jit',
    ),
    Twin("K11", RING, "out.reshape(-1, w.shape[1])", "out.transpose(1, 0, 2).reshape(-1, w.shape[1])"),
    Twin(
        "K12",
        HALO,
        'jax.lax.ppermute(x[:, -1:], "space", right)',
        'jax.lax.ppermute(x[:, -1:], "space", [(b, a) for a, b in right])',
    ),
    Twin(
        "K12",
        PIPELINE,
        "[(d, d + 1) for d in range(STAGES - 1)]",
        "[(d, d + 1) for d in range(STAGES - 2)]",
        at="sent = layer(",
    ),
    Twin(
        "K13",
        VOCABULARY,
        'jax.lax.axis_index("vocab") * table.shape[0]',
        'jax.lax.axis_index("vocab") * (table.shape[0] - 1)',
    ),
    Twin(
        "K14",
        VOCABULARY,
        'rows(table, words - start), "vocab")',
        'table.at[words - start].get(mode="clip"), "vocab")',
        at="scores = hidden @ table.T",
    ),
    Twin(
        "K15", FSDP, _SCATTER, f'jax.lax.psum(jax.lax.dynamic_slice_in_dim(grad, {_OWN}), "data")', function="by_hand"
    ),
    Twin(
        "K16",
        BATCH_NORM,
        'jax.lax.psum(((x - mean) ** 2).sum(axis=0), "data")',
        'jax.lax.psum(((x - mean).sum(axis=0)) ** 2, "data")',
    ),
    Twin("K17", MLP, _PRODUCT, 'jax.lax.psum(hidden @ w_out + b_out, "model")'),
    Twin(
        "K18",
        BATCH_NORM,
        'jax.lax.psum(((x - mean) ** 2).sum(axis=0), "data") / BATCH',
        "((x - mean) ** 2).sum(axis=0) / x.shape[0]",
    ),
    Twin(
        "K18", VOCABULARY, _TOTAL, "jnp.exp(scores - top[:, None]).sum(axis=1)", at="return jnp.log(total) + top - jax"
    ),
    Twin("K19", UNEVEN, "jnp.where(there, jnp.exp(scores - top), 0)", "jnp.exp(scores - top)"),
    Twin("K20", VOCABULARY, "targets - target_start * start", "targets"),
    Twin(
        "K21",
        ULYSSES,
        'to_heads(k), to_heads(v))\n    return jax.lax.all_to_all(out, "seq", split_axis=0, concat_axis=1',
        'to_heads(v), to_heads(k))\n    return jax.lax.all_to_all(out, "seq", split_axis=0, concat_axis=1',
    ),
    Twin("K22", BATCH_NORM, "variance + 1e-5", "variance + 1e-6"),
    Twin("K23", PIPELINE, "        received = jax", "    received = jax", at="sent = layer("),
    Twin("K23", ACCUMULATION, f"return {_SUM}, None", f"return jax.lax.psum({_SUM}, 'data'), None"),
    Twin("K24", ACCUMULATION, f"return {_SUM}", f"return {_SUM[8:]}", at="return updated(weights, jax.lax.psum(total"),
    Twin(
        "K25",
        MLP,
        _PRODUCT,
        'jax.lax.psum(hidden @ w_out, "model") + jnp.where(jax.lax.axis_index("model") == 0, b_out, 0)',
    ),
    Twin(
        "K26",
        VOCABULARY,
        'picked(scores, targets - target_start * start), "vocab")',
        'scores[jnp.arange(TOKENS), jnp.clip(targets - target_start * start, 0, table.shape[0] - 1)], "vocab")',
    ),
    Twin(
        "K26",
        VOCABULARY,
        'rows(table, words - start), "vocab")',
        'table.at[words - start].get(mode="promise_in_bounds", wrap_negative_indices=False), "vocab")',
    ),
    Twin(
        "K27",
        ACCUMULATION,
        'updated(weights, jax.lax.psum(total, "data"))',
        'updated(weights, jax.lax.psum(total.astype("bfloat16"), "data").astype("float32"))',
        theory="real",
    ),
    Twin("K28", DROPOUT, "jax.lax.dynamic_slice_in_dim(kept(key, BATCH), start, len(x))", "kept(key, len(x))"),
    Twin(
        "K29",
        UPDATE,
        'table + jax.lax.psum(jnp.zeros_like(table).at[rows].add(updates), "data")',
        'jax.lax.psum(table.at[rows].add(updates), "data")',
    ),
    Twin("K31", ATTENTION, "product[..., HEAD : 2 * HEAD]", "product[..., HEAD + 1 : 2 * HEAD + 1]"),
    Twin(
        "K10",
        ATTENTION,
        "attended(q, k, v), w_out)",
        "attended(q, k, v), w_out.transpose(0, 2, 1).reshape(w_out.shape))",
    ),
    Twin("K30", EXPERTS, f"return {_BACK}", f"return jnp.roll({_BACK}, 2, axis=0)"),
)
