"""Repairs of what an op is given: swapped or other operands, other constants, an op too many or too few."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..ops.values import read_through
from ..read.ir import Op, TensorType, Value
from ..relate.value import Val
from ..report.cause import Cause, Diagnosis
from .edits import Repair
from .known import Known
from .make import Maker
from .scene import Scene, Site, is_integral
from .slots import slots, with_operand

_MAX_OTHERS = 12
"""Values of the same type that are tried in the place of one operand."""
_MAX_CONSTANTS = 12
_MAX_UNUSED = 8


def swapped(scene: Scene, site: Site) -> Iterator[Repair]:
    """Operands of one type in another order."""
    op = site.op
    for operands in _orders(op):
        facts = {"expected": _listed(operands), "found": _listed(op.operands)}
        yield Repair(op, Diagnosis(Cause.SWAPPED, facts), ((site, (replace(op, operands=operands),)),))


def _orders(op: Op) -> Iterator[tuple[Value, ...]]:
    operands = op.operands
    if len(operands) < 2 or op.name in ("stablehlo.while", "stablehlo.scatter", "stablehlo.custom_call"):
        return
    if op.name == "stablehlo.concatenate" and len(operands) > 3:
        for shift in range(1, len(operands)):
            yield (*operands[shift:], *operands[:shift])
    for left, right in itertools.combinations(range(len(operands)), 2):
        if operands[left].type == operands[right].type and operands[left].number != operands[right].number:
            order = list(operands)
            order[left], order[right] = order[right], order[left]
            yield tuple(order)
    if op.name == "stablehlo.concatenate" and len(operands) == 3:
        yield (operands[1], operands[2], operands[0])
        yield (operands[2], operands[0], operands[1])


def _listed(values: tuple[Value, ...]) -> str:
    return ", ".join(f"'{value.name}'" for value in values[:4]) + (", …" if len(values) > 4 else "")


def another_operand(scene: Scene, site: Site) -> Iterator[Repair]:
    """Another value of the same type in the place of an operand; those that nothing uses are tried first."""
    op = site.op
    if op.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
        return
    for number, operand in enumerate(op.operands):
        if operand.number in scene.index_values or not isinstance(operand.type, TensorType):
            continue
        for other in _others(scene, site, operand):
            operands = (*op.operands[:number], other, *op.operands[number + 1 :])
            facts = {"expected": f"'{other.name}'", "found": f"'{operand.name}'"}
            yield Repair(op, Diagnosis(Cause.SWAPPED, facts), ((site, (replace(op, operands=operands),)),))


def unused(scene: Scene, site: Site) -> Iterator[Repair]:
    """A value that nothing uses belongs into what an op takes, or into a value that only later ops take."""
    op = site.op
    if op.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if") and site.path:
        return
    for position, operand in enumerate(op.operands):
        if not isinstance(operand.type, TensorType):
            continue
        for other in _unused_before(scene, site, operand):
            for name in _joining(operand):
                make = Maker(op)
                both = make.emit(name, (operand, other), operand.type)
                ops = (*make.ops, with_operand(op, position, both))
                yield Repair(op, _forgotten(name, other), ((site, ops),))
    yield from _joined_later(scene, site)


def _joined_later(scene: Scene, site: Site) -> Iterator[Repair]:
    """What nothing uses belongs into an op's result, which is there before it and is used after it alone."""
    (value, *more) = site.op.results
    if more or not isinstance(value.type, TensorType) or len(scene.users(value)) < 2:
        return
    first = min(user.order for user, _ in scene.users(value))
    for later in dict.fromkeys(scene.definitions.values()):
        if later.block != site.block or not site.order < later.order < first:
            continue
        for other in later.op.results:
            if other.type != value.type or scene.users(other) or scene.returned(other):
                continue
            for name in _joining(value):
                make = Maker(site.op)
                old = make.fresh(value.type)
                make.emit(name, (old, other), value.type, value)
                changes = ((site, (replace(site.op, results=(old,)),)), (later, (later.op, *make.ops)))
                yield Repair(site.op, _forgotten(name, other), changes)


def _unused_before(scene: Scene, site: Site, operand: Value) -> list[Value]:
    """Values of an operand's type that are there before an op and that nothing uses."""
    found = [value for other in _earlier(scene, site) for value in other.op.results]
    return [
        value for value in found if value.type == operand.type and not scene.users(value) and not scene.returned(value)
    ][:_MAX_UNUSED]


def _joining(value: Value) -> tuple[str, ...]:
    """Ops by which another value may come into one."""
    return ("and", "or") if value.tensor.dtype.is_bool else ("add", "subtract", "multiply")


def _forgotten(name: str, other: Value) -> Diagnosis | None:
    if other.tensor.dtype.is_bool:
        return Diagnosis(Cause.MISSING_MASK, {"found": f"elements where '{other.name}' is false"})
    if is_integral(other) and name != "multiply":
        facts = {"expected": f"'{name}' of '{other.name}', which nothing uses", "found": "no offset"}
        return Diagnosis(Cause.WRONG_OFFSET, facts)
    return None


def _others(scene: Scene, site: Site, operand: Value) -> list[Value]:
    """Values that are there before the op, of the type of one of its operands."""
    found = [parameter.value for parameter in scene.after.parameters]
    found += [value for other in _earlier(scene, site) for value in other.op.results]
    same = [value for value in found if value.type == operand.type and value.number != operand.number]
    return scene.dead_first(same[::-1])[:_MAX_OTHERS]


def _earlier(scene: Scene, site: Site) -> Iterator[Site]:
    """Ops whose results an op may take: those before it, in its own region or outside of loops and branches."""
    for other in dict.fromkeys(scene.definitions.values()):
        if other.order < site.order and other.block in ((), site.block):
            yield other


def exchanged_results(scene: Scene) -> Iterator[Repair]:
    """A result of the program is another value of its type."""
    results = scene.after.results
    own = results[scene.result].value
    site = scene.definitions.get(own.number)
    place = site.op if site is not None else next(iter(scene.after.body.ops), None)
    if place is None:
        return
    for number, other in enumerate(results):
        if other.value.number != own.number and other.value.type == own.type:
            facts = {"expected": f"'{other.value.name}' as result {scene.result}", "found": f"'{own.name}'"}
            returns = {scene.result: other.value.number, number: own.number}
            yield Repair(place, Diagnosis(Cause.SWAPPED, facts), returns=returns)
    for other in _everything(scene, own):
        facts = {"expected": f"'{other.name}' as result {scene.result}", "found": f"'{own.name}'"}
        yield Repair(place, Diagnosis(Cause.SWAPPED, facts), returns={scene.result: other.number})


def _everything(scene: Scene, own: Value) -> list[Value]:
    values = [value for site in scene.definitions.values() if not site.path for value in site.op.results]
    return scene.dead_first([value for value in values if value.type == own.type and value.number != own.number])[:40]


def exchanged_carries(scene: Scene, site: Site) -> Iterator[Repair]:
    """A loop hands on two of its carried values in exchanged places."""
    op = site.op
    if op.name != "stablehlo.while":
        return
    body = op.regions[1]
    for left, right in itertools.combinations(range(len(body.results)), 2):
        one, two = body.results[left], body.results[right]
        if one.type == two.type and one.number != two.number:
            results = list(body.results)
            results[left], results[right] = two, one
            other = replace(op, regions=(op.regions[0], replace(body, results=tuple(results))))
            facts = {"expected": f"'{two.name}' as carried value {left}", "found": f"'{one.name}'"}
            yield Repair(op, Diagnosis(Cause.SWAPPED, facts), ((site, (other,)),))


def another_constant(scene: Scene, site: Site) -> Iterator[Repair]:
    """A constant of the original, or of integers one more or less."""
    op = site.op
    if op.name != "stablehlo.constant":
        return
    kind = op.results[0].type
    if not isinstance(kind, TensorType):
        return
    own = np.asarray(op.attributes["value"])
    for array in _constants(scene, kind, own):
        if array.dtype == own.dtype and not np.array_equal(array, own, equal_nan=array.dtype.kind == "f"):
            other = replace(op, attributes={**op.attributes, "value": array})
            facts = {"expected": _number(array), "found": _number(own)}
            # an integer that is no data says where: an offset, a bound or an extent
            cause = Cause.WRONG_OFFSET if own.dtype.kind in "iu" else Cause.WRONG_CONSTANT
            yield Repair(op, Diagnosis(cause, facts), ((site, (other,)),))


def _constants(scene: Scene, kind: TensorType, own: np.ndarray) -> Iterator[np.ndarray]:
    seen: set[bytes] = set()
    for op in scene.before_ops:
        if op.name != "stablehlo.constant" or len(seen) >= _MAX_CONSTANTS:
            continue
        array = np.asarray(op.attributes["value"])
        if array.dtype != own.dtype or array.tobytes() in seen:
            continue
        if array.size == 1 or array.shape == own.shape:
            seen.add(array.tobytes())
            yield np.array(np.broadcast_to(array.reshape(()) if array.size == 1 else array, own.shape))
    if own.dtype.kind in "iu" and own.size == 1:
        for step in (1, -1):
            with np.errstate(over="ignore"):
                yield np.asarray(own + np.asarray(step).astype(own.dtype), own.dtype).reshape(own.shape)
    if own.dtype.kind == "b":
        yield ~own


def _number(array: np.ndarray) -> str:
    return str(array.reshape(-1)[0]) if array.size == 1 or bool((array == array.flat[0]).all()) else "another table"


def too_many(scene: Scene, site: Site) -> Iterator[Repair]:
    """An op is left out: one of its operands stands for its result."""
    op = site.op
    if len(op.results) != 1 or op.regions or op.name.startswith("sdy."):
        return
    result = op.results[0]
    for number, operand in enumerate(op.operands):
        if operand.type != result.type or scene.is_constant(operand) or operand.number == result.number:
            continue
        known, cause = _surplus(scene, op, number)
        if known:
            make = Maker(op)
            make.same(operand, result)
            yield Repair(op, cause, ((site, tuple(make.ops)),))


def _surplus(scene: Scene, op: Op, kept: int) -> tuple[bool, Diagnosis | None]:
    """Whether an op may be one too many, and what that is called."""
    match op.name:
        case "stablehlo.multiply" | "stablehlo.divide":
            factor = _factor(scene, op, kept)
            if factor is None:
                return False, None
            return True, Diagnosis(Cause.WRONG_FACTOR, {"factor": f"{factor:g}"})
        case "stablehlo.select" if kept > 0:
            if op.operands[0].number in scene.device_values:
                return True, Diagnosis(Cause.REPLICAS_DISAGREE)
            return True, None
        case "stablehlo.clamp" | "stablehlo.minimum" | "stablehlo.maximum" if is_integral(op.results[0]):
            return True, Diagnosis(Cause.WRONG_OFFSET)
        case "stablehlo.add" | "stablehlo.subtract" if is_integral(op.results[0]):
            return True, Diagnosis(Cause.WRONG_OFFSET)
        case "stablehlo.reverse" | "stablehlo.transpose":
            return True, Diagnosis(Cause.WRONG_DIMENSION)
        case _:
            return False, None


def _factor(scene: Scene, op: Op, kept: int) -> float | None:
    """What an op multiplies its operand by, where that is one constant."""
    constant = scene.constant(op.operands[1 - kept])
    if constant is None or (op.name == "stablehlo.divide" and kept == 1):
        return None
    array = np.asarray(constant.attributes["value"])
    if array.size == 0 or array.dtype.kind == "c" or not bool((array == array.flat[0]).all()):
        return None
    number = float(array.flat[0])
    if op.name == "stablehlo.divide":
        return 1 / number if number else None
    return number


def left_out(scene: Scene, site: Site) -> Iterator[Repair]:
    """A value is what the original makes of it by one more op; taken as known, on the devices as the value is."""
    if site.op.name == "stablehlo.while":
        return
    for slot in slots(scene, site):
        value = scene.value(slot.value)
        if value is None or not value.pieces or slot.value.number in scene.index_values:
            continue
        if slot.position is None and not value.is_plain:
            # what the original makes of a part of a result may be all of it
            continue
        for original in _made_of(scene, value):
            for given in _as_laid_out(scene, original, slot.value, value):
                make = Maker(site.op)
                known = make.take(slot.kind, given)
                result = make.same(known, make.fresh(slot.kind))
                yield Repair(site.op, _lacking(scene, original), slot.filled(make, result), make.given)


def _made_of(scene: Scene, value: Val) -> Iterator[Op]:
    """Ops of the original that have a value's terms as an operand and give the value's type of element."""
    held = {piece.atom.number for piece in value.pieces}
    env = scene.decision.original.env
    for op in scene.before_ops:
        if op.name not in _ELEMENTWISE or len(op.results) != 1 or op.results[0].tensor.dtype is not value.type.dtype:
            continue
        for operand in op.operands:
            theirs = env.get(operand.number)
            if isinstance(theirs, Val) and held & {piece.atom.number for piece in theirs.pieces}:
                yield op
                break


def _as_laid_out(scene: Scene, original: Op, operand: Value, value: Val) -> Iterator[Known]:
    """The original's value on the devices: each way of laying it out that gives an operand's shape."""
    walk, logical = scene.decision.device, original.results[0].tensor.shape
    theirs = scene.decision.original.env.get(original.results[0].number)
    if not isinstance(theirs, Val) or not theirs.is_view:
        return
    layouts = list(walk.context.layouts.get((logical, operand.tensor.shape), ()))
    if logical == operand.tensor.shape:
        layouts.insert(0, walk.builder.local_identity(logical))
    for source in original.operands:
        known = scene.decision.original.env.get(source.number)
        if (
            isinstance(known, Val)
            and known.is_plain
            and value.is_plain
            and known.pieces[0].atom is value.pieces[0].atom
        ):
            match = walk.store.compose(value.pieces[0].rel, walk.store.reverse(known.pieces[0].rel))
            if source.tensor.shape == logical and walk.store.single_valued(match):
                layouts.insert(0, match)
    number = original.results[0].number
    for rel in dict.fromkeys(layouts):
        yield Known(
            partial(read_through, walk, theirs, rel, operand.tensor), partial(scene.held, number, rel, operand.tensor)
        )


def _lacking(scene: Scene, original: Op) -> Diagnosis | None:
    name = original.name.partition(".")[2]
    number = next((found for value in original.operands if (found := _scalar(scene, value)) is not None), None)
    if name in ("multiply", "divide") and not is_integral(original.results[0]) and number is not None:
        scale = float(np.real(number))
        factor = scale if name == "divide" else (1 / scale if scale else 0.0)
        return Diagnosis(Cause.WRONG_FACTOR, {"op": f"{name} by {scale:g} is missing", "factor": f"{factor:g}"})
    if is_integral(original.results[0]) and not original.results[0].tensor.dtype.is_bool:
        return Diagnosis(Cause.WRONG_OFFSET, {"expected": f"'{name}' of the index", "found": "the index itself"})
    if name == "select":
        return Diagnosis(
            Cause.MISSING_MASK, {"found": f"'{original.results[0].name}' of the before program masks them"}
        )
    return None


_ELEMENTWISE = frozenset(
    f"stablehlo.{name}"
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "clamp", "power", "select", "negate")
)


def _scalar(scene: Scene, value: Value) -> np.generic | None:
    """The one number of a value of the original that is a constant spread out."""
    op = scene.before_definitions.get(value.number)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        op = scene.before_definitions.get(op.operands[0].number)
    if op is None or op.name != "stablehlo.constant":
        return None
    array = np.asarray(op.attributes["value"])
    if array.size == 0 or not bool((array == array.flat[0]).all()):
        return None
    return array.flat[0]
