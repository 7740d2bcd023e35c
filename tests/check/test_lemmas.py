"""Every lemma has a certificate of its example; of its wrong twin there is none."""

from __future__ import annotations

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.options import Assumption, Options
from shardproof.validator.validate import validate_programs
from tests.relate.lemma_examples import EXAMPLES

from .pairs import about


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_certificate_of_every_lemma(name: str):
    example = EXAMPLES[name]
    before, after, broken = example.before(), example.after(), example.broken()
    assumptions = frozenset({Assumption.INDICES_IN_BOUNDS} if example.assume_in_bounds else ())
    report = validate_programs(before, after, Options(example.accepted, assumptions, certificate=True))
    assert report.certificate is not None, [note.text for note in report.notes]
    forged = about(report.certificate, after, broken).encode()
    with pytest.raises(Rejection):
        check(forged, "c", before, broken, in_bounds=example.assume_in_bounds)
