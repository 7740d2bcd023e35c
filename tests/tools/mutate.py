"""Mutants of a program: every kind of silent error as an edit of the partitioned program, and edits that are none.

The kinds are those of the documentation's table of bug kinds: K1 to K31. Mutants come in a fixed order, so that a
campaign can be taken up where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shardproof.validator.read.ir import Program

from .context import Context, Edit
from .operators import benign, groups, loops, offsets, plain, reductions

Operator = Callable[[Context], Iterator[Edit]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edited program, the kind of error it stands for ("benign" for none), and where and what was edited."""

    kind: str
    operator: str
    site: str
    change: str
    program: Program
    theory: str = ""
    """For a benign edit: the least theory in which it is none."""


ERRORS: tuple[tuple[str, Operator], ...] = (
    ("K1", reductions.missing),
    ("K2", reductions.missing_in_gradient),
    ("K3", reductions.twice),
    ("K3", reductions.on_result),
    ("K4", reductions.gather_for_reduce),
    ("K4", reductions.reduce_for_gather),
    ("K5", reductions.mean_for_sum),
    ("K5", reductions.scale),
    ("K6", reductions.other_reducer),
    ("K7", groups.wrong_groups),
    ("K8", groups.wrong_dimension),
    ("K8", groups.exchanged_dimension),
    ("K9", groups.split_and_concat_swapped),
    ("K9", groups.block_order),
    ("K10", plain.reshape_for_transpose),
    ("K11", plain.minor_for_major),
    ("K11", groups.gathered_interleaved),
    ("K12", groups.permute_pairs),
    ("K13", offsets.offset_table),
    ("K13", offsets.offset_multiplier),
    ("K13", offsets.device_number),
    ("K13", offsets.start_moved),
    ("K14", offsets.clamp_missing),
    ("K14", offsets.clamped_per_shard),
    ("K15", reductions.sliced_before),
    ("K16", reductions.nonlinear_before),
    ("K17", reductions.added_before),
    ("K18", reductions.local_statistic),
    ("K18", reductions.half_groups),
    ("K19", offsets.index_mask),
    ("K20", offsets.offset_missing),
    ("K20", offsets.mask_bound),
    ("K20", offsets.iota_dimension),
    ("K21", plain.operands_swapped),
    ("K21", plain.results_swapped),
    ("K21", plain.carries_swapped),
    ("K22", plain.constant_changed),
    ("K23", loops.moved_out),
    ("K23", loops.moved_in),
    ("K24", loops.accumulated_sum),
    ("K24", loops.accumulated_once),
    ("K24", loops.trip_count),
    ("K25", groups.own_copies_for_gather),
    ("K25", offsets.first_block_everywhere),
    ("K25", offsets.replica_differs),
    ("K26", offsets.range_mask),
    ("K27", reductions.narrowed_before),
    ("K28", offsets.same_bits_on_every_shard),
    ("K29", offsets.base_on_every_device),
    ("K29", loops.scatter_sets),
    ("K30", groups.not_sent),
    ("K31", offsets.slice_bounds),
)

BENIGN: tuple[tuple[str, Operator], ...] = (
    ("exact", groups.reduce_groups_reordered),
    ("exact", groups.idempotent_twice),
    ("exact", groups.pairs_reordered),
    ("exact", benign.operands_commuted),
    ("exact", benign.reversed_twice),
    ("exact", benign.dead_code),
    ("exact", benign.moved_through_transpose),
    ("exact", benign.scatter_and_gather),
    ("exact", benign.all_reduce_and_slice),
    ("reassociated", benign.update_and_all_reduce),
    ("reassociated", benign.sum_in_two_steps),
    ("reassociated", benign.operands_reassociated),
    ("real", benign.scaled_and_back),
)

KINDS: tuple[str, ...] = tuple(dict.fromkeys(kind for kind, _ in ERRORS))


def mutants(program: Program, kinds: Iterable[str] | None = None, limit: int | None = None) -> Iterator[Mutant]:
    """The mutants of a partitioned program, kind by kind; at most `limit` an operator, spread over its sites."""
    wanted = set(KINDS if kinds is None else kinds)
    unknown = wanted - set(KINDS)
    if unknown:
        raise ValueError(f"unknown kinds of mutants: {', '.join(sorted(unknown))}")
    context = Context(program)
    for kind, operator in ERRORS:
        if kind in wanted:
            for edit in _spread(operator, context, limit):
                yield Mutant(kind, operator.__name__, edit.site, edit.change, edit.program)


def benign_rewrites(program: Program, limit: int | None = None) -> Iterator[Mutant]:
    """Rewrites that keep what the program computes, in the theory each one names."""
    context = Context(program)
    for theory, operator in BENIGN:
        for edit in _spread(operator, context, limit):
            yield Mutant("benign", operator.__name__, edit.site, edit.change, edit.program, theory)


def _spread(operator: Operator, context: Context, limit: int | None) -> Iterator[Edit]:
    if limit is None:
        yield from operator(context)
        return
    edits = list(operator(context))
    count = min(limit, len(edits))
    for number in range(count):
        yield edits[number * len(edits) // count]
