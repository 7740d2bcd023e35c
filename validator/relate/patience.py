"""How long the walk of the partitioned program goes on behind the first value without a relation.

What follows a wrong value can be arbitrarily complex. But right programs have values of their own, too: as long as
terms of the original are met again, there is something to be had.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from .atoms import AtomKind
from .value import AnyVal, Val

LONGEST = 8
"""So many times the patience the walk goes on at most, however many terms of the original are met."""

_CONSTANT = (AtomKind.CONSTANT, AtomKind.INTEGER)


@dataclass(slots=True)
class Patience:
    """Seconds of the processor: what else the machine does must not cost a proof."""

    seconds: float
    """Between two terms of the original, from the first value without a relation on."""
    newest: int
    """The number of the original's last atom."""
    _end: float | None = None
    _last: float = 0.0
    _met: bool = False

    def begin(self) -> None:
        """A value has no relation."""
        if self._end is None:
            now = time.thread_time()
            self._last, self._end = now + self.seconds, now + LONGEST * self.seconds

    def see(self, results: Iterable[AnyVal]) -> None:
        """What an op makes."""
        if self._end is not None and not self._met:
            self._met = any(isinstance(value, Val) and self._is_originals(value) for value in results)

    def _is_originals(self, value: Val) -> bool:
        atoms = [piece.atom for piece in value.pieces]
        known = all(atom.number <= self.newest for atom in atoms)
        return known and value.is_view and not all(atom.kind in _CONSTANT for atom in atoms)

    def is_over(self) -> bool:
        """Whether the walk is to be given up; to ask for the time is a call of the system, as long as many ops."""
        if self._end is None:
            return False
        now = time.thread_time()
        if self._met:
            self._last, self._met = now + self.seconds, False
        return now > min(self._last, self._end)
