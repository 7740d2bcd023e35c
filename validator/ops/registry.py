"""All op records by name."""

from __future__ import annotations

from collections.abc import Mapping

from . import collective, elementwise, movement, reduction
from .record import OpRecord, table

RECORDS: Mapping[str, OpRecord] = table(
    record for family in (elementwise, movement, reduction, collective) for record in family.RECORDS
)
