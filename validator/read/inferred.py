"""Relations guessed from shapes, for programs without shardings; a verdict says that it assumes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .errors import ReadError, ReadErrorKind
from .ir import Parameter, Program, Result
from .relations import NO_RELATIONS, Given, Relations, read_relations
from .sharding_forms import tiled

SOURCE = "<shapes>"


def relations_for(
    before: Program, after: Program, source: tuple[bytes, str] | None, *, infer: bool
) -> tuple[Relations, tuple[str, ...]]:
    """The relations of a file (content and name) and of shapes, and what a report has to say of them.

    Raises `ReadError` for what does not fit the programs.
    """
    relations = NO_RELATIONS if source is None else read_relations(*source, before, after)
    if not infer:
        return relations, relations.notes
    inferred, note = with_inferred(relations, before, after)
    return inferred, (*relations.notes, *([note] if note else []))


def with_inferred(relations: Relations, before: Program, after: Program) -> tuple[Relations, str]:
    """The relations and those that the shapes suggest where nothing else tells any, and a note that lists these.

    A tensor of which each device holds a part along one dimension is taken to be cut evenly over all devices in the
    order of their numbers. Raises `ReadError` where two shapes do not fit that.
    """
    parameters = _inferred("parameter", before.parameters, after, after.parameters, relations.parameters)
    results = _inferred("result", before.results, after, after.results, relations.results)
    if not parameters and not results:
        return relations, ""
    listed = [
        f"{kind} {number} on dimension {dimension}"
        for kind, found in (("parameter", parameters), ("result", results))
        for number, (dimension, _) in found.items()
    ]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    names = ", ".join(listed[:_LISTED])
    note = f"taken to be cut evenly over {after.num_devices} devices, from shapes alone: {names}{more}"
    added = replace(
        relations,
        source=relations.source or SOURCE,
        parameters={**relations.parameters, **{number: given for number, (_, given) in parameters.items()}},
        results={**relations.results, **{number: given for number, (_, given) in results.items()}},
    )
    return added, note


_LISTED = 8
"""No more parameters and results than this are named in a note."""


def _inferred(
    kind: str,
    logical: Sequence[Parameter | Result],
    after: Program,
    local: Sequence[Parameter | Result],
    given: Mapping[int, Given],
) -> dict[int, tuple[int, Given]]:
    """By number: the dimension that is cut, and the relation."""
    found = {}
    for number, (ours, theirs) in enumerate(zip(logical, local, strict=True)):
        whole, part = ours.value.tensor.shape, theirs.value.tensor.shape
        if number in given or ours.sharding is not None or whole == part:
            continue
        differing = [k for k, sizes in enumerate(zip(whole, part, strict=False)) if sizes[0] != sizes[1]]
        fits = len(whole) == len(part) and len(differing) == 1
        if not fits or whole[differing[0]] != part[differing[0]] * after.num_devices:
            raise ReadError(
                ReadErrorKind.MISMATCH,
                after.source,
                f"{kind} {number} '{theirs.label}': {list(part)} on each of {after.num_devices} devices tells no way "
                f"to cut {list(whole)}",
            )
        counts = [after.num_devices if k == differing[0] else 1 for k in range(len(whole))]
        text = f"{{devices=[{','.join(map(str, counts))}]<=[{after.num_devices}]}}"
        sharding = tiled(counts, np.arange(after.num_devices), (), text)
        found[number] = (differing[0], Given(f"{SOURCE}: {kind} {number}", sharding))
    return found
