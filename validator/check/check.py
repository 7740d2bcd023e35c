"""The checker: one pass over both programs along a certificate, then the results against what they have to be.

What each device must hold of parameters and results comes from the programs' shardings, what ops do from their records.
From the certificate come claims only: each is checked where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..ops.devices import both_on_devices
from ..ops.digest import digest
from ..ops.manual_relation import is_inside
from ..ops.record import Theory, strongest
from ..read.ir import Program, TensorType
from ..read.scalars import fold_scalars
from ..read.unreduced import with_sums_written_out
from ..relation.build import Builder
from ..relation.layout import layout, mesh_for
from ..relation.mesh import NO_DEVICES
from ..relation.objects import Rel
from .certificate import Certificate, read_certificate
from .equality import equal
from .errors import Rejection
from .relations import Relations, TooComplexError
from .run import Run, Unknown
from .terms import Kind, Piece, Terms, Value


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a certificate shows: the arithmetic it needs, by result and for all."""

    theory: Theory
    theories: tuple[Theory, ...]


_UNFOLLOWED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a forged file may lead into: a step that cannot be followed proves nothing."""


def check(data: bytes, name: str, before: Program, after: Program) -> Accepted:
    """Checks a certificate against the programs it speaks of.

    Raises `ReadError` for a file that is no MLIR text, and `Rejection` with the step and the reason for a certificate
    that does not prove that the programs are equal.
    """
    before, after = with_sums_written_out(fold_scalars(before), fold_scalars(after))
    rels, terms = Relations(), Terms()
    try:
        return _check(read_certificate(data, name, rels, terms), rels, terms, before, after)
    except TooComplexError as error:
        raise Rejection(str(error)) from error
    except _UNFOLLOWED as error:
        raise Rejection(f"a step that cannot be followed: {type(error).__name__}: {error}") from error


def _check(certificate: Certificate, rels: Relations, terms: Terms, before: Program, after: Program) -> Accepted:
    head = certificate.head
    if (head["before"], head["after"]) != (digest(before), digest(after)):
        raise Rejection("the certificate speaks of other programs")
    if head["assumptions"]:
        raise Rejection("the certificate makes assumptions")
    if len(before.parameters) != len(after.parameters) or len(before.results) != len(after.results):
        raise Rejection("the programs have different parameters or results")
    mesh = mesh_for(before, after)
    if tuple(head["mesh"]) != mesh.sizes:
        raise Rejection("the certificate counts devices in other coordinates")
    if any(program.num_devices not in (1, mesh.num_devices) for program in (before, after)):
        raise Rejection("the programs run on different numbers of devices")
    stages = both_on_devices(before, after)
    store = cast("Any", rels)
    devices = Builder(store, mesh)
    logical = devices if stages else Builder(store, NO_DEVICES)
    shared = rels, terms, {}, [], {}
    inner = devices if before.num_devices > 1 and not stages else None
    first = Run(*shared, logical, True, before.num_partitions, inner)
    second = Run(*shared, devices, False, after.num_partitions)
    specified = first.program(before, _own(first, before), certificate.before)
    given = _own(second, after) if stages else _given(second, before, after)
    computed = second.program(after, given, certificate.after)
    theories = []
    for number, (want, have) in enumerate(zip(specified, computed, strict=True)):
        types = before.results[number].value.tensor, after.results[number].value.tensor
        try:
            rel = devices.identity(types[1].shape) if stages else _layout(devices, types, before.results[number])
            theories.append(_result(second, types, want, have, rel))
        except Rejection as error:
            raise error.at(f"result {number}") from error
    if certificate.theories != (strongest(theories), *theories):
        told = ", ".join(each.value for each in theories)
        raise Rejection(f"the certificate claims another theory than '{told}'")
    return Accepted(strongest(theories), tuple(theories))


def _parameter(run: Run, number: int, whole: TensorType, local: TensorType, rel: Rel) -> Value:
    """A parameter of the before program, read through a relation."""
    term = run.terms.make(Kind.PARAMETER, whole.dtype, rel.arity_out, (number, *whole.shape))
    return Value(local, (Piece(term, rel),), run.rels.domain(rel))


def _own(run: Run, program: Program) -> list[Any]:
    """Each parameter as itself."""
    types = [parameter.value.tensor for parameter in program.parameters]
    return [_parameter(run, k, type_, type_, run.builder.identity(type_.shape)) for k, type_ in enumerate(types)]


def _given(run: Run, before: Program, after: Program) -> list[Any]:
    """What the parameter shardings give to each device."""
    values: list[Any] = []
    for number, (spec, implementation) in enumerate(zip(before.parameters, after.parameters, strict=True)):
        types = spec.value.tensor, implementation.value.tensor
        try:
            values.append(_parameter(run, number, *types, _layout(run.builder, types, spec)))
        except Rejection as error:
            values.append(Unknown(f"parameter {number}: {error}"))
    return values


def _layout(builder: Builder, types: tuple[TensorType, TensorType], bound: Any) -> Rel:
    whole, local = types
    if whole.dtype is not local.dtype:
        raise Rejection("the element types differ")
    rel = layout(builder, whole.shape, bound.sharding, local.shape)
    if isinstance(rel, str):
        raise Rejection(f"{rel} is not checked")
    return rel


def _result(run: Run, types: Sequence[TensorType], want: Any, have: Any, rel: Rel) -> Theory:
    """The arithmetic in which a device holds what it has to, wherever it has to hold something."""
    wanted, found = run.known(want), run.known(have)
    if types[0].dtype is not types[1].dtype or (is_inside(wanted) and wanted.domain.arity != rel.arity_out):
        raise Rejection("the result is of another kind")
    wanted = run.read_through(wanted, rel, found.type)
    theory = strongest([wanted.theory, found.theory, equal(run, wanted, found, run.rels.domain(rel))])
    partial = found.monoid is not None and found.levels > 0 and not found.monoid.reorders_exactly(found.type.dtype)
    return strongest([theory, Theory.REASSOCIATED]) if partial else theory
