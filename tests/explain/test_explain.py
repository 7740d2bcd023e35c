"""Places and causes: single errors planted in a real partitioned program are named for what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutate import Mutant, mutants

from shardproof.validator import validate
from shardproof.validator.explain.explain import Explanation, explain
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.relate.decide import decide
from shardproof.validator.report.cause import Cause
from shardproof.validator.report.verdict import Verdict

FOLDER = Path(__file__).parents[2] / "examples" / "tp_mlp"

EXPECTED = {
    ("K1", "missing"): Cause.UNREDUCED,
    ("K3", "twice"): Cause.REDUCED_TWICE,
    ("K3", "on_result"): Cause.REDUCED_TWICE,
    ("K4", "gather_for_reduce"): Cause.UNREDUCED,
    ("K5", "mean_for_sum"): Cause.WRONG_FACTOR,
    ("K6", "other_reducer"): Cause.WRONG_REDUCER,
    ("K7", "wrong_groups"): Cause.WRONG_GROUPS,
    ("K17", "added_before"): Cause.COUNTED_PER_DEVICE,
    ("K21", "operands_swapped"): Cause.SWAPPED,
    ("K25", "replica_differs"): Cause.REPLICAS_DISAGREE,
    ("K27", "narrowed_before"): Cause.ROUNDING_MOVED,
}


@pytest.fixture(scope="module")
def pair() -> tuple[Program, Program]:
    before, after = (read_program(FOLDER / f"{name}.hlo.txt") for name in ("before", "after"))
    return fold_scalars(before), fold_scalars(after)


@pytest.fixture(scope="module")
def planted(pair: tuple[Program, Program]) -> dict[tuple[str, str], Mutant]:
    found: dict[tuple[str, str], Mutant] = {}
    for mutant in mutants(pair[1]):
        found.setdefault((mutant.kind, mutant.operator), mutant)
    return found


def _explained(before: Program, after: Program) -> Explanation:
    decision = decide(before, after, deadline=None, assume_in_bounds=False)
    assert not all(one is not None and one.proved for one in decision.comparisons)
    return explain(decision, before, after, 0, 60.0, 200.0)


@pytest.mark.parametrize("key", EXPECTED, ids="-".join)
def test_the_cause_and_the_place(
    key: tuple[str, str], pair: tuple[Program, Program], planted: dict[tuple[str, str], Mutant]
):
    before, after = pair
    mutant = planted[key].program
    found = _explained(before, mutant)
    assert found.cause is not None and found.cause.cause is EXPECTED[key]
    assert found.op is not None
    old = set(after.body.ops)
    changed = [op for op in mutant.body.ops if op not in old]
    gone = {value.number for op in old for value in op.results} - {
        v.number for op in mutant.body.ops for v in op.results
    }
    near = {value.number for op in changed for value in op.results}
    fed = {value.number for op in old if op.results[0].number in gone for value in op.operands}
    touched = {value.number for value in (*found.op.results, *found.op.operands)}
    assert touched & (near | fed), f"{found.op.name} {found.op.results[0].name} is not where the error is"


def test_facts_of_a_cause(pair: tuple[Program, Program], planted: dict[tuple[str, str], Mutant]):
    groups = "devices {0,1,2,3},{4,5,6,7}"
    missing = _explained(pair[0], planted["K1", "missing"].program)
    assert missing.cause is not None and missing.cause.facts == {"axis": groups}
    twice = _explained(pair[0], planted["K3", "twice"].program)
    assert twice.cause is not None and twice.cause.facts == {"axis": groups, "factor": "4"}
    wrong = _explained(pair[0], planted["K7", "wrong_groups"].program)
    assert wrong.cause is not None and wrong.cause.facts["expected"] == groups


def test_without_time_the_place_is_where_the_proof_stops(pair: tuple[Program, Program]):
    broken = fold_scalars(read_program(FOLDER / "broken.hlo.txt"))
    decision = decide(pair[0], broken, deadline=None, assume_in_bounds=False)
    found = explain(decision, pair[0], broken, 0, 0.0)
    assert found.cause is None and found.trials == 0


def test_a_proof_is_not_explained(pair: tuple[Program, Program], monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> Explanation:
        raise AssertionError("a proof needs no explanation")

    monkeypatch.setattr(validate, "explain", refuse)
    assert validate.validate_programs(*pair, Options()).verdict is Verdict.PROVED


def test_the_report_has_cause_place_and_neighbourhood(pair: tuple[Program, Program]):
    broken = read_program(FOLDER / "broken.hlo.txt")
    report = validate.validate_programs(pair[0], broken, Options())
    assert report.verdict is Verdict.REFUTED
    assert report.cause is not None and report.rule is not None and report.rule.id == "SP001"
    assert report.message == "a partial result is never combined across devices {0,1,2,3},{4,5,6,7}"
    frontier = report.frontier
    assert frontier is not None and frontier.op == "stablehlo.add"
    assert frontier.location.frames[0].line == 30
    here = {value.name: value for value in frontier.after}
    partial = here[frontier.operands[0].name]
    assert partial.op.startswith("stablehlo.dot")
    assert partial.layout.endswith("partial add over devices {0,1,2,3},{4,5,6,7}")
    there = {value.name: value for value in frontier.before}
    assert there[partial.counterpart].op.startswith("stablehlo.dot")
    assert here[frontier.operands[1].name].layout == "replicated"
