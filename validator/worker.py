"""A process that proves one pair of programs after the other, for sessions that have many.

It keeps the hard time limit of a child process without the start of one for each program: a proof that exceeds its time
takes the process with it, and the next one gets a new one. Messages are pickles with their length in front.
"""

from __future__ import annotations

import os
import pickle
import selectors
import struct
import subprocess
import sys
import threading
import time
import traceback
from typing import IO

from .options import Options
from .read.ir import Program
from .report.report import Obstacle, Report, Stats
from .report.verdict import Verdict
from .run import InternalError, summary_of

_LENGTH = struct.Struct("<Q")
_GRACE = 1.0
"""Seconds past the limit in which the process may still answer by itself, with a report that says where it stood."""
_START = 120.0
"""Seconds that a new process may take to load everything."""
_LIFE = 200
"""How many proofs a process makes before a fresh one takes its place, since what it has interned stays with it."""


class Worker:
    """One process at a time, started when it is first needed. Threads that ask take turns."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._proofs = 0
        self._lock = threading.Lock()

    def prove(self, before: Program, after: Program, options: Options) -> Report:
        """`validate_programs` in the process, ended when the time limit of the options is over."""
        assert options.timeout is not None, "a worker is for proofs with a time limit"
        with self._lock:
            process = self._ready()
            start = time.monotonic()
            try:
                _send(process.stdin, (before, after, options))
                reply = _receive(process, options.timeout + _GRACE)
            except (BrokenPipeError, EOFError):
                self._end()
                raise InternalError("the validating process died", "") from None
            if reply is None:
                self._end()
                seconds = time.monotonic() - start
                return _timed_out(before.source, after.source, options, seconds)
        match reply:
            case ("report", Report() as report):
                return report
            case ("fault", str() as summary, str() as details):
                raise InternalError(summary, details)
        raise InternalError(f"the validating process answered {reply!r}", "")

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._end()

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._proofs >= _LIFE:
            self._end()
        if self._process is None:
            # -P keeps the working directory from shadowing modules.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "SHARDPROOF": "off"},
            )
            self._proofs = 0
            if _receive(self._process, _START) != ("ready",):
                self._end()
                raise InternalError("the validating process did not start", "")
        self._proofs += 1
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _timed_out(before: str, after: str, options: Options, seconds: float) -> Report:
    return Report(
        before,
        after,
        Verdict.NOT_PROVED,
        assumptions=tuple(options.assumptions),
        obstacle=Obstacle.TIMEOUT,
        message=f"no verdict within {options.timeout:g} s",
        stats=Stats(seconds=seconds),
    )


def _send(pipe: IO[bytes] | None, message: object) -> None:
    assert pipe is not None
    data = pickle.dumps(message)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(process: subprocess.Popen[bytes], limit: float) -> tuple[object, ...] | None:
    """The next message of the process, or None when the time is over."""
    assert process.stdout is not None
    deadline = time.monotonic() + limit
    data, wanted = b"", _LENGTH.size
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(data) < wanted:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise EOFError
            data += part
            if wanted == _LENGTH.size and len(data) >= wanted:
                wanted += _LENGTH.unpack_from(data)[0]
    return pickle.loads(data[_LENGTH.size :])


def main() -> None:
    """The process: answers until nobody asks any more."""
    from .validate import validate_programs

    # Libraries below may print; only messages may reach the pipe.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _send(out, ("ready",))
    while True:
        head = sys.stdin.buffer.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return
        before, after, options = pickle.loads(sys.stdin.buffer.read(_LENGTH.unpack(head)[0]))
        try:
            _send(out, ("report", validate_programs(before, after, options)))
        except Exception as error:
            _send(out, ("fault", summary_of(error), traceback.format_exc()))


if __name__ == "__main__":
    main()
