"""Random programs: `python -m benchmarks.fuzz_programs RESULTS [--seconds S] [--cases N] [--seed N] [KIND...]`.

Each program is compiled by the installed XLA for a random mesh and random shardings, proved from before to after the
partitioner, evaluated, and run for real; what needs no mesh is also run on one device and by StableHLO's interpreter.
All of them must tell the same. One JSON object a program is added to the file RESULTS, whose programs are not tried
again; the same number is the same program, whenever it is run. What disagrees is told at the end, as are proofs that
failed. Exits with 1 where a proof is false by the evaluator, or a program that ran right is refuted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FLAG = "--xla_force_host_platform_device_count"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}=8".strip()

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

from shardproof.validator.compat import new_context  # noqa: E402
from shardproof.validator.evaluate.arithmetic import Native  # noqa: E402
from shardproof.validator.evaluate.compare import Search  # noqa: E402
from shardproof.validator.evaluate.errors import EvaluationError  # noqa: E402
from shardproof.validator.evaluate.layouts import layouts_of  # noqa: E402
from shardproof.validator.evaluate.machine import Machine  # noqa: E402
from shardproof.validator.options import Options  # noqa: E402
from shardproof.validator.read.aide import in_aide  # noqa: E402
from shardproof.validator.read.errors import ReadError  # noqa: E402
from shardproof.validator.read.ir import Program  # noqa: E402
from shardproof.validator.read.program import read_program  # noqa: E402
from shardproof.validator.report.report import Report  # noqa: E402
from shardproof.validator.validate import validate_programs  # noqa: E402

from .oracle import Label, label  # noqa: E402
from .partitioned import partitioned  # noqa: E402
from .random_programs import KINDS, RandomProgram, draw  # noqa: E402
from .resumed import add_rows, in_turn, read_rows  # noqa: E402
from .watched import Failure, run  # noqa: E402

TRIALS = 3
LIMIT = 300.0
"""Seconds for one program, on a machine that may be busy."""


INTERNAL_ERROR = "internal error"


@dataclass(frozen=True, slots=True)
class Task:
    """One program to try."""

    number: int
    kind: str | None
    seed: int


def program(task: Task) -> RandomProgram:
    """The program of a number."""
    return draw(random.Random(f"{task.seed}/{task.kind}/{task.number}"), task.kind)


def attempt(task: Task) -> dict[str, Any]:
    """The row of one program."""
    return _identity(task) | judge(program(task))


def _identity(task: Task) -> dict[str, Any]:
    return {"number": task.number, "seed": task.seed, "asked": task.kind}


def judge(made: RandomProgram) -> dict[str, Any]:
    """What prover, evaluator, XLA and interpreter say of a program; `finding` tells who disagrees."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _judged(made)


def _judged(made: RandomProgram) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": made.kind, "verdict": "", "finding": "", "text": made.text()}
    try:
        lowered = made.jitted().lower(*made.structs())
    except (TypeError, ValueError, NotImplementedError) as error:
        return row | {"verdict": "NOT_MADE", "message": _line(error)}
    try:
        compiled, before, after = partitioned(lowered)
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        return row | {"verdict": "NOT_COMPILED", "message": _line(error)}
    if after is None:
        return row | {"verdict": "NOT_PARTITIONED"}
    start = time.process_time()
    try:
        spec, implementation = read_program(before, name="before"), read_program(after, name="after")
    except ReadError as error:
        return row | {"verdict": "UNREADABLE", "message": _line(error)}
    report = validate_programs(spec, implementation, Options())
    row |= {"verdict": report.verdict.name, "message": report.message, "seconds": round(time.process_time() - start, 2)}
    if report.frontier is not None and report.verdict.name in ("NOT_PROVED", "UNSUPPORTED"):
        row["gap"] = _gap(report)
    said, _ = label(spec, implementation)
    inputs = [_inputs(made, number) for number in range(TRIALS)]
    if report.counterexample is not None:
        shown = zip(report.counterexample.inputs, made.structs(), strict=True)
        inputs.append([np.asarray(value).astype(struct.dtype) for value, struct in shown])
    row["evaluator"] = said.value
    row["devices"] = _ran(made, compiled, spec, implementation, inputs)
    row["alone"] = _ran_alone(made, spec, inputs) if "shard_map" not in made.function else ""
    return row | {"finding": _finding(row)}


def _gap(report: Report) -> str:
    """Where a proof stopped, without names and numbers."""
    said = f"{report.frontier.op}: {report.frontier.reason}" if report.frontier is not None else report.message
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", said))[:160]


def _finding(row: dict[str, Any]) -> str:
    """Who contradicts whom, empty where nobody does."""
    verdict, evaluator, devices = row["verdict"], row["evaluator"], row["devices"]
    if verdict == "PROVED" and evaluator == Label.DIFFERS.value:
        return "false proof"
    if verdict == "REFUTED" and devices == "same":
        return "false alarm"
    if devices == "differ" and row["alone"] == "XLA on one device":
        return "evaluator against XLA, on devices and on one"
    if verdict == "PROVED" and devices == "differ":
        return "proved, but runs wrong"
    if verdict not in ("PROVED", "REFUTED") and "differ" in (evaluator.removesuffix("s"), devices):
        return "wrong, but not refuted"
    if row["alone"] not in ("", "same"):
        return f"evaluator against {row['alone']}"
    return ""


def _inputs(made: RandomProgram, number: int) -> list[np.ndarray]:
    """Few distinct values, so that ties show; integers also lie somewhat outside every dimension, on both sides."""
    generator = np.random.default_rng([number, len(made.function)])
    arrays = []
    for shape, dtype in made.arguments:
        kind = jax.numpy.dtype(dtype)
        if kind.kind == "b":
            array = generator.random(shape) < 0.6
        elif kind.kind in "iu":
            array = generator.integers(0 if kind.kind == "u" else -3, 10, shape)
        else:
            array = generator.integers(-12, 13, shape) / 4
        arrays.append(np.asarray(array).astype(kind))
    return arrays


def _ran(made: RandomProgram, compiled: Any, spec: Program, implementation: Program, inputs: list[Any]) -> str:
    """Whether the devices hold what the evaluator gets from the program before partitioning, on all inputs."""
    try:
        search = Search(spec, implementation, layouts_of(spec, implementation))
        outcomes = [search.run(values, Native(), 0, time.monotonic() + LIMIT / 10) for values in inputs]
    except EvaluationError:
        return "not evaluated"
    order = list(made.order)
    for values, outcome in zip(inputs, outcomes, strict=True):
        placed = jax.device_put(values, list(compiled.input_shardings[0]))
        try:
            found = jax.block_until_ready(jax.tree.leaves(compiled(*placed)))
        except jax.errors.JaxRuntimeError:
            return "not run"
        for got, want, mask in zip(found, outcome.expected, outcome.defined, strict=True):
            for shard in got.addressable_shards:
                device = order.index(shard.device.id)
                expected, defined = np.asarray(want)[device], np.broadcast_to(np.asarray(mask)[device], want.shape[1:])
                data = np.asarray(shard.data)
                data = data if data.shape == expected.shape else _padded(data, expected.shape)
                if not _near(data, expected, defined):
                    return "differ"
    return "same"


def _padded(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A shard as large as the largest: what is beyond its own elements is not defined."""
    return np.pad(data, [(0, size - extent) for size, extent in zip(shape, data.shape, strict=True)])


def _ran_alone(made: RandomProgram, spec: Program, inputs: list[Any]) -> str:
    """Who gets something else on one device than the evaluator: XLA, StableHLO's interpreter, or nobody."""
    function = made.build()
    text = _whole_text(made)
    # the interpreter of jaxlib 0.10 writes a scatter into its operand (BUGLIST.md)
    text = "" if re.search(r"chlo\.|custom_call|stablehlo\.scatter", text) else text
    for values in inputs:
        try:
            wanted = [result[0] for result in Machine(1, Native()).run(spec, [value[None] for value in values])]
            found = [np.asarray(one) for one in jax.tree.leaves(jax.jit(function)(*values))]
        except (EvaluationError, ValueError):
            return ""  # a constraint that does not divide a result is an error to JAX 0.12 where nothing else shards it
        if not all(_near(got, np.asarray(want)) for got, want in zip(found, wanted, strict=True)):
            return "XLA on one device"
        told = _interpreted(text, values) if text else None
        if told is not None and not all(_near(got, np.asarray(want)) for got, want in zip(told, wanted, strict=True)):
            return "the interpreter"
    return "same"


def _whole_text(made: RandomProgram) -> str:
    """The program without shardings, empty where that cannot be had."""
    text = jax.jit(made.build(), keep_unused=True).lower(*made.structs()).as_text()
    return "" if "sdy." in re.sub(r"sdy\.mesh.*|\w* = sdy\.sharding_constraint.*", "", text) else text


def _interpreted(text: str, values: list[np.ndarray]) -> list[np.ndarray] | None:
    """None where the interpreter does not know an operation or a type."""
    text = re.sub(r"^\s*sdy\.mesh.*$", "", text, flags=re.M)
    # a constraint stands for its operand
    for name, operand in re.findall(r"(%\w+) = sdy\.sharding_constraint (%\w+)", text)[::-1]:
        text = re.sub(rf"^\s*{name} = sdy\.sharding_constraint.*$", "", text, flags=re.M)
        text = re.sub(rf"{name}\b", operand, text)
    try:
        # it ends the process at an operation that it does not know
        return in_aide("", _evaluated, text, values)
    except (ReadError, ir.MLIRError, RuntimeError, ValueError, TypeError):
        return None


def _evaluated(text: str, values: list[np.ndarray]) -> list[np.ndarray]:
    # a context of JAX's own shares threads, which a copy of the process does not have: it would wait for them
    with new_context():
        module = ir.Module.parse(text)
        return [np.asarray(one) for one in stablehlo.eval_module(module, [_elements(value) for value in values])]


def _elements(array: np.ndarray) -> ir.DenseElementsAttr:
    if array.dtype == np.bool_:
        # packed bits of up to eight elements would be taken for one value that all of them have
        kind = "x".join([*map(str, array.shape), "i1"])
        return ir.DenseElementsAttr(ir.Attribute.parse(f"dense<{str(array.tolist()).lower()}> : tensor<{kind}>"))
    contiguous: Any = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        return ir.DenseElementsAttr.get(contiguous.view(np.uint16), type=ir.BF16Type.get(), shape=array.shape)
    if array.dtype.kind == "u":
        unsigned = ir.IntegerType.get_unsigned(8 * array.dtype.itemsize)
        return ir.DenseElementsAttr.get(contiguous, type=unsigned, shape=array.shape)
    return ir.DenseElementsAttr.get(contiguous, shape=array.shape)


def _near(got: np.ndarray, want: np.ndarray, where: np.ndarray | None = None) -> bool:
    """Equal where defined, but for rounding, which grows with the greatest element."""
    where = np.ones(want.shape, np.bool_) if where is None else where
    if not jax.numpy.issubdtype(want.dtype, jax.numpy.inexact):
        return np.array_equal(got[where], want[where])
    # the evaluator may hold a narrow type in a wider one
    near = 2e-3 if min(got.dtype.itemsize, want.dtype.itemsize) >= 4 else 6e-2
    left, right = got.astype(np.float64)[where], want.astype(np.float64)[where]
    scale = float(np.max(np.abs(right), initial=1.0, where=np.isfinite(right)))
    with np.errstate(invalid="ignore"):
        return np.allclose(left, right, near, near * scale, equal_nan=True)


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Counts by kind, then what disagrees, then where proofs failed."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for kind in (row["kind"], "all"):
            groups[kind][row["verdict"]] += 1
            groups[kind]["ran"] += row.get("devices") in ("same", "differ")
            groups[kind]["ran wrong"] += row.get("devices") == "differ"
    for kind, counts in groups.items():
        yield f"{kind:<10} " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    for row in rows:
        if row["finding"] or row["verdict"] == "REFUTED":
            what = row["finding"] or "ran wrong"
            yield f"{row['number']} of seed {row['seed']}: {row['verdict']}, {what}: {row['message']}"
    gaps = Counter((row["verdict"], row["gap"]) for row in rows if row.get("gap"))
    for (verdict, gap), count in gaps.most_common():
        yield f"{count:>5}  {verdict} {gap}"
    for row in rows:
        if row["verdict"] in ("TIMEOUT", "DIED"):
            yield f"{row['verdict']:<10} {row['number']} of seed {row['seed']}: {row['message']}"


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz_programs", description="Compile, prove, evaluate and run random programs."
    )
    options.add_argument("results", type=Path, help="file of one JSON object a program, added to")
    options.add_argument(
        "kinds", nargs="*", metavar="KIND", help=f"of {', '.join(sorted(set(KINDS)))}; a mixture where none is given"
    )
    options.add_argument("--seconds", type=float, default=60.0, metavar="S", help="when to stop (default 60)")
    options.add_argument("--cases", type=int, metavar="N", help="no more than the first N programs of each kind")
    options.add_argument("--seed", type=int, default=0, metavar="N")
    chosen = options.parse_args(arguments)
    if unknown := set(chosen.kinds) - set(KINDS):
        options.error(f"no such kind: {', '.join(sorted(unknown))}")
    rows = read_rows(chosen.results)
    done = {(row["number"], row["asked"], row["seed"]) for row in rows}
    numbers = itertools.count() if chosen.cases is None else range(chosen.cases)
    cases = in_turn(chosen.kinds or [None], numbers, time.monotonic() + chosen.seconds)
    tasks = (Task(n, kind, chosen.seed) for kind, n in cases if (n, kind, chosen.seed) not in done)
    rows += add_rows(chosen.results, run(attempt, tasks, limit=LIMIT), _lost)
    print("\n".join(summary(rows)))
    return 1 if any(row["finding"] in ("false proof", "false alarm", INTERNAL_ERROR) for row in rows) else 0


def _lost(task: Task, failure: Failure) -> dict[str, Any]:
    made = program(task)
    row = _identity(task) | {"kind": made.kind, "text": made.text()}
    # without details the process has died, which XLA's compiler may do
    return row | {
        "verdict": "TIMEOUT" if failure.late else "ERROR" if failure.details else "DIED",
        "finding": INTERNAL_ERROR if failure.details else "",
        "message": f"{failure.reason} {failure.details[-1500:]}",
    }


if __name__ == "__main__":
    sys.exit(main())
