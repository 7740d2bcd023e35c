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
from ..ops.record import Theory
from ..read.ir import Program, TensorType
from ..read.scalars import fold_scalars
from ..read.shardings import Sharding
from ..read.unreduced import with_sums_written_out
from ..relation.build import Builder
from ..relation.layout import layout, mesh_for
from ..relation.mesh import NO_DEVICES
from ..relation.objects import Rel
from .certificate import Certificate, read_certificate
from .equality import equal
from .errors import Rejection
from .guards import Guards
from .manual import is_inside
from .relations import Relations, TooComplexError
from .rules import RULES
from .run import AnyValue, Loops, Run, Unknown
from .terms import Kind, Terms
from .values import Ground, Piece, Value, weakest


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a certificate shows: the arithmetic it needs, by result and for all."""

    theory: Theory
    theories: tuple[Theory, ...]


_UNFOLLOWED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def check(data: bytes, name: str, before: Program, after: Program) -> Accepted:
    """Checks a certificate against the programs it speaks of.

    Raises `ReadError` for a file that is no MLIR text, and `Rejection` with the step and the reason for a certificate
    that does not prove that the programs are equal.
    """
    before, after = with_sums_written_out(fold_scalars(before), fold_scalars(after))
    rels, terms = Relations(), Terms()
    try:
        certificate = read_certificate(data, name, rels, terms)
        return _check(certificate, Ground(rels, terms), before, after)
    except TooComplexError as error:
        raise Rejection(str(error)) from error
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # what a forged file may lead into: a step that cannot be followed proves nothing
        raise Rejection(f"a step that cannot be followed: {type(error).__name__}: {error}") from error


def _check(certificate: Certificate, ground: Ground, before: Program, after: Program) -> Accepted:
    if certificate.digests != (digest(before), digest(after)):
        raise Rejection("the certificate speaks of other programs")
    if certificate.assumptions:
        raise Rejection("the certificate makes assumptions")
    if len(before.parameters) != len(after.parameters) or len(before.results) != len(after.results):
        raise Rejection("the programs have different parameters or results")
    mesh = mesh_for(before, after)
    if certificate.mesh != mesh.sizes:
        raise Rejection("the certificate counts devices in other coordinates")
    stages = both_on_devices(before, after)
    store = cast("Any", ground.rels)
    devices = Builder(store, mesh)
    logical = devices if stages else Builder(store, NO_DEVICES)
    loops, promises = Loops(), {}
    shared = (certificate.terms, loops)
    first = Run(ground, logical, True, *shared, Guards(ground, logical, {}, {}), promises, RULES)
    first.devices = (before.num_replicas, before.num_partitions)
    if before.num_devices > 1 and not stages:
        first.inner = devices
    second = Run(ground, devices, False, *shared, Guards(ground, devices, {}, {}), promises, RULES)
    second.devices = (after.num_replicas, after.num_partitions)
    specified = first.program(before, _own(first, before), certificate.before)
    given = _own(second, after) if stages else _given(second, before, after)
    computed = second.program(after, given, certificate.after)
    theories = []
    for number, (want, have) in enumerate(zip(specified, computed, strict=True)):
        result = before.results[number].value.tensor, after.results[number].value.tensor
        try:
            rel = devices.identity(result[1].shape) if stages else _layout(devices, *result, before.results[number])
            theories.append(_result(second, result, want, have, rel))
        except Rejection as error:
            raise error.at(f"result {number}") from error
    theory = weakest(*theories)
    if certificate.theories != tuple(theories) or certificate.theory is not theory:
        told = ", ".join(each.value for each in theories)
        raise Rejection(f"the certificate claims another theory than '{told}'")
    return Accepted(theory, tuple(theories))


def _own(run: Run, program: Program) -> list[AnyValue]:
    """Each parameter as itself."""
    values: list[AnyValue] = []
    for number, parameter in enumerate(program.parameters):
        type_ = parameter.value.tensor
        points = run.points(type_)
        term = run.ground.terms.make(Kind.PARAMETER, type_.dtype, points.arity, (number, *type_.shape))
        values.append(Value(type_, (Piece(term, run.builder.identity(type_.shape)),), points))
    return values


def _given(run: Run, before: Program, after: Program) -> list[AnyValue]:
    """What the parameter shardings give to each device."""
    values: list[AnyValue] = []
    for number, (spec, implementation) in enumerate(zip(before.parameters, after.parameters, strict=True)):
        whole, local = spec.value.tensor, implementation.value.tensor
        try:
            rel = _layout(run.builder, whole, local, spec)
        except Rejection as error:
            values.append(Unknown(f"parameter {number}: {error}"))
            continue
        term = run.ground.terms.make(Kind.PARAMETER, whole.dtype, whole.rank, (number, *whole.shape))
        values.append(Value(local, (Piece(term, rel),), run.ground.rels.domain(rel)))
    return values


def _layout(builder: Builder, whole: TensorType, local: TensorType, bound: Any) -> Rel:
    sharding: Sharding | None = bound.sharding
    if whole.dtype is not local.dtype:
        raise Rejection("the element types differ")
    rel = layout(builder, whole.shape, sharding, local.shape)
    if isinstance(rel, str):
        raise Rejection(f"{rel} is not checked")
    return rel


def _result(run: Run, types: Sequence[TensorType], want: AnyValue, have: AnyValue, rel: Rel) -> Theory:
    """The arithmetic in which a device holds what it has to, wherever it has to hold something."""
    wanted, found = run.known(want), run.known(have)
    if types[0].dtype is not types[1].dtype or (is_inside(wanted) and wanted.domain.arity != rel.arity_out):
        raise Rejection("the result is of another kind")
    wanted = run.ground.read(wanted, rel, found.type)
    points = run.ground.rels.domain(rel)
    theory = weakest(wanted.theory, found.theory, equal(run.ground, wanted, found, points))
    partial = found.monoid is not None and found.levels > 0 and not found.monoid.reorders_exactly(found.type.dtype)
    return weakest(theory, Theory.REASSOCIATED) if partial else theory
