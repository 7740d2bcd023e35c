"""A replay script evaluates the counterexample by itself."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from shardproof.validator.evaluate.compare import Counterexample, search_counterexample
from shardproof.validator.read import read_pair
from shardproof.validator.report.replay import replay_script
from shardproof.validator.run import Source

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tp_mlp"


def _run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "replay.py"
    path.write_text(script, encoding="utf-8")
    return subprocess.run([sys.executable, "-P", str(path)], capture_output=True, text=True, cwd=folder)


@pytest.fixture(scope="module")
def sources() -> dict[str, Source]:
    return {name: Source.of_file(str(EXAMPLE / f"{name}.hlo.txt")) for name in ("before", "after", "broken")}


@pytest.fixture(scope="module")
def witness(sources: dict[str, Source]) -> Counterexample:
    found = search_counterexample(*read_pair(sources["before"].data, sources["broken"].data))
    assert found is not None
    return found


def test_it_shows_the_difference(witness: Counterexample, sources: dict[str, Source], tmp_path: Path):
    run = _run(replay_script(witness, sources["before"], sources["broken"]), tmp_path)
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout.splitlines() == [
        f"output 0, device {witness.device}, element {list(witness.index)}",
        f"expected {witness.expected}",
        f"got      {witness.actual}",
    ]


def test_it_shows_that_there_is_none(witness: Counterexample, sources: dict[str, Source], tmp_path: Path):
    run = _run(replay_script(witness, sources["before"], sources["after"]), tmp_path)
    assert run.returncode == 0, run.stderr


def test_every_kind_of_input_survives(sources: dict[str, Source], tmp_path: Path):
    inputs = (
        np.array([[1.5, -0.0], [3.0, 1e-40]], np.float32),
        np.array([np.nan, np.inf], np.float64),
        np.arange(100, dtype=np.uint8).reshape(4, 25),
        np.array(True),
        np.array([1 + 2j], np.complex64),
        np.array([0.5, 1.0], ml_dtypes.bfloat16),
        np.zeros((0, 3), np.int32),
    )
    witness = Counterexample(inputs, 0, 0, (), np.float64("nan"), np.complex128(1j), 3, "generic")
    script = replay_script(witness, sources["before"], sources["after"])
    namespace: dict[str, object] = {"__name__": "replayed"}
    exec(compile(script, "replay.py", "exec"), namespace)
    again = namespace["COUNTEREXAMPLE"]
    assert isinstance(again, Counterexample)
    for old, new in zip(inputs, again.inputs, strict=True):
        assert (old.dtype, old.shape, old.tobytes()) == (new.dtype, new.shape, new.tobytes())
    assert np.isnan(again.expected)
    assert again.actual == 1j
    assert (namespace["BEFORE"], namespace["AFTER"]) == (sources["before"].data, sources["after"].data)
