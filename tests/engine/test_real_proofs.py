"""Proofs over the reals count only where the checker of certificates accepts them."""

from __future__ import annotations

import json

import pytest

from shardproof import Theory, Verdict, validate_modules
from shardproof.validator import checked
from shardproof.validator.certify.terms import InexpressibleError, Lines
from shardproof.validator.course import Course, Entered, Event, Phase, Proved
from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.relate.decide import decide
from shardproof.validator.relate.reals import Reals
from shardproof.validator.relation.store import RelationLimitError
from shardproof.validator.report.json_format import report_to_json
from shardproof.validator.report.report import Obstacle, Report
from shardproof.validator.report.sarif import sarif_log
from shardproof.validator.validate import validate_programs

from .test_guard import HIDDEN, LOGARITHM, QUOTIENT

T = "tensor<8xf32>"
NOT_ACCEPTED = "proved over the reals by steps that the checker of certificates does not accept"


def of_rows(*ops: str, results: str = "%r") -> str:
    lines = "\n".join(f"  {op}" if " -> " in op else f"  {op} : {T}" for op in ops)
    types = ", ".join([T] * (results.count(",") + 1))
    return f"""module @m {{
func.func public @main(%x: {T}, %y: {T}) -> ({types}) {{
  %zero = stablehlo.constant dense<0.0> : {T}
{lines}
  return {results} : {types}
}}
}}
"""


TWICE = of_rows("%d = stablehlo.add %x, %x", "%n = stablehlo.multiply %zero, %y", "%r = stablehlo.add %d, %n")
A_LOGARITHM_MORE = of_rows(
    "%d = stablehlo.add %x, %x",
    "%l = stablehlo.log %y",
    "%n = stablehlo.multiply %zero, %l",
    "%r = stablehlo.add %d, %n",
)
PRODUCT, RATIO = (
    of_rows("%e = stablehlo.exponential %y", f"%r = stablehlo.{op} %x, %e") for op in ("multiply", "divide")
)

NARROW = "tensor<8xf8E8M0FNU>"
_SCALED = ("%e = stablehlo.exponential %x", "%s = stablehlo.multiply {0}, %y")
_ROUNDED = (
    _SCALED[0],
    f"%k = stablehlo.convert %e : ({T}) -> {NARROW}",
    f"%w = stablehlo.convert %k : ({NARROW}) -> {T}",
    _SCALED[1].format("%w"),
)
_PLAIN = (_SCALED[0], _SCALED[1].format("%e"))
_FACTORED = ("%a = stablehlo.add %x, %y", "%r = stablehlo.multiply %a, %y")
_SPREAD = ("%a = stablehlo.multiply %x, %y", "%b = stablehlo.multiply %y, %y", "%r = stablehlo.add %a, %b")


def proof_alone(before: str, after: str) -> Theory | None:
    """What the prover makes of the only result, without the checker."""
    programs = (read_program(text) for text in (before, after))
    decision = decide(*programs, deadline=None, assume_in_bounds=False, accepted=Theory.REAL)
    (found,) = decision.comparisons
    return found.theory if found is not None and found.proved else None


@pytest.mark.parametrize(
    ("name", "wrong", "pair"),
    [
        ("is_real", lambda *_: True, (TWICE, A_LOGARITHM_MORE)),
        ("_divide", lambda reals, walk, forms: reals._multiply(walk, forms), (PRODUCT, RATIO)),
    ],
    ids=["all terms are numbers", "a quotient is a product"],
)
def test_a_prover_that_has_gone_wrong_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: object, pair: tuple[str, str]
) -> None:
    assert proof_alone(*pair) is None
    monkeypatch.setattr(Reals, name, wrong)
    assert proof_alone(*pair) is Theory.REAL
    report = validate_modules(*pair, theory="real")
    assert report.verdict is Verdict.REFUTED
    assert NOT_ACCEPTED in str(report)


def test_a_proof_that_is_not_accepted_leaves_what_the_weaker_theory_says() -> None:
    pair = (of_rows(*_PLAIN, results="%s"), of_rows(*_ROUNDED, results="%s"))
    assert proof_alone(*pair) is Theory.REAL
    report, default = (validate_modules(*pair, theory=theory) for theory in ("real", "reassociated"))
    assert report.verdict is default.verdict is Verdict.NOT_PROVED
    assert (report.message, report.outputs, report.obstacle) == (default.message, default.outputs, default.obstacle)
    assert [note.text for note in report.notes if note not in default.notes] == [
        f"result 0: {NOT_ACCEPTED} (after, op 3 'stablehlo.convert': term 4 (apply) is taken apart)"
    ]
    assert report.certificate is None


def test_every_form_of_a_report_tells_of_it() -> None:
    report = validate_modules(of_rows(*_PLAIN, results="%s"), of_rows(*_ROUNDED, results="%s"), theory="real")
    for text in (str(report), json.dumps(report_to_json(report)), json.dumps(sarif_log([report]))):
        assert NOT_ACCEPTED in text


@pytest.mark.parametrize("refused", [0, 1])
def test_results_are_checked_one_by_one_where_they_are_not_accepted_together(refused: int) -> None:
    names = ["%s", "%r"] if refused == 0 else ["%r", "%s"]
    before, after = (
        of_rows(*one, *other, results=", ".join(names)) for one, other in ((_PLAIN, _FACTORED), (_ROUNDED, _SPREAD))
    )
    report = validate_modules(before, after, theory="real")
    verdicts = [(output.verdict, output.theory) for output in report.outputs]
    assert verdicts[refused] == (Verdict.NOT_PROVED, None)
    assert verdicts[1 - refused] == (Verdict.PROVED, Theory.REAL)
    (note,) = [note.text for note in report.notes if NOT_ACCEPTED in note.text]
    assert note.startswith(f"result {refused}: ")
    assert report.verdict is Verdict.NOT_PROVED


def test_the_certificate_of_a_report_is_the_one_that_was_accepted() -> None:
    pair = of_rows(*_FACTORED), of_rows(*_SPREAD)
    report = validate_modules(*pair, theory="real", certificate=True)
    assert (report.verdict, report.theory) == (Verdict.PROVED, Theory.REAL)
    assert report.certificate is not None


@pytest.mark.parametrize("pair", [QUOTIENT, HIDDEN, LOGARITHM], ids=["0/0", "within a function", "log of zero"])
def test_inputs_of_which_the_reals_do_not_speak_refute_nothing(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]
) -> None:
    assert validate_modules(*pair).verdict is Verdict.REFUTED
    monkeypatch.setattr(checked, "certificate", _none)
    report = validate_modules(*pair, theory="real")
    assert (report.verdict, report.counterexample) == (Verdict.NOT_PROVED, None)
    assert f"result 0: {NOT_ACCEPTED} (no words)" in [note.text for note in report.notes]


def test_a_proof_with_relations_too_large_to_write_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> str:
        raise RelationLimitError("a relation fell into 900 pieces")

    monkeypatch.setattr(Lines, "relation", too_large)
    report = validate_modules(of_rows(*_FACTORED), of_rows(*_SPREAD), theory="real")
    assert report.verdict is Verdict.NOT_PROVED
    assert f"result 0: {NOT_ACCEPTED} (a relation fell into 900 pieces)" in [note.text for note in report.notes]


def _none(*_: object, **__: object) -> str:
    raise InexpressibleError("no words")


def heard(pair: tuple[str, str], theory: Theory = Theory.REAL) -> tuple[Report, list[Event]]:
    events: list[Event] = []
    before, after = (read_program(text) for text in pair)
    return validate_programs(before, after, Options(theory), Course(tell=events.append)), events


@pytest.mark.parametrize("theory", Theory)
def test_a_proof_in_another_theory_than_is_asked_for_is_not_told_of(theory: Theory) -> None:
    pair = (
        of_rows("%s = stablehlo.add %x, %y", "%r = stablehlo.add %s, %y"),
        of_rows("%s = stablehlo.add %y, %y", "%r = stablehlo.add %x, %s"),
    )
    report, events = heard(pair, theory)
    accepted = theory is not Theory.EXACT
    assert (report.verdict is Verdict.PROVED) is accepted
    assert [e for e in events if isinstance(e, Proved)] == [Proved(0, Theory.REASSOCIATED)] * accepted


def test_a_proof_is_told_of_after_it_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A validation that is cut short reports what it was told."""
    pair = of_rows(*_FACTORED), of_rows(*_SPREAD)
    report, events = heard(pair)
    assert report.verdict is Verdict.PROVED
    assert [event for event in events if isinstance(event, Proved)] == [Proved(0, Theory.REAL)]
    assert events.index(Proved(0, Theory.REAL)) > events.index(Entered(Phase.CHECKING))
    monkeypatch.setattr(checked, "certificate", _none)
    report, events = heard(pair)
    assert report.verdict is Verdict.NOT_PROVED
    assert not any(isinstance(event, Proved) for event in events)


def test_without_time_for_the_checker_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = (read_program(of_rows(*ops)) for ops in (_FACTORED, _SPREAD))
    weaker, real = (
        decide(before, after, deadline=None, assume_in_bounds=False, accepted=theory, traced=True)
        for theory in (Theory.REASSOCIATED, Theory.REAL)
    )
    found = checked.with_reals(before, after, checked.Decided(weaker), real, in_bounds=False, deadline=0.0)
    assert (found.proved, found.accepted) == ({}, frozenset())
    assert found.refused == {0: "no time was left to check it"}
    assert found.of(0) is weaker


TWICE_PLAINLY = of_rows("%r = stablehlo.add %x, %x")


def test_that_a_proof_needs_the_reals_is_told_where_they_are_not_asked_for() -> None:
    report = validate_programs(read_program(TWICE), read_program(TWICE_PLAINLY), Options(Theory.REASSOCIATED))
    assert report.verdict is Verdict.NOT_PROVED
    assert report.message == "proved only under the theory 'real', and 'reassociated' is asked for"
    assert report.obstacle is Obstacle.THEORY
    real = validate_programs(read_program(TWICE), read_program(TWICE_PLAINLY), Options(Theory.REAL))
    assert (real.verdict, real.theory) == (Verdict.PROVED, Theory.REAL)


def test_what_the_checker_does_not_accept_is_not_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> str:
        raise InexpressibleError("no")

    monkeypatch.setattr(checked, "certificate", refused)
    report = validate_programs(read_program(TWICE), read_program(TWICE_PLAINLY), Options(Theory.REASSOCIATED))
    assert report.verdict is Verdict.NOT_PROVED
    assert report.obstacle is not Obstacle.THEORY
