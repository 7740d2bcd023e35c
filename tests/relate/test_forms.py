"""Forms over the reals against the evaluator: every one that a proof has found is what its term is."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.evaluate.inputs import Profile
from shardproof.validator.ops.record import Theory
from tests.tools.audit import audit_walks
from tests.tools.forms import FormAuditor

from .lemma_examples import EXAMPLES

REAL = [name for name, example in EXAMPLES.items() if example.accepted is Theory.REAL]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("seed", [0, 1])
def test_forms_are_what_their_terms_are(name: str, seed: int) -> None:
    example = EXAMPLES[name]
    for after in (example.after(), example.broken()):
        with np.errstate(all="ignore"):
            auditor = audit_walks(
                example.before(), after, seed=seed, profile=Profile.GENERIC, seconds=60, accepted=Theory.REAL
            )
            reals = auditor.context.reals
            assert reals is not None
            forms = FormAuditor(auditor, reals)
            forms.check()
        assert not forms.mismatches
        assert not auditor.audit.mismatches
