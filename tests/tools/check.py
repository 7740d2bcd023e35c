"""Checks a program: every value defined once and before its uses, every result's type what its operation says.

Operations whose result type depends on more than shapes (custom calls, look-ups) are checked for SSA only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from shardproof.validator.read.ir import DType, Op, Program, Region, TensorType, Type, Value

from .context import groups_of

Check = Callable[[Op], tuple[Type, ...]]


class IllTyped(Exception):
    """A program that no reader could have made."""


def check_program(program: Program) -> None:
    """Raise `IllTyped` at the first operation that breaks a rule."""
    _Checker(program).run()


class _Checker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers: set[int] = set()
        self.defined: set[Value] = set()

    def run(self) -> None:
        program = self.program
        if tuple(result.value for result in program.results) != program.body.results:
            raise IllTyped("results differ from what the body returns")
        arguments = tuple(parameter.value for parameter in program.parameters)
        if program.body.arguments and program.body.arguments != arguments:
            raise IllTyped("parameters differ from the body's arguments")
        self._define(arguments)
        self._ops(program.body)
        self._use("return", program.body.results)

    def _define(self, values: Iterable[Value]) -> None:
        for value in values:
            if value.number in self.numbers:
                raise IllTyped(f"number {value.number} of '{value.name}' is used twice")
            self.numbers.add(value.number)
            self.defined.add(value)

    def _use(self, where: str, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self.defined:
                raise IllTyped(f"'{where}' uses '{value.name}' before its definition")

    def _ops(self, region: Region) -> None:
        for op in region.ops:
            self._use(op.name, op.operands)
            for inner in op.regions:
                self._region(op, inner)
            check = _RULES.get(op.name.removeprefix("stablehlo."))
            if check is not None:
                self._compare(op, check(op))
            if groups_of(op) is not None:
                self._groups(op)
            self._define(op.results)

    def _region(self, op: Op, region: Region) -> None:
        known = set(self.defined)
        self._define(region.arguments)
        self._ops(region)
        self._use(f"{op.name} region", region.results)
        self.defined = known

    def _groups(self, op: Op) -> None:
        table = groups_of(op)
        assert table is not None
        flat = table.ravel().tolist()
        if len(set(flat)) != len(flat) or not set(flat) <= set(range(self.program.num_devices)):
            raise IllTyped(f"'{op.name}' has groups {table.tolist()} for {self.program.num_devices} devices")

    def _compare(self, op: Op, expected: tuple[Type, ...]) -> None:
        actual = tuple(value.type for value in op.results)
        if actual != expected:
            names = ", ".join(map(str, actual)), ", ".join(map(str, expected))
            raise IllTyped(f"'{op.name}' {op.results[0].name} has type {names[0]} instead of {names[1]}")


def _same(op: Op) -> tuple[Type, ...]:
    for value in op.operands[1:]:
        if value.type != op.operands[0].type:
            raise IllTyped(f"'{op.name}' has operands of types {op.operands[0].type} and {value.type}")
    return (op.operands[0].type,)


def _abs(op: Op) -> tuple[Type, ...]:
    kind = op.operands[0].tensor
    real = {DType.C64: DType.F32, DType.C128: DType.F64}
    return (TensorType(kind.shape, real.get(kind.dtype, kind.dtype)),)


def _compare(op: Op) -> tuple[Type, ...]:
    _same(op)
    return (TensorType(op.operands[0].tensor.shape, DType.I1),)


def _select(op: Op) -> tuple[Type, ...]:
    predicate, chosen, other = op.operands
    if chosen.type != other.type or predicate.tensor.shape not in ((), chosen.tensor.shape):
        raise IllTyped(f"'{op.name}' has branches {chosen.type} and {other.type} under {predicate.type}")
    return (chosen.type,)


def _clamp(op: Op) -> tuple[Type, ...]:
    return (op.operands[1].type,)


def _constant(op: Op) -> tuple[Type, ...]:
    kind = op.results[0].tensor
    value = np.asarray(op.attributes["value"])
    if value.shape != kind.shape:
        raise IllTyped(f"constant {op.results[0].name} holds shape {value.shape} as {kind}")
    return (kind,)


def _reshape(op: Op) -> tuple[Type, ...]:
    kind, source = op.results[0].tensor, op.operands[0].tensor
    if kind.size != source.size or kind.dtype is not source.dtype:
        raise IllTyped(f"reshape {op.results[0].name} makes {kind} of {source}")
    return (kind,)


def _convert(op: Op) -> tuple[Type, ...]:
    return (TensorType(op.operands[0].tensor.shape, op.results[0].tensor.dtype),)


def _shaped(op: Op, shape: Iterable[int]) -> tuple[Type, ...]:
    return (TensorType(tuple(int(extent) for extent in shape), op.operands[0].tensor.dtype),)


def _transpose(op: Op) -> tuple[Type, ...]:
    return _shaped(op, (op.operands[0].tensor.shape[dim] for dim in op.attributes["permutation"]))


def _slice(op: Op) -> tuple[Type, ...]:
    shape = op.operands[0].tensor.shape
    extents = []
    attributes = (op.attributes[name] for name in ("start_indices", "limit_indices", "strides"))
    for extent, start, limit, stride in zip(shape, *attributes, strict=True):
        if not 0 <= start <= limit <= extent:
            raise IllTyped(f"slice {op.results[0].name} takes {start}:{limit} of {extent}")
        extents.append(-(-(limit - start) // stride))
    return _shaped(op, extents)


def _dynamic_slice(op: Op) -> tuple[Type, ...]:
    if len(op.operands) != 1 + op.operands[0].tensor.rank:
        raise IllTyped(f"dynamic_slice {op.results[0].name} has {len(op.operands) - 1} starts")
    return _shaped(op, op.attributes["slice_sizes"])


def _first(op: Op) -> tuple[Type, ...]:
    return (op.operands[0].type,)


def _concatenate(op: Op) -> tuple[Type, ...]:
    shape = list(op.operands[0].tensor.shape)
    dimension = op.attributes["dimension"]
    shape[dimension] = sum(value.tensor.shape[dimension] for value in op.operands)
    return _shaped(op, shape)


def _broadcast(op: Op) -> tuple[Type, ...]:
    source, kind = op.operands[0].tensor, op.results[0].tensor
    for dim, target in enumerate(op.attributes["broadcast_dimensions"]):
        if source.shape[dim] not in (1, kind.shape[target]):
            raise IllTyped(f"broadcast_in_dim {op.results[0].name} makes {kind} of {source}")
    return _shaped(op, kind.shape)


def _dot(op: Op) -> tuple[Type, ...]:
    dims = op.attributes.get("dot_dimension_numbers")
    kind = op.results[0].tensor
    if dims is None:
        return (kind,)
    left, right = (value.tensor.shape for value in op.operands)
    shape = [left[dim] for dim in dims.lhs_batch]
    shape += [n for dim, n in enumerate(left) if dim not in (*dims.lhs_batch, *dims.lhs_contracting)]
    shape += [n for dim, n in enumerate(right) if dim not in (*dims.rhs_batch, *dims.rhs_contracting)]
    return (TensorType(tuple(shape), kind.dtype),)


def _all_reduce(op: Op) -> tuple[Type, ...]:
    return tuple(value.type for value in op.operands)


def _resized(op: Op, changes: dict[str, int]) -> tuple[Type, ...]:
    """Each operand's type with dimensions multiplied (positive) or divided (negative) by the group size."""
    table = groups_of(op)
    if table is None:
        return tuple(value.type for value in op.results)
    kinds = []
    for value in op.operands:
        shape = list(value.tensor.shape)
        for name, sign in changes.items():
            dim = op.attributes[name]
            if sign < 0 and shape[dim] % table.shape[1]:
                raise IllTyped(f"'{op.name}' {op.results[0].name} splits {shape[dim]} by {table.shape[1]}")
            shape[dim] = shape[dim] * table.shape[1] if sign > 0 else shape[dim] // table.shape[1]
        kinds.append(TensorType(tuple(shape), value.tensor.dtype))
    return tuple(kinds)


def _while(op: Op) -> tuple[Type, ...]:
    kinds = tuple(value.type for value in op.operands)
    for region in op.regions:
        if tuple(value.type for value in region.arguments) != kinds:
            raise IllTyped(f"while {op.results[0].name} has regions of other types than its operands")
    if tuple(value.type for value in op.regions[1].results) != kinds:
        raise IllTyped(f"while {op.results[0].name} returns other types than it takes")
    return kinds


_ELEMENTWISE = (
    "add", "and", "atan2", "cbrt", "ceil", "cosine", "divide", "exponential", "exponential_minus_one", "floor",
    "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "power", "remainder",
    "round_nearest_even", "rsqrt", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine",
    "sqrt", "subtract", "tan", "tanh", "xor",
)  # fmt: skip

_RULES: dict[str, Check] = {
    **dict.fromkeys(_ELEMENTWISE, _same),
    "abs": _abs,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
    "constant": _constant,
    "reshape": _reshape,
    "convert": _convert,
    "transpose": _transpose,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _first,
    "reverse": _first,
    "concatenate": _concatenate,
    "broadcast_in_dim": _broadcast,
    "dot_general": _dot,
    "all_reduce": _all_reduce,
    "collective_permute": _all_reduce,
    "all_gather": lambda op: _resized(op, {"all_gather_dim": 1}),
    "reduce_scatter": lambda op: _resized(op, {"scatter_dimension": -1}),
    "all_to_all": lambda op: _resized(op, {"split_dimension": -1, "concat_dimension": 1}),
    "while": _while,
}
