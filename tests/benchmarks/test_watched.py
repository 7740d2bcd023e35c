"""Child processes give results, tell failures, and end when they take too long or die."""

from __future__ import annotations

import math
import os
import time

from benchmarks.watched import Failure, run


def test_results_and_exceptions() -> None:
    found = dict(run(math.sqrt, [4.0, -1.0, 9.0], limit=20))
    assert found[4.0] == 2.0
    assert found[9.0] == 3.0
    assert isinstance(found[-1.0], Failure)
    assert found[-1.0].reason.startswith("ValueError")


def test_a_task_that_takes_too_long_is_ended_and_the_next_one_done() -> None:
    start = time.monotonic()
    found = list(run(time.sleep, [0, 60, 0.01], limit=1.0))
    assert time.monotonic() - start < 30
    assert [task for task, _ in found] == [0, 60, 0.01]
    assert [result for _, result in found] == [None, Failure("not done in 1 s"), None]


def test_a_child_that_dies_fails_its_task_alone() -> None:
    found = list(run(os._exit, [3, 4], limit=20, jobs=2))
    assert sorted(task for task, _ in found) == [3, 4]
    for task, result in found:
        assert isinstance(result, Failure)
        assert result.reason.endswith(f"ended with code {task}")
