"""Structured attributes of StableHLO operations, as frozen dataclasses of plain data.

Attribute names in `Op.attributes` are StableHLO's own (`dimensions`, `start_indices`, `padding`, ...). The classes
here stand for the ones that are more than a number or a list.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class DotDims:
    """`dot_dimension_numbers` of `dot_general`; a plain `dot` is read with its implied numbers."""

    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConvDims:
    """`dimension_numbers` of `convolution`: which dimension of each tensor plays which part."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GatherDims:
    """`dimension_numbers` of `gather`."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int


@dataclass(frozen=True, slots=True)
class ScatterDims:
    """`scatter_dimension_numbers` of `scatter` and `select_and_scatter`'s gradient."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int


class Comparison(enum.Enum):
    """`comparison_direction` of `compare`."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


@dataclass(frozen=True, slots=True, eq=False)
class DeviceGroups:
    """Replica groups of a collective, made explicit as device numbers whatever the mode and the notation.

    `table` is an int64 array [groups, group size]; the order inside a row is the order the collective concatenates or
    splits in. Ragged groups are refused by the reader. Every device is in at most one row.
    """

    table: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class DevicePairs:
    """Source and target devices of a collective-permute: int64 array [pairs, 2], made explicit for every mode."""

    table: np.ndarray
