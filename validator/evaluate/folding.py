"""Which values are known on every device without an input, for lemma *constant folding*."""

from __future__ import annotations

from ..read.ir import Op, TensorType

KNOWN_ELEMENTS = 8
"""Integer values of at most this many elements a device that depend on no input are computed, not related."""

_UNFOLDED = frozenset({"stablehlo.constant", "stablehlo.custom_call", "stablehlo.iota"})
"""What relates by itself; a custom call depends on more than its operands, such as their shardings."""


def is_foldable(op: Op) -> bool:
    """Whether an op whose operands are known integers on every device has one result that is, too, and is small."""
    if len(op.results) != 1 or op.regions or op.name in _UNFOLDED or not isinstance(op.results[0].type, TensorType):
        return False
    type_ = op.results[0].type
    return (type_.dtype.is_integer or type_.dtype.is_bool) and type_.size <= KNOWN_ELEMENTS
