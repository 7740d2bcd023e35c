"""How long a walk goes on: longer where terms of the original are met again, and never without end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shardproof.validator.read.ir import DType, TensorType
from shardproof.validator.relate import patience
from shardproof.validator.relate.atoms import AtomKind, AtomTable
from shardproof.validator.relate.patience import LONGEST, Patience
from shardproof.validator.relate.value import Piece, Val
from shardproof.validator.relation.store import Store

STORE = Store()
TYPE = TensorType((2,), DType.F32)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(patience.time, "thread_time", lambda: now.seconds)
    return now


def value(number: int, kind: AtomKind = AtomKind.NAMED) -> Val:
    """A view of the atom of this number."""
    table = AtomTable()
    for _ in range(number - 1):
        table.fresh(AtomKind.NAMED, DType.F32, 1, ())
    atom = table.fresh(kind, DType.F32, 1, ())
    assert atom.number == number == table.count
    rel = STORE.rel("{[i] -> [i] : 0 <= i < 2}")
    return Val(TYPE, (Piece(atom, rel),), STORE.domain(rel))


def test_it_begins_with_the_first_value_without_a_relation(clock: Any) -> None:
    waiting = Patience(5.0, newest=3)
    clock.seconds = 100.0
    assert not waiting.is_over()
    waiting.begin()
    clock.seconds = 104.0
    waiting.begin()
    assert not waiting.is_over()
    clock.seconds = 106.0
    assert waiting.is_over()


def test_terms_of_the_original_make_it_longer(clock: Any) -> None:
    waiting = Patience(5.0, newest=3)
    waiting.begin()
    clock.seconds = 4.0
    waiting.see([value(3)])
    assert not waiting.is_over()
    clock.seconds = 8.0
    assert not waiting.is_over()
    clock.seconds = 9.5
    assert waiting.is_over()


@pytest.mark.parametrize("other", [value(4), value(2, AtomKind.CONSTANT), value(2, AtomKind.INTEGER)])
def test_new_terms_and_constants_do_not(clock: Any, other: Val) -> None:
    waiting = Patience(5.0, newest=3)
    waiting.begin()
    clock.seconds = 4.0
    waiting.see([other])
    assert not waiting.is_over()
    clock.seconds = 5.5
    assert waiting.is_over()


def test_it_is_never_without_end(clock: Any) -> None:
    waiting = Patience(5.0, newest=3)
    waiting.begin()
    while not waiting.is_over():
        waiting.see([value(3)])
        clock.seconds += 1.0
    assert LONGEST * 5.0 < clock.seconds <= LONGEST * 5.0 + 1.0
