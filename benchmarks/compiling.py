"""Compiles a model in a process of its own and keeps the two dumps that a proof needs.

XLA's passes after partitioning take most of the time for a large model and write nothing that is wanted here, so the
process is stopped as soon as the module after partitioning is complete, unless the whole compilation is to be timed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

CACHE = Path(tempfile.gettempdir()) / "shardproof-models"
"""Where dumps are kept; they depend on the installed XLA, so a new one needs an empty folder."""

PAUSE = 0.2


class Program(Protocol):
    """A program that `python -m module name folder rest…` lowers and compiles with dumps; its text names it."""

    @property
    def module(self) -> str: ...

    @property
    def devices(self) -> int: ...

    @property
    def arguments(self) -> list[str]:
        """The name, and what follows the folder."""
        ...


class CompileError(Exception):
    """XLA or JAX did not give the two modules."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The dumps of one compilation and what it took, in seconds of the processor on all its threads.

    Other work on the machine disturbs these least.
    """

    before: Path
    after: Path
    lowering: float | None
    """What JAX took before XLA started, imports included."""
    partitioned: float | None
    """What XLA took until the module after partitioning was written."""
    whole: float | None
    """What XLA took for the whole compilation, None where it was stopped."""

    @property
    def seconds(self) -> float | None:
        """What XLA is known to take: a lower bound where it was stopped, None for dumps that were put in the cache."""
        return self.partitioned if self.whole is None else self.whole


def compiled(variant: Program, *, cache: Path = CACHE, whole: bool = False, python: str = sys.executable) -> Compiled:
    """The dumps of a model, from the cache where it has them; `python` is the interpreter that compiles."""
    folder = cache / str(variant).replace(" ", "_")
    note = folder / "seconds.json"
    if note.is_file():
        times = json.loads(note.read_text())
        if times["whole"] is not None or not whole:
            return Compiled(folder / "before.hlo.pb", folder / "after.hlo.pb", **times)
    elif not whole and all((folder / f"{side}.hlo.pb").is_file() for side in ("before", "after")):
        return Compiled(folder / "before.hlo.pb", folder / "after.hlo.pb", None, None, None)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = _compile(variant, Path(scratch), whole, python)
        for source, target in ((made.before, "before.hlo.pb"), (made.after, "after.hlo.pb")):
            shutil.move(source, folder / target)
    times = {key: value for key, value in asdict(made).items() if key not in ("before", "after")}
    note.write_text(json.dumps(times))
    return Compiled(folder / "before.hlo.pb", folder / "after.hlo.pb", **times)


def _compile(variant: Program, folder: Path, whole: bool, python: str) -> Compiled:
    name, *changes = variant.arguments
    command = [python, "-W", "ignore", "-m", variant.module, name, str(folder), *changes]
    with (folder / "log").open("w+") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            lowered = partitioned = None
            now = 0.0
            while process.poll() is None and (whole or partitioned is None):
                time.sleep(PAUSE)
                now = _processor_seconds(process.pid, now)
                if lowered is None and "lowered" in (folder / "log").read_text():
                    lowered = now
                if partitioned is None and _written(folder):
                    partitioned = now
        finally:
            process.kill()
        log.seek(0)
        text = log.read()
    pair = _dumps(folder)
    if pair is None or lowered is None:
        raise CompileError(f"'{variant}' was not compiled: {text.strip()[-400:]}")
    partitioned = now if partitioned is None else partitioned
    return Compiled(*pair, lowered, partitioned - lowered, now - lowered if "compiled" in text else None)


def _processor_seconds(process: int, last: float) -> float:
    """What a process and its threads have taken so far; `last` where it has just ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return last
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") or last


def compile_with_dumps(lowered: Any, folder: str) -> None:
    """What the process of a model does with a lowered program; the words it prints tell its parent how far it is."""
    print("lowered", flush=True)
    lowered.compile(
        compiler_options={
            "xla_dump_to": folder,
            "xla_dump_hlo_pass_re": ".*spmd-partitioning",
            "xla_dump_hlo_as_proto": True,
        }
    )
    print("compiled", flush=True)


def _dumps(folder: Path) -> tuple[Path, Path] | None:
    """The module before and the one after partitioning; helper modules are smaller than the step itself.

    TPUs have a pass of their own, whose name ends like that of all others.
    """
    before = sorted(folder.glob("*.before_*spmd-partitioning.hlo.pb"), key=lambda path: path.stat().st_size)
    after = sorted(folder.glob("*.after_*spmd-partitioning.*.hlo.pb"), key=lambda path: path.stat().st_size)
    return (before[-1], after[-1]) if before and after else None


def _written(folder: Path) -> bool:
    """Whether the module after partitioning is there to its last byte: its length stands in front of it."""
    pair = _dumps(folder)
    if pair is None or pair[1].stat().st_size < 16:
        return False
    with pair[1].open("rb") as file:
        head = file.read(16)
    if head[0] != 0x0A:
        return False
    length, position = 0, 1
    while head[position] >= 0x80:
        length |= (head[position] & 0x7F) << (7 * (position - 1))
        position += 1
    length |= head[position] << (7 * (position - 1))
    return pair[1].stat().st_size >= position + 1 + length
