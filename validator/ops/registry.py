"""All op records by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .collective_relation import RELATIONS as COLLECTIVE
from .contraction_relation import RELATIONS as CONTRACTION
from .control_relation import RELATIONS as CONTROL
from .elementwise_relation import RELATIONS as ELEMENTWISE
from .elementwise_relation import relate_elementwise
from .indexing_relation import RELATIONS as INDEXING
from .movement_relation import RELATIONS as MOVEMENT
from .opaque_relation import RELATIONS as OPAQUE
from .order_relation import RELATIONS as ORDER
from .record import Family, OpRecord
from .records import MEANINGS
from .reduction_relation import RELATIONS as REDUCTION
from .scatter_relation import RELATIONS as SCATTER

_RELATIONS = (
    COLLECTIVE | CONTRACTION | CONTROL | ELEMENTWISE | INDEXING | MOVEMENT | OPAQUE | ORDER | REDUCTION | SCATTER
)


def _with_relation(record: OpRecord) -> OpRecord:
    default = relate_elementwise if record.family is Family.ELEMENTWISE else None
    return replace(record, relate=_RELATIONS.get(record.name, default))


RECORDS: Mapping[str, OpRecord] = {name: _with_relation(record) for name, record in MEANINGS.items()}
