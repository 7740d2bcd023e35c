"""How often a report names the planted op and the right cause: `python -m benchmarks.localisation [NAME...]`.

Mutants of each operator are taken from as many programs as there are, in an order that depends on nothing but their
names, and only those that the reference evaluator tells from the original (or whose rounding was moved). A place is
right if it is a planted op or a direct user of one; where an op was left out, its place is between what it read and
what read it, and both count. The table also counts index arithmetic apart: the place is then the first op that reads or
writes data by what was computed wrongly. Causes are counted over the mutants that the report classifies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from shardproof.validator.explain.explain import explain
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.relate.decide import decide
from tests.tools.mutate import KINDS, Mutant, mutants

from .named import is_meant
from .oracle import Label, label
from .pairs import corpus_names, load, zoo_names
from .planted import causes_of, planted, tidied
from .watched import Failure, run

PRECISION = "K27"
_EACH_PROGRAM = 4
"""Mutants of one operator that are taken of one program, where too few programs have any."""
_WALL_SECONDS = 200.0
"""How long one explanation may take, so that a busy machine changes no count."""
RIGHT = ("planted", "user", "producer")


@dataclass(frozen=True, slots=True)
class Task:
    """One mutant of a pair, by its operator and its number among the operator's."""

    pair: str
    operator: str
    kind: str
    number: int
    tidied: bool = False
    """Whether what nothing uses is taken out of the mutant, as a compiler would, before it is proved and explained."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a report says of one mutant, and what is true of it."""

    pair: str
    kind: str
    operator: str
    number: int
    change: str = ""
    site: str = ""
    label: str = ""
    proved: bool = False
    place: str = ""
    op: str = ""
    cause: str = ""
    message: str = ""
    truth: tuple[str, ...] = ()
    proof_seconds: float = 0.0
    seconds: float = 0.0
    """CPU seconds that the proof took, and that the explanation took on top of it."""
    trials: int = 0

    @property
    def counts(self) -> bool:
        """Whether the mutant is wrong, and known to be."""
        return not self.proved and (self.label == Label.DIFFERS.value or self.kind == PRECISION)

    @property
    def classified(self) -> bool:
        return bool(self.cause)

    @property
    def cause_right(self) -> bool:
        return self.cause in self.truth


@lru_cache(maxsize=2)
def made(pair: str) -> dict[str, list[Mutant]]:
    """The mutants of a pair by operator."""
    found: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants(load(pair).after):
        found[f"{mutant.kind} {mutant.operator}"].append(mutant)
    return found


def held_out(pair: str) -> bool:
    """Whether a program is kept back from whoever works on localisation."""
    return _hash(f"held out {pair}") % 5 < 2


def _key(task: Task) -> tuple[str, str]:
    return task.kind, task.operator


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def listed(names: Sequence[str]) -> dict[tuple[str, str], list[Task]]:
    """By kind and operator: one mutant of each program, in an order of their own, then further ones of each."""
    found: dict[tuple[str, str], list[tuple[int, Task]]] = defaultdict(list)
    for name in names:
        for key, members in made(name).items():
            kind, operator = key.split()
            first = _hash(f"{name} {operator}")
            for turn in range(min(_EACH_PROGRAM, len(members))):
                found[kind, operator].append((turn, Task(name, operator, kind, (first + turn) % len(members))))
    return {
        key: [task for _, task in sorted(tasks, key=lambda item: (item[0], _hash(str(item[1]))))]
        for key, tasks in sorted(found.items())
    }


def work(task: Task) -> Outcome:
    """Label one mutant, prove it and explain what the proof lacks."""
    mutant = made(task.pair)[f"{task.kind} {task.operator}"][task.number]
    pair = load(task.pair)
    truth = tuple(cause.value for cause in causes_of(mutant))
    known = Outcome(task.pair, task.kind, task.operator, task.number, mutant.change, mutant.site, truth=truth)
    if task.kind == PRECISION:
        said = Label.SAME
    else:
        said, _ = label(pair.before, mutant.program)
        if said is not Label.DIFFERS:
            return Outcome(**{**_fields(known), "label": said.value})
    return Outcome(**{**_fields(known), "label": said.value, **explained(task)})


def explained(task: Task) -> dict:
    """The part of an outcome that the prover has a share in."""
    mutant = made(task.pair)[f"{task.kind} {task.operator}"][task.number]
    pair = load(task.pair)
    before, after = fold_scalars(pair.before), fold_scalars(tidied(mutant.program) if task.tidied else mutant.program)
    start = _cpu()
    decision = decide(before, after, deadline=None, assume_in_bounds=False)
    between = _cpu()
    failing = next((k for k, one in enumerate(decision.comparisons) if one is None or not one.proved), None)
    if failing is None and task.kind != PRECISION:
        return {"proved": True}
    found = explain(decision, before, after, 0 if failing is None else failing, wall_seconds=_WALL_SECONDS)
    end = _cpu()
    op = found.op
    return {
        "place": planted(pair.after, mutant.program).place(op.results[0].number if op is not None else None),
        "op": f"{op.name} {op.results[0].name}" if op is not None else "",
        "cause": found.cause.cause.value if found.cause is not None else "",
        "message": found.cause.message if found.cause is not None else "",
        "proof_seconds": round(between - start, 3),
        "seconds": round(end - between, 3),
        "trials": found.trials,
    }


def _cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def again(known: tuple[Outcome, bool]) -> Outcome:
    """The same mutant with the label it has, explained anew, tidied or not."""
    outcome, tidy = known
    task = Task(outcome.pair, outcome.operator, outcome.kind, outcome.number, tidy)
    return Outcome(**{**_fields(outcome), "proved": False, **explained(task)})


def _fields(outcome: Outcome) -> dict:
    return {**asdict(outcome), "truth": outcome.truth}


def table(outcomes: Iterable[Outcome]) -> str:
    """Counts a kind."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.counts:
            groups[outcome.kind].append(outcome)
    heads = ("kind", "mutants", "planted", "user", "producer", "index", "elsewhere", "place", "classified", "cause")
    lines = ["  ".join(f"{head:>9}" for head in heads)]
    for kind in [*KINDS, "all"]:
        members = [one for group in groups.values() for one in group] if kind == "all" else groups.get(kind, [])
        if not members:
            continue
        places = Counter(one.place for one in members)
        told = [one for one in members if one.classified]
        cells = (
            kind,
            len(members),
            *(places[name] for name in (*RIGHT, "index", "elsewhere")),
            _percent(sum(one.place in RIGHT for one in members), len(members)),
            len(told),
            _percent(sum(one.cause_right for one in told), len(told)),
        )
        lines.append("  ".join(f"{cell:>{max(9, len(head))}}" for cell, head in zip(cells, heads, strict=True)))
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _read(file: Path) -> list[Outcome]:
    if not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [Outcome(**{**fields, "truth": tuple(fields["truth"])}) for fields in lines]


def _label(names: Sequence[str], options: argparse.Namespace) -> list[Outcome]:
    """As many wrong mutants of each operator as are asked for, labelled and explained."""
    found = _read(options.out)
    done = {(one.pair, one.operator, one.number): one for one in found}
    waiting = {key: list(tasks) for key, tasks in listed(names).items() if not options.kinds or key[0] in options.kinds}
    each: int = options.each
    wanted = dict.fromkeys(waiting, each)
    outcomes: list[Outcome] = []
    with options.out.open("a") as log:
        while waiting:
            batch: list[Task] = []
            for key in list(waiting):
                tasks = waiting[key]
                while tasks and wanted[key] > 0:
                    task = tasks.pop(0)
                    old = done.get((task.pair, task.operator, task.number))
                    if old is None:
                        batch.append(replace(task, tidied=options.tidied))
                        break
                    outcomes.append(old)
                    wanted[key] -= old.counts
                if not tasks or wanted[key] <= 0:
                    del waiting[key]
            batch.sort(key=lambda task: task.pair)
            for task, result in run(work, batch, limit=options.timeout, jobs=options.jobs):
                if isinstance(result, Failure):
                    print(f"{task}: {result.reason}\n{result.details}", file=sys.stderr)
                    continue
                log.write(json.dumps(asdict(result)) + "\n")
                log.flush()
                outcomes.append(result)
                wanted[_key(task)] -= result.counts
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.localisation",
        description="Count how often the planted op and the right cause are named.",
    )
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--zoo", action="store_true", help="mutate the zoo's programs in place of the corpus")
    parser.add_argument("--part", choices=("all", "open", "held-out"), default="all", help="default all")
    parser.add_argument("--kinds", type=lambda text: tuple(text.split(",")), default=(), help="comma-separated")
    parser.add_argument("--each", type=int, default=5, metavar="N", help="wrong mutants an operator (default 5)")
    parser.add_argument("--out", type=Path, default=Path("localisation.jsonl"), metavar="FILE", help="what was found")
    parser.add_argument("--again", action="store_true", help="explain anew what the file has, with the labels it has")
    parser.add_argument("--into", type=Path, metavar="FILE", help="with --again: where to write what is found now")
    parser.add_argument("--tidied", action="store_true", help="take out of mutants what nothing uses")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds a mutant (default 120)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("-v", "--verbose", action="store_true", help="also list what was named wrongly")
    options = parser.parse_args(arguments)
    names = zoo_names() if options.zoo else corpus_names()
    names = [name for name in names if is_meant(name, options.names)]
    if options.part != "all":
        names = [name for name in names if held_out(name) == (options.part == "held-out")]
    if not names:
        print("no such program; SHARDPROOF_CORPUS names the corpus", file=sys.stderr)
        return 2
    if options.again:
        known = [one for one in _read(options.out) if one.pair in set(names) and (one.counts or one.proved)]
        known = [one for one in known if not options.kinds or one.kind in options.kinds]
        outcomes = []
        # the mutants of a program are made once while they follow each other
        tasks = [(one, options.tidied) for one in sorted(known, key=lambda one: one.pair)]
        for (one, _), result in run(again, tasks, limit=options.timeout, jobs=options.jobs):
            if isinstance(result, Failure):
                print(f"{one.pair} {one.operator}: {result.reason}\n{result.details}", file=sys.stderr)
                continue
            outcomes.append(result)
            print(f"{len(outcomes)}/{len(known)}", end="\r", file=sys.stderr, flush=True)
            if options.into is not None:
                with options.into.open("a") as log:
                    log.write(json.dumps(asdict(result)) + "\n")
    else:
        outcomes = _label(names, options)
    counted = [one for one in outcomes if one.counts]
    print(table(outcomes))
    seconds, proofs = sum(one.seconds for one in counted), sum(one.proof_seconds for one in counted)
    trials = sum(one.trials for one in counted)
    print(f"{proofs:.1f} CPU seconds in proofs, {seconds:.1f} in explanations, {trials} repairs tried")
    if options.verbose:
        for one in counted:
            if one.place not in RIGHT or (one.classified and not one.cause_right):
                print(
                    f"{one.pair}: {one.kind} {one.operator} at {one.site}: {one.change}; "
                    f"named {one.place} {one.op}; {one.cause or 'no cause'}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
