"""Damaged inputs: `python -m benchmarks.fuzz_inputs RESULTS [--seconds S] [--cases N] [--seed N] [KIND...]`.

Files of every kind that the commands read, and command lines, are damaged at random and given to the commands. A
command has to answer with one of its exit codes and with a located message: a traceback, an internal error, a death, a
run that takes too long or too much memory is a finding. One JSON object a case is added to the file RESULTS, whose
cases are not done again; what a finding needs is kept in the folder RESULTS.found. The same number is the same case,
whenever it is run. Exits with 1 where there are findings.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import itertools
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shardproof.validator import compat
from shardproof.validator.check_command import main as check
from shardproof.validator.cli import main as validate
from shardproof.validator.cli import parser

from .damage import Damage, damage_bytes, damage_fields, damage_tokens
from .resumed import add_rows, in_turn, read_rows
from .watched import Failure, run

ROOT = Path(__file__).parents[1]
READ = ROOT / "tests" / "read" / "data"
LLAMA = ROOT / "examples" / "aws_llama"
LIMIT = 300.0
"""Seconds after which a case is taken to hang."""
SLOW = 30.0
"""Seconds of the processor that a case may take."""
MEMORY = 1500
"""MB that one case may add to what the process has used before."""
CODES = {validate: {0, 1, 2, 3, 4, 5, 6}, check: {0, 1, 2, 5}}


@dataclass(frozen=True, slots=True)
class Seed:
    """Files of a run that is fine, and the command line in which `{n}` stands for the n-th of them."""

    name: str
    files: tuple[bytes, ...]
    command: tuple[str, ...]
    damaged: tuple[int, ...] = (0,)
    """The files to damage, one of them at a time."""


def _pair(name: str, before: bytes, after: bytes) -> Seed:
    return Seed(name, (before, after), ("{0}", "{1}"), (0, 1))


@cache
def seeds(kind: str) -> tuple[Seed, ...]:
    """What is damaged: files of the repository, in the order of their names."""
    return tuple(_SEEDS[kind]())


def _hlo_texts() -> Iterator[Seed]:
    for after in sorted(READ.glob("*_after.hlo.txt")):
        before = after.with_name(after.name.replace("_after", "_before"))
        yield _pair(after.name, before.read_bytes(), after.read_bytes())
    folder = ROOT / "examples" / "tp_mlp"
    yield _pair("tp_mlp", (folder / "before.hlo.txt").read_bytes(), (folder / "after.hlo.txt").read_bytes())


def _hlo_protos() -> Iterator[Seed]:
    for folder in ("dump", "dump_named"):
        yield _pair(folder, *(path.read_bytes() for path in sorted((READ / folder).iterdir())))
    files = [gzip.decompress((LLAMA / f"tp{n}_layer1.hlo.pb.gz").read_bytes()) for n in (1, 2)]
    yield Seed(
        "aws_llama", (*files, (LLAMA / "relations.mlir").read_bytes()), ("{0}", "{1}", "--relations", "{2}"), (0, 1)
    )


def _packed() -> Iterator[Seed]:
    for seed in _hlo_protos():
        yield Seed(seed.name, tuple(gzip.compress(file, mtime=0) for file in seed.files), seed.command, seed.damaged)


def _lowered() -> Iterator[Path]:
    yield from sorted(READ.glob("*_lowered.mlir"))
    yield from sorted((ROOT / "tests" / "mutation" / "data").glob("*.mlir"))


def _stablehlo() -> Iterator[Seed]:
    for path in _lowered():
        after = path.with_name(path.name.replace("_lowered.mlir", "_after.hlo.txt"))
        yield _pair(path.name, path.read_bytes(), (after if after.exists() else path).read_bytes())


def _bytecode() -> Iterator[Seed]:
    for path in _lowered():
        module = compat.parse_module(path.read_text(), compat.new_context())
        plain = io.BytesIO()
        module.operation.write_bytecode(plain)
        forms = {"plain": plain.getvalue(), "portable": compat.portable_artifact(module)}
        for form, data in forms.items():
            if data is not None:
                yield _pair(f"{path.name} {form}", data, path.read_bytes())


def _problems() -> Iterator[Seed]:
    for path in sorted((ROOT / "lit").rglob("*.mlir")):
        data = path.read_bytes()
        if b"shardproof.problem" in data and b"Inputs/" not in data:
            yield Seed(str(path.relative_to(ROOT)), (data,), ("--split-input-file", "{0}"))


def _relations() -> Iterator[Seed]:
    files = [(LLAMA / f"tp{n}_layer1.hlo.pb.gz").read_bytes() for n in (1, 2)]
    yield Seed("aws_llama", ((LLAMA / "relations.mlir").read_bytes(), *files), ("{1}", "{2}", "--relations", "{0}"))


def _certificates() -> Iterator[Seed]:
    for pair in _hlo_texts():
        with tempfile.TemporaryDirectory() as folder:
            names = [Path(folder) / name for name in ("before", "after", "certificate")]
            for path, data in zip(names, pair.files, strict=False):
                path.write_bytes(data)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                validate([str(names[0]), str(names[1]), "--certificate", str(names[2])])
            if names[2].exists():
                yield Seed(pair.name, (names[2].read_bytes(), *pair.files), ("{0}", "{1}", "{2}"))


def _options() -> Iterator[Seed]:
    (seed,) = (seed for seed in _hlo_texts() if seed.name == "tp_mlp")
    yield Seed("tp_mlp", seed.files, seed.command, ())


_SEEDS = {
    "hlo-text": _hlo_texts,
    "hlo-proto": _hlo_protos,
    "gzip": _packed,
    "stablehlo-text": _stablehlo,
    "bytecode": _bytecode,
    "problem": _problems,
    "relations": _relations,
    "certificate": _certificates,
    "options": _options,
}
KINDS = tuple(_SEEDS)
_DAMAGE: dict[str, tuple[Damage, ...]] = {
    "hlo-proto": (damage_fields, damage_fields, damage_bytes),
    "gzip": (damage_bytes,),
    "bytecode": (damage_bytes,),
}
_OF_TEXT: tuple[Damage, ...] = (damage_tokens, damage_tokens, damage_tokens, damage_bytes)
_VALUES = (
    "", "-", "0", "1", "-1", "1e9", "nan", "inf", "99999999999999999999", "text", "json", "sarif", "junit", "exact",
    "real", "reassociated", "(", "[", ".*", "out", "no/such/folder/out", ".", "{0}", "{1}", "\udcff", "é", "a\nb",
)  # fmt: skip


def case(number: int, kind: str, seed: int) -> tuple[Seed, tuple[bytes, ...], list[str]]:
    """A case: what it was made of, its files, and its command line."""
    rng = random.Random(f"{seed}/{kind}/{number}")
    made_of = rng.choice(seeds(kind))
    files = list(made_of.files)
    if made_of.damaged:
        which = rng.choice(made_of.damaged)
        others = [one.files[which] for one in seeds(kind) if which < len(one.files)]
        while files[which] == made_of.files[which]:
            files[which] = rng.choice(_DAMAGE.get(kind, _OF_TEXT))(rng, files[which], others)
        return made_of, tuple(files), list(made_of.command)
    command = list(made_of.command)
    for _ in range(rng.randrange(1, 5)):
        option = rng.choice(_flags())
        rest = [rng.choice(_VALUES)] if rng.random() < 0.6 else []
        at = rng.randrange(len(command) + 1)
        command[at:at] = [f"{option}={rest[0]}"] if rest and rng.random() < 0.3 else [option, *rest]
    return made_of, tuple(files), command


@cache
def _flags() -> tuple[str, ...]:
    """Every option of the command; `--ray` starts a cluster where it is installed."""
    flags = {flag for action in parser()._actions for flag in action.option_strings}
    return tuple(sorted(flags - {"--ray"}))


@dataclass(frozen=True, slots=True)
class Task:
    """One case to run."""

    number: int
    kind: str
    seed: int
    found: str
    """The folder for what findings need."""


def attempt(task: Task) -> dict[str, Any]:
    """Run one case in this process."""
    made_of, files, command = case(task.number, task.kind, task.seed)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"input{number}" for number in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        names = {f"{{{number}}}": str(path) for number, path in enumerate(paths)}
        arguments = [names.get(word, word) for word in command]
        function = check if task.kind == "certificate" else validate
        used, start = _peak(), time.process_time()
        code, said, errors = _call(function, arguments, folder)
        seconds, grown = time.process_time() - start, _peak() - used
    finding = ""
    if code not in CODES[function]:
        finding = f"exit code {code}"
    elif "Traceback (most recent call last)" in errors:
        finding = "traceback"
    elif code == 5 and not re.search(r"\S+: ", errors):
        finding = "no located message"
    elif grown > MEMORY:
        finding = f"{grown:.0f} MB"
    elif seconds > SLOW:
        finding = f"{seconds:.0f} s"
    row = _row(task, made_of) | {"code": code, "seconds": round(seconds, 2), "finding": finding}
    if finding:
        row["said"] = (said + errors)[-1500:]
        keep(task, files, command)
    return row


def _call(function: Any, arguments: list[str], folder: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    standard = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"HloModule m\n"))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = function(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdin = standard
        os.chdir(before)
    return int(code), out.getvalue(), errors.getvalue()


def _peak() -> float:
    """MB that this process has held at most, and so for the copies of it that there are now."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = dict(line.split(":", 1) for line in status.read_text().splitlines())
            if int(told["PPid"]) == os.getpid():
                own += int(told["VmHWM"].split()[0]) / 1024
    return own


def _row(task: Task, made_of: Seed) -> dict[str, Any]:
    return {"case": task.number, "kind": task.kind, "seed": task.seed, "made_of": made_of.name}


def keep(task: Task, files: tuple[bytes, ...], command: list[str]) -> None:
    """Writes down what a finding needs."""
    folder = Path(task.found) / f"{task.kind}-{task.seed}-{task.number}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(files):
        (folder / f"input{number}").write_bytes(data)
    (folder / "command").write_text(json.dumps(command))


def _lost(task: Task, failure: Failure) -> dict[str, Any]:
    """The row of a case whose process died or did not end."""
    made_of, files, command = case(task.number, task.kind, task.seed)
    keep(task, files, command)
    return _row(task, made_of) | {"code": -1, "finding": failure.reason, "said": failure.details[-1500:]}


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Counts by kind, then the findings."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["kind"]].append(row)
    for kind, members in groups.items():
        codes = Counter(row["code"] for row in members)
        told = ", ".join(f"{count} exit {code}" for code, count in sorted(codes.items()))
        slowest = max(row.get("seconds", 0.0) for row in members)
        findings = sum(bool(row["finding"]) for row in members)
        yield f"{kind:<15} {len(members):>6} cases: {told}; slowest {slowest:.1f} s; {findings} findings"
    for row in rows:
        if row["finding"]:
            last = (row.get("said") or "").strip().rpartition("\n")[2]
            yield f"{row['kind']} {row['case']} of {row['made_of']}: {row['finding']}: {last}"


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz_inputs", description="Give damaged inputs to the commands."
    )
    options.add_argument("results", type=Path, help="file of one JSON object a case, added to")
    options.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all where none is given")
    options.add_argument("--seconds", type=float, default=60.0, metavar="S", help="when to stop (default 60)")
    options.add_argument("--cases", type=int, metavar="N", help="no more than the first N cases of each kind")
    options.add_argument("--seed", type=int, default=0, metavar="N")
    chosen = options.parse_args(arguments)
    if unknown := set(chosen.kinds) - set(KINDS):
        options.error(f"no such kind: {', '.join(sorted(unknown))}")
    rows = read_rows(chosen.results)
    done = {(row["kind"], row["seed"], row["case"]) for row in rows}
    found = str(chosen.results.with_name(chosen.results.name + ".found").absolute())
    numbers = itertools.count() if chosen.cases is None else range(chosen.cases)
    cases = in_turn(chosen.kinds or KINDS, numbers, time.monotonic() + chosen.seconds)
    tasks = (Task(n, kind, chosen.seed, found) for kind, n in cases if (kind, chosen.seed, n) not in done)
    rows += add_rows(chosen.results, run(attempt, tasks, limit=LIMIT), _lost)
    print("\n".join(summary(rows)))
    return 1 if any(row["finding"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
