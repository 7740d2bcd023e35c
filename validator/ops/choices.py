"""Where the extreme of some numbers is, as reducers like that of `argmax` find it, and what is known of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..read.ir import Region
from .choosers import Laws, extreme_of
from .digest import rows_digest
from .monoid import Monoid
from .sequence_maps import Sequences

if TYPE_CHECKING:
    from .engine import Engine


class Made(NamedTuple):
    """An atom as one result of a function of sequences."""

    function: str
    """Its name: a digest."""
    number: int
    """Which of its results."""
    term: Hashable
    """The same for all results of the same sequences."""
    sequences: Sequences


@dataclass(frozen=True, slots=True)
class Chooser:
    """A reducer of (value, index) pairs with the laws of `extreme_of`, from its start value on."""

    key: Hashable
    extreme: Monoid
    start: int
    """The index in the start value."""
    laws: Laws


def note_chooser(engine: Engine, region: Region, key: Hashable, start: Sequence[int | float], laws: Laws) -> None:
    """Remember, by the name of the function, that a reduction finds where an extreme is."""
    known = engine.noted(("chooser", rows_digest(key, (), ())))
    if not known:
        extreme = extreme_of(region, start)
        known.append(None if extreme is None else Chooser(key, extreme, int(start[1]), laws))


def chooser_of(engine: Engine, made: Made | None) -> Chooser | None:
    """The reducer that made an atom, if it finds where an extreme is."""
    known = engine.noted(("chooser", made.function)) if made is not None else []
    return known[0] if known else None


def range_of(engine: Engine, atom: Any) -> tuple[int, int]:
    """What is known of an unknown integer: the place of an extreme is one of the indices, or that of the start."""
    low, high = engine.range_of(atom)
    made = engine.made_in_order(atom) if atom.dtype.is_integer else None
    chooser = chooser_of(engine, made)
    if chooser is None or made is None or made.number != 1:
        return low, high
    found = engine.noted(("places", atom))
    if not found:
        found.append(_places(engine, made, chooser))
    least, most = found[0] or (low, high)
    return max(low, least), min(high, most)


def _places(engine: Engine, made: Made, chooser: Chooser) -> tuple[int, int] | None:
    ends = [chooser.start]
    for letters in made.sequences.letters:
        bounds = None
        if engine.is_integer(letters.atoms[1]):
            bounds = engine.store.bounds(engine.store.range(letters.rel), letters.rel.arity_out - 1)
        if bounds is None:
            return None
        ends += bounds
    return min(ends), max(ends)
