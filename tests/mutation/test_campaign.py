"""Five hundred mutants of programs that XLA compiles here and now: none is proved wrongly, no benign one is refuted."""

from __future__ import annotations

from collections import Counter

import pytest
from tools import zoo

from benchmarks.mutants import BENIGN, Outcome, Task, all_mutants, work
from benchmarks.oracle import Label
from tests.tools.mutate import KINDS

COUNT = 500
EVERY = 7
"""One program of the zoo in so many is mutated, at one site for each operator."""
SETTINGS = ((*KINDS, BENIGN), 1)


def _tasks() -> list[Task]:
    names = [f"zoo/{name}" for name, one in sorted(zoo.ENTRIES.items()) if one.expected is zoo.Expectation.AGREES]
    tasks = [
        Task(name, *SETTINGS, index, key, oracle=True, prover=True, known="")
        for name in names[::EVERY]
        for index, (key, _) in enumerate(all_mutants(name, *SETTINGS))
    ]
    return [tasks[number * len(tasks) // COUNT] for number in range(COUNT)]


@pytest.mark.slow
def test_five_hundred_mutants():
    outcomes: list[Outcome] = [work(task) for task in _tasks()]
    assert [one.key for one in outcomes if one.wrongly_proved] == []
    benign = [one for one in outcomes if one.kind == BENIGN]
    assert [one.key for one in benign if one.oracle == Label.DIFFERS.value] == []
    wrong = Counter(one.kind for one in outcomes if one.oracle == Label.DIFFERS.value)
    assert len(wrong) >= 20, wrong
    assert sum(wrong.values()) >= 300, wrong
    missed = [one.key for one in benign if one.missed]
    assert len(missed) <= 0.05 * len(benign), missed
