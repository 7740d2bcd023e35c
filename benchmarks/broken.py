"""Large programs with one fault in the middle, to measure how fast and where a missing proof is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shardproof.validator.read.ir import Program
from tests.tools.context import Context, Edit
from tests.tools.operators import groups, offsets, reductions


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the ops it may be planted at, whether in the forward or the backward pass, and how."""

    ops: tuple[str, ...]
    backward: bool
    plant: Callable[[Context], Iterator[Edit]]


FAULTS: Mapping[str, Fault] = {
    "all-reduce": Fault(("all_reduce",), False, reductions.missing),
    "gradient": Fault(("all_reduce",), True, reductions.missing_in_gradient),
    "groups": Fault(("all_reduce",), False, groups.wrong_groups),
    "gathered": Fault(("all_gather",), False, groups.wrong_groups),
    "slice": Fault(("slice",), False, offsets.slice_bounds),
    "offset": Fault(("dynamic_slice",), True, offsets.start_moved),
}


def broken(program: Program, name: str) -> Edit:
    """The program with the named fault at the middle one of the ops where it can stand; `ValueError` if there is none.

    The sites of a pass are counted in the order of the program, which is that of its layers.
    """
    fault = FAULTS[name]
    context = Context(program)
    sites = [
        site
        for site in context.named(*fault.ops)
        if ("transpose(" in site.op.location.op_name) is fault.backward and not site.path
    ]
    # What device numbers flow into is found in the whole program, before all other sites are left out.
    assert context.device_values is not None
    middle = len(sites) // 2
    for site in sites[middle:] + sites[:middle][::-1]:
        context.sites = (site,)
        for edit in fault.plant(context):
            return edit
    raise ValueError(f"no place for the fault '{name}'")
