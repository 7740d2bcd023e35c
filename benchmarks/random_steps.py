"""The operations that random programs are made of: each step writes a line that JAX takes, on values that there are."""

from __future__ import annotations

from .random_kernels import KERNELS
from .random_lines import Lines, Step

_SMOOTH = (
    "jnp.tanh({})", "jnp.sin({})", "-{}", "{} * 0.5", "{} + 1.5", "jnp.exp(-jnp.abs({}))", "lax.logistic({})",
    "jnp.square({})", "jnp.sqrt(jnp.abs({}) + 1)", "{} / 3", "lax.cumsum({}, axis=0)",
)  # fmt: skip
_ROUGH = ("jnp.abs({})", "jnp.maximum({}, 0)", "-{}", "{} + 1", "{} * 3", "jnp.clip({}, 1, 4)", "jnp.sign({})")
_PAIRS = ("{} + {}", "{} - {}", "{} * {}", "jnp.maximum({}, {})", "jnp.minimum({}, {})", "jnp.where({} > {}, 1, 2)")


def _unary(made: Lines) -> str | None:
    value = made.pick(lambda one: one.dtype != "bool")
    return value and made.rng.choice(_SMOOTH if value.is_float else _ROUGH).format(value.name)


def _binary(made: Lines) -> str | None:
    left = made.pick(lambda one: one.dtype != "bool")
    if left is None:
        return None
    right = made.pick(lambda one: one.dtype == left.dtype and one.shape == left.shape) or left
    return made.rng.choice(_PAIRS).format(left.name, right.name)


def _spread(made: Lines) -> str | None:
    """A value along one dimension of another."""
    value = made.pick(lambda one: len(one.shape) > 1)
    if value is None:
        return None
    line = made.pick(lambda one: len(one.shape) == 1 and one.dtype == value.dtype and one.shape[0] in value.shape)
    if line is None:
        return None
    axis = value.shape.index(line.shape[0])
    return f"{value.name} * jnp.expand_dims({line.name}, {tuple(k for k in range(len(value.shape)) if k != axis)})"


def _reduction(made: Lines) -> str | None:
    value = made.array()
    if value is None:
        return None
    axis, keep = made.axis(value), made.rng.random() < 0.3
    names = ("any", "all") if value.dtype == "bool" else ("sum", "sum", "max", "min", "argmax", "mean", "prod")
    return f"jnp.{made.rng.choice(names)}({value.name}, axis={axis}, keepdims={keep})"


def _movement(made: Lines) -> str | None:
    rng, value = made.rng, made.array()
    if value is None:
        return None
    axis, name, shape = made.axis(value), value.name, value.shape
    extent, rank = shape[axis], len(shape)
    start = rng.randrange(extent)
    stop, stride = rng.randrange(start, extent) + 1, rng.choice((1, 1, 2))
    widths = [(0, 0)] * rank
    widths[axis] = (rng.randrange(3), rng.randrange(3))
    order = rng.sample(range(rank), rank)
    merged = (*shape[:axis], -1, *shape[axis + 2 :])
    split = [(*shape[:axis], k, extent // k, *shape[axis + 1 :]) for k in (2, 3, 4) if extent % k == 0]
    return rng.choice(
        (
            f"jnp.transpose({name}, {order})",
            f"lax.rev({name}, [{axis}])",
            f"lax.slice_in_dim({name}, {start}, {stop}, {stride}, {axis})",
            f"jnp.pad({name}, {widths})",
            f"jnp.roll({name}, {rng.choice((1, 2, -1))}, {axis})",
            f"jnp.concatenate([{name}, {name}], {axis})",
            f"jnp.broadcast_to({name}, ({rng.choice((2, 3, 4))}, *{shape}))",
            f"jnp.reshape({name}, {merged})",
            f"jnp.reshape({name}, {rng.choice(split) if split else (-1,)})",
            f"jnp.flip({name}) + lax.broadcasted_iota('int32', {shape}, {axis}).astype({name}.dtype)",
        )
    )


def _product(made: Lines) -> str | None:
    left = made.pick(lambda one: one.is_float and len(one.shape) == 2)
    if left is None:
        return None
    kin = made.pick(lambda one: one.dtype == left.dtype and len(one.shape) == 2 and bool({*one.shape} & {*left.shape}))
    right = kin or left
    common = made.rng.choice(sorted({*left.shape} & {*right.shape}))
    first, second = left.shape.index(common), right.shape.index(common)
    return f"lax.dot_general({left.name}, {right.name}, ((({first},), ({second},)), ((), ())))"


def _lookup(made: Lines) -> str | None:
    rng, value = made.rng, made.array()
    index = made.pick(lambda one: one.dtype == "int32" and len(one.shape) <= 1)
    if value is None or index is None:
        return None
    axis, name, places, shape = made.axis(value), value.name, index.name, value.shape
    if index.shape:
        update = f"jnp.ones({(*shape[:axis], *index.shape, *shape[axis + 1 :])}, {value.dtype!r})"
        at = f"{name}.at[{':, ' * axis}{places}]"
        mode = rng.choice(("clip", "fill", "wrap"))
        taken = f"jnp.take({name}, {places}, axis={axis}, mode='{mode}')"
        return rng.choice((taken, f"{at}.add({update})", f"{at}.max({update})"))
    size = rng.randrange(1, shape[axis] + 1)
    block = f"lax.slice_in_dim({name}, 0, {size}, 1, {axis})"
    return rng.choice(
        (
            f"lax.dynamic_slice_in_dim({name}, {places}, {size}, {axis})",
            f"lax.dynamic_update_slice_in_dim({name}, {block}, {places}, {axis})",
            f"lax.dynamic_index_in_dim({name}, {places}, {axis}, keepdims=False)",
        )
    )


def _place(made: Lines) -> str | None:
    """A scalar to look up with."""
    index = made.pick(lambda one: one.dtype == "int32" and len(one.shape) == 1)
    if index is None:
        return None
    name = index.name
    return made.rng.choice((f"{name}[0]", f"jnp.sum({name})", f"jnp.argmax({name}).astype('int32')"))


def _mask(made: Lines) -> str | None:
    value = made.array()
    if value is None:
        return None
    axis = made.axis(value)
    position = f"lax.broadcasted_iota('int32', {value.shape}, {axis})"
    bound = made.rng.randrange(value.shape[axis] + 1)
    test = made.rng.choice((f"{position} < {bound}", f"{position} % 2 == 0", f"{position} >= {bound}"))
    return f"jnp.where({test}, {value.name}, jnp.zeros((), {value.dtype!r}))"


def _order(made: Lines) -> str | None:
    value = made.array("float32", "int32", "uint8")
    if value is None:
        return None
    axis, name = made.axis(value), value.name
    return made.rng.choice(
        (
            f"jnp.sort({name}, axis={axis})",
            f"jnp.argsort({name}, axis={axis})",
            f"lax.cummax({name}, axis={axis})",
            f"lax.cumsum({name}, axis={axis}, reverse=True)",
            f"lax.top_k({name}, {min(2, value.shape[-1])})[0]",
        )
    )


def _windows(made: Lines) -> str | None:
    rng = made.rng
    value = made.pick(lambda one: one.dtype == "float32" and len(one.shape) in (1, 2))
    if value is None:
        return None
    axis = made.axis(value)
    window, stride = [1] * len(value.shape), [1] * len(value.shape)
    window[axis], stride[axis] = rng.choice((2, 3)), rng.choice((1, 2))
    how = rng.choice(("-jnp.inf, lax.max", "0., lax.add"))
    return f"lax.reduce_window({value.name}, {how}, {window}, {stride}, '{rng.choice(('SAME', 'VALID'))}')"


def _constraint(made: Lines) -> str | None:
    value = made.array()
    return value and f"cut({value.name}, {made.spec(value.shape, made.rng.random() < 0.5)})"


def _convert(made: Lines) -> str | None:
    value = made.pick(lambda one: one.dtype != "bool")
    if value is None:
        return None
    target = made.rng.choice(("float32", "bfloat16") if value.is_float else ("int32", "float32"))
    return f"{value.name}.astype('{target}')"


def _scan(made: Lines) -> str | None:
    rng = made.rng
    rows = made.pick(lambda one: len(one.shape) > 1 and one.dtype in ("float32", "int32"))
    if rows is None:
        return None
    half = "c // 2" if rows.dtype == "int32" else "c * 0.5"
    updates = (
        f"{half} + t",
        "jnp.maximum(c, t)",
        "c + jnp.roll(t, 1, 0)",
        "c - jnp.sum(t)",
        f"{half} + lax.rev(t, [0])",
    )
    body = f"lambda c, t: ({rng.choice(updates)}, {rng.choice(('c', 't * c', 'c.sum()', 'c + t'))})"
    which, backwards = rng.choice((0, 1)), rng.random() < 0.3
    return f"lax.scan({body}, {rows.name}[0] * 0, {rows.name}, reverse={backwards})[{which}]"


def _loop(made: Lines) -> str | None:
    value = made.array("float32", "int32")
    if value is None:
        return None
    axis = made.axis(value)
    read = f"lax.dynamic_slice_in_dim(v, i, 1, {axis})"
    body = made.rng.choice(
        (
            f"jnp.roll(v, 1, {axis}) + i",
            f"v + {read}",
            f"lax.dynamic_update_slice_in_dim(v, {read} + 1, i + 1, {axis})",
        )
    )
    return f"lax.fori_loop(0, {made.rng.choice((2, 3))}, lambda i, v: ({body}).astype(v.dtype), {value.name})"


def _branch(made: Lines) -> str | None:
    value = made.array("float32", "int32")
    return value and f"lax.cond(jnp.sum({value.name}) > 0, lambda v: v + 1, lambda v: lax.rev(v, [0]), {value.name})"


STEPS: tuple[Step, ...] = (
    _unary, _unary, _binary, _binary, _spread, _reduction, _reduction, _movement, _movement, _movement, _product,
    _product, _lookup, _lookup, _place, _mask, _order, _windows, _constraint, _constraint, _constraint, _convert, _scan,
    _loop, _branch, *KERNELS,
)  # fmt: skip
