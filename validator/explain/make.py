"""New ops for repairs: their values have numbers that the program does not use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..evaluate.numbers import STORAGE
from ..read.attributes import DeviceGroups, DevicePairs
from ..read.dtypes import NUMPY_DTYPES
from ..read.ir import DType, Op, Region, TensorType, Type, Value
from ..relate.value import Piece, Val
from ..relate.walk import Walk
from ..relation.points import contained, grid
from ..relation.store import Dom
from .known import MAX_ELEMENTS, Known, Values

_FIRST = 1 << 40
"""Above every value number of a program."""


class Maker:
    """Ops that stand in the place of another one; the last one made usually defines its result."""

    def __init__(self, place: Op) -> None:
        self._place = place
        self._next = _FIRST
        self.ops: list[Op] = []
        self.given: dict[int, Known] = {}

    def fork(self) -> Maker:
        """A maker of further ops, whose values are other ones than those made so far."""
        other = Maker(self._place)
        other._next = self._next
        return other

    def fresh(self, kind: Type) -> Value:
        self._next += 1
        return Value(self._next, kind, f"%repair{self._next - _FIRST}")

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        kind: Type,
        into: Value | None = None,
        regions: tuple[Region, ...] = (),
        **attributes: object,
    ) -> Value:
        result = self.fresh(kind) if into is None else into
        self.ops.append(Op(f"stablehlo.{name}", tuple(operands), (result,), attributes, regions, self._place.location))
        return result

    def before(self, op: Op) -> Value:
        """A copy of an op with one result, whose result then has another name."""
        result = self.fresh(op.results[0].type)
        self.ops.append(replace(op, results=(result,)))
        return result

    def same(self, value: Value, into: Value) -> Value:
        """Another name for a value of the same type."""
        return self.emit("reshape", (value,), into.type, into)

    def reducer(self, name: str, dtype: DType) -> Region:
        kind = TensorType((), dtype)
        left, right, both = self.fresh(kind), self.fresh(kind), self.fresh(kind)
        return Region((left, right), (Op(name, (left, right), (both,), {}, (), self._place.location),), (both,))

    def all_reduce(self, value: Value, table: np.ndarray, reducer: str, into: Value | None = None) -> Value:
        region = self.reducer(reducer, value.tensor.dtype)
        return self.emit("all_reduce", (value,), value.type, into, (region,), replica_groups=DeviceGroups(table))

    def all_gather(self, value: Value, table: np.ndarray, dimension: int, into: Value) -> Value:
        groups = DeviceGroups(table)
        return self.emit("all_gather", (value,), into.type, into, all_gather_dim=dimension, replica_groups=groups)

    def all_to_all(self, value: Value, table: np.ndarray, split: int, concat: int, into: Value) -> Value:
        return self.emit(
            "all_to_all",
            (value,),
            into.type,
            into,
            split_dimension=split,
            concat_dimension=concat,
            split_count=table.shape[1],
            replica_groups=DeviceGroups(table),
        )

    def permute(self, value: Value, pairs: np.ndarray, into: Value) -> Value:
        return self.emit("collective_permute", (value,), into.type, into, source_target_pairs=DevicePairs(pairs))

    def constant(self, number: object, kind: TensorType) -> Value:
        """A constant, filled with one number or given as an array of the right shape."""
        array = np.broadcast_to(np.asarray(number).astype(NUMPY_DTYPES[kind.dtype]), kind.shape)
        return self.emit("constant", (), kind, value=np.array(array))

    def known(self, walk: Walk, numbers: np.ndarray, kind: TensorType) -> Value:
        """Integers given for each device [devices], the same at every element."""
        array = np.broadcast_to(numbers.reshape(-1, *[1] * kind.rank), (len(numbers), *kind.shape))

        def relation() -> Val | None:
            rel = walk.builder.table(array.astype(np.int64), kind.shape)
            if rel is None:
                return None
            scalar = walk.known_value(array, kind) if kind.size <= 1 else None
            atom = walk.context.atoms.integer(kind.dtype)
            return scalar or Val(kind, (Piece(atom, rel),), walk.points(kind))

        held = array.astype(STORAGE[kind.dtype])
        return self.take(kind, Known(relation, lambda _: held))

    def mask(
        self, walk: Walk, inside: Callable[[], Dom], shape: tuple[int, ...], numbers: np.ndarray | None = None
    ) -> Value:
        """A boolean for each point: whether it is in the set; `numbers` are the same [devices, *shape] if known."""
        kind = TensorType(shape, DType.I1)

        def relation() -> Val:
            points, store, within = walk.points(kind), walk.store, inside()
            atom = walk.context.atoms.integer(DType.I1)
            variables = ",".join(f"p{k}" for k in range(points.arity))
            yes = store.restrict(store.rel(f"{{[{variables}] -> [1]}}"), store.set_meet(points, within))
            no = store.restrict(store.rel(f"{{[{variables}] -> [0]}}"), store.set_minus(points, within))
            return Val(kind, (Piece(atom, store.union(yes, no)),), points)

        def looked_at(_: Values) -> np.ndarray | None:
            if numbers is not None:
                return numbers
            sizes = walk.mesh.sizes
            found = contained(inside(), grid((*sizes, *shape))) if kind.size <= MAX_ELEMENTS else None
            return None if found is None else found.reshape(walk.mesh.num_devices, *shape)

        return self.take(kind, Known(relation, looked_at))

    def take(self, kind: Type, known: Known) -> Value:
        """A value that is given."""
        value = self.fresh(kind)
        self.given[value.number] = known
        return value
