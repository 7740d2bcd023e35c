"""A bar on a terminal for work that takes its time."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from .course import Advanced, Entered, Event, Phase

DELAY = 2.0
"""Seconds before there is anything to be seen."""


class Bar:
    """Shows how far a validation is. Where it is not wanted or there is no terminal, it shows nothing."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._progress = None
        if not wanted or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=sys.stderr),
            # what is printed goes where it would go without a bar
            redirect_stdout=False,
            redirect_stderr=False,
            transient=True,
        )
        self._task = self._progress.add_task(Phase.STARTING.value, total=None)
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def hear(self, event: Event) -> None:
        """Shows what is told of a validation's course."""
        if self._progress is None:
            return
        match event:
            case Entered(phase, total):
                self._progress.reset(self._task, total=total or None, description=phase.value)
            case Advanced(done):
                self._progress.update(self._task, completed=done)
            case _:
                pass

    def close(self) -> None:
        """Takes the bar from the terminal, before anything else is printed there."""
        if self._progress is None:
            return
        with self._lock:
            self._over = True
        self._timer.cancel()
        self._progress.stop()

    def _show(self) -> None:
        with self._lock:
            if not self._over and self._progress is not None:
                self._progress.start()
