"""A replay script runs the counterexample by itself: on XLA where that can run it, else on the reference evaluator."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from shardproof.validator.confirm import confirmed
from shardproof.validator.evaluate.compare import Counterexample, search_counterexample
from shardproof.validator.options import Options
from shardproof.validator.read import read_pair
from shardproof.validator.report.replay import evaluator_script, replay_script
from shardproof.validator.run import Source, validate_here

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
    run = _run(evaluator_script(witness, sources["before"], sources["broken"]), tmp_path)
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout.splitlines() == [
        f"output 0, device {witness.device}, element {list(witness.index)}",
        f"expected {witness.expected}",
        f"got      {witness.actual}",
    ]


def test_it_shows_that_there_is_none(witness: Counterexample, sources: dict[str, Source], tmp_path: Path):
    run = _run(evaluator_script(witness, sources["before"], sources["after"]), tmp_path)
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
    script = evaluator_script(witness, sources["before"], sources["after"])
    namespace: dict[str, object] = {"__name__": "replayed"}
    exec(compile(script, "replay.py", "exec"), namespace)
    again = namespace["COUNTEREXAMPLE"]
    assert isinstance(again, Counterexample)
    for old, new in zip(inputs, again.inputs, strict=True):
        assert (old.dtype, old.shape, old.tobytes()) == (new.dtype, new.shape, new.tobytes())
    assert np.isnan(again.expected)
    assert again.actual == 1j
    assert (namespace["BEFORE"], namespace["AFTER"]) == (sources["before"].data, sources["after"].data)


def _on_xla(before: Source, after: Source) -> str:
    options = Options(confirm=True)
    report = confirmed(validate_here(before, after, Options()), before, after, options, 300.0)
    return replay_script(report, before, after, options)


@pytest.fixture(scope="module")
def on_xla(sources: dict[str, Source]) -> str:
    return _on_xla(sources["before"], sources["broken"])


def test_it_shows_the_difference_on_xla_with_jax_and_numpy_only(on_xla: str, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor name in ('shardproof', 'egglog', 'islpy', 'rich'):\n    sys.modules[name] = None\n"
    )
    (tmp_path / "replay.py").write_text(on_xla, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "replay.py")]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert run.returncode == 1, run.stderr
    place, expected, got = run.stdout.splitlines()
    assert re.fullmatch(r"output 0, device \d, element \[\d+, \d+\]", place)
    assert float(expected.removeprefix("expected")) != float(got.removeprefix("got"))


def test_where_xla_does_not_run_the_evaluator_does(sources: dict[str, Source]):
    report = validate_here(sources["before"], sources["broken"], Options())
    assert report.confirmation is None
    assert "shardproof.validator" in replay_script(report, sources["before"], sources["broken"], Options())


def test_names_cannot_leave_the_docstring(sources: dict[str, Source]):
    before, broken = (Source(f'x"""\nimport os\\{name}', sources[name].data) for name in ("before", "broken"))
    script = _on_xla(before, broken)
    assert "\nimport os\\" not in script
    compile(script, "replay.py", "exec")
