"""Families of sequences are matched exactly where enumeration finds them equal, and never elsewhere."""

from collections.abc import Mapping

import numpy as np
import pytest

from shardproof.validator.ops.sequence_maps import Letters, Sequences
from shardproof.validator.read.ir import DType
from shardproof.validator.relate.atoms import Atom, AtomKind
from shardproof.validator.relate.context import Context
from shardproof.validator.relate.sequences import matching
from shardproof.validator.relate.walk import Walk
from shardproof.validator.relation.build import Builder
from shardproof.validator.relation.mesh import NO_DEVICES

Family = dict[int, dict[tuple[int, ...], tuple[int, int]]]
"""By point: at each position a letter, as the number of its atom and its index."""


def _related(walk: Walk, atoms: list[Atom], family: Family, depth: int) -> Sequences:
    store = walk.store
    letters = []
    for number, atom in enumerate(atoms):
        pairs = [
            f"[{b},{','.join(map(str, position))}] -> [{index}]"
            for b, sequence in family.items()
            for position, (which, index) in sequence.items()
            if which == number
        ]
        if pairs:
            letters.append(Letters((atom,), store.rel("{" + "; ".join(pairs) + "}")))
    domain = store.dom("{" + "; ".join(f"[{b}]" for b in family) + "}")
    return Sequences(tuple(letters), 1, depth, domain)


def _matches(walk: Walk, mine: Sequences, other: Sequences, mode: Mapping[str, bool]) -> dict[int, int]:
    match = matching(walk, mine, other, mine.domain, **mode)
    found: dict[int, int] = {}
    for b in range(4):
        rest = None if match is None else walk.store.fix_domain(match, 0, b)
        if rest is not None and not walk.store.empty(rest):
            target = walk.store.constant_range(rest)
            assert target is not None, "two partners"
            found[b] = target[0]
    return found


def _equal(mine: dict, other: dict, mode: Mapping[str, bool]) -> bool:
    if mode.get("in_place"):
        return mine == other
    first, second = [mine[k] for k in sorted(mine)], [other[k] for k in sorted(other)]
    if mode.get("any_count"):
        return set(first) == set(second)
    return sorted(first) == sorted(second) if mode.get("any_order") else first == second


MODES = [{}, {"any_order": True}, {"any_order": True, "any_count": True}, {"in_place": True}]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "+".join(mode) or "in order")
def test_matches_are_equal_sequences(mode: Mapping[str, bool]):
    rng = np.random.default_rng(5)
    context = Context()
    walk = Walk(context, Builder(context.store, NO_DEVICES), False)
    atoms = [context.atoms.fresh(AtomKind.NAMED, DType.F32, 1, ()) for _ in range(2)]
    found = expected = 0
    for _ in range(120):
        other: Family = {}
        for b in range(3):
            positions = [p for p in np.ndindex(2, 3) if rng.random() < 0.7]
            # few letters: within a sequence and between sequences some of them are the same
            other[b] = {p: (int(rng.integers(2)), int(rng.integers(4))) for p in positions}
        mine: Family = {}
        depth = 2 if "in_place" in mode else 1
        for b in range(3):
            values = [other[b][p] for p in sorted(other[b])]
            kind = rng.random()
            if kind < 0.2 and len(values) > 1:
                values = [*values[1:], values[0]]
            elif kind < 0.3:
                values = values[:-1]
            elif kind < 0.4:
                values = [*values, (int(rng.integers(2)), int(rng.integers(4)))]
            if depth == 2:
                places = sorted(other[b])[: len(values)]
                mine[b] = dict(zip(places, values, strict=False))
            else:
                mine[b] = {(2 * k,): value for k, value in enumerate(values)}
        matched = _matches(walk, _related(walk, atoms, mine, depth), _related(walk, atoms, other, 2), mode)
        for b, target in matched.items():
            assert _equal(mine[b], other[target], mode), (mine[b], other[target])
        found += len(matched)
        expected += sum(bool(mine[b]) and _equal(mine[b], other[b], mode) for b in mine)
    # a match is a guess that is then verified, so where letters repeat some are missed
    assert found > expected / 4, (found, expected)
