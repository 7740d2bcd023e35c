"""What each op does to values: its relations composed, its sums put together, or a term that a claim has to name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ops.collective_maps import exchange_read, gather_read, reduced_read, source_read, sources
from ..ops.contraction_maps import CONTRACTIONS, flavour
from ..ops.digest import bytes_digest
from ..ops.integers import exact_integers, index_function
from ..ops.keys import frozen_attributes, spelled
from ..ops.monoid import Monoid, monoid_of_region
from ..ops.movement_maps import IDENTITIES, MOVES
from ..ops.record import Family
from ..ops.records import MEANINGS
from ..ops.reduction_maps import reduce_read, window_read
from ..read.attributes import Comparison
from ..read.ir import DType, Op, TensorType
from ..relation.objects import Dom, Rel
from .accesses import access, scatter
from .control import branches, while_loop
from .errors import Rejection
from .guards import Guarded
from .lifted import Lifted
from .manual import boundary_call, manual_computation
from .rows import ROW_RULES
from .run import AnyValue, Run, Tuple
from .sums import contract, sum_over
from .terms import Kind, number_of
from .values import Piece, Value, weakest

Rule = Callable[[Run, Op, list[AnyValue]], Sequence["AnyValue | Lifted"]]

COMMUTATIVE = frozenset(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
_LOGICAL = {Monoid.ADD: Monoid.OR, Monoid.MAX: Monoid.OR, Monoid.MUL: Monoid.AND, Monoid.MIN: Monoid.AND}
_MIRRORED = {Comparison.GT: Comparison.LT, Comparison.GE: Comparison.LE}
MAX_TABLE = 1 << 16
"""Constants of more elements than this are terms of their own."""


# movement -----------------------------------------------------------------------------------------------------------


def _moved(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    type_ = op.results[0].tensor
    parts = [(rel, run.known(values[number])) for number, rel in MOVES[op.name](run.builder, op)]
    return [run.ground.piecewise(parts, type_, run.points(type_))]


def _same(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    return values


def _moved_between(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    read = gather_read if op.name == "stablehlo.all_gather" else exchange_read
    results: list[AnyValue] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        rel = read(run.builder, op, number)
        if rel is None:
            raise Rejection("these device groups are not checked")
        results.append(run.ground.read(run.known(value), rel, result.tensor))
    return results


def _sent(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    vector = sources(op, run.builder.mesh.num_devices)
    if vector is None:
        raise Rejection("these pairs of devices are not checked")
    return [_from_sources(run, op, number, run.known(value), vector) for number, value in enumerate(values)]


def _from_sources(run: Run, op: Op, number: int, value: Value, vector: np.ndarray) -> Value:
    """What each device reads from its source, zeros where it has none."""
    ground, rels, type_ = run.ground, run.ground.rels, value.type
    points = run.points(type_)
    if not run.builder.mesh.sizes:
        if vector[0] != 0:
            raise Rejection("one device without a source")
        return value
    zero = _zero(run, type_, points)
    if (vector < 0).all():
        return Value(type_, (zero,), points)
    rel = source_read(run.builder, op, number, vector)
    if rel is None:
        raise Rejection("these pairs of devices are not checked")
    moved = ground.read(value, rel, type_)
    missing = rels.set_minus(points, rels.domain(rel))
    if rels.set_empty(missing):
        return moved
    domain = rels.set_union(moved.domain, missing)
    if moved.monoid is Monoid.ADD:
        return Value(type_, moved.pieces, domain, moved.monoid, moved.levels, moved.theory)
    if moved.monoid is not None:
        raise Rejection("a partial result is sent to other devices")
    zero = _zero(run, type_, missing)
    return Value(type_, ground.gathered((*moved.pieces, zero)), domain, theory=moved.theory)


def _zero(run: Run, type_: TensorType, domain: Dom) -> Piece:
    return _constant(run, _typed(0, type_.dtype), type_.dtype, domain)


def _typed(number: int, dtype: DType) -> np.generic:
    if dtype.is_complex:
        return np.complex64(number) if dtype is DType.C64 else np.complex128(number)
    return np.int64(number)


def _constant(run: Run, value: Any, dtype: DType, domain: Dom) -> Piece:
    term, integer = run.ground.terms.constant(dtype, value)
    if integer is None:
        return Piece(term, run.ground.nothing(domain))
    return run.ground.number_piece(term, integer, domain)


def _literal(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    """A constant: one number everywhere, integers by a table, or a term of its own."""
    type_, array = op.results[0].tensor, np.asarray(op.attributes["value"])
    dtype, points = type_.dtype, run.points(type_)
    if type_.size and all(
        stride == 0 or extent == 1 for stride, extent in zip(array.strides, array.shape, strict=True)
    ):
        value = array.reshape(-1)[0]
        if dtype.is_complex:
            value = np.asarray(value, np.complex64 if dtype is DType.C64 else np.complex128)[()]
        return [Value(type_, (_constant(run, value, dtype, points),), points)]
    if type_.size <= MAX_TABLE:
        whole = _whole_numbers(array, dtype)
        rel = run.builder.table(whole[None], type_.shape) if whole is not None else None
        if rel is not None:
            return [Value(type_, (Piece(run.ground.terms.integer(dtype), rel),), points)]
    term = run.ground.terms.make(
        Kind.ARRAY, dtype, type_.rank, bytes_digest(array.shape, np.ascontiguousarray(array).tobytes())
    )
    return [Value(type_, (Piece(term, run.builder.local_identity(type_.shape)),), points)]


def _whole_numbers(array: np.ndarray, dtype: DType) -> np.ndarray | None:
    """The array as int64 if every element is exactly that integer and no negative zero."""
    if dtype.is_complex or (dtype is DType.UI64 and (array > np.uint64(1 << 62)).any()):
        return None
    if dtype.is_float:
        wide = array.astype(np.float64)
        if not np.isfinite(wide).all() or (wide != np.floor(wide)).any() or np.signbit(wide[wide == 0]).any():
            return None
        if np.abs(wide).max(initial=0) > exact_integers(dtype):
            return None
        return wide.astype(np.int64)
    return array.astype(np.int64)


def _iota(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    type_, axis = op.results[0].tensor, op.attributes["iota_dimension"]
    most = exact_integers(type_.dtype) if type_.dtype.is_float else 0
    if type_.dtype.is_integer:
        most = type_.dtype.integer_range[1]
    if type_.shape[axis] - 1 > most:
        raise Rejection("an iota beyond its type's integers is not checked")
    rel = run.builder.relation(type_.shape, [f"i{axis}"])
    return [Value(type_, (Piece(run.ground.terms.integer(type_.dtype), rel),), run.points(type_))]


def _device_number(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    type_, (replicas, partitions) = op.results[0].tensor, run.devices
    if run.is_before and not run.builder.mesh.sizes and run.devices != (1, 1):
        raise Rejection("a logical program asks for its device")
    numbers = np.arange(run.builder.mesh.num_devices, dtype=np.int64)
    if replicas * partitions != len(numbers):
        raise Rejection("the number of devices is unclear")
    vector = numbers % partitions if op.name == "stablehlo.partition_id" else numbers // partitions
    rel = run.builder.table(vector, type_.shape)
    if rel is None:
        raise Rejection("device numbers take too many boxes")
    return [Value(type_, (Piece(run.ground.terms.integer(type_.dtype), rel),), run.points(type_))]


# elementwise --------------------------------------------------------------------------------------------------------


def op_key(run: Run, name: str, attributes: tuple[tuple[str, object], ...] = ()) -> str:
    key = spelled((name, attributes))
    run.ground.terms.meanings[key] = dict(attributes)
    return key


def _elementwise(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    operands = [run.known(value) for value in values]
    known = _index_arithmetic(run, op, operands)
    if known is not None:
        return [known]
    type_ = op.results[0].tensor
    monoid = next((m for m in Monoid if op.name in (m.value, {Monoid.ADD: "stablehlo.subtract"}.get(m))), None)
    if monoid is not None and type_.dtype.is_bool:
        monoid = _LOGICAL.get(monoid, monoid)
    if monoid is not None and any(value.monoid is monoid for value in operands):
        return [_combined(run, op, operands, monoid)]
    if op.name == "stablehlo.negate" and operands[0].monoid is Monoid.ADD:
        return [_negated(operands[0])]
    exact = monoid is not None and (monoid.reorders_exactly(type_.dtype) or monoid is Monoid.MUL)
    neutral = monoid if exact and op.name in COMMUTATIVE else None
    key = op_key(run, op.name, frozen_attributes(op.attributes, MEANINGS[op.name].attributes))
    known = (partial(_known_part, run, op, operands),)
    return [Lifted(key, tuple(operands), type_, op.name in COMMUTATIVE, neutral, known)]


def _index_arithmetic(run: Run, op: Op, operands: Sequence[Value]) -> Value | None:
    """The op on integers that are known."""
    if not operands or any(
        value.monoid is not None or any(piece.term.kind is not Kind.INTEGER for piece in value.pieces)
        for value in operands
    ):
        return None
    rels, result = run.ground.rels, op.results[0].tensor
    joints = [piece.rel for piece in operands[0].pieces]
    domain = operands[0].domain
    for value in operands[1:]:
        joints = [rel for one in joints for p in value.pieces if not rels.empty(rel := rels.pair(one, p.rel))]
        domain = rels.set_meet(domain, value.domain)
    types, pieces = [value.type.dtype for value in operands], []
    for joint in joints:
        function = index_function(run.builder.store, op.name, op.attributes, types, result.dtype, joint)
        if function is None:
            return None
        pieces.append(Piece(run.ground.terms.integer(result.dtype), rels.compose(joint, function)))
    theory = weakest(*(value.theory for value in operands))
    return Value(result, run.ground.gathered(pieces), domain, theory=theory)


def _known_part(run: Run, op: Op, operands: Sequence[Value]) -> Value | None:
    """The op at the points where all operands are known integers."""
    rels, domain = run.ground.rels, operands[0].domain
    for value in operands:
        found = rels.set_minus(domain, domain)
        for piece in value.pieces if value.monoid is None else ():
            if piece.term.kind is Kind.INTEGER:
                found = rels.set_union(found, rels.domain(piece.rel))
        domain = rels.set_meet(domain, rels.set_meet(found, value.domain))
    return _index_arithmetic(run, op, [run.ground.restricted(value, domain) for value in operands])


def _decided(run: Run, op: Op, operands: Sequence[Value]) -> Value | None:
    """A comparison at the points where it gives the same for all values that unknown integers can have."""
    rels, dtype = run.ground.rels, operands[0].type.dtype
    if not dtype.is_integer or any(value.monoid is not None for value in operands):
        return None
    forms = [run.guards.index_form(value) for value in operands]
    domain = rels.set_meet(forms[0].domain, forms[1].domain)
    seen = [rels.set_minus(domain, domain)] * 2
    for joint in run.guards.joints(forms, domain):
        plain = rels.project_out(joint.rel, joint.count, joint.rel.arity_out - joint.count)
        function = index_function(run.builder.store, op.name, op.attributes, [dtype, dtype], DType.I1, plain)
        if function is None:
            return None
        bits = rels.compose(plain, function)
        seen = [rels.set_union(known, rels.domain(rels.fix_range(bits, 0, k))) for k, known in enumerate(seen)]
    both = rels.set_meet(*seen)
    term = run.ground.terms.integer(DType.I1)
    parts = [rels.set_meet(rels.set_minus(where, both), domain) for where in seen]
    pieces = tuple(run.ground.number_piece(term, k, where) for k, where in enumerate(parts))
    theory = weakest(*(value.theory for value in operands))
    return Value(op.results[0].tensor, pieces, rels.set_union(*parts), theory=theory)


def _combined(run: Run, op: Op, operands: Sequence[Value], monoid: Monoid) -> Value:
    """A sum of sums: the elements of both operands together."""
    first, second = (run.ground.as_sum(value, monoid) for value in operands)
    if op.name == "stablehlo.subtract":
        second = _negated(second)
    pieces = run.ground.gathered((*first.pieces, *second.pieces), monoid.idempotent)
    domain = run.ground.rels.set_meet(first.domain, second.domain)
    levels, theory = 1 + max(first.levels, second.levels), weakest(first.theory, second.theory)
    return Value(op.results[0].tensor, pieces, domain, monoid, levels, theory)


def _negated(value: Value) -> Value:
    pieces = tuple(Piece(piece.term, piece.rel, -piece.count) for piece in value.pieces)
    return Value(value.type, pieces, value.domain, value.monoid, value.levels, value.theory)


def _compare(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    given = operands = [run.known(value) for value in values]
    known = _index_arithmetic(run, op, operands)
    if known is not None:
        return [known]
    direction = Comparison(op.attributes["comparison_direction"])
    if direction in _MIRRORED:
        direction, operands = _MIRRORED[direction], operands[::-1]
    attributes: tuple[tuple[str, object], ...] = (("comparison_direction", direction),)
    if str(op.attributes.get("compare_type", "")).upper() == "TOTALORDER":
        attributes = (*attributes, ("compare_type", "TOTALORDER"))
    commutative = direction in (Comparison.EQ, Comparison.NE)
    ways = tuple(partial(way, run, op, given) for way in (_known_part, _decided))
    key = op_key(run, op.name, attributes)
    return [Lifted(key, tuple(operands), op.results[0].tensor, commutative, known=ways)]


def _convert(run: Run, op: Op, values: list[AnyValue]) -> Sequence[AnyValue | Lifted]:
    same = op.operands[0].tensor.dtype is op.results[0].tensor.dtype
    return values if same else _elementwise(run, op, values)


def _bitcast(run: Run, op: Op, values: list[AnyValue]) -> Sequence[AnyValue | Lifted]:
    if op.operands[0].tensor.rank != op.results[0].tensor.rank:
        raise Rejection("a bitcast to another width is not checked")
    return _elementwise(run, op, values)


def _square(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    value = run.known(values[0])
    return [Lifted(op_key(run, "stablehlo.multiply"), (value, value), op.results[0].tensor, True)]


def spread(run: Run, value: Value, like: TensorType) -> Value:
    """A scalar at every point of a shape."""
    if value.type.shape == like.shape:
        return value
    return run.ground.read(value, run.builder.moved(like.shape, []), TensorType(like.shape, value.type.dtype))


def _clamp(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    low, operand, high = (run.known(value) for value in values)
    return _elementwise(run, op, [spread(run, low, operand.type), operand, spread(run, high, operand.type)])


def _select(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue | Lifted]:
    """By position where the predicate is known, by guards where it tests indices, else elementwise."""
    predicate, on_true, on_false = (run.known(value) for value in values)
    predicate = spread(run, predicate, on_true.type)
    rels, type_ = run.ground.rels, op.results[0].tensor
    if predicate.monoid is None and all(piece.term.kind is Kind.INTEGER for piece in predicate.pieces):
        parts: list[tuple[Rel, Value]] = []
        for number, value in ((1, on_true), (0, on_false)):
            for piece in predicate.pieces:
                where = rels.domain(rels.fix_range(piece.rel, 0, number))
                where = rels.set_meet(where, predicate.domain)
                if not rels.set_empty(where):
                    parts.append((rels.identity_on(where), value))
        return [run.ground.piecewise(parts, type_, run.points(type_)).needing(predicate.theory)]
    if _guarded(on_true) or _guarded(on_false):
        return [_selected_by_guards(run, predicate, on_true, on_false)]
    return [Lifted(op_key(run, op.name), (predicate, on_true, on_false), type_)]


def _guarded(value: Value) -> bool:
    return any(piece.term.kind is Kind.GUARD for piece in value.pieces)


def _selected_by_guards(run: Run, predicate: Value, on_true: Value, on_false: Value) -> Value:
    """A predicate on unknown indices restricts the guards of what is chosen."""
    rels = run.ground.rels
    tested = run.guards.index_form(run.ground.as_view(predicate))
    monoids = {value.monoid for value in (on_true, on_false)} - {None}
    if len(monoids) > 1:
        raise Rejection("partial results of different reducers are chosen from")
    monoid = next(iter(monoids), None)
    if monoid is None and any(_is_zero(run, value) for value in (on_true, on_false)):
        monoid = Monoid.ADD
    pieces: list[Piece] = []
    for number, value in ((1, on_true), (0, on_false)):
        if monoid is Monoid.ADD and _is_zero(run, value):
            continue
        source = run.ground.as_sum(value, monoid) if monoid is not None else value
        for test in tested.pieces:
            rel = rels.fix_range(test.rel, 0, number)
            if not rels.empty(rel):
                chosen = Guarded(Guarded.of(test).guards, 1, rel)
                pieces += [made for piece in source.pieces for made in run.guards.both(piece, chosen)]
    domain = rels.set_meet(predicate.domain, rels.set_meet(on_true.domain, on_false.domain))
    levels = max(on_true.levels, on_false.levels)
    theory = weakest(predicate.theory, on_true.theory, on_false.theory)
    return Value(on_true.type, run.ground.gathered(pieces), domain, monoid, levels, theory)


def _is_zero(run: Run, value: Value) -> bool:
    """Whether a view is +0 everywhere."""
    return value.monoid is None and all(
        piece.term.kind is Kind.INTEGER and run.ground.rels.constant_range(piece.rel) == (0,) for piece in value.pieces
    )


# sums ---------------------------------------------------------------------------------------------------------------


def starts_neutral(run: Run, init: Value, monoid: Monoid) -> int | None:
    """How many steps of summation a reduction from here takes, None where it does not start neutral."""
    neutral, steps = monoid.neutral(init.type.dtype), 1
    for piece in init.pieces:
        if piece.term.kind is Kind.INTEGER:
            if run.ground.rels.constant_range(piece.rel) != (neutral,):
                return None
        elif piece.term.kind is not Kind.SCALAR or number_of(piece.term) != neutral:
            return None
        elif neutral == 0:
            steps = 2
    return steps if init.pieces and init.monoid is None else None


def _reduce(run: Run, op: Op, values: list[AnyValue]) -> Sequence[AnyValue | Lifted]:
    monoid = monoid_of_region(op.regions[0])
    if len(values) == 2 and monoid is not None:
        steps = starts_neutral(run, run.known(values[1]), monoid)
        if steps is not None:
            read = reduce_read if op.name == "stablehlo.reduce" else window_read
            type_ = op.results[0].tensor
            return [sum_over(run, run.known(values[0]), read(run.builder, op), monoid, type_, steps)]
    raise Rejection("a reduction in order is not checked")


def _reduced_between(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    monoid = monoid_of_region(op.regions[0])
    results: list[AnyValue] = []
    for number, (value, result) in enumerate(zip(values, op.results, strict=True)):
        read = reduced_read(run.builder, op, number)
        if read is None or monoid is None:
            raise Rejection("these device groups or this reducer are not checked")
        steps = 2 if read[1] > 1 else 0
        results.append(sum_over(run, run.known(value), read[0], monoid, result.tensor, steps))
    return results


def _contraction(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    lhs, rhs = (run.view(value) for value in values)
    reads = CONTRACTIONS[op.name](run.builder, op)
    if reads is None:
        raise Rejection("feature groups together with batch groups are not checked")
    return [contract(run, lhs, rhs, reads, op.results[0].tensor, repr(flavour(op)))]


def _tuple(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    return [Tuple(tuple(values))]


def _element(run: Run, op: Op, values: list[AnyValue]) -> list[AnyValue]:
    value = values[0]
    if not isinstance(value, Tuple):
        raise Rejection("a tuple of unknown content")
    return [value.elements[int(op.attributes["index"])]]


RULES: Mapping[str, Rule] = {
    **{name: _elementwise for name, record in MEANINGS.items() if record.family is Family.ELEMENTWISE},
    **dict.fromkeys(MOVES, _moved),
    **dict.fromkeys(IDENTITIES, _same),
    **dict.fromkeys(CONTRACTIONS, _contraction),
    **ROW_RULES,
    "chlo.square": _square,
    "sdy.manual_computation": manual_computation,
    "stablehlo.after_all": lambda run, op, values: [Tuple()],
    "stablehlo.all_gather": _moved_between,
    "stablehlo.all_reduce": _reduced_between,
    "stablehlo.all_to_all": _moved_between,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.case": branches,
    "stablehlo.clamp": _clamp,
    "stablehlo.collective_broadcast": _sent,
    "stablehlo.collective_permute": _sent,
    "stablehlo.compare": _compare,
    "stablehlo.constant": _literal,
    "stablehlo.convert": _convert,
    "stablehlo.create_token": lambda run, op, values: [Tuple()],
    "stablehlo.custom_call": boundary_call,
    "stablehlo.dynamic_slice": access,
    "stablehlo.dynamic_update_slice": access,
    "stablehlo.gather": access,
    "stablehlo.get_tuple_element": _element,
    "stablehlo.if": branches,
    "stablehlo.iota": _iota,
    "stablehlo.partition_id": _device_number,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_scatter": _reduced_between,
    "stablehlo.reduce_window": _reduce,
    "stablehlo.replica_id": _device_number,
    "stablehlo.scatter": scatter,
    "stablehlo.select": _select,
    "stablehlo.tuple": _tuple,
    "stablehlo.while": while_loop,
}
