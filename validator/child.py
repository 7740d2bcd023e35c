"""A process that does one piece of work after the other, so that limits hold whatever a library does.

Work that exceeds its time or memory takes the process with it, and the next one gets a new one. Messages are pickles
with their length in front: requests one way, what is told of the course and at last the reply the other way.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from .course import Course, Listener
from .report.report import Obstacle
from .run import InternalError, reply_to, result_of

_LENGTH = struct.Struct("<Q")
_GRACE = 1.0
"""Seconds past the limit in which the process may still answer by itself, with what it knows by then."""
_LOOK = 0.1
"""Seconds between two looks at the memory of the process."""
_LONGEST = 1e6
"""Seconds that a system call waits; a limit may be greater than what such calls take."""
_START = 120.0
"""Seconds that a new process may take to load everything."""
_LIFE = 200
"""How many requests a process answers before a fresh one takes its place, since what it has interned stays with it."""


class Child:
    """One process at a time, started when it is first needed. Threads that ask take turns.

    `loads` is the module that it has loaded before it says that it is ready, and `what` it is called in messages.
    """

    def __init__(self, loads: str, what: str) -> None:
        self._loads, self._what = loads, what
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: _Reader | None = None
        self._said: IO[bytes] | None = None
        self._heard = 0
        self._asked = 0
        self._stopped = False
        self._lock = threading.Lock()

    def ask(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        hear: Listener,
        *,
        timeout: float | None,
        memory_limit: int | None,
        when_ready: bool = False,
    ) -> Any:
        """What a function of a module returns of arguments, all plain data, and of a course that `hear` listens to.

        An `Obstacle` in its place is a limit that was met: seconds, which with `when_ready` do not count the start of
        the process, or MB. Raises the `ReadError` that the function raises, `InternalError` for any other exception and
        where the process dies, and `KeyboardInterrupt` once `stop` was called.
        """
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            if when_ready:
                self._wait_until_ready()
            deadline = None if timeout is None else time.monotonic() + timeout
            self._start_if_needed()
            return self._ask((function, arguments, deadline), deadline, memory_limit, hear)

    def stop(self) -> None:
        """Ends what the process is at, from another thread."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            self._end()

    def _ask(self, request: object, deadline: float | None, memory_limit: int | None, hear: Listener) -> Any:
        process, reader = self._process, self._reader
        assert process is not None
        assert reader is not None
        self._asked += 1
        # A pipe holds little: a process that reads nothing must not keep this one from looking at the clock.
        sender = threading.Thread(target=_send, args=(process.stdin, request), daemon=True)
        sender.start()
        try:
            while True:
                message = reader.next(None if deadline is None else deadline + _GRACE, memory_limit)
                match message:
                    case Obstacle():
                        self._end()
                        return message
                    case ("told", event):
                        hear(event)
                    case ("ready",):
                        pass
                    case reply:
                        self._forward()
                        return result_of(reply)
        except EOFError:
            code = process.wait()
            said = self._forward()
            self._end()
            if self._stopped:
                raise KeyboardInterrupt from None
            raise InternalError(self._death(code), said) from None
        except KeyboardInterrupt:
            self._end()
            raise

    def _death(self, code: int) -> str:
        if code < 0:
            return f"the {self._what} process died of {signal.Signals(-code).name}"
        return f"the {self._what} process ended with code {code}"

    def _wait_until_ready(self) -> None:
        self._start_if_needed()
        assert self._reader is not None
        if self._asked == 0 and self._reader.next(time.monotonic() + _START, None) != ("ready",):
            self._end()
            raise InternalError(f"the {self._what} process did not start", "")

    def _start_if_needed(self) -> None:
        if self._asked >= _LIFE:
            self._end()
        if self._process is None:
            # What the process says is kept until it is known whether it is the last it said.
            self._said, self._heard = tempfile.TemporaryFile(), 0  # noqa: SIM115
            # A fresh interpreter rather than a fork: the caller may hold JAX's threads. -P keeps the working directory
            # from shadowing modules. In a session of its own, Ctrl-C does not reach it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, self._loads],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,
                env={**os.environ, "SHARDPROOF": "off"},
            )
            self._reader = _Reader(self._process)
            self._asked = 0
            if self._stopped:
                self._process.kill()

    def _forward(self) -> str:
        """What the process has said since the last time, which also goes to this one's standard error."""
        if self._said is None:
            return ""
        # where it writes next is a position that both processes share: reading must not move it
        data = os.pread(self._said.fileno(), 1 << 24, self._heard)
        self._heard += len(data)
        text = data.decode(errors="replace")
        sys.stderr.write(text)
        return text

    def _end(self) -> None:
        """Ends the process and whatever it started; the session of its own makes its group known."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close(pipe)
            process.wait()
        if self._said is not None:
            self._said.close()
            self._said = None


class _Reader:
    """The messages of a process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout.fileno()
        self._memory = _Memory(process.pid)
        self._data = bytearray()

    def next(self, deadline: float | None, memory_limit: int | None) -> object:
        """The next message, or which limit (of the clock, of MB) was reached before it came; `EOFError` for a death."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while True:
                if len(self._data) >= _LENGTH.size:
                    end = _LENGTH.size + _LENGTH.unpack_from(self._data)[0]
                    if len(self._data) >= end:
                        message = pickle.loads(self._data[_LENGTH.size : end])
                        del self._data[:end]
                        return message
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return Obstacle.TIMEOUT
                if memory_limit is not None:
                    if self._memory.resident() > memory_limit:
                        return Obstacle.MEMORY
                    left = _LOOK if left is None else min(left, _LOOK)
                if selector.select(None if left is None else min(left, _LONGEST)):
                    part = os.read(self._pipe, 1 << 20)
                    if not part:
                        raise EOFError
                    self._data += part


class _Memory:
    """What a process holds together with the copies that it has made of itself, which are in its session."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._copies: set[str] = set()
        self._seen = {str(process)}

    def resident(self) -> float:
        """MB of memory; of a copy only what it does not share."""
        names = os.listdir("/proc") if os.path.isdir("/proc") else []
        for name in set(filter(str.isdigit, names)) - self._seen:
            self._seen.add(name)
            with suppress(OSError, IndexError):
                if int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[3]) == self._process:
                    self._copies.add(name)
        pages = _number(f"/proc/{self._process}/statm", r"\d+ (\d+)")
        own = sum(_number(f"/proc/{name}/smaps_rollup", r"Private_Dirty: +(\d+)") for name in self._copies)
        return (pages * os.sysconf("SC_PAGE_SIZE") + own * 1024) / 1e6


def _number(path: str, pattern: str) -> int:
    """A number in a file about a process, 0 where the process has ended."""
    try:
        found = re.search(pattern, Path(path).read_text())
    except OSError:
        return 0
    return int(found[1]) if found is not None else 0


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):  # what was not sent yet
        pipe.close()


def _send(pipe: IO[bytes] | None, message: object) -> None:
    assert pipe is not None
    data = pickle.dumps(message)
    try:
        pipe.write(_LENGTH.pack(len(data)) + data)
        pipe.flush()
    except (BrokenPipeError, ValueError):
        pass  # the process has ended, which who reads its messages notices


def main() -> None:
    """The process: answers until nobody asks any more."""
    importlib.import_module(sys.argv[1])
    # Libraries below may print; only messages may reach the pipe.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def tell(*message: object) -> None:
        data = pickle.dumps(message)
        out.write(_LENGTH.pack(len(data)) + data)
        out.flush()

    tell("ready")
    while True:
        head = sys.stdin.buffer.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return
        function, arguments, deadline = pickle.loads(sys.stdin.buffer.read(_LENGTH.unpack(head)[0]))
        course = Course(deadline, lambda event: tell("told", event))
        tell(*reply_to(partial(function, *arguments, course)))


if __name__ == "__main__":
    main()
