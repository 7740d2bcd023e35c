"""Runs tasks in child processes, and ends a child whose task takes too long.

Neither isl nor XLA can be stopped from outside in every place, so a limit that always holds needs a process to kill.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of a task without a result."""

    reason: str
    details: str = ""

    @property
    def late(self) -> bool:
        """Whether the task took longer than it may."""
        return not self.details and self.reason.startswith(_LATE)


_LATE = "not done in"

_START_LIMIT = 120.0
"""Seconds a child may take to import what it needs."""
_LIFE = 80
"""Tasks of one child: what libraries keep stays with it, which after hundreds of proofs is gigabytes."""


class _Child:
    def __init__(self, function: str) -> None:
        here, there = multiprocessing.Pipe()
        self.pipe: Connection = here
        self.process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, function), daemon=True)
        self.process.start()
        there.close()
        self.given = 0
        self.task: Any = None
        self.busy = True
        self.deadline = time.monotonic() + _START_LIMIT

    def give(self, task: Any, limit: float) -> None:
        self.pipe.send(task)
        self.given += 1
        self.task, self.busy, self.deadline = task, True, time.monotonic() + limit

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run(
    function: Callable[[Any], Any], tasks: Iterable[Any], *, limit: float, jobs: int = 1
) -> Iterator[tuple[Any, Any]]:
    """(task, result or `Failure`) as they come; `function` is a module's own, tasks and results can be pickled."""
    name = f"{_module_of(function)}:{function.__name__}"
    pending = iter(tasks)
    children = [_Child(name) for _ in range(jobs)]
    try:
        while children:
            patience = min(child.deadline for child in children) - time.monotonic()
            ready = wait([child.pipe for child in children], timeout=max(0.0, patience))
            for child in list(children):
                late = time.monotonic() > child.deadline
                if child.pipe not in ready and not late:
                    continue
                reply = _reply(child, name) if child.pipe in ready else Failure(f"{_LATE} {limit:g} s")
                started = reply != "ready"
                if started and child.task is None:
                    raise RuntimeError(f"a child did not start: {reply}")
                if started:
                    yield child.task, reply
                if (isinstance(reply, Failure) and not reply.details) or child.given >= _LIFE:
                    child.end()
                    children[children.index(child)] = _Child(name)
                    continue
                task = next(pending, _NO_TASK)
                if task is _NO_TASK:
                    child.end()
                    children.remove(child)
                else:
                    child.give(task, limit)
    finally:
        for child in children:
            child.end()


_NO_TASK = object()


def _reply(child: _Child, name: str) -> Any:
    try:
        return child.pipe.recv()
    except EOFError:
        child.process.join()
        return Failure(f"the process running {name} ended with code {child.process.exitcode}")


def _module_of(function: Callable[[Any], Any]) -> str:
    if function.__module__ != "__main__":
        return function.__module__
    import __main__

    return __main__.__spec__.name


def _serve(pipe: Connection, function: str) -> None:
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(module), name)
    pipe.send("ready")
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            reply = call(task)
        except Exception as error:
            reply = Failure(f"{type(error).__name__}: {error}".splitlines()[0], traceback.format_exc())
        pipe.send(reply)
