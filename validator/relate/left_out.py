"""What the original computes only for some inputs, or at some indices: of that nothing is assumed over the reals.

The inputs that are judged are those for which the original computes real numbers. A choice or a loop of the original
may leave a term unused, so it may be no real number for such an input; a choice by position, or a product with 0,
leaves some of its indices out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..relation.store import Dom, Rel, RelationLimitError
from .atoms import Atom, AtomKind, name_of, reads_of
from .context import Context
from .needed import needed
from .partial import CHOICES, is_total, not_total, stand_in
from .value import AnyVal, Val

if TYPE_CHECKING:
    from .value import Piece


class LeftOut:
    """Told by the walk of the original, in its order, and asked once that is at its end (`seal`)."""

    def __init__(self, context: Context) -> None:
        self._context, self._store = context, context.store
        self.last_original = 0
        """The greatest number of a term that the original computes."""
        self._computed_at: dict[int, Dom] = {}
        """By the number of a term that is not real everywhere: the indices at which the original computes it."""
        self._divisions: list[tuple[Atom, Dom]] = []
        """The original's divisions, and where it makes them."""
        self._used: set[int] = set()
        self._unused: dict[int, Atom] = {}
        """Terms that some of the original's results depend on, by number, and those of ops that none depends on."""
        self._uncertain: list[Atom] = []
        """Terms that a choice or a loop of the original may leave unused."""
        self._stands_for: dict[int, list[Atom]] = {}
        """By `stand_in` of a term: the original's terms that it was found to be, and that were forgotten for it."""
        self._dropped: list[Atom] = []
        """Terms that a sum of products at hand no longer holds."""
        self._left_out: list[Atom] = []
        """Terms of which the original leaves some indices out: a choice by position or by a look-up does, or a loop."""
        self._results: list[AnyVal] = []
        self._limited: dict[int, Dom] = {}
        """By the number of a term that may be no real number where it is left out: where it is needed all the same."""
        self._shielded: set[int] = set()
        """Numbers of those that may be no real number where they are."""

    # told of the original -------------------------------------------------------------------------------------------

    def counts(self, atom: Atom) -> None:
        """The original has this term."""
        self.last_original = max(self.last_original, atom.number)

    def computes(self, atom: Atom, rel: Rel, *, is_used: bool) -> None:
        """The original computes this term at these of its indices: the inputs that are judged allow it there.

        They need not where no result depends on it.
        """
        self.counts(atom)
        if not is_used:
            self._unused[atom.number] = atom
            return
        self._used.add(atom.number)
        indices = self._store.range(rel)
        if self._is_partial(atom):
            known = self._computed_at.get(atom.number)
            self._computed_at[atom.number] = indices if known is None else self._store.set_union(known, indices)
        name = name_of(atom)
        if name == "stablehlo.divide" and atom.dtype.is_float:
            self._divisions.append((atom, indices))
        if name in CHOICES:
            self._uncertain += atom.operands[1:]
        if self._context.blocks:
            self._uncertain.append(atom)

    def forgets(self, atom: Atom, parts: Iterable[Piece]) -> None:
        """The original's term is these others, which it goes on with in its place."""
        for part in parts:
            self._stands_for.setdefault(stand_in(part.atom), []).append(atom)

    def drops(self, atoms: Iterable[Atom]) -> None:
        """The original computes these terms, and its next sum of products holds them no longer: they are times 0."""
        self._dropped += atoms

    def stands_for_dropped(self, total: Val) -> None:
        """This is that sum: where the original may leave it out, it may leave them out."""
        for number in {stand_in(piece.atom) for piece in total.pieces} if self._dropped else ():
            self._stands_for.setdefault(number, []).extend(self._dropped)
        self._dropped = []

    def leaves_out(self, values: Sequence[Val]) -> None:
        """The original does not choose these values, which are operands of a selection, at some of their points."""
        self._left_out += [piece.atom for value in values for piece in value.pieces]

    def ends(self, results: Sequence[AnyVal]) -> None:
        """The original is gone through and has these results."""
        self._results = list(results)

    def seal(self, is_shown: Callable[[Atom], bool]) -> None:
        """Tell what the original computes for all inputs from what it may leave out.

        `is_shown` tells of an op that gives no real number for some real operands whether it gives one for its own.
        """
        unused = {number: atom for number, atom in self._unused.items() if number not in self._used}
        self._shielded.update(not_total(unused.values(), self._stands_for, is_shown).keys() & unused.keys())
        self._shielded.update(not_total(self._uncertain, self._stands_for, is_shown))
        self._limit(is_shown)

    def _limit(self, is_shown: Callable[[Atom], bool]) -> None:
        """Tell where the original needs what it leaves out elsewhere."""
        # of what a loop carries, its initial values or those at the end of a trip may be all that nothing depends on
        carried = [value for loop, _ in self._context.loops for value in (*loop.initial, *loop.body)]
        self._left_out += [piece.atom for value in carried for piece in value.pieces]
        left_out = not_total(self._left_out, self._stands_for, is_shown)
        if not left_out:
            return
        store = self._store
        kept = [value for value in self._results if isinstance(value, Val)]
        roots = [(piece.atom, store.range(piece.rel)) for value in kept for piece in value.pieces]
        try:
            found = needed(self._context, roots)
        except RelationLimitError:
            found = {}
        for number, atom in left_out.items():
            everywhere = store.everything(atom.arity)
            indices = found.get(number, store.set_minus(everywhere, everywhere))
            if not store.set_subset(self._context.spaces.of(atom), indices):
                self._limited[number] = indices

    # asked ----------------------------------------------------------------------------------------------------------

    def divisions(self) -> Iterator[tuple[Atom, Dom]]:
        """The divisions that the original makes for all inputs, and at which indices."""
        for atom, indices in self._divisions:
            if not self.is_shielded(atom):
                limited = self._limited.get(atom.number)
                yield atom, indices if limited is None else self._store.set_meet(indices, limited)

    def is_shielded(self, atom: Atom) -> bool:
        """Whether the original may leave this term out wholly, and it may be no real number then."""
        return atom.number in self._shielded

    def is_exposed(self, atom: Atom) -> bool:
        """Whether a term of the partitioned program uses one that the original computes only for some inputs."""
        return atom.number > self.last_original and any(map(self.is_shielded, atom.operands))

    def covers(self, atom: Atom, rel: Rel | None) -> bool:
        """Whether a term is only read where the original computes it, if it may be no real number elsewhere."""
        pending, seen = [(atom, rel)], set[tuple[int, Rel | None]]()
        while pending:
            term, read = pending.pop()
            if (term.number, read) in seen or not self._is_partial(term):
                continue
            seen.add((term.number, read))
            if read is None:
                if not term.arity and term.number in self._limited:
                    return False
                continue
            known = self._limited.get(term.number, self._computed_at.get(term.number))
            if known is not None and self._store.set_subset(self._store.range(read), known):
                continue
            follows = term.number > self.last_original or is_total(term)
            if not follows or term.kind is not AtomKind.LIFT:
                return False
            pending += self.operands_read(term, read)
        return True

    def covers_everything(self, atom: Atom) -> bool:
        """The same of a term that is read at all of its indices."""
        return not self._is_partial(atom) and self.covers(atom, None)

    def operands_read(self, atom: Atom, rel: Rel) -> Iterator[tuple[Atom, Rel | None]]:
        """Where a term that is read through a relation reads its operands."""
        for operand, read in reads_of(atom):
            if read is not None:
                yield operand, self._store.compose(rel, read)
            else:
                yield operand, rel if operand.arity == atom.arity else None

    def _is_partial(self, atom: Atom) -> bool:
        """Whether a term with the indices of its one operand, all of them, may be no real number at some.

        Only the original's: such a term of the partitioned program is taken for real only where it is at all indices.
        """
        pending, seen = [atom], {atom.number}
        while pending:
            term = pending.pop()
            if term.number in self._limited:
                return True
            if term.kind is not AtomKind.LIFT or term.rels or not term.dtype.is_float:
                continue
            if term.number <= self.last_original and not is_total(term):
                return True
            pending += [operand for operand in term.operands if operand.number not in seen]
            seen.update(operand.number for operand in term.operands)
        return False
