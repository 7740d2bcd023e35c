"""The zoo's programs compile to pairs the reader understands, and what is told of its miscompiles is true here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tools.zoo import ENTRIES

TESTS = Path(__file__).parents[1]
AGREEING = ("matmul_inner", "mlp_tensor", "uneven_slice_max", "roll_three", "take_rows_clip", "cumsum_sharded")


def _python(*arguments: str) -> str:
    """What a fresh interpreter prints: forced devices must be asked for before JAX's backend starts."""
    done = subprocess.run([sys.executable, *arguments], cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_there_are_enough_programs() -> None:
    assert len(ENTRIES) >= 300
    assert {one.mesh.size for one in ENTRIES.values()} >= {2, 3, 6, 8}


def test_miscompiles_are_as_told() -> None:
    told = {name: one.runs_wrongly for name, one in ENTRIES.items() if one.miscompiled_in}
    assert len(told) == 12
    found = json.loads(_python("-m", "tools.execute", *told, *AGREEING))
    assert {name: found[name] > 0 for name in told} == told
    assert [found[name] for name in AGREEING] == [0] * len(AGREEING)


_JUDGE = """
import sys
from shardproof.validator.evaluate.compare import search_counterexample
from shardproof.validator.read.program import read_program
from tools.zoo import ENTRIES, compile_pair
for name in sys.argv[1:]:
    pair = compile_pair(ENTRIES[name])
    found = search_counterexample(read_program(pair.before), read_program(pair.after))
    print(name, "agrees" if found is None else "miscompiled")
"""


def test_the_evaluator_sees_which_miscompiles_the_partitioner_makes() -> None:
    told = {name: one.expected.value for name, one in ENTRIES.items() if one.miscompiled_in}
    assert dict(line.split() for line in _python("-c", _JUDGE, *told).splitlines()) == told


def test_reading_first_leaves_jax_as_it_was() -> None:
    lower = (
        "from shardproof.validator.read import program; from tools.zoo import ENTRIES; ENTRIES['manual_ring'].lower()"
    )
    _python("-c", lower)


_BISECT = """
import sys
from shardproof.validator.evaluate.compare import search_counterexample
from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.read.program import read_program
from tools.zoo import ENTRIES, compile_stages
(_, first), *stages = compile_stages(ENTRIES[sys.argv[1]])
before = read_program(first)
for name, data in stages:
    try:
        found = search_counterexample(before, read_program(data), budget_seconds=5, max_rounds=1)
    except EvaluationError:
        continue
    if found is not None:
        print(name)
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["live_slice_clamped_per_shard", "live_shifted_set"])
def test_the_evaluator_finds_the_later_pass_that_goes_wrong(name: str) -> None:
    found = _python("-c", _BISECT, name)
    # Where the version at hand compiles it right, the passes up to layout assignment all agree.
    assert ("algsimp" in found) == bool(ENTRIES[name].runs_wrongly), found


_READ_ALL = """
from shardproof.validator.read.program import read_program
from tools.check import check_program
from tools.zoo import ENTRIES, compile_pair
for one in ENTRIES.values():
    pair = compile_pair(one)
    for data in (pair.before, pair.after):
        check_program(read_program(data, name=one.name))
    assert read_program(pair.after).num_devices == one.mesh.size, one.name
print(len(ENTRIES))
"""


@pytest.mark.slow
def test_every_pair_is_read_and_well_typed() -> None:
    assert int(_python("-c", _READ_ALL)) == len(ENTRIES)
