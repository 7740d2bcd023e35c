"""Every lemma: in the table, stated where it is applied, used by a proof, audited, and not proving a broken twin."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.relate import loops, names
from shardproof.validator.relate.bridge import Bridge
from shardproof.validator.relate.context import Context
from shardproof.validator.relate.decide import Decision, decide
from shardproof.validator.relate.lemmas import BY_NAME, LEMMAS
from shardproof.validator.relate.value import strongest
from shardproof.validator.relate.walk import Walk
from tests.tools.audit import audit_pair

from .lemma_examples import EXAMPLES, Example
from .pairs import differs

SOURCE = Path(__file__).resolve().parents[2] / "validator"
FILES = sorted([*SOURCE.glob("relate/*.py"), *SOURCE.glob("ops/*.py")])
COUNTED = {name for path in FILES for name in re.findall(r'\.used\("([^"]+)"\)', path.read_text(encoding="utf-8"))}
UNCOUNTED = {
    "constant folding": (Walk, "_computed", lambda *_: None),
    "sum of sums": (names, "_define_flat", lambda *_: None),
    "counter range": (loops, "_counter_ranges", lambda *_: {}),
}
"""Lemmas whose uses are not counted, and how to do without them."""


def test_the_table_is_complete() -> None:
    stated = {
        " ".join(name.split())
        for path in FILES
        for name in re.findall(r"[Ll]emma \*([^*]+)\*", path.read_text(encoding="utf-8"))
    }
    assert len(BY_NAME) == len(LEMMAS), "two lemmas of one name"
    assert set(BY_NAME) >= COUNTED | stated
    assert set(BY_NAME) == COUNTED | set(UNCOUNTED)
    assert set(EXAMPLES) == set(BY_NAME)


@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.name)
def test_a_lemma_stands_where_it_says(lemma) -> None:
    assert lemma.statement and lemma.precondition
    text = (SOURCE / lemma.where).read_text(encoding="utf-8")
    assert lemma.name in " ".join(text.split()) or lemma.name == "e-graph"


def test_other_names_are_refused() -> None:
    with pytest.raises(AssertionError, match="no lemma 'wishful thinking'"):
        Context().used("wishful thinking")


def _decided(example: Example, after: Program, **changes: bool | Theory) -> tuple[bool, Decision]:
    """Whether the only result is proved, and all that was found."""
    options = {"assume_in_bounds": example.assume_in_bounds, "accepted": example.accepted, **changes}
    decision = decide(example.before(), after, deadline=time.monotonic() + 60, **options)
    (comparison,) = decision.comparisons
    assert comparison is not None
    return comparison.proved, decision


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_every_lemma(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example = EXAMPLES[name]
    before, after, broken = example.before(), example.after(), example.broken()
    proved, decision = _decided(example, after)
    assert proved
    (comparison,) = decision.comparisons
    context = decision.device.context
    assert comparison is not None
    assert context.bridge is not None
    theories = [BY_NAME[lemma].theory for lemma in [*context.lemmas, name]]
    most = Theory.REAL if context.bridge.fired else strongest(theories)
    assert strongest([comparison.theory, most]) is most, "no lemma accounts for the theory"
    assert not audit_pair(before, after).mismatches
    if not example.assume_in_bounds:
        assert not differs(before, after)
    assert not _decided(example, broken)[0]
    assert differs(before, broken, rounds=8)
    if name in COUNTED:
        assert context.lemmas[name] > 0
    else:
        target, attribute, without = UNCOUNTED[name]
        monkeypatch.setattr(target, attribute, without)
        assert not _decided(example, after)[0]


@pytest.mark.parametrize(
    ("name", "weaker"),
    [
        ("indices in bounds", {"assume_in_bounds": False}),
        ("zero product", {"accepted": Theory.REASSOCIATED}),
        ("sums of products", {"accepted": Theory.REASSOCIATED}),
        ("e-graph", {}),
    ],
)
def test_what_is_not_accepted_is_not_used(
    name: str, weaker: dict[str, bool | Theory], monkeypatch: pytest.MonkeyPatch
) -> None:
    example = EXAMPLES[name]
    if not weaker:
        monkeypatch.setattr(Bridge, "find", lambda *_: None)
    assert not _decided(example, example.after(), **weaker)[0]
    if name == "indices in bounds":
        assert differs(example.before(), example.after(), rounds=8)
