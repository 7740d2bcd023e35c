"""What the e-graph asks of its host about relations, and the types of terms."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from ..read.ir import DType


@dataclass(frozen=True, slots=True)
class TermType:
    """An element type and an index space. The space is the host's own id; the e-graph only compares it."""

    dtype: DType
    space: Hashable


class RelationAlgebra(Protocol):
    """Facts about interned relations. Every answer must hold for all points; None and False mean 'not known'.

    A relation r leads from the points of one space to sets of points of another one; r(p) is the set at p.
    Answers are asked for once each and kept.
    """

    def compose(self, first: int, second: int) -> int | None:
        """The relation p -> union of second(q) over q in first(p)."""
        ...

    def counts_once(self, first: int, second: int) -> bool:
        """For every p and x, at most one q in first(p) has x in second(q)."""
        ...

    def is_identity(self, relation: int) -> bool:
        """r(p) = {p} at every point of its space, and both spaces are the same."""
        ...

    def is_function(self, relation: int) -> bool:
        """r(p) has exactly one element at every point of its space."""
        ...

    def is_nonempty(self, relation: int) -> bool:
        """r(p) is nonempty at every point of its space."""
        ...

    def count(self, relation: int) -> int | None:
        """The number of elements of r(p), where it is the same at every point."""
        ...
