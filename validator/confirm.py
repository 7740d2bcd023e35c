"""A second opinion on each counterexample: XLA, or else StableHLO's interpreter, runs both programs on its inputs.

The reference evaluator alone refutes. Where another one runs the programs too and sees no difference, one of the two
evaluators is wrong, and nothing is refuted.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import interpreted, replica_runner
from .evaluate.compare import Counterexample
from .evaluate.errors import EvaluationError
from .options import Options
from .read.errors import ReadError
from .read.runnable import NotRunnableError
from .replicas import XLA_LIMITS, Limits, ReplicaRun, Side, replica_run
from .report.note import Note
from .report.report import Confirmation, Evaluator, Obstacle, Report
from .report.verdict import Verdict
from .run import Source

SECONDS = 10.0
"""How long each evaluator may take for both programs."""


def confirmed(
    report: Report,
    before: Source,
    after: Source,
    options: Options,
    seconds: float = SECONDS,
    deadline: float | None = None,
) -> Report:
    """The report with what another evaluator says of its counterexample; NOT_PROVED where it sees no difference.

    XLA is asked first, and StableHLO's interpreter where XLA does not run the programs; each has these seconds, and
    none after the deadline, a time of the monotonic clock. A report without counterexample is returned as it is.
    Nothing that an evaluator does ends in an exception.
    """
    witness = report.counterexample
    if witness is None:
        return report
    reasons: list[str] = []
    for evaluator, (limits, values_of) in _OTHERS.items():
        left = seconds if deadline is None else max(0.0, min(seconds, deadline - time.monotonic()))
        try:
            values = values_of(replica_run(witness, before, after, options, limits), left)
        except (NotRunnableError, EvaluationError, ReadError, MemoryError) as error:
            reasons.append(str(error) or type(error).__name__)
            continue
        if differ(witness, *values):
            return replace(report, confirmation=Confirmation((Evaluator.REFERENCE, evaluator), "; ".join(reasons)))
        return _contradicted(report, witness, evaluator, *values)
    return replace(report, confirmation=Confirmation((Evaluator.REFERENCE,), "; ".join(dict.fromkeys(reasons))))


def differ(witness: Counterexample, expected: Any, actual: Any) -> bool:
    """Whether two elements that XLA computed differ as much as the counterexample says, but for rounding."""
    want, got = np.asarray(expected), np.asarray(actual)
    if want.dtype.kind in "iub":
        return bool(want != got)
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    want, got = want.astype(kind), got.astype(kind)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(np.asarray(witness.expected, kind) - np.asarray(witness.actual, kind))
        distance = np.abs(want - got)
    if not (np.isfinite(gap) and np.isfinite(distance)):
        return not (want == got or (np.isnan(want) and np.isnan(got)))
    return bool(distance > gap / 2)


def _contradicted(report: Report, witness: Counterexample, evaluator: Evaluator, expected: Any, actual: Any) -> Report:
    """NOT_PROVED instead of REFUTED: the evaluators contradict each other."""
    note = (
        f"the reference evaluator sees a difference in output {witness.result}, device {witness.device}, element "
        f"{list(witness.index)} (expected {witness.expected}, got {witness.actual}), but {evaluator.title}, on the "
        f"same inputs, does not (expected {expected}, got {actual}): please report this"
    )
    message = "the two evaluators disagree on a counterexample"
    outputs = tuple(
        replace(output, verdict=Verdict.NOT_PROVED, message=message) if output.verdict is Verdict.REFUTED else output
        for output in report.outputs
    )
    return replace(
        report,
        verdict=Verdict.of(output.verdict for output in outputs),
        outputs=outputs,
        obstacle=Obstacle.NO_RELATION,
        message=message,
        counterexample=None,
        notes=(*report.notes, Note.information(note)),
    )


def _on_xla(run: ReplicaRun, seconds: float) -> tuple[Any, Any]:
    """The two elements as XLA computes them; raises `NotRunnableError` where it computes none."""
    sides = (run.before, run.after)
    results = run_apart([(side.module, side.replicas, list(side.inputs)) for side in sides], seconds)
    return tuple(_element(result, run.result, side) for result, side in zip(results, sides, strict=True))  # type: ignore[return-value]


def _element(results: list[np.ndarray], number: int, side: Side) -> Any:
    array = results[number]
    if len(side.place) != array.ndim:
        raise NotRunnableError(f"XLA's result {number} has another shape")
    return array[side.place]


def run_apart(jobs: list[tuple[bytes, int, list[np.ndarray]]], seconds: float) -> list[list[np.ndarray]]:
    """What XLA computes, in a process of its own: it may abort, hang, or have too few devices in this one."""
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(Path(replica_runner.__file__))],
            input=pickle.dumps(jobs),
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "SHARDPROOF": "off"},
        )
    except subprocess.TimeoutExpired:
        raise NotRunnableError(f"XLA took more than {seconds:g} s") from None
    except OSError as error:
        raise NotRunnableError(f"no process for XLA: {error.strerror}") from None
    results, answers = [], io.BytesIO(process.stdout)
    for _ in jobs:
        try:
            kind, answer = pickle.load(answers)
        except (EOFError, pickle.UnpicklingError):
            raise NotRunnableError(f"XLA's process ended with code {process.returncode}") from None
        if kind != "results":
            raise NotRunnableError(f"XLA does not run it: {answer}")
        results.append(answer)
    return results


_OTHERS: dict[Evaluator, tuple[Limits, Callable[[ReplicaRun, float], tuple[Any, Any]]]] = {
    Evaluator.XLA: (XLA_LIMITS, _on_xla),
    Evaluator.STABLEHLO: (interpreted.LIMITS, interpreted.interpreted),
}
"""What is asked besides the reference evaluator, in this order until one answers."""
