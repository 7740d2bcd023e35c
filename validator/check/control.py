"""Control flow: branches are a choice; a loop goes with one of the before program, or is repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ops.devices import EXCHANGES
from ..ops.keys import spelled
from ..ops.record import Theory
from ..read.attributes import Comparison
from ..read.ir import Op, TensorType
from ..relation.layout import regions
from ..relation.objects import Rel
from .certificate import Frame
from .equality import equal
from .errors import Rejection
from .lifted import Lifted
from .terms import Kind, Term
from .values import Piece, Value, weakest

if TYPE_CHECKING:
    from .run import AnyValue, Run

NO_FRAME: Frame = {}


def _frames(run: Run) -> list[Frame]:
    return list(run.step.frames) if run.step is not None else []


def branches(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    """Every branch is followed; where one exchanges data, every device must choose alike."""
    index, frames = run.view(values[0]), _frames(run)
    exchanging = any(EXCHANGES & inner.attributes.keys() for r in op.regions for b in regions(r) for inner in b.ops)
    if exchanging and not run.is_before and not _uniform(run, index):
        raise Rejection("devices that exchange data may choose differently")
    parts: list[list[Value]] = []
    for number, region in enumerate(op.regions):
        run.region(region, frames[number] if number < len(frames) else NO_FRAME)
        parts.append([run.known(value) for value in run.returned(region)])
    results: list[AnyValue | Lifted] = []
    for number, result in enumerate(op.results):
        spread = run.builder.moved(result.tensor.shape, [])
        chosen = run.ground.read(index, spread, TensorType(result.tensor.shape, index.type.dtype))
        operands = (chosen, *(branch[number] for branch in parts))
        results.append(Lifted(spelled((op.name, ())), operands, result.tensor))
    return results


def _uniform(run: Run, value: Value) -> bool:
    """Whether a scalar is the same on all devices."""
    rels, arity = run.ground.rels, len(run.builder.mesh.sizes)
    names = ",".join(f"d{k}" for k in range(arity))
    first = rels.restrict(rels.rel(f"{{[{names}] -> [{','.join(['0'] * arity)}]}}"), value.domain)
    if not rels.set_subset(rels.range(first), value.domain):
        return False
    return all(rels.equal(rels.compose(first, piece.rel), piece.rel) for piece in value.pieces)


# loops --------------------------------------------------------------------------------------------------------------


def while_loop(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    initial = [run.known(value) for value in values]
    if run.is_before:
        return _specified(run, op, initial)
    note = run.step.loop if run.step is not None else None
    if note is None:
        raise Rejection("the certificate does not say how this loop relates")
    return _repeated(run, op, initial) if note.pair is None else _paired(run, op, initial, note.pair, note.relations)


def varying(op: Op) -> tuple[int, ...]:
    """Positions of carried values that the body does not simply hand on."""
    body = op.regions[1]
    return tuple(k for k, (a, r) in enumerate(zip(body.arguments, body.results, strict=True)) if a.number != r.number)


def _carried(run: Run, number: int, part: str, position: int, type_: TensorType) -> Value:
    """A term of its own for what the loop carries, at this point of an iteration."""
    points = run.points(type_)
    term = run.ground.terms.make(Kind.CARRIED, type_.dtype, points.arity, (number, part, position))
    return Value(type_, (Piece(term, run.ground.rels.identity_on(points)),), points)


def _follow(run: Run, op: Op, number: int, arguments: Sequence[AnyValue], frame: Frame) -> list[AnyValue]:
    region = op.regions[number]
    for argument, value in zip(region.arguments, arguments, strict=True):
        run.env[argument.number] = value
    run.region(region, frame)
    return run.returned(region)


def _specified(run: Run, op: Op, initial: list[Value]) -> list[AnyValue]:
    """A loop of the before program: its results are terms of their own, by what it does to its carried values."""
    from .run import Loop

    number, carried, frames = run.loops.number(), varying(op), _frames(run)
    initial = [run.ground.as_view(value) for value in initial]
    frames += [NO_FRAME] * (2 - len(frames))
    arguments: list[AnyValue] = list(initial)
    for k in carried:
        arguments[k] = _carried(run, number, "start", k, initial[k].type)
    condition = run.view(_follow(run, op, 0, arguments, frames[0])[0])
    counters = _counters(run, op, carried, arguments, initial, condition)
    with run.bounded(counters):
        body = _follow(run, op, 1, arguments, frames[1])
    loop = Loop(op, carried, tuple(initial), condition, tuple(run.known(body[k]) for k in carried), counters)
    run.loops.known[number] = loop
    results: list[AnyValue] = list(initial)
    for k in carried:
        results[k] = _carried(run, number, "end", k, initial[k].type)
    return results


def _counters(
    run: Run, op: Op, carried: Sequence[int], arguments: Sequence[AnyValue], initial: Sequence[Value], test: Value
) -> Mapping[Term, tuple[int, int]]:
    """A carried scalar integer that starts at c, grows by a positive step and is tested by `< n` is in [c, n - 1]."""
    if len(test.pieces) != 1 or not str(test.pieces[0].term.key).startswith("stablehlo.compare"):
        return {}
    term = test.pieces[0].term
    meaning = run.ground.terms.meanings.get(str(term.key), {})
    if meaning != {"comparison_direction": Comparison.LT} or len(term.parts) != 2:
        return {}
    counter, limit = term.parts[0].term, term.parts[1].term
    for k in carried:
        value = arguments[k]
        if not isinstance(value, Value) or value.pieces[0].term is not counter or counter.arity:
            continue
        if limit.kind is not Kind.NUMBER or not counter.dtype.is_integer:
            continue
        start, step = initial[k], _step(op, k)
        first = run.ground.rels.constant_range(start.pieces[0].rel) if len(start.pieces) == 1 else None
        if first is None or start.pieces[0].term.kind is not Kind.INTEGER or step is None or step <= 0:
            continue
        assert isinstance(limit.key, int)
        high = limit.key - 1
        if high + step <= counter.dtype.integer_range[1] and first[0] <= high:
            return {counter: (first[0], high)}
    return {}


def _step(op: Op, position: int) -> int | None:
    """What the body adds to a carried value, if it is `argument + constant`."""
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


def _paired(run: Run, op: Op, initial: list[Value], pair: int, relations: Sequence[Rel]) -> list[AnyValue]:
    """By induction: what the relations say at the start of an iteration, they say at its end, and at the start."""
    carried, frames, rels = varying(op), _frames(run), run.ground.rels
    loop = run.loops.known.get(pair)
    if loop is None or len(frames) != 2:
        raise Rejection("there is no such loop before")
    if len(loop.carried) != len(carried) or len(relations) != len(carried):
        raise Rejection("the loops do not carry as many values")
    arguments: list[AnyValue] = list(initial)
    results: list[AnyValue] = list(initial)
    theories: list[Theory] = []
    for k, theirs, rel in zip(carried, loop.carried, relations, strict=True):
        start, end = (
            run.ground.terms.make(
                Kind.CARRIED, loop.initial[theirs].type.dtype, loop.initial[theirs].domain.arity, (pair, part, theirs)
            )
            for part in ("start", "end")
        )
        if start.dtype is not initial[k].type.dtype or rel.arity_out != start.arity or not rels.single_valued(rel):
            raise Rejection("a relation between the carried values that is none")
        if rel.arity_in != initial[k].domain.arity or not rels.set_subset(rels.domain(rel), initial[k].domain):
            raise Rejection("a relation between the carried values that is none")
        domain = rels.domain(rel)
        arguments[k] = Value(initial[k].type, (Piece(start, rel),), domain)
        results[k] = Value(initial[k].type, (Piece(end, rel),), domain)
        theories += [initial[k].theory, _through(run, loop.initial[theirs], initial[k], rel)]
    test = run.known(_follow(run, op, 0, arguments, frames[0])[0])
    same = run.builder.identity(()) if loop.condition.domain.arity else run.builder.local_identity(())
    theories.append(_through(run, loop.condition, test, same))
    with run.bounded(loop.counters):
        body = _follow(run, op, 1, arguments, frames[1])
    for k, theirs, rel in zip(carried, loop.body, relations, strict=True):
        theories.append(_through(run, theirs, run.known(body[k]), rel))
    for k in carried:
        value = results[k]
        assert isinstance(value, Value)
        results[k] = value.needing(*theories)
    return results


def _through(run: Run, specified: Value, value: Value, rel: Rel) -> Theory:
    """The arithmetic in which a value is the specified one read through a relation, wherever that is defined."""
    wanted = run.ground.read(specified, rel, value.type)
    found = equal(run.ground, wanted, value, run.ground.rels.domain(rel))
    return weakest(found, specified.theory, value.theory)


def _repeated(run: Run, op: Op, initial: list[Value]) -> list[AnyValue]:
    """A loop whose condition is known before every trip is its body repeated."""
    carried: list[AnyValue] = list(initial)
    frames = _frames(run)
    if len(frames) % 2 != 1:
        raise Rejection("the trips of a loop end with its condition")
    for number in range(0, len(frames), 2):
        test = run.view(_follow(run, op, 0, carried, frames[number])[0])
        found = {run.ground.rels.constant_range(p.rel) if p.term.kind is Kind.INTEGER else None for p in test.pieces}
        last = number + 1 == len(frames)
        if (found != {(0,)} and found != {(1,)}) or (found == {(0,)}) is not last:
            raise Rejection(f"trip {number // 2} of a loop is not known to happen")
        if not last:
            carried = _follow(run, op, 1, carried, frames[number + 1])
    return carried
