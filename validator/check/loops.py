"""Loops: one of the after program goes with one of the before program, or either is its body repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ops.control_relation import counter_range, devices_of, ending_together, in_body, varying
from ..ops.record import Theory, strongest
from ..ops.values import Piece, Value
from ..read.ir import Op
from ..relation.objects import Rel
from .equality import equal
from .errors import Rejection
from .terms import Kind, Term

if TYPE_CHECKING:
    from .run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop of the before program, for those of the after program that are paired with it."""

    carried: tuple[int, ...]
    choices: tuple[Rel, ...]
    """For each of these, at which point it has the element that each point has."""
    initial: tuple[Value, ...]
    condition: Value
    body: tuple[Value, ...]
    counters: Mapping[Term, tuple[int, int]]


def followed(run: Run, op: Op, values: Sequence[Any]) -> list[Any]:
    initial = [run.known(value) for value in values]
    pair, relations = run.tables.loop(run.step)
    if run.is_original and len(run.step.blocks) % 2 == 0:
        return _specified(run, op, initial, relations)
    return (
        _repeated(run, op, initial) if run.is_original or pair is None else _paired(run, op, initial, pair, relations)
    )


def _term(run: Run, number: int, part: str, position: int, initial: Value) -> Term:
    """What a loop of the before program carries, at the start of some iteration or at its end."""
    return run.terms.make(Kind.CARRIED, initial.type.dtype, initial.domain.arity, (number, part, position))


def _specified(run: Run, op: Op, initial: list[Value], chosen: Sequence[Rel]) -> list[Any]:
    """Its results are terms of their own, by what the loop does to its carried values.

    By induction between devices, some of these are the same element at several points: at the start, and if they are
    at the start of an iteration, then at its end, and the devices go on alike.
    """
    number, carried, rels = len(run.loops), varying(op), run.rels
    run.loops.append(None)
    initial = [run.close(value, "initial value of a loop") for value in initial]
    arguments, results, theories = list(initial), list(initial), []
    everywhere = [run.points(initial[k].type) for k in carried]
    choices = tuple(chosen) or tuple(map(rels.identity_on, everywhere))
    for k, points, choice in zip(carried, everywhere, choices, strict=True):
        if not (rels.set_equal(rels.domain(choice), points) and rels.set_subset(rels.range(choice), points)):
            raise Rejection("a loop carries an element that there is not")
        theories.append(_through(run, initial[k], initial[k], choice))
        whole = Value(initial[k].type, (), points)
        for values, part in ((arguments, "start"), (results, "end")):
            piece = Piece(_term(run, number, part, k, whole), choice)
            values[k] = Value(initial[k].type, (piece,), points)
    condition = run.view(run.block(op.regions[0], 0, arguments)[0])
    singles = ((k, p.atom) for k in carried for p in arguments[k].pieces if rels.set_single(rels.range(p.rel)))
    scalars = {k: atom for k, atom in singles if not initial[k].type.rank}
    counters = dict(filter(None, [counter_range(run, op, scalars, initial, condition)]))
    with run.bounded(counters, number):
        body = run.block(op.regions[1], 1, in_body(run, arguments, counters, lambda term: term))
    for k, choice in zip(carried, choices, strict=True) if chosen else ():
        devices = devices_of(run, choice, condition.domain.arity)
        theories += [_through(run, v, v, rel) for v, rel in ((run.known(body[k]), choice), (condition, devices))]
    given = tuple(run.known(body[k]) for k in carried)
    run.loops[number] = Loop(carried, choices, tuple(initial), condition, given, counters)
    run.tested(None, arguments, [condition.needing(*theories)])
    return [value.needing(*theories) if k in carried else value for k, value in enumerate(results)]


def _paired(run: Run, op: Op, initial: list[Value], pair: int, relations: Sequence[Rel]) -> list[Any]:
    """By induction: what relations say at the start, they say of every iteration, if devices they join go on alike."""
    carried, rels = varying(op), run.rels
    loop = run.loops[pair] if 0 <= pair < len(run.loops) else None
    if loop is None or not len(loop.carried) == len(relations) == len(carried):
        raise Rejection("there is no such loop before, or it carries another number of values")
    arguments, results, theories = list(initial), list(initial), list[Theory]()
    for k, theirs, rel, choice in zip(carried, loop.carried, relations, loop.choices, strict=True):
        known = loop.initial[theirs]
        if (
            known.type.dtype is not initial[k].type.dtype
            or (rel.arity_in, rel.arity_out) != (initial[k].domain.arity, known.domain.arity)
            or not rels.single_valued(rel)
            or not rels.set_subset(rels.domain(rel), initial[k].domain)
        ):
            raise Rejection("a relation between the carried values that is none")
        for values, part in ((arguments, "start"), (results, "end")):
            piece = Piece(_term(run, pair, part, theirs, known), rels.compose(rel, choice))
            values[k] = Value(initial[k].type, (piece,), rels.domain(rel))
        theories += [initial[k].theory, _through(run, known, initial[k], rel)]
    test = run.known(run.block(op.regions[0], 0, arguments)[0])
    same = run.builder.identity(()) if loop.condition.domain.arity else run.builder.local_identity(())
    theories.append(_through(run, loop.condition, test, same))
    together = ending_together(run, op, relations, loop.condition.domain)
    theories += [_through(run, loop.condition, loop.condition, together)] if together is not None else []
    with run.bounded(loop.counters, pair):
        body = run.block(op.regions[1], 1, in_body(run, arguments, loop.counters, lambda term: term))
    for k, theirs, rel in zip(carried, loop.body, relations, strict=True):
        theories.append(_through(run, theirs, run.known(body[k]), rel))
    run.tested(None, arguments, [loop.condition.needing(*theories)])
    return [value.needing(*theories) if k in carried else value for k, value in enumerate(results)]


def _through(run: Run, specified: Value, value: Value, rel: Rel) -> Theory:
    """The arithmetic in which a value is the specified one read through a relation, wherever that is defined."""
    found = equal(run, run.read_through(specified, rel, value.type), value, run.rels.domain(rel))
    return strongest([found, specified.theory, value.theory])


def _repeated(run: Run, op: Op, carried: list[Any]) -> list[Any]:
    """A loop whose condition is known before every trip is its body repeated."""
    theories: list[Theory] = []
    for number in range(0, len(run.step.blocks), 2):
        test = run.view(run.block(op.regions[0], number, carried)[0])
        found = {run.rels.constant_range(p.rel) if p.atom.kind is Kind.INTEGER else None for p in test.pieces}
        everywhere = run.rels.set_subset(run.points(test.type), test.domain)
        theories.append(test.theory)
        if found == {(0,)} and everywhere:
            return [value.needing(*theories) if isinstance(value, Value) else value for value in carried]
        if found != {(1,)} or not everywhere:
            raise Rejection(f"trip {number // 2} of a loop is not known to happen")
        carried = run.block(op.regions[1], number + 1, carried)
    raise Rejection("the trips of a loop end with its condition")
