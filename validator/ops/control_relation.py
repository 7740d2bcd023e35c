"""How control flow relates: branches are a choice between the values of all; how loops relate is left to the engine.

Lemma *branch selection*: the result of a branching op is, element by element, the value of the branch that the index
chooses. Devices that exchange data in a branch have to choose alike. Where the index is undefined, so is the result.
Theory: exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..read.attributes import Comparison
from ..read.dependencies import regions
from ..read.ir import Op, TensorType
from ..relation.build import constant
from ..relation.objects import Rel
from .devices import EXCHANGES
from .engine import Engine, Function
from .manual_relation import is_inside, lifted, relate_manual_computation
from .values import is_tensor


def relate_branches(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Every branch is followed; the results are chosen by the index."""
    index = values[0]
    if not is_tensor(index) or any(not isinstance(result.type, TensorType) for result in op.results):
        return engine.refuse(op, f"'{op.name}' of tokens or tuples")
    index = engine.close(index, f"index of '{op.name}'")
    if not engine.is_original and not _chosen_alike(engine, op, index):
        return engine.refuse(op, f"'{op.name}' with collectives, not chosen alike by all that take part")
    branches = [engine.branch(op, number, _block(engine, op, index, number)) for number in range(len(op.regions))]
    if engine.inner is not None and any(is_inside(value) for branch in branches for value in branch):
        # a branch asks for the devices, even if its index does not
        engine.builder = engine.inner
        index, branches = lifted(engine, index), [[lifted(engine, value) for value in branch] for branch in branches]
    chosen = _always_chosen(engine, op, index)
    for branch in branches[:chosen] + branches[chosen + 1 :] if chosen is not None else ():
        engine.leaves_out(branch)
    results: list[Any] = []
    for number, result in enumerate(op.results):
        type_ = TensorType(result.tensor.shape, index.type.dtype)
        spread = engine.read_through(index, engine.builder.moved(type_.shape, []), type_)
        parts = [branch[number] for branch in branches]
        if chosen is None:
            results.append(engine.lift(Function((op.name, ())), [spread, *parts], result.tensor))
        else:
            # where the index is undefined any branch may be taken
            results.append(engine.restricted(parts[chosen], spread.domain).needing(index.theory))
    engine.used("branch selection")
    return results


def _block(engine: Engine, op: Op, index: Any, number: int) -> Hashable:
    """Names a branch by what chooses it: where that is not one element, it is run like no other one."""
    if len(index.pieces) == 1:
        (piece,) = index.pieces
        element = engine.store.constant_range(piece.rel) if piece.atom.arity else ()
        if element is not None:
            return piece.atom, element, len(op.regions), number
    return object()


def _always_chosen(engine: Engine, op: Op, index: Any) -> int | None:
    """The branch that a known index chooses wherever it is defined; None where there is no such."""
    if len(index.pieces) != 1 or not engine.is_integer(index.pieces[0].atom):
        return None
    number = engine.store.constant_range(index.pieces[0].rel)
    if number is None:
        return None
    if op.name == "stablehlo.if":
        return 0 if number == (1,) else 1
    # an index without a branch chooses the last one
    return number[0] if 0 <= number[0] < len(op.regions) else len(op.regions) - 1


def _chosen_alike(engine: Engine, op: Op, index: Any) -> bool:
    """Whether the index is the same on all devices that exchange data in a branch."""
    partner = _partner(engine, op, index.domain)
    if partner is None:
        return True
    return all(engine.store.equal(engine.store.compose(partner, piece.rel), piece.rel) for piece in index.pieces)


def relate_loop(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    if not all(map(is_tensor, values)):
        return engine.refuse(op, "a loop that carries tokens or tuples")
    return engine.loop(op, values)


def varying(op: Op) -> tuple[int, ...]:
    """Positions of carried values that the body does not simply hand on."""
    body = op.regions[1]
    return tuple(k for k, (a, r) in enumerate(zip(body.arguments, body.results, strict=True)) if a.number != r.number)


def devices_of(engine: Engine, rel: Rel, count: int) -> Rel:
    """From which devices a relation between points leads to which, of `count` coordinates each."""
    into, out = (engine.leading_map(arity, count) for arity in (rel.arity_in, rel.arity_out))
    return engine.store.compose(engine.store.compose(engine.store.reverse(into), rel), out)


def leaves_its_device(engine: Engine, rel: Rel, count: int) -> bool:
    """Whether a relation between points leads from some device to another one."""
    devices = devices_of(engine, rel, count)
    own = engine.store.identity_on(engine.store.domain(devices))
    return not engine.store.empty(engine.store.minus(devices, own))


def ending_together(engine: Engine, op: Op, relations: Iterable[Rel], domain: Any) -> Rel | None:
    """From each device to one whose loop has to end with its own; None where each may end when it will.

    `relations` say which points of the original a loop's carried values are, `domain` is that of the original's
    condition. Where some are another device's, all devices have to go on alike; else those that exchange data inside.
    """
    if domain.arity and any(leaves_its_device(engine, rel, domain.arity) for rel in relations):
        return _first_device(engine, domain)
    return _partner(engine, op, domain)


def _first_device(engine: Engine, domain: Any) -> Rel:
    return constant(engine.store, domain, *[0] * domain.arity)


def _partner(engine: Engine, op: Op, domain: Any) -> Rel | None:
    """From each device to the least one with which collectives inside an op join it, over others too.

    None where there is nothing to ask of a scalar with that domain: it is the same on all devices, or none are joined.
    """
    if not domain.arity:
        return None
    tables = [
        inner.attributes[name].table
        for root in op.regions
        for region in regions(root)
        for inner in region.ops
        for name in EXCHANGES & inner.attributes.keys()
    ]
    least, before = np.arange(engine.builder.mesh.num_devices), None
    while before is None or not np.array_equal(least, before):
        before = least.copy()
        for table in filter(np.size, tables):
            np.minimum.at(least, table, least[table].min(axis=1, keepdims=True))
        least = least[least]
    if np.array_equal(least, np.arange(len(least))):
        return None
    return engine.builder.devices_related(least) or _first_device(engine, domain)


def counter_range(
    engine: Engine, op: Op, carried: Mapping[int, Any], initial: Sequence[Any], test: Any
) -> tuple[Any, tuple[int, int]] | None:
    """The carried scalar that counts the trips of a loop, as an atom, and its least and greatest value in the body.

    Lemma *counter range*: a carried integer that starts at c, grows by a positive step and is tested by `i < n` lies in
    [c, n − 1] inside the body. `carried` has the atoms of what is carried, by position; `test` is what the condition
    gives for them. Theory: exact.
    """
    operation = engine.integer_operation(test.pieces[0].atom) if len(test.pieces) == 1 else None
    if operation is None or operation[0] != "stablehlo.compare" or len(operation[2]) != 2:
        return None
    if operation[1] != {"comparison_direction": Comparison.LT}:
        return None
    (counter, _), (limit, _) = operation[2]
    number, position = engine.number_of(limit), next((k for k, atom in carried.items() if atom is counter), None)
    if position is None or not isinstance(number, int) or not counter.dtype.is_integer:
        return None
    pieces, step = initial[position].pieces, _step(op, position)
    start = engine.store.constant_range(pieces[0].rel) if len(pieces) == 1 else None
    if start is None or not engine.is_integer(pieces[0].atom) or step is None or step <= 0:
        return None
    high = number - 1
    if high + step > counter.dtype.integer_range[1] or start[0] > high:
        return None
    return counter, (start[0], high)


def in_body(
    engine: Engine, values: Iterable[Any], counters: Mapping[Any, tuple[int, int]], key: Callable[[Any], Any]
) -> list[Any]:
    """What is carried as the body finds it: the counter of a loop of at most one trip is a known integer there.

    `counters` have the least and greatest value by what `key` gives of an atom.
    """
    found = []
    for value in values:
        single = is_tensor(value) and len(value.pieces) == 1
        low, high = counters.get(key(value.pieces[0].atom), (0, 1)) if single else (0, 1)
        if low == high:
            known = engine.constant_piece(np.asarray(low), value.type.dtype, value.domain)
            found.append(engine.value(value.type, (known,), value.domain))
        else:
            found.append(value)
    return found


def _step(op: Op, position: int) -> int | None:
    """What a loop's body adds to a carried value in every iteration, if it is `argument + constant`."""
    body = op.regions[1]
    makers = {result.number: inner for inner in body.ops for result in inner.results}
    add = makers.get(body.results[position].number)
    if add is None or add.name != "stablehlo.add":
        return None
    others = [operand for operand in add.operands if operand.number != body.arguments[position].number]
    constant = makers.get(others[0].number) if len(others) == 1 else None
    if constant is None or constant.name != "stablehlo.constant":
        return None
    return int(constant.attributes["value"].reshape(-1)[0])


RELATIONS = {
    "sdy.manual_computation": relate_manual_computation,
    "stablehlo.while": relate_loop,
    "stablehlo.case": relate_branches,
    "stablehlo.if": relate_branches,
}
