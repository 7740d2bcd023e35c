"""Deciding one pair by relations: walk the original, walk the partitioned program, compare every result."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from dataclasses import dataclass

from ..course import Advanced, Course, Phase, Proved
from ..ops.devices import asks_for_devices, both_on_devices
from ..ops.manual_relation import is_inside
from ..ops.record import Theory
from ..read.errors import ReadError, ReadErrorKind
from ..read.ir import Op, Program
from ..read.relations import NO_RELATIONS, Given, Relations
from ..read.shardings import Sharding
from ..relation.build import Builder
from ..relation.given import device_vectors, stated_relation
from ..relation.layout import mesh_for
from ..relation.mesh import NO_DEVICES
from ..relation.store import Rel, RelationLimitError
from .atoms import Atom, AtomKind
from .bridge import Bridge
from .context import Context
from .departure import departure
from .outputs import Comparison, compare_result
from .patience import Patience
from .reals import Reals
from .trace import Trace
from .value import AnyVal, Piece, Val
from .walk import Origin, Walk, WalkTimeoutError
from .watcher import Watcher

MIN_PATIENCE = 5.0
REAL_PATIENCE = 60.0
"""The same where terms are compared over the reals: values that only the partitioned program has are normal there."""

PATIENCE = 4.0
"""Once a value of the partitioned program has no relation, the walk goes on for this many times what the original's
walk took (and at least that many seconds), and from each term of the original on that is met again."""

_NO_VALUE = "no value of the before program is this one"

MAX_MOVES_SOUGHT = 4
"""Results without a proof behind which a wrong move is looked for: each time the whole program is gone through."""


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """Where a result's proof stops: an op of the partitioned program whose value has no relation, and why."""

    atom: Atom | None
    origin: Origin | None
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What the relations say of each result, with the walks for explanation.

    `missing` names, per result, a construct that is not modelled and that the result depends on.
    """

    comparisons: tuple[Comparison | None, ...]
    missing: tuple[str, ...]
    stops: tuple[Stop | None, ...]
    original: Walk
    device: Walk
    out_of_time: bool = False
    """The time limit was reached."""
    out_of_patience: bool = False
    """The walk was given up, long after the first value without a relation."""
    notes: tuple[str, ...] = ()
    """What a report has to say of the relations."""
    expected: tuple[AnyVal, ...] = ()
    """The original's results; empty where time ran out before they were known."""
    demands: tuple[Rel | str | None, ...] = ()
    """How each device's result must relate to the original's; None for the same place of two device programs."""
    seconds: float = 0.0
    """Processor seconds that both walks and the comparisons took."""
    relations: Relations = NO_RELATIONS
    """What was given besides the programs' shardings."""

    def release(self) -> None:
        """Give back what only further questions need, and what they can make anew."""
        if self.device.context.bridge is not None:
            self.device.context.bridge.release()

    @property
    def simplifiable(self) -> bool:
        """Whether a term of either program is one that compilers simplify."""
        return self.device.context.simplifiable

    @property
    def node_limit_met(self) -> bool:
        bridge = self.device.context.bridge
        return bridge is not None and bridge.limited


def decide(
    before: Program,
    after: Program,
    *,
    deadline: float | None,
    assume_in_bounds: bool,
    accepted: Theory = Theory.REASSOCIATED,
    relations: Relations = NO_RELATIONS,
    course: Course | None = None,
    node_limit: int | None = None,
    traced: bool = False,
    repeats: bool = False,
    simplifies: bool = False,
) -> Decision:
    """Relate both programs. `None` for a result means that time ran out before it was reached.

    `relations` stand before what the programs' shardings say of parameters and results. `course` hears how far this is.
    With `repeats` the original's loops are unrolled; where there is none to unroll, nothing is compared. With
    `simplifies` terms of both programs are simplified as compilers do that.
    """
    began = time.thread_time()
    course = course or Course()
    context = Context(assume_in_bounds=assume_in_bounds, repeats=repeats, simplifies=simplifies)
    context.bridge = Bridge(context, accepted, node_limit)
    context.reals = Reals(context) if accepted is Theory.REAL else None
    original = Walk(context, Builder(context.store, NO_DEVICES), True, deadline)
    mesh = mesh_for(before, after, relations.shardings, device_vectors(relations, after.num_devices))
    device = Walk(context, Builder(context.store, mesh), False, deadline, num_partitions=after.num_partitions)
    if traced:
        original.trace, device.trace = Trace(), Trace()
    blocked = ("",) * len(before.results)
    nothing = (None,) * len(before.results)
    original.num_partitions = before.num_partitions
    if relations.source and asks_for_devices(before):
        message = f"gives relations to logical tensors, but '{before.source}' is a program of devices itself"
        raise ReadError(ReadErrorKind.MISMATCH, relations.source, message)
    stages = not relations.source and both_on_devices(before, after)
    if stages:
        original.builder = device.builder
    elif before.num_devices > 1:
        original.inner = device.builder
    demands = [_demanded(device, k, before, after, relations) for k in range(len(before.results))]
    for spec, implementation, rel in zip(before.results, after.results, demands, strict=True):
        if not isinstance(rel, str):
            _remember_layout(device, spec.value.tensor.shape, implementation.value.tensor.shape, rel)

    def early(number: int) -> Comparison | None:
        want, have = (walk.env[p.results[number].value.number] for walk, p in ((original, before), (device, after)))
        shape = after.results[number].value.tensor.shape
        demanded = _same_place(device, want, shape) if stages else demands[number]
        return _result(original, device, demanded, want, have, early=True)[0]

    watcher = Watcher(course, after, early)
    try:
        start = time.thread_time()
        watcher.before(original, before)
        expected = original.run(before, _own_parameters(original, before))
        if context.reals is not None:
            context.reals.left_out.ends(expected)
    except WalkTimeoutError:
        return Decision(nothing, blocked, nothing, original, device, out_of_time=True)
    if repeats and "loop unrolling" not in context.lemmas:
        return Decision(nothing, blocked, nothing, original, device)
    least = MIN_PATIENCE if context.reals is None else REAL_PATIENCE
    device.patience = Patience(max(least, PATIENCE * (time.thread_time() - start)), context.atoms.count)
    if stages:
        given = _own_parameters(device, after)
    else:
        given = _device_parameters(original, device, before, after, relations)
    stopped = False
    watcher.after(device)
    try:
        actual: list[AnyVal | None] = [*device.run(after, given)]
    except WalkTimeoutError:
        stopped = True
        actual = [device.env.get(result.value.number) for result in after.results]
    device.watch = None
    out_of_time = stopped and deadline is not None and time.monotonic() > deadline
    course.enter(Phase.COMPARING, len(after.results))
    comparisons: list[Comparison | None] = []
    missing, stops = [], []
    unmodelled, made = _Earliest(original.unsupported, device.unsupported), _Earliest(device.origins)
    moves_sought = 0
    for number, rel in enumerate(demands):
        want, have = expected[number], actual[number]
        if have is None:
            comparisons.append(None)
            missing.append("")
            stops.append(_first_stop(device))
            continue
        comparison, problem = _against(original, device, None if stages else rel, want, have)
        comparisons.append(comparison)
        if comparison is not None and comparison.proved:
            course.tell(Proved(number, comparison.theory))
        if course.due():
            course.tell(Advanced(number))
        roots = () if comparison is None or comparison.proved else _roots(comparison, have)
        problem = problem or _unsupported(original, device, unmodelled.of(roots))
        if comparison is None or not comparison.proved:
            problem = problem or _unsupported(original, device, unmodelled.of(_roots_of(want)))
        missing.append(problem)
        if comparison is None or comparison.proved:
            stops.append(None)
        else:
            moves_sought += 1
            op = departure(original, device, before, after, number) if moves_sought <= MAX_MOVES_SOUGHT else None
            stops.append(_earlier(_stop(device, made.of(roots), comparison), op, after))
    notes = tuple(_partly_judged(device, after, relations, demands))
    out_of_patience = stopped and not out_of_time
    return Decision(
        tuple(comparisons),
        tuple(missing),
        tuple(stops),
        original,
        device,
        out_of_time,
        out_of_patience,
        notes,
        tuple(expected),
        (None,) * len(demands) if stages else tuple(demands),
        time.thread_time() - began,
        relations,
    )


def compare_to_demand(decision: Decision, device: Walk, number: int, have: AnyVal) -> tuple[Comparison | None, str]:
    """Whether a value is what the devices must return as a result, and what of it is not modelled."""
    return _against(decision.original, device, decision.demands[number], decision.expected[number], have)


def _against(
    original: Walk, device: Walk, demanded: Rel | str | None, want: AnyVal, have: AnyVal
) -> tuple[Comparison | None, str]:
    if demanded is None:
        demanded = _same_place(device, want, have.type.shape) if isinstance(have, Val) else "of another shape"
    return _result(original, device, demanded, want, have)


def _partly_judged(device: Walk, after: Program, relations: Relations, demands: list[Rel | str]) -> Iterator[str]:
    """Results of which a relation given by hand leaves elements open; for shardings these are padding."""
    for number, given in relations.results.items():
        demanded, local = demands[number], after.results[number].value.tensor.shape
        if isinstance(given.content, Sharding) or isinstance(demanded, str):
            continue
        rest = device.store.set_minus(device.builder.points(local), device.store.domain(demanded))
        if not device.store.set_empty(rest):
            yield f"result {number}: elements of the device's tensor that its relation leaves open are not judged"


def _first_stop(device: Walk) -> Stop | None:
    """The first term that only the partitioned program has, for results that were not reached.

    One that was given up on comes before those that are only new: a value that a device computes on its way, such as
    an offset into its shard, is new in every partitioned program.
    """
    first = min(device.origins, key=lambda number: (not device.origins[number].reason, number), default=None)
    if first is None:
        return None
    return Stop(None, device.origins[first], device.origins[first].reason or _NO_VALUE)


def _earlier(stop: Stop, op: Op | None, after: Program) -> Stop:
    """The op that reads other elements than the original's, where it comes before the stop that is known."""
    known = stop.origin.op if stop.origin is not None else None
    first = next((each for each in after.body.ops if each is op or each is known), None)
    if op is None or first is not op:
        return stop
    reason = "holds other elements than the op in its place in the before program"
    return Stop(stop.atom, Origin(op, False, reason), reason)


def _same_place(device: Walk, want: AnyVal, shape: tuple[int, ...]) -> Rel | str:
    """Between two device programs: every element is the one at the same place on the same device."""
    if not isinstance(want, Val) or want.type.shape != shape:
        return "of another shape"
    return device.builder.identity(shape)


def _own_parameters(walk: Walk, program: Program) -> list[AnyVal]:
    """Each parameter as itself: the logical tensor, or between two device programs what each device holds."""
    values: list[AnyVal] = []
    for number, parameter in enumerate(program.parameters):
        type_ = parameter.value.tensor
        arity = len(walk.mesh.sizes) + type_.rank
        key = (number, type_.shape)
        atom = walk.context.atoms.make(AtomKind.PARAMETER, type_.dtype, arity, key, label=parameter.label)
        values.append(Val(type_, (Piece(atom, walk.builder.identity(type_.shape)),), walk.points(type_)))
    return values


def _device_parameters(
    original: Walk, device: Walk, before: Program, after: Program, relations: Relations
) -> list[AnyVal]:
    values: list[AnyVal] = []
    for number, (spec, implementation) in enumerate(zip(before.parameters, after.parameters, strict=True)):
        logical, local = spec.value.tensor, implementation.value.tensor
        rel = _layout(device, logical.shape, spec.sharding, local.shape, relations.parameters.get(number))
        if local.dtype is not logical.dtype:
            rel = f"parameter {number} as '{local.dtype.value}' instead of '{logical.dtype.value}'"
        if isinstance(rel, str):
            values.append(device.not_modelled(local, rel))
            continue
        _remember_layout(device, logical.shape, local.shape, rel)
        key = (number, logical.shape)
        atom = original.context.atoms.make(AtomKind.PARAMETER, logical.dtype, logical.rank, key, label=spec.label)
        values.append(Val(local, (Piece(atom, rel),), device.store.domain(rel)))
    return values


def _demanded(device: Walk, number: int, before: Program, after: Program, relations: Relations) -> Rel | str:
    """What each device must hold of a result."""
    spec, local = before.results[number], after.results[number].value.tensor.shape
    return _layout(device, spec.value.tensor.shape, spec.sharding, local, relations.results.get(number), whole=True)


def _layout(
    device: Walk,
    shape: tuple[int, ...],
    sharding: Sharding | None,
    local: tuple[int, ...],
    given: Given | None = None,
    whole: bool = False,
) -> Rel | str:
    try:
        return stated_relation(device.builder, sharding, given, shape, local, whole=whole)
    except RelationLimitError:
        return "a sharding whose device order is too irregular"


def _remember_layout(device: Walk, shape: tuple[int, ...], local: tuple[int, ...], rel: Rel) -> None:
    known = device.context.layouts.setdefault((shape, local), [])
    if rel not in known:
        known.append(rel)


def _result(
    original: Walk, device: Walk, demanded: Rel | str, want: AnyVal, have: AnyVal, *, early: bool = False
) -> tuple[Comparison | None, str]:
    if not isinstance(want, Val) or not isinstance(have, Val):
        return None, "a result that is no tensor"
    if want.type.dtype is not have.type.dtype:
        return Comparison(False, want.theory, f"has another element type than '{want.type.dtype.value}'"), ""
    if original.inner is not None and is_inside(want):
        reasons = (original.unsupported.get(piece.atom.number) for piece in want.pieces)
        return None, next((reason for reason in reasons if reason), "a result that is a device value")
    if isinstance(demanded, str):
        return None, f"result {demanded}"
    try:
        return compare_result(original, device, want, have, demanded, early=early), ""
    except RelationLimitError as limit:
        return Comparison(False, want.theory, f"too complex to compare: {limit}"), ""


def _roots(comparison: Comparison, have: AnyVal) -> tuple[Atom, ...]:
    return comparison.atoms or _roots_of(have)


def _roots_of(value: AnyVal) -> tuple[Atom, ...]:
    return tuple(piece.atom for piece in value.pieces) if isinstance(value, Val) else ()


class _Earliest:
    """Of all that a term is made of, itself included, the marked atom that was made first.

    Atoms are numbered as they are made, so nothing that this one is made of is marked. What is known of one atom serves
    all results: there may be thousands of them, of tens of thousands of atoms each.
    """

    def __init__(self, *marks: Container[int]) -> None:
        self._marks = marks
        self._known: dict[int, Atom | None] = {}

    def of(self, atoms: tuple[Atom, ...]) -> Atom | None:
        stack = list(atoms)
        while stack:
            atom = stack[-1]
            if atom.number in self._known:
                stack.pop()
                continue
            missing = [operand for operand in atom.operands if operand.number not in self._known]
            if missing:
                stack.extend(missing)
                continue
            marked = (atom,) if any(atom.number in mark for mark in self._marks) else ()
            self._known[atom.number] = self._first((*atom.operands, *marked), marked)
        return self._first(atoms, ())

    def _first(self, atoms: tuple[Atom, ...], marked: tuple[Atom, ...]) -> Atom | None:
        found = [atom if atom in marked else self._known[atom.number] for atom in atoms]
        return min((atom for atom in found if atom is not None), key=lambda atom: atom.number, default=None)


def _unsupported(original: Walk, device: Walk, atom: Atom | None) -> str:
    if atom is None:
        return ""
    return original.unsupported.get(atom.number) or device.unsupported[atom.number]


def _stop(device: Walk, atom: Atom | None, comparison: Comparison) -> Stop:
    """The first term made for the partitioned program, which is made of the original's terms only."""
    if atom is None:
        return Stop(None, None, comparison.reason)
    origin = device.origins[atom.number]
    return Stop(atom, origin, origin.reason or _NO_VALUE)
