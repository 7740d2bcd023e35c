"""The text of reports, line for line."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from shardproof.validator.report.report import Report
from shardproof.validator.report.text import diagnostics, stats_lines, verdict_line
from shardproof.validator.report.witness import witness_lines


def test_a_proof_is_one_line_and_its_notes(proved: Report):
    assert str(proved).splitlines() == [
        "PROVED (reassociated)  before.mlir → after.mlir  2 outputs  0.41 s",
        "after.mlir: note: all_reduce %7 is redundant",
    ]


def test_verbose_tells_every_output(proved: Report):
    assert diagnostics(proved, verbose=True) == [
        "after.mlir: note: output 0 'loss' PROVED (reassociated)",
        "after.mlir: note: output 1 'grad' PROVED (exact)",
        "after.mlir: note: all_reduce %7 is redundant",
    ]


def test_verbose_lists_every_output_once(not_proved: Report, refuted: Report):
    for report in (not_proved, refuted):
        lines = [line for line in diagnostics(report, verbose=True) if "note: output " in line]
        assert len(lines) == len(report.outputs)


def test_a_refutation_explains_itself_in_the_fixed_order(refuted: Report):
    assert str(refuted).splitlines() == [
        "REFUTED (assuming indices-in-bounds)  before.mlir → after.mlir  1 of 2 outputs proved  1.00 s",
        "mlp.py:30:11: error: 'after.mlir' lacks a sum over 'model'",
        "mlp.py:30:11: note: output 1 'grad' REFUTED: differs on device 3",
        "mlp.py:30:11: note: first value without a relation: '%23' : f32[8,24] = stablehlo.add %14, %22",
        "mlp.py:30:11: note: reason: the operands are partial sums over different devices",
        "mlp.py:30:11: note: operand '%14' is Σ over 16 of 64",
        "mlp.py:30:11: note: operand '%22' is a view of 'b_out'",
        "mlp.py:30:11: note: from 'jit(mlp)/dot_general'",
        "train.py:9:4: note: called from here in 'main'",
        "after.mlir: note: counterexample: output 1 'grad', device 3, element [0, 2]: expected 2.0, got inf "
        "(inputs 'small integers', seed 7)",
        "after.mlir: note: seen by the reference evaluator",
        "after.mlir: note: input 0 = float64[1,2] [[1.0, nan]]",
        "after.mlir: note: input 1 = int64[100], not shown",
        "after.mlir: note: try: '--replay FILE.py' writes a script that evaluates both programs on these inputs",
        "after.mlir: note: 1 of 2 outputs proved, 20 ops before, 23 after",
    ]


def test_a_place_that_can_be_read_is_shown_once(refuted: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp.py").write_text("\n" * 29 + "    return hidden @ w_out + b_out\n")
    lines = str(refuted).splitlines()
    assert lines[1:4] == [
        "mlp.py:30:11: error: 'after.mlir' lacks a sum over 'model'",
        "    return hidden @ w_out + b_out",
        "           ^",
    ]
    assert sum(line.strip() == "^" for line in lines) == 1


def test_a_missing_proof_says_what_to_try(not_proved: Report):
    lines = str(not_proved).splitlines()
    assert lines[0] == "NOT_PROVED  before.mlir → after.mlir  0 of 11 outputs proved  0.00 s"
    assert lines[1] == "after.mlir: error: no proof that 'after.mlir' computes its shard of 'before.mlir'"
    assert "after.mlir: note: and 3 more outputs that are not proved" in lines
    assert "after.mlir: note: try: a weaker '--theory', where you accept what it ignores" in lines


def test_unsupported_is_neither_proof_nor_refutation(unsupported: Report):
    text = str(unsupported)
    assert text.startswith("UNSUPPORTED  before.mlir → after.mlir  0 of 0 outputs proved")
    assert "error: 'stablehlo.fft' is not modelled" in text
    assert "PROVED" not in text


def test_every_diagnostic_starts_with_a_location(refuted: Report, not_proved: Report, unsupported: Report):
    for report in (refuted, not_proved, unsupported):
        for line in diagnostics(report, verbose=True):
            assert re.match(r"\S+(:\d+)*: (error|note): \S", line), line


def test_counts(proved: Report):
    assert [" ".join(line.split()) for line in stats_lines(proved.stats)] == [
        "seconds 0.415",
        "ops before 20",
        "ops after 24",
        "relations 311",
        "memo hits 1,200 of 1,511 (79%)",
        "memo hits of compose 1,200 of 1,511 (79%)",
        "isl seconds 0.250",
        "e-graph seconds 0.000",
        "e-graph stop not run",
        "lemma completion 3",
        "rule sum-of-sums 2",
    ]
    assert len({len(line) for line in stats_lines(proved.stats)}) == 1


def test_verdict_line_is_one_line(proved: Report):
    assert "\n" not in verdict_line(proved)


def test_notebooks_show_the_page_without_its_frame(refuted: Report):
    html = refuted._repr_html_()
    assert html.startswith("<style>")
    assert "<html" not in html
    assert 'class="verdict">REFUTED<' in html


def test_an_index_out_of_bounds_is_told(refuted: Report):
    assert refuted.counterexample is not None
    witness = dataclasses.replace(refuted.counterexample, out_of_bounds=("'stablehlo.gather' at model.py:4",))
    assert list(witness_lines(witness, refuted))[2] == (
        "the original meets an index that is negative or out of bounds: 'stablehlo.gather' at model.py:4; "
        "no inputs without one were found to differ, and '--assume-indices-in-bounds' judges those only"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((2, 40), np.float32), "float32[2,40], all 0.0"),
        (np.where(np.arange(40) == 7, -3, 0), "int64[40], zero except [7] = -3"),
        (np.array([[1, 2], [3, 4]]), "int64[2,2] [[1, 2], [3, 4]]"),
        (np.array(2.5), "float64[] 2.5"),
        (np.arange(40), "int64[40], not shown"),
    ],
)
def test_inputs_are_told_in_few_words(refuted: Report, value: np.ndarray, text: str):
    assert refuted.counterexample is not None
    witness = dataclasses.replace(refuted.counterexample, inputs=(value,))
    assert list(witness_lines(witness, refuted))[2:] == [f"input 0 = {text}"]
