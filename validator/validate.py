"""The engine: from two programs to a report.

The relations decide what is proved; the reference evaluator decides what is refuted. Neither ever overrules the other:
a proof is a proof by relations, a refutation is a difference that two arithmetics of the evaluator show. Where they
contradict each other, the run ends as an internal error (`guard.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from .certify.terms import InexpressibleError
from .certify.write import certificate
from .checked import Decided, with_reals
from .course import Course, Known, Phase, Proved, Settled
from .evaluate.compare import Counterexample
from .evaluate.cone import search
from .evaluate.errors import EvaluationError
from .explain.explain import explain
from .explain.lints import lints
from .explain.neighbourhood import frontier
from .guard import check_proofs
from .ops.record import Theory, is_within
from .options import Assumption, Options
from .read.dependencies import has_loops
from .read.inferred import relations_for
from .read.ir import UNKNOWN_LOCATION, Location, Program, hands_on
from .read.relations import Relations
from .read.simplified import simplified
from .read.unreduced import with_sums_written_out
from .relate.decide import Decision, decide
from .report.note import Note
from .report.report import Obstacle, OutputReport, Report, Stats
from .report.verdict import Verdict

SEARCH_SECONDS = 20.0
"""How long a counterexample is looked for where there is no proof and no time limit."""

MIN_CUT_SECONDS = 5.0
"""Programs that are too large to be evaluated whole are looked at, part by part, for as long as the proof took, and at
least for this long: most of their parts are too large as well."""

BEYOND_SECONDS, BEYOND_OPS = 20.0, 4000
"""How long, and for programs of how many ops, a proof over the reals is looked for that was not asked for."""

EXPLAIN_SECONDS = 4.0
EXPLAIN_WALL_SECONDS = 20.0
"""How long the cause of a missing proof is looked for: seconds of CPU time, and seconds in all on a busy machine."""


def validate_programs(before: Program, after: Program, options: Options, course: Course | None = None) -> Report:
    """Decide whether each device of `after` computes its shard of `before`, for all inputs.

    What a shard is follows from the programs' shardings and, before these, from the relation file of the options;
    raises `ReadError` for one that does not fit the programs. `course` has the deadline and hears how far this is;
    without one, the time limit of the options starts now.
    """
    start = time.monotonic()
    if course is None:
        course = Course(None if options.timeout is None else start + options.timeout)
    before, after = simplified(before), simplified(after)
    course.tell(Known(tuple(result.label for result in before.results)))
    if options.relations is not None:
        course.enter(Phase.RELATING)
    relations, relation_notes = relations_of(before, after, options)
    before, after = with_sums_written_out(before, after, (relations.parameters, relations.results))
    decided = decided_by_relations(before, after, options, relations, course)
    notes = tuple(before.notes) + tuple(after.notes) + relation_notes + decided.notes
    unproved = [k for k in range(len(before.results)) if k not in decided.proved]
    counterexample = None
    if unproved and decided.main.node_limit_met:
        notes += ("the e-graph met its limit of nodes: a higher one may find a proof",)
    if unproved:
        course.tell(Settled(_report(before, after, decided, options, None, notes, start, 0.0)))
        course.enter(Phase.SEARCHING)
        counterexample, why_not = _search(before, after, relations, unproved, options, start, course.deadline)
        notes += (why_not,) if why_not else ()
    if unproved and counterexample is None:
        decided = replace(decided, beyond=_beyond(before, after, decided, options, relations, course))
    check_proofs(before, after, relations, decided.proved, options)
    left = EXPLAIN_WALL_SECONDS
    if course.deadline is not None:
        left = min(left, course.deadline - time.monotonic())
    report = _report(before, after, decided, options, counterexample, notes, start, left)
    return _with_certificate(report, before, after, decided, options) if options.certificate else report


def decided_by_relations(
    before: Program, after: Program, options: Options, relations: Relations, course: Course
) -> Decided:
    """What is proved as the programs are and, where that leaves something, otherwise: in weaker theories at first.

    The laws of the reals lead some terms away from what a weaker theory finds; what they prove counts where the checker
    accepts it besides.
    """
    in_bounds = Assumption.INDICES_IN_BOUNDS in options.assumptions
    theory = Theory.REASSOCIATED if options.theory is Theory.REAL else options.theory
    asked = _asking(before, after, options, relations, course.deadline)
    below = partial(asked, accepted=theory, course=course.accepting(theory), traced=options.certificate)
    decided, every = Decided(below()), len(before.results)
    repeated = [{"repeats": True}] if has_loops(before) else []
    for way in _other_ways(decided.weaker, repeated):
        if _count(decided, theory) == every:
            break
        decided.main.release()
        found = replace(decided, otherwise=below(**way))
        decided = found if _count(found, theory) > _count(decided, theory) else decided
    # what terms are simplified to is no more than what the laws of the reals find by themselves
    for way in [{}, *repeated] if options.theory is Theory.REAL and decided.weaker.expected else []:
        if len(decided.proved) == every:
            break
        decided.main.release()
        real = asked(accepted=Theory.REAL, course=course.accepting(None), traced=True, **way)
        course.enter(Phase.CHECKING)
        known = replace(decided, real=None, accepted=frozenset(), refused={}, certificate="")
        found = with_reals(before, after, known, real, in_bounds=in_bounds, deadline=course.deadline)
        for result in found.accepted:
            course.tell(Proved(result, found.proved[result]))
        decided = found if decided.real is None or len(found.proved) > len(decided.proved) else decided
    return decided


def _count(decided: Decided, accepted: Theory) -> int:
    """How many results are proved in a theory that is accepted."""
    return sum(is_within(theory, accepted) for theory in decided.proved.values())


def _other_ways(decision: Decision, repeated: Sequence[dict[str, bool]]) -> Iterator[dict[str, bool]]:
    """How else a decision may go: with terms simplified, with loops `repeated` that are paired at first, or both."""
    simplified = [{"simplifies": True}] if decision.simplifiable else []
    yield from simplified
    yield from repeated
    yield from ({**first, **second} for first in simplified for second in repeated)


def _asking(
    before: Program, after: Program, options: Options, relations: Relations, deadline: float | None
) -> partial[Decision]:
    """What decides these programs, but for the theory, in which course and how loops are taken."""
    return partial(
        decide,
        before,
        after,
        deadline=deadline,
        assume_in_bounds=Assumption.INDICES_IN_BOUNDS in options.assumptions,
        relations=relations,
        node_limit=options.node_limit,
    )


def _beyond(
    before: Program, after: Program, decided: Decided, options: Options, relations: Relations, course: Course
) -> dict[int, Theory]:
    """Results that the real numbers prove, where another theory is asked for: that is why they are not proved."""
    weaker = decided.weaker
    if options.theory is Theory.REAL or any(weaker.missing) or weaker.out_of_time:
        return {}
    if weaker.original.ops_walked + weaker.device.ops_walked > BEYOND_OPS:
        return {}
    deadline = time.monotonic() + BEYOND_SECONDS
    if course.deadline is not None:
        deadline = min(deadline, course.deadline)
    in_bounds = Assumption.INDICES_IN_BOUNDS in options.assumptions
    asked = _asking(before, after, options, relations, deadline)
    real = asked(accepted=Theory.REAL, course=course.accepting(None), traced=True)
    found = with_reals(before, after, decided, real, in_bounds=in_bounds, deadline=deadline)
    real.release()
    return {k: found.proved[k] for k in found.accepted if k not in decided.proved}


def _with_certificate(report: Report, before: Program, after: Program, decided: Decided, options: Options) -> Report:
    """The report with the proof as a certificate, or with a note on why there is none."""
    if report.verdict is not Verdict.PROVED:
        return report
    in_bounds = Assumption.INDICES_IN_BOUNDS in options.assumptions
    try:
        text = decided.certificate or certificate(before, after, decided.main, in_bounds=in_bounds)
        return replace(report, certificate=text)
    except InexpressibleError as error:
        return replace(report, notes=(*report.notes, Note.information(f"no certificate: {error}")))


def _report(
    before: Program,
    after: Program,
    decided: Decided,
    options: Options,
    counterexample: Counterexample | None,
    notes: tuple[str, ...],
    start: float,
    seconds: float,
) -> Report:
    """The report on a decision; `seconds` is the time there is to look for the cause of a missing proof."""
    made: dict[int, Location] = {}
    for op in after.body.ops:
        # a copy at the end comes from no line of the user's: what it copies does
        place = made.get(op.operands[0].number, op.location) if hands_on(op) else op.location
        made.update((result.number, place) for result in op.results)
    outputs = [
        _output(k, result.label, decided, options.theory, made.get(after.results[k].value.number, UNKNOWN_LOCATION))
        for k, result in enumerate(before.results)
    ]
    if counterexample is not None:
        k = counterexample.result
        message = outputs[k].message or "differs from the before program"
        outputs[k] = OutputReport(k, outputs[k].label, Verdict.REFUTED, None, outputs[k].location, message)
    failing = next((k for k, o in enumerate(outputs) if o.verdict is Verdict.REFUTED), None)
    if failing is None:
        failing = next((k for k, o in enumerate(outputs) if o.verdict is not Verdict.PROVED), None)
    rest = {
        "assumptions": tuple(sorted(options.assumptions, key=lambda a: a.value)),
        "counterexample": counterexample,
        "notes": tuple(map(Note.information, notes)) + (lints(decided.main, before, after) if failing is None else ()),
        "stats": _stats(decided.main, time.monotonic() - start),
    }
    if failing is not None:
        decision = decided.of(failing)
        explanation = explain(decision, before, after, failing, EXPLAIN_SECONDS, seconds, counterexample)
        rest["cause"] = explanation.cause
        rest["message"] = explanation.cause.message if explanation.cause is not None else outputs[failing].message
        if explanation.op is not None:
            rest["frontier"] = frontier(decision, before, after, explanation.op, explanation.reason)
        rest["obstacle"] = None if counterexample is not None else _obstacle(decided, failing, outputs[failing])
    return Report.over(before.source, after.source, outputs, **rest)


def relations_of(before: Program, after: Program, options: Options) -> tuple[Relations, tuple[str, ...]]:
    """What the options tell of the relations besides shardings, and what a report has to say of them."""
    source = None if options.relations is None else (options.relations.data, options.relations.name)
    infer = Assumption.RELATIONS_FROM_SHAPES in options.assumptions
    return relations_for(before, after, source, infer=infer)


def _output(k: int, label: str, decided: Decided, accepted: Theory, made: Location) -> OutputReport:
    """The verdict on one result, which the after program makes at the location `made`."""
    if k in decided.proved and is_within(decided.proved[k], accepted):
        return OutputReport(k, label, Verdict.PROVED, decided.proved[k])
    decision = decided.of(k)
    comparison, stop = decision.comparisons[k], decision.stops[k]
    needed = comparison.theory if comparison is not None and comparison.proved else decided.beyond.get(k)
    if needed is not None:
        message = f"proved only under the theory '{needed.value}', and '{accepted.value}' is asked for"
        return OutputReport(k, label, Verdict.NOT_PROVED, None, made, message)
    op = stop.origin.op if stop is not None and stop.origin is not None else None
    location = op.location if op is not None else made
    if decision.missing[k]:
        return OutputReport(k, label, Verdict.UNSUPPORTED, None, location, f"{decision.missing[k]} is not modelled")
    if decision.out_of_time:
        return OutputReport(k, label, Verdict.NOT_PROVED, None, location, "the time limit was reached")
    if decision.out_of_patience and comparison is None:
        message = "not reached: the walk was given up, long after the first value without a relation"
        return OutputReport(k, label, Verdict.NOT_PROVED, None, location, message)
    reason = comparison.reason if comparison is not None else "not compared"
    return OutputReport(k, label, Verdict.NOT_PROVED, None, location, f"result {k} {reason}")


def _obstacle(decided: Decided, k: int, output: OutputReport) -> Obstacle:
    decision = decided.of(k)
    comparison = decision.comparisons[k]
    if (comparison is not None and comparison.proved) or k in decided.beyond:
        return Obstacle.THEORY
    if output.verdict is Verdict.UNSUPPORTED:
        return Obstacle.UNSUPPORTED
    if decision.out_of_time:
        return Obstacle.TIMEOUT
    stop = decision.stops[k]
    return Obstacle.LIMIT if stop is not None and stop.reason.startswith("too complex") else Obstacle.NO_RELATION


def _search(
    before: Program,
    after: Program,
    relations: Relations,
    unproved: list[int],
    options: Options,
    start: float,
    deadline: float | None,
) -> tuple[Counterexample | None, str]:
    now = time.monotonic()
    budget = SEARCH_SECONDS if deadline is None else min(SEARCH_SECONDS, deadline - now)
    if budget <= 0:
        return None, "no time was left to look for a counterexample"
    try:
        found = search(
            before,
            after,
            relations,
            unproved,
            seed=options.seed,
            budget_seconds=budget,
            cut_seconds=max(MIN_CUT_SECONDS, now - start),
            assume_indices_in_bounds=Assumption.INDICES_IN_BOUNDS in options.assumptions,
            over_reals=options.theory is Theory.REAL,
        )
    except EvaluationError as error:
        return None, f"no counterexample was looked for: {error}"
    except MemoryError:
        return None, "no counterexample was looked for: the programs' tensors do not fit in memory"
    return found, ""


def _stats(decision: Decision, seconds: float) -> Stats:
    store = decision.device.store
    bridge = decision.device.context.bridge
    return Stats(
        seconds=seconds,
        ops_before=decision.original.ops_walked,
        ops_after=decision.device.ops_walked,
        relations=store.misses,
        memo_hits=store.hits,
        rules=dict(sorted((decision.device.context.lemmas | (bridge.fired if bridge else {})).items())),
        lemmas=frozenset(decision.device.context.lemmas),
        egraph_stop=bridge.stop if bridge else None,
        isl_seconds=store.seconds,
        egraph_seconds=bridge.seconds if bridge else 0.0,
        memo={name: (known, computed) for name, (known, computed) in sorted(store.uses.items())},
    )
