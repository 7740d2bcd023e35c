"""Attributes that any operation may carry and that cannot change what it computes."""

from __future__ import annotations

ANNOTATIONS = frozenset(
    {
        "mhlo.frontend_attributes",
        "mhlo.sharding",
        "operand_layouts",
        "result_layout",
        "operand_tilings",
        "result_layouts",
        "result_tilings",
        "sdy.sharding",
        "xla_shape",
    }
)
"""Layouts, notes of the front end, and shardings, which the reader moves to `Op.shardings`."""
