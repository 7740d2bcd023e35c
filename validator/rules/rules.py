"""All rules of the e-graph, in the order of their theories."""

from __future__ import annotations

from collections.abc import Mapping

from ..ops.record import Theory
from .exact import EXACT
from .real import REAL
from .reassociated import REASSOCIATED
from .rule import Rule

THEORIES: tuple[Theory, ...] = (Theory.EXACT, Theory.REASSOCIATED, Theory.REAL)

RULES: tuple[Rule, ...] = EXACT + REASSOCIATED + REAL

BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
assert len(BY_NAME) == len(RULES), "two rules share a name"


def up_to(theory: Theory) -> tuple[Theory, ...]:
    """The theories whose rules a proof in `theory` may use."""
    return THEORIES[: THEORIES.index(theory) + 1]
