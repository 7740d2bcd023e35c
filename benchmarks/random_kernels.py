"""Larger operations that random programs are made of: what models do, and ops that hardly any model has."""

from __future__ import annotations

from .random_lines import Lines, Step

_INTEGERS = ("int32", "int8", "uint8", "uint32")
_RARE = (
    "lax.erf({})", "jnp.log1p(jnp.abs({}))", "lax.rsqrt(jnp.abs({}) + 1)", "jnp.floor({})", "jnp.round({})",
    "lax.reduce_precision({}, 5, 7)", "jnp.expm1(-jnp.abs({}))", "jnp.cbrt({})", "jnp.nan_to_num(1 / {})",
    "jnp.where(jnp.isfinite(1 / {0}), {0}, 2)", "lax.exp(-lax.square({}))", "jnp.cos({})",
    "jnp.power(jnp.abs({}) + 1, 1.5)",
)  # fmt: skip
_BITS = (
    "{0} & {1}", "{0} | {1}", "{0} ^ {1}", "~{0}", "lax.shift_left({0}, jnp.ones_like({1}))",
    "lax.shift_right_arithmetic({0}, jnp.ones_like({1}))", "lax.shift_right_logical({0}, jnp.ones_like({1}))",
    "lax.population_count({0})", "lax.clz({0})", "lax.div({0}, {1} * 0 + 3)", "lax.rem({0}, {1} * 0 + 3)", "{0} // 2",
    "jnp.minimum({0}, {1}) * 100", "{0}.astype('int8') * 50",
)  # fmt: skip


def _rare(made: Lines) -> str | None:
    value = made.pick(lambda one: one.is_float)
    return value and made.rng.choice(_RARE).format(value.name)


def _bits(made: Lines) -> str | None:
    left = made.pick(lambda one: one.dtype in _INTEGERS)
    if left is None:
        return None
    right = made.pick(lambda one: one.dtype == left.dtype and one.shape == left.shape) or left
    return made.rng.choice(_BITS).format(left.name, right.name)


def _logic(made: Lines) -> str | None:
    value = made.array()
    if value is None:
        return None
    name = value.name
    if value.dtype == "bool":
        return made.rng.choice((f"~{name}", f"{name} ^ lax.rev({name}, [0])", f"jnp.where({name}, 3., -1.)"))
    return made.rng.choice((f"{name} > 0", f"({name} >= 1) & ({name} != 2)", f"{name} == lax.rev({name}, [0])"))


def _convolution(made: Lines) -> str | None:
    """Over the last dimension of three (batch, feature, space), or of two with the batch added."""
    rng = made.rng
    value = made.pick(lambda one: one.is_float and len(one.shape) in (2, 3))
    if value is None:
        return None
    name = value.name if len(value.shape) == 3 else f"{value.name}[None]"
    features, size = value.shape[-2:]
    width, groups = rng.choice((1, 2, 3)), rng.choice([k for k in (1, 1, 2) if features % k == 0])
    if width > size:
        return None
    out = rng.choice((2, 4))
    kernel = f"(lax.iota({value.dtype!r}, {out * features // groups * width}) % 5 - 2)"
    kernel = f"{kernel}.reshape({(out, features // groups, width)})"
    options = [
        f"({rng.choice((1, 2))},), {rng.choice(('SAME', 'VALID'))!r}",
        f"(1,), [({rng.choice((0, 1))}, {rng.choice((0, 2))})], rhs_dilation=(2,)",
        f"(1,), [(1, 1)], lhs_dilation=({rng.choice((1, 2))},)",
    ]
    return f"lax.conv_general_dilated({name}, {kernel}, {rng.choice(options)}, feature_group_count={groups})"


def _batched(made: Lines) -> str | None:
    """Products with batch dimensions, and contractions of more than one dimension."""
    value = made.pick(lambda one: one.dtype in ("float32", "bfloat16", "int32") and len(one.shape) == 3)
    if value is None:
        return None
    texts = (
        "bij,bkj->bik",
        "bij,bij->b",
        "bij,bij->ij",
        "bij,cij->bc",
        "ibj,kbj->bik",
        "bij,bij->bij",
        "bii->bi",
        "bij->jb",
    )
    text = made.rng.choice([text for text in texts if "ii" not in text or value.shape[1] == value.shape[2]])
    return f"jnp.einsum({text!r}, {', '.join([value.name] * text.count(',') + [value.name])})"


def _model(made: Lines) -> str | None:
    value = made.pick(lambda one: one.is_float and bool(one.shape))
    if value is None:
        return None
    axis, name = made.axis(value), value.name
    return made.rng.choice(
        (
            f"jax.nn.softmax({name}, axis={axis})",
            f"jax.nn.logsumexp({name}, axis={axis})",
            f"jax.nn.gelu({name})",
            f"jax.nn.relu({name})",
            f"({name} - {name}.mean({axis}, keepdims=True)) * lax.rsqrt({name}.var({axis}, keepdims=True) + 1)",
            f"jnp.linalg.norm({name}, axis={axis})",
            f"jax.nn.one_hot(jnp.argmax({name}, {axis}), {value.shape[axis]})",
            f"jnp.cumprod({name}, axis={axis})",
            f"lax.cumlogsumexp({name}, axis={axis})",
            f"jnp.diff({name}, axis={axis})",
        )
    )


def _several(made: Lines) -> str | None:
    """Sorts and reductions with more than one operand."""
    value = made.array("float32", "int32")
    if value is None:
        return None
    axis, name = made.axis(value), value.name
    position = f"lax.broadcasted_iota('int32', {value.shape}, {axis})"
    best = "lambda a, b: (jnp.where(a[0] >= b[0], a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1]))"
    starts = f"(jnp.asarray({'-jnp.inf' if value.is_float else '-(2**31)'}, {value.dtype!r}), jnp.int32(-1))"
    which = made.rng.choice((0, 1))
    return made.rng.choice(
        (
            f"lax.sort(({name}, {position}), dimension={axis}, num_keys={made.rng.choice((1, 2))})[{which}]",
            f"lax.reduce(({name}, {position}), {starts}, {best}, ({axis},))[{which}]",
            f"lax.associative_scan(jnp.maximum, {name}, axis={axis})",
            f"lax.cummin({name}, axis={axis})",
            f"jnp.unique_counts({name}.reshape(-1), size=4)[0]",
            f"jnp.median({name}.astype('float32'), axis={axis})",
            f"lax.top_k({name}, {min(3, value.shape[-1])})[1]",
            f"jnp.searchsorted(jnp.sort({name}.reshape(-1)), {name}.reshape(-1)[:3])",
        )
    )


def _places(made: Lines) -> str | None:
    """Look-ups and updates at positions of more than one dimension, and of every other kind of combination."""
    rng, value = made.rng, made.array("float32", "int32", "bfloat16", "uint8")
    index = made.pick(lambda one: one.dtype == "int32" and len(one.shape) == 1)
    if value is None or index is None:
        return None
    name, places, shape = value.name, index.name, value.shape
    mode = rng.choice(("clip", "drop"))
    rows = f"jnp.ones({(*index.shape, *shape[1:])}, {value.dtype!r}) * 2"
    spread = f"jnp.clip({places}, 0, {shape[0] - 1}).reshape({(-1, *[1] * (len(shape) - 1))})"
    corner = f"({places}[0], {places}[-1], *[0] * {len(shape) - 2})"
    options = [
        f"{name}.at[{places}].{rng.choice(('mul', 'min', 'set'))}({rows}, mode={mode!r})",
        f"{name}.at[jnp.arange({min(2, shape[0])})].set(7)",
        f"jnp.take_along_axis({name}, jnp.broadcast_to({spread}, {(*index.shape, *shape[1:])}), 0)",
        f"jax.vmap(lambda i: lax.dynamic_slice_in_dim({name}, i, 1, 0))({places})",
        f"{name}[::-1][{places}]",
    ]
    if len(shape) > 1:
        options += [
            f"{name}[{places}, {places}]",
            f"{name}.at[{places}, {places}[::-1]].add(1)",
            f"{name}[:, {places}]",
            f"lax.dynamic_slice({name}, {corner}, {(1, 1, *shape[2:])})",
            f"lax.dynamic_update_slice({name}, {name}[:1, :1] * 0, {corner})",
        ]
    return rng.choice(options)


def _triangle(made: Lines) -> str | None:
    value = made.pick(lambda one: one.dtype == "float32" and len(one.shape) == 2)
    if value is None:
        return None
    name, extent = value.name, value.shape[1]
    square = f"({name}.T @ {name} + {3 * extent} * jnp.eye({extent}))"
    return made.rng.choice(
        (
            f"jnp.tril({name}, {made.rng.choice((-1, 0, 1))})",
            f"jnp.triu({name})",
            f"jnp.linalg.cholesky({square})",
            f"lax.linalg.triangular_solve(jnp.tril({square}), {name}, transpose_a=True)",
            f"jnp.abs(jnp.fft.rfft({name}))",
            f"jnp.real(jnp.fft.fft({name}) * 1j)",
            f"jnp.trace({name})",
            f"jnp.diag({name}[0])",
            f"jnp.kron({name}[:2, :2], {name}[:2, :2])",
        )
    )


def _rng(made: Lines) -> str | None:
    value = made.array("float32")
    if value is None:
        return None
    draws = ("uniform(k, s)", "normal(k, s)", "randint(k, s, 0, 9)", "bernoulli(k, 0.5, s)", "permutation(k, 8)")
    key = f"jax.random.key({made.rng.randrange(9)})"
    return f"(lambda k, s: jax.random.{made.rng.choice(draws)})({key}, {value.shape})"


def _until(made: Lines) -> str | None:
    """Loops whose end depends on data, and branches of more than two ways."""
    value = made.array("float32", "int32")
    if value is None:
        return None
    name, axis = value.name, made.axis(value)
    start = f"(jnp.int32(0), {name})"
    more = made.rng.choice(("v[0] < 3", "(v[0] < 4) & (jnp.sum(v[1]) < 50)"))
    body = made.rng.choice((f"jnp.roll(v[1], 1, {axis}) + 1", "v[1] * 2 + 1", "v[1] + jnp.max(v[1])"))
    ways = f"[lambda v: v, lambda v: v + 1, lambda v: jnp.flip(v, {axis}), lambda v: v * jnp.max(v)]"
    which = f"jnp.sum({name}).astype('int32')"
    return made.rng.choice(
        (
            f"lax.while_loop(lambda v: {more}, lambda v: (v[0] + 1, ({body}).astype(v[1].dtype)), {start})[1]",
            f"lax.switch({which}, {ways}, {name})",
            f"jax.checkpoint(lambda v: jnp.flip(v, {axis}) + 1)({name})",
            f"lax.map(lambda r: r * 2 + 1, {name})",
            f"jax.vmap(lambda r: jnp.cumsum(r.reshape(-1)))({name})",
        )
    )


def _island(made: Lines) -> str | None:
    """A manual region within the program, over one axis of the mesh or all of them."""
    rng = made.rng
    axis, size = rng.choice(made.axes)
    value = made.pick(lambda one: bool(one.shape) and one.dtype != "bool" and one.shape[0] % size == 0)
    if value is None:
        return None
    turn = [(k, (k + 1) % size) for k in range(size)]
    bodies = [
        f"v - lax.pmax(v, {axis!r})",
        f"lax.ppermute(v, {axis!r}, {turn})",
        f"v * lax.psum(1, {axis!r})",
        f"lax.psum(v, {axis!r}) - v",
        f"v + lax.all_gather(v, {axis!r})[0]",
        f"lax.fori_loop(0, {size}, lambda i, c: lax.ppermute(c, {axis!r}, {turn}) + v, v)",
        f"jnp.where(lax.axis_index({axis!r}) == 0, v, 0).astype(v.dtype)",
    ]
    if value.is_float:
        bodies += [f"lax.pmean(v, {axis!r})", f"lax.psum(v / {size}, {axis!r})"]
    told = f"P({axis!r}{', None' * (len(value.shape) - 1)})"
    only = rng.choice(("", f", axis_names={{{axis!r}}}"))
    body = f"lambda v: {rng.choice(bodies)}"
    return f"jax.shard_map({body}, mesh=mesh, in_specs={told}, out_specs={told}, check_vma=False{only})({value.name})"


KERNELS: tuple[Step, ...] = (
    _rare, _bits, _bits, _logic, _convolution, _convolution, _batched, _batched, _model, _model, _several, _several,
    _places, _places, _triangle, _rng, _until, _until, _island, _island,
)  # fmt: skip
