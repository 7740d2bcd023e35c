"""Elementwise operations that are no sum and no data movement: find the original's term again, or make a new one.

Lemma *congruence*: f(a1[x1], …, ak[xk]) depends on nothing but f, its attributes and those elements. So if y is
f(u1, …, uk) with the same atoms under the joint relation S: y's index → (x1, …, xk), and the device's operands have
joint relation J: point → (x1, …, xk), then the device's value is y read through J ∘ S⁻¹ wherever that is defined.
S is kept injective (each atom is named by the least index that gives its operands), so J ∘ S⁻¹ is single-valued.
Theory: exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.values import gathered
from ..read.ir import DType, TensorType
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .computed import computed
from .context import Candidate, Meeting
from .scaled import Multiple, constant_of, multiple_of
from .value import Piece, Val, strongest
from .zeros import without_zero

if TYPE_CHECKING:
    from .walk import Walk


MAX_FRESH_PIECES = 12
"""A device value without a relation in more pieces and divisions than this is given a name as it stands."""


_COMMUTATIVE = frozenset({Monoid.ADD.value, Monoid.MUL.value})
"""Linear ops of which the operands may change places."""


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """One choice of a piece for every operand, on the points where all of them hold."""

    atoms: tuple[Atom, ...]
    rels: tuple[Rel | None, ...]
    """None for an operand that is one constant."""
    domain: Dom


def lift(
    walk: Walk,
    key: Hashable,
    operands: Sequence[Val],
    type_: TensorType,
    *,
    commutative: bool = False,
    theory: Theory = Theory.EXACT,
) -> Val:
    """f applied elementwise to values of one shape; `key` names f with its attributes."""
    closed = [walk.close(value, f"operand of a non-linear operation '{walk.op_name}'") for value in operands]
    if not walk.is_original and all(value.is_view and not value.has_guards for value in operands):
        # the original may have named its parts put together only after it had applied the op to each
        renamed = any(value.pieces != before.pieces for value, before in zip(closed, operands, strict=True))
        known = partial(_is_known, walk, key, dtype=type_.dtype, commutative=commutative)
        closed = [*operands] if renamed and not known(closed) and known(operands) else closed
    ordinary: list[Piece] = []
    pieces: list[Piece] = []
    theories = [theory, *(value.theory for value in closed)]
    for joint in _joints(walk, closed):
        found, rest = _search(walk, key, joint, type_.dtype, commutative)
        if rest is not None:
            found.append(_fresh(walk, key, rest, type_))
        ordinary += found
        for piece in found:
            pieces += met(walk, piece, theories)
    needed = strongest(theories)
    walk.context.used("congruence")
    value = Val(type_, gathered(walk.store, pieces), _defined(walk, closed), theory=needed)
    return walk.equated(Val(type_, gathered(walk.store, ordinary), value.domain), value)


def met(walk: Walk, piece: Piece, theories: list[Theory]) -> list[Piece]:
    """The piece by what its atom, if it is new, is found to be by the e-graph or by its form over the reals."""
    atom, context = piece.atom, walk.context
    if context.reals is not None and walk.is_original:
        context.reals.left_out.computes(atom, piece.rel, is_used=walk.is_used)
    if atom.number not in context.meetings:
        if atom.kind is AtomKind.LIFT and not context.is_new(atom):
            return [piece]
        found = _meeting(walk, atom)
        if found is None and walk.is_original:
            return [piece]
        context.meetings[atom.number] = found
    meeting = context.meetings[atom.number]
    if meeting is None:
        return [piece]
    real = meeting.theory is Theory.REAL
    if real and context.reals is not None and not context.reals.covers_read(walk, atom, piece.rel):
        return [piece]
    store = walk.store
    rels = [(other, piece.rel if match is None else store.compose(piece.rel, match)) for other, match in meeting.parts]
    if real and context.reals is not None and not all(context.reals.may_stand(walk, *read) for read in rels):
        return [piece]  # what is tested of the one is not what is tested of the other
    theories.append(meeting.theory)
    return [Piece(other, rel, piece.coefficient) for other, rel in rels if not store.empty(rel)]


def _meeting(walk: Walk, atom: Atom) -> Meeting | None:
    """What a new term equals, and the theory that this needs."""
    bridge, reals = walk.context.bridge, walk.context.reals
    simpler = _simpler(walk, atom)
    if simpler is not None:
        walk.context.used("e-graph")
        return simpler
    if bridge is not None and atom.kind is AtomKind.LIFT:
        if walk.is_original:
            bridge.note(atom)
        elif found := bridge.find(walk, atom, lambda term: reals is not None and reals.is_made_of_reals(walk, term)):
            other, match, theory = found
            walk.context.used("e-graph")
            return Meeting(((other, match),), theory)
    if reals is None or atom.kind not in (AtomKind.LIFT, AtomKind.NAMED):
        return None
    parts = reals.find(walk, atom)
    if parts is None:
        return None
    walk.context.used("sums of products")
    return Meeting(tuple((part.atom, part.rel) for part in parts), Theory.REAL)


def _simpler(walk: Walk, atom: Atom) -> Meeting | None:
    """What a compiler makes of a term ahead, or how it is scaled, if terms are simplified here."""
    if walk.context.simplifiable and not walk.context.simplifies:
        return None
    number, other, multiple = computed(walk, atom), without_zero(walk, atom), multiple_of(walk, atom)
    if not walk.context.simplifies:
        walk.context.simplifiable |= number is not None or other is not None or multiple is not None
    elif number is not None:
        return Meeting(((number.atom, number.rel),), Theory.EXACT)
    elif other is not None:
        return Meeting(((other, None),), Theory.REASSOCIATED)
    elif multiple is not None:
        whole = _scaled(walk, multiple)
        return Meeting(tuple((piece.atom, piece.rel) for piece in whole.pieces), Theory.REASSOCIATED)
    return None


def _scaled(walk: Walk, multiple: Multiple) -> Val:
    """The op or the term that a constant multiplies, and that with the constant."""
    (value, *_), scale = multiple.operands, multiple.scale
    if multiple.op is not None:
        commutes = multiple.op[0] in _COMMUTATIVE
        type_ = multiple.operands[-1].type
        value = lift(walk, multiple.op, multiple.operands, type_, commutative=commutes)
    value = value if value.is_view else walk.as_one(value)
    if scale in (1, -1):
        return value if scale == 1 else lift(walk, ("stablehlo.negate", ()), [value], value.type)
    op, number = constant_of(scale, value.type.dtype) or (None, 0)
    assert op is not None
    constant = Val(value.type, (walk.constant_piece(number, value.type.dtype, value.domain),), value.domain)
    return lift(walk, (op, ()), [value, constant], value.type, commutative=op in _COMMUTATIVE)


def _is_known(walk: Walk, key: Hashable, operands: Sequence[Val], *, dtype: DType, commutative: bool) -> bool:
    """Whether there are terms for an op of these at all points where they are defined; never makes an atom."""
    for joint in _joints(walk, operands):
        ready = _prepare(walk, key, joint, dtype, commutative)
        if ready.joint is None:
            if walk.context.atoms.known(AtomKind.LIFT, dtype, ready.full_key) is None:
                return False
        elif _search(walk, key, joint, dtype, commutative)[1] is not None:
            return False
    return True


def find(
    walk: Walk, key: Hashable, parts: Sequence[Piece], domain: Dom, dtype: DType, *, commutative: bool
) -> list[Piece] | None:
    """The original's term f(parts) on all of `domain`, or None where it has none on some point; never makes an atom."""
    atoms, rels = [], []
    for part in parts:
        atom, rel = canonical_operand(walk, part)
        atoms.append(atom)
        rels.append(rel)
    joint = _Joint(tuple(atoms), tuple(rels), domain)
    if sum(rel is not None for rel in rels) < 2:
        return None
    found, rest = _search(walk, key, joint, dtype, commutative)
    return found if rest is None else None


def doubled(walk: Walk, piece: Piece, domain: Dom) -> Piece | None:
    """x + x, where there is such a term; never makes an atom."""
    joint = _Joint((piece.atom, piece.atom), (piece.rel, piece.rel), domain)
    ready = _prepare(walk, ("stablehlo.add", ()), joint, piece.atom.dtype, commutative=True)
    atom = walk.context.atoms.known(AtomKind.LIFT, piece.atom.dtype, ready.full_key)
    return None if atom is None else Piece(atom, walk.store.restrict(piece.rel, domain))


def canonical_operand(walk: Walk, piece: Piece) -> tuple[Atom, Rel | None]:
    """An integer piece with one value becomes that constant, so that equal constants meet."""
    if piece.atom.kind is AtomKind.CONSTANT and piece.atom.arity == 0:
        return piece.atom, None
    found = walk.canonical(piece)
    return found.atom, None if found.atom is not piece.atom else piece.rel


def _defined(walk: Walk, operands: Sequence[Val]) -> Dom:
    """The points at which all operands are defined."""
    domain = operands[0].domain
    for value in operands[1:]:
        domain = walk.store.set_meet(domain, value.domain)
    return domain


def _joints(walk: Walk, operands: Sequence[Val]) -> list[_Joint]:
    store = walk.store
    domain = _defined(walk, operands)
    if all(len(value.pieces) == 1 for value in operands):
        key = ("active", domain.number, *(value.pieces[0].rel.number for value in operands))
        if key not in walk.context.joints:
            for value in operands:
                domain = store.set_meet(domain, store.domain(value.pieces[0].rel))
            walk.context.joints[key] = None if store.set_empty(domain) else domain
        active = walk.context.joints[key]
        if active is None:
            return []
        parts = [canonical_operand(walk, value.pieces[0]) for value in operands]
        return [_Joint(tuple(atom for atom, _ in parts), tuple(rel for _, rel in parts), active)]
    joints = [_Joint((), (), domain)]
    for value in operands:
        extended = []
        for joint in joints:
            for piece in value.pieces:
                domain = store.set_meet(joint.domain, store.domain(piece.rel))
                if store.set_empty(domain):
                    continue
                atom, rel = canonical_operand(walk, piece)
                extended.append(_Joint((*joint.atoms, atom), (*joint.rels, rel), domain))
        walk.limit_pieces(len(extended))
        joints = extended
    return joints


def _search(
    walk: Walk, key: Hashable, joint: _Joint, dtype: DType, commutative: bool
) -> tuple[list[Piece], _Ready | None]:
    """Pieces already known for this joint operand, and what is left of it."""
    store = walk.store
    ready = _prepare(walk, key, joint, dtype, commutative)
    if ready.joint is None:
        return [ready.direct(walk)], None
    found: list[Piece] = []
    rest: Rel = ready.joint
    for swap in (False, True) if ready.ambiguous else (False,):
        for candidate in walk.context.lifts.get(ready.full_key, ()):
            look = store.compose(rest, _swapper(walk, ready)) if swap else rest
            match = store.compose(look, candidate.inverse)
            if store.empty(match):
                continue
            found.append(Piece(candidate.atom, match))
            rest = store.restrict(rest, store.set_minus(store.domain(rest), store.domain(match)))
            if store.empty(rest):
                return found, None
    return found, _Ready(ready.full_key, ready.atoms, ready.distinct, rest, ready.domain, ready.dtype, ready.ambiguous)


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """A joint operand with equal operands shared: `joint` relates a point to the distinct operands' indices."""

    full_key: Hashable
    atoms: tuple[Atom, ...]
    distinct: tuple[tuple[Atom, Rel], ...]
    joint: Rel | None
    """None where at most one distinct operand is no constant: then f is an atom on that operand's own indices."""
    domain: Dom
    dtype: DType
    ambiguous: bool

    def direct(self, walk: Walk) -> Piece:
        """f(a)[x] = f(a[x]): no search needed, both programs build the same atom."""
        store = walk.store
        if not self.distinct:
            atom = walk.context.atoms.make(AtomKind.LIFT, self.dtype, 0, self.full_key, self.atoms)
            return Piece(atom, walk.empty_tuple(self.domain))
        operand, rel = self.distinct[0]
        atom = walk.context.atoms.make(AtomKind.LIFT, self.dtype, operand.arity, self.full_key, self.atoms)
        return Piece(atom, store.restrict(rel, self.domain))


def _prepare(walk: Walk, key: Hashable, joint: _Joint, dtype: DType, commutative: bool) -> _Ready:
    parts = list(zip(joint.atoms, joint.rels, strict=True))
    if commutative:
        parts.sort(key=lambda part: part[0].number)
    # what follows depends on which atoms are the same, not on what they are
    slots: dict[int, int] = {}
    shape: list[tuple[int, Rel] | None] = []
    signature = [joint.domain.number]
    for atom, rel in parts:
        if rel is None or atom.arity == 0:
            shape.append(None)
            signature.append(-1)
        else:
            slot = slots.setdefault(atom.number, len(slots))
            shape.append((slot, rel))
            signature += (slot, rel.number)
    memo_key = ("shared", *signature)
    found = walk.context.joints.get(memo_key)
    if found is None:
        found = walk.context.joints[memo_key] = _shared(walk, shape, joint.domain)
    places, rels, together = found
    pattern: list[tuple[str, int]] = []
    distinct: list[tuple[Atom, Rel]] = []
    for (atom, _), place in zip(parts, places, strict=True):
        if place is None:
            pattern.append(("scalar", atom.number))
        elif place < len(distinct):
            pattern.append(("shared", place))
        else:
            pattern.append((f"atom{atom.number}", place))
            distinct.append((atom, rels[place]))
    full_key = (key, dtype, tuple(pattern))
    atoms = tuple(atom for atom, _ in parts)
    ambiguous = commutative and len(distinct) == 2 and distinct[0][0] is distinct[1][0] and len(parts) == 2
    return _Ready(full_key, atoms, tuple(distinct), together, joint.domain, dtype, ambiguous)


def _shared(
    walk: Walk, shape: Sequence[tuple[int, Rel] | None], domain: Dom
) -> tuple[tuple[int | None, ...], tuple[Rel, ...], Rel | None]:
    """Each operand's place among the distinct ones (None for a scalar), how those are read, and their joint relation.

    `shape` tells the operands' atoms apart by number, in the order in which they first occur.
    """
    store = walk.store
    places: list[int | None] = []
    distinct: list[tuple[int, Rel]] = []
    for operand in shape:
        if operand is None:
            places.append(None)
            continue
        slot, rel = operand[0], store.restrict(operand[1], domain)
        for position, (known_slot, known_rel) in enumerate(distinct):
            if known_slot == slot and store.equal(known_rel, rel):
                places.append(position)
                break
        else:
            places.append(len(distinct))
            distinct.append((slot, rel))
    together = None
    if len(distinct) > 1:
        together = distinct[0][1]
        for _, rel in distinct[1:]:
            together = store.pair(together, rel)
    return tuple(places), tuple(rel for _, rel in distinct), together


def _swapper(walk: Walk, ready: _Ready) -> Rel:
    """{[x, y] -> [y, x]} over the indices of two operands that are the same atom."""
    arity = ready.distinct[0][0].arity
    left = ",".join(f"x{k}" for k in range(arity))
    right = ",".join(f"y{k}" for k in range(arity))
    return walk.store.rel(f"{{[{left},{right}] -> [{right},{left}]}}")


def _fresh(walk: Walk, key: Hashable, ready: _Ready, type_: TensorType) -> Piece:
    """A new atom on this value's own points, each equal operand tuple named by its least point."""
    store = walk.store
    assert ready.joint is not None
    joint = ready.joint
    same = _equal_points(walk, ready)
    # what only the device has and is in many pieces already will match nothing: no representatives are looked for
    hopeless = same is not None and not walk.is_original and store.weight(same) > MAX_FRESH_PIECES
    if same is None or hopeless:
        canonical = store.identity_on(store.domain(joint))
    else:
        canonical = store.lexmin(same)
        joint = store.restrict(joint, store.range(canonical))
    named = store.range(canonical)
    by_operand = [store.restrict(rel, named) for _, rel in ready.distinct]
    atom = walk.context.atoms.fresh(
        AtomKind.LIFT,
        ready.dtype,
        store.domain(joint).arity,
        ready.atoms,
        rels=tuple(by_operand),
        label=walk.label(),
        data=(key, ready.full_key),
    )
    if not hopeless:
        walk.context.lifts.setdefault(ready.full_key, []).append(Candidate(atom, joint, store.reverse(joint)))
    walk.note_fresh(atom)
    return Piece(atom, canonical)


def _equal_points(walk: Walk, ready: _Ready) -> Rel | None:
    """Pairs of points with the same operands; None where there are none but each point with itself."""
    store, joint = walk.store, ready.joint
    assert joint is not None
    back = store.reverse(joint)
    if ready.ambiguous:
        # f(x[i], x[j]) = f(x[j], x[i]): a tuple of operands and its exchange are one
        return store.union(store.compose(joint, back), store.compose(store.compose(joint, _swapper(walk, ready)), back))
    return None if store.injective(joint) else store.compose(joint, back)
