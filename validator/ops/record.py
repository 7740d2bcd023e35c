"""The one record that tells everything the validator knows of an operation."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .annotations import ANNOTATIONS

if TYPE_CHECKING:
    from ..evaluate.machine import Machine
    from ..evaluate.regions import Evaluation
    from ..read.ir import Op
    from .engine import Engine


class Theory(enum.Enum):
    """The arithmetic a proof needs; each one accepts everything the ones before it prove."""

    EXACT = "exact"
    REASSOCIATED = "reassociated"
    REAL = "real"


_ORDER = {theory: number for number, theory in enumerate(Theory)}


def strongest(theories: Iterable[Theory]) -> Theory:
    """The theory that a conclusion from all of them needs."""
    return max(theories, key=_ORDER.__getitem__, default=Theory.EXACT)


def weakest(theories: Iterable[Theory]) -> Theory:
    """The theory that is needed where any of them will do."""
    return min(theories, key=_ORDER.__getitem__)


def is_within(theory: Theory, accepted: Theory) -> bool:
    """Whether who accepts one theory accepts the other one."""
    return _ORDER[theory] <= _ORDER[accepted]


class Family(enum.Enum):
    """The chapter an op stands in, in the op table and in the folder `ops/`."""

    ELEMENTWISE = "elementwise"
    MOVEMENT = "movement"
    REDUCTION = "reduction"
    CONTRACTION = "contraction"
    INDEXING = "indexing"
    COLLECTIVE = "collective"
    ORDER = "order"
    CONTROL = "control"
    RANDOM = "random"
    OPAQUE = "opaque"


Evaluate = Callable[["Machine", "Op", list[Any]], "list[Any] | Evaluation"]
Relate = Callable[["Engine", "Op", list[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One op: the attributes that bear meaning, how it relates, how it evaluates, and its line in the op table.

    `evaluate(machine, op, operands)` takes and returns numpy arrays with a leading device axis; control flow is a
    generator that yields the regions it wants run. `relate(engine, op, values)` takes and returns relational values,
    for the prover and for the certificate checker; an op without one is reported as UNSUPPORTED, never skipped. An
    attribute that is neither in `attributes` nor in `ignored` makes the op UNSUPPORTED.
    """

    name: str
    family: Family
    doc: str
    evaluate: Evaluate
    relate: Relate | None = None
    attributes: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    """Attributes that cannot change a result: layouts, precision hints, channel numbers."""


def family_record(
    family: Family, name: str, doc: str, evaluate: Any, *attributes: str, ignored: frozenset[str] = frozenset()
) -> OpRecord:
    """A record that ignores the annotations of every op, and `ignored` besides."""
    return OpRecord(
        name=name,
        family=family,
        doc=doc,
        evaluate=evaluate,
        attributes=frozenset(attributes),
        ignored=ANNOTATIONS | ignored,
    )


def table(records: Iterable[OpRecord]) -> Mapping[str, OpRecord]:
    """The records by op name; two records of one name are a programming error."""
    by_name: dict[str, OpRecord] = {}
    for record in records:
        assert record.name not in by_name, f"two records for {record.name}"
        by_name[record.name] = record
    return by_name
