"""What every op means by itself: the records without how the prover relates them."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    collective,
    contraction,
    control,
    elementwise,
    indexing,
    movement,
    opaque,
    order,
    random,
    reduction,
)
from .record import OpRecord, table

_FAMILIES = (
    elementwise,
    movement,
    reduction,
    contraction,
    indexing,
    collective,
    order,
    control,
    random,
    opaque,
)

MEANINGS: Mapping[str, OpRecord] = table(record for family in _FAMILIES for record in family.RECORDS)
