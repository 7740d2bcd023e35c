"""The mutation campaign: what the prover says of each mutant, against what the reference evaluator finds.

`python -m benchmarks.mutants [--out FILE] [--kinds K1,K7] [--limit N] [--jobs N] [--oracle-only] [NAME...]`

Each mutant is one JSON line of the file; a run that finds the file goes on where it ended. A mutant that is PROVED
although the evaluator finds a difference is a fault of the prover, and the run then exits with 1. So does one whose
precision was lowered (K27) and that is proved without ignoring rounding, a benign one that is REFUTED, and one on which
the prover fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from shardproof.validator.course import Course
from shardproof.validator.ops.record import Theory, strongest
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.read.relations import NO_RELATIONS
from shardproof.validator.read.simplified import simplified
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import decided_by_relations, validate_programs
from tests.tools.mutate import KINDS, Mutant, benign_rewrites, mutants

from .named import is_meant
from .oracle import Label, label
from .pairs import corpus_names, load, zoo_names
from .watched import Failure, run

BENIGN = "benign"
PRECISION = "K27"
ORIGINAL_DIFFERS = "the program differs without the rewrite, too"
VERDICTS = ("REFUTED", "NOT_PROVED", "UNSUPPORTED", "PROVED", "TIMEOUT", "ERROR")


@dataclass(frozen=True, slots=True)
class Task:
    """One mutant: the pair, its place among the pair's mutants of these settings, and what is to be done."""

    pair: str
    kinds: tuple[str, ...]
    limit: int | None
    index: int
    key: str
    oracle: bool
    prover: bool
    known: str
    """The label an earlier run gave, empty where there is none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant."""

    key: str
    pair: str
    kind: str
    operator: str
    site: str
    change: str
    theory_needed: str
    oracle: str = ""
    oracle_detail: str = ""
    verdict: str = ""
    theory: str = ""
    frontier: str = ""
    message: str = ""
    seconds: float = 0.0

    @property
    def only_real(self) -> bool:
        """Not proved in the theory that is accepted by default, but over the reals."""
        return self.verdict == "NOT_PROVED" and self.theory == Theory.REAL.value

    @property
    def wrongly_proved(self) -> bool:
        """A proof that is false, or that does not see a lowered precision."""
        if self.verdict != "PROVED" and not self.only_real:
            return False
        return self.oracle == Label.DIFFERS.value or (self.kind == PRECISION and self.theory != "real")

    @property
    def wrongly_refuted(self) -> bool:
        """A benign rewrite of a right program that the whole validation calls wrong."""
        return self.kind == BENIGN and self.verdict == "REFUTED" and self.message != ORIGINAL_DIFFERS

    @property
    def missed(self) -> bool:
        """A benign rewrite of a right program that is not proved in the theory that covers it."""
        if self.kind != BENIGN or self.oracle == Label.DIFFERS.value:
            return False
        if self.theory_needed == Theory.REAL.value and self.only_real:
            return False
        return self.verdict not in {"", "PROVED"}


@lru_cache(maxsize=2)
def all_mutants(pair: str, kinds: tuple[str, ...], limit: int | None) -> tuple[tuple[str, Mutant], ...]:
    """The mutants of a pair's partitioned program, each with a key that does not depend on the settings."""
    after = load(pair).after
    made = list(mutants(after, [kind for kind in kinds if kind != BENIGN], limit))
    if BENIGN in kinds:
        made += benign_rewrites(after, limit)
    seen: Counter[str] = Counter()
    keyed = []
    for mutant in made:
        text = f"{pair}|{mutant.kind}|{mutant.operator}|{mutant.site}|{mutant.change}"
        keyed.append((f"{text}|{seen[text]}", mutant))
        seen[text] += 1
    return tuple(keyed)


def work(task: Task) -> Outcome:
    """Label one mutant, prove it, or both."""
    key, mutant = all_mutants(task.pair, task.kinds, task.limit)[task.index]
    assert key == task.key, f"mutants came in another order: {key} for {task.key}"
    pair = load(task.pair)
    start = time.perf_counter()
    found: dict[str, str] = {}
    said = Label(task.known) if task.known else None
    if said is None and task.oracle:
        said, detail = label(pair.before, mutant.program)
        found.update(oracle=said.value, oracle_detail=detail)
    if task.prover:
        found.update(_prove(pair.before, pair.after, mutant, said))
    return Outcome(**_identity(task, mutant), **found, seconds=round(time.perf_counter() - start, 4))


def _prove(before: Program, original: Program, mutant: Mutant, said: Label | None) -> dict[str, str]:
    """The verdict. REFUTED is what the evaluator's label makes of a missing proof: to search once more for the same
    difference, and to make it small, is most of a validation's time. A benign mutant is tried over the reals, and then
    gets the whole validation.
    """
    before, after = simplified(before), simplified(mutant.program)
    decided = decided_by_relations(before, after, Options(), NO_RELATIONS, Course())
    failing = next((k for k in range(len(before.results)) if k not in decided.proved), None)
    if failing is None:
        return {"verdict": "PROVED", "theory": strongest(decided.proved.values()).value}
    decision = decided.of(failing)
    missing = next((what for what in decision.missing if what), "")
    if mutant.kind == BENIGN:
        real = decided_by_relations(before, after, Options(theory=Theory.REAL), NO_RELATIONS, Course())
        if len(real.proved) == len(before.results):
            return {"verdict": "NOT_PROVED", "theory": Theory.REAL.value, "message": "only theory real proves it"}
        report = validate_programs(before, after, Options())
        wrong = report.verdict is Verdict.REFUTED and label(before, original)[0] is Label.DIFFERS
        return {"verdict": report.verdict.name, "message": ORIGINAL_DIFFERS if wrong else report.message}
    verdict = "REFUTED" if said is Label.DIFFERS else "UNSUPPORTED" if missing else "NOT_PROVED"
    stop, comparison = decision.stops[failing], decision.comparisons[failing]
    op = stop.origin.op if stop is not None and stop.origin is not None else None
    return {
        "verdict": verdict,
        "frontier": f"{op.name} {op.results[0].name}" if op is not None else "",
        "message": missing or (comparison.reason if comparison is not None else ""),
    }


def _identity(task: Task, mutant: Mutant) -> dict[str, str]:
    return {
        "key": task.key,
        "pair": task.pair,
        "kind": mutant.kind,
        "operator": mutant.operator,
        "site": mutant.site,
        "change": mutant.change,
        "theory_needed": mutant.theory,
    }


def _read_done(file: Path) -> dict[str, Outcome]:
    """What earlier runs found; of two lines about one mutant the later one adds to the earlier one."""
    done: dict[str, Outcome] = {}
    if file.exists():
        for line in file.read_text().splitlines():
            fields = json.loads(line)
            old = asdict(done[fields["key"]]) if fields["key"] in done else {}
            done[fields["key"]] = Outcome(
                **{**old, **{name: value for name, value in fields.items() if value or name not in old}}
            )
    return done


def _tasks(names: Iterable[str], options: argparse.Namespace, done: dict[str, Outcome]) -> Iterator[Task]:
    for name in names:
        for index, (key, _) in enumerate(all_mutants(name, options.kinds, options.limit)):
            old = done.get(key)
            oracle = not options.prover_only and not (old and old.oracle)
            prover = not options.oracle_only and not (old and old.verdict)
            if oracle or prover:
                yield Task(name, options.kinds, options.limit, index, key, oracle, prover, old.oracle if old else "")


def _failed(task: Task, failure: Failure, limit: float) -> Outcome:
    _, mutant = all_mutants(task.pair, task.kinds, task.limit)[task.index]
    what = "TIMEOUT" if failure.late else "ERROR"
    return Outcome(
        **_identity(task, mutant),
        oracle=Label.UNKNOWN.value if task.oracle else "",
        oracle_detail=failure.reason if task.oracle else "",
        verdict=what if task.prover else "",
        message=failure.reason,
        seconds=limit if what == "TIMEOUT" else 0.0,
    )


def table(outcomes: Iterable[Outcome]) -> str:
    """Counts a kind; those under `real` are among the NOT_PROVED."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.kind].append(outcome)
    heads = ("kind", "mutants", "differ", "same", "unknown", "PROVED+differ", "REFUTED+benign", *VERDICTS, "real")
    lines = ["  ".join(f"{head:>7}" for head in heads)]
    for kind in [*KINDS, BENIGN, "all"]:
        members = [one for group in groups.values() for one in group] if kind == "all" else groups.get(kind, [])
        if not members:
            continue
        said = Counter(one.oracle for one in members)
        verdicts = Counter(one.verdict for one in members)
        cells = (
            kind,
            len(members),
            said[Label.DIFFERS.value],
            said[Label.SAME.value],
            said[Label.UNKNOWN.value],
            sum(one.wrongly_proved for one in members),
            sum(one.wrongly_refuted for one in members),
            *(verdicts[verdict] for verdict in VERDICTS),
            sum(one.only_real for one in members),
        )
        lines.append("  ".join(f"{cell:>{max(7, len(head))}}" for cell, head in zip(cells, heads, strict=True)))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants",
        description="Prove each mutant, and compare with what the reference evaluator finds.",
    )
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--zoo", action="store_true", help="mutate the zoo's programs in place of the corpus")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), metavar="FILE", help="default mutants.jsonl")
    parser.add_argument("--kinds", type=_kinds, default=(*KINDS, BENIGN), help="comma-separated, also 'benign'")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N mutants an operator and program")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds a mutant (default 60)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--oracle-only", action="store_true", help="label with the evaluator, prove nothing")
    what.add_argument("--prover-only", action="store_true", help="prove, leave the evaluator out")
    options = parser.parse_args(arguments)
    names = zoo_names() if options.zoo else corpus_names()
    chosen = [name for name in names if is_meant(name, options.names)]
    if not chosen:
        print("no such program; SHARDPROOF_CORPUS names the corpus", file=sys.stderr)
        return 2
    done = _read_done(options.out)
    # `all_mutants` keeps few programs, and failures are told in the order of the tasks, so the parent stays small.
    tasks = list(_tasks(chosen, options, done))
    print(f"{len(tasks)} mutants to do, {len(done)} done before", file=sys.stderr)
    with options.out.open("a") as log:
        for number, (task, result) in enumerate(run(work, tasks, limit=options.timeout, jobs=options.jobs), 1):
            outcome = _failed(task, result, options.timeout) if isinstance(result, Failure) else result
            log.write(json.dumps(asdict(outcome)) + "\n")
            log.flush()
            if number % 200 == 0:
                print(f"{number}/{len(tasks)}", file=sys.stderr)
    outcomes = [one for one in _read_done(options.out).values() if one.pair in set(chosen)]
    print(table(outcomes))
    wrong = [one for one in outcomes if one.wrongly_proved]
    for one in wrong:
        print(f"wrongly proved ({one.theory}): {one.pair}: {one.kind} {one.operator} at {one.site}: {one.change}")
    for one in outcomes:
        if one.wrongly_refuted:
            wrong.append(one)
            print(f"wrongly refuted: {one.pair}: {one.operator} at {one.site}: {one.change}")
        if one.verdict == "ERROR":
            wrong.append(one)
            print(f"ended in an error: {one.pair}: {one.operator} at {one.site}: {one.change}: {one.message}")
        if one.missed:
            print(f"benign, {one.verdict}: {one.pair}: {one.operator} at {one.site}: {one.change}; {one.frontier}")
    return 1 if wrong else 0


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(text.split(","))
    unknown = [kind for kind in kinds if kind not in (*KINDS, BENIGN)]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown kinds {', '.join(unknown)}")
    return kinds


if __name__ == "__main__":
    sys.exit(main())
