"""A report as text: one verdict line, then diagnostics in the shape MLIR tools print, with the user's source lines.

The order of the diagnostics is fixed: what differs, where, the first value without a relation, the counterexample,
what to try, counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..read.ir import UNKNOWN_LOCATION, Frame, Location
from .diagnostic import Diagnostic, Severity, lines_of
from .frontier import Frontier
from .report import Obstacle, OutputReport, Report, Stats
from .verdict import Verdict
from .witness import witness_lines

_MAX_OUTPUTS = 8
_MAX_OPERANDS = 6
_MAX_CALLERS = 4


def verdict_line(report: Report) -> str:
    """The first line of every text report, made to be found by grep."""
    conditions = [report.theory.value] if report.theory is not None else []
    if report.assumptions:
        conditions.append("assuming " + ", ".join(sorted(a.value for a in report.assumptions)))
    verdict = report.verdict.name + (f" ({', '.join(conditions)})" if conditions else "")
    return "  ".join(
        (verdict, f"{report.before} → {report.after}", outputs_text(report), f"{report.stats.seconds:.2f} s"),
    )


def diagnose(report: Report, verbose: bool = False) -> list[Diagnostic]:
    """What explains the verdict; for a proof only its notes, and each output when `verbose`."""
    found: list[Diagnostic] = []
    if report.verdict is not Verdict.PROVED:
        found += _failure(report, verbose)
    elif verbose:
        found += [_output(report, output) for output in report.outputs]
    return found + [_note(report, str(note), note.location) for note in report.notes]


def diagnostics(report: Report, verbose: bool = False) -> list[str]:
    """`diagnose` as lines of text, with source lines and carets between them."""
    return [line.text for line in lines_of(diagnose(report, verbose), report.after)]


def stats_lines(stats: Stats) -> list[str]:
    """The counts of a run, one a line."""
    rows = [
        ("seconds", f"{stats.seconds:.3f}"),
        ("ops before", f"{stats.ops_before:,}"),
        ("ops after", f"{stats.ops_after:,}"),
        ("relations", f"{stats.relations:,}"),
        ("memo hits", _rate(stats.memo_hits, stats.relations)),
        *((f"memo hits of {name}", _rate(*counts)) for name, counts in sorted(stats.memo.items())),
        ("isl seconds", f"{stats.isl_seconds:.3f}"),
        ("e-graph seconds", f"{stats.egraph_seconds:.3f}"),
        ("e-graph stop", stats.egraph_stop or "not run"),
        *(
            (f"{'lemma' if name in stats.lemmas else 'rule'} {name}", f"{count:,}")
            for name, count in sorted(stats.rules.items(), key=lambda rule: (rule[0] not in stats.lemmas, rule[0]))
        ),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value:>22}" for name, value in rows]


def _rate(hits: int, computed: int) -> str:
    total = hits + computed
    return f"{hits:,} of {total:,} ({hits / total:.0%})" if total else "0"


def full_text(report: Report) -> str:
    """The verdict line and the diagnostics together."""
    return "\n".join([verdict_line(report), *diagnostics(report)])


def outputs_text(report: Report) -> str:
    """How many outputs are proved."""
    count = len(report.outputs)
    proved = sum(output.verdict is Verdict.PROVED for output in report.outputs)
    noun = "output" if count == 1 else "outputs"
    return f"{count} {noun}" if report.verdict is Verdict.PROVED else f"{proved} of {count} {noun} proved"


def _failure(report: Report, verbose: bool) -> Iterator[Diagnostic]:
    yield Diagnostic(Severity.ERROR, message_of(report), report.after, _frame(report.location))
    listed = [output for output in report.outputs if verbose or output.verdict is not Verdict.PROVED]
    limit = len(listed) if verbose else _MAX_OUTPUTS
    for output in listed[:limit]:
        yield _output(report, output)
    if len(listed) > limit:
        yield _note(report, f"and {len(listed) - limit} more outputs that are not proved")
    if report.frontier is not None:
        yield from _frontier(report, report.frontier)
    yield from _callers(report, report.location)
    if report.counterexample is not None:
        for line in witness_lines(report.counterexample, report):
            yield _note(report, line)
    for line in advice(report):
        yield _note(report, f"try: {line}")
    stats = report.stats
    yield _note(report, f"{outputs_text(report)}, {stats.ops_before} ops before, {stats.ops_after} after")


def _note(report: Report, message: str, location: Location = UNKNOWN_LOCATION) -> Diagnostic:
    return Diagnostic(Severity.NOTE, message, report.after, _frame(location))


def _frame(location: Location) -> Frame | None:
    """A position that a reader can open; a value that the file tells no position of is located by the file alone."""
    return location.frames[0] if location.frames else None


def _callers(report: Report, location: Location) -> Iterator[Diagnostic]:
    """The frames around the innermost one."""
    callers = location.frames[1:]
    for frame in callers[:_MAX_CALLERS]:
        function = f" in '{frame.function}'" if frame.function else ""
        yield Diagnostic(Severity.NOTE, f"called from here{function}", report.after, frame)
    if len(callers) > _MAX_CALLERS:
        yield _note(report, f"and {len(callers) - _MAX_CALLERS} more callers")


def message_of(report: Report) -> str:
    """What differs or is missing, in one sentence."""
    if report.message:
        return report.message
    match report.verdict:
        case Verdict.REFUTED:
            return f"'{report.after}' does not compute its shard of '{report.before}'"
        case Verdict.UNSUPPORTED:
            return f"'{report.after}' or '{report.before}' contains something that is not modelled"
        case _:
            return f"no proof that '{report.after}' computes its shard of '{report.before}'"


def _frontier(report: Report, frontier: Frontier) -> Iterator[Diagnostic]:
    def note(message: str) -> Diagnostic:
        return _note(report, message, frontier.location)

    # a cause is known by what would mend it, and that is told of the op to be mended
    what = "first value without a relation" if report.cause is None else "likely at fault"
    yield note(f"{what}: '{frontier.value}' : {frontier.type} = {frontier.op}")
    yield note(f"reason: {frontier.reason}")
    for operand in frontier.operands[:_MAX_OPERANDS]:
        yield note(f"operand '{operand.name}' is {operand.relation}")
    if len(frontier.operands) > _MAX_OPERANDS:
        yield note(f"and {len(frontier.operands) - _MAX_OPERANDS} more operands")
    if frontier.location.op_name:
        yield note(f"from '{frontier.location.op_name}'")


def _output(report: Report, output: OutputReport) -> Diagnostic:
    theory = f" ({output.theory.value})" if output.theory is not None else ""
    message = f": {output.message}" if output.message and output.message != report.message else ""
    return _note(report, f"{output.title} {output.verdict.name}{theory}{message}", output.location)


def advice(report: Report) -> Iterator[str]:
    """What a reader may try next."""
    if report.verdict is Verdict.REFUTED:
        if report.counterexample is not None:
            yield "'--replay FILE.py' writes a script that evaluates both programs on these inputs"
        return
    match report.obstacle:
        case Obstacle.THEORY:
            yield "a weaker '--theory', where you accept what it ignores"
        case Obstacle.TIMEOUT:
            yield "a longer '--timeout'"
        case Obstacle.MEMORY:
            yield "a higher '--memory-limit'"
        case Obstacle.INTERRUPTED:
            return
        case Obstacle.UNSUPPORTED:
            yield "'--list-ops' tells which ops are modelled"
        case Obstacle.NO_RELATION | Obstacle.LIMIT | None:
            yield "docs/not-proved.md goes through the usual reasons for a missing proof"
