"""A counterexample as a Python script of its own.

Where XLA can run the programs, the script runs them on forced CPU devices and needs jax and numpy only. Else it runs
them with the reference evaluator.
"""

from __future__ import annotations

import base64
import inspect
import lzma
import zlib
from contextlib import suppress

import numpy as np

from .. import replica_runner
from ..evaluate.compare import Counterexample
from ..options import Assumption, Options
from ..read.runnable import NotRunnableError
from ..replicas import ReplicaRun, Side, replica_run
from ..run import Source
from .report import Evaluator, Report
from .witness import witness_lines

_MAX_LITERAL = 64
"""Inputs of more elements are packed instead of written out."""

_EVALUATED = '''\
"""A counterexample found by shardproof: inputs on which two programs differ.

Both programs and all inputs are in this file. Run it with a Python that has shardproof installed; it evaluates both
programs with the reference evaluator, prints both values, and exits with 1 if they differ and with 0 if they do not.
"""

import base64
import sys
import zlib

import ml_dtypes  # noqa: F401  (gives numpy the narrow float types)
import numpy as np

from shardproof.validator.evaluate.compare import Counterexample
from shardproof.validator.evaluate.cone import replay_result
from shardproof.validator.read import read_pair
from shardproof.validator.read.inferred import with_inferred
from shardproof.validator.read.relations import NO_RELATIONS, read_relations


def unpack(text):
    return zlib.decompress(base64.b64decode(text))


def array(values, shape, dtype):
    if np.ndim(values) == 0 and not isinstance(values, str):
        return np.broadcast_to(np.array(values, dtype=np.dtype(dtype)), shape)
    if isinstance(values, str):
        return np.frombuffer(unpack(values), dtype=np.dtype(dtype)).reshape(shape)
    return np.array(values, dtype=np.dtype(dtype)).reshape(shape)


INPUTS = (
{inputs})

COUNTEREXAMPLE = Counterexample(
    inputs=INPUTS,
    result={result},
    device={device},
    index={index},
    expected={expected},
    actual={actual},
    seed={seed},
    profile={profile!r},
)

BEFORE_NAME = {before_name!r}
BEFORE = unpack("""
{before}
""")

AFTER_NAME = {after_name!r}
AFTER = unpack("""
{after}
""")

RELATIONS_NAME = {relations_name!r}
RELATIONS = unpack("""
{relations}
""")

INFER_RELATIONS = {infer}

if __name__ == "__main__":
    programs = read_pair(BEFORE, AFTER, names=(BEFORE_NAME, AFTER_NAME))
    relations = read_relations(RELATIONS, RELATIONS_NAME, *programs) if RELATIONS_NAME else NO_RELATIONS
    if INFER_RELATIONS:
        relations, _ = with_inferred(relations, *programs)
    expected, actual = replay_result(COUNTEREXAMPLE, *programs, relations)
    print(f"output {{COUNTEREXAMPLE.result}}, device {{COUNTEREXAMPLE.device}}, element {{list(COUNTEREXAMPLE.index)}}")
    print(f"expected {{expected}}")
    print(f"got      {{actual}}")
    sys.exit(not np.isclose(expected, actual, rtol=1e-6, atol=0, equal_nan=True))
'''


_ON_XLA = '''\
"""A counterexample found by shardproof: inputs on which two programs differ.

before: {before_name}
after:  {after_name}
{witness}

Both programs and all inputs are in this file; it needs jax and numpy. It runs the first program on {before_replicas}
and the second on {after_replicas} forced CPU devices, prints both values of the element, and exits with 1 if they
differ and with 0 if they do not.
"""

import base64
import lzma
import os
import sys

RESULT = {result}
BEFORE_PLACE = {before_place}  # device, then index
AFTER_PLACE = {after_place}


{functions}

def unpack(text):
    return lzma.decompress(base64.b64decode(text))


def array(text, shape, dtype):
    return np.frombuffer(unpack(text), dtype=np.dtype(dtype)).reshape(shape)


BEFORE = unpack("""
{before}
""")

AFTER = unpack("""
{after}
""")

if __name__ == "__main__":
    force_devices({devices})
    import jax
    import ml_dtypes  # noqa: F401  (comes with jax, gives numpy the narrow float types)
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    # one array for each parameter, the first dimension being the device
    before_inputs = [
{before_inputs}    ]
    after_inputs = [
{after_inputs}    ]
    expected = run_replicas(BEFORE, {before_replicas}, before_inputs)[RESULT][BEFORE_PLACE].item()
    actual = run_replicas(AFTER, {after_replicas}, after_inputs)[RESULT][AFTER_PLACE].item()
    print(f"output {{RESULT}}, device {{AFTER_PLACE[0]}}, element {{list(AFTER_PLACE[1:])}}")
    print(f"expected {{expected}}")
    print(f"got      {{actual}}")
    sys.exit(not np.isclose(expected, actual, rtol=1e-6, atol=0, equal_nan=True))
'''


def replay_script(report: Report, before: Source, after: Source, options: Options) -> str:
    """The script for a counterexample: on XLA where XLA has seen the difference, else on the reference evaluator."""
    assert report.counterexample is not None
    if report.confirmation is not None and Evaluator.XLA in report.confirmation.evaluators:
        with suppress(NotRunnableError):
            return xla_script(report, replica_run(report.counterexample, before, after, options))
    infer = Assumption.RELATIONS_FROM_SHAPES in options.assumptions
    return evaluator_script(report.counterexample, before, after, options.relations, infer)


def xla_script(report: Report, run: ReplicaRun) -> str:
    """A script that runs both programs on XLA's CPU back end. It holds all that is read."""
    assert report.counterexample is not None
    functions = (replica_runner.force_devices, replica_runner.run_replicas)
    return _ON_XLA.format(
        before_name=_one_line(report.before),
        after_name=_one_line(report.after),
        witness="\n".join(_one_line(line) for line in witness_lines(report.counterexample, report)),
        devices=run.devices,
        result=run.result,
        before_place=run.before.place,
        after_place=run.after.place,
        functions="\n\n".join(inspect.getsource(function) for function in functions),
        before=_lines(lzma.compress(run.before.module)),
        after=_lines(lzma.compress(run.after.module)),
        before_replicas=run.before.replicas,
        after_replicas=run.after.replicas,
        before_inputs=_inputs(run.before),
        after_inputs=_inputs(run.after),
    )


def _inputs(side: Side) -> str:
    parts = []
    for value in side.inputs:
        # copies for several devices lie far apart, beyond what zlib looks back
        packed = _lines(lzma.compress(value.tobytes()))
        parts.append(f'        array("""\n{packed}\n""", {value.shape}, {value.dtype.name!r}),\n')
    return "".join(parts)


def _one_line(text: str) -> str:
    """Text that may stand in a docstring."""
    return " ".join(text.split()).encode("unicode_escape").decode().replace('"', "'")


def evaluator_script(
    witness: Counterexample, before: Source, after: Source, relations: Source | None = None, infer: bool = False
) -> str:
    """A script that evaluates both programs with the reference evaluator, and so needs this package.

    It holds all that is read, so that it goes on working when the files are gone.
    """
    return _EVALUATED.format(
        inputs="".join(f"    {_array(value)},\n" for value in witness.inputs),
        result=witness.result,
        device=witness.device,
        index=tuple(witness.index),
        expected=_number(witness.expected),
        actual=_number(witness.actual),
        seed=witness.seed,
        profile=witness.profile,
        before_name=before.name,
        before=_packed(before.data),
        after_name=after.name,
        after=_packed(after.data),
        infer=infer,
        relations_name=relations.name if relations else "",
        relations=_packed(relations.data if relations else b""),
    )


def _array(value: np.ndarray) -> str:
    plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
    if plain and value.size > _MAX_LITERAL and not any(value.strides):
        return f"array({value.flat[0].item()!r}, {value.shape}, {value.dtype.name!r})"
    values = repr(value.tolist()) if plain and value.size <= _MAX_LITERAL else f'"""\n{_packed(value.tobytes())}\n"""'
    return f"array({values}, {value.shape}, {value.dtype.name!r})"


def _number(value: object) -> str:
    item = np.asarray(value).item()
    return f"float({str(item)!r})" if isinstance(item, float) and not np.isfinite(item) else repr(item)


def _packed(data: bytes) -> str:
    return _lines(zlib.compress(data, 9))


def _lines(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "\n".join(text[start : start + 100] for start in range(0, len(text), 100))
