"""A counterexample as a Python script of its own."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from ..evaluate.compare import Counterexample
from ..run import Source

_MAX_LITERAL = 64
"""Inputs of more elements are packed instead of written out."""

_SCRIPT = '''\
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


def replay_script(
    witness: Counterexample, before: Source, after: Source, relations: Source | None = None, infer: bool = False
) -> str:
    """The script's text. It holds all that is read, so that it goes on working when the files are gone."""
    return _SCRIPT.format(
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
    text = base64.b64encode(zlib.compress(data, 9)).decode()
    return "\n".join(text[start : start + 100] for start in range(0, len(text), 100))
