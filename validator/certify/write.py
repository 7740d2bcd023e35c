"""Writing certificates: what walks recorded, as MLIR text of the `shardproof` dialect, checked before it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ..check.check import check
from ..check.errors import Rejection
from ..ops.digest import digest
from ..ops.movement_maps import IDENTITIES, MOVES
from ..ops.opaque_relation import CONTRACTS, Contract
from ..ops.record import Family, Theory
from ..ops.records import MEANINGS
from ..read.aide import trusting
from ..read.certificates import VERSION, seal_of
from ..read.dependencies import live_ops
from ..read.ir import Op, Program, Region
from ..relate.atoms import Atom, AtomKind
from ..relate.context import Meeting
from ..relate.decide import Decision
from ..relate.trace import TracedOp
from ..relate.value import AnyVal, Val
from ..relation.store import Dom, RelationLimitError
from .instances import Proofs
from .terms import InexpressibleError, Lines, whole

_FOLLOWED = frozenset(
    {
        *MOVES,
        *IDENTITIES,
        "sdy.manual_computation",
        "stablehlo.all_gather",
        "stablehlo.all_to_all",
        "stablehlo.collective_broadcast",
        "stablehlo.collective_permute",
        "stablehlo.constant",
        "stablehlo.dynamic_slice",
        "stablehlo.dynamic_update_slice",
        "stablehlo.gather",
        "stablehlo.iota",
        "stablehlo.partition_id",
        "stablehlo.replica_id",
        "stablehlo.while",
    }
)
"""Ops whose results follow from their operands: nothing has to be claimed of them, but where an extreme is."""


def certificate(before: Program, after: Program, decision: Decision, *, in_bounds: bool = False) -> str:
    """The text of a certificate of a proof that was traced.

    Raises `InexpressibleError` where the proof has a step that certificates cannot tell, or that the checker does not
    accept: no certificate claims more than is checked.
    """
    given = decision.relations
    assumptions = [*(["indices-in-bounds"] if in_bounds else []), *(["relations"] if given.source else [])]
    try:
        text = _Writing(before, after, decision, assumptions).text()
        with trusting():
            check(text.encode(), "certificate", before, after, given, in_bounds=in_bounds)
    except (Rejection, RelationLimitError) as error:
        raise InexpressibleError(str(error)) from error
    return text


class _Writing:
    """One certificate being written."""

    def __init__(self, before: Program, after: Program, decision: Decision, assumptions: list[str]) -> None:
        self.programs, self.decision, self.assumptions = (before, after), decision, assumptions
        original, device = decision.original.trace, decision.device.trace
        assert original is not None and device is not None
        self.blocks = (original.blocks[0], device.blocks[0])
        paired = {loop.op for loop, _ in decision.device.context.loops}
        self.loops = {op: k for k, op in enumerate(op for op in _loops(self.blocks[0]) if op in paired)}
        carried: dict[int, tuple[int, str, int]] = {}
        for loop, _ in decision.device.context.loops:
            for k, start, end in zip(loop.carried, loop.atoms, loop.results, strict=True):
                carried[start.number] = (self.loops[loop.op], "start", k)
                carried[end.number] = (self.loops[loop.op], "end", k)
        self.lines = Lines(decision.device.context, carried)
        self.spaces = decision.device.context.spaces

    def text(self) -> str:
        self._programs()
        # now it is known which terms are needed
        self.lines.number_terms()
        programs = self._programs()
        relations = [_op("relation", {"text": text}) for text in self.lines.relations]
        terms = [_op("term", line) for line in self.lines.terms]
        theories = [comparison.theory for comparison in self.decision.comparisons if comparison is not None]
        weakest = max(theories, key=list(type(theories[0])).index) if theories else None
        head = {
            "version": VERSION,
            "seal": "",
            "theory": weakest.value if weakest is not None else "exact",
            "results": [theory.value for theory in theories],
            "assumptions": self.assumptions,
            "mesh": list(self.decision.device.mesh.sizes),
            "before": digest(self.programs[0]),
            "after": digest(self.programs[1]),
        }
        text = _printed("\n".join([_op("certificate", head), *relations, *terms, *programs]))
        # MLIR's tools end a file with an empty line.
        return text.replace('seal = ""', f'seal = "{seal_of(text)}"') + "\n"

    def _programs(self) -> list[str]:
        lines = []
        for program, block in zip(self.programs, self.blocks, strict=True):
            needed = {result.value.number for result in program.results}
            lines += [_op("program", {}), *self._block(program.body, block, needed)]
        return lines

    def _block(self, region: Region, block: Sequence[TracedOp], needed: set[int]) -> Iterator[str]:
        """The steps of a block that its results, or what else is needed, depend on."""
        live = live_ops(region, needed)
        traced = {id(step.op): step for step in block}
        for position, op in enumerate(region.ops):
            step = traced.get(id(op))
            if id(op) in live and step is not None:
                yield from self._step(position, step)

    def _step(self, position: int, step: TracedOp) -> list[str]:
        op, claims = step.op, []
        elementwise = MEANINGS[op.name].family is Family.ELEMENTWISE
        for number, value in step.rewritten.items():
            claims += self._claims(step, "operand", number, value)
        followed = op.name in _FOLLOWED and not _found_in_order(step)
        if not followed and _contract(op) not in (Contract.IDENTITY, Contract.MANUAL):
            for number, value in enumerate(step.results):
                known = elementwise and all(map(_known_integers, (*step.operands, value)))
                if isinstance(value, Val) and (("result", number) in step.ordinary or not known):
                    claims += self._claims(step, "result", number, value)
        blocks = step.blocks
        if step.loop is not None:
            blocks = blocks[step.loop.first :]
            pair = -1 if step.loop.loop is None else self.loops[step.loop.loop.op]
            relations = [self.lines.relation(rel) for rel in step.loop.relations]
            if pair != -1 or relations:
                claims.append(_op("loop", {"pair": pair, "relations": relations}))
        frames = [
            list(self._block(op.regions[number % len(op.regions)], block, _results(op, number % len(op.regions))))
            for number, block in enumerate(blocks)
        ]
        # a loop that is repeated ends with its condition: of one without trips there may be no more to say
        if not claims and not any(frames) and not (step.loop is not None and len(frames) % 2):
            return []
        inner = [line for frame in frames for line in (_op("block", {}), *frame, _op("end", {}))]
        return [_op("step", {"position": position, "op": op.name}), *claims, *inner]

    def _claims(self, step: TracedOp, of: str, position: int, value: AnyVal) -> Iterator[str]:
        """What a value is, and before that what it was before terms were put in other terms' place."""
        ordinary = step.ordinary.get((of, position))
        if isinstance(ordinary, Val):
            yield self._claim(of, position, ordinary)
            store, read = self.lines.context.store, dict[Atom, Dom]()
            for piece in ordinary.pieces:
                indices = store.range(piece.rel)
                read[piece.atom] = store.set_union(read[piece.atom], indices) if piece.atom in read else indices
            for atom, indices in read.items():
                meeting = self.lines.context.meetings.get(atom.number)
                if meeting is not None:
                    yield from self._equal(atom, meeting, indices)
        yield self._claim(of, position, value)

    def _equal(self, atom: Atom, meeting: Meeting, indices: Dom) -> Iterator[str]:
        """What else a term is at these indices, where it is not itself."""
        lines, store = self.lines, self.lines.context.store
        by = "reals" if meeting.theory is Theory.REAL else "rules"
        # what is real only where the program reads it is not real at all integers
        limited = by == "reals" and not self.spaces.known(atom)
        parts: list[int] = []
        for other, match in meeting.parts:
            rel = match or store.identity_on(self.spaces.of(atom))
            rel = store.restrict(rel, indices) if limited else rel
            parts += [] if other is atom else [lines.term(other), lines.relation(rel), 1]
        said = {"term": lines.term(atom), "parts": parts, "by": by, "theory": meeting.theory.value, "opened": []}
        if by == "reals":
            yield _op("equal", said)
        elif lines.is_numbered:
            opened, instances = self.proofs.proof(said)
            yield _op("equal", {**said, "opened": opened})
            yield from (_op("instance", instance) for instance in instances)

    @cached_property
    def proofs(self) -> Proofs:
        return Proofs(self.lines)

    def _claim(self, of: str, position: int, value: AnyVal) -> str:
        if not isinstance(value, Val):
            raise InexpressibleError("a claim on a tuple or a token")
        pieces: list[int] = []
        for piece in value.pieces:
            pieces += [self.lines.term(piece.atom), self.lines.relation(piece.rel), whole(piece.coefficient)]
        monoid = "view" if value.monoid is None else value.monoid.value
        return _op("claim", {"of": of, "position": position, "monoid": monoid, "pieces": pieces})


def _contract(op: Op) -> object:
    """What is known of a custom call; None for any other op."""
    return CONTRACTS.get(str(op.attributes.get("call_target_name", "")))


def _found_in_order(step: TracedOp) -> bool:
    """Whether a look-up gave the place of an extreme, which no operand has: lemma *place of a place*."""
    values = [[piece.atom for piece in value.pieces] for value in step.operands if isinstance(value, Val)]
    known = {atom for atoms in values for atom in atoms}
    found = [piece.atom for value in step.results if isinstance(value, Val) for piece in value.pieces]
    return any(atom.kind is AtomKind.ROWS and atom not in known for atom in found)


def _known_integers(value: AnyVal) -> bool:
    """Whether a value is a view of known integers only."""
    if not isinstance(value, Val) or not value.is_view:
        return False
    return all(piece.atom.kind is AtomKind.INTEGER for piece in value.pieces)


def _results(op: Op, region: int) -> set[int]:
    return {value.number for value in op.regions[region].results}


def _loops(block: Sequence[TracedOp]) -> Iterator[Op]:
    """The loops of a program in the order in which they begin."""
    for step in block:
        if step.op.name == "stablehlo.while":
            yield step.op
        for inner in step.blocks:
            yield from _loops(inner)


def _op(name: str, attributes: Mapping[str, object]) -> str:
    return f'"shardproof.{name}"() {_attributes(attributes)} : () -> ()'


def _attributes(attributes: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{name} = {_literal(value)}" for name, value in attributes.items()) + "}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return f"{value} : i64"


def _printed(text: str) -> str:
    """The text in the one form in which MLIR prints it."""
    from jaxlib.mlir import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)  # pyright: ignore[reportReturnType]
