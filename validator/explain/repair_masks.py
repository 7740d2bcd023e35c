"""Repairs of masks: elements that are masked away, where they are not defined or were looked up out of range."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..ops.monoid import Monoid, monoid_of_region
from ..read.attributes import Comparison
from ..read.dtypes import NUMPY_DTYPES
from ..read.ir import DType, Op, TensorType, Value
from ..report.cause import Cause, Diagnosis
from .edits import Repair
from .make import Maker
from .scene import Scene, Site, is_integral
from .slots import Slot, slots

_MAX_FILLS = 4
_MAX_PREDICATES = 8
"""Unused booleans of a program that are tried as the mask of one value."""


def not_masked(scene: Scene, site: Site) -> Iterator[Repair]:
    """A value is masked: by where it is defined, or by a boolean that the program has and does not use."""
    for slot in slots(scene, site):
        if slot.value.number in scene.index_values:
            continue
        if slot.kind.dtype.is_bool:
            yield from _joint(scene, slot)
            continue
        walk, value = scene.decision.device, scene.value(slot.value)
        if value is None:
            continue
        make = Maker(site.op)
        masks: list[tuple[Value, str]] = []
        if not walk.store.set_equal(value.domain, walk.points(slot.kind)):
            defined = value.domain
            masks.append((make.mask(walk, lambda defined=defined: defined, slot.kind.shape), "padding"))
        masks += [(mask, f"elements where '{mask.name}' is false") for mask in _predicates(scene, slot.kind.shape)]
        fills = _fills(scene, slot) if masks else []
        for (mask, what), (fill, rank), flipped in itertools.product(masks, fills, (False, True)):
            inner = make.fork()
            other = fill if isinstance(fill, Value) else inner.constant(fill, slot.kind)
            pair = (other, slot.value) if flipped else (slot.value, other)
            masked = inner.emit("select", (mask, *pair), slot.kind)
            cause = Diagnosis(Cause.MISSING_MASK, {"found": what})
            if is_integral(slot.value):
                cause = Diagnosis(Cause.WRONG_OFFSET, {"expected": f"another index for {what}", "found": "the same"})
            yield Repair(site.op, cause, slot.filled(inner, masked), make.given, rank=rank)


def _fills(scene: Scene, slot: Slot) -> list[tuple[Value | float, int]]:
    """What may stand where elements are masked away, and how unlikely it is: what nothing uses is the likeliest."""
    there = [
        value
        for other in scene.definitions.values()
        if other.order < slot.site.order and not other.path
        for value in other.op.results
        if value.type == slot.value.type and value.number != slot.value.number
    ]
    unused = [value for value in there if not scene.users(value) and not scene.returned(value)]
    used = [value for value in reversed(there) if value not in unused and not scene.is_constant(value)]
    return [
        *((value, 0) for value in unused[:2]),
        *((number, 1) for number in _neutrals(scene, slot.site.op)),
        *((value, 2) for value in used[:_MAX_FILLS]),
    ]


def _joint(scene: Scene, slot: Slot) -> Iterator[Repair]:
    """A condition that holds only together with another one."""
    for other in _predicates(scene, slot.kind.shape):
        if other.number != slot.value.number:
            make = Maker(slot.site.op)
            both = make.emit("and", (slot.value, other), slot.kind)
            cause = Diagnosis(Cause.MISSING_MASK, {"found": f"elements where '{other.name}' is false"})
            yield Repair(slot.site.op, cause, slot.filled(make, both))


def _predicates(scene: Scene, shape: tuple[int, ...]) -> list[Value]:
    values = [
        value
        for site in scene.definitions.values()
        for value in site.op.results
        if isinstance(value.type, TensorType) and value.tensor.dtype.is_bool and value.tensor.shape == shape
    ]
    unused = [value for value in dict.fromkeys(values) if not scene.users(value) and not scene.returned(value)]
    return unused[:_MAX_PREDICATES]


def _neutrals(scene: Scene, op: Op) -> list[float]:
    """What may stand where elements are masked away."""
    monoid = monoid_of_region(op.regions[0]) if op.regions else None
    neutral = monoid.neutral(op.results[0].tensor.dtype) if monoid is not None and len(op.results) == 1 else 0
    return [0.0] if not neutral else [float(neutral), 0.0]


def out_of_range(scene: Scene, site: Site) -> Iterator[Repair]:
    """What a device looks up counts as zero where its index, before any clamping, lies outside of what it has."""
    op = site.op
    if op.name != "stablehlo.gather":
        return
    slot = Slot(site, op.results[0])
    for index in _before_clamping(scene, op.operands[1]):
        make = Maker(op)
        inside = _inside(make, op, index)
        masked = make.emit("select", (inside, slot.value, make.constant(0, slot.kind)), slot.kind)
        cause = Diagnosis(
            Cause.MISSING_MASK, {"found": f"elements whose index '{index.name}' is out of the shard's range"}
        )
        yield Repair(op, cause, slot.filled(make, masked))


def _before_clamping(scene: Scene, index: Value) -> list[Value]:
    """An index, and what it is clamped from."""
    found = [index]
    site = scene.definitions.get(index.number)
    if site is not None and site.op.name in ("stablehlo.clamp", "stablehlo.minimum", "stablehlo.maximum"):
        found += [value for value in site.op.operands if value.type == index.type and not scene.is_constant(value)]
    return found


def _inside(make: Maker, op: Op, index: Value) -> Value:
    """For each element of a gather's result: whether no slice has to be moved to be in the operand."""
    dims, sizes = op.attributes["dimension_numbers"], op.attributes["slice_sizes"]
    shape, kind, result = op.operands[0].tensor.shape, index.tensor, op.results[0].tensor
    limits = np.array([shape[dim] - sizes[dim] for dim in dims.start_index_map], NUMPY_DTYPES[kind.dtype])
    vector = dims.index_vector_dim
    last = make.constant(limits.reshape(-1, *[1] * (kind.rank - vector - 1)) if vector < kind.rank else limits[0], kind)
    flags = TensorType(kind.shape, DType.I1)
    above = make.emit("compare", (index, make.constant(0, kind)), flags, comparison_direction=Comparison.GE)
    below = make.emit("compare", (index, last), flags, comparison_direction=Comparison.LE)
    inside = make.emit("and", (above, below), flags)
    if vector < kind.rank:
        rest = TensorType((*kind.shape[:vector], *kind.shape[vector + 1 :]), DType.I1)
        region = make.reducer(Monoid.AND.value, DType.I1)
        true = make.constant(True, TensorType((), DType.I1))
        inside = make.emit("reduce", (inside, true), rest, regions=(region,), dimensions=(vector,))
    batch = tuple(dim for dim in range(result.rank) if dim not in dims.offset_dims)
    return make.emit("broadcast_in_dim", (inside,), TensorType(result.shape, DType.I1), broadcast_dimensions=batch)
