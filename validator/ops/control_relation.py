"""How control flow relates: see `relate/loops.py` and `relate/branches.py` for the lemmas."""

from __future__ import annotations

from ..relate.branches import relate_branches
from ..relate.loops import relate_loop
from ..relate.manual import relate_manual_computation

RELATIONS = {
    "sdy.manual_computation": relate_manual_computation,
    "stablehlo.while": relate_loop,
    "stablehlo.case": relate_branches,
    "stablehlo.if": relate_branches,
}
