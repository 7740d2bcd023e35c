"""Random scalars that are constants on some devices only, and what they decide: branches and starts of reductions."""

from __future__ import annotations

import math

from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.ir import DType, Region, Value

from .chain import Chain

_STARTS = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf}


def _element(chain: Chain, dtype: DType) -> Value | None:
    """The last element of some value, of a parameter rather: of an uneven shard it is padding."""
    given = [p.value for p in chain.parameters if p.value.tensor.dtype is dtype and p.value.tensor.rank]
    value = given[chain.draw(0, len(given) - 1)] if given and chain.draw(0, 3) else chain.pick(dtype, rank=1)
    if value is None or not value.tensor.size:
        return None
    start = tuple(n - 1 for n in value.tensor.shape)
    limit, ones = tuple(n + 1 for n in start), (1,) * len(start)
    part = chain.emit("slice", [value], ones, dtype, start_indices=start, limit_indices=limit, strides=ones)
    return chain.emit("reshape", [part], (), dtype)


def _known_in_part(chain: Chain, dtype: DType, number: float) -> Value:
    """This number on some devices, and an element on the others."""
    known, element = chain.constant(number, dtype), _element(chain, dtype)
    if element is None or chain.devices == 1:
        return known
    own = chain.emit("convert", [chain.emit("partition_id", (), (), DType.UI32)], (), DType.I32)
    device = chain.constant(chain.draw(0, chain.devices - 1), DType.I32)
    direction = (Comparison.LT, Comparison.LE, Comparison.NE)[chain.draw(0, 2)]
    here = chain.emit("compare", [own, device], (), DType.I1, comparison_direction=direction)
    return chain.emit("select", [here, known, element], (), dtype)


def known_in_part(chain: Chain) -> None:
    dtype = (DType.I32, DType.F32)[chain.draw(0, 1)]
    _known_in_part(chain, dtype, chain.draw(0, 2))


def branch(chain: Chain) -> None:
    """One of a constant and what is computed, chosen by a scalar that is known in part."""
    dtype = (DType.I32, DType.F32)[chain.draw(0, 1)]
    value = chain.pick(dtype)
    if value is None:
        return
    name, kind = (("if", DType.I1), ("case", DType.I32))[chain.draw(0, 1)]
    index, shape = _known_in_part(chain, kind, chain.draw(0, 1)), value.tensor.shape
    ops, values = chain.ops, chain.values
    regions = []
    for number in range(2):
        chain.ops, chain.values = [], [*values]
        made = chain.emit("negate", [value], shape, dtype) if number else chain.constant(5, dtype, shape)
        regions.append(Region((), tuple(chain.ops), (made,)))
    chain.ops, chain.values = ops, values
    chain.emit(name, [index], shape, dtype, tuple(regions))


def started(chain: Chain) -> None:
    """A reduction from a start value that is neutral on some devices."""
    value = chain.pick(DType.F32, rank=1)
    if value is not None and value.tensor.size:
        name = list(_STARTS)[chain.draw(0, 2)]
        start = _known_in_part(chain, DType.F32, _STARTS[name])
        shape, region = value.tensor.shape[1:], (chain.reducer(name, DType.F32),)
        chain.emit("reduce", [value, start], shape, DType.F32, region, dimensions=(0,))
