"""The process that proves for a session: it stays for many proofs and never longer than its time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from shardproof.validator.options import Options
from shardproof.validator.read.program import read_program
from shardproof.validator.report.report import Obstacle
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import InternalError
from shardproof.validator.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    with closing(Worker()) as found:
        yield found


def _program(function: Any) -> Any:
    return read_program(jax.jit(function).lower(jax.ShapeDtypeStruct((4,), np.float32)), name="f")


def _process_of(worker: Worker) -> int:
    process = worker._child._process
    assert process is not None
    return process.pid


def test_one_process_for_many_proofs_and_another_after_a_time_out(worker: Worker):
    double, triple = _program(lambda x: x * 2), _program(lambda x: x * 3)
    assert worker.prove(double, double, Options(timeout=60)).verdict is Verdict.PROVED
    first = _process_of(worker)
    assert worker.prove(double, triple, Options(timeout=60)).verdict is Verdict.REFUTED
    assert _process_of(worker) == first
    os.kill(first, signal.SIGSTOP)  # it answers nothing any more, whatever it is asked
    report = worker.prove(double, double, Options(timeout=0.1))
    assert (report.verdict, report.obstacle) == (Verdict.NOT_PROVED, Obstacle.TIMEOUT)
    assert worker.prove(double, double, Options(timeout=60)).verdict is Verdict.PROVED
    assert _process_of(worker) != first


def test_a_process_that_dies_is_told_and_replaced(worker: Worker):
    double = _program(lambda x: x * 2)
    worker.prove(double, double, Options(timeout=60))
    os.kill(_process_of(worker), signal.SIGKILL)
    with pytest.raises(InternalError, match="the validating process died"):
        worker.prove(double, double, Options(timeout=60))
    assert worker.prove(double, double, Options(timeout=60)).verdict is Verdict.PROVED


def test_a_fault_is_told_with_its_traceback(worker: Worker):
    double = _program(lambda x: x * 2)
    bodiless = replace(double, body=None)  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="AttributeError") as caught:
        worker.prove(double, bodiless, Options(timeout=60))
    assert "Traceback" in caught.value.details
