"""Child processes give results, tell failures, and end when they take too long or die."""

from __future__ import annotations

import math
import os
import time

import pytest

from benchmarks import watched
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


def test_a_child_does_not_live_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "_LIFE", 3)
    found = list(run(abs, [-1, 2, -3, 4, -5, 6, -7], limit=20))
    assert [result for _, result in found] == [1, 2, 3, 4, 5, 6, 7]
    started: list[int] = []
    monkeypatch.setattr(watched._Child, "end", lambda child: started.append(child.given) or child.process.kill())
    list(run(abs, [-1, 2, -3, 4], limit=20))
    assert started == [3, 1]
