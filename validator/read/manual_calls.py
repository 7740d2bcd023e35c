"""Regions that are written as a call between two custom calls, put together while a module is converted.

What such a call takes and gives stands for one device's part of a tensor, and nothing but the three ops of the form
may use it: anything else makes the program UNSUPPORTED.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .ir import Location, Op, Region, TensorType, Value
from .manual_forms import (
    BODY,
    ENTER,
    IN_SHARDINGS,
    LEAVE,
    MANUAL_AXES,
    OUT_SHARDINGS,
    Axes,
    check_cut,
    hlo_axes,
    sdy_axes,
)
from .shardings import Sharding
from .tiling import Mesh

ReadShardings = Callable[[str], tuple[Sharding, ...]]


class NotAManualCall(ValueError):
    """What keeps a call from being read as a manual region."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What one of the three ops tells: how tensors are cut, and by which axes; None where it does not."""

    shardings: tuple[Sharding, ...] | None = None
    axes: Axes | None = None


@dataclass(frozen=True, slots=True)
class _Entered:
    """A device's part of the `index`-th tensor that enters a region."""

    outside: Value
    index: int
    told: _Told


@dataclass(slots=True)
class Called:
    """A region that is called and not left yet."""

    entered: tuple[_Entered, ...]
    entering: _Told
    leaving: _Told
    axes: tuple[Axes, ...]
    location: Location
    region: Region = field(default_factory=lambda: Region((), (), ()))
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class _Returned:
    """A device's part of the `index`-th result of a region."""

    called: Called
    index: int


class ManualCalls:
    """The regions of one module."""

    def __init__(self, meshes: dict[str, Mesh], read_shardings: ReadShardings) -> None:
        self._meshes = meshes
        self._read = read_shardings
        self.parts: dict[int, _Entered | _Returned] = {}
        """By number, the values that stand for a device's part of a tensor."""
        self._annotated: dict[int, Sharding] = {}
        self._around: list[Axes] = []

    def check_use(self, operands: Sequence[Value], *, allowed: bool) -> None:
        """Refuses an op that takes a device's part of a tensor and has no business with it."""
        if not allowed and any(value.number in self.parts for value in operands):
            raise NotAManualCall(f"what '{ENTER}' or '@{BODY}' gives is not used as Shardy does")

    def custom_call(self, op: Op) -> Op | None:
        """A converted custom call: itself, or the region that it closes, or nothing where it begins one."""
        target = op.attributes.get("call_target_name")
        if target == ENTER:
            self._enter(op)
            return None
        if target == LEAVE:
            return self._leave(op)
        if target == "Sharding" and len(op.shardings) == 1 and op.shardings[0] is not None:
            self._annotated[op.results[0].number] = op.shardings[0]
        return op

    def _enter(self, op: Op) -> None:
        if len(op.operands) != len(op.results):
            raise NotAManualCall(f"'{ENTER}' of {len(op.operands)} tensors gives {len(op.results)}")
        told = self._front_end(op.attributes, IN_SHARDINGS)
        if told.axes is None and op.shardings:
            shardings = [self._annotated.get(value.number) for value in op.operands]
            if any(sharding is None for sharding in shardings):
                raise NotAManualCall(f"'{ENTER}' of a tensor without a sharding")
            whole = tuple(sharding for sharding in shardings if sharding is not None)
            told = _Told(whole, _agreed([_hlo_axes(sharding) for sharding in op.shardings]))
        for index, (outside, inside) in enumerate(zip(op.operands, op.results, strict=True)):
            self.parts[inside.number] = _Entered(outside, index, told)

    def call(self, operands: Sequence[Value], attributes: dict[str, Any], location: Location) -> Called:
        """A call of a region's body on these parts, which is converted next."""
        entered = tuple(part for value in operands if isinstance(part := self.parts.get(value.number), _Entered))
        if len(entered) != len(operands):
            raise NotAManualCall(f"'@{BODY}' takes what no '{ENTER}' gives")
        entering = self._front_end(attributes, IN_SHARDINGS)
        leaving = self._front_end(attributes, OUT_SHARDINGS)
        axes = [told.axes for told in (entering, *(part.told for part in entered)) if told.axes is not None]
        if not axes:
            axes = [_hlo_axes(sharding) for sharding in attributes.get("mhlo.sharding", ())]
        called = Called(entered, entering, leaving, tuple(axes), location)
        if axes:
            self._around.append(agreed := _agreed(axes))
            outer = {name for each in self._around[:-1] for name in each.names}
            if not outer.isdisjoint(agreed.names):
                raise NotAManualCall("a region inside another one makes an axis manual a second time")
        return called

    def returned(self, called: Called, region: Region, results: Sequence[Value]) -> None:
        """Its body has been converted; `results` stand for what the call gives."""
        if called.axes:
            self._around.pop()
        called.region = region
        for index, value in enumerate(results):
            self.parts[value.number] = _Returned(called, index)

    def closed(self, called: Called) -> Op:
        """A region without results."""
        return self._computation(called, (), (), (), called.axes)

    def _leave(self, op: Op) -> Op:
        parts = [self.parts.get(value.number) for value in op.operands]
        returned = [part for part in parts if isinstance(part, _Returned)]
        if (
            not returned
            or len(returned) != len(op.results)
            or any(p.called is not returned[0].called for p in returned)
        ):
            raise NotAManualCall(f"'{LEAVE}' takes something else than the results of one '@{BODY}'")
        called = returned[0].called
        if called.is_left:
            raise NotAManualCall(f"the results of one '@{BODY}' leave it twice")
        called.is_left = True
        told = self._front_end(op.attributes, OUT_SHARDINGS)
        of_call = called.leaving.shardings or ()
        ordered = tuple(of_call[part.index] for part in returned if part.index < len(of_call))
        leaving = told.shardings or ordered or op.shardings
        if len(leaving) != len(op.results):
            raise NotAManualCall(f"'{LEAVE}' of {len(op.results)} tensors with {len(leaving)} shardings")
        axes = (*called.axes, *(() if told.axes is None else (told.axes,)))
        results = tuple(called.region.results[part.index] for part in returned)
        return self._computation(called, op.results, results, tuple(leaving), axes)

    def _computation(
        self,
        called: Called,
        outside: tuple[Value, ...],
        inside: tuple[Value, ...],
        leaving: tuple[Sharding | None, ...],
        told: tuple[Axes, ...],
    ) -> Op:
        axes = _agreed(told)
        entering: list[Sharding] = []
        for position, (part, argument) in enumerate(zip(called.entered, called.region.arguments, strict=True)):
            # each op tells of its own operands, and the call's may come in another order or from several ops
            of_call = called.entering.shardings
            shardings, index = (of_call, position) if of_call else (part.told.shardings or (), part.index)
            if index >= len(shardings):
                raise NotAManualCall(f"'{ENTER}' of a tensor without a sharding")
            entering.append(shardings[index])
            _check(entering[-1], part.outside, argument, axes)
        for sharding, whole, own in zip(leaving, outside, inside, strict=True):
            if sharding is None:
                raise NotAManualCall(f"'{LEAVE}' of a tensor without a sharding")
            _check(sharding, whole, own, axes)
        region = Region(called.region.arguments, called.region.ops, inside)
        attributes = {
            "in_shardings": tuple(entering),
            "out_shardings": leaving,
            "manual_axes": axes.names,
            "mesh": axes.mesh,
        }
        operands = tuple(part.outside for part in called.entered)
        return Op("sdy.manual_computation", operands, outside, attributes, (region,), called.location)

    def _front_end(self, attributes: Any, key: str) -> _Told:
        """What front-end attributes tell under a key of shardings."""
        texts = attributes.get("mhlo.frontend_attributes")
        if not isinstance(texts, dict) or MANUAL_AXES not in texts or key not in texts:
            return _Told()
        shardings, axes = texts[key], texts[MANUAL_AXES]
        if not isinstance(shardings, str) or not isinstance(axes, str):
            raise NotAManualCall(f"'{key}' is no text")
        try:
            return _Told(self._read(shardings), sdy_axes(axes, shardings, self._meshes))
        except ValueError as error:
            raise NotAManualCall(str(error)) from None


def _hlo_axes(sharding: Sharding | None) -> Axes:
    if sharding is None:
        raise NotAManualCall("a tensor inside a manual region without a sharding")
    try:
        return hlo_axes(sharding)
    except ValueError:
        raise NotAManualCall(f"sharding '{sharding.text}' tells no manual axes") from None


def _agreed(told: Sequence[Axes]) -> Axes:
    if not told:
        raise NotAManualCall("a manual region without manual axes")
    if any(not axes.same(told[0]) for axes in told[1:]):
        raise NotAManualCall("the ops of a manual region name different manual axes")
    return told[0]


def _check(sharding: Sharding, outside: Value, inside: Value, axes: Axes) -> None:
    if not isinstance(outside.type, TensorType) or not isinstance(inside.type, TensorType):
        raise NotAManualCall("a manual region of tokens or tuples")
    try:
        check_cut(sharding, outside.type, inside.type, axes)
    except ValueError as error:
        raise NotAManualCall(str(error)) from None
