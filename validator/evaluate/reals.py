"""Which inputs theory *real* speaks of, as a run of the original shows: those for which it computes real numbers.

What is no real number (a quotient by zero, the logarithm of zero, the root of a negative number) is made NaN, and NaN
is all that is computed from it. So what a choice, a slice or a loop leaves out does not count. Where an op may make
something else of NaN, these inputs tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ops.elementwise import RECORDS as ELEMENTWISE
from ..ops.record import Family
from ..ops.records import MEANINGS
from ..read.dependencies import regions
from ..read.ir import Op, Program, TensorType

_SILENT = frozenset(f"{dialect}.{name}" for dialect in ("chlo", "mhlo") for name in ("digamma", "erf_inv", "lgamma"))
"""Partial functions that are computed number by number, so that numpy notices nothing."""

_PARTIAL = _SILENT | {
    *(f"stablehlo.{name}" for name in ("divide", "log", "log_plus_one", "power", "remainder", "rsqrt", "sqrt", "tan")),
    *(f"{dialect}.{name}" for dialect in ("chlo", "mhlo") for name in ("acos", "acosh", "asin", "atanh", "tan")),
}
"""Functions of elements that have no value for some numbers; floats then have NaN or an infinity."""

_MAY_BE_PARTIAL = _PARTIAL | {f"stablehlo.{name}" for name in ("cholesky", "custom_call", "triangular_solve")}

_HIDES = frozenset(f"stablehlo.{name}" for name in ("bitcast_convert", "compare", "is_finite", "power"))

_KEEPS = frozenset(
    {
        *({record.name for record in ELEMENTWISE} - _HIDES),
        *(f"stablehlo.{name}" for name in ("convolution", "dot", "dot_general", "reduce", "reduce_window")),
        *(f"stablehlo.{name}" for name in ("dynamic_slice", "dynamic_update_slice", "gather", "scatter")),
    }
)
_KEEP = frozenset({Family.MOVEMENT, Family.COLLECTIVE, Family.CONTROL})
"""Ops, and families of ops, of which a result that depends on NaN is NaN; what their regions do is judged there."""


@dataclass(slots=True)
class RealNumbers:
    """What one run has met that is no real number."""

    met: bool = False
    lost: bool = False
    """Whether something else may have been made of it."""
    _noticed: bool = False

    def floats(self) -> np.errstate:
        """In whose `with` block numpy tells of it, and of more."""
        return np.errstate(all="ignore", divide="call", invalid="call", call=self._notice)

    def _notice(self, *_: Any) -> None:
        self._noticed = True

    def judged(self, op: Op, operands: Sequence[Any], results: list[Any]) -> list[Any]:
        """The results of an op, those that are no real numbers as NaN.

        What comes of infinite constants is none, either, but the program's own: it may test it, or return it.
        """
        if op.name in _PARTIAL and (self._noticed or op.name in _SILENT) and results[0].dtype.kind in "fc":
            given = np.logical_and.reduce([np.isfinite(operand) for operand in operands])
            none = given & ~np.isfinite(results[0])
            if none.any():
                self.met = True
                results = [np.where(none, np.nan, results[0])]
        if self.met and not _keeps(op):
            self.lost |= any(map(_has_none, operands))
        self._noticed = False
        return results

    def end(self, results: Sequence[Any]) -> bool:
        """Whether the run's results are real numbers as far as this has seen."""
        return not (self.lost or (self.met and any(map(_has_none, results))))


def _keeps(op: Op) -> bool:
    family = MEANINGS[op.name].family
    types = [value.type for value in (*op.operands, *op.results)]
    if any(isinstance(type_, TensorType) and type_.dtype.is_complex for type_ in types):
        return family in _KEEP
    if op.name == "stablehlo.convert":
        return op.results[0].tensor.dtype.is_float
    if op.name in ("stablehlo.reduce", "stablehlo.reduce_window"):
        return len(op.operands) == 2
    return op.name in _KEEPS or family in _KEEP


def _has_none(array: Any) -> bool:
    """Whether an array of floats has NaN."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fc" and bool(np.isnan(array).any())


def may_be_partial(program: Program) -> int:
    """How many ops of a program may give no real number for real operands."""
    return sum(op.name in _MAY_BE_PARTIAL for region in regions(program.body) for op in region.ops)
