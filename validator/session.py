"""Validation of everything that is compiled meanwhile: a context manager, or the environment variable SHARDPROOF.

A program is validated when JAX compiles it, so once for each entry of JAX's caches. The executable that JAX gets is its
own, whatever the verdict is; only `on_failure="raise"` keeps a program from running.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from . import jax_compat
from .api import options_of
from .jax_stages import module_name, read_dump
from .jit import Engine, NotEquivalentError, Reach, check_reach, passes_for, unsupported, validate_stages
from .ops.record import Theory
from .options import Assumption, Options
from .read.program import read_program
from .report.report import Report
from .report.text import verdict_line
from .report.verdict import Verdict
from .run import summary_of, validate_read
from .worker import Worker

OnFailure = Literal["raise", "warn", "record"]
_WAYS = ("raise", "warn", "record")

SECONDS = 60.0
"""The time limit of one validation inside a session."""


class NotEquivalentWarning(UserWarning):
    """A compiled program that is not proved."""


@dataclass(frozen=True, slots=True)
class Record:
    """One program that was compiled: its name, what was found out, and what that cost."""

    name: str
    report: Report
    seconds: float
    """Time on top of JAX's own compilation."""


@dataclass(slots=True)
class Session:
    """What a session has seen so far, in order of compilation."""

    accept: frozenset[Verdict]
    records: list[Record] = field(default_factory=list)
    skipped: int = 0
    """Programs for one device, which nothing was done for."""

    @property
    def reports(self) -> list[Report]:
        return [record.report for record in self.records]

    @property
    def failures(self) -> list[Record]:
        """The programs whose verdict is not accepted."""
        return [record for record in self.records if record.report.verdict not in self.accept]

    @property
    def seconds(self) -> float:
        """What validating has cost, on top of JAX's own compilation."""
        return sum(record.seconds for record in self.records)

    def summary(self) -> list[str]:
        """A line for each program and a last one that counts."""
        counts = dict.fromkeys(Verdict, 0)
        for record in self.records:
            counts[record.report.verdict] += 1
        said = ", ".join(f"{count} {verdict.name}" for verdict, count in counts.items() if count) or "nothing compiled"
        lines = [verdict_line(record.report) for record in self.records]
        return [*lines, f"{len(self.records)} partitioned programs: {said}; {self.seconds:.2f} s on top of compilation"]


@contextmanager
def validation(
    on_failure: OnFailure = "raise",
    *,
    accept: Iterable[Verdict | str] = (Verdict.PROVED,),
    stages: Reach = "all",
    theory: Theory | str = Theory.REASSOCIATED,
    assume: Iterable[Assumption | str] = (),
    timeout: float | None = SECONDS,
    seed: int = 0,
) -> Iterator[Session]:
    """Validates every partitioned program that JAX compiles inside, and yields the `Session` that records them.

    A verdict that `accept` does not name is a failure: it raises `NotEquivalentError` out of the call that compiles,
    warns, or is only recorded. With a `timeout` in seconds proofs run in a child process, which is ended then. With
    a JAX whose compile function is not known nothing is validated, and a warning says so.
    """
    if on_failure not in _WAYS:
        raise ValueError(f"unknown way to fail '{on_failure}', expected one of 'raise', 'warn', 'record'")
    check_reach(stages)
    options = options_of(theory, assume, timeout, seed)
    session = Session(frozenset(_verdict(name) for name in accept))
    with ExitStack() as stack:
        engine = validate_read
        if timeout is not None:
            engine = stack.enter_context(closing(Worker())).prove
        try:
            stack.enter_context(jax_compat.watching(_watcher(session, on_failure, stages, options, engine)))
        except jax_compat.UnknownJaxError as error:
            warnings.warn(f"nothing is validated: {error}", NotEquivalentWarning, stacklevel=3)
        yield session


def start_from_environment() -> None:
    """Starts a session for the rest of the process where SHARDPROOF is 'warn' or 'raise'."""
    way = os.environ.get("SHARDPROOF", "off")
    if way in ("", "off"):
        return
    if way not in ("warn", "raise"):
        warnings.warn(
            f"unknown SHARDPROOF='{way}', expected 'off', 'warn' or 'raise'", NotEquivalentWarning, stacklevel=2
        )
        return
    accept = os.environ.get("SHARDPROOF_ACCEPT", Verdict.PROVED.name).split(",")
    limit = float(os.environ.get("SHARDPROOF_TIMEOUT", SECONDS))
    stack = ExitStack()
    stack.enter_context(validation(way, accept=accept, timeout=limit))
    atexit.register(stack.close)


def _verdict(name: Verdict | str) -> Verdict:
    try:
        return Verdict(name)
    except ValueError:
        names = ", ".join(f"'{verdict.name}'" for verdict in Verdict)
        raise ValueError(f"unknown verdict '{name}', expected one of {names}") from None


def _watcher(
    session: Session, on_failure: OnFailure, reach: Reach, options: Options, engine: Engine
) -> Callable[..., Any]:
    lock = threading.Lock()

    def watcher(step: jax_compat.CompileStep) -> Any:
        if not step.is_partitioned:
            with lock:
                session.skipped += 1
            return step.run()
        executable, record = _observe(step, reach, options, engine)
        with lock:
            session.records.append(record)
        if record.report.verdict not in session.accept:
            if on_failure == "raise":
                raise NotEquivalentError(record.report)
            if on_failure == "warn":
                warnings.warn(str(record.report), NotEquivalentWarning, stacklevel=2)
        return executable

    return watcher


def _observe(step: jax_compat.CompileStep, reach: Reach, options: Options, engine: Engine) -> tuple[Any, Record]:
    """The executable that JAX would have without us, and what was found out. Only JAX's own faults are raised."""
    start = time.monotonic()
    name = module_name(step.module)
    try:
        # Before the compilation, which may change the module.
        written: Any = read_program(step.module, name=name)
    except Exception as error:
        written = error
    with tempfile.TemporaryDirectory(prefix="shardproof-") as folder:
        compiling = time.monotonic()
        executable, again = step.run_dumping(folder, passes_for(reach))
        compiling = time.monotonic() - compiling - again
        try:
            if isinstance(written, Exception):
                raise written
            report = validate_stages(read_dump(name, written, folder), reach, options, engine)
        except Exception as error:
            # A fault of the validator must not end the user's run; it is no proof either.
            report = unsupported(name, f"{name} after partitioning", options, summary_of(error))
    return executable, Record(name, report, time.monotonic() - start - compiling)
