"""What goes where, and the exit code."""

import json
from pathlib import Path

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Assumption, Options
from shardproof.validator.read.errors import ReadError, ReadErrorKind
from shardproof.validator.report.report import OutputReport, Report
from shardproof.validator.report.verdict import Verdict


def answer(verdict: Verdict):
    def engine(before, after, options):
        theory = Theory.EXACT if verdict is Verdict.PROVED else None
        return Report.over(before.name, after.name, [OutputReport(0, "loss", verdict, theory)])

    return engine


@pytest.mark.parametrize(
    ("verdict", "code"),
    [(Verdict.PROVED, 0), (Verdict.REFUTED, 1), (Verdict.NOT_PROVED, 3), (Verdict.UNSUPPORTED, 4)],
)
def test_verdict_on_stdout_diagnostics_on_stderr(engine, command, pair, verdict: Verdict, code: int):
    engine(answer(verdict))
    got, out, err = command(*pair)
    assert got == code
    assert len(out) == 1
    assert out[0].startswith(verdict.name)
    assert any(": error: " in line for line in err) == (verdict is not Verdict.PROVED)


def test_quiet_prints_the_verdict_only(engine, command, pair):
    engine(answer(Verdict.REFUTED))
    code, out, err = command("-q", *pair)
    assert (code, len(out), err) == (1, 1, [])


def test_verbose_tells_every_output(engine, command, pair):
    engine(answer(Verdict.PROVED))
    assert command("-v", *pair)[2] == [f"{pair[1]}: note: output 0 'loss' PROVED (exact)"]


def test_json_on_stdout(engine, command, pair):
    engine(answer(Verdict.NOT_PROVED))
    code, out, err = command("--format", "json", *pair)
    assert code == 3
    assert json.loads(out[0])["verdict"] == "NOT_PROVED"
    assert len(out) == 1
    assert err


def test_output_file(engine, command, pair, tmp_path: Path):
    engine(answer(Verdict.PROVED))
    file = tmp_path / "verdict.txt"
    code, out, _ = command("-o", file, *pair)
    assert (code, out) == (0, [])
    assert file.read_text(encoding="utf-8").startswith("PROVED (exact)")


def test_stats_go_to_stderr(engine, command, pair):
    engine(answer(Verdict.PROVED))
    _, out, err = command("--stats", *pair)
    assert len(out) == 1
    assert any(line.startswith("memo hits") for line in err)


def test_options_reach_the_engine(engine, command, pair):
    seen: list[Options] = []

    def look(before, after, options):
        seen.append(options)
        return answer(Verdict.PROVED)(before, after, options)

    engine(look)
    command(*pair)
    command("--theory", "real", "--assume-indices-in-bounds", "--timeout", "2.5", "--seed", "9", *pair)
    command("--no-confirm", *pair)
    assert seen == [
        Options(confirm=True),
        Options(Theory.REAL, frozenset({Assumption.INDICES_IN_BOUNDS}), timeout=2.5, seed=9, confirm=True),
        Options(),
    ]


def test_an_unreadable_input_is_one_line(engine, command, pair):
    def refuse(before, after, options):
        raise ReadError(ReadErrorKind.SYNTAX, f"{before.name}:3:1", "expected an op\n  here")

    engine(refuse)
    assert command(*pair) == (5, [], [f"{pair[0]}:3:1: error: expected an op here"])


def test_no_counterexample_no_script(engine, command, pair, tmp_path: Path):
    engine(answer(Verdict.NOT_PROVED))
    script = tmp_path / "replay.py"
    _, _, err = command("--replay", script, *pair)
    assert f"{pair[1]}: note: no counterexample, so '{script}' is not written" in err
    assert not script.exists()
