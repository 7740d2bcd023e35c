"""Programs of the sweep that move elements: padding, joining, reshaping, generating."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .sweep_case import Case, cases, thinned

_ALL = "2 3 4 4p"
_INT = "int32"
_CUTS = ["x.->x.", "x.->..", "..->x.", ".x->x.", "x.->.x"]


def _pads() -> Iterator[Case]:
    for low, high, interior, length in itertools.product((-3, -1, 0, 1, 2, 5), (-3, 0, 1, 4), (0, 1, 2), (12, 10)):
        function = lambda x, pad=(low, high, interior): lax.pad(x, x.dtype.type(3), (pad, (0, 0, 0)))  # noqa: E731
        yield from cases(f"pad/{low}_{high}_{interior}_n{length}", function, [((length, 4), _INT)], _CUTS, _ALL)
    for mode, low, high in itertools.product(("wrap", "edge", "reflect", "symmetric"), (0, 1, 4), (0, 3)):
        function = lambda x, mode=mode, low=low, high=high: jnp.pad(x, ((low, high), (0, 0)), mode=mode)  # noqa: E731
        for length in (12, 10):
            yield from cases(f"pad/{mode}_{low}_{high}_n{length}", function, [((length, 4), _INT)], _CUTS, "2 4")


def _joins() -> Iterator[Case]:
    for first, second in itertools.product((12, 10, 1, 5), (12, 10, 3)):
        cuts = ["x.,x.->x.", "x.,..->x.", "x.,x.->..", ".x,.x->.x", ".x,.x->x."]
        arguments = [((first, 4), _INT), ((second, 4), _INT)]
        function = lambda a, b: jnp.concatenate([a, b])  # noqa: E731
        yield from cases(f"concatenate/{first}_{second}", function, arguments, cuts, _ALL)
        function = lambda a, b: jnp.concatenate([a[1:], b, a[:2]])  # noqa: E731
        yield from cases(f"concatenate/parts_{first}_{second}", function, arguments, cuts, "2 4")
    functions: dict[str, Callable[..., Any]] = {
        **{f"roll_{shift}": lambda x, shift=shift: jnp.roll(x, shift, 0) for shift in (-5, -1, 1, 2, 3, 7)},
        "roll_both": lambda x: jnp.roll(x, (2, -1), (0, 1)),
        "reverse": lambda x: x[::-1],
        "reverse_both": lambda x: x[::-1, ::-1],
        "reverse_used": lambda x: (x[::-1] * 2 + x).max(0),
        "stack": lambda x: jnp.stack([x, x + 1]).reshape(-1, 4),
        "stack_last": lambda x: jnp.stack([x, x + 1], 1).reshape(-1, 4),
        "tile": lambda x: jnp.tile(x, (2, 1)),
        "repeat": lambda x: jnp.repeat(x, 3, 0),
        "transpose": lambda x: x.T,
        "split": lambda x: jnp.array_split(x, 2)[1],
        "rot90": jnp.rot90,
        "triangle": lambda x: jnp.tril(x, -1),
        "diagonal": jnp.diagonal,
        "to_int8": lambda x: x.astype("int8") // 3,
        "bits": lambda x: lax.bitcast_convert_type(x, "uint8"),
    }
    for (name, function), length in itertools.product(functions.items(), (12, 10, 7)):
        yield from cases(f"move/{name}_n{length}", function, [((length, 4), _INT)], _CUTS, "2 3 4 4p 6")


def _reshapes() -> Iterator[Case]:
    shapes = [
        ((12,), (3, 4)), ((12,), (2, 6)), ((12,), (6, 2)), ((10,), (2, 5)), ((10,), (5, 2)), ((24,), (2, 3, 4)),
        ((3, 4), (12,)), ((2, 6), (12,)), ((5, 2), (10,)), ((6, 4), (4, 6)), ((6, 4), (8, 3)), ((6, 4), (3, 8)),
        ((6, 10), (15, 4)), ((9, 4), (4, 9)), ((2, 3, 4), (6, 4)), ((2, 3, 4), (2, 12)), ((7, 4), (28,)),
        ((5, 1, 4), (20,)), ((6, 6), (2, 3, 3, 2)), ((6, 6), (3, 2, 6)), ((10, 6), (5, 2, 6)), ((4, 9), (6, 6)),
    ]  # fmt: skip
    for source, target in shapes:
        function = lambda x, target=target: x.reshape(target) + 1  # noqa: E731
        cuts = [
            f"{_at(len(source), i)}->{_at(len(target), o)}"
            for i, o in itertools.product((*range(len(source)), None), (*range(len(target)), None))
            if i is not None or o is not None
        ]
        name = f"reshape/{'_'.join(map(str, source))}_to_{'_'.join(map(str, target))}"
        yield from cases(name, function, [(source, _INT)], cuts, "2 3 4 6")
        two = [cut.replace("x", letter) for cut, letter in itertools.product(cuts, "jk")]
        yield from cases(name, function, [(source, _INT)], two, "2x2 2x3")


def _at(rank: int, dimension: int | None) -> str:
    return "".join("x" if number == dimension else "." for number in range(rank))


def _generated() -> Iterator[Case]:
    functions: dict[str, Callable[..., Any]] = {
        "iota_first": lambda x: x + lax.broadcasted_iota(x.dtype, x.shape, 0),
        "iota_second": lambda x: x * lax.broadcasted_iota(x.dtype, x.shape, 1),
        "position_mask": lambda x: jnp.where(jnp.arange(x.shape[0])[:, None] < 5, x, 0).sum(0),
        "eye": lambda x: x + jnp.eye(*x.shape, dtype=x.dtype),
        "linspace": lambda x: x + jnp.linspace(0, 1, x.shape[0])[:, None],
        "uniform": lambda x: x + jax.random.uniform(jax.random.key(0), x.shape),
        "normal": lambda x: x * jax.random.normal(jax.random.key(1), x.shape),
        "permutation": lambda x: jax.random.permutation(jax.random.key(2), x),
        "one_hot": lambda x: jax.nn.one_hot(x[:, 0].astype("int32"), 8),
        "causal": lambda x: jnp.where(jnp.tri(x.shape[0], x.shape[1], dtype=bool), x, -1),
        "threefry": lambda x: x + jax.random.bits(jax.random.key(3), x.shape).astype(x.dtype) % 5,
    }
    for (name, function), length in itertools.product(functions.items(), (12, 10)):
        yield from cases(f"generated/{name}_n{length}", function, [(length, 4)], ["x.->x.", "x.->..", ".x->x."], _ALL)


def programs() -> Iterator[Case]:
    yield from thinned(_pads(), 10)
    yield from thinned(_joins(), 4)
    yield from thinned(_reshapes(), 4)
    yield from thinned(_generated(), 3)
