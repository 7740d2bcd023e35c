"""Programs of the sweep that read and write at positions: slices, updates, gathers and scatters."""

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
_START = ((), _INT)


def _slices() -> Iterator[Case]:
    def first(size: int) -> Callable[..., Any]:
        return lambda x, s: lax.dynamic_slice(x, (s, 0), (size, x.shape[1]))

    def second(size: int) -> Callable[..., Any]:
        return lambda x, s: lax.dynamic_slice(x, (0, s), (x.shape[0], size))

    def both(size: int) -> Callable[..., Any]:
        return lambda x, s, t: lax.dynamic_slice(x, (s, t), (size, 3))

    for length, size in itertools.product((12, 10), (1, 2, 4, 6, 9)):
        name = f"dynamic_slice/n{length}_{size}"
        cuts = ["x.,->x.", "x.,->..", "..,->x.", ".x,->.x"]
        yield from cases(f"{name}_first", first(size), [((length, 4), _INT), _START], cuts, _ALL)
        cuts = [".x,->.x", ".x,->..", "x.,->x."]
        yield from cases(f"{name}_second", second(size), [((4, length), _INT), _START], cuts, "2 4")
        cuts = ["xy,,->xy", "xy,,->..", "j.,,->x.", ".k,,->.y"]
        yield from cases(f"{name}_both", both(size), [((length, 8), _INT), _START, _START], cuts, "2x2 2x3 2x4p")
        gradient = jax.grad(lambda x, s, size=size: (first(size)(x, s) ** 2).sum())
        yield from cases(f"{name}_gradient", gradient, [(length, 4), _START], ["x.,->x.", "x.,->.."], "2 4")


def _updates() -> Iterator[Case]:
    def first(x: Any, u: Any, s: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (s, 0))

    def second(x: Any, u: Any, s: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (0, s))

    def both(x: Any, u: Any, s: Any, t: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (s, t))

    for length, size in itertools.product((12, 10), (1, 2, 3, 6, 9)):
        name = f"dynamic_update_slice/n{length}_{size}"
        cuts = ["x.,..,->x.", "x.,x.,->x.", "x.,..,->..", "..,x.,->x.", ".x,.x,->.x", ".x,..,->.x"]
        arguments = [((length, 4), _INT), ((size, 4), _INT), _START]
        yield from cases(f"{name}_first", first, arguments, cuts, _ALL)
        arguments = [((length, 4), _INT), ((size, 2), _INT), _START]
        yield from cases(f"{name}_first_part", first, arguments, ["x.,..,->x.", ".x,..,->.x", "xy,..,->xy"], "2x2 2x3")
        arguments = [((4, length), _INT), ((4, size), _INT), _START]
        yield from cases(f"{name}_second", second, arguments, [".x,..,->.x", ".x,.x,->.x", "x.,x.,->x."], "2 4")
        arguments = [((length, 8), _INT), ((size, 3), _INT), _START, _START]
        cuts = ["xy,..,,->xy", "x.,..,,->x.", "j.,..,,->j.", ".k,..,,->.k"]
        yield from cases(f"{name}_both", both, arguments, cuts, "2x2 2x3 2x4p")
        gradient = jax.grad(lambda x, u, s: (first(x, u, s) ** 2).sum(), argnums=1)
        arguments = [(length, 4), (size, 4), _START]
        yield from cases(f"{name}_gradient", gradient, arguments, ["x.,..,->..", "x.,x.,->x."], "2 4")


def _fixed() -> Iterator[Case]:
    """Slices and updates at known positions."""
    functions: dict[str, Callable[..., Any]] = {
        "set_head": lambda x: x.at[:-1].set(x[1:]),
        "set_tail": lambda x: x.at[1:].set(x[:-1]),
        "shift_and_set": lambda x: x.at[:-1].set(x[1:]).at[-1].set(7),
        "shift_up_and_set": lambda x: x.at[1:].set(x[:-1]).at[0].set(7),
        "add_middle": lambda x: x.at[3:7].add(5),
        "set_one": lambda x: x.at[4].set(5),
        "set_strided": lambda x: x.at[1::3].set(0),
        "add_strided_reversed": lambda x: x.at[::-2].add(1),
        "set_last": lambda x: x.at[-1].set(9),
        "min_tail": lambda x: x.at[-5:].min(0),
        "set_column": lambda x: x.at[:, 1].set(9),
        "set_block": lambda x: x.at[2:5, 1:3].set(9),
        "read_strided": lambda x: x[1::3],
        "read_reversed_strided": lambda x: x[::-2],
        "read_middle": lambda x: x[3:8],
        "read_last": lambda x: x[-1:],
        "difference": lambda x: x[1:] - x[:-1],
        "difference_far": lambda x: x[5:] - x[:-5],
        "laplacian": lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
        "even_minus_odd": lambda x: x[::2] - x[1::2],
        "copy_block": lambda x: x.at[0:3].set(x[6:9]),
        "swap_halves": lambda x: jnp.concatenate([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]]),
    }
    for (name, function), length in itertools.product(functions.items(), (12, 10)):
        cuts = ["x.->x.", "x.->..", "..->x.", ".x->.x", "x.->.x"]
        yield from cases(f"fixed/{name}_n{length}", function, [((length, 4), _INT)], cuts, _ALL)


def _gathers() -> Iterator[Case]:
    for mode, length in itertools.product(("clip", "fill"), (12, 10)):
        name = f"gather/{mode}_n{length}"
        cuts = ["x.,.->..", "x.,x->x.", "..,x->x.", ".x,.->.x", "x.,.->x.", ".x,x->.."]
        rows = lambda t, i, mode=mode: t.at[i].get(mode=mode)  # noqa: E731
        yield from cases(f"{name}_rows", rows, [((length, 4), _INT), ((6,), _INT)], cuts, _ALL)
        pairs = lambda t, i, j, mode=mode: t.at[i, j].get(mode=mode)  # noqa: E731
        arguments = [((length, 8), _INT), ((6,), _INT), ((6,), _INT)]
        cuts = ["xy,.,.->.", "xy,x,x->x", "yx,.,x->.", ".j,.,.->.", "k.,y,y->y"]
        yield from cases(f"{name}_pairs", pairs, arguments, cuts, "2x2 2x3 2x4p")
        along = lambda t, i, mode=mode: jnp.take_along_axis(t, i, 0, mode=mode)  # noqa: E731
        cuts = ["x.,..->..", "x.,x.->x.", "xy,xy->xy", ".x,.x->.x", ".y,x.->xy"]
        yield from cases(f"{name}_along", along, [((length, 4), _INT), ((6, 4), _INT)], cuts, "2x2 2x4")
        columns = lambda t, i, mode=mode: t.at[:, i].get(mode=mode)  # noqa: E731
        yield from cases(f"{name}_columns", columns, [((4, length), _INT), ((5,), _INT)], [".x,.->..", ".x,x->.x"])
    for size, length in itertools.product((1, 3, 6), (12, 10)):
        window = jax.vmap(lambda t, s, size=size: lax.dynamic_slice(t, (s,), (size,)))
        cuts = [".x,.->..", "x.,x->x.", ".x,.->.x", "xy,x->xy", "x.,.->..", ".j,.->.."]
        name = f"gather/windows_{size}_n{length}"
        yield from cases(name, window, [((4, length), _INT), ((4,), _INT)], cuts, "2x2 2x4")
        window = jax.vmap(lambda t, s, size=size: lax.dynamic_slice(t, (s, 0), (size, 4)), in_axes=(None, 0))
        cuts = ["x.,.->...", "x.,x->x..", ".x,.->..x", "xy,.->..y", "..,x->x.."]
        name = f"gather/shared_windows_{size}_n{length}"
        yield from cases(name, window, [((length, 4), _INT), ((6,), _INT)], cuts, "2x2 2x4")


def _scatters() -> Iterator[Case]:
    for kind, mode, length in itertools.product(("add", "mul", "min", "max"), ("drop", "clip"), (12, 10)):
        name = f"scatter/{kind}_{mode}_n{length}"
        rows = lambda t, i, u, kind=kind, mode=mode: getattr(t.at[i], kind)(u, mode=mode)  # noqa: E731
        arguments = [((length, 4), _INT), ((6,), _INT), ((6, 4), _INT)]
        cuts = ["x.,.,..->x.", "x.,x,x.->x.", "..,x,x.->..", ".x,.,.x->.x", "x.,.,..->..", "..,x,x.->x."]
        yield from cases(f"{name}_rows", rows, arguments, cuts, _ALL)
        pairs = lambda t, i, j, u, kind=kind, mode=mode: getattr(t.at[i, j], kind)(u, mode=mode)  # noqa: E731
        arguments = [((length, 8), _INT), ((6,), _INT), ((6,), _INT), ((6,), _INT)]
        cuts = ["xy,.,.,.->xy", "xy,x,x,x->xy", ".j,.,.,.->.j", "..,j,j,j->.."]
        yield from cases(f"{name}_pairs", pairs, arguments, cuts, "2x2 2x3 2x4p")
        window = lambda t, s, u, kind=kind, mode=mode: jax.vmap(  # noqa: E731
            lambda a, b, c: getattr(a.at[b + jnp.arange(3)], kind)(c, mode=mode)
        )(t, s, u)
        arguments = [((4, length), _INT), ((4,), _INT), ((4, 3), _INT)]
        cuts = [".x,.,..->.x", "x.,x,x.->x.", "xy,x,x.->xy", ".j,.,..->.j"]
        yield from cases(f"{name}_batch", window, arguments, cuts, "2x2 2x4")
    for length, size in itertools.product((12, 10), (1, 2, 5)):
        update = jax.vmap(lambda t, s, u: lax.dynamic_update_slice(t, u, (s,)))
        arguments = [((4, length), _INT), ((4,), _INT), ((4, size), _INT)]
        cuts = [".x,.,..->.x", "x.,x,x.->x.", "xy,x,x.->xy", ".x,.,.x->.x", ".j,.,..->.j"]
        yield from cases(f"scatter/updates_{size}_n{length}", update, arguments, cuts, "2x2 2x4 2x4p")
        distinct = lambda t, s, u: t.at[s + jnp.arange(u.shape[0])].set(u, unique_indices=True)  # noqa: E731
        arguments = [((length, 4), _INT), _START, ((size, 4), _INT)]
        yield from cases(f"scatter/set_{size}_n{length}", distinct, arguments, ["x.,,..->x.", "x.,,..->.."], "2 3 4")
    segments: dict[str, Callable[..., Any]] = {
        "sum": lambda d, s: jax.ops.segment_sum(d, s, 7),
        "max": lambda d, s: jax.ops.segment_max(d, s, 7),
        "prod": lambda d, s: jax.ops.segment_prod(d, s, 7),
        "count": lambda d, s: jnp.bincount(s, length=7),
    }
    for (kind, function), length in itertools.product(segments.items(), (12, 10)):
        cuts = ["x.,x->..", "x.,x->x.", ".x,.->.x", "..,.->x."]
        yield from cases(f"scatter/segment_{kind}_n{length}", function, [((length, 4), _INT), ((length,), _INT)], cuts)


def programs() -> Iterator[Case]:
    yield from thinned(_updates(), 2)
    yield from thinned(_slices(), 2)
    yield from thinned(_fixed(), 4)
    yield from thinned(_gathers(), 2)
    yield from thinned(_scatters(), 4)
