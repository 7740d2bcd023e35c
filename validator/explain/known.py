"""What a repair takes to be known of a value that it brings in: relations for a proof, numbers for a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..relate.value import Val

Values = Mapping[int, Any]
"""Arrays [devices, *shape] of a run, by the numbers of the values."""

MAX_ELEMENTS = 1 << 12
"""Elements of a device's tensor up to which a relation is evaluated at each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A value by what it is related to, and by its elements [devices, *shape] in a run of the original.

    Both are made when they are asked for, and None where that takes too much: most repairs are never proved.
    """

    relation: Callable[[], Val | None]
    numbers: Callable[[Values], np.ndarray | None]
