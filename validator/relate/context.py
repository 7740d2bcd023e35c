"""What both walks share: relations, atoms, and the indices that find a term of the original program again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops.integers import whole_number
from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..read.ir import DType
from ..relation.store import Dom, Rel, Store
from .atoms import Atom, AtomKind, AtomTable
from .bridge import Bridge
from .lemmas import BY_NAME
from .spaces import Spaces
from .value import Piece

if TYPE_CHECKING:
    from .reals import Reals


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An atom f(u1, …, uk) by the joint relation of its operands, injective, with its inverse."""

    atom: Atom
    joint: Rel
    inverse: Rel


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """What a named atom stands for: a sum (or, with no monoid, a piecewise view) at each of its indices."""

    atom: Atom
    pieces: tuple[Piece, ...]
    monoid: Monoid | None
    levels: int
    serial: int
    original: bool
    """Whether the original program named it; names that only the device has recognise nothing but each other."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Terms that one term is at its indices (None: all of them, one to one), each where its relation holds."""

    parts: tuple[tuple[Atom, Rel | None], ...]
    theory: Theory


@dataclass(slots=True)
class Context:
    """The state of one validation that both programs write into, the original first."""

    store: Store = field(default_factory=Store)
    atoms: AtomTable = field(default_factory=AtomTable)
    lifts: dict[Hashable, list[Candidate]] = field(default_factory=dict)
    definitions: dict[int, list[Definition]] = field(default_factory=dict)
    """By the number of every atom that occurs in the definition."""
    names: dict[Hashable, Atom] = field(default_factory=dict)
    """The original's named atoms by what they stand for."""
    unfolded: set[tuple[Hashable, ...]] = field(default_factory=set)
    """Definitions with the pieces that share atoms with them, in which they are not found: layers repeat these."""
    rows: dict[Hashable, list[Any]] = field(default_factory=dict)
    """Named row operations by op, attributes and operand atoms."""
    arrays: dict[Atom, np.ndarray] = field(default_factory=dict)
    """What the constant tensors of both programs hold."""
    expansions: dict[Atom, tuple[Piece, ...] | None] = field(default_factory=dict)
    layouts: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Rel]] = field(default_factory=dict)
    """By logical and local shape: the layouts that parameters and results have, as guesses for other values."""
    loops: list[tuple[Any, dict[int, tuple[int, int]]]] = field(default_factory=list)
    """The original's loops in program order, each with the ranges its counters have inside the body."""
    excluded: dict[Atom, Dom] = field(default_factory=dict)
    """By atom number: the elements and values (x…, t) that an assumption on the inputs rules out."""
    root_ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By atom number: what an unknown integer is known to lie in, at this place of the walk."""
    blocks: tuple[Hashable, ...] = ()
    """The branches and bodies of loops around this place of the walk, which may not run at all."""
    joints: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)
    """What operands come to by their relations alone, whatever their atoms are: layers repeat these."""
    lemmas: dict[str, int] = field(default_factory=dict)
    """How often each lemma was used, for the report."""
    assume_in_bounds: bool = False
    repeats: bool = False
    """Whether the original's loops are their bodies repeated, where their trips are known."""
    simplifies: bool = False
    """Whether terms are simplified: computed constants, x + 0.0, of which x is left, and constants as factors."""
    simplifiable: bool = False
    """Whether that would have made a difference to some term."""
    bridge: Bridge | None = None
    """The e-graph's side of the walk; None switches all algebra off."""
    reals: Reals | None = None
    """The forms of terms over the reals, where that theory is accepted."""
    meetings: dict[int, Meeting | None] = field(default_factory=dict)
    """By the number of an atom, as far as these were asked about: what else it is."""
    spaces: Spaces = field(init=False)
    """The indices at which terms mean something."""
    _serial: int = 0
    _seen: int = 0

    def __post_init__(self) -> None:
        self.spaces = Spaces(self.store)

    def is_new(self, atom: Atom) -> bool:
        """Whether this atom was made after the last one asked about: atoms are numbered in the order they are made."""
        if atom.number <= self._seen:
            return False
        self._seen = atom.number
        return True

    def used(self, lemma: str) -> None:
        """Count one use of a lemma by its name in `LEMMAS`."""
        assert lemma in BY_NAME, f"no lemma '{lemma}'"
        self.lemmas[lemma] = self.lemmas.get(lemma, 0) + 1

    @contextmanager
    def bounded(self, ranges: Mapping[int, tuple[int, int]], block: Hashable) -> Iterator[None]:
        """Unknown integers have these ranges inside the `with` block, the body of a loop or a branch."""
        before, outer = self.root_ranges, self.blocks
        self.root_ranges, self.blocks = {**before, **ranges}, (*outer, block)
        self.expansions.clear()
        try:
            yield
        finally:
            self.root_ranges, self.blocks = before, outer
            self.expansions.clear()

    def define(
        self, atom: Atom, pieces: tuple[Piece, ...], monoid: Monoid | None, levels: int, *, original: bool
    ) -> None:
        """Remember what a named atom stands for, so that equal values of the other program find it."""
        self._serial += 1
        definition = Definition(atom, pieces, monoid, levels, self._serial, original)
        for number in {piece.atom.number for piece in pieces}:
            self.definitions.setdefault(number, []).append(definition)

    def definition_of(self, atom: Atom) -> Definition | None:
        """What a named atom was first defined as; None for any other atom."""
        if atom.kind is not AtomKind.NAMED:
            return None
        for definition in self.definitions.get(atom.operands[0].number, ()) if atom.operands else ():
            if definition.atom is atom:
                return definition
        return None

    def constant(self, dtype: DType, value: Any) -> tuple[Atom, int | None]:
        """The atom of a scalar constant, and the integer index where it is INT[n].

        Floats that are exactly representable integers (but not -0.0) are INT[n], so that masks and counts unify.
        """
        integer = whole_number(dtype, value)
        if integer is not None:
            return self.atoms.integer(dtype), integer
        if dtype.is_complex:
            key, number, label = value.tobytes(), complex(value), str(complex(value))
        else:
            # the value decides, however wide it came; the bits do for NaN, whose payloads tell
            number = float(value)
            key, label = value.tobytes() if np.isnan(number) else np.float64(number).tobytes(), f"{number:g}"
        return self.atoms.make(AtomKind.CONSTANT, dtype, 0, key, label=label, data=number), None
