"""Recognising sums and piecewise values as terms of the original program.

Lemma *completion*: let y[q] = ⊕ over x ∈ S(q) of e[x] be a term of the original, and v[p] = ⊕ over x ∈ R(p) of e[x] a
value of either program. If m is single-valued and R(p) = S(m(p)) for all p of its domain, then v = y read through m
there. If R(p) only contains S(m(p)), v is that plus what is left (for monoids that count). The candidate m is a guess;
the equality of relations is what proves. Theory: exact where both sides sum once, in one operation; else reassociated
(sums of integers and of idempotent reducers are exact in any order).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ops.integers import index_function
from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.values import gathered, restricted
from ..relation.build import names
from ..relation.store import Dom, Rel
from .absorption import absorbed
from .atoms import AtomKind
from .context import Definition
from .lift import doubled, find, lift
from .multiplied import contracted, multiplied
from .splitting import split
from .unfolding import unfolded
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk

MAX_PAIRED = 24
"""Sums of more pieces are not searched for pairs: what follows a wrong value grows a piece with each layer."""

MAX_DEFINITIONS = 60
"""At most this many named terms are tried for one value."""


def resolve(walk: Walk, value: Val, *, own: bool = False, partly: bool = False) -> Val:
    """The value with everything folded that can be: a view where it is complete, else the sum that it is.

    `own` also recognises what only the partitioned program has given a name. `partly` also takes a named term out of a
    sum that holds more: only for a value that is not summed any further, since a larger term might still complete.
    """
    resolved = _resolved(walk, value, own, partly)
    if walk.context.simplifies and resolved is not value and resolved.is_view:
        resolved = walk.as_met(resolved)  # the original goes on with what it found the recognised term to be
    return walk.changed(value, resolved)


def _resolved(walk: Walk, value: Val, own: bool, partly: bool) -> Val:
    if value.is_view and not (value.has_guards or len(value.pieces) > 1):
        return value
    given = {piece.atom.number for piece in value.pieces}
    recognised: set[int] = set()
    for part in (False, True) if partly else (False,):
        tried: set[int] = set()
        taken: set[int] = set()
        progress = not (part and value.is_view)
        while progress:
            progress = False
            best: tuple[Definition, Val] | None = None
            held = {piece.atom.number: piece for piece in value.pieces}
            for definition in _definitions(walk, value, own):
                if definition.serial in tried:
                    continue
                if definition.monoid is None and _is_one_element(walk, value):
                    continue  # a name for parts put together, of which a whole term is one, says less than that term
                folded = _fold(walk, value, held, definition, part)
                if folded is None:
                    tried.add(definition.serial)
                elif all(piece.atom is definition.atom for piece in folded.pieces):
                    # a term that is the whole value comes before one that is a part of it, which others are too
                    best = definition, folded
                    break
                elif best is None and not _is_one_element(walk, value):
                    best = definition, folded
            if best is not None:
                value, progress = best[1], True
                taken.add(best[0].serial)
                tried = set(taken)  # what did not fit before may fit what is left
                recognised.add(best[0].atom.number)
    if value.is_view:
        return value
    value = absorbed(walk, value)
    done = _finish(walk, _chain(walk, value), recognised - given)
    if partly and not done.is_view:
        for take_apart in (split, unfolded, contracted, multiplied):
            apart = take_apart(walk, value)
            taken_apart = None if apart is None else resolve(walk, apart, own=own, partly=take_apart is split)
            if taken_apart is not None and taken_apart.is_view:
                return taken_apart
    return done


def as_named(walk: Walk, view: Val) -> Val | None:
    """The view through the name of one term of the original that holds the same; None where there is none."""
    held = {piece.atom.number: piece for piece in view.pieces}
    for definition in _definitions(walk, view, own=False):
        folded = _fold(walk, view, held, definition, partly=False) if definition.monoid is None else None
        if folded is not None and all(piece.atom is definition.atom for piece in folded.pieces):
            return walk.changed(view, folded)
    return None


def _is_one_element(walk: Walk, value: Val) -> bool:
    """Whether a sum is done: every point holds one element of the same term."""
    if len(value.pieces) != 1 or value.pieces[0].coefficient != 1 or value.has_guards:
        return False
    rel = value.pieces[0].rel
    return walk.store.single_valued(rel) and walk.store.set_equal(walk.store.domain(rel), value.domain)


def _definitions(walk: Walk, value: Val, own: bool) -> list[Definition]:
    """Named terms that share an atom with the value, those that cover most of its pieces first."""
    numbers = {piece.atom.number for piece in value.pieces}
    found: dict[int, Definition] = {}
    for number in numbers:
        for definition in walk.context.definitions.get(number, ()):
            if not (definition.original or own):
                continue
            found[definition.serial] = definition
    ranked = sorted(
        found.values(), key=lambda d: (sum(piece.atom.number not in numbers for piece in d.pieces), -len(d.pieces))
    )
    return ranked[:MAX_DEFINITIONS]


def _fold(walk: Walk, value: Val, own: dict[int, Piece], definition: Definition, partly: bool) -> Val | None:
    """The value with the named term in it where it is found; `partly` lets other elements of the same atoms remain.

    `own` are the value's pieces by atom.
    """
    store = walk.store
    if value.monoid is not None and definition.monoid not in (None, value.monoid):
        return None
    shared = [own[p.atom.number] for p in definition.pieces if p.atom.number in own]
    key = (definition.serial, partly, value.is_view, *((p.atom.number, p.rel.number, p.coefficient) for p in shared))
    if key in walk.context.unfolded:
        return None
    if len(own) != len(value.pieces) or not _telling(own, definition):
        return None
    factors = {
        own[piece.atom.number].coefficient // piece.coefficient
        for piece in definition.pieces
        if piece.atom.number in own and own[piece.atom.number].coefficient % piece.coefficient == 0
    }
    if len(factors) != 1:
        walk.context.unfolded.add(key)
        return None
    factor = factors.pop()
    if (
        factor == 0
        or (value.is_view and factor != 1)
        or any(
            own[p.atom.number].coefficient != factor * p.coefficient for p in definition.pieces if p.atom.number in own
        )
    ):
        return None
    match = candidate(walk, own, definition)
    if match is None:
        walk.context.unfolded.add(key)
        return None
    good = store.domain(match)
    left: list[tuple[Piece, Rel]] = []
    for piece in definition.pieces:
        if piece.atom.number not in own:
            continue
        mine = own[piece.atom.number]
        have = store.restrict(mine.rel, store.domain(match))
        want = store.compose(match, piece.rel)
        if not store.equal(have, want):
            good = store.set_minus(good, store.domain(store.minus(want, have)))
            if not partly:
                good = store.set_minus(good, store.domain(store.minus(have, want)))
        left.append((mine, want))
    if store.set_empty(good):
        walk.context.unfolded.add(key)
        return None
    match = store.restrict(match, good)
    rest = [piece for piece in value.pieces if all(piece is not mine for mine, _ in left)]
    if value.is_view:
        # at a point of a view nothing may be active beside the named term
        for piece in rest:
            good = store.set_minus(good, store.domain(piece.rel))
        if store.set_empty(good):
            return None
        match = store.restrict(match, good)
    for mine, want in left:
        remaining = store.minus(mine.rel, store.restrict(want, good))
        if not store.empty(remaining):
            rest.append(Piece(mine.atom, remaining, mine.coefficient))
    pieces = _put_together(walk, value, [Piece(definition.atom, match, factor), *rest])
    if pieces is None:
        return None
    walk.context.used("completion")
    theory = value.theory
    dtype = value.type.dtype
    same_steps = value.levels <= 1 and definition.levels == value.levels and not partly
    monoid = value.monoid or definition.monoid
    if monoid is not None and not monoid.reorders_exactly(dtype) and not same_steps:
        theory = strongest([theory, Theory.REASSOCIATED])
    return Val(value.type, pieces, value.domain, value.monoid, value.levels, theory)


def _telling(own: dict[int, Piece], definition: Definition) -> bool:
    """Whether more than constants is shared: a zero that two values have in common does not make them related."""
    shared = [piece.atom for piece in definition.pieces if piece.atom.number in own]
    constant = [atom.arity == 0 or atom.kind in (AtomKind.INTEGER, AtomKind.CONSTANT) for atom in shared]
    return not all(constant) or len(shared) == len(definition.pieces)


def _put_together(walk: Walk, value: Val, pieces: Sequence[Piece]) -> tuple[Piece, ...] | None:
    """Pieces of a view or a sum; None where a sum's elements would cancel that may be infinite."""
    if value.monoid is None:
        return gathered(walk.store, pieces)
    return walk.merged(pieces, value.monoid, value.type.dtype)


def candidate(walk: Walk, own: dict[int, Piece], definition: Definition) -> Rel | None:
    """A single-valued guess of which index of the named term each point holds."""
    store = walk.store
    parts: list[tuple[Piece, Rel]] = []
    match: Rel | None = None
    for piece in definition.pieces:
        if piece.atom.number in own:
            part = store.compose(own[piece.atom.number].rel, store.reverse(piece.rel))
            parts.append((piece, part))
            match = part if match is None else store.union(match, part)
    if match is None or store.empty(match):
        return None
    if len(definition.pieces) > 1:
        known = {piece.atom.number: part for piece, part in parts}
        for piece in definition.pieces:
            active = store.restrict_range(match, store.domain(piece.rel))
            part = known.get(piece.atom.number)
            match = store.minus(match, active if part is None else store.minus(active, part))
        if store.empty(match):
            return None
    if store.single_valued(match):
        return match
    if match.arity_in == match.arity_out:
        # of values that are laid out alike, such as those of devices, each point is its own rather than an equal one
        own_place = store.meet(match, store.identity_on(store.domain(match)))
        if store.set_equal(store.domain(own_place), store.domain(match)):
            return own_place
    alike = _holding_alike(walk, own, match, [piece for piece, _ in parts])
    if store.single_valued(alike):
        return alike
    for _, part in parts:
        # a strided part has strided indices: what holds of them without the strides may hold between them too
        for hull in (store.affine_hull(part), store.affine_hull(part, strides=False)):
            straight = store.meet(match, hull)
            if store.single_valued(straight) and store.set_equal(store.domain(straight), store.domain(match)):
                return straight
    if len(definition.pieces) == 1:
        piece = parts[0][0]
        mine = own[piece.atom.number]
        for ends in (store.lexmin, store.lexmax):
            narrowed = store.meet(match, store.compose(ends(mine.rel), store.reverse(ends(piece.rel))))
            if not store.empty(narrowed):
                match = narrowed
    if not store.single_valued(match):
        for piece in definition.pieces:
            if piece.atom.number in own:
                match = store.containing(match, own[piece.atom.number].rel, piece.rel)
    if store.empty(match):
        return None
    if store.single_valued(match):
        return match
    both = store.meet(match, alike)
    return _straightest(walk, both if store.set_equal(store.domain(both), store.domain(match)) else match)


def _straightest(walk: Walk, match: Rel) -> Rel:
    """One index for each point, of several that hold the same.

    It goes on as others do, or lies as far from the point's own place as theirs on that device, or is that place on
    every device, as of a table that all devices have, or the least.
    """
    store, least, points = walk.store, walk.store.lexmin(match), walk.store.domain(match)
    sure = store.set_minus(points, store.domain(store.minus(match, least)))
    known = None if store.set_empty(sure) else store.restrict(match, sure)
    guesses = [] if known is None else [store.affine_hull(known)]
    if match.arity_in > match.arity_out:
        guesses += [] if known is None else [_displaced(walk, known)]
        guesses.append(store.project_out(store.identity_on(points), 0, match.arity_in - match.arity_out))
    for guess in guesses:
        straight = store.meet(match, guess)
        if store.single_valued(straight) and store.set_equal(store.domain(straight), points):
            return straight
    return least


def _displaced(walk: Walk, known: Rel) -> Rel:
    """From each point to its own place, displaced as the known pairs of its device are."""
    store, rank = walk.store, known.arity_out
    devices, own, other = names("d", known.arity_in - rank), names("i", rank), names("o", rank)
    every, apart = ",".join([*devices, *own, *other]), [f"{o} - {i}" for o, i in zip(other, own, strict=True)]
    distance = store.rel(f"{{[{every}] -> [{','.join([*devices, *apart])}]}}")
    pairs = store.compose(store.pair(store.identity_on(store.domain(known)), known), distance)
    left = store.restrict(
        store.rel(f"{{[{every}] -> [{','.join([*devices, *own])}]}}"), store.preimage(store.range(pairs), distance)
    )
    return store.compose(store.reverse(left), store.rel(f"{{[{every}] -> [{','.join(other)}]}}"))


def _holding_alike(walk: Walk, own: dict[int, Piece], match: Rel, pieces: Sequence[Piece]) -> Rel:
    """The pairs in which point and index hold the same of these pieces, each from the same element to the same one.

    All pairs if that leaves some point without an index. Prefix sums over parts put together are told apart by it.
    """
    store, found = walk.store, match
    for piece in pieces:
        mine = own[piece.atom.number].rel
        absent = store.set_minus(store.range(found), store.domain(piece.rel))
        holding = store.restrict(found, store.domain(mine))
        found = store.minus(found, store.restrict_range(holding, absent))
    for piece in pieces if not store.single_valued(found) else ():
        mine = own[piece.atom.number].rel
        for ends in (store.lexmin, store.lexmax):
            holding = store.restrict(found, store.domain(mine))
            found = store.minus(found, store.minus(holding, store.compose(ends(mine), store.reverse(ends(piece.rel)))))
    return found if store.set_equal(store.domain(found), store.domain(match)) else match


def _chain(walk: Walk, value: Val) -> Val:
    """Pairs of complete terms that meet at a point, joined where the original has their sum or difference.

    Lemma *pairing*: a point that holds y + z (or y − z) as two elements of a sum is the original's add(y, z) there.
    """
    if value.monoid is None:
        return value
    store = walk.store
    pieces = list(value.pieces)
    joined, progress = False, True
    while progress and 1 < len(pieces) <= MAX_PAIRED:
        progress = False
        for i, j in itertools.combinations(range(len(pieces)), 2):
            first, second = pieces[i], pieces[j]
            made = _join(walk, value, first, second)
            if made is None:
                continue
            both = store.set_meet(store.domain(first.rel), store.domain(second.rel))
            rest = [piece for k, piece in enumerate(pieces) if k not in (i, j)]
            for old in (first, second):
                outside = store.restrict(old.rel, store.set_minus(store.domain(old.rel), both))
                rest.append(Piece(old.atom, outside, old.coefficient))
            together = _put_together(walk, value, [*rest, *made])
            if together is None:
                continue
            pieces = list(together)
            joined = progress = True
            break
    if not joined:
        return value
    walk.context.used("pairing")
    return Val(value.type, tuple(pieces), value.domain, value.monoid, max(value.levels, 1), value.theory)


def _join(walk: Walk, value: Val, first: Piece, second: Piece) -> list[Piece] | None:
    store = walk.store
    assert value.monoid is not None
    if any(p.atom.kind is AtomKind.GUARD or not store.single_valued(p.rel) for p in (first, second)):
        return None
    both = store.set_meet(store.domain(first.rel), store.domain(second.rel))
    if store.set_empty(both):
        return None
    signs = (first.coefficient, second.coefficient)
    dtype = value.type.dtype
    if signs == (1, 1):
        return find(walk, (value.monoid.value, ()), (first, second), both, dtype, commutative=True)
    if value.monoid is Monoid.ADD and sorted(signs) == [-1, 1]:
        ordered = (first, second) if signs[0] == 1 else (second, first)
        return find(walk, ("stablehlo.subtract", ()), ordered, both, dtype, commutative=False)
    return None


def _finish(walk: Walk, value: Val, recognised: set[int]) -> Val:
    """The sum as a view, if each point holds exactly one whole element (the neutral one where it holds none).

    `recognised` are the atoms that stand for whole sums that were found in this value.
    """
    store = walk.store
    monoid = value.monoid
    assert monoid is not None
    covered: Dom | None = None
    for piece in value.pieces:
        if piece.atom.kind is AtomKind.GUARD or not store.single_valued(piece.rel):
            return value
        domain = store.domain(piece.rel)
        if covered is not None:
            if not store.set_empty(store.set_meet(covered, domain)):
                return value
            covered = store.set_union(covered, domain)
        else:
            covered = domain
    if any(piece.coefficient != 1 for piece in value.pieces):
        return _scaled(walk, value)
    rest = value.domain if covered is None else store.set_minus(value.domain, covered)
    pieces = list(value.pieces)
    if not store.set_empty(rest):
        neutral = walk.neutral_piece(monoid, value.type.dtype, rest)
        if neutral is None:
            return value
        pieces.append(neutral)
    theory = value.theory
    if value.levels > 0 and not monoid.reorders_exactly(value.type.dtype) and not _is_whole_sum(value, recognised):
        theory = strongest([theory, Theory.REASSOCIATED])
    return Val(value.type, gathered(store, pieces), value.domain, None, 0, theory)


def complete_part(walk: Walk, value: Val) -> tuple[Val, Val] | None:
    """(the value as a view where one whole element is all it holds, the sum on the other points); None if all are such.

    A device may have a whole term of the original where another one has a partial result: each is taken for itself.
    """
    store, monoid = walk.store, value.monoid
    if monoid is None:
        return None
    domains = [store.domain(piece.rel) for piece in value.pieces]
    good: Dom | None = None
    for k, piece in enumerate(value.pieces):
        if piece.coefficient != 1 or piece.atom.kind is AtomKind.GUARD or not store.single_valued(piece.rel):
            continue
        alone = domains[k]
        for other, domain in enumerate(domains):
            if other != k:
                alone = store.set_minus(alone, domain)
        good = alone if good is None else store.set_union(good, alone)
    if good is None or store.set_empty(good):
        return None
    rest = store.set_minus(value.domain, good)
    if store.set_empty(rest):
        return None
    whole = _finish(walk, restricted(walk, value, good), set())
    return (whole, restricted(walk, value, rest)) if whole.is_view else None


def _is_whole_sum(value: Val, recognised: set[int]) -> bool:
    """One step of summation that ended in the original's own sums: the fold has judged its theory already.

    An element that was there before is another matter: a sum of one -0.0 is 0.0.
    """
    return value.levels <= 1 and all(piece.atom.number in recognised for piece in value.pieces)


def _scaled(walk: Walk, value: Val) -> Val:
    """n equal elements as n·e (−1 as −e, 2 as a known e + e): lemma *multiplicity*, exact for integers."""
    store = walk.store
    if value.monoid is not Monoid.ADD:
        return value
    dtype = value.type.dtype
    theory = Theory.EXACT if Monoid.ADD.reorders_exactly(dtype) else Theory.REASSOCIATED
    parts: list[Val] = []
    covered: Dom | None = None
    for piece in value.pieces:
        domain = store.domain(piece.rel)
        covered = domain if covered is None else store.set_union(covered, domain)
        view = Val(value.type, (Piece(piece.atom, piece.rel),), domain, None, 0, value.theory)
        counted = _counted_integer(walk, piece, value)
        if piece.coefficient == 1:
            parts.append(view)
        elif counted is not None:
            parts.append(Val(value.type, (counted,), domain, None, 0, value.theory))
        elif piece.coefficient == 2 and (twice := doubled(walk, piece, domain)) is not None:
            parts.append(Val(value.type, (twice,), domain, None, 0, value.theory))
        elif piece.coefficient == -1:
            parts.append(lift(walk, ("stablehlo.negate", ()), [view], value.type, theory=theory))
        else:
            scale = walk.integer_constant(int(piece.coefficient), value.type, domain)
            if scale is None:
                return value
            parts.append(
                lift(walk, ("stablehlo.multiply", ()), [view, scale], value.type, commutative=True, theory=theory)
            )
    walk.context.used("multiplicity")
    pieces = [piece for part in parts for piece in part.pieces]
    rest = value.domain if covered is None else store.set_minus(value.domain, covered)
    if not store.set_empty(rest):
        neutral = walk.neutral_piece(Monoid.ADD, dtype, rest)
        if neutral is None:
            return value
        pieces.append(neutral)
    needed = strongest([theory, *(part.theory for part in parts)])
    return Val(value.type, gathered(store, pieces), value.domain, None, 0, needed)


def _counted_integer(walk: Walk, piece: Piece, value: Val) -> Piece | None:
    """k times the known integer n as INT[k·n], where the type holds it exactly or wraps."""
    if piece.atom.kind is not AtomKind.INTEGER:
        return None
    store = walk.store
    factor = walk.integer_constant(int(piece.coefficient), value.type, store.domain(piece.rel))
    if factor is None or factor.pieces[0].atom.kind is not AtomKind.INTEGER:
        return None
    both = store.pair(piece.rel, factor.pieces[0].rel)
    dtype = value.type.dtype
    function = index_function(store, "stablehlo.multiply", {}, (dtype, dtype), dtype, both)
    return None if function is None else Piece(piece.atom, store.compose(both, function))
