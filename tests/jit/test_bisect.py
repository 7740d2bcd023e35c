"""The first wrong pass in a dump of every pass: one of XLA's own, one that was tampered with, and none."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from shardproof.validator import cli
from shardproof.validator.bisect import bisect
from shardproof.validator.options import Options
from shardproof.validator.read.passes import find_passes
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import validate_read

OLD = jax.__version__.startswith("0.10.")


def dump(folder: Path, function: Callable[..., Any], into: tuple[P, ...], out: P, *arguments: Any) -> Path:
    """Compiles for two devices and lets XLA dump every pass."""
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    shardings = tuple(NamedSharding(mesh, spec) for spec in into)
    jitted = jax.jit(function, in_shardings=shardings, out_shardings=NamedSharding(mesh, out))
    options = {"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_proto": True}
    jitted.lower(*arguments).compile(compiler_options=options)
    return folder


def tensor_parallel(folder: Path, activation: Callable[[Any], Any]) -> Path:
    arguments = [np.ones(shape, np.float32) for shape in ((8, 16), (16, 12), (12, 4))]
    into = (P(), P(None, "x"), P("x", None))
    return dump(folder, lambda x, w, v: activation(x @ w) @ v, into, P(), *arguments)


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tensor_parallel(tmp_path_factory.mktemp("right"), jnp.tanh)


@pytest.fixture
def tampered(right: Path, tmp_path: Path) -> tuple[Path, str]:
    """The dump with its last module that is compared exchanged for that of another function."""
    other = tensor_parallel(tmp_path / "other", jnp.sin)
    shutil.copytree(right, tmp_path / "tampered")
    (mine,), (theirs,) = find_passes(tmp_path / "tampered"), find_passes(other)
    last = mine.modules[-1]
    last.path.write_bytes(theirs.modules[-1].path.read_bytes())
    return tmp_path / "tampered", last.path.name


def test_a_right_program_is_proved_through_all_passes(right: Path):
    (found,) = find_passes(right)
    assert 1 < found.logical < len(found.modules)
    result = bisect(found, Options())
    assert result.verdict is Verdict.PROVED, result.notes()
    assert len(result.steps) == len(found.modules) - 1
    assert result.guilty is None
    assert "spmd-partitioning" in {name for step in result.steps for name in step.passes}
    assert f"no wrong pass, {len(result.steps)} of {len(result.steps)} steps proved" in result.text()


def test_the_live_miscompile_is_found_at_its_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = dump(
        tmp_path, lambda x, s: lax.dynamic_slice(x, (s,), (6,)), (P("x"), P()), P("x"), np.arange(8), np.int32(7)
    )
    code = cli.main(["--xla-dump", str(folder), "--bisect", "--format", "json"])
    out, err = capsys.readouterr()
    data = json.loads(out)
    if not OLD:
        assert (code, data["bisection"]["verdict"], data["report"]) == (0, "PROVED", None)
        return
    assert code == 1
    assert (data["bisection"]["pass"], data["bisection"]["pipeline"]) == ("algsimp", "simplification")
    assert data["report"]["verdict"] == "REFUTED"
    assert data["report"]["counterexample"] is not None
    assert [step["verdict"] for step in data["bisection"]["steps"][:-1]] == ["PROVED"] * (
        len(data["bisection"]["steps"]) - 1
    )
    assert "error: " in err


def test_a_wrong_pass_is_named_in_every_format(tampered: tuple[Path, str], capsys: pytest.CaptureFixture[str]):
    folder, wrong = tampered
    arguments = ["--xla-dump", str(folder), "--bisect"]
    assert cli.main(arguments) == 1
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    assert line.startswith("REFUTED  jit__lambda")
    assert "first wrong pass '" in line
    assert any("error: " in text for text in err.splitlines())
    assert cli.main([*arguments, "-q", "--format", "sarif"]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    (result,) = run["results"]
    assert result["properties"]["after"] == wrong
    assert cli.main([*arguments, "-q", "--format", "junit"]) == 1
    assert 'type="REFUTED"' in capsys.readouterr().out


def test_what_cannot_be_followed_is_bridged(right: Path):
    """A module of which nothing is known in the middle: those after it are compared with the last right one."""
    (found,) = find_passes(right)
    hidden = found.modules[-2].path.name

    def engine(before, after, options):
        report = validate_read(before, after, options)
        if hidden not in (before.source, after.source):
            return report
        outputs = tuple(replace(o, verdict=Verdict.NOT_PROVED, theory=None) for o in report.outputs)
        return replace(report, verdict=Verdict.NOT_PROVED, theory=None, outputs=outputs)

    result = bisect(found, Options(), engine)
    assert [step.report.verdict for step in result.steps[-2:]] == [Verdict.NOT_PROVED, Verdict.PROVED]
    assert result.steps[-1].report.before == found.modules[-3].path.name
    assert result.verdict is Verdict.NOT_PROVED
    assert len(result.notes()) == 2


def test_a_damaged_module_is_unreadable(right: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(right, tmp_path / "torn")
    (found,) = find_passes(tmp_path / "torn")
    victim = found.modules[-1].path
    victim.write_bytes(victim.read_bytes()[:100])
    assert cli.main(["--xla-dump", str(tmp_path / "torn"), "--bisect"]) == 5
    assert capsys.readouterr().err.startswith(victim.name)


def test_a_folder_without_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--xla-dump", str(tmp_path), "--bisect"]) == 5
    assert "no dumps of passes: dump with --xla_dump_hlo_pass_re=.*" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        cli.main(["--bisect", "a", "b"])
    assert stop.value.code == 2


def test_the_example_is_wrong_at_its_last_pass():
    """A dump of jax 0.10, whatever jax is installed."""
    (found,) = find_passes(Path(__file__).resolve().parents[2] / "examples" / "wrong_pass" / "dump")
    result = bisect(found, Options())
    assert result.guilty is not None
    assert result.guilty.passes == ("algsimp", "algsimp")
    assert len(result.steps) == len(found.modules) - 1
    assert result.guilty.report.location.frames[0].file == "window.py"
