"""Programs as people write them are proved, with a certificate that is accepted, and their broken twins refuted."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import shardproof
from shardproof import Theory, Verdict
from shardproof.validator.check.check import check
from shardproof.validator.options import Assumption, Options
from shardproof.validator.validate import validate_programs

from . import (
    hand_written_choices,
    hand_written_graphs,
    hand_written_lookups,
    hand_written_loops,
    hand_written_means,
    hand_written_serving,
    hand_written_statistics,
    hand_written_training,
    hand_written_transforms,
)
from .conftest import Capture

PROGRAMS = {
    f"{area}: {name}": program
    for area, programs in (
        ("choices", hand_written_choices.PROGRAMS),
        ("graphs", hand_written_graphs.PROGRAMS),
        ("look-ups", hand_written_lookups.PROGRAMS),
        ("loops", hand_written_loops.PROGRAMS),
        ("means", hand_written_means.PROGRAMS),
        ("serving", hand_written_serving.PROGRAMS),
        ("statistics", hand_written_statistics.PROGRAMS),
        ("training", hand_written_training.PROGRAMS),
        ("transforms", hand_written_transforms.PROGRAMS),
    )
    for name, program in programs.items()
}


@pytest.fixture(autouse=True)
def _freed() -> Iterator[None]:
    """E-graphs are given back by the collector alone."""
    yield
    gc.collect()


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_ones_are_proved_with_a_certificate(name: str, captured: Capture) -> None:
    program = PROGRAMS[name]
    functions = program.functions(broken=False)
    before, after = captured(lambda: shardproof.compare(*functions, *program.arguments))
    assumed = frozenset(map(Assumption, program.assume))
    report = validate_programs(before, after, Options(Theory(program.theory), assumed, certificate=True))
    assert report.verdict is Verdict.PROVED, str(report)
    assert report.certificate is not None, [note.text for note in report.notes]
    accepted = check(report.certificate.encode(), "c", before, after, in_bounds=bool(assumed))
    assert accepted.theory is report.theory


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_broken_twins_are_refuted(name: str) -> None:
    program = PROGRAMS[name]
    functions = program.functions(broken=True)
    report = shardproof.compare(*functions, *program.arguments, theory=program.theory, assume=program.assume)
    assert report.verdict is Verdict.REFUTED, str(report)
    assert report.counterexample is not None
