"""Whether what a manual region makes of summands depends on nothing but their sum.

A region may take a tensor that its devices hold in summands (`unreduced`). Which summands these are is open, so the
region means something only if its results are the same for all of them. That is so if every value is one of these:

- *same*: it depends on no summand, and all devices of a group of summands hold the same.
- *own*: it depends on no summand.
- *part*: on device a of a group it is L(u_a) + c_a, with u_a the summand, L linear (for a maximum: what commutes with
  it) and the same on all devices of the group, and c_a depending on no summand.

Then the sum of a part over its group is L(Σ u_a) + Σ c_a, whatever the summands are. What is not known to keep to this
is refused, and so is a part that leaves the region as anything but summands of the same groups.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import numpy as np

from .attributes import DeviceGroups
from .ir import Op, Region, hands_on
from .shardings import REDUCERS, Sharding, ShardingKind

ENTER, LEAVE = "SPMDFullToShardShape", "SPMDShardToFullShape"
"""Custom calls at the boundaries of manual regions."""
MANUAL = "sdy.manual_computation"

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "concatenate", "optimization_barrier", "reshape", "reverse", "slice", "transpose")
)
"""Every element of the result is one of an operand."""
_SUMS = frozenset({"stablehlo.add", "stablehlo.negate", "stablehlo.subtract"})
_PRODUCTS = frozenset({"stablehlo.convolution", "stablehlo.dot_general", "stablehlo.multiply"})
_DEVICES = frozenset({"stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.infeed", "stablehlo.rng"})
"""Operations without operands that need not give the same on all devices."""


class State(enum.Enum):
    """What is known of a value of a region, see above."""

    SAME = "same"
    OWN = "own"
    PART = "part"


class Flow:
    """One block, with the shardings of its values where these are named, and of what a region takes and returns."""

    def __init__(
        self,
        region: Region,
        shardings: Mapping[int, Sharding | None],
        entering: Sequence[Sharding | None] | None = None,
        leaving: Sequence[Sharding | None] = (),
    ) -> None:
        self._region = region
        self._shardings = shardings
        self._entering = entering
        self._leaving = leaving
        self._known: dict[tuple[bytes, str], bool] = {}

    def is_free(self, groups: DeviceGroups, reducer: str) -> bool:
        """Whether no result depends on how tensors are cut into summands over these groups of devices."""
        key = (groups.table.tobytes(), reducer)
        if key not in self._known:
            self._known[key] = _Check(self._region, self._shardings, groups.table, reducer).passes(
                self._entering, self._leaving
            )
        return self._known[key]


class _Check:
    """One pass over a block for one partition of the devices into groups of summands."""

    def __init__(
        self, region: Region, shardings: Mapping[int, Sharding | None], table: np.ndarray, reducer: str
    ) -> None:
        self._region = region
        self._shardings = shardings
        self._reducer = reducer
        self._groups = {frozenset(row) for row in table.tolist()}
        self._group = np.empty(table.size, np.int64)
        self._group[table] = np.arange(len(table))[:, None]
        self._place = np.empty(table.size, np.int64)
        self._place[table] = np.arange(table.shape[1])
        self._states: dict[int, State] = {}

    def passes(self, entering: Sequence[Sharding | None] | None, leaving: Sequence[Sharding | None]) -> bool:
        for k, argument in enumerate(self._region.arguments):
            # what a block takes that is no region's is the same on all devices at the top, and unknown elsewhere
            self._states[argument.number] = State.OWN if entering is None else self._entered(entering[k], State.SAME)
        if not all(self._follow(op) for op in self._region.ops):
            return False
        parts = [k for k, result in enumerate(self._region.results) if self._of(result.number) is State.PART]
        return all(k < len(leaving) and self._is_summed(leaving[k]) for k in parts)

    def _of(self, number: int) -> State:
        return self._states.get(number, State.OWN)

    def _entered(self, sharding: Sharding | None, given: State) -> State:
        """A tensor at a boundary into a region, which is given from outside."""
        if self._is_summed(sharding):
            return State.PART
        if sharding is None or sharding.kind in (ShardingKind.REPLICATED, ShardingKind.MANUAL):
            return given
        if sharding.devices is None or any(word in REDUCERS for word in sharding.marked):
            return State.OWN
        tiles = np.empty(sharding.devices.size, np.int64)
        count = int(np.prod(sharding.tiles, dtype=np.int64))
        tiles[sharding.devices.reshape(count, -1)] = np.arange(count)[:, None]
        alike = all(len(set(tiles[sorted(group)].tolist())) == 1 for group in self._groups)
        return given if alike else State.OWN

    def _is_summed(self, sharding: Sharding | None) -> bool:
        """Whether a sharding leaves just these groups of devices to be summed."""
        sharding = None if sharding is None else sharding.of_rank(len(sharding.tiles), self._group.size)
        if sharding is None or sharding.devices is None:
            return False
        rank = len(sharding.tiles)
        summed = [rank + k for k, word in enumerate(sharding.marked) if REDUCERS.get(word) == self._reducer]
        if not summed or len(summed) != sum(word in REDUCERS for word in sharding.marked):
            return False
        rows = np.moveaxis(sharding.devices, summed, range(len(summed)))
        count = int(np.prod(rows.shape[: len(summed)], dtype=np.int64))
        return {frozenset(row) for row in rows.reshape(count, -1).T.tolist()} == self._groups

    def _follow(self, op: Op) -> bool:
        """Find the states of an op's results; False where a part is not kept one."""
        states = [self._of(operand.number) for operand in op.operands]
        state = self._parts(op, states) if State.PART in states else self._plain(op, states)
        captured = any(self._captures(inner) for inner in op.regions)
        if state is None or captured:
            return False
        self._states.update((result.number, state) for result in op.results)
        return True

    def _captures(self, region: Region) -> bool:
        """Whether a region uses a part of the block around it."""
        pending = [region]
        while pending:
            inner = pending.pop()
            uses = [operand for op in inner.ops for operand in op.operands]
            if any(self._of(value.number) is State.PART for value in (*uses, *inner.results)):
                return True
            pending.extend(nested for op in inner.ops for nested in op.regions)
        return False

    def _plain(self, op: Op, states: list[State]) -> State:
        """An operation that no summand goes into."""
        alike = State.OWN if State.OWN in states else State.SAME
        target = op.attributes.get("call_target_name")
        if target == ENTER:
            return self._entered(self._shardings.get(op.operands[0].number), alike)
        if target == LEAVE or op.name == MANUAL:
            # logical, unless it is between two regions
            nested = op.shardings and op.shardings[0] is not None and "manual" in op.shardings[0].marked
            return State.OWN if nested or op.name == MANUAL else State.SAME
        if op.name == "stablehlo.all_reduce" and self._covers(op.attributes["replica_groups"].table):
            return State.SAME
        exchanges = "replica_groups" in op.attributes or "source_target_pairs" in op.attributes
        reduces = op.name in ("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.sort")
        opaque = op.name == "stablehlo.custom_call" and not hands_on(op)
        if exchanges or opaque or op.name in _DEVICES or (op.regions and not reduces):
            return State.OWN
        return alike

    def _parts(self, op: Op, states: list[State]) -> State | None:
        """An operation that summands go into; None where its results are no parts."""
        name, others = op.name, [state for state in states if state is not State.PART]
        if op.attributes.get("call_target_name") == LEAVE:
            return State.SAME if self._is_summed(op.shardings[0] if op.shardings else None) else None
        if hands_on(op) or name in _MOVES or name == self._reducer:
            return State.PART
        if name == "stablehlo.reduce":
            single = len(op.results) == 1 and _combines(op.regions[0]) == self._reducer
            return State.PART if single and states == [State.PART, *others] else None
        if name in ("stablehlo.all_reduce", "stablehlo.reduce_scatter", "stablehlo.all_gather"):
            return self._collective(op)
        if name in ("stablehlo.dynamic_slice", "stablehlo.select"):
            # the place, or the predicate, is no part, and the same on all devices
            chooses = states[1:] if name == "stablehlo.dynamic_slice" else states[:1]
            return State.PART if all(state is State.SAME for state in chooses) else None
        if self._reducer != "stablehlo.add":
            return None
        if name in _SUMS:
            return State.PART
        if name in _PRODUCTS or (name == "stablehlo.divide" and states[0] is State.PART):
            return State.PART if others == [State.SAME] else None
        return None

    def _collective(self, op: Op) -> State | None:
        table = op.attributes["replica_groups"].table
        if op.name == "stablehlo.all_gather":
            return State.PART if self._beside(table) else None
        if _combines(op.regions[0]) != self._reducer:
            return None
        if self._covers(table):
            return State.SAME if op.name == "stablehlo.all_reduce" else State.OWN
        return State.PART if op.name == "stablehlo.all_reduce" and self._beside(table) else None

    def _covers(self, table: np.ndarray) -> bool:
        """Whether each row is made of whole groups."""
        return all(
            np.count_nonzero(self._group == number) == count
            for row in table
            for number, count in zip(*np.unique(self._group[row], return_counts=True), strict=True)
        )

    def _beside(self, table: np.ndarray) -> bool:
        """Whether each row holds one place of its groups, and the rows of one group's devices hold the same groups."""
        rows = self._group[table]
        if any(len(set(self._place[row].tolist())) != 1 for row in table):
            return False
        found: dict[int, list[int]] = {}
        return all(
            found.setdefault(int(self._group[device]), groups.tolist()) == groups.tolist()
            for row, groups in zip(table, rows, strict=True)
            for device in row
        )


def _combines(region: Region) -> str:
    """The operation by which a reducer combines its two arguments, empty for any other reducer."""
    if not region.ops or len(region.arguments) != 2 or len(region.results) != 1:
        return ""
    op, *copies = region.ops
    returned = op.results[0]
    for copy in copies:
        if not hands_on(copy) or copy.operands != (returned,):
            return ""
        returned = copy.results[0]
    both = {operand.number for operand in op.operands} == {argument.number for argument in region.arguments}
    return op.name if both and region.results[0] is returned else ""
