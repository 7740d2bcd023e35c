"""How elementwise operations relate: index arithmetic, sums that stay sums, selection by position, else congruence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..read.attributes import Comparison
from ..read.ir import Op
from ..relate.atoms import AtomKind
from ..relate.guards import index_form, join, split_guarded
from ..relate.lift import lift
from ..relate.moves import as_sum, base_atom, gathered, piecewise, read_through, restricted, without_constant
from ..relate.ranges import decided
from ..relate.rows import RowOperand, relate_rows
from ..relate.splitting import cancels
from ..relate.value import AnyVal, Piece, Val, strongest
from ..relation.build import names
from ..relation.store import Dom
from .integers import index_function
from .monoid import Monoid

if TYPE_CHECKING:
    from ..relate.walk import Walk

COMMUTATIVE = frozenset(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
_MONOIDS = {monoid.value: monoid for monoid in Monoid}
_MIRRORED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}


def relate_elementwise(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Any op on every element by itself."""
    return [_elementwise(walk, op, values)]


def _elementwise(walk: Walk, op: Op, values: list[Val]) -> Val:
    known = index_result(walk, op, values)
    if known is not None:
        return known
    parted = _partly_known(walk, op, values)
    if parted is not None:
        return _beside(walk, parted[0], _elementwise(walk, op, parted[1]))
    monoid = _MONOIDS.get("stablehlo.add" if op.name == "stablehlo.subtract" else op.name)
    dtype = op.results[0].tensor.dtype
    if monoid is not None and dtype.is_bool:
        monoid = {Monoid.ADD: Monoid.OR, Monoid.MAX: Monoid.OR, Monoid.MUL: Monoid.AND, Monoid.MIN: Monoid.AND}.get(
            monoid, monoid
        )
    if monoid is not None and any(value.monoid is monoid for value in values):
        return combine(walk, op, values, monoid)
    if op.name == "stablehlo.negate" and values[0].monoid is Monoid.ADD:
        return _negated(values[0])
    exact = monoid is not None and (monoid.reorders_exactly(dtype) or monoid is Monoid.MUL)
    if monoid is not None and exact and all(value.is_view for value in values):
        simpler = _around_constants(walk, op, values, monoid)
        if simpler is not None:
            return simpler
    return lift(walk, walk.key(op), values, op.results[0].tensor, commutative=op.name in COMMUTATIVE)


def _around_constants(walk: Walk, op: Op, values: Sequence[Val], monoid: Monoid) -> Val | None:
    """The op where an operand is its neutral element in part: the other operand is the result there.

    Lemma *neutral element*: max(x, −inf) = x, x · 1 = x and the like, exact for reducers that reorder exactly and for
    products; None where no operand is neutral anywhere.
    """
    store, type_ = walk.store, op.results[0].tensor
    if op.name == "stablehlo.subtract" or len(values) != 2:
        return None
    neutral = [_where_neutral(walk, value, monoid) for value in values]
    if all(part is None for part in neutral):
        return None
    domain = store.set_meet(values[0].domain, values[1].domain)
    parts, rest = [], domain
    for part, other in ((neutral[0], values[1]), (neutral[1], values[0])):
        if part is not None:
            taken = store.set_meet(part, rest)
            if not store.set_empty(taken):
                parts.append(restricted(walk, other, taken))
                rest = store.set_minus(rest, taken)
    if not store.set_empty(rest):
        left = [restricted(walk, value, rest) for value in values]
        parts.append(lift(walk, walk.key(op), left, type_, commutative=True))
    walk.context.used("neutral element")
    pieces = [piece for part in parts for piece in part.pieces]
    return Val(
        type_,
        gathered(store, pieces),
        domain,
        theory=strongest([*(p.theory for p in parts), *(v.theory for v in values)]),
    )


def _where_neutral(walk: Walk, value: Val, monoid: Monoid) -> Dom | None:
    """Points at which a view is the reducer's neutral element; None where there are none."""
    store, found = walk.store, None
    for piece in value.pieces:
        if piece.atom.kind is not AtomKind.INTEGER and piece.atom.kind is not AtomKind.CONSTANT:
            continue
        rest = without_constant(store, piece, monoid.neutral(value.type.dtype))
        if rest is not piece:
            part = store.domain(piece.rel)
            if rest is not None:
                part = store.set_minus(part, store.domain(rest.rel))
            found = part if found is None else store.set_union(found, part)
    return found


def index_result(walk: Walk, op: Op, values: Sequence[Val]) -> Val | None:
    """The result as index arithmetic where every operand is made of known integers, else None."""
    for value in values:
        if value.monoid is not None or _unknown(value):
            return None
    if not values:
        return None
    store = walk.store
    joints = [piece.rel for piece in values[0].pieces]
    for value in values[1:]:
        joints = [
            rel for first in joints for piece in value.pieces if not store.empty(rel := store.pair(first, piece.rel))
        ]
        walk.limit_pieces(len(joints))
    atom = walk.context.atoms.integer(op.results[0].tensor.dtype)
    pieces = []
    for joint in joints:
        types = [operand.tensor.dtype for operand in op.operands]
        function = index_function(store, op.name, op.attributes, types, op.results[0].tensor.dtype, joint)
        if function is None:
            return None
        pieces.append(Piece(atom, store.compose(joint, function)))
    domain = values[0].domain
    for value in values[1:]:
        domain = store.set_meet(domain, value.domain)
    walk.context.used("index arithmetic")
    theory = strongest([value.theory for value in values])
    return Val(op.results[0].tensor, gathered(store, pieces), domain, theory=theory)


def _partly_known(walk: Walk, op: Op, values: Sequence[Val]) -> tuple[Val, list[Val]] | None:
    """The result as index arithmetic at the points where every operand is a known integer, and the operands elsewhere.

    None unless there are points of both kinds: an index vector of known and looked-up coordinates has them.
    """
    if not values or any(not value.is_view or value.has_guards for value in values):
        return None
    if all(len(value.pieces) == 1 for value in values):
        return None
    store = walk.store
    domain = known = values[0].domain
    for value in values:
        domain = store.set_meet(domain, value.domain)
        known = store.set_meet(known, _where_known(walk, value))
    if store.set_empty(known):
        return None
    rest = store.set_minus(domain, known)
    if store.set_empty(rest):
        return None
    result = index_result(walk, op, [restricted(walk, value, known) for value in values])
    return None if result is None else (result, [restricted(walk, value, rest) for value in values])


def _where_known(walk: Walk, value: Val) -> Dom:
    """Points at which a view is a known integer."""
    store = walk.store
    found = store.set_minus(value.domain, value.domain)
    for piece in value.pieces:
        if piece.atom.kind is AtomKind.INTEGER:
            found = store.set_union(found, store.domain(piece.rel))
    return found


def _unknown(value: Val) -> bool:
    return any(piece.atom.kind is not AtomKind.INTEGER for piece in value.pieces)


def combine(walk: Walk, op: Op, values: Sequence[Val], monoid: Monoid) -> Val:
    """A sum of sums: the elements of all operands together (with their signs for a difference)."""
    sums = []
    for value in values:
        alien = value.monoid not in (None, monoid)
        reason = f"partial result of '{value.monoid}' is combined with '{monoid.value}'"
        sums.append(as_sum(walk, walk.close(value, reason) if alien else value, monoid))
    if op.name == "stablehlo.subtract":
        sums[1] = _negated(sums[1])
    pieces = [piece for value in sums for piece in value.pieces]
    merged = gathered(walk.store, pieces, monoid.idempotent)
    type_ = op.results[0].tensor
    if not monoid.reorders_exactly(type_.dtype) and cancels(walk, pieces, merged):
        closed = [walk.close(value, "part of a sum that it is taken from again") for value in values]
        return lift(walk, walk.key(op), closed, type_, commutative=op.name in COMMUTATIVE)
    domain = walk.store.set_meet(sums[0].domain, sums[1].domain)
    levels = 1 + max(value.levels for value in sums)
    theory = strongest([value.theory for value in sums])
    return walk.settle(Val(type_, merged, domain, monoid, levels, theory))


def _negated(value: Val) -> Val:
    pieces = tuple(Piece(piece.atom, piece.rel, -piece.coefficient) for piece in value.pieces)
    return Val(value.type, pieces, value.domain, value.monoid, value.levels, value.theory)


def relate_compare(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Comparison; `greater` is read as `less` with the operands exchanged."""
    known = index_result(walk, op, values)
    if known is not None:
        return [known]
    parted = _partly_known(walk, op, values)
    if parted is not None:
        return [_beside(walk, parted[0], relate_compare(walk, op, parted[1])[0])]
    direction = Comparison(op.attributes["comparison_direction"])
    operands = values
    if direction in _MIRRORED:
        direction, operands = _MIRRORED[direction], values[::-1]
    attributes: tuple[tuple[str, object], ...] = (("comparison_direction", direction),)
    if str(op.attributes.get("compare_type", "")).upper() == "TOTALORDER":
        attributes = (*attributes, ("compare_type", "TOTALORDER"))
    commutative = direction in (Comparison.EQ, Comparison.NE)
    type_ = op.results[0].tensor
    bounded = decided(walk, direction, operands[0], operands[1], type_)
    if bounded is None:
        return [lift(walk, (op.name, attributes), operands, type_, commutative=commutative)]
    value, open_ = bounded
    if open_ is None:
        return [value]
    rest = lift(walk, (op.name, attributes), open_, type_, commutative=commutative)
    return [_beside(walk, value, rest)]


def _beside(walk: Walk, first: Val, second: Val) -> Val:
    """Two views of disjoint points as one."""
    store = walk.store
    return Val(
        first.type,
        gathered(store, [*first.pieces, *second.pieces]),
        store.set_union(first.domain, second.domain),
        theory=strongest([first.theory, second.theory]),
    )


def relate_convert(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Conversion; to the same type it is the identity, otherwise any rounding is an operation of its own."""
    if op.operands[0].tensor.dtype is op.results[0].tensor.dtype:
        return values
    return relate_elementwise(walk, op, values)


def relate_bitcast_convert(walk: Walk, op: Op, values: list[Val]) -> list[AnyVal]:
    """The same bits; where the width changes, the last dimension is the row that one wider element is cut into."""
    source, result = op.operands[0].tensor, op.results[0].tensor
    if source.rank == result.rank:
        return list(relate_elementwise(walk, op, values))
    batch = list(source.shape if source.rank < result.rank else result.shape)
    operand = RowOperand(values[0], walk.builder.moved(source.shape, names("i", source.rank)), source.rank - len(batch))
    read = walk.builder.moved(result.shape, names("i", result.rank))
    key = (op.name, source.dtype, result.dtype)
    return relate_rows(walk, key, [operand], batch, [result], [read])


def relate_square(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """The operand times itself, which is how it is defined."""
    return [lift(walk, ("stablehlo.multiply", ()), [values[0], values[0]], op.results[0].tensor, commutative=True)]


def relate_clamp(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Clamp; scalar bounds are broadcast first."""
    low, operand, high = values
    shaped = [_spread(walk, bound, operand) for bound in (low, high)]
    return relate_elementwise(walk, op, [shaped[0], operand, shaped[1]])


def _spread(walk: Walk, value: Val, like: Val) -> Val:
    if value.type.shape == like.type.shape:
        return value
    type_ = type(value.type)(like.type.shape, value.type.dtype)
    return read_through(walk, value, walk.builder.moved(like.type.shape, []), type_)


def relate_select(walk: Walk, op: Op, values: list[Val]) -> list[Val]:
    """Selection: by position where the predicate is known, by guards where it tests indices, else congruence."""
    predicate, on_true, on_false = values
    predicate = _spread(walk, predicate, on_true)
    store, type_ = walk.store, op.results[0].tensor
    if not _unknown(predicate) and predicate.is_view:
        _leaves_out(walk, [on_true, on_false])
        # each part by itself: where an operand is not chosen it need not be defined
        parts = []
        for number, value in ((1, on_true), (0, on_false)):
            where = _where(walk, predicate, number)
            if not store.set_empty(where):
                parts.append((store.identity_on(where), value))
        chosen = piecewise(walk, parts, type_)
        return [_themed(chosen, predicate)]
    if not predicate.is_view:
        predicate = walk.close(predicate, "predicate of a selection")
    guarded = _select_by_guards(walk, predicate, on_true, on_false)
    if guarded is not None:
        _leaves_out(walk, [on_true, on_false])
        return [guarded]
    return [lift(walk, (op.name, ()), [predicate, on_true, on_false], type_)]


def _leaves_out(walk: Walk, choices: Sequence[Val]) -> None:
    """A selection that is no term of its own still leaves something of what it chooses from out."""
    if walk.is_original and walk.context.reals is not None:
        walk.context.reals.leaves_out(choices)


def _where(walk: Walk, predicate: Val, number: int) -> Dom:
    store = walk.store
    result = store.set_minus(predicate.domain, predicate.domain)
    for piece in predicate.pieces:
        result = store.set_union(result, store.domain(store.fix_range(piece.rel, 0, number)))
    return result


def _themed(value: Val, predicate: Val) -> Val:
    theory = strongest([value.theory, predicate.theory])
    return Val(value.type, value.pieces, value.domain, value.monoid, value.levels, theory)


def _select_by_guards(walk: Walk, predicate: Val, on_true: Val, on_false: Val) -> Val | None:
    """A predicate on unknown indices restricts the guards of the chosen operand.

    Only where an operand is itself read by such guards (a masked look-up): elsewhere selection is an op like any other.
    """
    if not (on_true.has_guards or on_false.has_guards) or not predicate.is_view or predicate.has_guards:
        return None
    store = walk.store
    tested = index_form(walk, predicate)
    monoids = {value.monoid for value in (on_true, on_false) if value.monoid is not None}
    if len(monoids) > 1:
        return None
    monoid = next(iter(monoids), None)
    if monoid is None and any(is_constant(walk, value, 0) for value in (on_true, on_false)):
        # zero where the look-up is masked: as a sum it needs no piece of its own for all the other indices
        monoid = Monoid.ADD
    pieces: list[Piece] = []
    for number, value in ((1, on_true), (0, on_false)):
        if monoid is Monoid.ADD and is_constant(walk, value, 0):
            continue
        source = as_sum(walk, value, monoid) if monoid is not None else value
        for test in tested.pieces:
            rel = store.fix_range(test.rel, 0, number)
            if store.empty(rel):
                continue
            guards = split_guarded(test)[0]
            for piece in source.pieces:
                pieces.extend(_guarded_by(walk, piece, (guards, 1, rel)))
    walk.limit_pieces(len(pieces))
    walk.context.used("guard")
    domain = store.set_meet(predicate.domain, store.set_meet(on_true.domain, on_false.domain))
    levels = max(on_true.levels, on_false.levels)
    theory = strongest([predicate.theory, on_true.theory, on_false.theory])
    return Val(on_true.type, gathered(store, pieces), domain, monoid, levels, theory)


def is_constant(walk: Walk, value: Val, number: int) -> bool:
    """Whether a view is this integer everywhere (for floats: +0, not −0)."""
    return value.is_view and all(
        piece.atom.kind is AtomKind.INTEGER and walk.store.constant_range(piece.rel) == (number,)
        for piece in value.pieces
    )


def _guarded_by(walk: Walk, piece: Piece, test: tuple) -> list[Piece]:
    """The piece where a tested guard holds as well."""
    store = walk.store
    joined = join(walk, split_guarded(piece), test)
    if joined is None:
        return []
    guards, count, rel = joined
    rel = store.project_out(rel, count - 1, 1)
    return [Piece(walk.context.atoms.guard(base_atom(piece.atom), guards), rel, piece.coefficient)]


RELATIONS = {
    "chlo.square": relate_square,
    "stablehlo.bitcast_convert": relate_bitcast_convert,
    "stablehlo.compare": relate_compare,
    "stablehlo.convert": relate_convert,
    "stablehlo.clamp": relate_clamp,
    "stablehlo.select": relate_select,
}
