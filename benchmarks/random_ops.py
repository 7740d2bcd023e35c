"""Random StableHLO modules of one operation each, with every attribute that it may have and JAX seldom writes.

All choices come from one random generator, so that a number gives the same module each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardproof.validator.read.dtypes import NUMPY_DTYPES
from shardproof.validator.read.ir import DType

Random = np.random.Generator
Ints = Sequence[int]

_INTEGERS = ("i4", "i8", "i16", "i32", "i64", "ui4", "ui8", "ui16", "ui32", "ui64")
_INDICES = _INTEGERS[1:5] + _INTEGERS[6:]
_NUMBERS = ("f32", "f32", "f64", "bf16", "i32", "i8", "ui8", "i64")
_TOLERANCES = {"f32": 3e-4, "f64": 1e-10, "bf16": 0.3, "f16": 3e-2}
"""Of sums; what is not a float has to agree bit for bit."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomOp:
    """A module, inputs for it, and how far apart floats may be."""

    text: str
    inputs: tuple[np.ndarray, ...]
    tolerance: float


def random_op(family: str, seed: int) -> RandomOp | None:
    """The module of this family and number; None where the choices made do not fit together."""
    return FAMILIES[family](np.random.default_rng([sorted(FAMILIES).index(family), seed]))


def _pick(rng: Random, choices: Sequence[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _order(rng: Random, count: int) -> list[int]:
    return [int(n) for n in rng.permutation(count)]


def _each(rng: Random, count: int, low: int, high: int) -> list[int]:
    """As many numbers from `low` to `high` inclusively."""
    return [int(n) for n in rng.integers(low, high + 1, count)]


def tensor(shape: Ints, element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def _array(numbers: Sequence[Any], element: str = "i64") -> str:
    listed = ", ".join(str(n).lower() for n in numbers)
    return f"array<{element}{': ' if listed else ''}{listed}>"


def _pairs(pairs: Sequence[Sequence[int]]) -> str:
    return f"dense<{[list(pair) for pair in pairs] if pairs else ''}> : tensor<{len(pairs)}x2xi64>"


def draw(rng: Random, shape: Ints, element: str, edge: float = 0.3) -> np.ndarray:
    """Small numbers, and with this frequency those at the ends of an integer type; floats are finite."""
    dtype, size = DType(element), int(np.prod(shape, dtype=np.int64))
    if not dtype.is_integer:
        return rng.normal(0, 3, size).astype(NUMPY_DTYPES[dtype]).reshape(shape)
    low, high = dtype.integer_range
    ends = [n for n in (low, low + 1, -1, high - 1, high, dtype.bits, dtype.bits - 1) if low <= n <= high]
    drawn = [
        _pick(rng, ends) if rng.random() < edge else int(rng.integers(max(low, -6), min(high, 6) + 1))
        for _ in range(size)
    ]
    held = np.array(drawn, dtype=object).astype(np.uint64 if element == "ui64" else np.int64)
    return held.astype(NUMPY_DTYPES[dtype]).reshape(shape)


def _places(rng: Random, shape: Ints, element: str, extent: int) -> np.ndarray:
    """Indices, a third of them out of bounds, as far as the type goes."""
    low, high = DType(element).integer_range
    wild = [-1, -100, extent, extent + 3, low, high]
    drawn = [
        _pick(rng, wild) if rng.random() < 1 / 3 else int(rng.integers(max(extent, 1)))
        for _ in range(int(np.prod(shape, dtype=np.int64)))
    ]
    held = np.array([min(max(n, low), high) for n in drawn], dtype=object)
    held = held.astype(np.uint64 if element == "ui64" else np.int64)
    return held.astype(NUMPY_DTYPES[DType(element)]).reshape(shape)


def module(op: str, attributes: str, types: Sequence[str], results: Sequence[str], region: str = "") -> str:
    """The operation on the function's arguments."""
    arguments = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(types))
    operands = ", ".join(f"%a{k}" for k in range(len(types)))
    names = ["%r"] if len(results) == 1 else [f"%r#{k}" for k in range(len(results))]
    made = f"%r{'' if len(results) == 1 else f':{len(results)}'}"
    listed, told = ", ".join(results), f"<{{{attributes}}}> " if attributes else ""
    return (
        f"func.func @main({arguments}) -> ({listed}) {{\n"
        f'  {made} = "stablehlo.{op}"({operands}) {told}{region} : ({", ".join(types)}) -> ({listed})\n'
        f"  return {', '.join(names)} : {listed}\n}}\n"
    )


def reducer(op: str, element: str) -> str:
    type_ = tensor((), element)
    return f"({{ ^bb0(%p: {type_}, %q: {type_}): %s = stablehlo.{op} %p, %q : {type_} stablehlo.return %s : {type_} }})"


def _op(text: str, inputs: Sequence[np.ndarray], element: str) -> RandomOp:
    return RandomOp(text, tuple(inputs), _TOLERANCES.get(element, 0.0))


def _binary(rng: Random) -> RandomOp:
    element = _pick(rng, _INTEGERS)
    arithmetic = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum")
    op = _pick(rng, (*arithmetic, "and", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"))
    type_ = tensor((24,), element)
    return _op(module(op, "", [type_, type_], [type_]), [draw(rng, (24,), element, 0.6) for _ in "xy"], element)


def _convert(rng: Random) -> RandomOp:
    source, target = _pick(rng, (*_INTEGERS, "f32", "f64")), _pick(rng, (*_INTEGERS, "i1", "f32", "f64", "bf16", "f16"))
    values = draw(rng, (40,), source)
    if source[0] == "f":
        values = values * values.dtype.type(10.0 ** rng.integers(0, 9))
    text = module("convert", "", [tensor((40,), source)], [tensor((40,), target)])
    return RandomOp(text, (values,), 0.0)


def _pad(rng: Random) -> RandomOp | None:
    element, rank = _pick(rng, _NUMBERS), int(rng.integers(1, 4))
    shape, low, high, inner = (_each(rng, rank, *ends) for ends in ((0, 4), (-3, 4), (-3, 4), (0, 3)))
    out = [n + a + b + max(n - 1, 0) * i for n, a, b, i in zip(shape, low, high, inner, strict=True)]
    if min(out) < 0:
        return None
    sizes = f"edge_padding_low = {_array(low)}, edge_padding_high = {_array(high)}, interior_padding = {_array(inner)}"
    types = [tensor(shape, element), tensor((), element)]
    text = module("pad", sizes, types, [tensor(out, element)])
    return _op(text, [draw(rng, shape, element), draw(rng, (), element)], element)


def _dynamic(rng: Random) -> RandomOp:
    element, index, rank = _pick(rng, _NUMBERS), _pick(rng, _INDICES), int(rng.integers(1, 4))
    shape = _each(rng, rank, 1, 5)
    sizes = [int(rng.integers(0, n + 1)) for n in shape]
    starts = [_places(rng, (), index, n) for n in shape]
    whole, window, scalars = tensor(shape, element), tensor(sizes, element), [tensor((), index)] * rank
    operand = draw(rng, shape, element)
    if rng.random() < 0.5:
        text = module("dynamic_slice", f"slice_sizes = {_array(sizes)}", [whole, *scalars], [window])
        return _op(text, [operand, *starts], element)
    text = module("dynamic_update_slice", "", [whole, window, *scalars], [whole])
    return _op(text, [operand, draw(rng, sizes, element), *starts], element)


@dataclass(frozen=True, slots=True)
class _Indexing:
    """The dimensions of a random gather or scatter."""

    shape: list[int]
    windows: list[int]
    """Dimensions of the operand that a window keeps."""
    batch: list[int]
    indices: list[int]
    numbers: dict[str, Any]
    """By the names that gather gives them."""


def _indexing(rng: Random) -> _Indexing:
    rank = int(rng.integers(1, 4))
    shape, order = _each(rng, rank, 1, 4), _order(rng, rank)
    shared = int(rng.integers(0, min(rank, 2) + 1))
    batching, rest = sorted(order[:shared]), order[shared:]
    dropped = sorted(rest[: int(rng.integers(0, len(rest) + 1))])
    mapped = [rest[k] for k in _order(rng, len(rest))[: int(rng.integers(1, len(rest) + 1))]] if rest else []
    batch = _each(rng, max(shared, int(rng.integers(0, 3))), 1, 3)
    places = _order(rng, len(batch))[:shared]
    for dimension, place in zip(batching, places, strict=True):
        batch[place] = shape[dimension]
    at = int(rng.integers(0, len(batch) + 1))
    numbers = {
        "collapsed_slice_dims": dropped,
        "operand_batching_dims": batching,
        "start_indices_batching_dims": [place + (place >= at) for place in places],
        "start_index_map": mapped,
        "index_vector_dim": at,
    }
    windows = [d for d in range(rank) if d not in dropped and d not in batching]
    return _Indexing(shape, windows, batch, [*batch[:at], len(mapped), *batch[at:]], numbers)


def _interleaved(rng: Random, batch: Ints, window: Ints) -> tuple[list[int], list[int]]:
    """A shape with the window's dimensions anywhere, and where they are."""
    offsets = sorted(_order(rng, len(batch) + len(window))[: len(window)])
    inside, outside = iter(window), iter(batch)
    return [next(inside if d in offsets else outside) for d in range(len(batch) + len(window))], offsets


def _listed(numbers: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in numbers.items())


def _gather(rng: Random) -> RandomOp:
    element, index, dims = _pick(rng, _NUMBERS), _pick(rng, _INDICES), _indexing(rng)
    sizes = [int(rng.integers(0, n + 1)) if d in dims.windows else 1 for d, n in enumerate(dims.shape)]
    out, offsets = _interleaved(rng, dims.batch, [sizes[d] for d in dims.windows])
    numbers = f"#stablehlo.gather<{_listed({'offset_dims': offsets, **dims.numbers})}>"
    types = [tensor(dims.shape, element), tensor(dims.indices, index)]
    told = f"dimension_numbers = {numbers}, slice_sizes = {_array(sizes)}, indices_are_sorted = false"
    inputs = [draw(rng, dims.shape, element), _places(rng, dims.indices, index, max(dims.shape))]
    return _op(module("gather", told, types, [tensor(out, element)]), inputs, element)


_OF_SCATTER = {
    "collapsed_slice_dims": "inserted_window_dims",
    "operand_batching_dims": "input_batching_dims",
    "start_indices_batching_dims": "scatter_indices_batching_dims",
    "start_index_map": "scatter_dims_to_operand_dims",
    "index_vector_dim": "index_vector_dim",
}


def _scatter(rng: Random) -> RandomOp:
    element, index, dims = _pick(rng, _NUMBERS), _pick(rng, _INDICES), _indexing(rng)
    sizes = [int(rng.integers(1, dims.shape[d] + 1)) for d in dims.windows]
    updates, offsets = _interleaved(rng, dims.batch, sizes)
    renamed = {_OF_SCATTER[name]: value for name, value in dims.numbers.items()}
    numbers = f"#stablehlo.scatter<{_listed({'update_window_dims': offsets, **renamed})}>"
    types = [tensor(dims.shape, element), tensor(dims.indices, index), tensor(updates, element)]
    op = _pick(rng, ("add", "maximum", "minimum", "multiply"))
    text = module("scatter", f"scatter_dimension_numbers = {numbers}", types, [types[0]], reducer(op, element))
    places = _places(rng, dims.indices, index, max(dims.shape))
    return _op(text, [draw(rng, dims.shape, element), places, draw(rng, updates, element)], element)


def _outputs(extents: Ints, sizes: Ints, strides: Ints, base: Ints, dilations: Ints, padding: Any) -> list[int] | None:
    """How many windows there are along each dimension; None where padding cuts off more than all."""
    out = []
    for n, size, stride, b, dilation, (low, high) in zip(
        extents, sizes, strides, base, dilations, padding, strict=True
    ):
        total, span = (n - 1) * b + 1 + low + high, (size - 1) * dilation + 1
        if total < 0:
            return None
        out.append(0 if total < span else (total - span) // stride + 1)
    return out


def _reduce_window(rng: Random) -> RandomOp | None:
    element, rank = _pick(rng, _NUMBERS), int(rng.integers(1, 4))
    shape, sizes, strides, base, dilations = (_each(rng, rank, 1, n) for n in (5, 3, 3, 3, 3))
    padding = [_each(rng, 2, -2, 3) for _ in range(rank)]
    out = _outputs(shape, sizes, strides, base, dilations, padding)
    if out is None:
        return None
    listed = f"window_dimensions = {_array(sizes)}, window_strides = {_array(strides)}, base_dilations = {_array(base)}"
    told = f"{listed}, window_dilations = {_array(dilations)}, padding = {_pairs(padding)}"
    op = _pick(rng, ("add", "maximum", "minimum"))
    start = draw(rng, (), element) if op != "add" else np.zeros((), NUMPY_DTYPES[DType(element)])
    types = [tensor(shape, element), tensor((), element)]
    text = module("reduce_window", told, types, [tensor(out, element)], reducer(op, element))
    return _op(text, [draw(rng, shape, element), start], element)


def _placed(rng: Random, extents: Ints) -> tuple[list[int], list[int]]:
    """A shape with these extents in any order, and the dimension of each."""
    order = _order(rng, len(extents))
    shape = [0] * len(extents)
    for extent, dimension in zip(extents, order, strict=True):
        shape[dimension] = extent
    return shape, order


def _convolution(rng: Random) -> RandomOp | None:
    element, rank = _pick(rng, ("f32", "f64", "i32", "bf16")), int(rng.integers(0, 4))
    features = int(rng.integers(1, 4)) if rng.random() < 0.4 else 1
    batches = int(rng.integers(1, 4)) if features == 1 and rng.random() < 0.5 else 1
    each, batch = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    out_features = int(rng.integers(1, 3)) * features * batches
    extents, sizes, strides, base, dilations = (_each(rng, rank, 1, n) for n in (5, 3, 3, 3, 3))
    padding = [_each(rng, 2, -2, 3) for _ in range(rank)]
    out = _outputs(extents, sizes, strides, base, dilations, padding)
    if out is None:
        return None
    left, x = _placed(rng, [batch * batches, each * features, *extents])
    right, k = _placed(rng, [each, out_features, *sizes])
    result, y = _placed(rng, [batch, out_features, *out])
    reversal = [bool(n) for n in rng.integers(0, 2, rank)]
    numbers = (
        f"input_batch_dimension = {x[0]}, input_feature_dimension = {x[1]}, input_spatial_dimensions = {x[2:]}, "
        f"kernel_input_feature_dimension = {k[0]}, kernel_output_feature_dimension = {k[1]}, "
        f"kernel_spatial_dimensions = {k[2:]}, output_batch_dimension = {y[0]}, output_feature_dimension = {y[1]}, "
        f"output_spatial_dimensions = {y[2:]}"
    )
    told = (
        f"window_strides = {_array(strides)}, padding = {_pairs(padding)}, lhs_dilation = {_array(base)}, "
        f"rhs_dilation = {_array(dilations)}, window_reversal = {_array(reversal, 'i1')}, "
        f"dimension_numbers = #stablehlo.conv<raw {numbers}>, "
        f"feature_group_count = {features} : i64, batch_group_count = {batches} : i64"
    )
    types = [tensor(left, element), tensor(right, element)]
    text = module("convolution", told, types, [tensor(result, element)])
    return _op(text, [draw(rng, left, element, 0.1), draw(rng, right, element, 0.1)], element)


_PRODUCTS = (
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("i32", "i32", "i32"),
    ("bf16", "bf16", "f32"),
    ("i8", "i8", "i32"),
    ("ui8", "i8", "i32"),
    ("i32", "i32", "i8"),
    ("f32", "f32", "f64"),
)


def _dot(rng: Random) -> RandomOp:
    first, second, out = _pick(rng, _PRODUCTS)
    batch, summed, rows, columns = (_each(rng, int(rng.integers(0, 3)), 1, 3) for _ in range(4))
    shapes, numbers = [], {}
    for side, free in (("lhs", rows), ("rhs", columns)):
        shape, order = _placed(rng, [*batch, *summed])
        # free dimensions keep their order: it is the result's
        full, offsets = _interleaved(rng, shape, free)
        places = [d for d in range(len(full)) if d not in offsets]
        numbers[f"{side}_batching_dimensions"] = [places[d] for d in order[: len(batch)]]
        numbers[f"{side}_contracting_dimensions"] = [places[d] for d in order[len(batch) :]]
        shapes.append(full)
    types = [tensor(shape, element) for shape, element in zip(shapes, (first, second), strict=True)]
    told = f"dot_dimension_numbers = #stablehlo.dot<{_listed(numbers)}>"
    text = module("dot_general", told, types, [tensor([*batch, *rows, *columns], out)])
    return _op(text, [draw(rng, shape, e, 0.1) for shape, e in zip(shapes, (first, second), strict=True)], out)


FAMILIES: dict[str, Callable[[Random], RandomOp | None]] = {
    "binary": _binary,
    "convert": _convert,
    "convolution": _convolution,
    "dot": _dot,
    "dynamic": _dynamic,
    "gather": _gather,
    "pad": _pad,
    "reduce_window": _reduce_window,
    "scatter": _scatter,
}
