"""Relations given by hand, as integer relations, with proof that each is one: in range, single-valued, complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..read.affine import Affine, Constraint, Floor
from ..read.errors import ReadError, ReadErrorKind
from ..read.relations import Given, Piece, Relations
from ..read.shardings import Sharding
from .build import Builder, affine, box_constraints, names

if TYPE_CHECKING:
    from .objects import Rel
from .layout import layout


def given_relation(
    builder: Builder, given: Given, shape: tuple[int, ...], local: tuple[int, ...], *, whole: bool
) -> Rel | str:
    """{[d, i] -> [x]}, or what about a sharding is not modelled.

    Raises `ReadError` for pieces that reach out of the logical tensor or overlap, and where the relation has to be
    `whole` for logical elements that no device holds: a result nobody returns would be proved for nothing.
    """
    if isinstance(given.content, Sharding):
        return layout(builder, shape, given.content, local)
    store = builder.store
    box = store.dom(_set_text(len(shape), box_constraints(names("x", len(shape)), shape)))
    parts: list[Rel] = []
    rel = store.rel(f"{{{_tuple(builder, local)} -> [{','.join(['0'] * len(shape))}] : 1 = 0}}")
    for number, piece in enumerate(given.content):
        part = _piece_relation(builder, piece, local)
        outside = store.set_minus(store.range(part), box)
        if not store.set_empty(outside):
            raise ReadError(ReadErrorKind.MISMATCH, given.where, f"piece {number} reaches out of {list(shape)}")
        if not store.set_empty(store.set_meet(store.domain(rel), store.domain(part))):
            overlaps = (store.set_meet(store.domain(known), store.domain(part)) for known in parts)
            other = next(k for k, overlap in enumerate(overlaps) if not store.set_empty(overlap))
            raise ReadError(ReadErrorKind.MISMATCH, given.where, f"pieces {other} and {number} cover the same element")
        parts.append(part)
        rel = store.union(rel, part) if number else part
    if whole and not store.set_subset(box, store.range(rel)):
        raise ReadError(
            ReadErrorKind.MISMATCH, given.where, f"no device holds some of the elements of the logical {list(shape)}"
        )
    return rel


def stated_relation(
    builder: Builder,
    sharding: Sharding | None,
    given: Given | None,
    shape: tuple[int, ...],
    local: tuple[int, ...],
    *,
    whole: bool,
) -> Rel | str:
    """What is given by hand of a parameter or result, else what its sharding says; `whole` as in `given_relation`."""
    if given is not None:
        return given_relation(builder, given, shape, local, whole=whole)
    return layout(builder, shape, sharding, local)


def device_vectors(relations: Relations, count: int) -> list[np.ndarray]:
    """What the given relations compute of the device's number before rounding: where its digits are worth cutting."""
    devices = np.arange(count, dtype=np.int64)
    vectors = []
    for given in (*relations.parameters.values(), *relations.results.values()):
        if isinstance(given.content, Sharding):
            continue
        for piece in given.content:
            for expression in (*piece.image, *(constraint.expression for constraint in piece.domain)):
                vectors += [
                    Affine(0, ((1, floor),)).evaluated([devices])
                    for floor in expression.floors()
                    if floor.numerator.variables() == {0}
                ]
    return vectors


def _piece_relation(builder: Builder, piece: Piece, local: tuple[int, ...]) -> Rel:
    """The piece with the device's number written in the mesh's digits."""
    digits = len(builder.mesh.sizes)
    device = Affine()
    stride = 1
    for digit in reversed(range(digits)):
        device += Affine.variable(digit).times(stride)
        stride *= builder.mesh.sizes[digit]
    values = {0: device} | {k + 1: Affine.variable(digits + k) for k in range(len(local))}
    variables = [*builder.device, *names("i", len(local))]
    outputs = [_text(image.substituted(values), variables) for image in piece.image]
    where = [_condition(constraint, values, variables) for constraint in piece.domain]
    return builder.relation(local, outputs, where)


def _condition(constraint: Constraint, values: dict[int, Affine], variables: Sequence[str]) -> str:
    sign = "=" if constraint.is_equality else ">="
    return f"{_text(constraint.expression.substituted(values), variables)} {sign} 0"


def _text(expression: Affine, variables: Sequence[str]) -> str:
    """The expression in isl's notation."""
    plain = affine([(factor, variables[term]) for factor, term in expression.terms if isinstance(term, int)])
    text = [plain] if plain != "0" else []
    for factor, term in expression.terms:
        if isinstance(term, Floor):
            sign = "-" if factor < 0 else "+"
            text.append(f"{sign} {abs(factor)}*floor(({_text(term.numerator, variables)})/{term.divisor})")
    if expression.constant or not text:
        text.append(f"{'-' if expression.constant < 0 else '+'} {abs(expression.constant)}")
    return " ".join(text).removeprefix("+ ")


def _tuple(builder: Builder, local: tuple[int, ...]) -> str:
    return f"[{','.join([*builder.device, *names('i', len(local))])}]"


def _set_text(rank: int, constraints: Sequence[str]) -> str:
    return f"{{[{','.join(names('x', rank))}] : {' and '.join(constraints) or '1 = 1'}}}"
