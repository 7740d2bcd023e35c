"""From two inputs to a report: reading, proving, and the hard time limit."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .options import Options
from .read.errors import ReadError, ReadErrorKind
from .read.files import load

if TYPE_CHECKING:
    from .read.ir import Program
    from .report.report import Report

_GRACE = 1.0
"""Seconds past the limit that a child gets to stop by itself, with a report that says where it stood."""


@dataclass(frozen=True, slots=True)
class Source:
    """One input: the name reports give it, whose suffix tells the format where the content does not, and its bytes."""

    name: str
    data: bytes

    @staticmethod
    def of_file(path: str) -> Source:
        """The content of a file, or of standard input for '-'; raises `ReadError` where there is none."""
        return Source("<stdin>" if path == "-" else path, load(path))


class InternalError(Exception):
    """A fault of the validator itself; `details` is the traceback or what the dying process said."""

    def __init__(self, summary: str, details: str) -> None:
        super().__init__(summary)
        self.details = details


def summary_of(error: BaseException) -> str:
    """One line for an unexpected exception."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def validate_sources(before: Source, after: Source, options: Options) -> Report:
    """Reads and validates one pair; with a time limit in a child process, since not everything below can be stopped.

    Raises `ReadError` for an input that cannot be read. What is well formed but not modelled is a verdict, UNSUPPORTED.
    """
    if options.timeout is None:
        return validate_here(before, after, options)
    names = (before.name, after.name)
    return _validate_in_child((before, after, options), names, options, options.timeout)


def validate_read(before: Program, after: Program, options: Options) -> Report:
    """`validate_sources` for programs that have been read already."""
    if options.timeout is None:
        from .validate import validate_programs

        return validate_programs(before, after, options)
    names = (before.source, after.source)
    return _validate_in_child((before, after, options), names, options, options.timeout)


def validate_here(before: Source, after: Source, options: Options) -> Report:
    """`validate_sources` in this process, without a hard limit."""
    from .read.program import read_pair
    from .report.report import Obstacle, Report
    from .report.verdict import Verdict

    start = time.monotonic()
    try:
        spec, implementation = read_pair(before.data, after.data, names=(before.name, after.name))
    except ReadError as error:
        if error.kind is not ReadErrorKind.UNSUPPORTED:
            raise
        return Report(
            before.name,
            after.name,
            Verdict.UNSUPPORTED,
            assumptions=tuple(options.assumptions),
            obstacle=Obstacle.UNSUPPORTED,
            message=f"{error.where}: {error.message}",
        )
    from .validate import validate_programs

    report = validate_programs(spec, implementation, options)
    return replace(report, stats=replace(report.stats, seconds=time.monotonic() - start))


def _validate_in_child(request: object, names: tuple[str, str], options: Options, timeout: float) -> Report:
    start = time.monotonic()
    # A fresh interpreter rather than a fork: the caller may hold JAX's threads. -P keeps the working directory from
    # shadowing modules.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", f"{__package__}.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "SHARDPROOF": "off"},
    )
    try:
        out, err = process.communicate(pickle.dumps(request), timeout=timeout + _GRACE)
    except subprocess.TimeoutExpired:
        return _timed_out(names, options, time.monotonic() - start)
    finally:
        _kill(process)
    if process.returncode != 0:
        raise InternalError(_death(process.returncode), err.decode(errors="replace"))
    sys.stderr.write(err.decode(errors="replace"))
    match pickle.loads(out):
        case ("report", report):
            return report
        case ("unreadable", kind, where, message):
            raise ReadError(kind, where, message)
        case ("fault", summary, details):
            raise InternalError(summary, details)
        case reply:
            raise InternalError(f"the validating process answered {reply!r}", "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the child and whatever it started; the session of its own makes its group known."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _death(code: int) -> str:
    if code < 0:
        return f"the validating process died of {signal.Signals(-code).name}"
    return f"the validating process ended with code {code}"


def _timed_out(names: tuple[str, str], options: Options, seconds: float) -> Report:
    from .report.report import Obstacle, Report, Stats
    from .report.verdict import Verdict

    return Report(
        *names,
        Verdict.NOT_PROVED,
        assumptions=tuple(options.assumptions),
        obstacle=Obstacle.TIMEOUT,
        message=f"no verdict within {options.timeout:g} s",
        stats=Stats(seconds=seconds),
    )
