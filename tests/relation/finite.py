"""Small relations and sets twice: in isl's notation, and as the tuples that plain enumeration finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from shardproof.validator.relation.store import Dom, Rel
from tests.tools.points import enumerate_set

Point = tuple[int, ...]
LOW, HIGH = -1, 3
"""Every coordinate lies in [LOW, HIGH)."""


@dataclass(frozen=True)
class Constraint:
    """coefficients · x + constant ≥ 0, = 0, or ≡ remainder modulo modulus."""

    coefficients: tuple[int, ...]
    constant: int
    kind: str
    modulus: int = 2
    remainder: int = 0

    def text(self, variables: Sequence[str]) -> str:
        terms = "".join(
            f" {'-' if c < 0 else '+'} {abs(c)}{name}"
            for c, name in zip(self.coefficients, variables, strict=True)
            if c
        )
        value = f"0{terms} {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        if self.kind == "mod":
            return f"({value}) mod {self.modulus} = {self.remainder}"
        return f"{value} {self.kind} 0"

    def holds(self, point: Point) -> bool:
        value = sum(c * x for c, x in zip(self.coefficients, point, strict=True)) + self.constant
        if self.kind == "mod":
            return value % self.modulus == self.remainder
        return value == 0 if self.kind == "=" else value >= 0


@dataclass(frozen=True)
class Finite:
    """A relation: pairs of tuples, and the same in isl's notation."""

    text: str
    arity_in: int
    arity_out: int
    pairs: frozenset[tuple[Point, Point]]


@dataclass(frozen=True)
class FiniteSet:
    """A set of tuples, and the same in isl's notation."""

    text: str
    arity: int
    points: frozenset[Point]


def _constraints(arity: int) -> st.SearchStrategy[Constraint]:
    return st.builds(
        Constraint,
        st.tuples(*[st.integers(-2, 2)] * arity),
        st.integers(-2, 3),
        st.sampled_from([">=", ">=", "=", "mod"]),
        st.just(2),
        st.integers(0, 1),
    )


def _described(pieces: Sequence[Sequence[Constraint]], variables: Sequence[str]) -> tuple[list[str], frozenset[Point]]:
    box = [f"{LOW} <= {name} < {HIGH}" for name in variables]
    bodies = [" and ".join([*box, *(c.text(variables) for c in piece)]) or "1 = 1" for piece in pieces]
    points = frozenset(
        point
        for point in itertools.product(range(LOW, HIGH), repeat=len(variables))
        if any(all(c.holds(point) for c in piece) for piece in pieces)
    )
    return bodies, points


@st.composite
def relations(draw: st.DrawFn, arity_in: int, arity_out: int) -> Finite:
    """Unions of up to three pieces of up to two constraints."""
    count = arity_in + arity_out
    pieces = draw(st.lists(st.lists(_constraints(count), max_size=2), min_size=1, max_size=3))
    inner, outer = [f"p{k}" for k in range(arity_in)], [f"x{k}" for k in range(arity_out)]
    bodies, points = _described(pieces, [*inner, *outer])
    head = f"[{','.join(inner)}] -> [{','.join(outer)}]"
    pairs = frozenset((point[:arity_in], point[arity_in:]) for point in points)
    return Finite("{" + "; ".join(f"{head} : {body}" for body in bodies) + "}", arity_in, arity_out, pairs)


@st.composite
def sets(draw: st.DrawFn, arity: int) -> FiniteSet:
    pieces = draw(st.lists(st.lists(_constraints(arity), max_size=2), min_size=1, max_size=3))
    names = [f"p{k}" for k in range(arity)]
    bodies, points = _described(pieces, names)
    text = "{" + "; ".join(f"[{','.join(names)}] : {body}" for body in bodies) + "}"
    return FiniteSet(text, arity, points)


def pairs_of(rel: Rel) -> frozenset[tuple[Point, Point]]:
    """All pairs of a relation, and a check that it says how many coordinates they have."""
    rows = [tuple(map(int, row)) for row in enumerate_set(rel.map.wrap().flatten())]
    assert all(len(row) == rel.arity_in + rel.arity_out for row in rows)
    return frozenset((row[: rel.arity_in], row[rel.arity_in :]) for row in rows)


def points_of(dom: Dom) -> frozenset[Point]:
    return frozenset(tuple(map(int, row)) for row in enumerate_set(dom.set))


def images(pairs: Iterable[tuple[Point, Point]]) -> dict[Point, set[Point]]:
    """For each point what it is related to."""
    result: dict[Point, set[Point]] = {}
    for point, other in pairs:
        result.setdefault(point, set()).add(other)
    return result
