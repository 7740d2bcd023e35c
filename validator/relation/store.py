"""Interned integer relations and sets, with every operation on them remembered.

Only this package and the certificate checker use isl. A `Rel` relates points (device coordinates, then a local index)
to indices of an atom; a `Dom` is a set of points. Both are interned: equal text or equal isl objects give the same
Python object, so memo keys are small unique numbers. The store holds a reference to every object it hands out, which
keeps those numbers unique for its whole life (a memo keyed by the address of a freed isl object would change verdicts).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import islpy as isl

from .objects import Dom, Rel, joined
from .questions import bounds, constant_range, counts_once


class RelationLimitError(Exception):
    """isl gave up on one operation (too many disjuncts or too much work); the caller must treat it as unknown."""


MAX_DISJUNCTS = 400
"""A relation of more basic pieces than this is given up on: every later operation would multiply them."""

MAX_RAW_DISJUNCTS = 1_500
"""The same before isl has joined what it can, which takes time that grows with the square."""

MAX_OPERATIONS = 100_000
"""isl's own operation budget for one call; it does not stop everything, so callers also run under a time limit."""

MANY_OPERATIONS = 1_000_000
"""The budget of a second attempt, for calls whose operations are quick: others take a thousand times as long."""

QUICK_SECONDS = 0.3
"""Processor time in which a first attempt must have met its budget for a second one to be made."""


class Store:
    """All relations of one validation, interned, with memoised operations and counters for reports."""

    def __init__(self) -> None:
        self._rels: dict[int, list[Rel]] = {}
        self._doms: dict[int, list[Dom]] = {}
        self._texts: dict[str, Rel | Dom] = {}
        self._memo: dict[tuple[Any, ...], Any] = {}
        self._given_up: set[tuple[Any, ...]] = set()
        self._count = 0
        self.hits = 0
        self.misses = 0
        self.uses: dict[str, list[int]] = {}
        """By operation: how often it was known already, and how often it was computed."""
        self.seconds = 0.0
        """What the operations that were computed took, one inside another counted once."""
        self._depth = 0

    # interning ------------------------------------------------------------------------------------------------------

    def rel(self, text: str) -> Rel:
        """The relation written in isl's notation, e.g. `{[d0,i0] -> [x] : x = 4d0 + i0 and 0 <= i0 < 4}`."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _parsed(isl.Map, text, self.intern)
        assert isinstance(found, Rel)
        return found

    def dom(self, text: str) -> Dom:
        """The set written in isl's notation."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _parsed(isl.Set, text, self.intern_set)
        assert isinstance(found, Dom)
        return found

    def intern(self, raw: isl.Map) -> Rel:
        """The one `Rel` for this isl map; an equal map of another form may get another, and proves less, never more."""
        if raw.n_basic_map() > MAX_RAW_DISJUNCTS:
            raise RelationLimitError(f"a relation fell into {raw.n_basic_map()} pieces")
        raw = joined(raw)
        if any(piece.dim(isl.dim_type.div) for piece in raw.get_basic_maps()):
            # gathered and sliced again, blocks are where they were: bounds and a modulus say so only together
            raw = raw.detect_equalities().coalesce()
        if raw.n_basic_map() > MAX_DISJUNCTS:
            raise RelationLimitError(f"a relation fell into {raw.n_basic_map()} pieces")
        bucket = self._rels.setdefault(hash(raw), [])
        for known in bucket:
            if known.map.plain_is_equal(raw):
                return known
        self._count += 1
        made = Rel(self._count, raw)
        bucket.append(made)
        return made

    def intern_set(self, raw: isl.Set) -> Dom:
        """The one `Dom` for this isl set."""
        if raw.n_basic_set() > MAX_RAW_DISJUNCTS:
            raise RelationLimitError(f"a set fell into {raw.n_basic_set()} pieces")
        raw = joined(raw)
        if raw.n_basic_set() > MAX_DISJUNCTS:
            raise RelationLimitError(f"a set fell into {raw.n_basic_set()} pieces")
        bucket = self._doms.setdefault(hash(raw), [])
        for known in bucket:
            if known.set.plain_is_equal(raw):
                return known
        self._count += 1
        made = Dom(self._count, raw)
        bucket.append(made)
        return made

    def _memoised(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        found = self._memo.get(key)
        uses = self.uses.get(key[0])
        if uses is None:
            uses = self.uses[key[0]] = [0, 0]
        if found is None:
            self.misses += 1
            uses[1] += 1
            if key in self._given_up:
                raise RelationLimitError(f"isl gave up on '{key[0]}'")
            start = time.perf_counter()
            self._depth += 1
            try:
                found = _bounded(compute)
            except isl.Error as error:
                self._given_up.add(key)
                raise RelationLimitError(f"isl gave up on '{key[0]}'") from error
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - start
            self._memo[key] = found
        else:
            self.hits += 1
            uses[0] += 1
        return found

    # relations ------------------------------------------------------------------------------------------------------

    def compose(self, first: Rel, second: Rel) -> Rel:
        """p -> x where first relates p to q and second relates q to x."""
        return self._memoised(
            ("compose", first.number, second.number), lambda: self.intern(first.map.apply_range(second.map))
        )

    def reverse(self, rel: Rel) -> Rel:
        return self._memoised(("reverse", rel.number), lambda: self.intern(rel.map.reverse()))

    def pair(self, first: Rel, second: Rel) -> Rel:
        """p -> (x, y), the flat product over a shared point."""
        return self._memoised(
            ("pair", first.number, second.number), lambda: self.intern(first.map.flat_range_product(second.map))
        )

    def side_by_side(self, first: Rel, second: Rel) -> Rel:
        """(p, q) -> (x, y), the flat product over unrelated points."""
        return self._memoised(
            ("side_by_side", first.number, second.number), lambda: self.intern(first.map.flat_product(second.map))
        )

    def union(self, first: Rel, second: Rel) -> Rel:
        if first is second:
            return first
        return self._memoised(("union", first.number, second.number), lambda: self.intern(first.map.union(second.map)))

    def minus(self, first: Rel, second: Rel) -> Rel:
        return self._memoised(
            ("minus", first.number, second.number), lambda: self.intern(first.map.subtract(second.map))
        )

    def meet(self, first: Rel, second: Rel) -> Rel:
        if first is second:
            return first
        return self._memoised(
            ("meet", first.number, second.number), lambda: self.intern(first.map.intersect(second.map))
        )

    def restrict(self, rel: Rel, dom: Dom) -> Rel:
        """The relation on those points only."""
        return self._memoised(
            ("restrict", rel.number, dom.number), lambda: self.intern(rel.map.intersect_domain(dom.set))
        )

    def restrict_range(self, rel: Rel, dom: Dom) -> Rel:
        return self._memoised(
            ("restrict_range", rel.number, dom.number), lambda: self.intern(rel.map.intersect_range(dom.set))
        )

    def restrict_first(self, rel: Rel, dom: Dom) -> Rel:
        """Only those pairs whose first range coordinates lie in the set."""
        rest = rel.arity_out - dom.arity
        return self.restrict_range(rel, self.set_product(dom, self.everything(rest)))

    def everything(self, arity: int) -> Dom:
        """All integer tuples of this length."""
        return self.dom(f"{{[{','.join(f'x{k}' for k in range(arity))}]}}")

    def containing(self, match: Rel, whole: Rel, part: Rel) -> Rel:
        """The pairs (p, q) of `match` for which part(q) lies in whole(p)."""

        def compute() -> Rel:
            pairs = match.map
            wanted = pairs.range_map().apply_range(part.map)
            given = pairs.domain_map().apply_range(whole.map)
            return self.intern(pairs.subtract(wanted.subtract(given).domain().unwrap()))

        return self._memoised(("containing", match.number, whole.number, part.number), compute)

    def lexmin(self, rel: Rel) -> Rel:
        """p -> the least x of each p."""
        return self._memoised(("lexmin", rel.number), lambda: self.intern(rel.map.lexmin()))

    def lexmax(self, rel: Rel) -> Rel:
        return self._memoised(("lexmax", rel.number), lambda: self.intern(rel.map.lexmax()))

    def weight(self, rel: Rel) -> int:
        """How unwieldy a relation is: its pieces and the integer divisions in them."""

        def compute() -> int:
            pieces = rel.map.get_basic_maps()
            return len(pieces) + sum(piece.dim(isl.dim_type.div) for piece in pieces)

        return self._memoised(("weight", rel.number), compute)

    def affine_hull(self, rel: Rel, *, strides: bool = True) -> Rel:
        """The smallest affine relation that holds this one; without strides no coordinate is a multiple of anything."""

        def compute() -> Rel:
            hull = rel.map.affine_hull()
            return self.intern(isl.Map.from_basic_map(hull if strides else hull.remove_divs()))

        return self._memoised(("affine_hull", rel.number, strides), compute)

    def in_one_piece(self, rel: Rel) -> Rel | None:
        """The relation as one piece, which isl does not always find when it joins some; None where it is none."""

        def compute() -> Rel:
            return self.intern(isl.Map.from_basic_map(rel.map.simple_hull()))

        hull = self._memoised(("hull", rel.number), compute)
        return hull if self.equal(hull, rel) else None

    def domain(self, rel: Rel) -> Dom:
        return self._memoised(("domain", rel.number), lambda: self.intern_set(rel.map.domain()))

    def range(self, rel: Rel) -> Dom:
        return self._memoised(("range", rel.number), lambda: self.intern_set(rel.map.range()))

    def identity_on(self, dom: Dom) -> Rel:
        return self._memoised(("identity", dom.number), lambda: self.intern(dom.set.identity()))

    def project_out(self, rel: Rel, first: int, count: int) -> Rel:
        """Forget `count` dimensions of the range from `first` on."""
        if count == 0:
            return rel
        return self._memoised(
            ("project_out", rel.number, first, count),
            lambda: self.intern(rel.map.project_out(isl.dim_type.out, first, count)),
        )

    def fix_range(self, rel: Rel, position: int, value: int) -> Rel:
        """Only those pairs whose range dimension `position` has this value."""
        return self._memoised(
            ("fix_range", rel.number, position, value),
            lambda: self.intern(rel.map.fix_val(isl.dim_type.out, position, isl.Val(str(value)))),
        )

    def fix_domain(self, rel: Rel, position: int, value: int) -> Rel:
        return self._memoised(
            ("fix_domain", rel.number, position, value),
            lambda: self.intern(rel.map.fix_val(isl.dim_type.in_, position, isl.Val(str(value)))),
        )

    def into_domain(self, rel: Rel, count: int) -> Rel:
        """{(p, x1..xcount) -> rest} from {p -> (x1..xcount, rest)}."""
        if count == 0:
            return rel
        return self._memoised(
            ("into_domain", rel.number, count),
            lambda: self.intern(rel.map.move_dims(isl.dim_type.in_, rel.arity_in, isl.dim_type.out, 0, count)),
        )

    def into_range(self, rel: Rel, count: int) -> Rel:
        """{p -> (x1..xcount, rest)} from {(p, x1..xcount) -> rest}."""
        if count == 0:
            return rel
        first = rel.arity_in - count
        return self._memoised(
            ("into_range", rel.number, count),
            lambda: self.intern(rel.map.move_dims(isl.dim_type.out, 0, isl.dim_type.in_, first, count)),
        )

    # sets -----------------------------------------------------------------------------------------------------------

    def set_union(self, first: Dom, second: Dom) -> Dom:
        if first is second:
            return first
        return self._memoised(
            ("set_union", first.number, second.number), lambda: self.intern_set(first.set.union(second.set))
        )

    def set_minus(self, first: Dom, second: Dom) -> Dom:
        return self._memoised(
            ("set_minus", first.number, second.number), lambda: self.intern_set(first.set.subtract(second.set))
        )

    def set_meet(self, first: Dom, second: Dom) -> Dom:
        if first is second:
            return first
        return self._memoised(
            ("set_meet", first.number, second.number), lambda: self.intern_set(first.set.intersect(second.set))
        )

    def image(self, dom: Dom, rel: Rel) -> Dom:
        """All x that some point of the set is related to."""
        return self._memoised(("image", dom.number, rel.number), lambda: self.intern_set(dom.set.apply(rel.map)))

    def preimage(self, dom: Dom, rel: Rel) -> Dom:
        """All points related to some x of the set."""
        return self.image(dom, self.reverse(rel))

    def set_product(self, first: Dom, second: Dom) -> Dom:
        return self._memoised(
            ("set_product", first.number, second.number), lambda: self.intern_set(first.set.flat_product(second.set))
        )

    def bounds(self, dom: Dom, position: int) -> tuple[int, int] | None:
        """Least and greatest value of one dimension, or None where the set is empty or unbounded."""
        return self._memoised(("bounds", dom.number, position), lambda: bounds(dom.set, position) or ()) or None

    # questions ------------------------------------------------------------------------------------------------------

    def equal(self, first: Rel, second: Rel) -> bool:
        if first is second:
            return True
        return self._memoised(("equal", first.number, second.number), lambda: bool(first.map.is_equal(second.map)))

    def subset(self, first: Rel, second: Rel) -> bool:
        if first is second:
            return True
        return self._memoised(("subset", first.number, second.number), lambda: bool(first.map.is_subset(second.map)))

    def empty(self, rel: Rel) -> bool:
        return self._memoised(("empty", rel.number), lambda: bool(rel.map.is_empty()))

    def single_valued(self, rel: Rel) -> bool:
        return self._memoised(("single_valued", rel.number), lambda: bool(rel.map.is_single_valued()))

    def injective(self, rel: Rel) -> bool:
        return self._memoised(("injective", rel.number), lambda: bool(rel.map.is_injective()))

    def counts_once(self, first: Rel, second: Rel) -> bool:
        """Whether no x is reached from one p through two different q (first: p -> q, second: q -> x)."""
        if self.single_valued(first):
            return True
        return self._memoised(("counts_once", first.number, second.number), lambda: counts_once(first.map, second.map))

    def disjoint(self, first: Rel, second: Rel) -> bool:
        return self.empty(self.meet(first, second))

    def set_equal(self, first: Dom, second: Dom) -> bool:
        if first is second:
            return True
        return self._memoised(("set_equal", first.number, second.number), lambda: bool(first.set.is_equal(second.set)))

    def set_subset(self, first: Dom, second: Dom) -> bool:
        if first is second:
            return True
        return self._memoised(
            ("set_subset", first.number, second.number), lambda: bool(first.set.is_subset(second.set))
        )

    def set_empty(self, dom: Dom) -> bool:
        return self._memoised(("set_empty", dom.number), lambda: bool(dom.set.is_empty()))

    def constant_range(self, rel: Rel) -> tuple[int, ...] | None:
        """The one tuple every point is related to, or None where there are several (or none)."""
        return self._memoised(("constant_range", rel.number), lambda: constant_range(rel.map) or ()) or None

    def sample(self, dom: Dom) -> tuple[int, ...] | None:
        """Some point of the set, for reports; None where it is empty."""
        if self.set_empty(dom):
            return None
        point = dom.set.sample_point()
        return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(dom.arity))


def _bounded(compute: Callable[[], Any]) -> Any:
    """What isl computes within its budget; raises its error where that is not enough."""
    start = time.process_time()
    try:
        return _within(MAX_OPERATIONS, compute)
    except isl.Error:
        if time.process_time() - start > QUICK_SECONDS:
            raise
    return _within(MANY_OPERATIONS, compute)


def _within(operations: int, compute: Callable[[], Any]) -> Any:
    """What isl computes with so many of its operations; outside of this nothing is limited."""
    context = isl.DEFAULT_CONTEXT
    before = context.get_max_operations()
    context.set_max_operations(operations)
    context.reset_operations()
    try:
        return compute()
    finally:
        context.set_max_operations(before)


def _parsed(kind: Callable[[str], Any], text: str, intern: Callable[[Any], Any]) -> Any:
    """What a text describes, interned; what isl does not take is treated as unknown, like all it gives up on."""
    try:
        # reading takes as long as the text is, and a long table is no reason to give up
        raw = kind(text)
        return _bounded(lambda: intern(raw))
    except isl.Error as error:
        raise RelationLimitError(f"isl does not read '{text[:80]}'") from error
