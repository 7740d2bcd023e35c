"""Comparing what the partitioned program returns with what it must return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ops.guarded import allowed
from ..ops.record import Theory
from ..ops.values import as_sum, gathered, read_through
from ..relation.store import Dom, Rel
from .atoms import Atom
from .fold import resolve
from .value import Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One result: whether it is proved, by which theory, and if not, where it differs and in which atoms."""

    proved: bool
    theory: Theory
    reason: str = ""
    where: Dom | None = None
    atoms: tuple[Atom, ...] = ()
    """Atoms of the partitioned program's value at points that are not proved."""


def compare_result(
    original: Walk, device: Walk, expected: Val, actual: Val, demanded: Rel, *, early: bool = False
) -> Comparison:
    """Whether the device's value holds, at every point of the demanded relation, the original's element there.

    `early` only takes the values as they are, which changes nothing for the rest of a walk.
    """
    plain = _compare(device, expected, actual, demanded)
    if plain.proved or early:
        return plain
    # either side may have been given a name by a later op of the original
    expected, actual = resolve(original, expected), resolve(device, actual, partly=True)
    folded = _compare(device, expected, actual, demanded)
    if folded.proved or actual.is_plain or device.context.reals is None:
        return folded if folded.proved or folded.atoms else plain
    return _compare(device, expected, device.named(actual), demanded)


def compare_values(device: Walk, expected: Val, actual: Val, demanded: Rel) -> Comparison:
    """Like `compare_result`, inside a loop that both programs have."""
    return compare_result(device, device, expected, actual, demanded)


def _compare(device: Walk, expected: Val, actual: Val, demanded: Rel) -> Comparison:
    store = device.store
    points = store.domain(demanded)
    wanted = read_through(device, expected, demanded, actual.type)
    theory = strongest([expected.theory, actual.theory])
    undefined = store.set_minus(points, actual.domain)
    if not store.set_empty(undefined):
        atoms = tuple(piece.atom for piece in actual.pieces)
        return Comparison(False, theory, "depends on padding or on undefined elements", undefined, atoms)
    for value in (wanted, actual):
        if value.is_view and not _total(device, value, points):
            return Comparison(False, theory, "is not known at every element", points)
    if wanted.monoid is not None and actual.monoid not in (None, wanted.monoid):
        atoms = tuple(piece.atom for piece in actual.pieces)
        return Comparison(False, theory, "combines by another operation than the original does", points, atoms)
    if actual.monoid is not None:
        wanted = as_sum(device, wanted, actual.monoid)
        if actual.levels > 0 and not actual.monoid.reorders_exactly(actual.type.dtype):
            theory = strongest([theory, Theory.REASSOCIATED])
    wanted, actual = (allowed(device, value) for value in (wanted, actual))
    want = {(piece.atom.number, piece.coefficient): piece for piece in gathered(store, wanted.pieces)}
    have = {(piece.atom.number, piece.coefficient): piece for piece in gathered(store, actual.pieces)}
    differing: Dom | None = None
    reached: list[Atom] = []
    for key in {*want, *have}:
        left = want[key].rel if key in want else None
        right = store.restrict(have[key].rel, points) if key in have else None
        if left is not None and right is not None:
            if store.equal(left, right):
                continue
            bad = store.set_union(store.domain(store.minus(left, right)), store.domain(store.minus(right, left)))
        else:
            only = left if left is not None else right
            assert only is not None
            if store.empty(only):
                continue
            bad = store.domain(only)
        if right is not None:
            reached.append(have[key].atom)
        differing = bad if differing is None else store.set_union(differing, bad)
    if differing is None:
        return Comparison(True, theory)
    return Comparison(False, theory, "holds other elements than the original's", differing, tuple(reached))


def _total(walk: Walk, value: Val, points: Dom) -> bool:
    """A view holds something at every point, or nothing may be concluded from what it holds."""
    store = walk.store
    rest = points
    for piece in value.pieces:
        rest = store.set_minus(rest, store.domain(piece.rel))
    return store.set_empty(rest)
