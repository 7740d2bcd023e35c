"""The hard time limit: whatever the child does, the parent has an answer in time."""

import time
from pathlib import Path

import pytest

from shardproof.validator.options import Options
from shardproof.validator.read.errors import ReadError, ReadErrorKind
from shardproof.validator.report.report import Obstacle
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import InternalError, Source, validate_sources

BEFORE, AFTER = Source("before", b"x"), Source("after", b"y")


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Sets what the child does in place of validating, as the body of a function of (before, after, options)."""

    def behave(body: str) -> None:
        lines = ["import os, sys, time", "from shardproof.validator import run"]
        lines += ["def validate_here(before, after, options, course):"]
        lines += [f"    {line}" for line in body.splitlines()]
        lines += ["run.validate_here = validate_here"]
        (tmp_path / "sitecustomize.py").write_text("\n".join(lines))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return behave


def test_a_child_that_hangs_is_ended(child):
    # Swallowing every exception is what a library in C++ looks like from outside.
    child("while True:\n    try: time.sleep(1)\n    except BaseException: pass")
    start = time.monotonic()
    report = validate_sources(BEFORE, AFTER, Options(timeout=0.5))
    assert time.monotonic() - start < 0.5 + 2
    assert (report.verdict, report.obstacle) == (Verdict.NOT_PROVED, Obstacle.TIMEOUT)
    assert report.message == "no verdict within 0.5 s, stopped while starting"
    assert report.stats.seconds >= 0.5


def test_a_report_comes_back_whatever_is_printed(child):
    child(
        "from shardproof.validator.report.note import Note\n"
        "from shardproof.validator.report.report import Report\n"
        "print('chatter'); os.write(1, b'more chatter')\n"
        "notes = tuple(map(Note.information, (repr(after.data), str(options.seed))))\n"
        "return Report.over(before.name, after.name, [], notes=notes)"
    )
    report = validate_sources(BEFORE, AFTER, Options(timeout=30, seed=4))
    assert (report.verdict, report.before, tuple(map(str, report.notes))) == (Verdict.PROVED, "before", ("b'y'", "4"))


def test_a_refusal_comes_back(child):
    child(
        "from shardproof.validator.read.errors import ReadError, ReadErrorKind\n"
        "raise ReadError(ReadErrorKind.ELIDED, before.name, 'has elided constants')"
    )
    with pytest.raises(ReadError, match="before: has elided constants") as error:
        validate_sources(BEFORE, AFTER, Options(timeout=30))
    assert error.value.kind is ReadErrorKind.ELIDED


def test_an_exception_comes_back_with_its_traceback(child):
    child("raise LookupError('lost')")
    with pytest.raises(InternalError, match="LookupError: lost") as error:
        validate_sources(BEFORE, AFTER, Options(timeout=30))
    assert "in validate_here" in error.value.details


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os.write(2, b'last words'); os.abort()", "the validating process died of SIGABRT"),
        ("os.write(2, b'last words'); os._exit(9)", "the validating process ended with code 9"),
    ],
)
def test_a_child_that_dies_is_an_internal_error(child, body: str, message: str):
    child(body)
    with pytest.raises(InternalError, match=message) as error:
        validate_sources(BEFORE, AFTER, Options(timeout=30))
    assert "last words" in error.value.details
