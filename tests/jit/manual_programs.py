"""Small `shard_map` programs and what they compute, one for each way of using manual axes; a mesh of 2×4, axes x, y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


@dataclass(frozen=True, slots=True)
class Case:
    """A function for one device, a sharded one that shall do the same, one that does not, and argument shapes."""

    name: str
    reference: Callable[..., Any]
    sharded: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    broken: Callable[..., Any] | None = None
    theory: str = "reassociated"


def cases() -> dict[str, Case]:
    """The programs by name."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    return {case.name: case for case in (*_collectives(mesh), *_forms(mesh), *_nested(mesh), *_odd(mesh))}


def _odd(mesh: Mesh) -> list[Case]:
    """True programs that look wrong."""
    two = Mesh(np.array(jax.devices()[:2]), ("z",))
    three = Mesh(np.array(jax.devices()[:3]), ("z",))

    def only_first(x: Any) -> Any:
        return lax.psum(jnp.where(lax.axis_index("y") == 0, x, 0), "y")

    def turned(x: Any) -> Any:
        return lax.ppermute(x, "z", [(1, 0), (0, 1)])

    def turned_three(x: Any) -> Any:
        return lax.ppermute(x, "z", [(0, 2), (1, 0), (2, 1)])

    split: dict[str, Any] = {"in_specs": P("z"), "out_specs": P("z")}
    return [
        Case(
            "masked_psum_of_a_replicated_value",
            lambda x: x * 2,
            jax.shard_map(lambda x: only_first(x * 2), mesh=mesh, in_specs=P(), out_specs=P()),
            ((5, 3),),
            jax.shard_map(lambda x: lax.psum(x * 2, "y"), mesh=mesh, in_specs=P(), out_specs=P()),
        ),
        Case(
            "reversed_ring_of_two",
            lambda x: jnp.roll(x, 3, axis=0),
            jax.shard_map(turned, mesh=two, **split),
            ((6, 2),),
        ),
        Case(
            "reversed_ring_of_three",
            lambda x: jnp.roll(x, -2, axis=0),
            jax.shard_map(turned_three, mesh=three, **split),
            ((6, 2),),
            jax.shard_map(lambda x: turned_three(turned_three(x)), mesh=three, **split),
        ),
        Case(
            "factors_that_cancel",
            lambda x: x.sum(0),
            jax.shard_map(lambda x: lax.pmean(x.sum(0), "y") * 4, mesh=mesh, in_specs=P("y"), out_specs=P()),
            ((8, 6),),
            jax.shard_map(lambda x: lax.pmean(x.sum(0), "y") * 8, mesh=mesh, in_specs=P("y"), out_specs=P()),
            theory="real",
        ),
        Case(
            "replicated_sum_divided_by_its_count",
            lambda x: x + 1,
            jax.shard_map(lambda x: lax.psum(x, "y") / 4 + 1, mesh=mesh, in_specs=P(), out_specs=P()),
            ((5, 3),),
        ),
    ]


def _collectives(mesh: Mesh) -> list[Case]:
    def manual(function: Callable[..., Any], into: Any, out: Any, **more: Any) -> Callable[..., Any]:
        return jax.shard_map(function, mesh=mesh, in_specs=into, out_specs=out, **more)

    ring = [(d, (d + 1) % 4) for d in range(4)]
    return [
        Case(
            "psum",
            lambda x: x.sum(0),
            manual(lambda x: lax.psum(x.sum(0), "y"), P("y"), P()),
            ((8, 6),),
            manual(lambda x: lax.psum(x.sum(0), "x"), P("y"), P(), check_vma=False),
        ),
        Case(
            "psum_tuple",
            lambda x: x.sum(0),
            manual(lambda x: lax.psum(x.sum(0), ("x", "y")), P(("x", "y")), P()),
            ((16, 6),),
            manual(lambda x: lax.psum(x.sum(0), "y"), P(("x", "y")), P(), check_vma=False),
        ),
        Case(
            "pmean",
            lambda x: x.sum(0) / 4,
            manual(lambda x: lax.pmean(x[0], "y"), P("y"), P()),
            ((4, 6),),
            manual(lambda x: lax.pmean(x[0], "y") * 4, P("y"), P()),
        ),
        Case(
            "pmax",
            lambda x: x.max(0),
            manual(lambda x: lax.pmax(x.max(0), "y"), P("y"), P()),
            ((8, 6),),
            manual(lambda x: lax.psum(x.max(0), "y"), P("y"), P()),
        ),
        Case(
            "psum_scatter",
            lambda x, w: x @ w,
            manual(lambda x, w: lax.psum_scatter(x @ w, "y", tiled=True), (P(None, "y"), P("y")), P("y")),
            ((12, 8), (8, 5)),
            manual(
                lambda x, w: lax.psum_scatter(w.T @ x.T, "y", tiled=True, scatter_dimension=1).T,
                (P(None, "x"), P("x")),
                P("y"),
                check_vma=False,
            ),
        ),
        Case(
            "all_gather_tiled",
            jnp.sin,
            manual(lambda x: lax.all_gather(jnp.sin(x), "y", tiled=True, axis=1), P(None, "y"), P(), check_vma=False),
            ((6, 8),),
            manual(
                lambda x: lax.all_gather(jnp.sin(x), "y", tiled=True).reshape(6, 8), P(None, "y"), P(), check_vma=False
            ),
        ),
        Case(
            "all_gather_stacked",
            lambda x: x.reshape(4, 2, 6) * 2,
            manual(lambda x: lax.all_gather(x, "y") * 2, P("y"), P(), check_vma=False),
            ((8, 6),),
        ),
        Case(
            "all_to_all",
            jnp.exp,
            manual(
                lambda x: lax.all_to_all(jnp.exp(x), "y", split_axis=1, concat_axis=0, tiled=True), P("y"), P(None, "y")
            ),
            ((8, 12),),
            manual(
                lambda x: lax.all_to_all(jnp.exp(x), "y", split_axis=1, concat_axis=1, tiled=True).reshape(8, 3),
                P("y"),
                P(None, "y"),
            ),
        ),
        Case(
            "ppermute",
            lambda x: jnp.roll(x, 3, axis=0),
            manual(lambda x: lax.ppermute(x, "y", ring), P("y"), P("y")),
            ((12, 5),),
            manual(lambda x: lax.ppermute(x, "y", [(b, a) for a, b in ring]), P("y"), P("y")),
        ),
        Case(
            "ppermute_tuple",
            lambda x: jnp.roll(x, 2, axis=0),
            manual(
                lambda x: lax.ppermute(x, ("x", "y"), [(d, (d + 1) % 8) for d in range(8)]),
                P(("x", "y")),
                P(("x", "y")),
            ),
            ((16, 5),),
        ),
        Case(
            "axis_index",
            lambda x: x + jnp.arange(12.0)[:, None],
            manual(
                lambda x: x + (jnp.arange(3.0) + 3.0 * lax.axis_index("y").astype("float32"))[:, None], P("y"), P("y")
            ),
            ((12, 5),),
            manual(lambda x: x + jnp.arange(3.0)[:, None], P("y"), P("y")),
        ),
    ]


def _forms(mesh: Mesh) -> list[Case]:
    shard = partial(jax.shard_map, mesh=mesh)
    product = shard(lambda x, w: lax.psum(x @ w, "y"), in_specs=(P(None, "y"), P("y")), out_specs=P())
    rows = shard(lambda x, w: jnp.tanh(x @ w), in_specs=(P("x"), P()), out_specs=P("x"))
    partly = jax.shard_map(
        lambda x, w: lax.psum(x @ w, "y"), mesh=mesh, in_specs=(P(None, "y"), P("y")), out_specs=P(), axis_names={"y"}
    )

    @partial(shard, in_specs=(P(None, "y"), P("y")), out_specs=P())
    def scanned(x: Any, w: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            return jnp.tanh(lax.psum(carry @ w, "y")), None

        start = lax.psum(x @ w, "y")
        part = w.shape[0]
        index = lax.axis_index("y")

        def step(carry: Any, unused: Any) -> Any:
            mine = lax.dynamic_slice_in_dim(carry, index * part, part, 1)
            return body(mine, unused)

        return lax.scan(step, start, None, length=3)[0]

    def scan_reference(x: Any, w: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return jnp.tanh(carry @ w), None

        return lax.scan(step, x @ w, None, length=3)[0]

    pair = ((6, 8), (8, 5))
    return [
        Case("partial_manual", lambda x, w: x @ w, partly, pair),
        Case("jit_inside", lambda x, w: jnp.tanh(x @ w).sum(), lambda x, w: jax.jit(rows)(x, w).sum(), pair),
        Case(
            "vmap",
            lambda x, w: jnp.einsum("bij,jk->bik", x, w),
            jax.vmap(product, in_axes=(0, None)),
            ((3, 6, 8), (8, 5)),
        ),
        Case("checkpoint_gradient", *_gradient(lambda x, w: x @ w, jax.checkpoint(product)), pair),
        Case("gradient", *_gradient(lambda x, w: x @ w, product), pair),
        Case("gradient_of_rows", *_gradient(lambda x, w: jnp.tanh(x @ w), rows), pair),
        Case("scan", scan_reference, scanned, ((6, 8), (8, 8))),
    ]


def _nested(mesh: Mesh) -> list[Case]:
    """Regions inside regions: each makes some more axes manual."""

    def over(axis: str, function: Callable[..., Any], into: Any, out: Any, **more: Any) -> Callable[..., Any]:
        return jax.shard_map(function, in_specs=into, out_specs=out, axis_names={axis}, **more)

    def product(inner: Callable[..., Any]) -> Callable[..., Any]:
        """Rows over x outside, the contracted dimension over y inside."""

        def outer(x: Any, w: Any) -> Any:
            return over("y", inner, (P(None, "y"), P("y")), P(), check_vma=False)(x * 2, w) + 1

        return over("x", outer, (P("x"), P()), P("x"), mesh=mesh, check_vma=False)

    def columns(x: Any, w: Any) -> Any:
        def outer(x: Any, w: Any) -> Any:
            split = over("x", lambda x, w: jnp.tanh(x @ w), (P("x"), P()), P("x"))(x, w)
            return lax.all_gather(split, "y", axis=1, tiled=True)

        return over("y", outer, (P(), P(None, "y")), P(), mesh=mesh, check_vma=False)(x, w)

    def in_a_loop(x: Any, w: Any) -> Any:
        def outer(x: Any, w: Any) -> Any:
            inner = over("y", lambda x, w: lax.psum(x @ w, "y"), (P(None, "y"), P("y")), P())
            return lax.scan(lambda carry, _: (jnp.tanh(inner(carry, w)), None), x, None, length=3)[0]

        return over("x", outer, (P("x"), P()), P("x"), mesh=mesh)(x, w)

    def looped(x: Any, w: Any) -> Any:
        return lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=3)[0]

    def turned(axis: str) -> Callable[..., Any]:
        def outer(x: Any) -> Any:
            def inner(x: Any) -> Any:
                return lax.ppermute(x, axis, [(d, (d + 1) % mesh.shape[axis]) for d in range(mesh.shape[axis])])

            return over("y", inner, P(None, "y"), P(None, "y"), check_vma=False)(x)

        return over("x", outer, P("x"), P("x"), mesh=mesh, check_vma=False)

    def numbered(x: Any) -> Any:
        """Each device of x and y adds its place in both."""

        def inner(x: Any) -> Any:
            place = lax.axis_index("x") * 4 + lax.axis_index("y")
            return x + place.astype("float32")

        def outer(x: Any) -> Any:
            return over("y", inner, P(None, "y"), P(None, "y"))(x)

        return over("x", outer, P("x"), P("x"), mesh=mesh)(x)

    def sums(x: Any) -> Any:
        """An inner sum over one axis inside an outer sum over the other."""

        def outer(x: Any) -> Any:
            part = over("y", lambda x: lax.psum(x.sum(1), "y"), P(None, "y"), P())(x)
            return lax.psum(part.sum(0), "x")

        return over("x", outer, P("x"), P(), mesh=mesh)(x)

    def constant(x: Any) -> Any:
        """The inner region takes nothing from outside that is a device's own."""

        def outer(x: Any) -> Any:
            return x + over("y", jnp.cos, P(None, "y"), P(None, "y"))(jnp.ones((3, 8), jnp.float32))

        return over("x", outer, P("x"), P("x"), mesh=mesh)(x)

    pair = ((6, 8), (8, 5))
    places = np.repeat(np.arange(2), 3)[:, None] * 4.0 + np.repeat(np.arange(4), 2)[None]
    return [
        Case(
            "nested",
            lambda x, w: x * 2 @ w + 1,
            product(lambda x, w: lax.psum(x @ w, "y")),
            pair,
            product(lambda x, w: x @ w),
        ),
        Case("nested_columns", lambda x, w: jnp.tanh(x @ w), columns, ((6, 8), (8, 12))),
        Case("nested_in_a_loop", looped, in_a_loop, ((6, 8), (8, 8))),
        Case("nested_ring", lambda x: jnp.roll(x, 2, axis=1), turned("y"), ((6, 8),), turned("x")),
        Case("nested_axis_index", lambda x: x + places.astype(np.float32), numbered, ((6, 8),)),
        Case("nested_sums", lambda x: x.sum(), sums, ((6, 8),)),
        Case("nested_constant", lambda x: x + jnp.cos(jnp.ones((6, 8), jnp.float32)), constant, ((6, 8),)),
        Case(
            "nested_gradient",
            *_gradient(lambda x, w: x * 2 @ w + 1, product(lambda x, w: lax.psum(x @ w, "y"))),
            pair,
        ),
    ]


def _gradient(
    reference: Callable[..., Any], sharded: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.value_and_grad(lambda x, w: jnp.sum(function(x, w) ** 2), argnums=(0, 1))

    return of(reference), of(sharded)


def arguments(case: Case) -> list[Any]:
    """Shapes in place of arrays."""
    return [jax.ShapeDtypeStruct(shape, np.float32) for shape in case.shapes]
