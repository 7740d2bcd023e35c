"""Finite relations on a few points, as a host for the e-graph: every answer is found by enumeration."""

from __future__ import annotations

import random

Sets = tuple[tuple[int, ...], ...]


class FiniteRelations:
    """Relations on the points 0 .. size-1; `sets(r)[p]` lists r(p)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._sets: list[Sets] = []
        self.questions: list[str] = []

    def intern(self, sets: Sets) -> int:
        if sets not in self._sets:
            self._sets.append(sets)
        return self._sets.index(sets)

    def function(self, *points: int) -> int:
        return self.intern(tuple((point,) for point in points))

    def sets(self, relation: int) -> Sets:
        return self._sets[relation]

    def sample(self, rng: random.Random, function: bool) -> int:
        points = range(self.size)
        kind = rng.randrange(4)
        if function:
            if kind == 0:
                return self.function(*points)
            if kind == 1:
                return self.function(*[rng.randrange(self.size)] * self.size)
            return self.function(*(rng.randrange(self.size) for _ in points))
        if kind == 0:  # all points see the same number of points
            count = rng.randint(1, self.size)
            return self.intern(tuple(tuple(sorted(rng.sample(points, count))) for _ in points))
        if kind == 1:  # no point is seen twice
            owners = [rng.randrange(self.size) for _ in points]
            return self.intern(tuple(tuple(x for x in points if owners[x] == p) for p in points))
        if kind == 2:
            return self.sample(rng, function=True)
        return self.intern(tuple(tuple(x for x in points if rng.random() < 0.5) for _ in points))

    def compose(self, first: int, second: int) -> int | None:
        self.questions.append(f"compose {first} {second}")
        outer, inner = self._sets[first], self._sets[second]
        return self.intern(tuple(tuple(sorted({x for q in outer[p] for x in inner[q]})) for p in range(self.size)))

    def counts_once(self, first: int, second: int) -> bool:
        outer, inner = self._sets[first], self._sets[second]
        reached = [[x for q in outer[p] for x in inner[q]] for p in range(self.size)]
        return all(len(points) == len(set(points)) for points in reached)

    def is_identity(self, relation: int) -> bool:
        return self._sets[relation] == tuple((p,) for p in range(self.size))

    def is_function(self, relation: int) -> bool:
        return all(len(points) == 1 for points in self._sets[relation])

    def is_nonempty(self, relation: int) -> bool:
        return all(self._sets[relation])

    def count(self, relation: int) -> int | None:
        counts = {len(points) for points in self._sets[relation]}
        return counts.pop() if len(counts) == 1 else None
