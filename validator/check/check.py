"""The checker: one pass over both programs along a certificate, then the results against what they have to be.

What each device must hold comes from the programs' shardings, what ops do from their records, claims are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..ops.devices import asks_for_devices, both_on_devices
from ..ops.digest import digest
from ..ops.guarded import allowed
from ..ops.manual_relation import is_inside
from ..ops.record import Theory, strongest
from ..ops.values import Piece, Value
from ..read.certificates import Certificate, FormError, read_certificate
from ..read.ir import Program, TensorType
from ..read.relations import NO_RELATIONS
from ..read.relations import Relations as Given
from ..read.simplified import simplified
from ..read.unreduced import with_sums_written_out
from ..relation.build import Builder
from ..relation.given import device_vectors, stated_relation
from ..relation.layout import mesh_for
from ..relation.mesh import NO_DEVICES
from ..relation.objects import Rel
from .errors import Rejection
from .relations import Relations
from .run import Run
from .tables import Tables
from .terms import Kind, Terms


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a certificate shows: the arithmetic it needs, by result and for all."""

    theory: Theory
    theories: tuple[Theory, ...]
    assumptions: tuple[str, ...]


_UNFOLLOWED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a forged file may lead into: a step that cannot be followed proves nothing."""


def check(
    data: bytes, name: str, before: Program, after: Program, given: Given = NO_RELATIONS, in_bounds: bool = False
) -> Accepted:
    """Checks a certificate against programs, relations given by hand, and whether run-time indices are in bounds.

    Raises `ReadError` for a file that is no MLIR text, and `Rejection` with the step and the reason for a certificate
    that does not prove that the programs are equal.
    """
    before, after = with_sums_written_out(simplified(before), simplified(after), (given.parameters, given.results))
    try:
        return _check(read_certificate(data, name), before, after, given, in_bounds)
    except FormError as error:
        raise Rejection(str(error)) from error
    except _UNFOLLOWED as error:
        raise Rejection(f"a step that cannot be followed: {type(error).__name__}: {error}") from error


def _check(certificate: Certificate, before: Program, after: Program, given: Given, in_bounds: bool) -> Accepted:
    rels: Any = Relations()
    terms = Terms()
    run = partial(Run, rels, terms, {}, [], {}, {}, Tables(certificate, rels, terms), {} if in_bounds else None)
    head, programs = certificate.head, (digest(before), digest(after))
    mesh = mesh_for(before, after, given.shardings, device_vectors(given, after.num_devices))
    assumed = [*["indices-in-bounds"] * in_bounds, *["relations"] * bool(given.source)]
    for is_wrong, what in (
        (programs != (head["before"], head["after"]), "the certificate speaks of other programs"),
        (head["assumptions"] != assumed, f"the certificate assumes {head['assumptions']}, and given is {assumed}"),
        (bool(given.source) and asks_for_devices(before), "relations are given to logical tensors that there are not"),
        (len(before.parameters) != len(after.parameters), "the programs have different parameters"),
        (len(before.results) != len(after.results), "the programs have different results"),
        (tuple(head["mesh"]) != mesh.sizes, "the certificate counts devices in other coordinates"),
        (not {before.num_devices, after.num_devices} <= {1, mesh.num_devices}, "the programs run on other devices"),
    ):
        if is_wrong:
            raise Rejection(what)
    stages = not given.source and both_on_devices(before, after)
    devices = Builder(rels, mesh)
    logical = devices if stages else Builder(rels, NO_DEVICES)
    inner = devices if before.num_devices > 1 and not stages else None
    first: Run = run(logical, True, before.num_partitions, inner)
    second: Run = run(devices, False, after.num_partitions)
    if head["theory"] == Theory.REAL.value:
        from .reals.reals import Reals

        first.reals = second.reals = Reals(first, before)
    specified = first.program(before, _parameters(first, before, before, None), certificate.before)
    arguments = _parameters(second, *((after, after, None) if stages else (before, after, given.parameters)))
    computed = second.program(after, arguments, certificate.after)
    theories = []
    for number, (want, have, bound) in enumerate(zip(specified, computed, before.results, strict=True)):
        types = bound.value.tensor, after.results[number].value.tensor
        try:
            if stages and types[0] != types[1]:
                raise Rejection("the result is of another shape")
            stated = None if stages else _layout(devices, types, bound, given.results.get(number), whole=True)
            shown = _result(second, types, want, have, stated or devices.identity(types[1].shape))
            theories.append(strongest([Theory(head["results"][number]), shown]))  # less than is shown may be claimed
        except Rejection as error:
            raise error.at(f"result {number}") from error
    if [Theory(each) for each in (head["theory"], *head["results"])] != [strongest(theories), *theories]:
        raise Rejection(f"the certificate claims another theory than '{', '.join(each.value for each in theories)}'")
    return Accepted(strongest(theories), tuple(theories), tuple(assumed))


def _parameters(run: Run, specified: Program, program: Program, given: Mapping[int, Any] | None) -> list[Any]:
    """What shardings, or else relations, give to each device of the specified ones; without these, each as itself."""
    values: list[Any] = []
    for number, (spec, parameter) in enumerate(zip(specified.parameters, program.parameters, strict=True)):
        whole, local = types = spec.value.tensor, parameter.value.tensor
        try:
            stated = None if given is None else _layout(run.builder, types, spec, given.get(number))
            rel = stated or run.builder.identity(whole.shape)
            term = run.terms.make(Kind.PARAMETER, whole.dtype, rel.arity_out, (number, *whole.shape))
            values.append(Value(local, (Piece(term, rel),), run.rels.domain(rel)))
        except Rejection as error:
            values.append(error.at(f"parameter {number}"))
    return values


def _layout(builder: Builder, types: Sequence[TensorType], bound: Any, given: Any, *, whole: bool = False) -> Rel:
    if types[0].dtype is not types[1].dtype:
        raise Rejection("the element types differ")
    rel = stated_relation(builder, bound.sharding, given, types[0].shape, types[1].shape, whole=whole)
    if isinstance(rel, str):
        raise Rejection(f"{rel} is not checked")
    return rel


def _result(run: Run, types: Sequence[TensorType], want: Any, have: Any, rel: Rel) -> Theory:
    """The arithmetic in which a device holds what it has to, wherever it has to hold something."""
    wanted, found = run.known(want), run.known(have)
    if types[0].dtype is not types[1].dtype or (is_inside(wanted) and wanted.domain.arity != rel.arity_out):
        raise Rejection("the result is of another kind")
    wanted, found = allowed(run, run.read_through(wanted, rel, found.type)), allowed(run, found)
    theory = strongest([wanted.theory, found.theory, run.equal(wanted, found, run.rels.domain(rel))])
    partial = found.monoid is not None and found.levels > 0 and not found.monoid.reorders_exactly(found.type.dtype)
    return strongest([theory, Theory.REASSOCIATED]) if partial else theory
