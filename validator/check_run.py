"""From a certificate and two programs, as bytes, to what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .course import Course, Phase
from .run import Source

if TYPE_CHECKING:
    from .check.check import Accepted


def check_here(
    certificate: Source,
    before: Source,
    after: Source,
    relations: Source | None,
    infer: bool,
    in_bounds: bool,
    course: Course,
) -> Accepted | str:
    """What a certificate shows, or why it shows nothing, found in this process. Raises `ReadError`."""
    from .check.check import check
    from .check.errors import Rejection
    from .read.inferred import relations_for
    from .read.program import read_pair

    programs = read_pair(before.data, after.data, names=(before.name, after.name), course=course)
    course.enter(Phase.RELATING)
    source = None if relations is None else (relations.data, relations.name)
    given, _ = relations_for(*programs, source, infer=infer)
    course.enter(Phase.CHECKING)
    try:
        return check(certificate.data, certificate.name, *programs, given, in_bounds)
    except Rejection as reason:
        return str(reason)
