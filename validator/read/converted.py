"""What the walk over a module gives before the device counts are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .groups import GroupMode
from .ir import Location, Parameter, Region, Result
from .shardings import Sharding
from .tiling import Mesh


@dataclass(slots=True)
class PendingGroups:
    """Raw participants of one collective; they become explicit when the device counts are known."""

    attributes: dict[str, Any]
    name: str
    table: np.ndarray
    mode: GroupMode
    location: Location


@dataclass(slots=True)
class Converted:
    """A module as its parts; `pending` holds the groups of devices, `shardings` and `meshes` all that it names."""

    name: str
    parameters: list[Parameter]
    body: Region
    results: list[Result]
    module_attributes: dict[str, Any]
    pending: list[PendingGroups]
    shardings: list[Sharding]
    meshes: list[Mesh]
