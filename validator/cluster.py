"""Many pairs on a Ray cluster: the one that `RAY_ADDRESS` names, one that runs on this machine, or a new local one.

Ray is an optional extra of this package.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any

from .course import Course
from .fleet import Paths
from .options import Options
from .report.report import Report
from .run import InternalError, Source, reply_to, result_of, validate_sources

MISSING = "--ray needs the package 'ray', which is not installed; it comes with the extra 'shardproof[ray]'"


def is_installed() -> bool:
    """Whether there is Ray."""
    return importlib.util.find_spec("ray") is not None


class Cluster:
    """Validates pairs as tasks of Ray, begun in their order. Close it to end them all.

    `ahead` pairs, by default as many as there are processors, are given to Ray before their turn comes: it holds their
    files.
    """

    def __init__(self, pairs: Sequence[Paths], options: Options, ahead: int | None) -> None:
        ray: Any = importlib.import_module("ray")
        self._ray = ray
        ray.init(logging_level="error", log_to_driver=False, include_dashboard=False)
        self._ahead = ahead or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._task = ray.remote(max_retries=0, num_cpus=1)(_validate)
        self._pairs, self._options = pairs, options
        self._given: dict[Paths, Any] = {}

    def validate(self, before: Source, after: Source, options: Options, course: Course | None = None) -> Report:
        """The report on one of the pairs; raises what its validation raised."""
        pair = before.name, after.name
        turn = self._pairs.index(pair)
        for each in self._pairs[turn : turn + self._ahead]:
            self._give(each)
        try:
            return result_of(self._ray.get(self._given.pop(pair)))
        except self._ray.exceptions.RayError as error:
            raise InternalError(f"Ray: {str(error).splitlines()[0]}", str(error)) from None

    def close(self) -> None:
        """Ends all tasks, and Ray if it was started here."""
        for reference in self._given.values():
            self._ray.cancel(reference, force=True)
        self._ray.shutdown()

    def _give(self, pair: Paths) -> None:
        if pair in self._given:
            return
        try:
            before, after = map(Source.of_file, pair)
        except Exception:
            return  # its own turn tells of it
        self._given[pair] = self._task.remote(before, after, self._options)


def _validate(before: Source, after: Source, options: Options) -> tuple[object, ...]:
    return reply_to(lambda: validate_sources(before, after, options))
