"""Real programs, before and after partitioning: against XLA, and against each other."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.compare import search_counterexample
from shardproof.validator.evaluate.inputs import Profile, draw
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import Program

_REPOSITORY = Path(__file__).resolve().parents[2]
_CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", _REPOSITORY.parent / "shared" / "corpus")) / "xla_cpu"
NAMES = sorted(folder.name for folder in _CORPUS.iterdir()) if _CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not NAMES, reason="no corpus")

WRONG_OUT_OF_BOUNDS = {"dus_one"}
"""Programs that this XLA partitions wrongly for starts beyond the operand."""


def programs(name: str) -> tuple[Program, Program]:
    return read_program(_CORPUS / name / "before.hlo.txt"), read_program(_CORPUS / name / "after.hlo.txt")


def compare_with_xla(names: list[str], folder: Path) -> None:
    """Both programs of each pair give what XLA gives: one device for the first, eight replicas for the second."""
    jobs, mine = [], []
    for name in names:
        before, after = programs(name)
        layouts = layouts_of(before, after)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        inputs = draw(layouts.logical, Profile.GENERIC, rng, (4,))
        whole, local = layouts.to_before(inputs), layouts.to_after(inputs, rng)
        mine.append(Machine(1, Native()).run(before, whole))
        jobs.append(((_CORPUS / name / "before.hlo.txt").read_text(), 1, 1, whole))
        mine.append(Machine(after, Native()).run(after, local))
        jobs.append(((_CORPUS / name / "after.hlo.txt").read_text(), after.num_devices, 1, local))
    path = folder / "jobs.pickle"
    path.write_bytes(pickle.dumps(jobs))
    subprocess.run([sys.executable, Path(__file__).parent / "execute.py", path], check=True)
    for number, (got, wanted) in enumerate(zip(mine, pickle.loads(path.read_bytes()), strict=True)):
        where = f"{names[number // 2]}, {'after' if number % 2 else 'before'}"
        for value, xla in zip(got, wanted, strict=True):
            assert value.dtype == xla.dtype, where
            scale = np.max(np.abs(xla), initial=1e-3, where=np.isfinite(xla)) if value.dtype.kind in "fc" else 0
            np.testing.assert_allclose(value, xla, rtol=1e-4, atol=3e-5 * scale, err_msg=where)


def test_some_programs_run_as_xla_runs_them(tmp_path):
    compare_with_xla(NAMES[::4], tmp_path)


@pytest.mark.slow
def test_all_programs_run_as_xla_runs_them(tmp_path):
    compare_with_xla(NAMES, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_agree_while_indices_are_in_bounds(name):
    found = search_counterexample(*programs(name), seed=7, max_rounds=1, assume_indices_in_bounds=True)
    assert found is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pairs_agree_on_all_inputs_but_for_known_miscompilations(name):
    found = search_counterexample(*programs(name), seed=11, budget_seconds=30, max_rounds=6)
    assert (found is not None) == (name in WRONG_OUT_OF_BOUNDS)
