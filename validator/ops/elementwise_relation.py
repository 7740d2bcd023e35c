"""How elementwise operations relate: index arithmetic, sums that stay sums, selection by position, else congruence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..read.attributes import Comparison
from ..read.ir import DType, Op, TensorType
from ..relation.build import constant, names
from ..relation.objects import Dom, Rel
from .engine import Engine, Function, RowOperand
from .guarded import Guarded, chosen, index_form, split_guarded
from .integers import index_function
from .keys import frozen_attributes
from .monoid import Monoid, combination
from .ranges import decided
from .record import strongest
from .records import MEANINGS
from .shifted import unshifted
from .values import Piece, without_constant

COMMUTATIVE = frozenset(
    ["chlo.mulhi", *(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))]
)
_NEUTRAL_SECOND = {
    "stablehlo.divide": 1,
    "stablehlo.subtract": 0,
    "stablehlo.shift_left": 0,
    "stablehlo.shift_right_arithmetic": 0,
    "stablehlo.shift_right_logical": 0,
}
"""What leaves a first operand as it is: x − 0 is x where 0 is no −0, of x = −0 too."""

_MIRRORED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}


def relate_elementwise(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Any op on every element by itself."""
    known = index_result(engine, op, values)
    if known is not None:
        return [known]
    type_ = op.results[0].tensor
    monoid, signs = combination(op.name, type_.dtype) or (None, ())
    if len(signs) == 1 and values[0].monoid is monoid and not engine.is_original:
        # a masked sum may be a whole term by now, of which the original has the negative
        values = [engine.settle(values[0])]
    if monoid is not None and any(value.monoid is monoid for value in values):
        return [_negated(engine, values[0]) if len(signs) == 1 else _combined(engine, op, values, monoid)]
    return [_applied(engine, replace(_function(engine, op), neutral=_neutral(op.name, type_.dtype)), values, type_)]


def _neutral(name: str, dtype: DType) -> tuple[int | float | None, ...]:
    """The number at each place of an op that leaves what is at the other place as it is."""
    if dtype.is_complex:
        return ()  # (∞ + 0i) · 1 is ∞ + NaN i
    if (second := _NEUTRAL_SECOND.get(name)) is not None:
        return () if second == 0 and dtype.is_positive else (None, second)
    monoid, _ = combination(name, dtype) or (None, ())
    if monoid is Monoid.ADD and dtype.is_float and name in COMMUTATIVE:
        return (-0.0, -0.0)
    exact = monoid is not None and (monoid is Monoid.MUL or monoid.reorders_exactly(dtype))
    return (monoid.neutral(dtype),) * 2 if exact and monoid is not None and name in COMMUTATIVE else ()


def _applied(engine: Engine, function: Function, operands: Sequence[Any], type_: TensorType) -> Any:
    """A function of each element: by other means where there are such, elsewhere by its name and operands."""
    store, theory = engine.store, strongest(value.theory for value in operands)
    told: list[Any] = []
    rest = operands[0].domain
    for value in operands[1:]:
        rest = store.set_meet(rest, value.domain)
    for way in (_partly_known, _around_constants, _decided):
        found = way(engine, function, operands, rest)
        for view in found:
            rest = store.set_minus(rest, view.domain)
        if found:
            told += [replace(view, theory=strongest([view.theory, theory])) for view in found]
            if store.set_empty(rest):
                return engine.lift(function, None, type_, told)
            operands = [engine.restricted(value, rest) for value in operands]
    return engine.lift(function, operands, type_, told)


def _partly_known(engine: Engine, function: Function, values: Sequence[Any], domain: Dom) -> list[Any]:
    """The result as index arithmetic where every operand is a known integer.

    None unless there are other points too: an index vector of known and looked-up coordinates has both kinds.
    """
    if function.integers is None or any(value.monoid or has_guards(engine, value) for value in values):
        return []
    if all(len(value.pieces) == 1 for value in values):
        return []
    store, known = engine.store, domain
    for value in values:
        found = store.set_minus(domain, domain)
        for piece in value.pieces:
            if engine.is_integer(piece.atom):
                found = store.set_union(found, store.domain(piece.rel))
        known = store.set_meet(known, found)
    if store.set_empty(known) or store.set_empty(store.set_minus(domain, known)):
        return []
    result = function.integers([engine.restricted(value, known) for value in values])
    return [] if result is None else [result]


def _around_constants(engine: Engine, function: Function, values: Sequence[Any], domain: Dom) -> list[Any]:
    """The other operand, where one is the neutral element.

    Lemma *neutral element*: max(x, −inf) = x, x · 1 = x, x / 1 = x, x − 0 = x, x + −0 = x and the like, exact for
    reducers that reorder exactly and for arithmetic of real numbers.
    """
    if not function.neutral or any(value.monoid for value in values):
        return []
    found = []
    for number, value, other in zip(function.neutral, values, values[::-1], strict=True):
        where = None if number is None else _where_constant(engine, value, number)
        taken = None if where is None else engine.store.set_meet(where, domain)
        if taken is None or engine.store.set_empty(taken):
            continue
        rest = engine.store.set_minus(domain, taken)
        if (
            function.key[0] == "stablehlo.subtract"
            and not other.type.dtype.is_float
            and not engine.store.set_empty(rest)
        ):
            continue  # what devices take from indices, 0 on the first one, is to stay one function of the device
        found.append(engine.restricted(other, taken))
        domain = rest
        engine.used("neutral element")
    return found


def _where_constant(engine: Engine, value: Any, constant: int | float) -> Dom | None:
    """Points at which a view is this number; None where there are none."""
    store, found = engine.store, None
    for piece in value.pieces:
        rest = piece
        if not engine.unguarded(piece.atom)[1]:
            rest = without_constant(engine, piece, constant)
        if rest is not piece:
            part = store.domain(piece.rel)
            if rest is not None:
                part = store.set_minus(part, store.domain(rest.rel))
            found = part if found is None else store.set_union(found, part)
    return found


def _decided(engine: Engine, function: Function, values: Sequence[Any], domain: Dom) -> list[Any]:
    """A comparison where bounds decide it."""
    if not function.compares:
        return []
    direction = Comparison(dict(function.key[1])["comparison_direction"])
    found = decided(engine, direction, values[0], values[1], TensorType(values[0].type.shape, DType.I1))
    return [] if found is None else [found]


def _function(engine: Engine, op: Op) -> Function:
    key = (op.name, frozen_attributes(op.attributes, MEANINGS[op.name].attributes))
    return Function(key, op.name in COMMUTATIVE, _integers(engine, op))


def _integers(engine: Engine, op: Op) -> Callable[[Sequence[Any]], Any]:
    return lambda operands: index_result(engine, op, operands)


def is_known(engine: Engine, value: Any) -> bool:
    """Whether a value is a view of known integers."""
    return value.monoid is None and all(engine.is_integer(piece.atom) for piece in value.pieces)


def index_result(engine: Engine, op: Op, values: Sequence[Any]) -> Any:
    """The result as index arithmetic where every operand is made of known integers, else None."""
    if not values or not all(is_known(engine, value) for value in values):
        return None
    store, result = engine.store, op.results[0].tensor
    joints, domain = [piece.rel for piece in values[0].pieces], values[0].domain
    for value in values[1:]:
        domain = store.set_meet(domain, value.domain)
        pairs = [store.pair(joint, piece.rel) for joint in joints for piece in value.pieces]
        joints = [pair for pair in pairs if not store.empty(pair)]
    pieces, types = [], [value.type.dtype for value in values]
    for joint in joints:
        function = index_function(store, op.name, op.attributes, types, result.dtype, joint)
        if function is None:
            return None
        pieces.append(Piece(engine.integer(result.dtype), store.compose(joint, function)))
    engine.used("index arithmetic")
    theory = strongest([value.theory for value in values])
    return engine.value(result, engine.gathered(pieces), domain, theory=theory)


def _combined(engine: Engine, op: Op, values: Sequence[Any], monoid: Monoid) -> Any:
    """A sum of sums: the elements of all operands together (with their signs for a difference)."""
    sums = []
    for value in values:
        if value.monoid not in (None, monoid):
            value = engine.close(value, f"partial result of '{value.monoid.value}' is combined with '{monoid.value}'")  # noqa: PLW2901
        sums.append(engine.as_sum(value, monoid))
    if op.name == "stablehlo.subtract":
        sums[1] = _negated(engine, sums[1])
    type_ = op.results[0].tensor
    merged = engine.merged([piece for value in sums for piece in value.pieces], monoid, type_.dtype)
    if merged is None:
        closed = [engine.close(value, "part of a sum that it is taken from again") for value in values]
        return engine.lift(_function(engine, op), closed, type_)
    domain = engine.store.set_meet(sums[0].domain, sums[1].domain)
    levels = 1 + max(value.levels for value in sums)
    theory = strongest([value.theory for value in sums])
    return engine.settle(engine.value(type_, merged, domain, monoid, levels, theory))


def _negated(engine: Engine, value: Any) -> Any:
    return replace(value, pieces=tuple(Piece(p.atom, p.rel, -p.coefficient) for p in value.pieces))


def relate_compare(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Comparison; `greater` is read as `less` with the operands exchanged."""
    known = index_result(engine, op, values)
    if known is not None:
        return [known]
    direction, order = Comparison(op.attributes["comparison_direction"]), 1
    if direction in (Comparison.EQ, Comparison.NE):
        values = [*unshifted(engine, *values)]
    if direction in _MIRRORED:
        direction, order = _MIRRORED[direction], -1
    attributes: tuple[tuple[str, Any], ...] = (("comparison_direction", direction),)
    if str(op.attributes.get("compare_type", "")).upper() == "TOTALORDER":
        attributes = (*attributes, ("compare_type", "TOTALORDER"))
    function = Function(
        (op.name, attributes),
        direction in (Comparison.EQ, Comparison.NE),
        lambda operands: index_result(engine, op, operands[::order]),
        compares=True,
    )
    return [_applied(engine, function, values[::order], op.results[0].tensor)]


def relate_convert(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Conversion; to the same type it is the identity, otherwise any rounding is an operation of its own."""
    if op.operands[0].tensor.dtype is op.results[0].tensor.dtype:
        return values
    return relate_elementwise(engine, op, values)


def relate_bitcast_convert(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """The same bits; where the width changes, the last dimension is the row that one wider element is cut into."""
    source, result = op.operands[0].tensor, op.results[0].tensor
    if source.rank == result.rank:
        return relate_elementwise(engine, op, values)
    batch = list(source.shape if source.rank < result.rank else result.shape)
    whole = engine.builder.moved(source.shape, names("i", source.rank))
    operand = RowOperand(values[0], whole, source.rank - len(batch))
    read = engine.builder.moved(result.shape, names("i", result.rank))
    return engine.rows((op.name, source.dtype, result.dtype), [operand], batch, [result], [read])


def relate_square(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """The operand times itself, which is how it is defined."""
    function = Function(("stablehlo.multiply", ()), commutative=True)
    return [engine.lift(function, [values[0], values[0]], op.results[0].tensor)]


def relate_clamp(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Clamp; scalar bounds are broadcast first."""
    low, operand, high = values
    return relate_elementwise(engine, op, [spread(engine, low, operand), operand, spread(engine, high, operand)])


def spread(engine: Engine, value: Any, like: Any) -> Any:
    """A scalar at every point of a shape."""
    if value.type.shape == like.type.shape:
        return value
    type_ = TensorType(like.type.shape, value.type.dtype)
    return engine.read_through(value, engine.builder.moved(type_.shape, []), type_)


def relate_select(engine: Engine, op: Op, values: list[Any]) -> list[Any]:
    """Selection: by position where the predicate is known, by guards where it tests indices, else congruence."""
    predicate, *choices = values
    predicate = spread(engine, predicate, choices[0])
    store, type_ = engine.store, op.results[0].tensor
    if is_known(engine, predicate):
        engine.leaves_out(choices)
        # each part by itself: where an operand is not chosen it need not be defined
        parts = []
        for number, value in ((1, choices[0]), (0, choices[1])):
            where = _where(engine, predicate, number)
            if not store.set_empty(where):
                parts.append((store.identity_on(where), value))
        found = engine.piecewise(parts, type_)
        return [replace(found, theory=strongest([found.theory, predicate.theory]))]
    if predicate.monoid is not None:
        predicate = engine.close(predicate, "predicate of a selection")
    guarded = _select_by_guards(engine, predicate, *choices)
    if guarded is not None:
        engine.leaves_out(choices)
        return [guarded]
    return [engine.lift(Function((op.name, ())), [predicate, *choices], type_)]


def _where(engine: Engine, predicate: Any, number: int) -> Dom:
    store = engine.store
    result = store.set_minus(predicate.domain, predicate.domain)
    for piece in predicate.pieces:
        result = store.set_union(result, store.domain(store.fix_range(piece.rel, 0, number)))
    return store.set_meet(result, predicate.domain)


def _select_by_guards(engine: Engine, predicate: Any, on_true: Any, on_false: Any) -> Any:
    """A predicate on unknown indices restricts the guards of the chosen operand.

    Only where an operand is itself read by such guards (a masked look-up), or where the predicate finds an unknown
    place (as an update of a slice does): elsewhere selection is an op like any other.
    """
    if has_guards(engine, predicate):
        return None
    # whether a look-up has a name by now depends on what else a program does with it
    on_true, on_false = (_without_names(engine, value) for value in (on_true, on_false))
    store, tested = engine.store, None
    if not (has_guards(engine, on_true) or has_guards(engine, on_false)):
        if any(is_uniform(engine, value) for value in (on_true, on_false)):
            return None
        tested = _placed(engine, predicate)
        if tested is None:
            return None
    tested = tested or index_form(engine, predicate)
    monoids = {value.monoid for value in (on_true, on_false) if value.monoid is not None}
    if len(monoids) > 1:
        return None
    monoid = next(iter(monoids), None)
    if monoid is None and any(is_constant(engine, value, 0) for value in (on_true, on_false)):
        # zero where the look-up is masked: as a sum it needs no piece of its own for all the other indices
        monoid = Monoid.ADD
    pieces: list[Any] = []
    for number, value in ((1, on_true), (0, on_false)):
        if monoid is Monoid.ADD and is_constant(engine, value, 0):
            continue
        source = engine.as_sum(value, monoid) if monoid is not None else value
        for test in tested.pieces:
            rel = store.fix_range(test.rel, 0, number)
            if not store.empty(rel):
                guards = Guarded(split_guarded(engine, test).guards, 1, rel)
                pieces += [made for piece in source.pieces for made in chosen(engine, piece, guards)]
    engine.limit_pieces(len(pieces))
    engine.used("guard")
    domain = store.set_meet(predicate.domain, store.set_meet(on_true.domain, on_false.domain))
    levels = max(on_true.levels, on_false.levels)
    theory = strongest([predicate.theory, on_true.theory, on_false.theory])
    return engine.value(on_true.type, engine.gathered(pieces), domain, monoid, levels, theory)


def _placed(engine: Engine, predicate: Any) -> Any:
    """A predicate under guards, if it tells at which points an unknown integer lies; None for any other.

    Of two points either the same integers lie there, or none that lie at both; and these are not all the points.
    """
    if not all(engine.integer_operation(piece.atom) for piece in predicate.pieces):
        return None
    store, tested = engine.store, index_form(engine, predicate)
    found: Rel | None = None
    for piece in tested.pieces:
        true, guards = store.fix_range(piece.rel, 0, 1), split_guarded(engine, piece).guards
        if len(guards) > 1 or any(guard.dtype.is_bool for guard in guards):
            return None
        if store.empty(true):
            continue
        if found is not None or not guards:
            return None
        found = store.project_out(true, 0, 1)
    if found is None or not store.equal(store.compose(store.compose(found, store.reverse(found)), found), found):
        return None
    lies = store.project_out(found, 0, found.arity_out - 1)
    everywhere = store.compose(constant(store, store.domain(lies)), store.reverse(constant(store, store.range(lies))))
    return None if store.equal(lies, everywhere) else tested


def _without_names(engine: Engine, value: Any) -> Any:
    """A view with what named look-ups in it are of."""
    store, pieces = engine.store, []
    for piece in value.pieces:
        monoid, parts = engine.defined_as(piece.atom) or (Monoid.ADD, ())
        if monoid is not None or not any(engine.unguarded(part.atom)[1] for part in parts):
            pieces.append(piece)
            continue
        read = [Piece(part.atom, store.compose(piece.rel, part.rel)) for part in parts]
        pieces += [part for part in read if not store.empty(part.rel)]
    return value if value.monoid is not None else replace(value, pieces=engine.gathered(pieces))


def has_guards(engine: Engine, value: Any) -> bool:
    return any(engine.unguarded(piece.atom)[1] for piece in value.pieces)


def is_uniform(engine: Engine, value: Any) -> bool:
    """Whether a view holds constants alone."""
    return is_known(engine, value) or all(engine.number_of(piece.atom) is not None for piece in value.pieces)


def is_constant(engine: Engine, value: Any, number: int) -> bool:
    """Whether a view is this integer everywhere (for floats: +0, not −0)."""
    return is_known(engine, value) and all(
        engine.store.constant_range(piece.rel) == (number,) for piece in value.pieces
    )


RELATIONS = {
    "chlo.square": relate_square,
    "stablehlo.bitcast_convert": relate_bitcast_convert,
    "stablehlo.compare": relate_compare,
    "stablehlo.convert": relate_convert,
    "stablehlo.clamp": relate_clamp,
    "stablehlo.select": relate_select,
}
