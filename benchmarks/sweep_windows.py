"""Programs of the sweep that slide windows: pooling, convolutions and their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .sweep_case import Case, cases, thinned

_PADDINGS = {
    "valid": ((0, 0),),
    "both": ((1, 1),),
    "low": ((2, 0),),
    "high": ((0, 2),),
    "wide": ((3, 3),),
}
_KINDS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "max": (-jnp.inf, lax.max),
    "min": (jnp.inf, lax.min),
    "add": (0.0, lax.add),
    "mul": (1.0, lax.mul),
}


def pullback(function: Callable[..., Any], argument: int = 0) -> Callable[..., Any]:
    """The gradient in one argument, of the arguments and a cotangent."""

    def run(*values: Any) -> Any:
        *arguments, cotangent = values
        return jax.vjp(function, *arguments)[1](cotangent)[argument]

    return run


def _pool(kind: str, window: int, stride: int, padding: Any, base: int = 1, inner: int = 1) -> Callable[..., Any]:
    initial, operation = _KINDS[kind]

    def run(x: Any) -> Any:
        return lax.reduce_window(
            x, np.float32(initial), operation, (window, 1), (stride, 1), (*padding, (0, 0)), (base, 1), (inner, 1)
        )

    return run


def _pools(backward: bool) -> Iterator[Case]:
    dilations = ((1, 1),) if backward else ((1, 1), (2, 1), (1, 2))
    kinds = ("max", "min", "add") if backward else tuple(_KINDS)
    for kind, window, stride, (how, padding), (base, inner) in itertools.product(
        kinds, (2, 3, 5), (1, 2, 3), _PADDINGS.items(), dilations
    ):
        function = _pool(kind, window, stride, padding, base, inner)
        for length in (12, 10):
            struct = jax.ShapeDtypeStruct((length, 3), "float32")
            shape = jax.eval_shape(function, struct).shape
            name = f"{kind}{'_gradient' if backward else ''}_w{window}_s{stride}_{how}_b{base}_i{inner}_n{length}"
            if backward:
                arguments, cuts = [(length, 3), shape], ["x.,x.->x.", "x.,..->x.", "x.,x.->.."]
                yield from cases(f"pool_gradient/{name}", pullback(function), arguments, cuts, "2 3 4")
            else:
                yield from cases(f"pool/{name}", function, [(length, 3)], ["x.->x.", "x.->..", "..->x."], "2 3 4")


def _convolution(stride: int, padding: Any, base: int, inner: int, groups: int, batches: int) -> Callable[..., Any]:
    def run(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(
            x,
            kernel,
            (stride,),
            padding,
            (base,),
            (inner,),
            ("NHC", "HIO", "NHC"),
            feature_group_count=groups,
            batch_group_count=batches,
        )

    return run


def _convolutions() -> Iterator[Case]:
    for stride, (how, padding), base, inner, (groups, batches), width in itertools.product(
        (1, 2, 3), (*_PADDINGS.items(), ("negative", ((-1, 1),))), (1, 2), (1, 2), ((1, 1), (2, 1), (1, 2)), (1, 3, 4)
    ):
        function = _convolution(stride, padding, base, inner, groups, batches)
        for length in (12, 10):
            x, kernel = (4, length, 4), (width, 4 // groups, 4)
            structs = [jax.ShapeDtypeStruct(shape, "float32") for shape in (x, kernel)]
            result = jax.eval_shape(function, *structs).shape
            if 0 in result:
                continue
            name = f"w{width}_s{stride}_{how}_b{base}_i{inner}_g{groups}_{batches}_n{length}"
            cuts = [".x.,...->.x.", ".x.,...->...", "x..,...->x..", "..x,.x.->...", "...,..x->..x", ".x.,x..->.x."]
            yield from cases(f"convolution/{name}", function, [x, kernel], cuts)
            cuts = [".x.,...,.x.->.x.", "x..,...,x..->x..", "...,..x,..x->...", ".x.,...,...->.x."]
            gradient = pullback(function)
            yield from cases(f"convolution_gradient/{name}", gradient, [x, kernel, result], cuts, "2 4")
            cuts = [".x.,...,.x.->...", "x..,...,x..->...", "...,..x,..x->..x", "..x,.x.,...->.x."]
            gradient = pullback(function, 1)
            yield from cases(f"convolution_kernel_gradient/{name}", gradient, [x, kernel, result], cuts, "2 4")


def _square_pool(x: Any) -> Any:
    return lax.reduce_window(x, -np.float32(np.inf), lax.max, (3, 3), (1, 1), "SAME")


def _strided_square_pool(x: Any) -> Any:
    return lax.reduce_window(x, -np.float32(np.inf), lax.max, (2, 3), (2, 1), ((0, 0), (1, 1)))


def _squares() -> Iterator[Case]:
    cuts = ["xy,xy->xy", "yx,yx->yx", "x.,x.->x.", ".j,.j->.j", "k.,k.->.."]
    meshes = "2x2 2x3 2x4 2x4p"
    for name, function, result in (("same", _square_pool, (8, 12)), ("strided", _strided_square_pool, (4, 12))):
        yield from cases(f"pool_gradient/square_{name}", pullback(function), [(8, 12), result], cuts, meshes)
        forward = ["xy->xy", "yx->xy", "j.->j.", ".k->.."]
        yield from cases(f"pool/square_{name}", function, [(8, 12)], forward, meshes)


def _square_convolution(stride: int, padding: Any, base: int, inner: int) -> Callable[..., Any]:
    def run(x: Any, kernel: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        strides, bases, inners = (stride, stride), (base, base), (inner, inner)
        return lax.conv_general_dilated(x, kernel, strides, padding, bases, inners, dimension_numbers=numbers)

    return run


def _square_convolutions() -> Iterator[Case]:
    meshes = "2x2 2x3 2x4p"
    for width, stride, padding, (base, inner) in itertools.product(
        (2, 3, 5), (1, 2), ((0, 0), (1, 1), (1, 2)), ((1, 1), (2, 1), (1, 2))
    ):
        function = _square_convolution(stride, (padding, padding), base, inner)
        for height in (12, 10):
            x, kernel = (2, height, 12, 2), (width, width, 2, 2)
            structs = [jax.ShapeDtypeStruct(shape, "float32") for shape in (x, kernel)]
            result = jax.eval_shape(function, *structs).shape
            name = f"w{width}_s{stride}_p{padding[0]}{padding[1]}_b{base}_i{inner}_n{height}"
            cuts = [".xy.,....->.xy.", ".yx.,....->.yx.", ".j..,....->.j..", "xy..,....->xy..", ".x.y,..y.->.x.y"]
            yield from cases(f"convolution_square/{name}", function, [x, kernel], cuts, meshes)
            cuts = [".xy.,....,.xy.->.xy.", ".j..,....,.j..->.j..", "xy..,....,....->xy.."]
            gradient = pullback(function)
            yield from cases(f"convolution_square_gradient/{name}", gradient, [x, kernel, result], cuts, meshes)
            cuts = [".xy.,....,.xy.->....", "xy..,....,xy..->...."]
            gradient = pullback(function, 1)
            yield from cases(f"convolution_square_gradient/kernel_{name}", gradient, [x, kernel, result], cuts, meshes)


def programs() -> Iterator[Case]:
    yield from thinned(_pools(backward=True), 6)
    yield from thinned(_pools(backward=False), 16)
    yield from thinned(_convolutions(), 50)
    yield from _squares()
    yield from thinned(_square_convolutions(), 6)
