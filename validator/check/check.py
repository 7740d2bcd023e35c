"""The checker: one pass over both programs along a certificate, then the results against what they have to be.

What each device must hold of parameters and results comes from the programs' shardings, what ops do from their records.
From the certificate come claims only: each is checked where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..ops.devices import both_on_devices
from ..ops.digest import digest
from ..ops.manual_relation import is_inside
from ..ops.record import Theory, strongest
from ..ops.values import Piece, Value
from ..read.certificates import Certificate, FormError, read_certificate
from ..read.ir import Program, TensorType
from ..read.scalars import fold_scalars
from ..read.unreduced import with_sums_written_out
from ..relation.build import Builder
from ..relation.layout import layout, mesh_for
from ..relation.mesh import NO_DEVICES
from ..relation.objects import Rel
from .equality import equal
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
        certificate = read_certificate(data, name)
        tables = Tables(certificate, rels, terms)
        return _check(certificate, partial(Run, rels, terms, {}, [], {}, tables), before, after)
    except FormError as error:
        raise Rejection(str(error)) from error
    except _UNFOLLOWED as error:
        raise Rejection(f"a step that cannot be followed: {type(error).__name__}: {error}") from error


def _check(certificate: Certificate, run: Any, before: Program, after: Program) -> Accepted:
    head = certificate.head
    mesh, programs = mesh_for(before, after), (digest(before), digest(after))
    for is_wrong, what in (
        (programs != (head["before"], head["after"]), "the certificate speaks of other programs"),
        (head["assumptions"], "the certificate makes assumptions"),
        (len(before.parameters) != len(after.parameters), "the programs have different parameters"),
        (len(before.results) != len(after.results), "the programs have different results"),
        (tuple(head["mesh"]) != mesh.sizes, "the certificate counts devices in other coordinates"),
        (not {before.num_devices, after.num_devices} <= {1, mesh.num_devices}, "the programs run on other devices"),
    ):
        if is_wrong:
            raise Rejection(what)
    stages = both_on_devices(before, after)
    devices, logical = (Builder(run.args[0], each) for each in (mesh, NO_DEVICES))
    logical = devices if stages else logical
    inner = devices if before.num_devices > 1 and not stages else None
    first: Run = run(logical, True, before.num_partitions, inner)
    second: Run = run(devices, False, after.num_partitions)
    specified = first.program(before, _parameters(first, before, before, own=True), certificate.before)
    computed = second.program(
        after, _parameters(second, after if stages else before, after, own=stages), certificate.after
    )
    theories = []
    for number, (want, have) in enumerate(zip(specified, computed, strict=True)):
        types = before.results[number].value.tensor, after.results[number].value.tensor
        try:
            rel = devices.identity(types[1].shape) if stages else _layout(devices, types, before.results[number])
            theories.append(_result(second, types, want, have, rel))
        except Rejection as error:
            raise error.at(f"result {number}") from error
    told = [Theory(each) for each in (head["theory"], *head["results"])]
    if told != [strongest(theories), *theories]:
        found = ", ".join(each.value for each in theories)
        raise Rejection(f"the certificate claims another theory than '{found}'")
    return Accepted(strongest(theories), tuple(theories))


def _parameters(run: Run, specified: Program, program: Program, *, own: bool) -> list[Any]:
    """Each parameter as itself, or what the parameter shardings give to each device of the specified ones."""
    values: list[Any] = []
    for number, (spec, parameter) in enumerate(zip(specified.parameters, program.parameters, strict=True)):
        whole, local = types = spec.value.tensor, parameter.value.tensor
        try:
            rel = run.builder.identity(whole.shape) if own else _layout(run.builder, types, spec)
            term = run.terms.make(Kind.PARAMETER, whole.dtype, rel.arity_out, (number, *whole.shape))
            values.append(Value(local, (Piece(term, rel),), run.rels.domain(rel)))
        except Rejection as error:
            values.append(error.at(f"parameter {number}"))
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
