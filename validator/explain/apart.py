"""Work in a copy of this process that can be ended: what explains a verdict must neither hang nor end the run.

isl cannot be interrupted, and relations of wrong programs can be arbitrarily complex.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..forking import fork


def apart(work: Callable[[], Iterable[Any]], cpu_seconds: float, wall_seconds: float) -> Any:
    """The last of the answers (plain data) that `work` gives before it fails or takes longer; None without any.

    The copy has this process's memory as it is now; nothing it does is seen here.
    """
    reading, writing = os.pipe()
    process = fork()  # needs no threads, and is ended if it waits for one
    if process == 0:
        _work(work, cpu_seconds, writing)
    os.close(writing)
    try:
        answer = _received(reading, time.monotonic() + wall_seconds)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return _last(io.BytesIO(answer))


def _last(answers: io.BytesIO) -> Any:
    """The last one that is there as a whole."""
    found = None
    while True:
        try:
            found = pickle.load(answers)
        except (EOFError, pickle.UnpicklingError):
            return found


def _work(work: Callable[[], Iterable[Any]], cpu_seconds: float, writing: int) -> None:
    """The copy's part; it never returns and leaves everything that ends a process properly to the original."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        limit = math.ceil(cpu_seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        for answer in work():
            left = pickle.dumps(answer)
            while left:
                left = left[os.write(writing, left) :]
    finally:
        os._exit(0)


def _received(reading: int, deadline: float) -> bytes:
    """All that is written until the other end is closed or the time is over."""
    parts = []
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([reading], [], [], left)
        if ready:
            part = os.read(reading, 1 << 16)
            if not part:
                break
            parts.append(part)
    return b"".join(parts)
