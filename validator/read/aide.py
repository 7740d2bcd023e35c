"""MLIR's and XLA's own readers run in a copy of this process, its aide: some inputs end the process that reads them.

The aide is made for the first input and reads all that follow. What it gives back is bytecode that MLIR has written
itself, which reads in a fraction of the time of anything else.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from ..forking import fork
from .errors import ReadError, ReadErrorKind

T = TypeVar("T")

_HAS_COPIES = sys.platform == "linux"
"""Elsewhere a copy of a process with threads is not safe to make, and the readers run in this one."""
_LIFE = 200
"""How many inputs an aide reads before a fresh one takes its place, since what libraries keep stays with it."""
_LOOK = 0.5
"""Seconds between two looks at an aide that says nothing."""
_PATIENCE = 6
"""After so many looks at which none of its threads ran, an aide waits for a lock that a thread of the original held."""
_SECONDS, _BYTES_A_SECOND = 20, 1 << 20
"""Processor time for any input, and how many bytes of it are worth one second more: MLIR reads twenty times as many."""
_LENGTH = struct.Struct("<Q")
_LAST_WORDS = re.compile(r"(?:Check failed|Assertion|LLVM ERROR|UNREACHABLE)[^\n]*")


_trusting: ContextVar[bool] = ContextVar("trusting", default=False)


@contextlib.contextmanager
def trusting() -> Iterator[None]:
    """What is read inside the `with` block was written by the libraries of this very process, which then needs no aide.

    A copy of a user's process is not to be made behind his back.
    """
    before = _trusting.set(True)
    try:
        yield
    finally:
        _trusting.reset(before)


def in_aide(name: str, function: Callable[..., T], *arguments: Any) -> T:
    """What a function of a module returns of arguments, all plain data.

    Raises the `ReadError` that the function raises or that the aide's death amounts to; `name` is the input's.
    """
    match _post.ask(name, function, arguments) if _HAS_COPIES and not _trusting.get() else None:
        case ("done", result):
            return result
        case ("refused", kind, where, message):
            raise ReadError(kind, where, message)
    # No answer: the aide could not do it, or failed by a fault of ours that is to be seen with its traceback.
    return function(*arguments)


class _Aide:
    """A process that answers requests, pickles with their length in front, until nobody can ask any more."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        with tempfile.TemporaryFile() as errors:
            self._errors = os.dup(errors.fileno())
        self._process = fork()
        if self._process == 0:
            _serve(there.detach(), self._errors)
        there.close()
        self._pipe = here.detach()
        os.set_blocking(self._pipe, False)
        self.asked = 0

    def ask(self, request: bytes) -> bytes | None:
        """The answer; None where it waits for nothing. Raises `EOFError` where it has died, and `TimeoutError`."""
        self.asked += 1
        end = _seconds_of(self._process) + _SECONDS + len(request) / _BYTES_A_SECOND
        unsent = memoryview(_LENGTH.pack(len(request)) + request)
        answer = bytearray()
        idle = 0
        while len(answer) < _LENGTH.size or len(answer) < _LENGTH.size + _LENGTH.unpack_from(answer)[0]:
            readable, writable, _ = select.select([self._pipe], [self._pipe] if unsent else [], [], _LOOK)
            if writable:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    unsent = unsent[os.write(self._pipe, unsent) :]
            if readable:
                with contextlib.suppress(ConnectionResetError):
                    part = os.read(self._pipe, 1 << 20)
                    if not part:
                        raise EOFError
                    answer += part
            if not (readable or writable):
                idle = 0 if _is_at_work(self._process) else idle + 1
                if idle > _PATIENCE:
                    return None
                if _seconds_of(self._process) > end:
                    raise TimeoutError
        return bytes(answer[_LENGTH.size :])

    def end(self, died: bool = False) -> tuple[str, str]:
        """Ends the process, where it has not died; how it ended, and its last words."""
        os.close(self._pipe)
        if not died:
            os.kill(self._process, signal.SIGKILL)
        try:
            _, status = os.waitpid(self._process, 0)
            how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
        except ChildProcessError:
            how = "an unknown signal"  # in a process that does not want to know how its children end
        said = os.pread(self._errors, 1 << 20, max(0, os.fstat(self._errors).st_size - (1 << 20)))
        os.close(self._errors)
        return how, said.decode(errors="replace")


class _Post:
    """The one aide of a process; threads that ask take turns."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """In a copy of this process: the aide is the original's."""
        self._aide: _Aide | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Lets the aide go; the next input gets another one."""
        with self._lock:
            if self._aide is not None:
                self._aide.end()
            self._aide = None

    def ask(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        request = pickle.dumps((function, arguments))
        with self._lock:
            aide, self._aide = self._aide, None
            if aide is not None and aide.asked >= _LIFE:
                aide.end()
                aide = None
            aide = aide or _Aide()
            died = False
            try:
                answer = aide.ask(request)
                if answer is not None:
                    self._aide = aide
                    return pickle.loads(answer)
            except EOFError:
                died = True
            except TimeoutError:
                raise ReadError(ReadErrorKind.FORMAT, name, "MLIR or XLA does not come to an end with it") from None
            finally:
                # What an interrupted one says next would answer another request.
                how, said = aide.end(died) if self._aide is None else ("", "")
        if died and how:
            found = _LAST_WORDS.search(said)
            reason = f": {found[0].strip()}" if found else ""
            raise ReadError(ReadErrorKind.FORMAT, name, f"MLIR or XLA died of {how} reading it{reason}")
        return None


_post = _Post()


def dismiss() -> None:
    """Ends the aide, if there is one; what it took then counts to this process's children."""
    _post.close()


def _is_at_work(process: int) -> bool:
    """Whether a thread of the process runs, or waits for nothing but the processor or a disk."""
    states = []
    for task in Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            states.append(task.read_text().rpartition(")")[2].split()[0])
    return any(state in "RDZX" for state in states)


def _seconds_of(process: int) -> float:
    """Processor time that a process has taken so far."""
    try:
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _serve(pipe: int, errors: int) -> None:
    """The aide's part; it never returns, and leaves everything that ends a process properly to the original."""
    try:
        # Ctrl-C is for the original, whose files and pipes must not stay open here when it is gone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, target in enumerate((nothing, nothing, errors)):
            os.dup2(target, number)
        top = max(map(int, os.listdir("/proc/self/fd"))) + 1
        for low, high in ((3, pipe), (pipe + 1, top)):
            os.closerange(low, high)
        while request := _received(pipe):
            answer = pickle.dumps(_reply(*pickle.loads(request)))
            message = memoryview(_LENGTH.pack(len(answer)) + answer)
            while message:
                message = message[os.write(pipe, message) :]
    finally:
        os._exit(0)


def _received(pipe: int) -> bytes:
    data = b""
    wanted = _LENGTH.size
    parts: list[bytes] = []
    while wanted:
        part = os.read(pipe, min(wanted, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        wanted -= len(part)
        if not wanted and not data:
            data = b"".join(parts)
            parts, wanted = [], _LENGTH.unpack(data)[0]
    return b"".join(parts)


def _reply(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    try:
        return "done", function(*arguments)
    except ReadError as error:
        return "refused", error.kind, error.where, error.message
    except Exception:
        return None
