"""How movement, elementwise ops, contractions and accesses relate, against the evaluator, on random chains of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .audits import audit, sees_a_fault
from .chains import ELEMENTS, INDEXING, MOVEMENT, SUMS

PLAIN = ("reshape", "slice", "transpose")
FAMILIES = {
    "movement": MOVEMENT,
    "elements": (*MOVEMENT, *ELEMENTS),
    "sums": (*MOVEMENT, *SUMS),
    "indexing": (*PLAIN, *INDEXING),
    "everything": (*MOVEMENT, *ELEMENTS, *SUMS, *INDEXING),
}
ROUNDS = {"movement": 24, "elements": 16, "sums": 20, "indexing": 16, "everything": 12}


@pytest.mark.parametrize("family", FAMILIES)
def test_random_chains(family: str) -> None:
    names = FAMILIES[family]
    seen = audit(range(ROUNDS[family]), names, names)
    assert seen.refused <= ROUNDS[family] // 4
    assert seen.values >= 10 * ROUNDS[family]
    assert {f"stablehlo.{name}" for name in names} - set(seen.ops) <= {"stablehlo.elementwise"}
    never = {"scatter", "reduce_window"}  # some of their cases are left unrelated
    for name in set(names) - never - {"elementwise"}:
        assert 4 * seen.unknown[f"stablehlo.{name}"] <= seen.ops[f"stablehlo.{name}"], name


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_random_chains(family: str) -> None:
    names: Sequence[str] = FAMILIES[family]
    assert audit(range(1000, 1150), names, names, steps=10).values > 1000


@pytest.mark.parametrize("name", sorted({*MOVEMENT, *SUMS, *INDEXING, "select", "clamp", "convert", "compare"}))
def test_a_wrong_relation_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sees_a_fault(name, monkeypatch)
