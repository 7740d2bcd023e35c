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
import html.parser
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
import xml.etree.ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shardproof.passes.opt import main as opt
from shardproof.validator import check_command, cli
from shardproof.validator.check_command import main as check
from shardproof.validator.cli import main as validate
from shardproof.validator.read.certificates import seal_of
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.mlir_text import parse_file

from .damage import Damage, damage_bytes, damage_fields, damage_strings, damage_tokens, grow
from .fuzz_seeds import KINDS, Seed, seeds
from .resumed import add_rows, in_turn, read_rows
from .watched import Failure, run

LIMIT = 300.0
"""Seconds after which a case is taken to hang."""
SLOW = 30.0
"""Seconds of the processor that a case may take."""
MEMORY = 1500
"""MB that one case may add to what the process has used before."""
COMMANDS = {"certificate": check, "check-options": check, "passes": opt}
"""What is run for a kind of input, `validate-hlo` where nothing is said."""
CODES = {validate: {0, 1, 2, 3, 4, 5, 6}, check: {0, 1, 2, 3, 5}, opt: {0, 1}}

_DAMAGE: dict[str, tuple[Damage, ...]] = {
    "gzip": (damage_bytes,),
    "bytecode": (damage_bytes,),
    "certificate": (*[damage_strings] * 4, *[damage_tokens] * 4, damage_bytes, grow),
    "output": (damage_strings, damage_strings, damage_tokens),
}
_OF_TEXT: tuple[Damage, ...] = (*[damage_tokens] * 5, damage_strings, damage_bytes, damage_bytes, grow)
_OF_FIELDS: tuple[Damage, ...] = (damage_fields, damage_fields, damage_bytes)
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
        binary = b"\0" in files[which] and kind not in ("gzip", "bytecode")
        ways = _OF_FIELDS if binary else _DAMAGE.get(kind, _OF_TEXT)
        while files[which] == made_of.files[which]:
            files[which] = rng.choice(ways)(rng, files[which], others)
        if kind == "certificate" and rng.random() < 0.8:
            files[which] = sealed(files[which])
        return made_of, tuple(files), list(made_of.command)
    command = list(made_of.command)
    for _ in range(rng.randrange(1, 5)):
        option = rng.choice(_flags(kind))
        rest = [rng.choice(_VALUES)] if rng.random() < 0.6 else []
        at = rng.randrange(len(command) + 1)
        command[at:at] = [f"{option}={rest[0]}"] if rest and rng.random() < 0.3 else [option, *rest]
    return made_of, tuple(files), command


def sealed(data: bytes) -> bytes:
    """A damaged certificate with the seal that its text has now: the checker looks no further where it is wrong."""
    try:
        text = str(parse_file(data, "certificate").operation.get_asm(print_generic_op_form=True))
    except ReadError:
        return data
    seal = re.search(r'seal = "(\w*)"', text)
    return data if seal is None else text.replace(seal[1], seal_of(text, seal[1])).encode()


@cache
def _flags(kind: str) -> tuple[str, ...]:
    """Every option of the command; `--ray` starts a cluster where it is installed."""
    parser = (check_command if COMMANDS.get(kind) is check else cli).parser()
    flags = {flag for action in parser._actions for flag in action.option_strings}
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
        told = made_of.names or [f"input{number}" for number in range(len(files))]
        paths = [Path(folder) / name for name in told]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        names = {f"{{{number}}}": str(path) for number, path in enumerate(paths)}
        arguments = [names.get(word, word) for word in command]
        function: Callable[..., int] = COMMANDS.get(task.kind, validate)
        used, start = _peak(), _seconds()
        code, said, errors = _call(function, arguments, folder)
        seconds, grown = _seconds() - start, _peak() - used
        unformed = ill_formed(Path(folder), command) if task.kind == "output" and code in CODES[validate] else ""
    finding = ""
    if code not in CODES[function]:
        finding = f"exit code {code}"
    elif "Traceback (most recent call last)" in errors:
        finding = "traceback"
    elif unformed:
        finding = unformed
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


class _Balance(html.parser.HTMLParser):
    """The elements of a page that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "hr", "img", "link", "col", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] != [tag]:
            raise ValueError(f"</{tag}> ends {self.open[-1:]}")
        self.open.pop()


def ill_formed(folder: Path, command: list[str]) -> str:
    """What is wrong with the form of what was written; nothing where all of it can be read."""
    try:
        text = (folder / "verdict").read_text(encoding="utf-8")
        if "junit" in command:
            xml.etree.ElementTree.fromstring(text)
        elif "sarif" in command:
            json.loads(text)
        else:
            for line in text.splitlines():
                json.loads(line)
        page = _Balance()
        page.feed((folder / "page.html").read_text(encoding="utf-8"))
        page.close()
        if page.open:
            raise ValueError(f"{page.open} are not ended")
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        return f"ill-formed output: {type(error).__name__}: {error}"
    return ""


def _seconds() -> float:
    """Seconds of the processor that this process and those that it has ended took."""
    return sum(os.times()[:4])


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
