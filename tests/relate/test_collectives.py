"""How collectives relate, against the evaluator: random groups, orders of devices and permutations."""

from __future__ import annotations

import pytest

from .audits import audit, sees_a_fault
from .chains import COLLECTIVES, ELEMENTS, INDEXING, MOVEMENT, SUMS


def test_random_chains() -> None:
    seen = audit(range(40), MOVEMENT, (*COLLECTIVES, *COLLECTIVES, "reshape", "transpose", "iota"))
    assert seen.refused <= 4
    for name in COLLECTIVES:
        assert seen.ops[f"stablehlo.{name}"] >= 5, name
        assert 4 * seen.unknown[f"stablehlo.{name}"] <= seen.ops[f"stablehlo.{name}"], name


def test_between_other_ops() -> None:
    seen = audit(range(100, 116), MOVEMENT, (*MOVEMENT, *ELEMENTS, *SUMS, *COLLECTIVES, *COLLECTIVES))
    assert seen.refused <= 4
    assert sum(seen.ops[f"stablehlo.{name}"] for name in COLLECTIVES) >= 10


@pytest.mark.slow
def test_many_random_chains() -> None:
    everything = (*MOVEMENT, *ELEMENTS, *SUMS, *INDEXING)
    assert audit(range(1000, 1200), everything, (*everything, *COLLECTIVES, *COLLECTIVES), steps=10).values > 1000


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_wrong_relation_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sees_a_fault(name, monkeypatch)
