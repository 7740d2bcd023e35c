"""Many pairs in several processes: each pair's report when its turn comes, whatever order they end in."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from .course import PAUSE, Advanced, Course, Phase
from .options import Options
from .report.report import Report
from .run import Source
from .worker import Worker

Paths = tuple[str, str]
"""The files of a pair."""


class Fleet:
    """Validates pairs in a number of processes, begun in their order. Close it to end them all."""

    def __init__(self, pairs: Sequence[Paths], options: Options, jobs: int) -> None:
        self._workers = [Worker() for _ in range(min(jobs, len(pairs)))]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # Each thread only waits for its process.
        self._threads = ThreadPoolExecutor(len(self._workers))
        self._reports: dict[Paths, Future[Report]] = {
            pair: self._threads.submit(self._validate, pair, options) for pair in pairs
        }

    def validate(self, before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
        """The report on one of the pairs; raises what its validation raised, and `Interrupted` on Ctrl-C."""
        future = self._reports[before.name, after.name]
        course = course or Course()
        course.enter(Phase.WAITING, len(self._reports))
        try:
            while not future.done():
                wait([future], PAUSE)
                course.tell(Advanced(sum(each.done() for each in self._reports.values())))
            return future.result()
        except KeyboardInterrupt:
            self._stop()
            # what was proved of this pair comes as `Interrupted`, unless it was not begun
            if future.cancelled():
                raise
            return future.result()

    def close(self) -> None:
        """Ends all processes."""
        self._stop()
        for worker in self._workers:
            worker.close()

    def _stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.stop()

    def _validate(self, pair: Paths, options: Options) -> Report:
        worker = self._idle.get()
        try:
            before, after = map(Source.of_file, pair)
            return worker.validate(before, after, options)
        finally:
            self._idle.put(worker)
